"""`gistread models check`, and its results in `models list`, `doctor` and `index`."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from gistread.engine.protocol import EngineInfo, Placement, Prompt, StreamEvent
from gistread.errors import ExitStatus
from gistread.memory import model_check
from gistread.memory.check_results import CheckResult
from gistread.session.models import ChosenModel, ModelChecks
from tests.cli.conftest import Run
from tests.fake_engine import FakeEngine
from tests.memory.test_model_check import good
from tests.tiny_gguf import write_tiny_gguf


@pytest.fixture
def tiny(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A model in a folder of its own, the only one there is."""
    folder = tmp_path / "models"
    folder.mkdir()
    monkeypatch.setattr(
        "gistread.engine.models.found_models", lambda extra=(): _models_in(folder)
    )
    monkeypatch.setattr(model_check, "_MAX_PASSAGES", 2)
    return write_tiny_gguf(folder / "tiny.gguf")


def _models_in(folder: Path) -> Any:
    from gistread.engine.model_search import ModelFile

    return [ModelFile(path, path.stem) for path in sorted(folder.glob("*.gguf"))]


LINE = "answers questions; gists in its own words"


class GoodEngine(FakeEngine):
    """A model that passes every check."""

    @property
    def info(self) -> EngineInfo:
        return EngineInfo(
            "good",
            "good-1",
            8192,
            "CPU",
            placement=Placement(0, 3, 8192, "f16", 64, 1, ""),
        )

    async def start(self) -> EngineInfo:
        return self.info


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> GoodEngine:
    engine = GoodEngine(says=good)
    for module in ("cli.sessions", "session.models"):
        monkeypatch.setattr(f"gistread.{module}.new_engine", lambda *_, **__: engine)
    return engine


def test_a_real_model_is_checked_and_the_result_saved(run: Run, tiny: Path) -> None:
    ran = run("models", "check", tiny)
    assert "gists are quotations" in ran.out
    assert "checked: often misreads" in run("models", "list").out
    assert run("doctor", "--model", tiny, "--json").json["verdict"]["trust"] == "failed"
    again = run("models", "check", tiny)
    assert "--again checks it again" in again.err


def test_json_has_the_result_of_the_check(
    run: Run, tiny: Path, fake: GoodEngine
) -> None:
    document = run("models", "check", tiny, "--json").json
    assert document["model"]["name"] == "good"
    assert (document["trust"], document["verdict"]) == ("passed", LINE)
    assert (
        document["right"],
        document["asked"],
        document["gists"],
        document["passages"],
    ) == (
        6,
        6,
        2,
        2,
    )
    assert set(document) == {
        "model",
        "trust",
        "verdict",
        "usable",
        "asked",
        "right",
        "chooses",
        "ends_turns",
        "questions",
        "answered_rightly",
        "passages",
        "gists",
        "faults",
        "seconds",
    }


def test_reading_a_book_checks_its_model_once(
    run: Run, book: Path, tiny: Path, fake: GoodEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    check = ModelChecks.check
    stream = GoodEngine.stream
    checked = asyncio.Event()

    async def check_and_tell(
        self: ModelChecks, model: ChosenModel
    ) -> CheckResult | None:
        try:
            return await check(self, model)
        finally:
            checked.set()

    async def read_the_end_later(
        self: GoodEngine, prompt: Prompt, *options: Any
    ) -> AsyncIterator[StreamEvent]:
        if any("The Letter stood before" in message.content for message in prompt):
            await checked.wait()
        async for event in stream(self, prompt, *options):
            yield event

    monkeypatch.setattr(ModelChecks, "check", check_and_tell)
    monkeypatch.setattr(GoodEngine, "stream", read_the_end_later)
    ran = run("index", book, "--model", tiny, "--max-words", 300, "--min-words", 100)
    assert ran.status == ExitStatus.DONE
    assert ran.err.count(f"good: {LINE}.") == 1
    calls = len(fake.calls)
    other = run("index", book, "--model", tiny, "--max-words", 200, "--min-words", 100)
    assert LINE not in other.err
    assert not any("Ines" in call.text for call in fake.calls[calls:])
