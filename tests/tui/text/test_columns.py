"""Two columns of text: each row once, in reading order, under keys, mouse and other sizes."""

import random

import pytest
from rich.segment import Segment
from textual.geometry import Offset

from gistread.tui.text import Block, Clicked, LongText, Mark
from gistread.tui.text.figure import Figure
from gistread.tui.text.rows import RowIndex
from gistread.tui.text.spread import Spread, spread_of, top_above
from tests.tui.text.scene import WORDS, Book, Screen, first_words, settle

SIZE = (150, 20)
RANDOM_TEXTS = 30


def two_columns(book: object, *, overlap: int = 0) -> LongText:
    text = LongText(book, text_width=60)  # type: ignore[arg-type]
    text.columns, text.overlap = 2, overlap
    return text


def column_texts(widget: LongText) -> list[list[str]]:
    """What stands in each column, row by row."""
    edge = widget._column_cells(0)
    lines = [widget.render_line(y).text for y in range(widget.size.height)]
    return [
        [line[:edge].strip() for line in lines],
        [line[edge:].strip() for line in lines],
    ]


def words_in(widget: LongText) -> list[str]:
    return " ".join(row for column in column_texts(widget) for row in column).split()


async def test_the_text_goes_on_at_the_top_of_the_second_column() -> None:
    book = Book()
    async with Screen(two_columns(book)).run_test(size=SIZE) as pilot:
        widget = pilot.app.query_one(LongText)
        start, end = widget.visible_range or (0, 0)
        assert start == 0
        assert " ".join(words_in(widget)) == " ".join(book.text[:end].split())
        assert len(column_texts(widget)[1][0]) > 0


@pytest.mark.parametrize("overlap", [0, 1, 2])
async def test_screen_by_screen_every_row_is_shown_once_but_for_the_overlap(
    overlap: int,
) -> None:
    book = Book(120)
    async with Screen(two_columns(book, overlap=overlap)).run_test(size=SIZE) as pilot:
        widget = pilot.app.query_one(LongText)
        shown = _rows(widget.spread)
        while (before := widget.spread).end < widget.row_count:
            widget.action_turn(1)
            await pilot.pause()
            rows = _rows(widget.spread)
            assert rows[:overlap] == shown[len(shown) - overlap :]
            assert widget.spread.top == before.end - overlap
            shown += rows[overlap:]
        assert shown == sorted(set(shown))
        assert all(
            _is_blank(widget, row) for row in {*range(widget.row_count)} - {*shown}
        )
        while widget.spread.top > 0:
            before = widget.spread
            widget.action_turn(-1)
            await pilot.pause()
            assert widget.spread.end >= before.top


def _rows(spread: Spread) -> list[int]:
    return [row for rows in spread.columns for row in rows]


def _is_blank(widget: LongText, row: int) -> bool:
    block, inner = widget._index.locate(row)
    return inner < widget._index.block(block).blank_before


def _figure(rows: int) -> Figure:
    picture = type("Picture", (), {"size": (10, rows * 2)})()

    def paint(figure: Figure, columns: int, rows: int) -> list[list[Segment]]:
        return [[Segment("#" * columns)] for _ in range(rows)]

    return Figure(picture, 10, painter=paint)


def _random_block(chance: random.Random, number: int) -> Block:
    kind = chance.choice(("text", "text", "text", "heading", "numeral", "image"))
    return Block(
        WORDS * chance.randint(1, 6) if kind == "text" else f"{kind} {number}",
        key=number,
        style=kind,
        opens=kind == "numeral",
        blank_before=chance.choice((0, 1, 1, 3)),
        figure=_figure(chance.randint(1, 9)) if kind == "image" else None,
    )


@pytest.mark.parametrize("seed", range(RANDOM_TEXTS))
def test_no_row_but_empty_ones_is_left_out_going_on_and_back(seed: int) -> None:
    chance = random.Random(seed)
    blocks = [_random_block(chance, number) for number in range(40)]
    index = RowIndex(blocks, 50)
    height = chance.randint(1, 30)
    for top in range(index.height):
        spread = spread_of(index, top, height, columns=2)
        first, second = spread.columns
        assert first.start == top
        assert len(first) <= height
        assert len(second) <= height
        for row in range(first.stop, second.start):
            block, inner = index.locate(row)
            assert inner < index.block(block).blank_before
        back = top_above(index, top, height, columns=2)
        assert spread_of(index, back, height, columns=2).end >= top


def _after_rows(rows: int, *blocks: Block) -> tuple[RowIndex, Spread]:
    """Columns 20 rows high: a text of so many rows, these blocks, and more text."""
    line = "word " * 9
    before = Block(line * rows, blank_before=0)
    index = RowIndex([before, *blocks, Block(line * 60)], 45)
    assert index.first_row(1) == rows
    return index, spread_of(index, 0, 20, columns=2)


@pytest.mark.parametrize("rows", [17, 18, 19])
def test_a_title_stands_above_its_text(rows: int) -> None:
    titles = (
        Block("IV", style="numeral", opens=True, blank_before=3),
        Block("A Title", style="heading"),
    )
    _, spread = _after_rows(rows - 3, *titles)
    assert spread.columns[0] == range(rows - 3)
    assert spread.columns[1].start == rows - 3


def test_a_title_with_a_line_below_it_may_end_a_column() -> None:
    _, spread = _after_rows(16, Block("A Title", style="heading"))
    assert spread.columns[0] == range(20)


@pytest.mark.parametrize("rows", [11, 15, 19])
def test_a_picture_and_its_caption_stay_whole(rows: int) -> None:
    caption = Block("A caption.", style="image", figure=_figure(9))
    index, spread = _after_rows(rows, caption)
    assert spread.columns[0] == range(rows)
    assert spread.columns[1].start == index.first_row(1) + 1


def test_a_picture_that_begins_in_the_upper_half_is_parted() -> None:
    caption = Block("A caption.", style="image", figure=_figure(18))
    _, spread = _after_rows(5, caption)
    assert spread.columns[0] == range(20)
    assert spread.columns[1].start == 20


def test_empty_rows_between_paragraphs_are_left_out_at_the_break() -> None:
    index, spread = _after_rows(20)
    assert index.block(1).blank_before == 1
    assert spread.columns == (range(20), range(21, 41))


def test_a_place_in_a_spread() -> None:
    spread = Spread((range(40, 60), range(61, 81)))
    assert spread.place(30) == (0, 0)
    assert spread.place(59) == (0, 19)
    assert spread.place(60) == (1, 0)
    assert spread.place(90) == (1, 19)
    assert spread.row_at(1, 2) == 63
    assert spread.row_at(1, 20) is None


async def test_another_width_shows_one_column_and_coming_back_restores_the_view() -> (
    None
):
    book = Book()
    async with Screen(two_columns(book)).run_test(size=SIZE) as pilot:
        widget = pilot.app.query_one(LongText)
        widget.scroll_to_offset(book.starts[100] + 90)
        await settle(pilot)
        before, words = column_texts(widget), first_words(widget, book)
        for size in ((60, 20), (180, 44), (64, 9), (150, 31)):
            await pilot.resize_terminal(*size)
            await settle(pilot)
            assert first_words(widget, book) == words
            assert len(widget.spread.columns) == (2 if size[0] > 70 else 1)
        await pilot.resize_terminal(*SIZE)
        await settle(pilot)
        assert column_texts(widget) == before


async def test_the_last_screen_ends_the_text_and_a_taller_one_too() -> None:
    book = Book(60)
    async with Screen(two_columns(book)).run_test(size=SIZE) as pilot:
        widget = pilot.app.query_one(LongText)
        widget.action_bottom()
        await settle(pilot)
        assert widget.visible_range is not None
        assert widget.visible_range[1] == len(book.text)
        assert words_in(widget)[-1] == book.text.split()[-1]
        await pilot.resize_terminal(150, 40)
        await settle(pilot)
        assert widget.visible_range[1] == len(book.text)


async def test_clicks_in_the_second_column_name_the_word_under_the_mouse() -> None:
    book = Book()
    app = Screen(two_columns(book))
    async with app.run_test(size=SIZE) as pilot:
        widget = app.long_text
        rows = column_texts(widget)[1]
        y = next(number for number, row in enumerate(rows) if row.startswith("P"))
        x = widget._column_cells(0) + widget._between
        await pilot.click(LongText, offset=(x, y))
        await settle(pilot)
        clicked = app.heard_of(Clicked)[-1]
        assert clicked.book_offset == book.text.index(rows[y].split()[0] + " ")
        await pilot.click(LongText, offset=(x - 2, y))
        await settle(pilot)
        assert app.heard_of(Clicked)[-1].book_offset is None


async def test_a_selection_by_mouse_runs_from_one_column_into_the_other() -> None:
    book = Book()
    app = Screen(two_columns(book))
    async with app.run_test(size=SIZE) as pilot:
        widget = app.long_text
        left = widget._left_margin
        right = widget._column_cells(0) + widget._between
        await pilot.mouse_down(LongText, offset=(left, 10))
        await pilot.hover(LongText, offset=(left + 20, 19))
        await pilot.hover(LongText, offset=(right + 20, 3))
        await pilot.mouse_up(LongText, offset=(right + 20, 3))
        await settle(pilot)
        assert widget.scroll_offset == Offset(0, 0)
        chosen = widget.selected_range
        assert chosen is not None
        columns = column_texts(widget)
        expected = " ".join([*columns[0][10:], *columns[1][:3], columns[1][3][:20]])
        assert " ".join(book.text[slice(*chosen)].split()) == " ".join(expected.split())


async def test_a_mark_and_its_sign_are_drawn_in_the_second_column() -> None:
    book = Book()
    app = Screen(two_columns(book))
    async with app.run_test(size=SIZE) as pilot:
        widget = app.long_text
        row = widget.spread.columns[1][2]
        start = widget._index.book_offset(widget._index.place_of(row))
        assert start is not None
        widget.marks = (Mark(start, start + 4, "mark", "42"),)
        await settle(pilot)
        line = widget.render_line(2)
        edge = widget._column_cells(0)
        assert line.text[edge : edge + widget._between].strip() == "42"
        marked = [part.text for part in line if part.style and part.style.bold]
        assert marked == [book.text[start : start + 4]]
        assert widget.row_in_view(start) == 2


async def test_what_covers_the_foot_of_the_last_column_is_not_in_view() -> None:
    book = Book()
    async with Screen(two_columns(book, overlap=1)).run_test(size=SIZE) as pilot:
        widget = pilot.app.query_one(LongText)
        whole = widget.visible_range
        before = column_texts(widget)
        widget.foot = 5
        await settle(pilot)
        covered = widget.visible_range
        assert whole is not None
        assert covered is not None
        assert covered[0] == whole[0]
        assert covered[1] < whole[1]
        assert column_texts(widget) == [before[0], [*before[1][:15], *[""] * 5]]
        end = widget.spread.end
        widget.action_turn(1)
        await settle(pilot)
        assert widget.spread.top == end - 1
        widget.action_bottom()
        await settle(pilot)
        assert widget.spread.end == widget.row_count
        widget.foot = 0
        await settle(pilot)
        assert (
            len(widget.spread.columns[1]) > 15 or widget.spread.end == widget.row_count
        )
