"""The library in columns: grouped, filtered in place, the book to go on with first."""

from dataclasses import replace
from pathlib import Path

import pytest
from textual.app import App

from gistread.library.entries import (
    Group,
    LibraryEntry,
    Order,
    group_of,
    sort_entries,
    to_continue,
)
from gistread.store.user_data import UserData
from gistread.tui.screens.all_books import AllBooksScreen
from gistread.tui.text.cells import crop_words
from gistread.tui.widgets.book_list import BookList, Columns, whole_parts
from gistread.tui.widgets.input_line import FilterInput
from tests.tui.books import long_book
from tests.tui.library import SIZE, library_of, read_first
from tests.tui.scripted import (
    app_on,
    lines,
    opened,
    paths_in,
    text_of,
    until,
    until_shown,
)


def entry(title: str, *, position: int = 0, opened_at: float = 0.0) -> LibraryEntry:
    return LibraryEntry(
        title, ("A. Writer",), Path(title), title, position=position, length=100_000,
        opened_at=opened_at, words=20_000,
    )  # fmt: skip


def headings(app: App[None]) -> list[str]:
    return [
        block.text
        for block in app.screen.query_one(BookList).blocks
        if block.key is None
    ]


def test_the_book_to_go_on_with_is_the_last_one_read_that_is_not_finished() -> None:
    begun, later = (
        entry("Begun", opened_at=1.0),
        entry("Later", position=50_000, opened_at=2.0),
    )
    finished = entry("Finished", position=99_900, opened_at=3.0)
    unread = entry("Unread")
    assert [group_of(book) for book in (begun, later, finished, unread)] == [
        Group.READING,
        Group.READING,
        Group.FINISHED,
        Group.UNREAD,
    ]
    assert to_continue([unread, begun, finished, later]) is later
    assert to_continue([unread, finished]) is None


@pytest.mark.parametrize("width", [40, 58, 78, 118, 158])
def test_the_columns_fit_into_every_width(width: int) -> None:
    columns = Columns.of(width)
    gaps = 2 * (1 + bool(columns.author) + bool(columns.bar))
    assert columns.title + columns.author + columns.bar + 10 + 4 + gaps <= width
    assert bool(columns.author) == (width >= 60)


def test_authors_take_the_room_that_titles_leave() -> None:
    usual = Columns.of(78)
    assert Columns.of(78, title=20, author=19).author == 19
    assert Columns.of(78, title=20, author=9) == usual
    assert Columns.of(78, title=60, author=19) == usual


async def test_the_book_to_go_on_with_names_its_chapter_on_one_row(
    tmp_path: Path,
) -> None:
    book = long_book()
    app = app_on(book, tmp_path)
    async with app.run_test(size=SIZE) as pilot:
        screen = await opened(pilot)
        await pilot.press("t", "down", "enter")
        await until(pilot, lambda: screen.book_pane.place >= book.chapters[1].start)
        await pilot.press("enter")
        await screen.close()
    (known,) = UserData(paths_in(tmp_path)).recent()
    assert known.chapter == "Chapter 2"
    shown = replace(
        entry("Begun", position=9_000, opened_at=1.0), chapter="A Chapter " * 12
    )
    app = app_on(None, tmp_path)
    async with app.run_test(size=(60, 20)) as pilot:
        await until(pilot, lambda: app.screen.query(BookList))
        app.screen.query_one(BookList).show_books([shown])
        await until_shown(pilot, "Continue: Begun · A Chapter")
        (row,) = [row for row in lines(app) if "Continue: Begun" in row]
        assert "9%" in row


async def test_books_are_grouped_and_filtered_in_place(
    tmp_path: Path, folder: Path
) -> None:
    await read_first(folder / "The Long Tale.txt", tmp_path)
    async with library_of(folder, tmp_path) as pilot:
        app = pilot.app
        await until_shown(pilot, "Continue: The Long Tale")
        assert headings(app) == ["Unread"]
        titles = [line for line in lines(app) if "A Short Tale" in line]
        assert len(titles) == 1
        await pilot.press("slash", *"short")
        await until(pilot, lambda: len(app.screen.query_one(BookList).blocks) == 2)
        assert "Continue" not in text_of(app)
        await pilot.press("escape")
        await until_shown(pilot, "Continue: The Long Tale")
        assert not app.screen.query_one(FilterInput).display
        await pilot.press("slash", *"short")
        await pilot.press("tab")
        await until(pilot, lambda: isinstance(app.screen, AllBooksScreen))
        assert isinstance(app.screen, AllBooksScreen)
        assert app.screen.typed == "short"
        await pilot.press("escape")
        await until(
            pilot, lambda: app.focused is not None and app.focused.id == "filter"
        )
        await pilot.press("enter")
        assert (await opened(pilot)).book.title == "A Short Tale"


async def test_a_narrow_library_keeps_title_and_progress(
    tmp_path: Path, folder: Path
) -> None:
    await read_first(folder / "The Long Tale.txt", tmp_path)
    app = app_on(None, tmp_path)
    async with app.run_test(size=SIZE) as pilot:
        await until_shown(pilot, "Continue: The Long Tale")
        await pilot.resize_terminal(60, 20)
        await until(pilot, lambda: all(len(line) == 60 for line in lines(app)))
        assert "Continue: The Long Tale" in text_of(app)


async def test_tab_shows_one_group_and_says_if_it_is_empty(
    tmp_path: Path, folder: Path
) -> None:
    await read_first(folder / "The Long Tale.txt", tmp_path)
    async with library_of(folder, tmp_path) as pilot:
        app = pilot.app
        await until_shown(pilot, "Continue: The Long Tale")
        await pilot.press("tab")
        await until(pilot, lambda: headings(app) == ["Reading"])
        assert "A Short Tale" not in text_of(app)
        await pilot.press("tab")
        await until(pilot, lambda: headings(app) == ["Unread"])
        await pilot.press("tab")
        await until_shown(pilot, "You have not finished any book yet.")
        assert not headings(app)
        await pilot.press("tab")
        await until_shown(pilot, "Continue: The Long Tale")
        await pilot.press("shift+tab")
        await until_shown(pilot, "You have not finished any book yet.")
        await pilot.click(offset=(lines(app)[0].index("Unread") + 1, 0))
        await until(pilot, lambda: headings(app) == ["Unread"])
        await pilot.click(offset=(lines(app)[0].index("All"), 0))
        await until_shown(pilot, "Continue: The Long Tale")
        await pilot.click(offset=(lines(app)[0].index("by last read"), 0))
        await until(pilot, lambda: "by title" in lines(app)[0])


def test_short_books_come_first_by_length_and_unknown_lengths_last() -> None:
    short = entry("Short")
    long = replace(entry("Long"), words=90_000)
    unknown = replace(entry("Unknown"), words=0)
    assert sort_entries([unknown, long, short], Order.LENGTH) == [short, long, unknown]


@pytest.mark.parametrize(
    ("cells", "shown"),
    [
        (40, "Emma · Jane Austen · opened just now"),
        (35, "Emma · Jane Austen"),
        (12, "Emma"),
        (3, "Em…"),
    ],
)
def test_facts_that_do_not_fit_are_left_out_whole(cells: int, shown: str) -> None:
    assert whole_parts("Emma · Jane Austen · opened just now", cells) == shown


@pytest.mark.parametrize(
    ("cells", "shown"),
    [
        (30, "the lawyer’s name was Utterson"),
        (25, "the lawyer’s name was…"),
        (21, "the lawyer’s name…"),
    ],
)
def test_a_line_is_cut_between_words(cells: int, shown: str) -> None:
    assert crop_words("the lawyer’s name was Utterson", cells) == shown
