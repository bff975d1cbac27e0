"""Marks over the text: which lie on top, their signs in the margin, and selecting by the book's offsets."""

from gistread.tui.marking.layers import Layer, Layers
from gistread.tui.text import Block, LongText
from gistread.tui.text.marks import Mark, MarkIndex
from tests.tui.text.scene import Book, Screen, row, screen, settle


def test_marks_of_a_range_come_in_the_order_in_which_they_were_given() -> None:
    index = MarkIndex([Mark(5, 9, "upper"), Mark(0, 100, "long"), Mark(20, 30, "far"), Mark(7, 7, "empty")])
    assert [mark.style for mark in index.between(6, 20)] == ["upper", "long"]
    assert [mark.style for mark in index.between(99, 200)] == ["long"]
    assert index.between(100, 200) == []


async def test_a_layer_is_replaced_alone_and_later_layers_lie_on_top() -> None:
    app = Screen(LongText(Book(5)))
    async with app.run_test(size=(60, 20)):
        layers = Layers(app.long_text)
        layers.set(Layer.HITS, [Mark(10, 20, "hit")])
        layers.set(Layer.HIGHLIGHTS, [Mark(15, 40, "highlight-green")])
        assert [mark.style for mark in app.long_text.marks] == ["highlight-green", "hit"]
        layers.set(Layer.HITS)
        assert [mark.style for mark in app.long_text.marks] == ["highlight-green"]
        assert layers.of(Layer.HIGHLIGHTS) == (Mark(15, 40, "highlight-green"),)


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


async def test_a_sign_takes_one_cell_whatever_is_given() -> None:
    app = Screen(LongText([Block("words", start=0, blank_before=0)]))
    async with app.run_test(size=(60, 5)) as pilot:
        for sign in ("ab", "\x1b[31m", "字"):
            app.long_text.marks = (Mark(0, 3, "noted", sign),)
            await settle(pilot)
            assert row(app.long_text, 0).index("words") == 2
            assert "\x1b" not in row(app.long_text, 0)


async def test_a_range_of_the_book_is_selected_and_named_again_at_any_width() -> None:
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
