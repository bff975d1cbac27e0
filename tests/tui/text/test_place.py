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


async def test_a_jump_may_leave_rows_above() -> None:
    book = Book()
    app = Screen(LongText(book))
    async with app.run_test(size=(70, 21)):
        app.long_text.scroll_to_offset(book.starts[100], top=0.5)
        assert row(app.long_text, 10).strip().startswith("P100 ")


async def test_a_jump_before_the_first_layout_is_not_lost() -> None:
    book = Book()
    widget = LongText(book)
    widget.scroll_to_offset(book.starts[50])
    async with Screen(widget).run_test(size=(70, 20)) as pilot:
        await settle(pilot)
        assert row(widget, 0).strip().startswith("P50 ")


async def test_another_size_keeps_the_words_at_the_top_and_coming_back_restores_the_view() -> None:
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


async def test_text_width_centres_the_column() -> None:
    app = Screen(LongText(Book(), text_width=40))
    async with app.run_test(size=(101, 20)) as pilot:
        widget = app.long_text
        assert row(widget, 1).startswith(" " * 30 + "P0 ")
        widget.text_width = 60
        await settle(pilot)
        assert row(widget, 1).startswith(" " * 20 + "P0 ")
        assert all(len(line) <= 80 for line in screen(widget))


@pytest.mark.parametrize("width", [1, 2, 3, 4, 5])
async def test_a_terminal_of_a_few_columns_still_scrolls(width: int) -> None:
    blocks = [
        Block("字字 word 👩\u200d👧", indent=4, hanging="11 ▾", rail="╎", tail="(4 w)", key=1),
        Block("", style="break"),
    ]
    app = Screen(LongText(blocks, cursor=True))
    async with app.run_test(size=(width, 3)) as pilot:
        for action in ("page_down", "line_down", "bottom", "half_page_up", "top"):
            await app.long_text.run_action(action)
            await settle(pilot)
        assert app.long_text.row_count > 2


async def test_an_empty_document_is_an_empty_screen() -> None:
    app = Screen(LongText(cursor=True))
    async with app.run_test(size=(30, 5)) as pilot:
        widget = app.long_text
        for action in ("page_down", "bottom", "line_down"):
            await widget.run_action(action)
        await pilot.click(LongText, offset=(3, 2))
        assert widget.reading_offset is None
        assert widget.visible_range is None
        assert widget.cursor_key is None
        assert not any(screen(widget))
        widget.splice(0, 0, [Block("words", key="a")])
        await settle(pilot)
        assert row(widget, 1).strip("▌ ") == "words"
        widget.splice(0, 1, [])
        await settle(pilot)
        assert not any(screen(widget))


async def test_paging_keeps_some_rows_in_view() -> None:
    app = Screen(LongText(Book()))
    async with app.run_test(size=(70, 20)) as pilot:
        widget = app.long_text
        widget.action_line_down(7)
        await settle(pilot)
        before = screen(widget)
        widget.action_page_down()
        await settle(pilot)
        assert screen(widget)[:2] == before[-2:]
        widget.action_page_up()
        await settle(pilot)
        assert screen(widget) == before


async def test_text_that_opens_above_does_not_move_the_view() -> None:
    book = Book()
    app = Screen(LongText(book))
    async with app.run_test(size=(70, 20)) as pilot:
        widget = app.long_text
        widget.scroll_to_offset(book.starts[100] + 90)
        await settle(pilot)
        before = screen(widget)
        widget.splice(40, 1, [Block(WORDS * 9, key=40, style="page"), Block("more " * 50)])
        await settle(pilot)
        assert screen(widget) == before
        widget.splice(10, 20, [])
        await settle(pilot)
        assert screen(widget) == before
        widget.splice(0, 1, [Block("short")])
        await settle(pilot)
        assert screen(widget) == before
        assert first_words(widget, book) == book.text[widget.reading_offset :][:12]


async def test_replacing_the_block_at_the_top_keeps_its_words_there() -> None:
    book = Book()
    app = Screen(LongText(book))
    async with app.run_test(size=(70, 20)) as pilot:
        widget = app.long_text
        offset = book.starts[104] + 150
        widget.scroll_to_offset(offset)
        await settle(pilot)
        top = row(widget, 0)
        block = book[104]
        halves = [
            Block("opened by you", key=104),
            Block(block.text[:100], start=block.start, key=104),
            Block(block.text[100:], start=book.starts[104] + 100, key=104),
        ]
        widget.splice(104, 1, halves)
        await settle(pilot)
        assert widget.reading_offset == offset
        assert set(top.split()[2:5]) & set(row(widget, 0).split())


async def test_another_document_keeps_the_offset() -> None:
    book = Book()
    app = Screen(LongText(book))
    async with app.run_test(size=(70, 20)) as pilot:
        widget = app.long_text
        widget.scroll_to_offset(book.starts[60])
        await settle(pilot)
        widget.show([Block("title page")] * 30 + [book[number] for number in range(len(book))])
        await settle(pilot)
        assert row(widget, 0).strip().startswith("P60 ")
        widget.show(book, keep_position=False)
        await settle(pilot)
        assert row(widget, 1).strip().startswith("P0 ")


async def test_streamed_text_is_followed_only_at_the_end() -> None:
    app = Screen(LongText([Block("word " * 100)], follow=True))
    async with app.run_test(size=(40, 8)) as pilot:
        widget = app.long_text
        widget.action_bottom()
        widget.splice(len(widget._index), 0, [Block("news " * 30 + "last")])
        await settle(pilot)
        assert row(widget, 7).endswith("last")
        widget.splice(1, 1, [Block("news " * 60 + "later")])
        await settle(pilot)
        assert row(widget, 7).endswith("later")
        widget.action_top()
        await settle(pilot)
        widget.splice(len(widget._index), 0, [Block("unseen " * 20)])
        await settle(pilot)
        assert widget.scroll_offset.y == 0


async def test_a_jump_in_three_million_characters_lays_each_paragraph_out_once(monkeypatch: pytest.MonkeyPatch) -> None:
    laid_out: list[Block] = []
    monkeypatch.setattr(
        "gistread.tui.text.rows.lay_out", lambda block, *rest: laid_out.append(block) or lay_out(block, *rest)
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


async def test_later_changes_to_a_shown_list_have_no_effect() -> None:
    blocks = [Block("question"), Block("answer", key="a")]
    app = Screen(LongText())
    async with app.run_test(size=(30, 12)) as pilot:
        app.long_text.show(blocks)
        blocks[1:] = [Block("step one"), Block("step two"), Block("answer")]
        app.long_text.splice(1, 1, blocks[1:])
        await settle(pilot)
        assert [line.strip() for line in screen(app.long_text) if line] == [
            "question",
            "step one",
            "step two",
            "answer",
        ]


async def test_text_added_to_an_empty_view_is_shown_from_its_start() -> None:
    app = Screen(LongText())
    async with app.run_test(size=(30, 5)) as pilot:
        app.long_text.splice(len(app.long_text._index), 0, [Block(f"paragraph {number}") for number in range(20)])
        await settle(pilot)
        assert row(app.long_text, 1).strip() == "paragraph 0"


async def test_nothing_is_laid_out_before_the_first_size() -> None:
    class Counted(Book):
        made = 0

        def __getitem__(self, index: int) -> Block:
            Counted.made += 1
            return super().__getitem__(index)

    widget = LongText(Counted(500))
    widget.show(Counted(1000))
    widget.scroll_to_offset(5000)
    assert widget.reading_offset is None
    assert Counted.made == 0
    async with Screen(widget).run_test(size=(70, 20)):
        assert 1000 <= Counted.made < 1200
