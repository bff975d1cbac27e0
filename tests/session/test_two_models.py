"""One model reads and another answers, behind the screen.

Who is loaded when, what waits, what is told.
"""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from gistread.book.model import Book
from gistread.engine.protocol import NO_USAGE, EngineInfo
from gistread.errors import EngineError
from gistread.readers.events import Answered
from gistread.session import events, models
from gistread.session.session import Session
from tests.scripted import ScriptedReader, SteppedEngine
from tests.session.event_log import EventLog, session_on, settle
from tests.tui.books import long_book

ANSWERED = Answered("She did.", True, (), (), (), 90.0, NO_USAGE)


class Machine:
    """The models there are, and which of them were loaded when."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.fits_in_memory = True
        """For two models at once."""
        self.broken: set[str] = set()
        self.stop_after: int | None = None
        """Requests after which the small model waits."""
        self.made: list[SteppedEngine] = []
        self.sessions: list[Session] = []

    def make(self, name: str) -> SteppedEngine:
        if name == "absent":
            raise EngineError("There is no model 'absent'.")
        machine = self

        class Engine(SteppedEngine):
            async def start(self) -> EngineInfo:
                if name in machine.broken:
                    raise EngineError(f"{name} does not fit into memory.")
                return await super().start()

        engine = Engine(name=name, fingerprint=f"{name}-1")
        engine.stop_after = self.stop_after if name == "small" else None
        self.made.append(engine)
        return engine

    def named(self, name: str) -> SteppedEngine:
        """The last of this name."""
        return next(
            engine for engine in reversed(self.made) if engine.info.name == name
        )

    @property
    def loaded(self) -> list[str]:
        """In the order of their names."""
        here = (
            e
            for e in self.made
            if not e.closed and e.state.phase not in models.UNLOADED
        )
        return sorted(engine.info.name for engine in here)

    def session(self, book: Book | None = None) -> tuple[Session, EventLog]:
        """On this book, or a small one. It is closed after the test."""
        session, log = session_on(self.folder, self.make, book)
        self.sessions.append(session)
        return session, log

    async def read(self, *, asking: str = "") -> tuple[Session, EventLog]:
        """A small book that the small model has read; `asking`: the model for questions."""
        session, log = self.session()
        if asking:
            await session.use_asking_model(asking)
        await session.use_model("small")
        await log.until(lambda: log.of(events.MemoryComplete))
        return session, log

    async def reading(self, *, asking: str = "") -> tuple[Session, EventLog]:
        """A longer book that the small model is in the middle of: it waits after eight requests."""
        self.stop_after = 8
        session, log = self.session(long_book(40))
        if asking:
            await session.use_asking_model(asking)
        await session.use_model("small")
        await self.named("small").stopped.wait()
        return session, log


@pytest_asyncio.fixture
async def machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Machine]:
    machine = Machine(tmp_path)
    monkeypatch.setattr(models, "fits_in_memory", lambda spec: machine.fits_in_memory)
    yield machine
    for session in machine.sessions:
        await session.close()


async def start_question(session: Session, reader: ScriptedReader) -> None:
    """The question has reached its reader."""
    reader.has_question.clear()
    session.questions.start(session.question("who"))
    await reader.has_question.wait()


async def answered(session: Session, reader: ScriptedReader, log: EventLog) -> None:
    reader.say(ANSWERED)
    await log.until(lambda: not session.answering)
    await settle(session)


async def test_the_answering_model_is_loaded_with_the_first_question_and_both_are_closed(
    machine: Machine, reader: ScriptedReader
) -> None:
    session, log = await machine.read(asking="large")
    assert machine.loaded == ["small"]
    assert session.activity.asking_model == "large"
    await start_question(session, reader)
    assert machine.loaded == ["large", "small"]
    assert log.of(events.QuestionStarted) == [events.QuestionStarted("large", "small")]
    assert session.activity.model == "large"
    await answered(session, reader, log)
    assert session.activity.model == "small"
    await session.close()
    assert machine.loaded == []


async def test_the_same_model_for_both_roles_is_one_engine(
    machine: Machine, reader: ScriptedReader
) -> None:
    session, _ = await machine.read(asking="small")
    await start_question(session, reader)
    assert machine.loaded == ["small"]
    assert not session.activity.asking_model


async def test_reading_pauses_for_an_answer_and_resumes(
    machine: Machine, reader: ScriptedReader
) -> None:
    session, log = await machine.reading(asking="large")
    small = machine.named("small")
    read = len(log.of(events.PageRead))
    assert read
    await start_question(session, reader)
    assert session.activity.reading is events.ReadingState.WAITING
    small.gate.set()
    calls = len(small.calls)
    session.resume()  # does not make both spin on the same cores
    await settle(session)
    assert session.activity.reading is events.ReadingState.WAITING
    assert len(small.calls) == calls
    await answered(session, reader, log)
    await log.until(lambda: log.of(events.MemoryComplete))
    pages = [item.entry.page.number for item in log.of(events.PageRead)]
    assert pages == list(range(1, len(pages) + 1))


async def test_reading_can_be_paused_and_resumed_while_another_model_answers(
    machine: Machine, reader: ScriptedReader
) -> None:
    session, log = await machine.reading(asking="large")
    await start_question(session, reader)
    assert session.busy
    await session.pause()
    assert session.activity.reading is events.ReadingState.PAUSED
    machine.named("small").gate.set()
    session.resume()
    await settle(session)
    assert session.activity.reading is events.ReadingState.WAITING
    await session.pause()
    await answered(session, reader, log)
    assert session.activity.reading is events.ReadingState.PAUSED
    await start_question(session, reader)
    session.resume()
    await answered(session, reader, log)
    await log.until(lambda: log.of(events.MemoryComplete))


async def test_if_both_do_not_fit_the_idle_model_is_unloaded_with_a_notice(
    machine: Machine, reader: ScriptedReader
) -> None:
    machine.fits_in_memory = False
    session, log = await machine.reading(asking="large")
    await start_question(session, reader)
    assert machine.loaded == ["large"]
    assert log.of(events.Notice)[0].text == (
        "large and small do not fit into memory together: small is unloaded for now. "
        "Use smaller models to keep both loaded."
    )
    machine.stop_after = None
    await answered(session, reader, log)
    await log.until(lambda: log.of(events.MemoryComplete))
    assert machine.loaded == ["small"]
    # with the reading done there is nothing to come back for
    await start_question(session, reader)
    await answered(session, reader, log)
    await settle(session)
    assert machine.loaded == ["large"]
    assert session.activity.reading is events.ReadingState.DONE
    await session.close()
    assert machine.loaded == []


@pytest.mark.parametrize("name", ["absent", "broken"])
async def test_if_the_answering_model_cannot_be_used_the_reading_model_answers_with_a_notice(
    machine: Machine, reader: ScriptedReader, name: str
) -> None:
    machine.broken.add("broken")
    session, log = await machine.read()
    await session.use_asking_model(name)
    await start_question(session, reader)
    await answered(session, reader, log)
    assert log.of(events.QuestionStarted) == [events.QuestionStarted("small", "small")]
    refusals = [
        item.text
        for item in log.of(events.Notice)
        if "cannot be used for questions" in item.text
    ]
    assert len(refusals) == 1
    assert f"{name} cannot be used for questions, small answers instead" in refusals[0]
    assert "\n" not in refusals[0]
    await start_question(session, reader)  # and is not tried again with each question
    assert len(log.of(events.Notice)) == 1 + sum(
        "unloaded" in item.text for item in log.of(events.Notice)
    )


async def test_a_model_without_a_memory_answers_over_that_of_another_with_a_notice(
    machine: Machine, reader: ScriptedReader
) -> None:
    session, log = await machine.reading()
    pages = len(log.of(events.PageRead))
    await session.use_model("large")  # in the middle of the book
    await log.until(lambda: session.activity.reading is events.ReadingState.OFFERED)
    assert not machine.named("large").calls
    assert log.of(events.Notice)[-1].text.startswith(
        f"large has not read this book; small has, {pages} pages. Questions are asked over that "
        "memory."
    )
    assert session.activity.read_by == "small"
    await start_question(session, reader)
    await answered(session, reader, log)
    assert log.of(events.QuestionStarted) == [events.QuestionStarted("large", "small")]
    session.resume()
    await log.until(lambda: log.of(events.MemoryComplete))
    assert session.activity.read_by == ""
    assert {header.model_name for header in session.reading.choice.memories()} == {
        "small",
        "large",
    }


SERVER = "http://localhost:1/v1"


async def test_the_memory_behind_an_answer_stays_until_the_answer_is_complete(
    machine: Machine, reader: ScriptedReader
) -> None:
    session, log = await machine.read()
    await session.use_model("middle")
    await log.until(lambda: session.activity.reading is events.ReadingState.OFFERED)
    session.resume()
    await log.until(lambda: len(log.of(events.MemoryComplete)) == 2)
    await session.use_asking_model(SERVER)
    await start_question(session, reader)
    await session.use_model("small")
    await log.until(lambda: session.activity.reading is events.ReadingState.WAITING)
    assert session.memory is not None
    assert session.memory.model_name == "middle"
    await answered(session, reader, log)
    await log.until(lambda: session.activity.reading is events.ReadingState.DONE)
    assert session.memory.model_name == "small"
