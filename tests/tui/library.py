"""The library screen with the books of a folder."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from textual.pilot import Pilot
from textual.widgets import Input

from gistread.library.entries import LibraryEntry, list_entries
from gistread.store.catalogue import Catalogue
from gistread.store.user_data import UserData
from tests.tui.scripted import app_on, opened, paths_in, until, until_shown

SIZE = (120, 30)


@asynccontextmanager
async def library_of(
    folder: Path, home: Path, *, books: int = 3
) -> AsyncIterator[Pilot[None]]:
    """The library, once the books of this folder have been added: so many."""
    app = app_on(None, home)
    async with app.run_test(size=SIZE) as pilot:
        await until_shown(pilot, "The Ferry Bell")
        await type_quickly(pilot, "a", str(folder))
        await until_shown(pilot, f"{books} books")
        yield pilot


async def type_quickly(pilot: Pilot[None], key: str, words: str) -> None:
    """Type as fast as pasting."""
    await pilot.press(key)
    await until(pilot, lambda: isinstance(pilot.app.focused, Input))
    assert isinstance(pilot.app.focused, Input)
    pilot.app.focused.value = words
    await pilot.press("enter")


def entries(home: Path) -> list[LibraryEntry]:
    paths = paths_in(home)
    return list_entries(UserData(paths), Catalogue(paths))[0]


async def read_first(path: Path, home: Path) -> None:
    """Open a book and leave it."""
    app = app_on(path, home)
    async with app.run_test(size=SIZE) as pilot:
        await opened(pilot)
        await pilot.press("q")
