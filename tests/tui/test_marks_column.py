"""Marks and notes beside the book, level with their text."""

from pathlib import Path

from gistread.config import Config, load_config
from gistread.marking import MarkKind, new_mark, quote_at
from gistread.store.user_data import MarkStore
from gistread.tui.marking.screens import MarkScreen
from gistread.tui.reading.pane_switcher import Pane
from tests.tui.books import long_book
from tests.tui.scripted import (
    app_on,
    lines,
    opened,
    paths_in,
    text_of,
    until,
    until_shown,
)

SIZE = (120, 40)


def with_note(home: Path, words: str, note: str) -> None:
    book = long_book()
    start = book.text.index(words)
    quote = quote_at(book.text, start, start + len(words))
    MarkStore(paths_in(home)).put(
        book.sha256, new_mark(MarkKind.NOTE, quote, note=note)
    )


async def test_a_key_shows_memory_marks_and_neither_in_turn(tmp_path: Path) -> None:
    with_note(tmp_path, "This is paragraph 2.", "Who walks here?")
    app = app_on(long_book(), tmp_path, config=Config(read_along=False))
    async with app.run_test(size=SIZE) as pilot:
        screen = await opened(pilot)
        screen.panes.hide_memory(False)
        await until(pilot, lambda: "Memory" in lines(app)[2])
        await pilot.press("M")
        await until(
            pilot,
            lambda: "Marks" in lines(app)[2] and "Who walks here?" in text_of(app),
        )
        level = next(line for line in lines(app) if "Who walks here?" in line)
        assert "This is paragraph 2." in level
        assert "1 on this screen of 1" in lines(app)[2]
        await pilot.press("tab")
        await until(pilot, lambda: screen.panes.current is Pane.ANSWERS)
        await pilot.press("escape", "M")
        await until(
            pilot, lambda: "Marks" not in text_of(app) and "Memory" not in text_of(app)
        )
        await pilot.press("M")
        await until(pilot, lambda: "Memory" in lines(app)[2])


async def test_the_marks_follow_the_book_and_are_shown_again_in_the_next_session(
    tmp_path: Path,
) -> None:
    with_note(tmp_path, "This is paragraph 2.", "Who walks here?")
    with_note(tmp_path, "This is paragraph 60.", "And here?")
    app = app_on(long_book(), tmp_path, config=Config(beside="marks"))
    async with app.run_test(size=SIZE) as pilot:
        screen = await opened(pilot)
        await until_shown(pilot, "Who walks here?")
        screen.controllers.navigation.jump(
            screen.book.text.index("This is paragraph 60.")
        )
        await until_shown(pilot, "And here?")
        assert "Who walks here?" not in text_of(app)
        row = next(
            number for number, line in enumerate(lines(app)) if "And here?" in line
        )
        assert "This is paragraph 60." in lines(app)[row]
        await pilot.click(offset=(lines(app)[row].index("And here?") + 1, row))
        await until(pilot, lambda: isinstance(app.screen, MarkScreen))
        await pilot.press("escape")
        await pilot.press("M")
        await until(pilot, lambda: "Marks" not in lines(app)[2])
    saved = load_config(paths_in(tmp_path).config_file)
    assert (saved.memory, saved.beside) == (False, "memory")
