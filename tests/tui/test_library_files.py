"""Files are added, moved, deleted or unreadable: the library reports it and shows the others."""

import os
import sqlite3
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from textual.widgets import Input

from gistread.library.metadata import read_book_file
from gistread.store.model import BookFile
from gistread.store.user_data import UserData
from gistread.tui.screens.library import LibraryScreen
from gistread.tui.widgets.book_list import BookList
from tests.tui.library import SIZE, entries, library_of, read_first, type_quickly
from tests.tui.scripted import app_on, opened, paths_in, text_of, until, until_shown


async def test_a_moved_file_is_located_by_the_user_and_opened_at_the_same_place(
    tmp_path: Path, folder: Path
) -> None:
    path = folder / "A Short Tale.txt"
    await read_first(path, tmp_path)
    UserData(paths_in(tmp_path)).set_position(entries(tmp_path)[0].sha256, 900)
    far = tmp_path / "a" / "b" / "c"
    far.mkdir(parents=True)
    path.rename(far / "tale.txt")
    app = app_on(None, tmp_path)
    async with app.run_test(size=SIZE, notifications=True) as pilot:
        await until_shown(pilot, "file missing")
        await pilot.press("enter")
        await until_shown(pilot, "Where is A Short Tale now?")
        app.screen.query_one("#path", Input).value = str(folder / "The Long Tale.txt")
        await pilot.press("enter")
        await until_shown(pilot, "is another book")
        app.screen.query_one("#path", Input).value = str(far / "tale.txt")
        await pilot.press("enter")
        screen = await opened(pilot)
        assert screen.book.title == "tale", "it has no title but the name of its file"
        await pilot.press("q")
    assert [
        (entry.path, entry.position > 0)
        for entry in entries(tmp_path)
        if entry.was_opened
    ] == [(far / "tale.txt", True)]


@pytest.mark.skipif(sys.platform == "win32", reason="names are Unicode there")
async def test_undecodable_names_are_shown_safely_and_open(
    tmp_path: Path, folder: Path
) -> None:
    name = os.fsdecode(b"\x1b[31mcaf\xe9\n.txt")
    (folder / name).write_text("it was told once more, and then again. " * 30)
    for path in folder.glob("*Tale*"):
        path.unlink()
    async with library_of(folder, tmp_path, books=2) as pilot:
        assert "\x1b" not in text_of(pilot.app)
        await pilot.press("slash", *"caf")
        await until(
            pilot, lambda: len(pilot.app.screen.query_one(BookList).blocks) == 2
        )
        assert "\x1b" not in text_of(pilot.app)
        await pilot.press("enter")
        screen = await opened(pilot)
        assert "told once more" in screen.book.text
        await pilot.press("q")
    assert any(entry.was_opened for entry in entries(tmp_path))


async def test_damaged_user_data_does_not_hide_other_books(
    tmp_path: Path, folder: Path
) -> None:
    await read_first(folder / "A Short Tale.txt", tmp_path)
    await read_first(folder / "The Long Tale.txt", tmp_path)
    damaged = paths_in(tmp_path).store
    data = bytearray(damaged.read_bytes())
    with sqlite3.connect(damaged) as connection:
        (page,) = connection.execute(
            "SELECT rootpage FROM sqlite_master WHERE name = 'questions'"
        ).fetchone()
    data[4096 * (page - 1) : 4096 * page] = b"\xff" * 4096
    damaged.write_bytes(data)
    app = app_on(None, tmp_path)
    async with app.run_test(size=SIZE) as pilot:
        await until_shown(pilot, "2 books")
        await pilot.press("enter")
        await opened(pilot)


async def test_adding_can_be_stopped_and_keeps_the_books_found(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from gistread.library import adding

    describing = threading.Event()
    describe = read_book_file

    def slowly(path: Path, stopped: Callable[[], bool]) -> BookFile:
        if path.name != "A Short Tale.txt":
            describing.set()
            while not stopped():
                time.sleep(0.01)
        return describe(path, stopped)

    monkeypatch.setattr(adding, "read_book_file", slowly)
    app = app_on(None, tmp_path)
    async with app.run_test(size=SIZE, notifications=True) as pilot:
        await type_quickly(pilot, "a", str(folder))
        await until(pilot, lambda: describing.is_set() and "Esc stop" in text_of(app))
        await pilot.press("escape")
        await until_shown(pilot, "The search was stopped.")
        assert isinstance(app.screen, LibraryScreen)
    assert "A Short Tale" in [entry.title for entry in entries(tmp_path)]
    assert len(entries(tmp_path)) < 3
