"""The model screen: rows while headers are read, filtering, keys and mouse."""

from dataclasses import replace
from pathlib import Path

import pytest

from gistread.config import Config
from gistread.engine.llama.fit import ModelSizes
from gistread.engine.model_search import ModelFile
from gistread.memory.check_results import CheckResult
from gistread.tui.app import GistreadApp
from gistread.tui.model_rows import Chooser, Entry, Fetch, ModelRow, Role
from gistread.tui.screens.model import ModelScreen
from tests.engine.test_models import gguf
from tests.tui.books import small_book
from tests.tui.scripted import (
    SteppedEngine,
    opened,
    paths_in,
    text_of,
    until,
    until_gone,
    until_shown,
)
from tests.tui.test_choosing import SIZE, model

GB = 10**9


def sized(name: str, gigabytes: int) -> ModelFile:
    return replace(
        model(name),
        sizes=ModelSizes(gigabytes * GB, layers=32, cell=100_000, states=0, scratch=0),
    )


MODELS = [
    sized("zebra-7b", 4),
    replace(sized("whale-70b", 40), licence="llama3.3", aliases=("sea:latest",)),
    model("broken", usable=False),
    sized("adder-3b", 2),
]


@pytest.fixture
def models(monkeypatch: pytest.MonkeyPatch) -> list[ModelFile]:
    here = list(MODELS)
    monkeypatch.setattr("gistread.tui.screens.model.each_model", lambda: iter(here))
    monkeypatch.setattr("gistread.tui.screens.model.starter_path", lambda: None)
    for name in ("available_bytes", "free_for_models"):
        monkeypatch.setattr(f"gistread.tui.screens.model.{name}", lambda: 8 * GB)
    return here


def app_in(folder: Path, asked_for: list[str], current: str = "") -> GistreadApp:
    def make(name: str) -> SteppedEngine:
        asked_for.append(name)
        return SteppedEngine()

    return GistreadApp(
        small_book(),
        paths=paths_in(folder),
        config=Config(model=current),
        make_engine=make,
    )


def listed(
    *,
    current: str = "",
    whole: bool = True,
    tried: dict[Path, CheckResult] | None = None,
) -> dict[str, list[ModelRow]]:
    """The rows by their headings."""
    downloads = [ModelRow(Fetch("best"), "best")], [ModelRow(Fetch("small"), "small")]
    shown: dict[str, list[ModelRow]] = {}
    heading = ""
    for row in Chooser(Role.READING, current, 8 * GB, None, tried or {}).rows(
        MODELS, downloads, whole=whole
    ):
        if isinstance(row, ModelRow):
            shown[heading].append(row)
        else:
            heading = row.text
            shown[heading] = []
    return shown


def names(shown: dict[str, list[ModelRow]]) -> dict[str, list[str]]:
    return {title: [row.text for row in rows] for title, rows in shown.items()}


def test_the_list_is_short_and_reading_without_a_model_is_its_end() -> None:
    short = listed(current="/models/zebra-7b.gguf", whole=False)
    assert names(short) == {
        "In use": ["● zebra-7b"],
        "On this machine": ["adder-3b"],
        "Recommended for this machine": ["best"],
        "Other models": ["3 more …"],
        "Without a model": ["Read without a model"],
    }
    assert [row.key for row in short["Other models"]] == [Entry.OTHERS]
    shown = listed()
    assert names(shown) == {
        "On this machine": ["adder-3b", "zebra-7b"],
        "Recommended for this machine": ["best"],
        "Other models": ["small", "whale-70b", "broken"],
        "Without a model": ["Read without a model"],
    }
    whale, broken = shown["Other models"][1:]
    assert "too large for now: it needs 40.8 GB, 8.0 GB are free" in whale.about
    assert not whale.refusal, "memory may be freed before it is loaded"
    assert broken.refusal


def test_a_model_that_failed_its_check_is_listed_as_unusable() -> None:
    tried = {
        MODELS[0].path: CheckResult(
            answers=False,
            abstains=True,
            line="cannot be used: it writes nothing",
            is_usable=False,
        ),
        MODELS[-1].path: CheckResult(
            answers=True, abstains=True, line="good for reading"
        ),
    }
    shown = listed(tried=tried)
    assert names(shown)["On this machine"] == ["adder-3b"]
    assert names(shown)["Other models"] == ["small", "whale-70b", "broken", "zebra-7b"]
    assert not shown["Other models"][-1].refusal


async def test_letters_filter_and_enter_chooses_the_remaining_row(
    tmp_path: Path, models: list[ModelFile]
) -> None:
    asked_for: list[str] = []
    app = app_in(tmp_path, asked_for)
    async with app.run_test(size=SIZE) as pilot:
        await opened(pilot)
        await pilot.press("m")
        await until_shown(pilot, "adder-3b", "more …")
        await pilot.press(*"whale")
        await until_gone(pilot, "adder-3b")
        assert "llama3.3" in text_of(app), (
            "what else is known of the one under the cursor"
        )
        await pilot.press("escape")
        await until_shown(pilot, "adder-3b")
        await pilot.press(*"zeb", "enter")
        await until(pilot, lambda: asked_for == ["/models/zebra-7b.gguf"])


async def test_a_model_is_chosen_with_the_mouse_alone(
    tmp_path: Path, models: list[ModelFile]
) -> None:
    asked_for: list[str] = []
    app = app_in(tmp_path, asked_for)
    async with app.run_test(size=SIZE) as pilot:
        await opened(pilot)
        await pilot.press("m")
        await until(
            pilot,
            lambda: isinstance(app.screen, ModelScreen) and "zebra-7b" in text_of(app),
        )
        await until_shown(pilot, "on this machine ·")
        line = next(
            y for y, text in enumerate(text_of(app).splitlines()) if "zebra-7b" in text
        )
        await pilot.click(offset=(20, line))
        await until(pilot, lambda: asked_for == ["/models/zebra-7b.gguf"])


async def test_a_model_chosen_by_path_is_listed_as_the_one_in_use(
    tmp_path: Path, models: list[ModelFile]
) -> None:
    file = gguf(tmp_path / "elsewhere.gguf")
    app = app_in(tmp_path, [], current=str(file))
    async with app.run_test(size=SIZE) as pilot:
        await opened(pilot)
        await pilot.press("m")
        await until_shown(pilot, "● elsewhere")
        shown = text_of(app)
        assert shown.index("In use") < shown.index("● elsewhere")
