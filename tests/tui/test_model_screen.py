"""The model screen: rows while headers are read, filtering, keys and mouse."""

import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from textual.widgets import OptionList

from gistread.config import Config
from gistread.engine.llama.fit import ModelSizes
from gistread.engine.model_files import ModelFile
from gistread.engine.model_kinds import ModelKind
from gistread.memory.check_results import CheckResult, Worth
from gistread.tui.app import GistreadApp
from gistread.tui.model_rows import matching, sections
from gistread.tui.screens.model import ModelScreen, is_fetched
from tests.tui.books import small_book
from tests.tui.scripted import SteppedEngine, opened, paths_in, text_of, until
from tests.tui.test_choosing import SIZE, model

GB = 10**9


def sized(name: str, gigabytes: int) -> ModelFile:
    return replace(model(name), sizes=ModelSizes(gigabytes * GB, layers=32, cell=100_000, states=0, scratch=0))


MODELS = [
    sized("zebra-7b", 4),
    replace(sized("whale-70b", 40), licence="llama3.3", aliases=("sea:latest",)),
    replace(model("vectors", usable=False), kind=ModelKind.EMBEDDINGS, problem="it makes embeddings, not text"),
    model("broken", usable=False),
    sized("adder-3b", 2),
]


@pytest.fixture
def found(monkeypatch: pytest.MonkeyPatch) -> list[ModelFile]:
    models = list(MODELS)
    monkeypatch.setattr("gistread.tui.screens.model.each_model", lambda: iter(models))
    monkeypatch.setattr("gistread.tui.screens.model.starter_path", lambda: None)
    for name in ("available_bytes", "free_for_models"):
        monkeypatch.setattr(f"gistread.tui.screens.model.{name}", lambda: 8 * GB)
    return models


def app_in(folder: Path, asked_for: list[str], current: str = "") -> GistreadApp:
    def make(name: str) -> SteppedEngine:
        asked_for.append(name)
        return SteppedEngine()

    return GistreadApp(small_book(), paths=paths_in(folder), config=Config(model=current), make_engine=make)


def test_usable_models_come_first_and_unusable_ones_last() -> None:
    shown = sections(MODELS, 8 * GB, "", None)
    assert [[row.name for row in section.rows] for section in shown] == [
        ["adder-3b", "zebra-7b"],
        ["whale-70b"],
        ["vectors"],
        ["broken"],
    ]
    assert "too large for now: it needs 40.8 GB, 8.0 GB are free" in shown[1].rows[0].about
    assert shown[1].rows[0].enabled, "memory may be freed before it is loaded"
    assert not shown[3].rows[0].enabled


def test_a_model_that_failed_its_check_is_listed_as_unusable() -> None:
    tried = {
        MODELS[0].path: CheckResult(Worth.NONE, "cannot be used: it writes nothing"),
        MODELS[4].path: CheckResult(Worth.READING, "good for reading"),
    }
    shown = sections(MODELS, 8 * GB, "", None, tried=tried)
    assert [row.name for row in shown[0].rows] == ["adder-3b"]
    assert [row.name for row in shown[-1].rows] == ["broken", "zebra-7b"]
    assert shown[-1].rows[1].enabled


@pytest.mark.parametrize(
    ("typed", "names"),
    [
        ("adder", ["adder-3b"]),
        ("llama3.3", ["whale-70b"]),
        ("sea:latest", ["whale-70b"]),
        ("models", []),
        ("7B", ["zebra-7b"]),
        ("fits 3b", ["adder-3b"]),
        ("cut off", ["broken"]),
        ("none", []),
    ],
)
def test_rows_are_found_by_any_of_their_words(typed: str, names: list[str]) -> None:
    shown = matching(sections(MODELS, 8 * GB, "", None), typed)
    assert [row.name for section in shown for row in section.rows] == names


async def test_letters_filter_and_enter_chooses_the_remaining_row(tmp_path: Path, found: list[ModelFile]) -> None:
    asked_for: list[str] = []
    app = app_in(tmp_path, asked_for)
    async with app.run_test(size=SIZE) as pilot:
        await opened(pilot)
        await pilot.press("m")
        await until(pilot, lambda: "adder-3b" in text_of(app) and "whale-70b" in text_of(app))
        await pilot.press(*"whale")
        await until(pilot, lambda: "adder-3b" not in text_of(app))
        assert "llama3.3" in text_of(app), "what else is known of the one under the cursor"
        await pilot.press("escape")
        await until(pilot, lambda: "adder-3b" in text_of(app))
        await pilot.press(*"zeb", "enter")
        await until(pilot, lambda: asked_for == ["/models/zebra-7b.gguf"])


async def test_rows_appear_while_headers_are_read_without_moving_the_cursor(
    tmp_path: Path, found: list[ModelFile], monkeypatch: pytest.MonkeyPatch
) -> None:
    rest = threading.Event()

    def slowly() -> Iterator[ModelFile]:
        yield from (MODELS[0], MODELS[1])
        rest.wait(20)
        yield MODELS[4]

    monkeypatch.setattr("gistread.tui.screens.model.each_model", slowly)
    app = app_in(tmp_path, [])
    async with app.run_test(size=SIZE) as pilot:
        await opened(pilot)
        await pilot.press("m")
        await until(pilot, lambda: "zebra-7b" in text_of(app))
        assert "Looking for models on this machine … 2" in text_of(app)
        await pilot.press("down")
        rows = app.screen.query_one("#model-rows", OptionList)
        assert rows.highlighted_option is not None
        put = rows.highlighted_option.id
        rest.set()
        await until(pilot, lambda: "adder-3b" in text_of(app))
        assert rows.highlighted_option is not None
        assert rows.highlighted_option.id == put


async def test_choosing_an_unusable_model_says_why(tmp_path: Path, found: list[ModelFile]) -> None:
    asked_for: list[str] = []
    app = app_in(tmp_path, asked_for)
    async with app.run_test(size=SIZE) as pilot:
        await opened(pilot)
        await pilot.press("m")
        await until(pilot, lambda: "on this machine ·" in text_of(app))
        for typed, told, why in (
            ("broken", "/models/broken.gguf", "cannot be used"),
            ("vectors", "/models/vectors.gguf", "for search by meaning"),
        ):
            await pilot.press(*typed)
            await until(pilot, lambda told=told: told in text_of(app))
            await pilot.press("enter")
            await until(pilot, lambda why=why: any(why in notice.message for notice in app._notifications))
            assert isinstance(app.screen, ModelScreen)
            await pilot.press("escape")  # clears what is typed
            await until(pilot, lambda: "adder-3b" in text_of(app))
        assert asked_for == []


@pytest.mark.parametrize(
    ("typed", "fetched"),
    [
        ("hf:owner/repository", True),
        ("owner/repository:Q4_K_M", True),
        ("https://huggingface.co/owner/repository", True),
        ("https://a.example/m.gguf", True),
        ("https://a.example/v1", False),
        ("folder/m.gguf", False),
        ("tests/tui", False),
        ("qwen 4b", False),
    ],
)
def test_a_typed_repository_is_downloaded(typed: str, fetched: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(Path(__file__).parents[2])
    assert is_fetched(typed) is fetched


async def test_the_section_title_is_visible_at_the_first_model(
    tmp_path: Path, found: list[ModelFile], monkeypatch: pytest.MonkeyPatch
) -> None:
    many = [sized(f"model-{number:02}", 1) for number in range(60)]
    monkeypatch.setattr("gistread.tui.screens.model.each_model", lambda: iter(many))
    app = app_in(tmp_path, [])
    async with app.run_test(size=SIZE) as pilot:
        await opened(pilot)
        await pilot.press("m")
        await until(pilot, lambda: "60 on this machine ·" in text_of(app))
        await pilot.press("ctrl+end")
        await until(pilot, lambda: "Read without a model" in text_of(app) and "model-00" not in text_of(app))
        await pilot.press("ctrl+home")
        await until(pilot, lambda: "Ready to use" in text_of(app) and "/models/model-00.gguf" in text_of(app))


async def test_the_model_in_use_is_marked_and_under_the_cursor(tmp_path: Path, found: list[ModelFile]) -> None:
    app = app_in(tmp_path, [], current="/models/zebra-7b.gguf")
    async with app.run_test(size=SIZE) as pilot:
        await opened(pilot)
        await pilot.press("m")
        await until(pilot, lambda: "● zebra-7b" in text_of(app))
        assert "/models/zebra-7b.gguf" in text_of(app)


async def test_a_model_is_chosen_with_the_mouse_alone(tmp_path: Path, found: list[ModelFile]) -> None:
    asked_for: list[str] = []
    app = app_in(tmp_path, asked_for)
    async with app.run_test(size=SIZE) as pilot:
        await opened(pilot)
        await pilot.press("m")
        await until(pilot, lambda: isinstance(app.screen, ModelScreen) and "zebra-7b" in text_of(app))
        await until(pilot, lambda: "on this machine ·" in text_of(app))
        rows = app.screen.query_one("#model-rows", OptionList)
        line = next(y for y, text in enumerate(text_of(app).splitlines()) if "zebra-7b" in text)
        await pilot.click(rows, offset=(4, line - rows.content_region.y))
        await until(pilot, lambda: asked_for == ["/models/zebra-7b.gguf"])


async def test_name_and_detail_are_visible_at_every_size(tmp_path: Path, found: list[ModelFile]) -> None:
    app = app_in(tmp_path, [])
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await opened(pilot)
        for size in ((80, 24), (60, 16), (160, 50)):
            await pilot.resize_terminal(*size)
            await pilot.press("m")
            await until(pilot, lambda: "adder-3b" in text_of(app))
            assert "/models/adder-3b.gguf" in text_of(app)
            await pilot.press("escape")
            await until(pilot, lambda: app.screen is screen)
