"""The session without a screen: what it does in the background, and what it tells."""

import asyncio
import gc
import weakref
from dataclasses import replace
from pathlib import Path

import pytest

from gistread.engine.llama.library import installed_version
from gistread.engine.protocol import (
    NO_USAGE,
    Engine,
    EngineInfo,
    EngineState,
    Phase,
    Priority,
    Prompt,
    Usage,
)
from gistread.errors import EngineError, OutageError
from gistread.memory.check_results import CheckResult, CheckResults
from gistread.memory.model import DEFAULT_READING_MODE, GistMemory
from gistread.people import telling
from gistread.readers.events import Answered
from gistread.session import events, models, reading
from gistread.session.estimate import seconds_to_answer
from gistread.session.events import ReadingState
from gistread.store.pace import ModelPaces
from tests.fake_engine import FakeEngine
from tests.folders import paths_in
from tests.scripted import ScriptedReader, SteppedEngine
from tests.session.event_log import CONFIG, session_on, settle
from tests.tui.books import small_book


async def test_the_book_is_read_to_its_end_and_stored(tmp_path: Path) -> None:
    session, log = session_on(tmp_path, SteppedEngine())
    await session.use_model("fake")
    await log.until(lambda: log.of(events.MemoryComplete))
    pages = [item.entry.page.number for item in log.of(events.PageRead)]
    assert pages == list(range(1, len(pages) + 1))
    assert session.activity.reading is events.ReadingState.DONE
    await session.close()
    again, log_again = session_on(tmp_path, SteppedEngine())
    await again.show_saved_memory()
    assert len(log_again.of(events.MemoryOpened)[0].memory.entries) == len(pages)
    assert not log_again.of(events.Notice)
    (file,) = paths_in(tmp_path).memories.glob("*.memory")
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join([lines[0], b"x" + lines[1][1:], *lines[2:]]))
    await again.show_saved_memory()
    assert "is damaged" in log_again.of(events.Notice)[0].text


async def test_reading_goes_on_by_itself_after_an_outage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "_FIRST_RETRY_S", 0)
    failures = [OutageError("No answer from gpu.") for _ in range(3)]

    def says(text: str) -> Exception | str:
        return failures.pop() if failures else "Somebody did something."

    session, log = session_on(tmp_path, SteppedEngine(says=says))
    await session.use_model("fake")
    await log.until(lambda: log.of(events.MemoryComplete))
    assert not failures
    assert [notice.text for notice in log.of(events.Notice)] == ["No answer from gpu."]
    assert not session.activity.problem
    await session.close()


async def test_waiting_for_a_server_can_be_ended_either_way(tmp_path: Path) -> None:
    is_down = True

    def says(text: str) -> Exception | str:
        return OutageError("No answer.") if is_down else "Somebody did something."

    session, log = session_on(tmp_path, SteppedEngine(says=says))
    await session.use_model("fake")
    await log.until(lambda: session.waits_for_server)
    assert session.activity.retry_in_s in range(1, 16)
    await session.pause()
    assert not session.waits_for_server
    assert session.activity.reading is ReadingState.FAILED
    session.resume()
    await log.until(lambda: session.waits_for_server)
    is_down = False
    session.retry_now()
    await log.until(lambda: log.of(events.MemoryComplete))
    await session.close()


async def test_another_error_after_an_outage_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "_FIRST_RETRY_S", 0)
    failures = [OutageError("No answer."), EngineError("The server rejects the key.")]
    session, log = session_on(
        tmp_path, SteppedEngine(says=lambda _: failures.pop(0) if failures else "x")
    )
    await session.use_model("fake")
    await log.until(lambda: len(log.of(events.Notice)) == 2)
    notices = [notice.text for notice in log.of(events.Notice)]
    assert notices == ["No answer.", "The server rejects the key."]
    await session.close()


async def test_a_fault_is_told_once_while_its_seconds_are_counted(
    tmp_path: Path,
) -> None:
    engine = SteppedEngine()
    session, log = session_on(tmp_path, engine)
    await session.use_model("fake")
    await log.until(lambda: log.of(events.ModelLoaded))
    for seconds in (3, 2, 1):
        notice = f"no connection to gpu:80; again in {seconds} s"
        session.models._on_state(EngineState(Phase.IDLE, notice=notice, is_fault=True))
    session.models._on_state(
        EngineState(Phase.IDLE, notice="gpu:80 is busy; again in 4 s", is_fault=True)
    )
    assert [notice.text for notice in log.of(events.Notice)] == [
        "no connection to gpu:80; again in 3 s",
        "gpu:80 is busy; again in 4 s",
    ]
    await session.close()


async def test_a_closed_session_leaves_memory(tmp_path: Path) -> None:
    session, log = session_on(tmp_path, SteppedEngine())
    await session.use_model("fake")
    await log.until(lambda: log.of(events.MemoryComplete))
    await session.close()
    closed = weakref.ref(session)
    del session
    await asyncio.sleep(0)  # Callbacks of what the session cancelled
    gc.collect()
    assert closed() is None


async def test_a_pace_learned_in_other_books_estimates_reading_and_questions_up_to_the_bound(
    tmp_path: Path,
) -> None:
    engine = SteppedEngine()
    engine.stop_after = 0
    ModelPaces(paths_in(tmp_path)).add(
        engine.info.fingerprint, DEFAULT_READING_MODE.value, 1000, 100.0
    )
    session, log = session_on(tmp_path, engine)
    await session.use_model("fake")
    await engine.stopped.wait()
    assert not log.of(events.PageRead)
    whole = session.book.words / 10
    assert session.activity.seconds_left == pytest.approx(whole, rel=0.1)
    assert await seconds_to_answer(session, "notes") == pytest.approx(whole, rel=0.1)
    half = await seconds_to_answer(session, "notes", upto=len(session.book.text) // 2)
    assert half == pytest.approx(whole / 2, rel=0.1)
    await session.close()


async def test_closing_keeps_every_finished_page_and_reading_resumes(
    tmp_path: Path,
) -> None:
    engine = SteppedEngine()
    engine.stop_after = 2
    session, log = session_on(tmp_path, engine)
    await session.use_model("fake")
    await engine.stopped.wait()
    done = len(log.of(events.PageRead))
    await session.close()
    assert engine.closed
    assert session.memory is not None
    assert len(session.memory.entries) == done
    again, log_again = session_on(tmp_path, SteppedEngine())
    await again.use_model("fake")
    await log_again.until(lambda: log_again.of(events.MemoryComplete))
    assert log_again.of(events.PageRead)[0].entry.page.number == done + 1
    await again.close()


async def test_choosing_another_model_closes_the_first_and_cancels_its_question(
    tmp_path: Path, reader: ScriptedReader
) -> None:
    first = SteppedEngine()
    session, log = session_on(tmp_path, first)
    await session.use_model("first")
    await log.until(lambda: log.of(events.MemoryComplete))
    session.questions.start(session.question("who"))
    await reader.has_question.wait()
    await session.use_model("second")
    assert first.closed
    assert log.of(events.QuestionEnded)
    assert not session.answering
    await session.close()


async def test_a_model_that_nothing_uses_is_unloaded_and_loaded_again_for_a_question(
    tmp_path: Path, reader: ScriptedReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(models, "IDLE_S", 0.0)
    engines: list[SteppedEngine] = []

    def make(_: str) -> SteppedEngine:
        engines.append(SteppedEngine())
        return engines[-1]

    session, log = session_on(tmp_path, make)
    await session.use_model("fake")
    await log.until(lambda: engines and engines[0].closed)
    assert log.of(events.MemoryComplete)
    assert session.models.reading.info is None
    assert session.has_model
    session.questions.start(session.question("who"))
    await reader.has_question.wait()
    assert [engine.closed for engine in engines] == [True, False]
    await session.close()


async def test_a_memory_of_another_model_answers_and_rereading_needs_a_request(
    tmp_path: Path, reader: ScriptedReader
) -> None:
    session, log = session_on(tmp_path, SteppedEngine())
    await session.use_model("fake")
    await log.until(lambda: log.of(events.MemoryComplete))
    await session.close()
    other = SteppedEngine(name="other", fingerprint="other-1")
    again, log_again = session_on(tmp_path, other)
    await again.show_saved_memory()
    await again.use_model("other")
    await log_again.until(lambda: again.activity.reading is events.ReadingState.OFFERED)
    assert not other.calls
    again.questions.start(again.question("who"))
    await reader.has_question.wait()
    assert reader.pages_read == len(log.of(events.PageRead))
    again.resume()
    await log_again.until(lambda: log_again.of(events.MemoryComplete))
    assert other.calls
    await again.close()


async def test_a_waiting_question_fails_if_the_model_cannot_be_loaded(
    tmp_path: Path,
) -> None:
    class Broken(SteppedEngine):
        async def start(self) -> EngineInfo:
            await self.load_gate.wait()
            raise EngineError("The model does not fit into memory.")

    engine = Broken()
    engine.load_gate.clear()
    session, log = session_on(tmp_path, engine)
    await session.use_model("fake")
    session.questions.start(session.question("who"))
    await settle(session)
    assert session.answering
    engine.load_gate.set()
    await log.until(lambda: log.of(events.QuestionEnded))
    assert (
        log.of(events.QuestionEnded)[0].problem == "The model does not fit into memory."
    )
    await session.close()


async def test_questions_queue_and_each_gets_its_own_answer(
    tmp_path: Path, reader: ScriptedReader
) -> None:
    session, log = session_on(tmp_path, SteppedEngine())
    await session.use_model("fake")
    await log.until(lambda: log.of(events.MemoryComplete))
    for question in ("who", "what", "where"):
        session.questions.start(session.question(question))
    await reader.has_question.wait()
    assert [event.question for event in log.of(events.QuestionAsked)] == ["who"]
    await session.cancel_question()
    await log.until(lambda: reader.questions == ["who", "what"])
    reader.say(Answered("A lamp.", True, (), (), (), 90.0, NO_USAGE))
    await log.until(lambda: reader.questions == ["who", "what", "where"])
    assert [event.problem for event in log.of(events.QuestionEnded)] == [
        "Cancelled.",
        "",
    ]
    assert session.answering
    await session.close()
    assert not session.answering


async def test_a_copy_of_the_text_is_not_kept_once_a_question_has_ended(
    tmp_path: Path, reader: ScriptedReader
) -> None:
    session, log = session_on(tmp_path, SteppedEngine())
    await session.use_model("fake")
    await log.until(lambda: log.of(events.MemoryComplete))
    session.questions.start(session.question("who"))
    await reader.has_question.wait()
    telling._marked(session.book.text)
    reader.say(Answered("A lamp.", True, (), (), (), 90.0, NO_USAGE))
    await _freed()
    session.questions.start(session.question("what"))
    await log.until(lambda: reader.questions == ["who", "what"])
    telling._marked(session.book.text)
    await session.cancel_question()
    await _freed()
    await session.close()


async def _freed() -> None:
    """Wait for the thread that frees: it tells nobody."""
    for _ in range(3_000):
        if not telling._marked.cache_info().currsize:
            return
        await asyncio.sleep(0.01)
    raise AssertionError


async def test_the_stored_check_decides_whether_a_model_is_reliable(
    tmp_path: Path,
) -> None:
    nothing = "The book does not say."
    engine = SteppedEngine(
        says=lambda prompt: nothing if nothing in prompt else "The lamp and the boy."
    )
    session, log = session_on(
        tmp_path, engine, config=replace(CONFIG, reader="gistread")
    )
    await session.use_model("fake")
    await log.until(lambda: log.of(events.MemoryComplete))
    for believed in (True, False):
        session.questions.start(session.question("Who is it?"))
        await log.until(lambda: log.of(events.QuestionEnded))
        answered = log.of(events.QuestionProgress)[-1].event
        assert isinstance(answered, Answered)
        assert answered.found is not believed
        log.clear()
        guesses = CheckResult(answers=False, abstains=False, line="it guesses")
        results = CheckResults(paths_in(tmp_path), installed_version())
        results.save(engine.info.fingerprint, None, guesses)
    await session.close()


async def test_the_chapter_at_hand_is_read_first_and_then_the_others(
    tmp_path: Path,
) -> None:
    book = small_book()
    third = book.chapters[2]
    session, log = session_on(tmp_path, SteppedEngine(), place=lambda: third.start)
    await session.use_model("fake", read=False)
    assert session.activity.reading is ReadingState.IDLE
    session.read_here()
    await log.until(lambda: log.of(events.PageRead))
    assert log.of(events.PageRead)[0].entry.page.start == third.start
    await log.until(lambda: log.of(events.MemoryComplete))
    assert session.memory.complete
    await session.close()


class PreparingEngine(FakeEngine):
    """A fake that tells when something was evaluated in advance."""

    def __init__(self) -> None:
        super().__init__()
        self.has_prepared = asyncio.Event()

    async def prepare(
        self, prompt: Prompt, priority: Priority = Priority.BACKGROUND
    ) -> Usage:
        usage = await super().prepare(prompt, priority)
        self.has_prepared.set()
        return usage


async def test_the_text_is_evaluated_while_a_question_is_typed(tmp_path: Path) -> None:
    engine = PreparingEngine()
    session, _ = session_on(tmp_path, engine)
    await session.use_model("fake", read=False)
    session.anticipate(session.question("Who fixed the"))
    async with asyncio.timeout(30):
        await engine.has_prepared.wait()
    answer = await session.ask("Who fixed the date?")
    assert answer.reader == "gistread"
    (begun,) = engine.prepared
    assert engine.calls[-1].text.startswith(begun)
    await session.close()


@pytest.mark.parametrize(
    ("parameters", "evaluates"), [(1_500_000_000, False), (14 * 10**9, True)]
)
async def test_only_a_model_that_looks_pages_up_evaluates_all_gists_in_advance(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, parameters: int, evaluates: bool
) -> None:
    evaluated: list[GistMemory] = []

    async def evaluate(memory: GistMemory, _: Engine) -> Usage:
        evaluated.append(memory)
        return NO_USAGE

    monkeypatch.setattr(reading, "prepare", evaluate)
    engine = FakeEngine()
    engine._info = replace(engine.info, parameters=parameters)
    session, _ = session_on(tmp_path, engine)
    await session.use_model("fake")
    await session.read()
    await settle(session)
    assert session.memory is not None
    assert session.memory.complete
    assert bool(evaluated) is evaluates
    await session.close()


async def test_asking_ends_what_was_evaluated_for_a_draft(tmp_path: Path) -> None:
    engine = PreparingEngine()
    session, _ = session_on(tmp_path, engine)
    await session.use_model("fake", read=False)
    session.anticipate(session.question("Who fixed the"))
    await session.ask("Who fixed the date?")
    session.anticipate(session.question("Who fixed the"))
    session.anticipate(None)
    await settle(session)
    assert session.questions.draft is None
    assert not engine.prepared, "typing had not paused"
    await session.close()
