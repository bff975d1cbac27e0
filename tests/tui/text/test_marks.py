"""Marks over the text: layers, signs in the margin, and selections by offset."""

from gistread.tui.text import Block, LongText
from gistread.tui.text.document import Mark
from tests.tui.text.scene import Book, Screen, screen, settle


async def test_a_sign_stands_in_the_margin_of_the_row_where_its_mark_begins() -> None:
    book = Book(5)
    app = Screen(LongText(book))
    async with app.run_test(size=(60, 30)) as pilot:
        widget = app.long_text
        place = book.text.index("three dimensions")
        widget.marks = (Mark(place, place + 200, "highlight-green", "■"),)
        await settle(pilot)
        signed = [line for line in screen(widget) if "■" in line]
        assert len(signed) == 1
        assert signed[0].startswith("■ ")
        assert "three" in signed[0]


async def test_a_selected_range_is_the_same_at_any_width() -> None:
    book = Book()
    app = Screen(LongText(book))
    async with app.run_test(size=(60, 20)) as pilot:
        widget = app.long_text
        await settle(pilot)
        assert widget.selected_range is None
        start, end = book.text.index("mathematicians"), book.starts[1] + 30
        widget.select_range(start, end)
        assert widget.selected_range == (start, end)
        assert app.screen.get_selected_text() == book.text[start:end]
        await pilot.resize_terminal(33, 20)
        await settle(pilot)
        assert widget.selected_range == (start, end)
        widget.select_range(5, 5)
        assert widget.selected_range is None


async def test_the_character_below_is_in_the_next_row_with_text_and_near_to_the_column() -> (
    None
):
    app = Screen(
        LongText(
            [
                Block("abcdef ghijkl", start=0),
                Block("title"),
                Block("mnopqr", start=100),
            ],
            text_width=6,
        )
    )
    async with app.run_test(size=(40, 20)) as pilot:
        widget = app.long_text
        await settle(pilot)
        assert widget.offset_below(2, 1) == 9
        assert widget.offset_below(2, 2) == 102
        assert widget.offset_below(102, -1) == 9
        assert widget.offset_below(102, 1) is None
        assert widget.offset_below(2, -1) is None
