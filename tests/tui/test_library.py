"""The library screen: opened, filtered, sorted, chosen from."""

import asyncio
from pathlib import Path

import pytest
from textual.widgets import Input

from gistread.cli import main
from gistread.config import load_config
from gistread.errors import ExitStatus
from gistread.library.catalogue import Catalogue
from gistread.library.metadata import read_book_file
from gistread.library.model import LibraryEntry
from gistread.tui.covers import Covers
from gistread.tui.drawing import Drawer, ImageMode
from gistread.tui.screens.library import LibraryScreen
from gistread.tui.screens.reading import ReadingScreen
from gistread.tui.text.cells import cell_len
from gistread.tui.text.figure import Figure
from gistread.tui.widgets.book_cover import LARGE, SMALL, CoverSize, cover_rows
from gistread.tui.widgets.book_list import BookList
from gistread.tui.widgets.book_rows import heading, lines
from gistread.user_data import SavedQuestion, UserData
from tests.tui.books import small_book
from tests.tui.library import SIZE, entries, library_of, read_first, type_quickly
from tests.tui.scripted import app_on, opened, paths_in, text_of, until
from tests.tui.test_inline_pictures import BLUE, illustrated, rows_of


async def test_an_empty_library_says_how_to_open_a_book_and_offers_the_sample(tmp_path: Path) -> None:
    app = app_on(None, tmp_path)
    async with app.run_test(size=SIZE) as pilot:
        await until(pilot, lambda: "The sample story" in text_of(app))
        assert "adds a folder of books" in text_of(app)
        await pilot.press("enter")
        screen = await opened(pilot)
        assert screen.book.words > 5000


async def test_the_documents_of_gistread_are_not_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = []
    monkeypatch.setattr("gistread.cli.docs.open_screen", lambda book, *_: shown.append(book) or ExitStatus.DONE)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    assert main(["docs"]) == ExitStatus.DONE
    app = app_on(shown[0], tmp_path)
    async with app.run_test(size=SIZE) as pilot:
        await opened(pilot)
        await pilot.press("space", "ctrl+q")
    assert UserData(paths_in(tmp_path).books).position(shown[0].sha256)
    assert entries(tmp_path) == UserData(paths_in(tmp_path).books).all_texts() == []


async def test_without_a_book_enter_opens_the_one_that_was_read_last_and_the_mouse_any(
    tmp_path: Path, folder: Path
) -> None:
    await read_first(folder / "The Long Tale.txt", tmp_path)
    await read_first(folder / "A Short Tale.txt", tmp_path)
    last = next(one.sha256 for one in entries(tmp_path) if one.title == "A Short Tale")
    UserData(paths_in(tmp_path).books).add_question(last, SavedQuestion("Who was it?", "", found=False))
    app = app_on(None, tmp_path)
    async with app.run_test(size=SIZE) as pilot:
        await until(pilot, lambda: "You asked: Who was it?" in text_of(app) and "“A Short Tale" in text_of(app))
        shown = text_of(app)
        assert shown.index("A Short Tale") < shown.index("The Long Tale")
        assert "just now" in shown
        await pilot.press("enter")
        screen = await opened(pilot)
        assert screen.book.title == "A Short Tale"
        await pilot.press("L")
        await until(pilot, lambda: isinstance(app.screen, LibraryScreen) and "The Long Tale" in text_of(app))
        await pilot.click("#books", offset=(20, 1))
        await until(pilot, lambda: str(folder / "The Long Tale.txt") in text_of(app))
        await pilot.click("#books", offset=(20, 1))
        await until(pilot, lambda: app.reading is not screen and isinstance(app.screen, ReadingScreen))
        assert (await opened(pilot)).book.title == "The Long Tale"


async def test_typing_filters_escape_shows_all_again_and_enter_opens_what_is_left(tmp_path: Path, folder: Path) -> None:
    async with library_of(folder, tmp_path) as pilot:
        assert "not opened yet" in text_of(pilot.app)
        await pilot.press("slash", *"tale", "down")  # the arrows move while one types
        await until(pilot, lambda: "2 of 3" in text_of(pilot.app))
        await pilot.press("escape")
        await until(pilot, lambda: "3 books" in text_of(pilot.app))
        assert isinstance(pilot.app.screen, LibraryScreen)
        await pilot.press("slash", *"emile")
        await until(pilot, lambda: "1 of 3" in text_of(pilot.app))
        assert "Tale" not in text_of(pilot.app)
        await pilot.press("enter")
        screen = await opened(pilot)
        assert screen.book.title == "Notes on Émile"


async def test_books_are_removed_restored_and_sorted(tmp_path: Path, folder: Path) -> None:
    async with library_of(folder, tmp_path) as pilot:
        await pilot.press("x")
        await until(pilot, lambda: "2 books" in text_of(pilot.app))
        assert len(entries(tmp_path)) == 2
        assert len(list(folder.iterdir())) == 3
        await pilot.press("U")
        await until(pilot, lambda: "3 books" in text_of(pilot.app))
        assert len(entries(tmp_path)) == 3
        for order in ("title", "author", "progress", "last read"):
            await pilot.press("s")
            await until(pilot, lambda order=order: f"by {order}" in text_of(pilot.app))


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
        await pilot.press("L")
        await type_quickly(pilot, "o", str(folder / "A Short Tale.txt"))
        await until(pilot, lambda: isinstance(app.screen, ReadingScreen) and app.screen.book is not None)
        screen = await opened(pilot)
        assert screen.book.title == "A Short Tale"
        assert sum(isinstance(one, ReadingScreen) for one in app.screen_stack) == 1


async def test_a_path_is_proposed_as_it_is_typed(tmp_path: Path, folder: Path) -> None:
    app = app_on(None, tmp_path)
    async with app.run_test(size=SIZE) as pilot:
        await until(pilot, lambda: "sample" in text_of(app))
        await pilot.press("o")
        line = app.screen.query_one("#path", Input)
        line.value = f"{folder}/The "
        line.cursor_position = len(line.value)
        await pilot.press("L")
        await until(pilot, lambda: "The Long Tale.txt" in text_of(app))
        await pilot.press("tab", "enter")
        screen = await opened(pilot)
        assert screen.book.title == "The Long Tale"


async def test_thousands_of_books_scroll_and_filter_at_once(tmp_path: Path) -> None:
    many = [LibraryEntry(f"Volume {n}", ("Somebody",), tmp_path / f"{n}.txt", digest=f"{n:064}") for n in range(5000)]
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


@pytest.mark.parametrize("width", [20, 40, 79, 80, 99, 100, 112, 120, 132, 200])
def test_rows_fit_the_list_whatever_their_words(width: int) -> None:
    many = [
        LibraryEntry(
            "T" * 300, ("A" * 300, "B" * 300), Path("/x"), "s", length=10000, position=5000, words=900, opened_at=1.0
        ),
        LibraryEntry("戦争と平和 " * 30, ("レフ・トルストイ" * 9,), Path("/x"), digest="d"),
        LibraryEntry("e\u0301\u200d👩‍👩‍👧" * 60, (), None, opened_at=1.0, sha256="s", length=10),
        LibraryEntry("", (), Path("/x"), missing=True, opened_at=3e9, sha256="s"),
    ]
    assert cell_len(heading(width)) <= max(width, 60)
    for entry in many:
        for line in lines(entry, None, 2e9, width):
            assert sum(cell_len(cell.text) for cell in line) <= width
            assert all("\n" not in cell.text for cell in line)


async def test_one_key_changes_covers_to_a_list_for_good_and_both_are_walked_with_the_arrows(
    tmp_path: Path, folder: Path
) -> None:
    async with library_of(folder, tmp_path) as pilot:
        books = pilot.app.screen.query_one("#books", BookList)
        assert books.row_height > 2
        await pilot.press("right", "right", "down", "left")
        assert books.index == 1
        await pilot.press("w")
        assert (books.row_height, books.index) == (1, 1)
        await pilot.press("down")
        assert books.index == 2
        await pilot.press("escape")
    assert load_config(paths_in(tmp_path).config_file).library_view == "list"


@pytest.mark.parametrize("how", ["key", "click"])
async def test_the_book_begun_last_stands_on_top_and_a_key_or_a_click_continues_it(
    tmp_path: Path, folder: Path, how: str
) -> None:
    await read_first(folder / "A Short Tale.txt", tmp_path)
    await read_first(folder / "The Long Tale.txt", tmp_path)
    app = app_on(None, tmp_path)
    async with app.run_test(size=SIZE) as pilot:
        await until(pilot, lambda: "Continue reading" in text_of(app))
        await pilot.press("slash", *"short")
        await until(pilot, lambda: "1 of 2" in text_of(app) and "Continue reading" not in text_of(app))
        await pilot.press("escape", "end")
        await until(pilot, lambda: "Continue reading" in text_of(app))
        await (pilot.press("c") if how == "key" else pilot.click("#continue", offset=(20, 2)))
        assert (await opened(pilot)).book.title == "The Long Tale"


async def test_a_cover_is_drawn_and_kept_small_on_disk(tmp_path: Path) -> None:
    path = illustrated(tmp_path, cover=True)
    file = read_book_file(path)
    Catalogue(paths_in(tmp_path).library).add([file])
    app = app_on(None, tmp_path)
    async with app.run_test(size=SIZE) as pilot:
        await until(pilot, lambda: len(rows_of(app, BLUE)) == SMALL.rows)
    path.write_bytes(b"changed")
    again = Covers(paths_in(tmp_path).covers, Drawer(ImageMode.BLOCKS, str))
    entry = entries(tmp_path)[0]
    await again.load([entry], lambda: None)
    assert again.of(entry) is not None


@pytest.mark.parametrize("size", [SMALL, LARGE, CoverSize(10, 7)])
def test_a_cover_is_as_large_as_its_place_whatever_the_title(size: CoverSize) -> None:
    from PIL import Image

    titles = (
        "",
        "Emma",
        "The Strange and Surprising Adventures of Robinson Crusoe of York",
        "戦争と平和" * 9,
        "x" * 90,
    )
    entries = [LibraryEntry(title, ("A" * 30,), Path("/x"), digest="d") for title in titles]
    figures = (None, *(Figure.of(Image.new("RGB", shape), 900) for shape in ((160, 20), (20, 160), (100, 150))))
    for entry in entries:
        for figure in figures:
            rows = cover_rows(entry, figure, size)
            assert [sum(segment.cell_length for segment in row) for row in rows] == [size.columns] * size.rows
