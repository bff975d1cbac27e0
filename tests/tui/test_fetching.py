"""Fetching a model from the model screen: asked first, in the background, paused and gone on with, used at once."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import OptionList

from gistread.config import Config, load_config
from gistread.engine.model_places import found_models
from gistread.engine.recommending import Machine
from gistread.paths import Paths
from gistread.tui.app import GistreadApp
from gistread.tui.screens.model import ModelScreen
from gistread.tui.screens.reading import ReadingScreen
from tests.engine.fetching.server import (
    FaultyServer,
    faulty_server,
    serve_repository,
    sha256,
    status,
    throttled,
    without_environment,
)
from tests.tui.books import small_book
from tests.tui.scripted import SteppedEngine, opened, paths_in, text_of, until

SIZE = (110, 40)


@pytest.fixture
def hub(tmp_path: Path, gguf: bytes, monkeypatch: pytest.MonkeyPatch) -> Iterator[FaultyServer]:
    """A hub with one model, which is the only one of the catalogue that fits this machine, and none on disk."""
    without_environment(monkeypatch)
    monkeypatch.setattr("gistread.tui.fetching.this_machine", lambda: Machine(10**9, 0, 4))
    monkeypatch.setattr("gistread.tui.screens.model.starter_path", lambda: None)
    only_fetched(monkeypatch, paths_in(tmp_path))
    paths_in(tmp_path).config.mkdir(parents=True, exist_ok=True)
    paths_in(tmp_path).own_models.write_text(
        '[[model]]\nname = "tiny"\nrepository = "owner/tiny-GGUF"\nfile = "tiny.gguf"\nlicence = "cc0-1.0"\n'
        f'good_for = "trying things out"\nparameters = 10\nsize_bytes = {len(gguf)}\nsha256 = "{sha256(gguf)}"\n'
    )
    with faulty_server() as server:
        serve_repository(server, "owner/tiny-GGUF", {"tiny.gguf": gguf}, licence="cc0-1.0")
        monkeypatch.setenv("HF_ENDPOINT", server.url)
        yield server


def only_fetched(monkeypatch: pytest.MonkeyPatch, paths: Paths) -> None:
    """Of all models on this machine, those that were fetched."""
    monkeypatch.setattr(
        "gistread.engine.models.found_models",
        lambda *_, **__: [one for one in found_models() if one.parts[0].is_relative_to(paths.models)],
    )
    monkeypatch.setattr("gistread.engine.model_folders.default_paths", lambda: paths)


def app_in(tmp_path: Path, asked_for: list[str] | None = None) -> GistreadApp:
    def make(name: str) -> SteppedEngine:
        if asked_for is not None:
            asked_for.append(name)
        return SteppedEngine()

    return GistreadApp(small_book(), paths=paths_in(tmp_path), config=Config(), make_engine=make)


async def choosing(pilot: "Pilot[None]") -> None:
    """The model screen, with what can be fetched."""
    await opened(pilot)
    await pilot.press("m")
    await until(pilot, lambda: "tiny   recommended" in text_of(pilot.app))


async def asked_about(pilot: "Pilot[None]") -> None:
    """The question about the recommended one."""
    await choosing(pilot)
    await pilot.press(*"tiny", "enter")
    await until(pilot, lambda: "Fetch tiny?" in text_of(pilot.app))


async def test_the_recommended_one_is_the_first_with_its_reason_size_and_licence(
    tmp_path: Path, hub: FaultyServer
) -> None:
    app = app_in(tmp_path)
    async with app.run_test(size=SIZE) as pilot:
        await choosing(pilot)
        shown = text_of(app)
        assert "Can be fetched, after asking" in shown
        assert "cc0-1.0 · the largest that fits 1.0 GB of free memory" in shown
        assert "qwen3-1.7b" not in shown
        await pilot.press("down", "enter")
        await until(pilot, lambda: "qwen3-1.7b" in text_of(app))
        shown = text_of(app)
        assert shown.index("tiny   recommended") < shown.index("qwen3-1.7b")
        assert "too large for now" in shown
    assert not hub.requests


async def test_nothing_is_fetched_without_a_yes(tmp_path: Path, hub: FaultyServer) -> None:
    app = app_in(tmp_path)
    async with app.run_test(size=SIZE) as pilot:
        await asked_about(pilot)
        shown = text_of(app)
        for said in ("cc0-1.0", "owner/tiny-GGUF", "the catalogue's", "are free", str(paths_in(tmp_path).models)[:30]):
            assert said in shown
        await pilot.press("down", "enter")
        await until(pilot, lambda: isinstance(app.screen, ModelScreen))
        await pilot.press("enter")
        await until(pilot, lambda: "Fetch tiny?" in text_of(app))
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, ModelScreen))
    assert not hub.requests
    assert not paths_in(tmp_path).models.exists()


async def test_what_was_fetched_can_be_used_at_once(tmp_path: Path, hub: FaultyServer, gguf: bytes) -> None:
    asked_for: list[str] = []
    app = app_in(tmp_path, asked_for)
    path = paths_in(tmp_path).models / "tiny.gguf"
    async with app.run_test(size=SIZE) as pilot:
        await asked_about(pilot)
        await pilot.press("enter")
        await until(pilot, lambda: "Ready to use" in text_of(app))
        assert path.read_bytes() == gguf
        await until(pilot, lambda: app.screen.query_one("#model-rows", OptionList).highlighted_option is not None)
        await until(pilot, lambda: app.screen.query_one("#model-rows", OptionList).highlighted_option.id == str(path))
        await pilot.press("enter")
        await until(pilot, lambda: asked_for == [str(path)])
        await until(pilot, lambda: load_config(paths_in(tmp_path).config_file).model == str(path))


async def test_with_the_mouse_alone(tmp_path: Path, hub: FaultyServer) -> None:
    app = app_in(tmp_path)

    async def click_on(words: str) -> None:
        rows = app.screen.query_one(OptionList)
        line = next(y for y, text in enumerate(text_of(app).splitlines()) if words in text)
        await pilot.click(rows, offset=(4, line - rows.content_region.y))

    async with app.run_test(size=SIZE) as pilot:
        await choosing(pilot)
        await click_on("tiny   recommended")
        await until(pilot, lambda: "Fetch tiny?" in text_of(app))
        await click_on("Fetch it")
        await until(pilot, lambda: (paths_in(tmp_path).models / "tiny.gguf").exists())


async def test_a_download_is_paused_gone_on_with_and_told_in_the_status_line(
    tmp_path: Path, hub: FaultyServer, gguf: bytes
) -> None:
    hub.always = throttled(20_000)
    app = app_in(tmp_path)
    part = paths_in(tmp_path).models / "tiny.gguf.part"
    async with app.run_test(size=SIZE) as pilot:
        await asked_about(pilot)
        await pilot.press("enter")
        await until(pilot, lambda: part.exists() and part.stat().st_size > 20_000)
        await until(pilot, lambda: " left" in text_of(app))
        await pilot.press("escape", "escape")
        await until(pilot, lambda: isinstance(app.screen, ReadingScreen))
        await until(pilot, lambda: "fetching tiny" in text_of(app))
        await pilot.press("m")
        await until(pilot, lambda: "Enter: pause or stop" in text_of(app) or "tiny" in text_of(app))
        await pilot.press(*"tiny", "enter")
        await until(pilot, lambda: "Throw" in text_of(app) or "throw away" in text_of(app))
        await pilot.press("enter")
        await until(pilot, lambda: "paused at" in text_of(app))
        here = part.stat().st_size
        hub.always = None
        await pilot.press("enter")
        await until(pilot, lambda: "Go on" in text_of(app))
        await pilot.press("enter")
        await until(pilot, lambda: (paths_in(tmp_path).models / "tiny.gguf").exists())
    assert hub.gets()[-1].first == here
    assert sum(request.sent for request in hub.gets()) < len(gguf) + 65_536


async def test_a_download_is_stopped_and_thrown_away(tmp_path: Path, hub: FaultyServer) -> None:
    hub.always = throttled(20_000)
    app = app_in(tmp_path)
    part = paths_in(tmp_path).models / "tiny.gguf.part"
    async with app.run_test(size=SIZE) as pilot:
        await asked_about(pilot)
        await pilot.press("enter")
        await until(pilot, lambda: part.exists() and part.stat().st_size > 10_000)
        await pilot.press("enter")
        await until(pilot, lambda: "throw away" in text_of(app))
        await pilot.press("down", "enter")
        await until(pilot, lambda: not part.exists())
        await until(pilot, lambda: "tiny   recommended" in text_of(app))
    assert not list(paths_in(tmp_path).models.iterdir())


async def test_quitting_keeps_what_has_come_and_says_so(tmp_path: Path, hub: FaultyServer, gguf: bytes) -> None:
    hub.always = throttled(20_000)
    app = app_in(tmp_path)
    part = paths_in(tmp_path).models / "tiny.gguf.part"
    async with app.run_test(size=SIZE) as pilot:
        await asked_about(pilot)
        await pilot.press("enter")
        await until(pilot, lambda: part.exists() and part.stat().st_size > 10_000)
        await pilot.press("escape", "escape")
        await until(pilot, lambda: isinstance(app.screen, ReadingScreen))
        await pilot.press("q")
    assert 0 < part.stat().st_size < len(gguf)
    assert app.fetching is not None
    assert not app.fetching.downloads.running


async def test_a_refusal_is_told_and_can_be_tried_again(tmp_path: Path, hub: FaultyServer) -> None:
    hub.always = status(403)
    app = app_in(tmp_path)
    async with app.run_test(size=SIZE, notifications=True) as pilot:
        await asked_about(pilot)
        await pilot.press("enter")
        await until(pilot, lambda: "agree to its terms" in text_of(app))
        hub.always = None
        await pilot.press("enter")
        await until(pilot, lambda: "Go on" in text_of(app))
        await pilot.press("enter")
        await until(pilot, lambda: (paths_in(tmp_path).models / "tiny.gguf").exists())


async def test_an_address_can_be_typed(tmp_path: Path, hub: FaultyServer) -> None:
    app = app_in(tmp_path)
    async with app.run_test(size=SIZE) as pilot:
        await choosing(pilot)
        await pilot.press(*"hf:owner/tiny-GGUF", "enter")
        await until(pilot, lambda: "what the hub says it is" in text_of(app))
        assert not hub.gets("/owner"), "only asked what there is"
        await pilot.press("enter")
        await until(pilot, lambda: (paths_in(tmp_path).models / "tiny.gguf").exists())


async def test_models_to_search_by_are_offered_where_one_is_chosen_for_that(tmp_path: Path, hub: FaultyServer) -> None:
    app = app_in(tmp_path)
    async with app.run_test(size=SIZE) as pilot:
        await choosing(pilot)
        assert "nomic-embed-text" not in text_of(app)
        await pilot.press("shift+tab")
        await until(pilot, lambda: "nomic-embed-text" in text_of(app))
        assert "tiny" not in text_of(app)


async def test_a_catalogue_that_cannot_be_read_is_told_and_leaves_the_rest(tmp_path: Path, hub: FaultyServer) -> None:
    paths_in(tmp_path).own_models.write_text("[[model]]\nname = 3")
    app = app_in(tmp_path)
    async with app.run_test(size=SIZE) as pilot:
        await opened(pilot)
        await pilot.press("m")
        await until(pilot, lambda: "models.toml, model 1" in text_of(app))
        assert "Read without a model" in text_of(app)
