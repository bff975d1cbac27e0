"""`gistread models check`, and its results in `models list`, `doctor` and `index`."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gistread.engine.protocol import EngineInfo, Placement
from gistread.errors import ExitStatus
from gistread.memory import model_check
from tests.cli.conftest import Run
from tests.fake_engine import FakeEngine
from tests.memory.test_model_check import good, rightly
from tests.tiny_gguf import write_tiny_gguf


@pytest.fixture
def tiny(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A model in a folder of its own, the only one there is."""
    folder = tmp_path / "models"
    folder.mkdir()
    monkeypatch.setattr("gistread.engine.models.found_models", lambda extra=(): _found(folder))
    monkeypatch.setattr(model_check, "_MAX_PASSAGES", 2)
    return write_tiny_gguf(folder / "tiny.gguf")


def _found(folder: Path) -> Any:
    from gistread.engine.model_search import FoundModel

    return [FoundModel(path.stem, (path,)) for path in sorted(folder.glob("*.gguf"))]


class GoodEngine(FakeEngine):
    """A model that passes every check."""

    @property
    def info(self) -> EngineInfo:
        return EngineInfo("good", "good-1", 8192, "CPU", placement=Placement(0, 3, 8192, "f16", 64, 1, True))

    async def start(self) -> EngineInfo:
        return self.info


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> GoodEngine:
    engine = GoodEngine(says=good, chooses=lambda text, options: rightly(text, options) if "A. " in text else 0)
    for module in ("cli.loading", "session.models"):
        monkeypatch.setattr(f"gistread.{module}.new_engine", lambda *_, **__: engine)
    return engine


Known = Callable[[], str]


def test_a_real_model_is_checked_and_the_result_saved(run: Run, tiny: Path) -> None:
    ran = run("models", "check", tiny)
    assert ran.out.startswith("tiny: gists will be extractive; ")
    assert "choices" in ran.out
    assert "gists    0 of 2 in its own words" in ran.out
    assert "checked  in" in ran.out
    assert "checked: gists will be extractive" in run("models", "list").out
    assert run("doctor", "--model", tiny, "--json").json["verdict"]["worth"] == "extractive"
    again = run("models", "check", tiny)
    assert "checked  before; use --again to check it again" in again.out


def test_json_has_the_result_of_the_check(run: Run, tiny: Path, fake: GoodEngine) -> None:
    document = run("models", "check", tiny, "--json").json
    assert document["model"]["name"] == "good"
    assert (document["worth"], document["verdict"]) == ("reading", "good for reading")
    assert (document["right"], document["choices"], document["gists"], document["passages"]) == (12, 12, 2, 2)
    assert set(document) == {
        *("model", "worth", "verdict", "choices", "right", "right_by_words", "by_place"),
        *("ends_turns", "questions", "answered_rightly", "passages", "gists", "faults", "seconds"),
    }


def test_the_list_shows_no_result_for_unchecked_models(run: Run, tiny: Path) -> None:
    (model,) = run("models", "list", "--json").json["models"]
    assert (model["worth"], model["verdict"]) == (None, None)


def test_a_model_that_cannot_be_loaded_cannot_be_used(run: Run, tiny: Path) -> None:
    unknown = write_tiny_gguf(tiny.with_name("odd.gguf"), general__architecture="oddlama")
    ran = run("models", "check", unknown)
    assert ran.status == ExitStatus.ENGINE
    assert "architecture “oddlama”" in ran.err
    document = run("models", "check", unknown, "--json").json
    assert document["worth"] == "none"
    assert document["verdict"].startswith("cannot be used: ")


def test_reading_a_book_checks_its_model_once(
    run: Run, book: Path, tiny: Path, fake: GoodEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran = run("index", book, "--model", tiny, "--max-words", 300, "--min-words", 100)
    assert ran.status == ExitStatus.DONE
    assert ran.err.count("good: good for reading.") == 1
    calls = len(fake.calls)
    other = run("index", book, "--model", tiny, "--max-words", 200, "--min-words", 100)
    assert "good for reading" not in other.err
    assert not any("Ines" in call.text for call in fake.calls[calls:])
