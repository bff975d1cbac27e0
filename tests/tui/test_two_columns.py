"""The reading screen with two columns of text."""

from pathlib import Path

import pytest
from textual.pilot import Pilot

from gistread.book.model import Book, Chapter, Paragraph
from gistread.config import Config, load_config
from gistread.sample import story_path
from gistread.tui.screens.reading import ReadingScreen
from gistread.tui.text.layout import Layout
from tests.book.data import needs_novels, novel
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
from tests.tui.test_linking import chosen, linked_book
from tests.tui.test_marks_column import with_note
from tests.tui.test_searching import current, in_view, search

WIDE, NARROWER = (160, 40), (149, 40)
HEBREW = "בראשית ברא אלהים את השמים ואת הארץ והארץ היתה תהו ובהו. "
TWO = Config(text_columns=2, min_words=40, max_words=90)


def columns(screen: ReadingScreen) -> int:
    return len(screen.book_pane.spread.columns)


def halves(screen: ReadingScreen) -> tuple[str, str]:
    """The words in each column."""
    first, second = halves_by_row(screen)
    return " ".join(" ".join(first).split()), " ".join(" ".join(second).split())


async def test_a_key_switches_and_the_choice_is_kept(tmp_path: Path) -> None:
    app = app_on(long_book(), tmp_path)
    async with app.run_test(size=WIDE, notifications=True) as pilot:
        screen = await opened(pilot)
        pane = screen.book_pane
        pane.scroll_to_offset(6000)
        await pilot.pause()
        place, end = pane.visible_range
        await pilot.press("|")
        await until(pilot, lambda: columns(screen) == 2)
        assert pane.place == place
        assert pane.visible_range[1] > end
        await until(
            pilot, lambda: load_config(paths_in(tmp_path).config_file).text_columns == 2
        )
        await pilot.resize_terminal(*NARROWER)
        await until(pilot, lambda: columns(screen) == 1)
        assert pane.place == place
        await pilot.press("|", "|")
        await until_shown(pilot, "149")
        assert columns(screen) == 1
        await pilot.resize_terminal(*WIDE)
        await until(pilot, lambda: columns(screen) == 2)
        assert pane.place == place
        await pilot.press("|")
        await until(pilot, lambda: columns(screen) == 1)
        assert pane.place == place


async def test_the_panel_of_typography_switches_by_mouse(tmp_path: Path) -> None:
    app = app_on(long_book(), tmp_path)
    async with app.run_test(size=WIDE) as pilot:
        screen = await opened(pilot)
        await pilot.press("equals_sign")
        await until_shown(pilot, "Columns")
        y = next(
            number for number, line in enumerate(lines(app)) if "Columns  " in line
        )
        await pilot.click(offset=(lines(app)[y].index("▸"), y))
        await until(pilot, lambda: columns(screen) == 2)


@pytest.mark.parametrize("size", [WIDE, (200, 50), (150, 30)])
async def test_the_memory_fits_beside_two_columns(
    tmp_path: Path, size: tuple[int, int]
) -> None:
    app = app_on(long_book(), tmp_path, config=TWO)
    async with app.run_test(size=size) as pilot:
        screen = await opened(pilot)
        screen.panes.hide_memory(False)
        await until(pilot, lambda: "Memory" in lines(app)[2])
        assert columns(screen) == 2
        assert screen.book_pane.row_width >= 44
        beside = screen.book_pane.row_width
        screen.panes.hide_memory(True)
        await until(pilot, lambda: screen.book_pane.row_width > beside)
        assert columns(screen) == 2


async def test_what_stands_in_the_second_column_counts_as_read(tmp_path: Path) -> None:
    app = app_on(long_book(), tmp_path, config=TWO)
    async with app.run_test(size=WIDE) as pilot:
        screen = await opened(pilot)
        pane, position = screen.book_pane, screen.controllers.context.position
        # The pane gives rows to the question line once the book is open: its end may move up.
        await until(pilot, lambda: position.end >= pane.visible_range[1])
        last = halves(screen)[1].split()[-3:]
        assert screen.book.text[: pane.visible_range[1]].split()[-3:] == last
        await pilot.press("space")
        await until(
            pilot, lambda: position.place > 0 and position.end >= pane.visible_range[1]
        )
        assert not position.looking


async def test_a_hit_in_the_second_column_moves_nothing(tmp_path: Path) -> None:
    app = app_on(long_book(), tmp_path, config=TWO)
    async with app.run_test(size=WIDE) as pilot:
        screen = await opened(pilot)
        second = halves(screen)[1]
        number = second.split("This is paragraph ")[1].split(".")[0]
        top = screen.book_pane.scroll_offset
        await search(pilot, f"paragraph {number}.")
        await until(pilot, lambda: current(screen) == f"paragraph {number}.")
        assert in_view(screen)
        assert screen.book_pane.scroll_offset == top
        await pilot.press("enter")
        await search(pilot, "paragraph 77.")
        await until(pilot, lambda: in_view(screen) and "paragraph 77." in text_of(app))


async def test_the_caret_goes_on_in_the_second_column(tmp_path: Path) -> None:
    app = app_on(long_book(), tmp_path, config=TWO)
    async with app.run_test(size=WIDE) as pilot:
        screen = await opened(pilot)
        pane = screen.book_pane
        first, second = pane.spread.columns
        top = pane.scroll_offset
        await pilot.press("V", *["down"] * len(first))
        await pilot.pause()
        caret = pane.caret.head[0]
        assert _row_of(screen, caret) in second
        assert pane.scroll_offset == top
        await pilot.press("V", *["up"] * 12)
        await pilot.pause()
        start, end = pane.selected_range
        assert _row_of(screen, start) in first
        assert end > caret


def _row_of(screen: ReadingScreen, offset: int) -> int:
    index = screen.book_pane._index
    place = index.find_offset(offset)
    assert place is not None
    return index.row_of(place)


async def test_links_of_both_columns_are_chosen_and_a_note_opens_in_place(
    tmp_path: Path,
) -> None:
    app = app_on(linked_book(), tmp_path, config=TWO)
    async with app.run_test(size=(160, 60)) as pilot:
        screen = await opened(pilot)
        ending = screen.book.text.index("The Ending")
        screen.controllers.navigation.show(ending - 2000)
        await until(pilot, lambda: "of whom more is known" in halves(screen)[1])
        await pilot.press("comma")
        await until(pilot, lambda: chosen(screen) == ["‡"])
        await pilot.press("enter")
        await until(pilot, lambda: text_of(app).count("From the log.") == 2)
        await pilot.press("enter")
        await until(pilot, lambda: text_of(app).count("From the log.") == 1)


async def test_marks_of_both_columns_stand_level_with_their_text(
    tmp_path: Path,
) -> None:
    with_note(tmp_path, "This is paragraph 2.", "In the first?")
    with_note(tmp_path, "This is paragraph 5.", "In the second?")
    config = Config(beside="marks", text_columns=2)
    app = app_on(long_book(), tmp_path, config=config)
    async with app.run_test(size=WIDE) as pilot:
        screen = await opened(pilot)
        await until_shown(pilot, "In the second?")
        assert "This is paragraph 2." in halves(screen)[0]
        assert "This is paragraph 5." in halves(screen)[1]
        for words, note in (
            ("paragraph 2.", "In the first?"),
            ("paragraph 5.", "In the second?"),
        ):
            assert any(words in line and note in line for line in lines(app))


async def test_half_a_screen_is_one_column(tmp_path: Path) -> None:
    app = app_on(long_book(), tmp_path, config=TWO)
    async with app.run_test(size=WIDE) as pilot:
        screen = await opened(pilot)
        await until_shown(pilot, "No model yet")  # Then the pane has its height.
        second = halves(screen)[1]
        await pilot.press("d")
        await until(pilot, lambda: halves(screen)[0] == second)
        await pilot.press("u")
        await until(pilot, lambda: halves(screen)[1] == second)


async def walk(pilot: Pilot[None], screen: ReadingScreen, overlap: int) -> list[str]:
    """Turn to the end of the book. Returns the rows of text in the order in which they came."""
    pane = screen.book_pane
    rows = list(_rows(screen))
    while (before := pane.spread).end < pane.row_count:
        await pilot.press("space")
        await until(pilot, lambda before=before: pane.spread.top > before.top)
        assert pane.spread.top == before.end - overlap
        rows += list(_rows(screen))[overlap:]
    return rows


def _rows(screen: ReadingScreen) -> list[str]:
    """The text of each row in view: of the book, not of the screen."""
    index = screen.book_pane._index
    shown = []
    for column in screen.book_pane.spread.columns:
        for row in column:
            block, inner = index.locate(row)
            layout = index.layout(block)
            span = layout.span(inner)
            shown.append("" if span is None else layout.shown[slice(*span)])
    return shown


async def walk_through(path: Path, folder: Path, overlap: int) -> None:
    config = Config(text_columns=2, overlap=overlap, pictures=False)
    app = app_on(path, folder, config=config)
    async with app.run_test(size=(170, 45)) as pilot:
        screen = await opened(pilot)
        screen.book_pane.scroll_to_beginning()
        await until(pilot, lambda: screen.book_pane.scroll_offset.y == 0)
        rows = await walk(pilot, screen, overlap)
        # A row may end at a hyphen inside a word.
        assert "".join("".join(rows).split()) == "".join(screen.book.text.split())


@pytest.mark.parametrize("overlap", [0, 1, 2])
async def test_the_sample_is_shown_whole_and_each_line_once(
    tmp_path: Path, overlap: int
) -> None:
    await walk_through(story_path(), tmp_path, overlap)


@needs_novels
@pytest.mark.slow
async def test_a_novel_is_shown_whole_and_each_line_once(tmp_path: Path) -> None:
    await walk_through(novel("baum_the-wonderful-wizard-of-oz"), tmp_path, 0)


async def test_hyphens_and_right_to_left_text_in_narrow_columns(tmp_path: Path) -> None:
    english = (
        "Extraordinarily complicated circumstances notwithstanding the representatives. "
        * 9
    )
    texts = [(english, HEBREW * 9)[number % 2].strip() for number in range(16)]
    starts = [sum(len(text) + 2 for text in texts[:number]) for number in range(16)]
    paragraphs = (
        Paragraph(start, start + len(text))
        for start, text in zip(starts, texts, strict=True)
    )
    text = "\n\n".join(texts)
    chapter = Chapter("Both ways", 0, len(text))
    book = Book(text, "Mixed", tuple(paragraphs), (chapter,), ("A. Writer",), "en")
    config = Config(text_columns=2, bidi="on", text_width=40)
    app = app_on(book, tmp_path, config=config)
    async with app.run_test(size=WIDE) as pilot:
        screen = await opened(pilot)
        await until(pilot, lambda: columns(screen) == 2)
        pane = screen.book_pane
        second = pane.spread.columns[1]
        right = [row for row in second if _layout(screen, row).right_to_left]
        assert right
        edge = pane._column_cells(0)
        y = right[0] - second.start
        assert not pane.render_line(y).text[edge : edge + pane._between].strip()
        ends = edge + pane._between + pane.row_width
        assert pane.render_line(y).text[ends - 1 : ends + 1].strip() in HEBREW
        await pilot.click("#book", offset=(ends - 1, y + 1))
        await until(pilot, lambda: pane.pointed_at is not None)
        assert screen.book.text[pane.pointed_at] in HEBREW
        assert any(line.endswith("-") for line in halves_by_row(screen)[1])


def halves_by_row(screen: ReadingScreen) -> tuple[list[str], list[str]]:
    pane = screen.book_pane
    edge = pane._column_cells(0)
    rows = [pane.render_line(y).text for y in range(pane.size.height)]
    return [row[:edge].rstrip() for row in rows], [row[edge:].rstrip() for row in rows]


def _layout(screen: ReadingScreen, row: int) -> Layout:
    index = screen.book_pane._index
    return index.layout(index.locate(row)[0])
