"""Clicks, selections and the block cursor."""

import re

from gistread.tui.text import Block, Clicked, LongText, Span
from tests.tui.text.scene import Book, Screen, row, screen, settle


async def test_a_click_names_the_character_and_its_place_in_the_book() -> None:
    app = Screen(
        LongText(
            [Block("ab字de f", start=1000, key="p", blank_before=0)], side_margin=0
        )
    )
    async with app.run_test(size=(20, 5)) as pilot:
        expected = [0, 1, 2, 2, 3, 4, 5, 6]
        for x, offset in enumerate(expected):
            await pilot.click(LongText, offset=(x, 0))
            await pilot.pause()
            event = app.heard_of(Clicked)[-1]
            assert (event.block_key, event.offset_in_block, event.book_offset) == (
                "p",
                offset,
                1000 + offset,
            )


async def test_a_click_on_a_citation_gives_its_link_and_beside_the_text_no_offset() -> (
    None
):
    text = "bent by the landing [11]"
    block = Block(
        text,
        key="answer",
        blank_before=1,
        indent=4,
        hanging="A",
        spans=(Span(20, 24, "link", 11),),
    )
    app = Screen(LongText([block], side_margin=0))
    async with app.run_test(size=(40, 5)) as pilot:
        await pilot.click(LongText, offset=(4 + 21, 1))
        await pilot.pause()
        assert app.heard_of(Clicked)[-1].link == 11
        await pilot.click(LongText, offset=(0, 1))
        await pilot.pause()
        event = app.heard_of(Clicked)[-1]
        assert (event.block_key, event.offset_in_block, event.link) == (
            "answer",
            None,
            None,
        )
        count = len(app.heard_of(Clicked))
        await pilot.click(LongText, offset=(4, 0))  # An empty row.
        await pilot.click(LongText, offset=(4, 4))
        await pilot.pause()
        assert [event.offset_in_block for event in app.heard_of(Clicked)[count:]] == [
            None
        ]


async def test_the_mouse_selects_words_of_the_book_without_margins_and_broken_rows() -> (
    None
):
    book = Book()
    app = Screen(LongText(book, text_width=30))
    async with app.run_test(size=(60, 20)) as pilot:
        widget = app.long_text
        await pilot.mouse_down(LongText, offset=(14, 1))
        await pilot.hover(LongText, offset=(20, 8))
        await pilot.mouse_up(LongText, offset=(20, 8))
        await pilot.pause()
        selected = app.screen.get_selected_text()
        assert selected is not None
        assert selected in book.text
        assert "\n\n" in selected
        assert not app.heard_of(Clicked)
        drawn = [segment for segment in widget.render_line(3) if segment.text.strip()]
        assert drawn[0].style is not None
        assert drawn[0].style.bgcolor != widget.rich_style.bgcolor
        assert drawn[0].style.color == widget.rich_style.color
        await pilot.resize_terminal(45, 30)
        await settle(pilot)
        assert app.screen.get_selected_text() == selected
        widget.splice(0, 0, [Block("above")])
        await settle(pilot)
        assert app.screen.get_selected_text() == selected


async def test_two_clicks_select_a_word_and_three_the_paragraph() -> None:
    book = Book()
    app = Screen(LongText(book, side_margin=0))
    async with app.run_test(size=(80, 20)) as pilot:
        await pilot.double_click(LongText, offset=(10, 1))
        await pilot.pause()
        assert app.screen.get_selected_text() == "simply"
        await pilot.triple_click(LongText, offset=(30, 1))
        await pilot.pause()
        assert app.screen.get_selected_text() == book.texts[0]


def gists() -> LongText:
    """A title, and twenty gists of two blocks each."""
    blocks = [Block("MEMORY")]
    for gist in range(20):
        block = Block(f"gist {gist} " * 12, key=gist, hanging=f"{gist:>2}", indent=4)
        blocks += [block, block]
    return LongText(blocks, cursor=True, side_margin=0)


async def test_the_cursor_goes_from_key_to_key_and_stays_in_view() -> None:
    app = Screen(gists())
    async with app.run_test(size=(40, 12)) as pilot:
        widget = app.long_text
        assert widget.cursor_key == 0
        for expected in (1, 2, 3, 4):
            widget.move_cursor(1)
            await settle(pilot)
            assert widget.cursor_key == expected
            marked = [line for line in screen(widget) if line.startswith("▌")]
            named = {
                int(gist) for line in marked for gist in re.findall(r"gist (\d+)", line)
            }
            assert named == {expected}


async def test_the_cursor_stays_on_its_key_when_blocks_change() -> None:
    app = Screen(gists())
    async with app.run_test(size=(40, 12)) as pilot:
        widget = app.long_text
        widget.move_cursor(4)
        await settle(pilot)
        assert widget.cursor_key == 4
        widget.splice(1, 2, [Block("new", key="new")])
        await settle(pilot)
        assert widget.cursor_key == 4
        widget.move_cursor(-1)
        assert widget.cursor_key == 3
        widget.move_cursor(-10)
        assert widget.cursor_key == "new"


async def test_a_key_comes_into_view_with_the_least_movement() -> None:
    app = Screen(
        LongText([Block(f"gist {number}", key=number) for number in range(60)])
    )
    async with app.run_test(size=(40, 10)) as pilot:
        widget = app.long_text
        assert widget.scroll_to_key(3)
        assert widget.scroll_offset.y == 0
        widget.scroll_to_key(20)
        await settle(pilot)
        assert row(widget, 9).strip() == "gist 20"
        widget.scroll_to_key(2)
        await settle(pilot)
        assert row(widget, 0).strip() == "gist 2"
        widget.scroll_to_key(30, top=0.0)
        await settle(pilot)
        assert row(widget, 0).strip() == "gist 30"
        assert not widget.scroll_to_key("unknown")
