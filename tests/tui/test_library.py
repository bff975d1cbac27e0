"""The library screen: opened, filtered, sorted, chosen from."""

import gc
import weakref
from pathlib import Path

import pytest
from textual.widgets import Input

from gistread.store.model import SavedQuestion
from gistread.store.user_data import UserData
from gistread.tui.screens.library import LibraryScreen
from gistread.tui.screens.reading import ReadingScreen
from tests.tui.books import small_book
from tests.tui.library import SIZE, entries, library_of, read_first, type_quickly
from tests.tui.scripted import (
    app_on,
    opened,
    paths_in,
    text_of,
    until,
    until_gone,
    until_shown,
)


async def test_an_empty_library_says_how_to_open_a_book_and_offers_the_sample(
    tmp_path: Path,
) -> None:
    app = app_on(None, tmp_path)
    async with app.run_test(size=SIZE) as pilot:
        await until_shown(pilot, "The Ferry Bell")
        assert "adds a folder of books" in text_of(app)
        await pilot.press("enter")
        screen = await opened(pilot)
        assert screen.book.words > 2_900


async def test_without_a_book_enter_opens_the_one_that_was_read_last_and_the_mouse_any(
    tmp_path: Path, folder: Path
) -> None:
    await read_first(folder / "The Long Tale.txt", tmp_path)
    await read_first(folder / "A Short Tale.txt", tmp_path)
    last = next(
        entry.sha256 for entry in entries(tmp_path) if entry.title == "A Short Tale"
    )
    UserData(paths_in(tmp_path)).add_question(
        last, SavedQuestion("Who was it?", "", found=False)
    )
    app = app_on(None, tmp_path)
    async with app.run_test(size=SIZE) as pilot:
        await until_shown(pilot, "You asked: Who was it?", "“A Short Tale")
        shown = text_of(app)
        assert shown.index("A Short Tale") < shown.index("The Long Tale")
        assert "just now" in shown
        await pilot.press("enter")
        screen = await opened(pilot)
        assert screen.book.title == "A Short Tale"
        await pilot.press("L")
        await until(
            pilot,
            lambda: (
                isinstance(app.screen, LibraryScreen)
                and "The Long Tale" in text_of(app)
            ),
        )
        await pilot.click("#books", offset=(20, 3))
        await until_shown(pilot, "“The Long Tale")
        await pilot.click("#books", offset=(20, 3))
        await until(
            pilot,
            lambda: app.reading is not screen and isinstance(app.screen, ReadingScreen),
        )
        assert (await opened(pilot)).book.title == "The Long Tale"


async def test_going_to_another_book_frees_the_one_before_and_the_lines_drawn_of_it(
    tmp_path: Path, folder: Path
) -> None:
    await read_first(folder / "The Long Tale.txt", tmp_path)
    app = app_on(folder / "A Short Tale.txt", tmp_path)
    async with app.run_test(size=SIZE) as pilot:
        screen = await opened(pilot)
        await until_shown(pilot, "Once upon a time there was A Short Tale")
        book = weakref.ref(screen.book)
        drawn = [weakref.ref(widget._styles_cache) for widget in screen.query("*")]
        del screen
        await pilot.press("L")
        await until_shown(pilot, "by last read", "The Long Tale")
        await pilot.press("down", "enter")
        await until_shown(pilot, "Once upon a time there was The Long Tale")
        assert (await opened(pilot)).book.title == "The Long Tale"

        def is_freed() -> bool:
            gc.collect()
            return book() is None and not any(lines() for lines in drawn)

        await until(pilot, is_freed)


async def test_books_are_removed_restored_and_sorted(
    tmp_path: Path, folder: Path
) -> None:
    async with library_of(folder, tmp_path) as pilot:
        await pilot.press("x")
        await until_shown(pilot, "2 books")
        assert len(entries(tmp_path)) == 2
        assert len(list(folder.iterdir())) == 3
        await pilot.press("U")
        await until_shown(pilot, "3 books")
        assert len(entries(tmp_path)) == 3
        for order in ("title", "author", "progress", "length", "last read"):
            await pilot.press("s")
            await until(pilot, lambda order=order: f"by {order}" in text_of(pilot.app))


async def test_notices_end_with_what_they_tell_of(tmp_path: Path, folder: Path) -> None:
    await read_first(folder / "The Long Tale.txt", tmp_path)
    app = app_on(folder / "A Short Tale.txt", tmp_path)
    async with app.run_test(size=SIZE, notifications=True) as pilot:
        reading = await opened(pilot)
        reading.notify("A warning of the book.", severity="warning", timeout=600)
        reading.notify("A notice of the book.", timeout=600)
        await until_shown(pilot, "A notice of the book.")
        await pilot.press("L")
        await until_shown(pilot, "2 books")
        await until_gone(pilot, "A notice of the book.")
        await until_shown(pilot, "A warning of the book.")
        await pilot.press("x")
        await until_shown(pilot, "is removed from the list")
        await pilot.press("U")
        await until_shown(pilot, "2 books")
        await until_gone(pilot, "is removed from the list")
        await pilot.press("x")
        await until_shown(pilot, "is removed from the list")
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is reading)
        await until_gone(pilot, "is removed from the list")


async def test_another_book_takes_the_place_of_the_open_one(
    tmp_path: Path, folder: Path
) -> None:
    app = app_on(small_book(), tmp_path)
    async with app.run_test(size=SIZE) as pilot:
        await opened(pilot)
        await pilot.press("L")
        await type_quickly(pilot, "o", str(folder / "A Short Tale.txt"))
        await until(
            pilot,
            lambda: (
                isinstance(app.screen, ReadingScreen) and app.screen.book is not None
            ),
        )
        screen = await opened(pilot)
        assert screen.book.title == "A Short Tale"
        assert (
            sum(isinstance(screen, ReadingScreen) for screen in app.screen_stack) == 1
        )


async def test_a_path_is_proposed_as_it_is_typed(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder.parent)  # A short path: the line shows its end
    app = app_on(None, tmp_path)
    async with app.run_test(size=SIZE) as pilot:
        await until_shown(pilot, "sample")
        await pilot.press("o")
        line = app.screen.query_one("#path", Input)
        line.value = f"{folder.name}/The "
        line.cursor_position = len(line.value)
        await pilot.press("L")
        await until_shown(pilot, "The Long Tale.txt")
        await pilot.press("tab", "enter")
        screen = await opened(pilot)
        assert screen.book.title == "The Long Tale"
