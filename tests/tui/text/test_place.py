"""The words in view stay there after jumps, resizing and insertions above."""

import pytest

from gistread.tui.text import Block, LongText, OffsetChanged
from gistread.tui.text.layout import lay_out
from tests.tui.text.scene import WORDS, Book, Screen, first_words, row, screen, settle


async def test_the_whole_text_is_shown_in_order() -> None:
    book = Book(30)
    async with Screen(LongText(book)).run_test(size=(60, 20)) as pilot:
        widget = pilot.app.query_one(LongText)
        seen: list[str] = []
        for top in range(widget.row_count):
            widget.scroll_to(y=top, animate=False)
            y = top - widget.scroll_offset.y
            seen.append(row(widget, y).strip())
        assert " ".join(" ".join(seen).split()) == " ".join(book.text.split())


async def test_a_jump_puts_the_words_at_the_top() -> None:
    book = Book()
    app = Screen(LongText(book))
    async with app.run_test(size=(70, 20)) as pilot:
        widget = app.long_text
        for number in (150, 3, 77):
            widget.scroll_to_offset(book.starts[number])
            await settle(pilot)
            assert row(widget, 0).strip().startswith(f"P{number} ")
            assert widget.reading_offset == book.starts[number]
        assert app.heard_of(OffsetChanged)[-1].offset == book.starts[77]


async def test_another_size_keeps_the_words_at_the_top_and_coming_back_restores_the_view() -> (
    None
):
    book = Book()
    app = Screen(LongText(book))
    async with app.run_test(size=(80, 24)) as pilot:
        widget = app.long_text
        widget.scroll_to_offset(book.starts[100] + 60)
        await settle(pilot)
        before, words = screen(widget), first_words(widget, book)
        for size in ((40, 10), (120, 50), (33, 7), (200, 60)):
            await pilot.resize_terminal(*size)
            await settle(pilot)
            assert words[:4] in row(widget, 0) + row(widget, 1)
            assert first_words(widget, book) == words
        await pilot.resize_terminal(80, 24)
        await settle(pilot)
        assert screen(widget) == before


async def test_the_end_of_the_book_survives_a_taller_screen() -> None:
    book = Book()
    app = Screen(LongText(book))
    async with app.run_test(size=(80, 10)) as pilot:
        widget = app.long_text
        widget.action_bottom()
        await settle(pilot)
        before = screen(widget)
        await pilot.resize_terminal(80, 40)
        await settle(pilot)
        assert row(widget, 39) == before[9]
        await pilot.resize_terminal(80, 10)
        await settle(pilot)
        assert screen(widget) == before
        assert widget.visible_range is not None
        assert widget.visible_range[1] == len(book.text)


async def test_text_that_opens_above_does_not_move_the_view() -> None:
    book = Book()
    app = Screen(LongText(book))
    async with app.run_test(size=(70, 20)) as pilot:
        widget = app.long_text
        widget.scroll_to_offset(book.starts[100] + 90)
        await settle(pilot)
        before = screen(widget)
        widget.splice(
            40, 1, [Block(WORDS * 9, key=40, style="page"), Block("more " * 50)]
        )
        await settle(pilot)
        assert screen(widget) == before
        widget.splice(10, 20, [])
        await settle(pilot)
        assert screen(widget) == before
        widget.splice(0, 1, [Block("short")])
        await settle(pilot)
        assert screen(widget) == before
        assert first_words(widget, book) == book.text[widget.reading_offset :][:12]


async def test_a_jump_in_three_million_characters_lays_each_paragraph_out_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    laid_out: list[Block] = []
    monkeypatch.setattr(
        "gistread.tui.text.rows.lay_out",
        lambda block, *rest: laid_out.append(block) or lay_out(block, *rest),
    )
    book = Book(10_000)
    assert len(book.text) > 2_900_000
    app = Screen(LongText(book, text_width=66))
    async with app.run_test(size=(100, 40)) as pilot:
        widget = app.long_text
        widget.scroll_to_offset(book.starts[8_000])
        widget.render_lines(widget.region.reset_offset)
        await settle(pilot)
        assert row(widget, 0).strip().startswith("P8000 ")
        assert len(laid_out) < 10_200
