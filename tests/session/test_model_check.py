"""The model that reads is checked beside its reading: when, how often, and what a question does to it."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from gistread.engine.llama.library import installed_version
from gistread.engine.protocol import EngineInfo, Placement
from gistread.errors import EngineError
from gistread.memory import model_check
from gistread.memory.check_results import CheckResult, CheckResults, Worth
from gistread.session import events, models
from tests.session.told import session_on, settle
from tests.tui.books import long_book
from tests.tui.scripted import ScriptedReader, SteppedEngine, paths_in

GOOD = CheckResult(Worth.READING, "good for reading", 6, 6)
LOCAL = EngineInfo("local", "local-1", 8192, "CPU", placement=Placement(0, 3, 8192, "f16", 64, 1, True))


def local_engine(stop_after: int | None = None) -> SteppedEngine:
    """A model on this machine."""
    engine = SteppedEngine()
    engine._info = LOCAL
    engine.stop_after = stop_after
    return engine


class Check:
    """In place of `check_model`: counts, and ends when it is let."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.begun = self.cancelled = 0
        self.running = asyncio.Event()
        self.end = asyncio.Event()
        self.error: EngineError | None = None
        monkeypatch.setattr(models, "check_model", self)

    async def __call__(self, *_: Any) -> CheckResult:
        self.begun += 1
        self.running.set()
        try:
            await self.end.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        if self.error:
            raise self.error
        return GOOD


def results(folder: Path) -> CheckResults:
    return CheckResults(paths_in(folder).check_results, installed_version())


async def test_a_model_is_checked_once_after_the_first_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check, engine = Check(monkeypatch), local_engine(stop_after=0)
    session, told = session_on(tmp_path, engine, long_book(40))
    await session.use_model("local")
    await engine.stopped.wait()
    assert check.begun == 0
    engine.gate.set()
    await check.running.wait()
    assert told.of(events.PageRead)
    check.end.set()
    await told.until(lambda: told.of(events.Notice) and told.of(events.ReadingEnded))
    assert [notice.text for notice in told.of(events.Notice)] == ["local: good for reading."]
    assert (check.begun, results(tmp_path).get("local-1")) == (1, GOOD)
    await session.close()


async def test_a_question_interrupts_the_check_which_restarts_afterwards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reader: ScriptedReader
) -> None:
    check = Check(monkeypatch)
    session, told = session_on(tmp_path, local_engine())
    await session.use_model("local")
    await check.running.wait()
    check.running.clear()
    session.start_question("who")
    await reader.asked.wait()
    assert check.cancelled == 1
    await session.cancel_question()
    await check.running.wait()
    check.end.set()
    await told.until(lambda: told.of(events.Notice))
    await session.close()


@pytest.mark.parametrize("choice", [0, "right"])
async def test_a_model_is_checked_briefly_before_its_first_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reader: ScriptedReader, choice: int | str
) -> None:
    Check(monkeypatch)
    rights = [(question, answer) for question, answer, *_ in model_check._QUESTIONS]

    def chooses(prompt: str, options: Sequence[str]) -> int | str:
        lines = [line for line in prompt.splitlines() if line[:2] in ("A.", "B.", "C.")]
        right = next(answer for question, answer in rights if question in prompt)
        return next(line[0] for line in lines if line[3:] == right) if choice == "right" else 0

    engine = local_engine()
    engine._chooses = chooses
    session, told = session_on(tmp_path, engine, long_book(40))
    await session.use_model("local")
    await told.until(lambda: told.of(events.PageRead))
    states: list[events.AskingState] = []
    session._core.listeners.append(lambda event: states.append(session.activity.asking))
    for is_first in (True, False):
        states.clear()
        reader.asked.clear()
        session.start_question("who")
        await reader.asked.wait()
        assert (events.AskingState.CHECK in states) is is_first
        assert reader.options.is_reliable is (choice == "right")
        await session.cancel_question()
    assert results(tmp_path).get("local-1") is None, "the whole check is still due"
    await session.close()


@pytest.mark.parametrize("known", [True, False], ids=["known", "elsewhere"])
async def test_checked_models_and_models_on_servers_are_not_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, known: bool
) -> None:
    check = Check(monkeypatch)
    if known:
        results(tmp_path).save("local-1", None, GOOD)
    session, told = session_on(tmp_path, local_engine() if known else SteppedEngine())
    await session.use_model("some")
    await told.until(lambda: told.of(events.ReadingEnded))
    await settle(session)
    assert check.begun == 0
    await session.close()


async def test_a_failed_check_is_silent_and_reading_continues(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check = Check(monkeypatch)
    check.error = EngineError("It was too slow.")
    check.end.set()
    session, told = session_on(tmp_path, local_engine())
    await session.use_model("local")
    await told.until(lambda: told.of(events.ReadingEnded))
    await check.running.wait()
    assert told.of(events.MemoryComplete)
    assert not told.of(events.Notice)
    await session.close()
