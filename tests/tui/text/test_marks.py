"""Marks over the text: layers, signs in the margin, and selections by offset."""

from gistread.tui.reading.context import Layer, MarkLayers
from gistread.tui.text import Block, LongText
from gistread.tui.text.document import Mark, MarkIndex
from tests.tui.text.scene import Book, Screen, row, screen, settle


def test_marks_of_a_range_keep_their_order() -> None:
    index = MarkIndex([Mark(5, 9, "upper"), Mark(0, 100, "long"), Mark(20, 30, "far"), Mark(7, 7, "empty")])
    assert [mark.style for mark in index.between(6, 20)] == ["upper", "long"]
    assert [mark.style for mark in index.between(99, 200)] == ["long"]
    assert index.between(100, 200) == []


async def test_layers_are_replaced_separately_and_stacked_in_order() -> None:
    app = Screen(LongText(Book(5)))
    async with app.run_test(size=(60, 20)):
        layers = MarkLayers(app.long_text)
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


async def test_a_sign_always_has_one_cell() -> None:
    app = Screen(LongText([Block("words", start=0, blank_before=0)]))
    async with app.run_test(size=(60, 5)) as pilot:
        for sign in ("ab", "\x1b[31m", "字"):
            app.long_text.marks = (Mark(0, 3, "noted", sign),)
            await settle(pilot)
            assert row(app.long_text, 0).index("words") == 2
            assert "\x1b" not in row(app.long_text, 0)


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


async def test_a_visible_place_is_not_scrolled() -> None:
    book = Book()
    app = Screen(LongText(book))
    async with app.run_test(size=(120, 20)) as pilot:
        widget = app.long_text
        widget.columns = 2
        await settle(pilot)
        view = widget.visible_range
        assert view is not None
        widget.bring_into_view(view[1] - 200)
        await settle(pilot)
        assert widget.scroll_offset.y == 0
        widget.bring_into_view(view[1] + 2000)
        await settle(pilot)
        assert widget.scroll_offset.y > 0
        shown = widget.visible_range
        assert shown is not None
        assert shown[0] <= view[1] + 2000 < shown[1]


async def test_the_character_below_is_in_the_next_row_with_text_and_near_to_the_column() -> None:
    app = Screen(LongText([Block("abcdef ghijkl", start=0), Block("title"), Block("mnopqr", start=100)], text_width=6))
    async with app.run_test(size=(40, 20)) as pilot:
        widget = app.long_text
        await settle(pilot)
        assert widget.offset_below(2, 1) == 9
        assert widget.offset_below(2, 2) == 102
        assert widget.offset_below(102, -1) == 9
        assert widget.offset_below(102, 1) is None
        assert widget.offset_below(2, -1) is None
