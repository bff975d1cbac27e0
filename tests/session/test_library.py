"""The session as a library: awaited, streamed, without `async`; its answers and its errors."""

import ast
import asyncio
import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import gistread
from gistread import Decision, NotReadyError, Proposed, Session, Steps, SyncSession
from gistread.errors import EngineError, UsageError
from gistread.readers.events import AnswerDelta, Answered, LookedUp, ReaderEvent
from gistread.session import events
from tests.folders import paths_in
from tests.scripted import SteppedEngine
from tests.session.event_log import CONFIG
from tests.tui.books import small_book


def options(folder: Path, engine: SteppedEngine) -> dict[str, object]:
    return {
        "config": CONFIG,
        "paths": paths_in(folder),
        "make_engine": lambda _: engine,
    }


def library_engine() -> SteppedEngine:
    return SteppedEngine(
        says=lambda _: "Ada kept the lamp.", chooses=lambda text, choices: 0
    )


async def test_a_book_is_read_and_a_question_answered(tmp_path: Path) -> None:
    book = small_book()
    async with Session(book, "fake", **options(tmp_path, library_engine())) as session:  # type: ignore[arg-type]
        memory = await session.read()
        assert memory.complete
        assert await session.read() is memory
        answer = await session.ask("Who kept the lamp?", pinned=[1])
    assert answer.text.startswith("Ada kept the lamp")
    assert (answer.reader, answer.model.name) == ("gistread", "fake")
    assert answer.lookups == tuple(
        step.page for step in answer.steps if isinstance(step, LookedUp)
    )
    assert all(
        book.text[citation.start : citation.end] == citation.quote
        for citation in answer.citations
    )
    assert answer.usage.generated


async def test_a_question_follows_up_on_an_answer(tmp_path: Path) -> None:
    book = small_book()
    async with Session(book, "fake", **options(tmp_path, library_engine())) as session:  # type: ignore[arg-type]
        await session.read()
        answer = await session.ask("Who kept the lamp?", pinned=[1])
        second = await session.ask("And why?", passage=(0, 2), thread=answer.thread)
    (exchange,) = answer.thread
    assert (exchange.question, exchange.answer) == ("Who kept the lamp?", answer.text)
    assert exchange.seen
    assert [earlier.question for earlier in second.thread] == [
        "Who kept the lamp?",
        f"“{book.text[:2]}”: And why?",
    ]


async def test_nothing_is_loaded_or_read_before_it_is_needed(tmp_path: Path) -> None:
    engine = library_engine()
    given = options(tmp_path, engine)
    async with Session(small_book(), "fake", reader="readagent-s", **given) as session:  # type: ignore[arg-type]
        assert session.activity.reading is events.ReadingState.IDLE
        with pytest.raises(
            NotReadyError, match="Nothing of this book has been read yet"
        ):
            await session.ask("Who?")
    assert not engine.calls


async def test_leaving_the_stream_pauses_and_the_next_one_resumes(
    tmp_path: Path,
) -> None:
    async with Session(
        small_book(),
        "fake",
        **options(tmp_path, library_engine()),  # type: ignore[arg-type]
    ) as session:
        async with aclosing(session.stream_reading()) as reading:
            async for event in reading:
                if isinstance(event, events.PageRead):
                    break
        assert session.activity.reading is events.ReadingState.PAUSED
        assert session.memory is not None
        assert not session.memory.complete
        rest = [event async for event in session.stream_reading()]
        started, first = (
            rest[0],
            next(event for event in rest if isinstance(event, events.PageRead)),
        )
        assert isinstance(started, events.ReadingStarted)
        assert first.entry.page.number == started.pages + 1
        assert isinstance(rest[-1], events.MemoryComplete)


async def test_an_error_is_raised_to_its_caller_and_a_second_try_resumes(
    tmp_path: Path,
) -> None:
    engine = library_engine()
    says = engine._says
    engine._says = lambda _: EngineError("The model was lost.")
    async with Session(small_book(), "fake", **options(tmp_path, engine)) as session:  # type: ignore[arg-type]
        with pytest.raises(EngineError, match="The model was lost"):
            await session.read()
        engine._says = says
        assert (await session.read()).complete


async def test_a_missing_model_is_an_error_and_no_other_model_reads(
    tmp_path: Path,
) -> None:
    def make(model: str) -> SteppedEngine:
        if model == "absent":
            raise EngineError("There is no model 'absent'.")
        return library_engine()

    given = {**options(tmp_path, library_engine()), "make_engine": make}
    with pytest.raises(EngineError, match="absent"):
        async with Session(small_book(), "absent", **given):  # type: ignore[arg-type]
            pass
    async with Session(small_book(), "fake", **given) as session:  # type: ignore[arg-type]
        with pytest.raises(EngineError, match="absent"):
            await session.use_model("absent")
        with pytest.raises(NotReadyError, match="No model is chosen"):
            await session.read()
    with pytest.raises(UsageError, match="Unknown reader 'nobody'"):
        Session(small_book(), "fake", reader="nobody", **given)  # type: ignore[arg-type]


async def test_a_memory_of_another_model_answers_until_the_model_has_read(
    tmp_path: Path,
) -> None:
    async with Session(
        small_book(),
        "fake",
        **options(tmp_path, library_engine()),  # type: ignore[arg-type]
    ) as session:
        await session.read()
    other = SteppedEngine(name="other", fingerprint="other-1", says=lambda _: "Ada.")
    async with Session(small_book(), "other", **options(tmp_path, other)) as session:  # type: ignore[arg-type]
        assert (await session.ask("Who kept the lamp?")).model.name == "other"
        assert session.activity.read_by == "fake"
        assert (await session.read()).model_name == "other"


def test_the_synchronous_session_gives_the_same(tmp_path: Path) -> None:
    # A setting for people on the screen
    asks = {"config": replace(CONFIG, steps="ask")}
    with SyncSession(
        small_book(), "fake", **options(tmp_path, library_engine()) | asks
    ) as session:
        pages = [
            event
            for event in session.stream_reading()
            if isinstance(event, events.PageRead)
        ]
        assert len(pages) == len(session.read().entries)
        assert session.ask("Who kept the lamp?").text.startswith("Ada kept the lamp")
        assert session.ask("Who kept the lamp?", reader="readagent-s").text, (
            "it waits for nobody"
        )
        decisions = [Decision(refuses=True)]
        all_events = []
        for event in session.stream_answer(
            "Who kept the lamp?", steps=Steps.ASK, reader="readagent-s"
        ):
            all_events.append(event)
            if isinstance(event, Proposed):
                session.steering.decide(decisions.pop(0) if decisions else Decision())
        proposed = [event.pages for event in all_events if isinstance(event, Proposed)]
        assert proposed[0] != proposed[1]
        assert isinstance(all_events[-1], Answered)


def test_the_public_names_are_typed_and_imported_lazily() -> None:
    public_names = vars(gistread)["__all__"]
    assert all(getattr(gistread, name) is not None for name in public_names)
    stub = ast.parse(Path(gistread.__file__).with_suffix(".pyi").read_text())
    typed = {
        alias.asname
        for statement in stub.body
        if isinstance(statement, ast.ImportFrom)
        for alias in statement.names
    }
    assert typed | {"__version__"} == set(public_names)
    script = "import gistread, sys; print({'asyncio', 'textual', 'llama_cpp'} & set(sys.modules))"
    assert (
        subprocess.run(
            [sys.executable, "-c", script], capture_output=True, text=True
        ).stdout
        == "set()\n"
    )


async def test_concurrent_questions_get_their_own_answers(tmp_path: Path) -> None:
    engine = SteppedEngine(
        says=lambda text: (
            "The key." if "What was lost?" in text else "Ada kept the lamp."
        )
    )
    async with Session(small_book(), "fake", **options(tmp_path, engine)) as session:  # type: ignore[arg-type]
        await session.read()
        questions = ("Who kept the lamp?", "What was lost?")
        first, second = await asyncio.gather(
            *(session.ask(question, reader="gistread") for question in questions)
        )
        assert [answer.thread[0].question for answer in (first, second)] == list(
            questions
        )
        assert first.text != second.text
        streams = [
            session.stream_answer(question, reader="gistread") for question in questions
        ]
        ends = await asyncio.gather(*(_last(stream) for stream in streams))
        assert [end.answer for end in ends] == [first.text, second.text]


async def _last(stream: AsyncGenerator[ReaderEvent, None]) -> Answered:
    all_events = [event async for event in stream]
    assert "".join(
        event.text for event in all_events if isinstance(event, AnswerDelta)
    ), "every answer is streamed"
    assert isinstance(all_events[-1], Answered)
    return all_events[-1]


@pytest.mark.parametrize(
    ("question", "more", "message"),
    [
        ("  ", {}, "The question is empty"),
        ("why " * 1_001, {}, "The question has 4,004 characters"),
        ("Who?", {"reader": "foo"}, "Unknown reader 'foo'"),
        ("Who?", {"pined": [1]}, "Unknown option 'pined'"),
        ("Who?", {"pinned": [99]}, "There is no section 99: the model has read"),
        ("Who?", {"pinned": [0]}, "There is no section 0"),
        ("Who?", {"passage": (10**9, 10**9 + 5)}, "is not in the book"),
        ("Who?", {"passage": (5, 5)}, "is not in the book"),
        ("Who?", {"upto": -1}, "The bound -1 is not an offset"),
        ("Who?", {"upto": 0.5}, "The bound 0.5 is not an offset"),
        ("Who?", {"upto": "nowhere"}, "is not a place in a book"),
        ("Who?", {"steps": "sometimes"}, "Unknown steps"),
    ],
)
async def test_what_cannot_be_asked_is_a_usage_error_and_the_next_question_is_answered(
    tmp_path: Path, question: str, more: dict[str, Any], message: str
) -> None:
    async with Session(
        small_book(),
        "fake",
        **options(tmp_path, library_engine()),  # type: ignore[arg-type]
    ) as session:
        await session.read()
        for ask in (session.ask, session.stream_answer, session.question):
            with pytest.raises(UsageError, match=message):
                await ask(question, **more)
        assert (await session.ask("Who kept the lamp?")).text


async def test_leaving_the_stream_of_a_waiting_question_takes_it_out_of_the_queue(
    tmp_path: Path,
) -> None:
    async with Session(
        small_book(),
        "fake",
        **options(tmp_path, library_engine()),  # type: ignore[arg-type]
    ) as session:
        await session.read()
        first = session.stream_answer(
            "Who kept the lamp?", reader="readagent-s", steps=Steps.ASK
        )
        assert await anext(first)
        waiting = asyncio.create_task(_last(session.stream_answer("What was lost?")))
        await asyncio.sleep(0)
        await session.show_saved_memory()  # a command after that of the question
        assert len(session.questions._queue) == 2
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        assert len(session.questions._queue) == 1
        session.steering.answer_now()
        assert isinstance([event async for event in first][-1], Answered)
        assert not session.answering


async def test_a_defect_while_answering_is_raised_to_its_caller_and_the_next_question_is_answered(
    tmp_path: Path,
) -> None:
    engine = library_engine()
    async with Session(small_book(), "fake", **options(tmp_path, engine)) as session:  # type: ignore[arg-type]
        await session.read()
        says, engine._says = engine._says, lambda _: str(1 // 0)
        with pytest.raises(ZeroDivisionError):
            await session.ask("Who kept the lamp?")
        engine._says = says
        assert (await session.ask("Who kept the lamp?")).text
