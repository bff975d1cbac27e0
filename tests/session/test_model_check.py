"""The model that reads is checked beside its reading.

When, how often, and what a question does to it.
"""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from gistread.engine.llama.library import installed_version
from gistread.engine.protocol import EngineInfo, Placement
from gistread.errors import EngineError
from gistread.memory.check_results import CheckResult, CheckResults
from gistread.readers.model_class import BASIC, LARGE, ModelClass
from gistread.session import events, models
from tests.folders import paths_in
from tests.memory.test_model_check import good
from tests.scripted import ScriptedReader, SteppedEngine
from tests.session.event_log import session_on
from tests.tui.books import long_book

GOOD = CheckResult(answers=True, abstains=True, line="good for reading")
LOCAL = EngineInfo(
    "local", "local-1", 8192, "CPU", placement=Placement(0, 3, 8192, "f16", 64, 1, "")
)


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
    return CheckResults(paths_in(folder), installed_version())


async def test_a_model_is_checked_once_after_the_first_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    check, engine = Check(monkeypatch), local_engine(stop_after=0)
    session, log = session_on(tmp_path, engine, long_book(40))
    await session.use_model("local")
    await engine.stopped.wait()
    assert check.begun == 0
    engine.gate.set()
    await check.running.wait()
    assert log.of(events.PageRead)
    check.end.set()
    await log.until(lambda: log.of(events.Notice) and log.of(events.ReadingEnded))
    assert [notice.text for notice in log.of(events.Notice)] == [
        "local: good for reading."
    ]
    assert (check.begun, results(tmp_path).get("local-1")) == (1, GOOD)
    await session.close()


async def test_a_question_interrupts_the_check_which_restarts_afterwards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reader: ScriptedReader
) -> None:
    check = Check(monkeypatch)
    session, log = session_on(tmp_path, local_engine())
    await session.use_model("local")
    await check.running.wait()
    check.running.clear()
    session.questions.start(session.question("who"))
    await reader.has_question.wait()
    assert check.cancelled == 1
    await session.cancel_question()
    await check.running.wait()
    check.end.set()
    await log.until(lambda: log.of(events.Notice))
    await session.close()


@pytest.mark.parametrize("model", [LARGE, BASIC])
async def test_a_model_is_checked_briefly_before_its_first_answer(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    reader: ScriptedReader,
    model: ModelClass,
) -> None:
    Check(monkeypatch)
    engine = local_engine()
    if model is LARGE:
        engine._says = good
    session, log = session_on(tmp_path, engine, long_book(40))
    await session.use_model("local")
    await log.until(lambda: log.of(events.PageRead))
    states: list[events.AskingState] = []
    session._listeners.append(lambda event: states.append(session.activity.asking))
    for is_first in (True, False):
        states.clear()
        reader.has_question.clear()
        session.questions.start(session.question("who"))
        await reader.has_question.wait()
        assert (events.AskingState.CHECK in states) is is_first
        assert reader.options.model.name == model.name
        await session.cancel_question()
    assert results(tmp_path).get("local-1") is None, "the whole check is still due"
    await session.close()
