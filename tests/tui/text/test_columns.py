"""Two columns show one text, which continues from the first to the second."""

import pytest

from gistread.tui.text import Clicked
from gistread.tui.text.widget import LongText
from tests.tui.text.scene import Book, Screen, settle

SIZE = (110, 20)


def halves(widget: LongText, y: int) -> tuple[str, str]:
    second, _ = widget._columns.part(1)
    text = widget.render_line(y).text
    return text[:second].strip(), text[second:].strip()


def spread(book: Book) -> LongText:
    widget = LongText(book, text_width=50)
    widget.columns = 2
    return widget


@pytest.fixture
def book() -> Book:
    return Book(60)


async def test_the_second_column_continues_the_first(book: Book) -> None:
    widget = spread(book)
    async with Screen(widget).run_test(size=SIZE) as pilot:
        await settle(pilot)
        assert widget.column_count == 2
        first = [halves(widget, y)[0] for y in range(20)]
        second = [halves(widget, y)[1] for y in range(20)]
        widget.action_line_down(20)
        await settle(pilot)
        assert [halves(widget, y)[0] for y in range(20)] == second
        assert first != second


async def test_a_page_turns_the_whole_spread_and_the_end_is_reached(book: Book) -> None:
    widget = spread(book)
    async with Screen(widget).run_test(size=SIZE) as pilot:
        await settle(pilot)
        widget.action_page_down()
        await settle(pilot)
        assert widget.scroll_offset.y == 40
        widget.action_bottom()
        await settle(pilot)
        assert widget.scroll_offset.y + 40 == widget.row_count
        assert widget.visible_range is not None
        assert widget.visible_range[1] == len(book.text)


async def test_a_click_in_the_second_column_names_its_character(book: Book) -> None:
    widget = spread(book)
    app = Screen(widget)
    async with app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        second = widget._columns.part(1)[0] + 5
        y = next(y for y in range(20) if halves(widget, y)[1])
        await pilot.click(offset=(second + 3, y))
        await pilot.pause()
        (clicked,) = app.heard_of(Clicked)
        assert clicked.book_offset is not None
        word = halves(widget, y)[1][3:12].split(" ")[0]
        assert book.text[clicked.book_offset :].startswith(word)


async def test_the_place_is_kept_when_a_column_comes_or_goes(book: Book) -> None:
    widget = LongText(book, text_width=50)
    async with Screen(widget).run_test(size=SIZE) as pilot:
        await settle(pilot)
        widget.scroll_to_offset(book.starts[30])
        await settle(pilot)
        widget.columns = 2
        await settle(pilot)
        assert widget.reading_offset == book.starts[30]
        await pilot.resize_terminal(60, 20)
        await settle(pilot)
        assert widget.column_count == 1
        assert widget.reading_offset == book.starts[30]
