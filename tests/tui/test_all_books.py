"""The library searches and asks all books.

A hit or a source is opened as a look, and Escape leads back to the list.
"""

from pathlib import Path

import pytest
from textual.app import App
from textual.pilot import Pilot

from gistread.library.indexing import update_index
from gistread.library.metadata import read_book_file
from gistread.store.catalogue import Catalogue
from gistread.store.user_data import UserData
from gistread.tui.screens.all_books import AllBooksScreen
from gistread.tui.screens.library import LibraryScreen
from tests.fake_engine import FakeEngine
from tests.tui.scripted import (
    app_on,
    opened,
    paths_in,
    text_of,
    type_text,
    until,
    until_shown,
)

SIZE = (100, 30)
SEEN = "The stranger had bandages round his head."


@pytest.fixture
def shelf(tmp_path: Path) -> list[Path]:
    """Two books in the library, indexed."""
    books = [tmp_path / "shelf" / name for name in ("The Inn.txt", "The Farm.txt")]
    books[0].parent.mkdir()
    filler = "She went with him to the sea and came home again. " * 60
    books[0].write_text(
        f"The Inn\n\n\nChapter 1\n\n{filler}\n\n\nChapter 2\n\n{filler}\n\n{SEEN}\n\n{filler}\n"
    )
    books[1].write_text(
        f"The Farm\n\n\nChapter 1\n\n{filler}\n\nA cow wore a bandage.\n\n{filler}\n"
    )
    Catalogue(paths_in(tmp_path)).add([read_book_file(path) for path in books])
    update_index(paths_in(tmp_path))
    return books


def panel(app: App[None]) -> AllBooksScreen:
    assert isinstance(app.screen, AllBooksScreen)
    return app.screen


async def begin(pilot: Pilot[None], key: str) -> AllBooksScreen:
    await until_shown(pilot, "2 books")
    await pilot.press(key)
    await until(
        pilot,
        lambda: (
            isinstance(pilot.app.screen, AllBooksScreen)
            and pilot.app.screen._shelf is not None
        ),
    )
    return panel(pilot.app)


async def test_a_hit_opens_as_a_look_and_escape_leads_back_to_it(
    tmp_path: Path, shelf: list[Path]
) -> None:
    app = app_on(None, tmp_path)
    async with app.run_test(size=SIZE) as pilot:
        screen = await begin(pilot, "ctrl+f")
        await pilot.press(*"inn")
        await until(
            pilot, lambda: [row.text for row in screen.shown][:1] == ["The Inn"]
        )
        await pilot.press(*(["backspace"] * 3))
        await type_text(pilot, "bandaged heads")
        await until_shown(pilot, "bandages round his", "66% · Chapter 2")
        await pilot.press("enter")
        reading = await opened(pilot)
        await until(
            pilot, lambda: SEEN in text_of(app) and "/bandaged heads" in text_of(app)
        )
        position = reading.controllers.context.position
        await until(pilot, lambda: position.looking)
        assert position.place < 100
        await pilot.press("escape")
        await until(
            pilot,
            lambda: (
                isinstance(app.screen, AllBooksScreen) and app.screen.chosen is not None
            ),
        )
        assert panel(app).typed == "bandaged heads"
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, LibraryScreen))
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is reading)
        await pilot.press("enter")
        assert not position.looking
        await pilot.press("escape")
        assert app.screen is reading, "who reads on is no longer on the way back"


async def test_a_question_names_its_books_and_a_source_opens(
    tmp_path: Path, shelf: list[Path]
) -> None:
    sha256 = ""
    engine = FakeEngine(says=lambda prompt: SEEN, chooses=lambda _, options: 0)
    app = app_on(None, tmp_path, engine)

    def questions() -> int:
        return sum("Who had bandages?" in call.text for call in engine.calls)

    async with app.run_test(size=SIZE) as pilot:
        screen = await begin(pilot, "question_mark")
        assert "asks 0 books, 2 unread left out" in text_of(app)
        await type_text(pilot, "Who had bandages?")
        await until(pilot, lambda: screen.typed == "Who had bandages?")
        await pilot.press("enter")
        await until_shown(pilot, "None of 0 books has words of this question")
        await pilot.press("ctrl+t")
        await until_shown(pilot, "asks all 2 books")
        await pilot.press("enter")
        await until(
            pilot, lambda: len(screen.shown) > 3 and "The Inn · 66%" in text_of(app)
        )
        await until_shown(pilot, "1 passage, “bandages”")
        assert screen.shown[0].text == SEEN
        await pilot.press("enter")
        reading = await opened(pilot)
        await until(
            pilot,
            lambda: (
                reading.controllers.context.position.looking and SEEN in text_of(app)
            ),
        )
        sha256 = reading.book.sha256
        questions_before = questions()
        await pilot.press("escape")
        await until(
            pilot,
            lambda: (
                isinstance(app.screen, AllBooksScreen) and app.screen.chosen is not None
            ),
        )
        assert [row.text for row in panel(app).shown][:2] == [SEEN, f"“{SEEN}”"]
        assert questions() == questions_before, "it is not asked again"
        await pilot.press("escape", "escape", "q")
    assert UserData(paths_in(tmp_path)).position(sha256) < 100


async def test_a_book_that_was_only_looked_into_is_not_begun(
    tmp_path: Path, shelf: list[Path]
) -> None:
    """Else the same search would find nothing in it: it would end at its first screen."""

    async def look(*then: str) -> int:
        app = app_on(None, tmp_path)
        async with app.run_test(size=SIZE) as pilot:
            await begin(pilot, "ctrl+f")
            await type_text(pilot, "bandaged heads")
            await until_shown(pilot, "bandages round his")
            await pilot.press("enter")
            reading = await opened(pilot)
            await until(
                pilot,
                lambda: (
                    reading.controllers.context.position.looking
                    and SEEN in text_of(app)
                ),
            )
            await pilot.press(*then, "q")
        return UserData(paths_in(tmp_path)).reading_place(reading.book.sha256).furthest

    assert await look() == 0
    assert await look("enter") > 1000
