"""Downloads in the model screen: confirmed, in the background, paused, resumed, used at once."""

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from textual.pilot import Pilot

from gistread.config import Config, load_config
from gistread.engine.catalogue import CatalogueEntry, Machine, read_catalogue
from gistread.engine.fetching.partial_file import partial_path
from gistread.engine.model_search import found_models
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
from tests.tui.scripted import (
    SteppedEngine,
    opened,
    paths_in,
    text_of,
    type_text,
    until,
    until_shown,
)

SIZE = (110, 40)


@pytest.fixture
def hub(
    tmp_path: Path, gguf: bytes, monkeypatch: pytest.MonkeyPatch
) -> Iterator[FaultyServer]:
    """A hub with the only model of the catalogue that fits this machine; none is on disk."""
    without_environment(monkeypatch)
    monkeypatch.setattr(
        "gistread.tui.model_downloads.this_machine", lambda: Machine(10**9, 0, 4)
    )
    monkeypatch.setattr("gistread.tui.screens.model.starter_path", lambda: None)
    only_fetched(monkeypatch, paths_in(tmp_path))
    tiny = CatalogueEntry(
        "tiny",
        "owner/tiny-GGUF",
        "tiny.gguf",
        "trying things out",
        licence="cc0-1.0",
        parameters=10,
        size_bytes=len(gguf),
        sha256=sha256(gguf),
    )
    known = read_catalogue()
    catalogue = replace(known, entries=(*known.entries, tiny))
    monkeypatch.setattr(
        "gistread.tui.model_downloads.read_catalogue", lambda: catalogue
    )
    with faulty_server() as server:
        serve_repository(
            server, "owner/tiny-GGUF", {"tiny.gguf": gguf}, licence="cc0-1.0"
        )
        monkeypatch.setenv("HF_ENDPOINT", server.url)
        yield server


def only_fetched(monkeypatch: pytest.MonkeyPatch, paths: Paths) -> None:
    """Of all models on this machine, those that were fetched."""
    monkeypatch.setattr(
        "gistread.engine.models.found_models",
        lambda *_, **__: [
            model for model in found_models() if model.path.is_relative_to(paths.models)
        ],
    )
    monkeypatch.setattr("gistread.engine.model_search.default_paths", lambda: paths)


@pytest.fixture
def asked_for() -> list[str]:
    """The models that the app has asked for an engine of."""
    return []


@pytest.fixture
def new_app(
    tmp_path: Path, hub: FaultyServer, asked_for: list[str]
) -> Callable[[], GistreadApp]:
    """Start the app again with the same files."""

    def make(name: str) -> SteppedEngine:
        asked_for.append(name)
        return SteppedEngine()

    return lambda: GistreadApp(
        small_book(), paths=paths_in(tmp_path), config=Config(), make_engine=make
    )


@pytest.fixture
def app(new_app: Callable[[], GistreadApp]) -> GistreadApp:
    return new_app()


@pytest.fixture
def placed(tmp_path: Path) -> Path:
    """The path of the complete model."""
    return paths_in(tmp_path).models / "tiny.gguf"


@pytest.fixture
def part(placed: Path, gguf: bytes) -> Path:
    """The partial file."""
    return partial_path(placed.parent, placed.name, sha256(gguf))


async def choosing(pilot: "Pilot[None]") -> None:
    """The model screen with its downloads."""
    await opened(pilot)
    await pilot.press("m")
    await until_shown(pilot, "Recommended for this machine")


async def asked_about(pilot: "Pilot[None]") -> None:
    """The question about the recommended one."""
    await choosing(pilot)
    await pilot.press(*"tiny", "enter")
    await until_shown(pilot, "Download tiny?")


async def downloading(pilot: "Pilot[None]", part: Path) -> None:
    """A confirmed download, partly done."""
    await asked_about(pilot)
    await pilot.press("enter")
    await until(pilot, lambda: part.exists() and part.stat().st_size > 20_000)


async def test_the_recommended_model_is_shown_with_size_time_and_licence(
    app: GistreadApp, hub: FaultyServer
) -> None:
    async with app.run_test(size=SIZE) as pilot:
        await choosing(pilot)
        shown = text_of(app)
        assert "No model on this machine yet. Choose one to download" in shown
        assert re.search(
            r"download · \d+ kB · about .* for this book · cc0-1\.0", shown
        )
        assert "qwen3-1.7b" not in shown
        await pilot.press("down", "enter")
        await until_shown(pilot, "qwen3-1.7b")
        shown = text_of(app)
        assert (
            shown.index("tiny")
            < shown.index("Other models")
            < shown.index("qwen3-1.7b")
        )
        assert "too large for now" in shown
    assert not hub.requests


async def test_nothing_is_downloaded_without_confirmation(
    app: GistreadApp, hub: FaultyServer, placed: Path
) -> None:
    async with app.run_test(size=SIZE) as pilot:
        await asked_about(pilot)
        shown = text_of(app)
        for fact in (
            "cc0-1.0",
            "owner/tiny-GGUF",
            "the catalogue's",
            "are free",
            str(placed.parent)[:30],
        ):
            assert fact in shown
        await pilot.press("down", "enter")
        await until(pilot, lambda: isinstance(app.screen, ModelScreen))
        await pilot.press("enter")
        await until_shown(pilot, "Download tiny?")
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, ModelScreen))
    assert not hub.requests
    assert not placed.parent.exists()


async def test_a_downloaded_model_can_be_used_at_once(
    app: GistreadApp, tmp_path: Path, gguf: bytes, asked_for: list[str], placed: Path
) -> None:
    async with app.run_test(size=SIZE) as pilot:
        await asked_about(pilot)
        await pilot.press("enter")
        await until_shown(pilot, "On this machine")
        assert placed.read_bytes() == gguf
        await until(
            pilot,
            lambda: (
                isinstance(app.screen, ModelScreen) and app.screen.chosen == str(placed)
            ),
        )
        await pilot.press("enter")
        await until(pilot, lambda: asked_for == [str(placed)])
        await until(
            pilot,
            lambda: load_config(paths_in(tmp_path).config_file).model == str(placed),
        )


async def test_a_model_is_downloaded_by_mouse(app: GistreadApp, placed: Path) -> None:
    async def click_on(words: str) -> None:
        line = next(
            y for y, text in enumerate(text_of(app).splitlines()) if words in text
        )
        await pilot.click(offset=(20, line))

    async with app.run_test(size=SIZE) as pilot:
        await choosing(pilot)
        await until_shown(pilot, "No model on this machine yet")  # now the rows stay
        await click_on("about 1 s for this book")
        await until_shown(pilot, "Download tiny?")
        await click_on("You agree")
        await until(pilot, placed.exists)


async def test_a_download_is_paused_resumed_and_shown_in_the_status_line(
    app: GistreadApp, hub: FaultyServer, gguf: bytes, placed: Path, part: Path
) -> None:
    hub.always = throttled(20_000)
    async with app.run_test(size=SIZE) as pilot:
        await downloading(pilot, part)
        await until_shown(pilot, " left")
        await pilot.press("escape", "escape")
        await until(pilot, lambda: isinstance(app.screen, ReadingScreen))
        await until_shown(pilot, "downloading tiny")
        await pilot.press("m")
        await until_shown(pilot, "Enter: pause or stop")
        await pilot.press(*"tiny", "enter")
        await until_shown(pilot, "Stop and discard")
        await pilot.press("enter")
        await until_shown(pilot, "paused at")
        here = part.stat().st_size
        hub.always = None
        await pilot.press("enter")
        await until_shown(pilot, "Resume")
        await pilot.press("enter")
        await until(pilot, placed.exists)
    assert hub.gets()[-1].first == here
    assert sum(request.sent for request in hub.gets()) < len(gguf) + 65_536


async def test_a_download_is_discarded(
    app: GistreadApp, hub: FaultyServer, part: Path
) -> None:
    hub.always = throttled(20_000)
    async with app.run_test(size=SIZE) as pilot:
        await downloading(pilot, part)
        await pilot.press("enter")
        await until_shown(pilot, "discard")
        await pilot.press("down", "enter")
        await until(pilot, lambda: not part.exists())
        await until_shown(pilot, "about 1 s for this book")
    assert not list(part.parent.iterdir())


async def test_quitting_keeps_the_partial_download_with_a_message(
    app: GistreadApp, hub: FaultyServer, gguf: bytes, part: Path
) -> None:
    hub.always = throttled(20_000)
    async with app.run_test(size=SIZE) as pilot:
        await downloading(pilot, part)
        await pilot.press("escape", "escape")
        await until(pilot, lambda: isinstance(app.screen, ReadingScreen))
        await pilot.press("q")
    assert 0 < part.stat().st_size < len(gguf)
    assert app._downloads is not None
    assert not app._downloads.running


async def test_an_unfinished_download_is_resumed_or_discarded_after_a_restart(
    new_app: Callable[[], GistreadApp], tmp_path: Path, hub: FaultyServer, gguf: bytes
) -> None:
    serve_repository(hub, "owner/other", {"other.gguf": gguf})
    hub.always = throttled(20_000)
    part = partial_path(paths_in(tmp_path).models, "other.gguf", sha256(gguf))

    async def ask_about_it(pilot: "Pilot[None]") -> None:
        await choosing(pilot)
        await type_text(pilot, "owner/other")
        await pilot.press("enter")
        await until_shown(pilot, "Download other?")

    app = new_app()
    async with app.run_test(size=SIZE) as pilot:
        await ask_about_it(pilot)
        await pilot.press("enter")
        await until(pilot, lambda: part.exists() and part.stat().st_size > 10_000)
    app = new_app()
    async with app.run_test(size=SIZE) as pilot:
        await ask_about_it(pilot)
        here = part.stat().st_size
        await pilot.press("enter")
        await until(pilot, lambda: part.stat().st_size > here)
    assert hub.gets()[-1].first == here
    app = new_app()
    async with app.run_test(size=SIZE) as pilot:
        await ask_about_it(pilot)
        await pilot.press("down", "enter")
        await until(pilot, lambda: not part.exists())


async def test_a_refused_download_is_reported_and_can_be_retried(
    app: GistreadApp, hub: FaultyServer, placed: Path
) -> None:
    hub.always = status(403)
    async with app.run_test(size=SIZE, notifications=True) as pilot:
        await asked_about(pilot)
        await pilot.press("enter")
        await until_shown(pilot, "accepting its terms")
        hub.always = None
        await pilot.press("enter")
        await until_shown(pilot, "Resume")
        await pilot.press("enter")
        await until(pilot, placed.exists)


async def test_an_address_can_be_typed(
    app: GistreadApp, hub: FaultyServer, placed: Path
) -> None:
    async with app.run_test(size=SIZE) as pilot:
        await choosing(pilot)
        await type_text(pilot, "hf:owner/tiny-GGUF")
        await pilot.press("enter")
        await until_shown(pilot, "what the hub says it is")
        assert not hub.gets("/owner"), "only asked what there is"
        await pilot.press("enter")
        await until(pilot, placed.exists)
