"""Highlights, notes and bookmarks: made, shown and undone by keyboard and by mouse."""

from pathlib import Path

import pytest
from textual.widgets import TextArea

from gistread.marking import Color, MarkKind, new_mark, quote_at
from gistread.tui.marking.screens import MarkScreen, NoteScreen
from gistread.tui.reading import status_lines
from gistread.tui.screens.reading import ReadingScreen
from gistread.tui.status import Status
from tests.tui.books import long_book
from tests.tui.marked import BOOK, NARROW, WIDE, kept, marking, put, selected, store
from tests.tui.scripted import app_on, lines, text_of, until, until_shown

# Highlights and notes


async def test_a_selection_is_highlighted_and_the_colour_has_a_sign(
    tmp_path: Path,
) -> None:
    app = app_on(BOOK, tmp_path)
    async with app.run_test(size=NARROW, notifications=True) as pilot:
        await marking(pilot)
        await pilot.press("V", "V", "right", "h")
        await until(pilot, lambda: len(kept(tmp_path)) == 1)
        (mark,) = kept(tmp_path)
        assert (mark.kind, mark.color, mark.place.exact) == (
            MarkKind.HIGHLIGHT,
            Color.YELLOW,
            "Ada Brennan",
        )
        assert any("● Ada Brennan" in line for line in lines(app))


async def test_the_mouse_may_begin_and_end_inside_words(tmp_path: Path) -> None:
    app = app_on(BOOK, tmp_path)
    async with app.run_test(size=NARROW, notifications=True) as pilot:
        screen = await marking(pilot)
        start = BOOK.text.index("ennan kept")
        screen.book_pane.select_range(start, start + 8)
        await pilot.press("h")
        await until(pilot, lambda: kept(tmp_path))
        assert kept(tmp_path)[0].place.exact == "Brennan kept"


async def test_an_error_stays_in_sight_while_words_are_selected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # On a line of its own, it takes no room from the keys for the selection.
    error = Status(("Stopped: the model ended", "r to resume"), "✕", "error")
    monkeypatch.setattr(status_lines, "status_of", lambda *_: error)
    app = app_on(BOOK, tmp_path)
    async with app.run_test(size=NARROW, notifications=True) as pilot:
        screen = await marking(pilot)
        start = BOOK.text.index("Brennan kept")
        screen.book_pane.select_range(start, start + len("Brennan kept"))
        await until(pilot, lambda: any("highlight" in line for line in lines(app)))
        assert any("Stopped: the model ended" in line for line in lines(app))


async def test_a_note_on_a_highlight_just_made_leaves_its_words_in_sight(
    tmp_path: Path,
) -> None:
    app = app_on(BOOK, tmp_path)
    async with app.run_test(size=NARROW, notifications=True) as pilot:
        screen = await marking(pilot)
        start = BOOK.text.index("Brennan kept")
        screen.book_pane.select_range(start, start + len("Brennan kept"))
        await pilot.press("h")
        await until(pilot, lambda: kept(tmp_path))
        await pilot.press("e")
        await until(pilot, lambda: isinstance(app.screen, NoteScreen))
        pane = screen.book_pane
        row = pane.content_region.y + pane.row_in_view(start)
        panel = app.screen.query_one(".panel").region
        assert not panel.y <= row < panel.bottom
        # Nor would it cover words of any other row but those in the middle.
        free = max(
            panel.y - pane.content_region.y, pane.content_region.bottom - panel.bottom
        )
        assert free >= pane.content_region.height // 2 - 1
        await pilot.press(*"Who?", "ctrl+s")
        await until(pilot, lambda: kept(tmp_path)[0].note == "Who?")
        assert kept(tmp_path)[0].place.exact == "Brennan kept"


async def test_a_note_is_written_shown_edited_deleted_and_restored(
    tmp_path: Path,
) -> None:
    app = app_on(BOOK, tmp_path)
    async with app.run_test(size=WIDE, notifications=True) as pilot:
        screen = await marking(pilot)
        await pilot.press("V", "V", "right", "e")
        await until(pilot, lambda: isinstance(app.screen, NoteScreen))
        await pilot.press(*"Who?", "enter", *"Why?", "ctrl+s")
        await until(pilot, lambda: kept(tmp_path))
        (mark,) = kept(tmp_path)
        assert (mark.kind, mark.note, mark.place.exact) == (
            MarkKind.NOTE,
            "Who?\nWhy?",
            "Ada Brennan",
        )
        row = next(
            number for number, line in enumerate(lines(app)) if "✎ Ada Brennan" in line
        )
        column = lines(app)[row].index("Brennan")
        await pilot.click(offset=(column, row))
        await until(pilot, lambda: isinstance(app.screen, MarkScreen))
        assert "Who?" in text_of(app)
        assert "note · " in text_of(app)
        await pilot.press("e")
        await until(pilot, lambda: isinstance(app.screen, NoteScreen))
        await pilot.press(*"!", "ctrl+s")
        await until(pilot, lambda: kept(tmp_path)[0].note == "Who?\nWhy?!")
        await pilot.click(offset=(column, row))
        await until(pilot, lambda: isinstance(app.screen, MarkScreen))
        await pilot.press("x")
        await until(pilot, lambda: kept(tmp_path) == [])
        assert "U restores it" in text_of(app)
        await pilot.press("U")
        await until(pilot, lambda: kept(tmp_path))
        assert kept(tmp_path)[0].note == "Who?\nWhy?!"
        assert screen.controllers.marks.marks[0].id == mark.id


async def test_a_mouse_selection_is_highlighted_by_a_click(tmp_path: Path) -> None:
    app = app_on(BOOK, tmp_path)
    async with app.run_test(size=NARROW, notifications=True) as pilot:
        screen = await marking(pilot)
        row = next(
            number for number, line in enumerate(lines(app)) if "Ada Brennan" in line
        )
        column = lines(app)[row].index("Ada")
        await pilot.mouse_down(offset=(column, row))
        await pilot.hover(offset=(column + 10, row))
        await pilot.mouse_up(offset=(column + 10, row))
        await until(pilot, lambda: "h highlight" in lines(app)[-1])
        await pilot.click(
            offset=(lines(app)[-1].index("h highlight") + 3, NARROW[1] - 1)
        )
        await until(pilot, lambda: kept(tmp_path))
        assert kept(tmp_path)[0].place.exact == "Ada Brennan"
        assert selected(screen) == ""
        await until(pilot, lambda: "h highlight" not in lines(app)[-1])
        await pilot.mouse_down(offset=(column, row))
        await pilot.hover(offset=(column + 10, row))
        await pilot.mouse_up(offset=(column + 10, row))
        await pilot.click(offset=(40, row + 6))
        await until(pilot, lambda: selected(screen) == "")


async def test_leaving_a_changed_note_asks_and_quitting_keeps_it(
    tmp_path: Path,
) -> None:
    app = app_on(BOOK, tmp_path)
    async with app.run_test(size=NARROW, notifications=True) as pilot:
        await marking(pilot)
        await pilot.press("V", "e")
        await until(pilot, lambda: isinstance(app.screen, NoteScreen))
        await pilot.press("escape")
        # Nothing was written: nothing is asked
        await until(pilot, lambda: isinstance(app.screen, ReadingScreen))
        await pilot.press("e")
        await until(pilot, lambda: isinstance(app.screen, NoteScreen))
        await pilot.press(*"draft", "escape")
        await until_shown(pilot, "not saved")
        assert isinstance(app.screen, NoteScreen)
        await pilot.press(*" two", "escape")
        assert isinstance(app.screen, NoteScreen)
        assert app.screen.query_one(TextArea).text == "draft two"
        await app.action_quit()
    assert [mark.note for mark in kept(tmp_path)] == ["draft two"]


async def test_emptying_a_note_deletes_it_but_not_a_highlight(tmp_path: Path) -> None:
    put(tmp_path, "Ada", note="one", color=Color.BLUE)
    put(tmp_path, "Brennan", MarkKind.NOTE, note="two")
    app = app_on(BOOK, tmp_path)
    async with app.run_test(size=NARROW, notifications=True) as pilot:
        await marking(pilot)
        for start in (("V",), ("V", "right")):
            await pilot.press(*start, "e")
            await until(pilot, lambda: isinstance(app.screen, NoteScreen))
            await pilot.press("ctrl+u", "ctrl+s")
            await until(pilot, lambda: isinstance(app.screen, ReadingScreen))
            await pilot.press("escape", "g")
        await until(pilot, lambda: len(kept(tmp_path)) == 1)
        assert (kept(tmp_path)[0].kind, kept(tmp_path)[0].note) == (
            MarkKind.HIGHLIGHT,
            "",
        )


# Bookmarks


async def test_bookmarks_are_set_removed_and_gone_to_beside_letters_of_earlier_versions(
    tmp_path: Path,
) -> None:
    book = long_book()
    letter = new_mark(
        MarkKind.LETTER, quote_at(book.text, book.chapters[3].start), letter="q"
    )
    store(tmp_path).put(book.sha256, letter)
    app = app_on(book, tmp_path)
    async with app.run_test(size=NARROW, notifications=True) as pilot:
        screen = await marking(pilot)
        await pilot.press("]", "]", "B")
        await until(pilot, lambda: len(store(tmp_path).marks(book.sha256)) == 2)
        first = screen.book_pane.place
        assert "⚑" in text_of(app)
        await pilot.press("]", "l")
        await until_shown(pilot, "mark q", "bookmark")
        await pilot.press("g", "enter")
        await until(
            pilot, lambda: app.screen is screen and screen.book_pane.place == first
        )
        await pilot.press("B")
        await until(
            pilot,
            lambda: (
                [mark.kind for mark in store(tmp_path).marks(book.sha256)]
                == [MarkKind.LETTER]
            ),
        )
