"""The library on the screen: opened, found, filtered, added to, taken from."""

import asyncio
import os
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from gistread.errors import BookError
from gistread.library.catalogue import Catalogue
from gistread.library.entries import list_entries
from gistread.library.model import BookFile, Entry
from gistread.shelf import Shelf
from gistread.tui.library_rows import heading, lines
from gistread.tui.screens.library import FailedScreen, LibraryScreen
from gistread.tui.screens.reading import ReadingScreen
from gistread.tui.text.cells import cell_len
from gistread.tui.widgets.book_list import BookList
from tests.tui.books import small_book
from tests.tui.scripted import app_on, opened, paths_in, text_of, until

SIZE = (120, 30)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three small books."""
    folder = tmp_path / "Books"
    folder.mkdir()
    for title in ("A Short Tale", "The Long Tale", "Notes on Émile"):
        (folder / f"{title}.txt").write_text(f"{title}\n\n" + f"Once upon a time there was {title}. " * 60)
    return folder


def entries(home: Path) -> list[Entry]:
    paths = paths_in(home)
    return list_entries(Shelf(paths.books), Catalogue(paths.library))[0]


async def read_first(path: Path, home: Path) -> None:
    """Open a book and leave it."""
    app = app_on(path, home)
    async with app.run_test(size=SIZE) as pilot:
        await opened(pilot)
        await pilot.press("q")


async def test_an_empty_library_says_how_to_open_a_book_and_offers_the_sample(tmp_path: Path) -> None:
    app = app_on(None, tmp_path)
    async with app.run_test(size=SIZE) as pilot:
        await until(pilot, lambda: "The sample story" in text_of(app))
        assert "gistread BOOK" in text_of(app)
        await pilot.press("enter")
        screen = await opened(pilot)
        assert screen.book.words > 5000


async def test_without_a_book_enter_opens_the_one_that_was_read_last(tmp_path: Path, folder: Path) -> None:
    await read_first(folder / "The Long Tale.txt", tmp_path)
    await read_first(folder / "A Short Tale.txt", tmp_path)
    app = app_on(None, tmp_path)
    async with app.run_test(size=SIZE) as pilot:
        await until(pilot, lambda: "A Short Tale" in text_of(app))
        shown = text_of(app)
        assert shown.index("A Short Tale") < shown.index("The Long Tale")
        assert "just now" in shown
        await pilot.press("enter")
        screen = await opened(pilot)
        assert screen.book.title == "A Short Tale"


async def test_typing_filters_and_enter_opens_what_is_left(tmp_path: Path, folder: Path) -> None:
    app = app_on(None, tmp_path)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("a", *str(folder), "enter")
        await until(pilot, lambda: "Notes on Émile" in text_of(app))
        assert "not opened yet" in text_of(app)
        await pilot.press("slash", *"emile")
        await until(pilot, lambda: "1 of 3" in text_of(app))
        assert "Tale" not in text_of(app)
        await pilot.press("enter")
        screen = await opened(pilot)
        assert screen.book.title == "Notes on Émile"


async def test_the_arrows_move_while_one_types_and_escape_shows_all_again(tmp_path: Path, folder: Path) -> None:
    app = app_on(None, tmp_path)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("a", *str(folder), "enter")
        await until(pilot, lambda: "3 books" in text_of(app))
        await pilot.press("slash", *"tale", "down")
        await until(pilot, lambda: "2 of 3" in text_of(app))
        await pilot.press("escape")
        await until(pilot, lambda: "3 books" in text_of(app))
        assert isinstance(app.screen, LibraryScreen)


async def test_what_could_not_be_read_is_counted_and_listed(tmp_path: Path, folder: Path) -> None:
    (folder / "broken.epub").write_bytes(b"PK\x03\x04")
    (folder / "empty.txt").touch()
    app = app_on(None, tmp_path)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("a", *str(folder), "enter")
        await until(pilot, lambda: isinstance(app.screen, FailedScreen))
        shown = text_of(app)
        assert "2 files could not be read" in shown
        assert "broken.epub" in shown
        assert "empty.txt is empty" in shown
        await pilot.press("escape")
        await until(pilot, lambda: "3 books" in text_of(app))


async def test_a_book_is_taken_out_and_brought_back(tmp_path: Path, folder: Path) -> None:
    app = app_on(None, tmp_path)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("a", *str(folder), "enter")
        await until(pilot, lambda: "3 books" in text_of(app))
        await pilot.press("x")
        await until(pilot, lambda: "2 books" in text_of(app))
        assert len(entries(tmp_path)) == 2
        assert len(list(folder.iterdir())) == 3
        await pilot.press("U")
        await until(pilot, lambda: "3 books" in text_of(app))
        assert len(entries(tmp_path)) == 3


async def test_a_moved_file_is_found_and_opened_at_the_same_place(tmp_path: Path, folder: Path) -> None:
    path = folder / "A Short Tale.txt"
    await read_first(path, tmp_path)
    sha256 = entries(tmp_path)[0].sha256
    Shelf(paths_in(tmp_path).books).set_position(sha256, 900)
    path.rename(folder / "renamed.txt")
    app = app_on(None, tmp_path)
    async with app.run_test(size=SIZE) as pilot:
        await until(pilot, lambda: "file not found" in text_of(app))
        await pilot.press("enter")
        screen = await opened(pilot)
        assert screen.book.sha256 == sha256
        await pilot.press("q")
    assert [entry.path.name for entry in entries(tmp_path) if entry.path] == ["renamed.txt"]


async def test_where_nothing_is_found_the_person_says_where_and_another_book_is_not_taken(
    tmp_path: Path, folder: Path
) -> None:
    path = folder / "A Short Tale.txt"
    await read_first(path, tmp_path)
    far = tmp_path / "a" / "b" / "c"
    far.mkdir(parents=True)
    path.rename(far / "tale.txt")
    app = app_on(None, tmp_path)
    async with app.run_test(size=SIZE, notifications=True) as pilot:
        await until(pilot, lambda: "file not found" in text_of(app))
        await pilot.press("enter")
        await until(pilot, lambda: "where is it now?" in text_of(app))
        await pilot.press("ctrl+u", *str(folder / "The Long Tale.txt"), "enter")
        await until(pilot, lambda: "is another book" in text_of(app))
        await pilot.press("ctrl+u", *str(far / "tale.txt"), "enter")
        screen = await opened(pilot)
        assert screen.book.title == "A Short Tale"


async def test_a_file_that_goes_away_between_listing_and_opening_is_a_notice_in_the_library(
    tmp_path: Path, folder: Path
) -> None:
    await read_first(folder / "A Short Tale.txt", tmp_path)
    app = app_on(None, tmp_path)
    async with app.run_test(size=SIZE, notifications=True) as pilot:
        await until(pilot, lambda: "A Short Tale" in text_of(app))
        (folder / "A Short Tale.txt").unlink()
        await pilot.press("enter")
        await until(pilot, lambda: "There is no file" in text_of(app))
        await until(pilot, lambda: "file not found" in text_of(app))
        assert isinstance(app.screen, LibraryScreen)
        assert app.failure is None


async def test_over_an_open_book_escape_goes_back_to_it(tmp_path: Path, folder: Path) -> None:
    app = app_on(folder / "A Short Tale.txt", tmp_path)
    async with app.run_test(size=SIZE) as pilot:
        await opened(pilot)
        await pilot.press("L")
        await until(pilot, lambda: isinstance(app.screen, LibraryScreen) and "A Short Tale" in text_of(app))
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, ReadingScreen))


async def test_another_book_takes_the_place_of_the_open_one(tmp_path: Path, folder: Path) -> None:
    app = app_on(small_book(), tmp_path)
    async with app.run_test(size=SIZE) as pilot:
        await opened(pilot)
        await pilot.press("L", "o", *str(folder / "A Short Tale.txt"), "enter")
        await until(pilot, lambda: isinstance(app.screen, ReadingScreen) and app.screen.book is not None)
        screen = await opened(pilot)
        assert screen.book.title == "A Short Tale"
        assert sum(isinstance(one, ReadingScreen) for one in app.screen_stack) == 1


async def test_a_path_is_proposed_as_it_is_typed(tmp_path: Path, folder: Path) -> None:
    app = app_on(None, tmp_path)
    async with app.run_test(size=SIZE) as pilot:
        await until(pilot, lambda: "sample" in text_of(app))
        await pilot.press("o", *f"{folder}/The L")
        await until(pilot, lambda: "The Long Tale.txt" in text_of(app))
        await pilot.press("tab", "enter")
        screen = await opened(pilot)
        assert screen.book.title == "The Long Tale"


async def test_the_mouse_alone_chooses_and_opens(tmp_path: Path, folder: Path) -> None:
    await read_first(folder / "The Long Tale.txt", tmp_path)
    await read_first(folder / "A Short Tale.txt", tmp_path)
    app = app_on(None, tmp_path)
    async with app.run_test(size=SIZE) as pilot:
        await until(pilot, lambda: "The Long Tale" in text_of(app))
        await pilot.click("#books", offset=(5, 1))
        await until(pilot, lambda: str(folder / "The Long Tale.txt") in text_of(app))
        await pilot.click("#books", offset=(5, 1))
        screen = await opened(pilot)
        assert screen.book.title == "The Long Tale"


async def test_every_order_can_be_had(tmp_path: Path, folder: Path) -> None:
    app = app_on(None, tmp_path)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("a", *str(folder), "enter")
        await until(pilot, lambda: "by last read" in text_of(app))
        for order in ("title", "author", "progress", "last read"):
            await pilot.press("s")
            await until(pilot, lambda order=order: f"by {order}" in text_of(app))


@pytest.mark.skipif(sys.platform == "win32", reason="names are Unicode there")
async def test_names_that_are_no_text_are_shown_harmless_and_open(tmp_path: Path, folder: Path) -> None:
    name = os.fsdecode(b"\x1b[31mcaf\xe9\n.txt")
    (folder / name).write_text("it was told once more, and then again. " * 30)
    for path in folder.glob("*Tale*"):
        path.unlink()
    app = app_on(None, tmp_path)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("a", *str(folder), "enter")
        await until(pilot, lambda: "2 books" in text_of(app))
        assert "\x1b" not in text_of(app)
        await pilot.press("slash", *"caf", "enter")
        screen = await opened(pilot)
        assert "told once more" in screen.book.text
        await pilot.press("q")
    assert any(entry.was_opened for entry in entries(tmp_path))


async def test_thousands_of_books_scroll_and_filter_at_once(tmp_path: Path) -> None:
    many = [Entry(f"Volume {n}", ("Somebody",), tmp_path / f"{n}.txt", digest=f"{n:064}") for n in range(5000)]
    app = app_on(None, tmp_path)
    async with app.run_test(size=SIZE) as pilot:
        await until(pilot, lambda: "sample" in text_of(app))
        screen = app.screen
        assert isinstance(screen, LibraryScreen)
        screen._entries = many
        started = asyncio.get_running_loop().time()
        screen._show()
        await pilot.press("G")
        await until(pilot, lambda: "Volume 999" in text_of(app))
        await pilot.press("slash", *"4321")
        await until(pilot, lambda: "Volume 4321" in text_of(app))
        assert asyncio.get_running_loop().time() - started < 8


async def test_a_shelf_that_was_damaged_does_not_hide_the_other_books(tmp_path: Path, folder: Path) -> None:
    await read_first(folder / "A Short Tale.txt", tmp_path)
    await read_first(folder / "The Long Tale.txt", tmp_path)
    damaged = next(iter(paths_in(tmp_path).books.glob("*.jsonl")))
    damaged.write_bytes(b"\xff\x00 damaged \n" * 3)
    app = app_on(None, tmp_path)
    async with app.run_test(size=SIZE) as pilot:
        await until(pilot, lambda: "2 books" in text_of(app))
        await pilot.press("enter")
        await opened(pilot)


async def test_a_named_book_that_cannot_be_read_still_ends_with_its_error(tmp_path: Path) -> None:
    app = app_on(tmp_path / "nothing.txt", tmp_path)
    async with app.run_test(size=SIZE) as pilot:
        await until(pilot, lambda: app.failure is not None)
    assert isinstance(app.failure, BookError)


@pytest.mark.parametrize("width", [20, 40, 79, 80, 99, 100, 112, 120, 132, 200])
def test_rows_fit_the_list_whatever_their_words(width: int) -> None:
    many = [
        Entry(
            "T" * 300, ("A" * 300, "B" * 300), Path("/x"), "s", length=10000, position=5000, words=900, opened_at=1.0
        ),
        Entry("戦争と平和 " * 30, ("レフ・トルストイ" * 9,), Path("/x"), digest="d"),
        Entry("e\u0301\u200d👩‍👩‍👧" * 60, (), None, opened_at=1.0, sha256="s", length=10),
        Entry("", (), Path("/x"), missing=True, opened_at=3e9, sha256="s"),
    ]
    assert cell_len(heading(width)) <= max(width, 60)
    for entry in many:
        for line in lines(entry, None, 2e9, width):
            assert sum(cell_len(cell.text) for cell in line) <= width
            assert all("\n" not in cell.text for cell in line)


async def test_adding_can_be_stopped_and_keeps_what_was_found(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from gistread.library import scanning

    asked = threading.Event()
    describe = scanning.describe

    def slowly(path: Path, stopped: Callable[[], bool]) -> BookFile:
        if path.name != "A Short Tale.txt":
            asked.set()
            while not stopped():
                time.sleep(0.01)
        return describe(path, stopped)

    monkeypatch.setattr(scanning, "describe", slowly)
    app = app_on(None, tmp_path)
    async with app.run_test(size=SIZE, notifications=True) as pilot:
        await pilot.press("a", *str(folder), "enter")
        await until(pilot, lambda: asked.is_set() and "Esc stops" in text_of(app))
        await pilot.press("escape")
        await until(pilot, lambda: "The search was stopped." in text_of(app))
        assert isinstance(app.screen, LibraryScreen)
    assert "A Short Tale" in [entry.title for entry in entries(tmp_path)]
    assert len(entries(tmp_path)) < 3


async def type_quickly(pilot: Pilot[None], key: str, words: str) -> None:
    """As somebody who pastes: a key for the line, then all the words at once."""
    await pilot.press(key)
    await until(pilot, lambda: isinstance(pilot.app.focused, Input))
    assert isinstance(pilot.app.focused, Input)
    pilot.app.focused.value = words
    await pilot.press("enter")


@pytest.mark.parametrize("typed", ["~nobody-of-this-name/book", "x" * 300])
async def test_a_path_that_cannot_be_is_a_notice(tmp_path: Path, typed: str) -> None:
    app = app_on(None, tmp_path)
    async with app.run_test(size=SIZE, notifications=True) as pilot:
        await until(pilot, lambda: "sample" in text_of(app))
        await type_quickly(pilot, "o", typed)
        await until(pilot, lambda: "There is no file" in text_of(app))
        await pilot.press("escape")
        await type_quickly(pilot, "a", typed)
        await until(pilot, lambda: "There is no" in text_of(app) or "cannot be opened" in text_of(app))


async def test_books_become_volumes_of_a_series_one_after_the_other(tmp_path: Path, folder: Path) -> None:
    app = app_on(None, tmp_path)
    async with app.run_test(size=SIZE, notifications=True) as pilot:
        await until(pilot, lambda: "The sample story" in text_of(app))
        await pilot.press("a")
        app.screen.query_one("#path", Input).value = str(folder)
        await pilot.press("enter")
        await until(pilot, lambda: "3 books" in text_of(app))
        series = folder / "Tales.series"
        for title, count in (("A Short Tale", 1), ("The Long Tale", 2)):
            await _go_to(pilot, title)
            await pilot.press("v")
            line = app.screen.query_one("#path", Input)
            assert line.value.endswith(".series")
            line.value = line.value if count == 2 else str(series.with_suffix(""))
            assert count == 1 or line.value == str(series), "the one that the last book went to is offered"
            await pilot.press("enter")
            await until(pilot, lambda count=count: f"is volume {count} of Tales" in text_of(app))
        await until(pilot, lambda: "4 books" in text_of(app))
        await _go_to(pilot, "Tales")
        await pilot.press("enter")
        screen = await opened(pilot)
        assert [volume.title for volume in screen.book.volumes] == ["A Short Tale", "The Long Tale"]


async def test_what_cannot_be_a_volume_is_said_and_the_series_stays_as_it_was(tmp_path: Path, folder: Path) -> None:
    await read_first(folder / "A Short Tale.txt", tmp_path)
    app = app_on(None, tmp_path)
    async with app.run_test(size=SIZE, notifications=True) as pilot:
        await until(pilot, lambda: "A Short Tale" in text_of(app))
        series = folder / "Tales.series"
        for said in ("is volume 1 of", "have the same text"):
            await _go_to(pilot, "A Short Tale")
            before = series.read_bytes() if series.exists() else b""
            await pilot.press("v")
            app.screen.query_one("#path", Input).value = str(series)
            await pilot.press("enter")
            await until(pilot, lambda said=said: said in text_of(app))
        assert series.read_bytes() == before


async def _go_to(pilot: Pilot[None], title: str) -> None:
    books = pilot.app.screen.query_one("#books", BookList)
    await pilot.press("escape") if pilot.app.screen.query_one("#path-line").display else None
    await pilot.press("home")
    for _ in range(books.count):
        if books.current is not None and books.current.title == title:
            return
        await pilot.press("down")
    raise AssertionError(f"{title} is not in the list")
