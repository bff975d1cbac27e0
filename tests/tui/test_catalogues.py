"""Getting a book from a catalogue, from an empty library to its first page."""

import base64
from collections.abc import Iterator
from pathlib import Path

import pytest
from textual import events
from textual.pilot import Pilot
from textual.widgets import Input

from gistread.acquisition.sources import Source
from gistread.config import Config, load_config
from gistread.engine.fetching.network import Network
from gistread.tui.app import GistreadApp
from gistread.tui.screens.catalogues import CatalogueScreen
from gistread.tui.screens.image import FigureView
from tests.book.make_epub import epub as make_epub
from tests.book.make_epub import package, page
from tests.cli.test_get import epub
from tests.engine.fetching.server import (
    FaultyServer,
    File,
    Handler,
    faulty_server,
    without_environment,
)
from tests.tui.scripted import app_on, opened, paths_in, text_of, until, until_shown
from tests.tui.test_pictures import png

_SIZE = (80, 24)
_FEED = """<feed xmlns="http://www.w3.org/2005/Atom" xmlns:dc="http://purl.org/dc/terms/">
<title>Shelf</title>{links}{entries}</feed>"""
_BOOK = """<entry><title>{title}</title><author><name>Ada Ro</name></author>
<dc:language>en</dc:language><link rel="http://opds-spec.org/acquisition"
type="application/epub+zip" href="/{name}.epub" length="1234567"/></entry>"""
_SHELF = """<entry><title>{title}</title><link rel="subsection"
type="application/atom+xml;profile=opds-catalog" href="{href}"/></entry>"""


def _feed(*entries: str, links: str = "") -> File:
    text = _FEED.format(entries="".join(entries), links=links)
    return File(text.encode(), headers={"Content-Type": "application/atom+xml"})


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[FaultyServer]:
    """A catalogue in the place of Project Gutenberg."""
    without_environment(monkeypatch)
    quick = Network(stall_s=2.0, pause_s=0.01, attempts=2)
    monkeypatch.setattr("gistread.tui.screens.catalogues.Network", lambda: quick)
    with faulty_server() as server:
        search = f"{server.url}/search?q={{searchTerms}}"
        source = Source("Test Books", f"{server.url}/opds", search)
        monkeypatch.setattr(
            "gistread.acquisition.sources.SOURCES", {"gutenberg": source}
        )
        lamp = _BOOK.format(title="The Lamp", name="lamp")
        other = _BOOK.format(title="The Other Lamp", name="other")
        more = '<link rel="next" type="application/atom+xml" href="/more"/>'
        server.files["/search"] = _feed(lamp, links=more)
        server.files["/more"] = _feed(other)
        server.files["/opds"] = _feed(_SHELF.format(title="New books", href="/search"))
        server.files["/lamp.epub"] = File(
            epub(), headers={"Content-Type": "application/epub+zip"}
        )
        yield server


async def _panel(app: GistreadApp, pilot: Pilot[None]) -> None:
    await until_shown(pilot, "gets one from a catalogue")
    await pilot.press("c")
    await until(pilot, lambda: isinstance(app.screen, CatalogueScreen))


async def test_from_an_empty_library_to_page_one_in_three_keys_and_the_words(
    server: FaultyServer, tmp_path: Path
) -> None:
    app = app_on(None, tmp_path)
    async with app.run_test(size=_SIZE) as pilot:
        await _panel(app, pilot)
        assert "Enter asks 127.0.0.1; nothing is sent before" in text_of(app)
        await pilot.press(*"lamp")
        assert server.requests == []
        await pilot.press("enter")
        await until_shown(pilot, "Ada Ro")
        assert "1 MB" in text_of(app)
        await pilot.press("enter")
        screen = await opened(pilot)
        assert screen.book.title == "The Lamp"
    assert [path.name for path in paths_in(tmp_path).books.iterdir()] == ["lamp.epub"]


async def test_enter_comes_after_the_letters_however_fast_they_are_typed(
    server: FaultyServer, tmp_path: Path
) -> None:
    app = app_on(None, tmp_path)
    async with app.run_test(size=_SIZE) as pilot:
        await _panel(app, pilot)
        for letter in "lamp":
            app.post_message(events.Key(letter, letter))
        app.post_message(events.Key("enter", "\r"))
        await until_shown(pilot, "Ada Ro")
        assert [request.path for request in server.requests] == ["/search"]


async def test_shelves_open_pages_go_on_and_escape_leads_back(
    server: FaultyServer, tmp_path: Path
) -> None:
    app = app_on(None, tmp_path)
    async with app.run_test(size=_SIZE) as pilot:
        await _panel(app, pilot)
        await pilot.press("enter")
        await until_shown(pilot, "New books")
        await pilot.click("#rows", offset=(3, 0))
        await until_shown(pilot, "The Lamp")
        await pilot.press("down", "enter")
        await until_shown(pilot, "The Other Lamp")
        await pilot.press("escape")
        await until_shown(pilot, "New books")
        await pilot.press("escape")
        await until(pilot, lambda: not isinstance(app.screen, CatalogueScreen))


async def test_an_own_catalogue_with_a_login_is_kept_without_the_login(
    server: FaultyServer, tmp_path: Path
) -> None:
    header = "Basic " + base64.b64encode(b"ada:secret").decode()

    def guard(handler: Handler) -> bool:
        is_known = handler.headers.get("Authorization") == header
        if not is_known:
            handler.empty(401, {"WWW-Authenticate": "Basic"})
        return not is_known

    server.always = guard
    app = app_on(None, tmp_path)
    async with app.run_test(size=_SIZE) as pilot:
        await _panel(app, pilot)
        app.screen.query_one("#typed", Input).value = f"{server.url}/search"
        await pilot.press("enter")
        await until_shown(pilot, "Sent to 127.0.0.1 alone")
        await pilot.press(*"ada", "enter", *"secret", "enter")
        await until_shown(pilot, "The Lamp")
        await pilot.press(*"war")
        assert app.screen.query_one("#typed", Input).value == "war"
    config = load_config(paths_in(tmp_path).config_file)
    assert config.catalogues == f"{server.url}/search"
    assert "secret" not in paths_in(tmp_path).config_file.read_text()


async def test_an_address_in_the_settings_that_is_none_is_told(
    server: FaultyServer, tmp_path: Path
) -> None:
    app = app_on(
        None, tmp_path, config=Config(catalogues=f"htps:/books {server.url}/search")
    )
    async with app.run_test(size=_SIZE, notifications=True) as pilot:
        await _panel(app, pilot)
        await until_shown(pilot, "htps:/books is not the address of")


async def test_numbers_and_logins_are_for_the_chosen_catalogue(
    server: FaultyServer, tmp_path: Path
) -> None:
    with faulty_server() as other:
        other.always = _refuse
        entry = _BOOK.format(title="The Lamp", name="lamp")
        foreign = entry.replace("/lamp.epub", f"{other.url}/lamp.epub")
        server.files["/search"] = _feed(foreign)
        app = app_on(None, tmp_path)
        async with app.run_test(size=_SIZE) as pilot:
            await _panel(app, pilot)
            await pilot.press(*"84", "enter")
            await until_shown(pilot, "The Lamp")
            await pilot.press("enter")
            await until_shown(pilot, "127.0.0.1 refuses access (401)")
            assert isinstance(app.screen, CatalogueScreen)


def _refuse(handler: Handler) -> bool:
    handler.empty(401, {"WWW-Authenticate": "Basic"})
    return True


async def test_after_a_search_that_failed_enter_searches_again(
    server: FaultyServer, tmp_path: Path
) -> None:
    def fail(handler: Handler) -> bool:
        handler.empty(500)
        return True

    app = app_on(None, tmp_path)
    async with app.run_test(size=_SIZE) as pilot:
        await _panel(app, pilot)
        await pilot.press(*"lamp", "enter")
        await until_shown(pilot, "Enter get")
        app.screen.query_one("#typed", Input).value = "oil lamp"
        server.faults.append(fail)
        await pilot.press("enter")
        await until_shown(pilot, "returned 500")
        assert "Enter search" in text_of(app)
        await pilot.press("enter")
        await until(
            pilot,
            lambda: len(server.gets("/search")) == 3 and "Enter get" in text_of(app),
        )
        app.screen.query_one("#typed", Input).value = f"{server.url}/opds"
        server.faults.append(fail)
        await pilot.press("enter")
        await until_shown(pilot, "returned 500")
        await pilot.press("tab")
        await until_shown(pilot, "Test Books. Enter asks")
    assert server.gets("/lamp.epub") == []


async def test_errors_are_told_in_place_and_a_download_stops_and_goes_on(
    server: FaultyServer, tmp_path: Path
) -> None:
    whole = epub()

    def stall(handler: Handler) -> bool:
        handler.start(200, 0, len(whole))
        handler.send(whole[:1_000])
        server.stall(20.0)
        return True

    def page(handler: Handler) -> bool:
        handler.empty(500)
        return True

    server.faults.append(page)
    app = app_on(None, tmp_path)
    async with app.run_test(size=_SIZE) as pilot:
        await _panel(app, pilot)
        await pilot.press(*"lamp", "enter")
        await until_shown(pilot, "127.0.0.1 returned 500")
        await pilot.press("enter")
        await until_shown(pilot, "Ada Ro")
        server.faults.append(stall)
        await pilot.press("enter")
        await until_shown(pilot, "kB of")
        await pilot.press("escape")
        await until_shown(pilot, "goes on where it stopped")
        await pilot.press("enter")
        assert (await opened(pilot)).book.title == "The Lamp"
    assert [request.first for request in server.gets("/lamp.epub")] == [0, 1_000]


async def test_frankenstein_is_open_four_keys_after_an_empty_library(
    server: FaultyServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gistread.acquisition.sources._GUTENBERG", server.url)
    gutenberg = Source("Project Gutenberg", f"{server.url}/opds", has_numbers=True)
    monkeypatch.setattr(
        "gistread.acquisition.sources.SOURCES", {"gutenberg": gutenberg}
    )
    words = "<h1>Letter 1</h1>" + "<p>You will rejoice to hear that.</p>" * 30
    opf = package(["a.xhtml"]).replace("A Book", "Frankenstein")
    data = make_epub({"a.xhtml": page(words)}, opf)
    server.files["/ebooks/84.epub3.images"] = File(data)
    app = app_on(None, tmp_path)
    async with app.run_test(size=_SIZE) as pilot:
        await until_shown(pilot, "gets one from a catalogue")
        await pilot.press("c")
        await until(pilot, lambda: isinstance(app.screen, CatalogueScreen))
        await pilot.press("8", "4", "enter")
        screen = await opened(pilot)
        assert screen.book.title == "Frankenstein"
        await until_shown(pilot, "You will rejoice")


@pytest.mark.parametrize("is_within", [False, True])
async def test_a_cover_is_fetched_only_when_one_asks_for_it(
    server: FaultyServer, tmp_path: Path, is_within: bool
) -> None:
    """Project Gutenberg's feeds have the picture itself."""
    picture = png(size=(30, 40))
    address = f"data:image/png;base64,{base64.b64encode(picture).decode()}"
    cover = '<link rel="http://opds-spec.org/image/thumbnail" type="image/png" href="{}"/></entry>'
    written = cover.format(address if is_within else "/cover.png")
    lamp = _BOOK.format(title="The Lamp", name="lamp").replace("</entry>", written)
    server.files["/search"] = _feed(lamp)
    server.files["/cover.png"] = File(picture)
    app = app_on(None, tmp_path)
    async with app.run_test(size=_SIZE) as pilot:
        await _panel(app, pilot)
        await pilot.press(*"lamp", "enter")
        await until_shown(pilot, "F2 cover")
        assert server.gets("/cover.png") == []
        await pilot.press("f2")
        await until(pilot, lambda: bool(app.screen.query(FigureView)))
        assert "Ada Ro" in text_of(app)
        assert len(server.gets("/cover.png")) == (not is_within)
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, CatalogueScreen))
        assert "F2 cover" in text_of(app)


async def test_a_cover_that_is_stopped_is_no_download(
    server: FaultyServer, tmp_path: Path
) -> None:
    cover = (
        '<link rel="http://opds-spec.org/image/thumbnail" href="/cover.png"/></entry>'
    )
    lamp = _BOOK.format(title="The Lamp", name="lamp").replace("</entry>", cover)
    server.files["/search"] = _feed(lamp)

    def stall(handler: Handler) -> bool:
        server.stall(20.0)
        return True

    app = app_on(None, tmp_path)
    async with app.run_test(size=_SIZE) as pilot:
        await _panel(app, pilot)
        await pilot.press(*"lamp", "enter")
        await until_shown(pilot, "F2 cover")
        server.faults.append(stall)
        await pilot.press("f2")
        await until_shown(pilot, "Asking 127.0.0.1")
        await pilot.press("escape")
        await until_shown(pilot, "Stopped.")
        assert "download" not in text_of(app)


async def test_a_book_without_a_cover_is_told(
    server: FaultyServer, tmp_path: Path
) -> None:
    app = app_on(None, tmp_path)
    async with app.run_test(size=_SIZE) as pilot:
        await _panel(app, pilot)
        await pilot.press(*"lamp", "enter")
        await until_shown(pilot, "F2 cover")
        await pilot.press("f2")
        await until_shown(pilot, "The Lamp has no cover in this catalogue.")
