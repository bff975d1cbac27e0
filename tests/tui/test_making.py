"""What a reader needs beside the gists is made while nobody asks: once, behind every question, told of, paused."""

import asyncio
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path

from gistread.config import Config
from gistread.engine.protocol import EmbedderInfo, EngineInfo, EngineState, Phase, Priority, Rates
from gistread.memory.estimate import RemainingWork
from gistread.memory.store import MemoryStore
from gistread.session import events
from gistread.session.session import Session
from gistread.tui.artifact_rows import need_words
from tests.fake_embedder import FakeEmbedder
from tests.session.test_session import Told
from tests.session.test_session import until as holds
from tests.tui.books import long_book
from tests.tui.scripted import SteppedEngine, app_on, opened, text_of, until

CONFIG = Config(min_words=40, max_words=90, reader="graphreader")
FACTS = "atomic facts"


def says(text: str) -> str:
    if FACTS in text:
        return f"- This is paragraph {re.findall('paragraph ([0-9]+)', text)[0]} of the road. | road; river\n"
    return "The road went on along the river."


def extractions(engine: SteppedEngine) -> Counter[str]:
    """How often the facts of each page were asked for."""
    return Counter(call.text for call in engine.calls if FACTS in call.text)


def session_on(folder: Path, engine: SteppedEngine, config: Config = CONFIG) -> tuple[Session, Told]:
    told = Told()
    return Session(long_book(), MemoryStore(folder), config, lambda _: engine, told.append, presets=folder), told


async def test_after_the_gists_what_the_chosen_reader_needs_is_made_and_kept(tmp_path: Path) -> None:
    engine = SteppedEngine(says=says)
    session, told = session_on(tmp_path, engine)
    await session.use_model("fake")
    await holds(lambda: told.of(events.ArtifactGrown))
    await holds(lambda: not session.building)
    assert set(extractions(engine).values()) == {1}
    assert {call.priority for call in engine.calls if FACTS in call.text} == {Priority.BACKGROUND}
    await session.close()
    other = SteppedEngine(says=says)
    again, _ = session_on(tmp_path, other)
    await again.use_model("fake")
    await holds(lambda: again.activity.reading is events.ReadingState.DONE and not again.building)
    await asyncio.sleep(0.05)
    assert not extractions(other)
    await again.close()


async def test_a_question_comes_first_and_nothing_is_made_twice(tmp_path: Path) -> None:
    engine = SteppedEngine(says=says)
    session, told = session_on(tmp_path, engine)
    await session.use_model("fake")
    await holds(lambda: len(told.of(events.ArtifactGrown)) > 2)
    session.start_question("Who walked the road?", set())
    await holds(lambda: told.of(events.QuestionEnded))
    ended = told.of(events.QuestionEnded)[0]
    assert isinstance(ended, events.QuestionEnded)
    assert not ended.problem
    await holds(lambda: not session.building)
    made = extractions(engine)
    # What was under way when the question came is asked for again, as a person's request.
    assert sum(count > 1 for count in made.values()) <= engine.info.parallel
    assert Priority.INTERACTIVE in {call.priority for call in engine.calls if FACTS in call.text}
    left = (await session.artifacts_left())["facts"]
    assert left.complete
    await session.close()


async def test_it_can_be_left_to_the_first_question(tmp_path: Path) -> None:
    engine = SteppedEngine(says=says)
    session, told = session_on(tmp_path, engine, replace(CONFIG, prepare="when asked"))
    await session.use_model("fake")
    await holds(lambda: told.of(events.MemoryComplete))
    await asyncio.sleep(0.05)
    assert not extractions(engine)
    await session.close()


async def test_another_reader_stops_what_the_one_before_needed(tmp_path: Path) -> None:
    engine = SteppedEngine(says=says)
    session, told = session_on(tmp_path, engine)
    await session.use_model("fake")
    await holds(lambda: told.of(events.ArtifactGrown))
    await session.use_reader("readagent-s")
    assert session.activity.artifact is None
    known = sum(extractions(engine).values())
    await asyncio.sleep(0.05)
    assert sum(extractions(engine).values()) == known
    await session.use_reader("graphreader")
    await holds(lambda: session.activity.artifact is not None)
    assert session.activity.artifact is not None
    assert session.activity.artifact.done > 0
    await session.close()


async def test_the_status_line_tells_of_it_and_escape_pauses_and_r_goes_on(tmp_path: Path) -> None:
    engine = SteppedEngine()

    def stopping(text: str) -> str:
        """The sixth page waits."""
        if FACTS in text and len(extractions(engine)) == 6:
            engine.gate.clear()
        return says(text)

    engine._says = stopping
    app = app_on(long_book(), tmp_path, engine, CONFIG)
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await opened(pilot)
        session = screen.session
        assert session is not None
        await until(pilot, lambda: re.search(r"making facts: [56] of \d+", text_of(app)))
        assert re.search(r"making facts: \d+ of \d+ · .*left", text_of(app))
        await pilot.press("escape")
        await until(pilot, lambda: re.search(r"paused: facts: \d+ of \d+ · r to go on", text_of(app)))
        assert "r go on" in text_of(app)
        engine.gate.set()
        await pilot.press("r")
        await until(pilot, lambda: "memory complete" in text_of(app))
        assert screen.memory_pane.memory is not None
        assert len(extractions(engine)) == len(screen.memory_pane.memory.entries)


async def test_the_chooser_says_what_each_reader_needs_and_how_long_it_takes(tmp_path: Path) -> None:
    engine = SteppedEngine(says=says)
    engine._info = replace(engine.info, rates=Rates(100.0, ((1, 10.0),)))
    app = app_on(long_book(), tmp_path, engine, replace(CONFIG, reader="readagent-s"))
    async with app.run_test(size=(120, 60)) as pilot:
        screen = await opened(pilot)
        await pilot.press("A")
        await until(pilot, lambda: "needs facts" in text_of(app))
        session = screen.session
        assert session is not None
        await until(pilot, lambda: session.activity.reading is events.ReadingState.DONE)
        await pilot.press("escape", "A")
        await until(pilot, lambda: re.search(r"needs facts: about \d+ ", text_of(app)))
        assert re.search(r"page that tells · (needs )?summaries", text_of(app))
        await pilot.press("j", "j", "j", "enter")
        await until(pilot, lambda: session.activity.artifact is None and session.reader == "graphreader", 60)
        await until(pilot, lambda: not session.building, 60)
        await pilot.press("A")
        await until(pilot, lambda: "facts are there" in text_of(app))


async def test_to_say_what_is_left_no_embedding_model_is_loaded(tmp_path: Path) -> None:
    class Unloaded(FakeEmbedder):
        @property
        def state(self) -> EngineState:
            return EngineState(Phase.STOPPED)

        async def start(self) -> EmbedderInfo:
            raise AssertionError("nobody has asked for vectors")

    session = Session(
        long_book(),
        MemoryStore(tmp_path),
        CONFIG,
        lambda _: SteppedEngine(says=says),
        Told().append,
        Unloaded(),
        presets=tmp_path,
    )
    await session.use_model("fake")
    await holds(lambda: session.activity.reading is events.ReadingState.DONE and not session.building)
    left = await session.artifacts_left()
    assert left["facts"].complete
    assert need_words("vectors", left["vectors"], None) == "needs vectors"
    await session.close()


MEMBERS = replace(CONFIG, reader="longagent")


def parts_read(engine: SteppedEngine) -> Counter[str]:
    """How often each part was evaluated ahead."""
    return Counter(call.text for call in engine.calls if call.kind == "hold")


async def test_for_a_team_its_parts_are_read_before_the_first_question(tmp_path: Path) -> None:
    engine = SteppedEngine(says=says, pinnable_tokens=100_000)
    session, told = session_on(tmp_path, engine, MEMBERS)
    await session.use_model("fake")
    await holds(lambda: told.of(events.ArtifactGrown) and not session.building)
    assert set(parts_read(engine).values()) == {1}
    assert (await session.artifacts_left("members"))["members"].complete
    known = len(engine.calls)
    session.start_question("Who walked the road?", set())
    await holds(lambda: told.of(events.QuestionEnded) and not session.building)
    assert not any(call.kind == "hold" for call in engine.calls[known:])
    mentions = [call for call in engine.calls[known:] if call.options == ("yes", "no")]
    assert {call.text.partition("\n\n---\n")[0] for call in mentions} == set(parts_read(engine))
    await session.close()


async def test_parts_are_read_for_the_model_that_answers_alone(tmp_path: Path) -> None:
    reading, answering = (
        SteppedEngine(says=says, pinnable_tokens=100_000, name=name, fingerprint=name) for name in ("reads", "answers")
    )
    told = Told()
    session = Session(
        long_book(),
        MemoryStore(tmp_path),
        MEMBERS,
        lambda _: reading,
        told.append,
        presets=tmp_path,
        make_asking_engine=lambda _: answering,
    )
    await session.use_asking_model("answers")
    await session.use_model("reads")
    await holds(lambda: told.of(events.MemoryComplete) and not session.building)
    assert (await session.artifacts_left("members"))["members"].needless
    assert not parts_read(reading)
    await session.use_asking_model("")
    await holds(lambda: told.of(events.ArtifactGrown) and not session.building)
    assert parts_read(reading)
    await session.close()


async def test_the_reading_of_parts_is_told_paused_and_taken_up(tmp_path: Path) -> None:
    engine = SteppedEngine(says=says, pinnable_tokens=100_000)
    engine._info = replace(engine.info, rates=Rates(100.0, ((1, 10.0),)))
    app = app_on(long_book(), tmp_path, engine, replace(MEMBERS, prepare="when asked"))
    async with app.run_test(size=(120, 60)) as pilot:
        screen = await opened(pilot)
        session = screen.session
        assert session is not None
        await until(pilot, lambda: session.activity.reading is events.ReadingState.DONE)
        await pilot.press("A")
        await until(pilot, lambda: re.search(r"members: about \d+ min", text_of(app)))
        await pilot.press("escape")
        engine.stop_after = len(engine.calls) + 2
        assert session.build_artifacts("members") is None
        await until(pilot, lambda: re.search(r"making members: 2 of \d+ · .*left", text_of(app)))
        await pilot.press("escape")
        await until(pilot, lambda: re.search(r"paused: members: 2 of \d+ · r to go on", text_of(app)))
        engine.gate.set()
        await pilot.press("r")
        await until(pilot, lambda: session.activity.artifact is None)
        await pilot.press("A")
        await until(pilot, lambda: "members are" in text_of(app))
        assert set(parts_read(engine).values()) == {1}


def test_needs_in_words() -> None:
    measured = EngineInfo("m", "f", 8192, "CPU", rates=Rates(100.0, ((1, 10.0),)))
    assert need_words("facts", None, None) == "needs facts"
    assert need_words("facts", RemainingWork(0, 46, 60_000, 1_200), measured) == "needs facts: about 12 min"
    assert need_words("facts", RemainingWork(12, 46, 60_000, 1_200), measured) == (
        "facts: 12 of 46 are there, about 12 min more"
    )
    assert need_words("facts", RemainingWork(0, 46, 100, 10), measured) == "needs facts: about 2 s"
    assert need_words("facts", RemainingWork(46, 46), None) == "facts are there"
    assert need_words("vectors", RemainingWork(0, 0), None) == "needs vectors"
