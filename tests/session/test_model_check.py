"""The model that reads is tried beside its reading: when, how often, and what a person's question does to it."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from gistread.engine.protocol import EngineInfo, Placement
from gistread.errors import EngineError
from gistread.memory.check_results import CheckResult, CheckResults, Worth
from gistread.session import model_check
from gistread.session.events import ActivityChanged, Notice, PageRead, QuestionAsked, SessionEvent
from gistread.session.model_check import Trying
from tests.fake_engine import FakeEngine

GOOD = CheckResult(Worth.READING, "good for reading", 6, 6)
PAGE = PageRead(entry=None)  # type: ignore[arg-type]
LOCAL = EngineInfo("local", "local-1", 8192, "CPU", placement=Placement(0, 3, 8192, "f16", 64, 1, True))


class LocalEngine(FakeEngine):
    @property
    def info(self) -> EngineInfo:
        return LOCAL


class Trials:
    """Stands for `check_model`: how often it began, and lets it end."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.begun = self.cancelled = 0
        self.end = asyncio.Event()
        self.error: EngineError | None = None
        monkeypatch.setattr(model_check, "check_model", self)

    async def __call__(self, *_: Any) -> CheckResult:
        self.begun += 1
        try:
            await self.end.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        if self.error:
            raise self.error
        return GOOD


@pytest.fixture
def told() -> list[SessionEvent]:
    return []


async def until(condition: Any) -> None:
    async with asyncio.timeout(5):
        while not condition():  # noqa: ASYNC110 - of things that tell nobody
            await asyncio.sleep(0.01)


def begin(folder: Path, told: list[SessionEvent], engine: FakeEngine | None = None) -> Trying:
    tried = Trying(told.append, lambda _: engine or LocalEngine(), CheckResults(folder / "tried.json", "1"))
    tried.make_engine("some-model")
    return tried


async def test_it_is_tried_from_the_first_page_on_and_once(
    tmp_path: Path, told: list[SessionEvent], monkeypatch: pytest.MonkeyPatch
) -> None:
    trials, tried = Trials(monkeypatch), begin(tmp_path, told)
    tried.tell(ActivityChanged())
    await asyncio.sleep(0.05)
    assert trials.begun == 0
    tried.tell(PAGE)
    await until(lambda: trials.begun)
    tried.tell(PAGE)
    trials.end.set()
    await until(lambda: any(isinstance(news, Notice) for news in told))
    tried.tell(PAGE)
    await asyncio.sleep(0.05)
    assert trials.begun == 1
    assert [news.text for news in told if isinstance(news, Notice)] == ["local: good for reading."]
    assert CheckResults(tmp_path / "tried.json", "1").get("local-1") == GOOD


async def test_a_question_ends_the_trial_and_the_next_page_begins_it_anew(
    tmp_path: Path, told: list[SessionEvent], monkeypatch: pytest.MonkeyPatch
) -> None:
    trials, tried = Trials(monkeypatch), begin(tmp_path, told)
    tried.tell(PAGE)
    await until(lambda: trials.begun)
    tried.tell(QuestionAsked("Who?"))
    await until(lambda: trials.cancelled)
    tried.tell(PAGE)
    await until(lambda: trials.begun == 2)
    trials.end.set()
    await until(lambda: any(isinstance(news, Notice) for news in told))


async def test_what_is_known_and_what_runs_elsewhere_is_not_tried(
    tmp_path: Path, told: list[SessionEvent], monkeypatch: pytest.MonkeyPatch
) -> None:
    trials = Trials(monkeypatch)
    begin(tmp_path, told, FakeEngine()).tell(PAGE)
    CheckResults(tmp_path / "tried.json", "1").save("local-1", None, GOOD)
    begin(tmp_path, told).tell(PAGE)
    await asyncio.sleep(0.1)
    assert trials.begun == 0


async def test_an_engine_that_fails_under_it_is_nobody_s_concern(
    tmp_path: Path, told: list[SessionEvent], monkeypatch: pytest.MonkeyPatch
) -> None:
    trials, tried = Trials(monkeypatch), begin(tmp_path, told)
    trials.error = EngineError("The engine has been closed.")
    trials.end.set()
    tried.tell(PAGE)
    await until(lambda: trials.begun)
    await asyncio.sleep(0.05)
    assert not any(isinstance(news, Notice) for news in told)
