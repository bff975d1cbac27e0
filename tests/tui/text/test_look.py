"""Drawing of text: marks, labels, styles, themes, and safety of the terminal."""

import pytest

from gistread.tui.text import Block, LongText, Mark
from tests.tui.text.scene import Screen, row, screen, settle


async def test_marks_style_a_range_and_can_be_removed() -> None:
    app = Screen(
        LongText(
            [Block("never mind the gap", start=100, blank_before=0)], side_margin=0
        )
    )
    async with app.run_test(size=(40, 5)):
        widget = app.long_text

        def underlined() -> str:
            return "".join(
                s.text
                for s in widget.render_line(0)
                if s.style is not None and s.style.underline
            )

        assert underlined() == ""
        widget.marks = (Mark(106, 110, "hit"),)
        assert underlined() == "mind"
        widget.marks = (Mark(111, 114, "hit"), Mark(115, 118, "cited"))
        assert underlined() == "thegap"
        widget.marks = ()
        assert underlined() == ""


async def test_nothing_in_a_text_is_markup_or_reaches_the_terminal_as_a_control() -> (
    None
):
    text = "[bold]not bold[/bold] \x1b[31mred\x07\x9b2J \ud800 end"
    app = Screen(
        LongText(
            [Block(text, hanging="\x1b[1m", tail="\x07[b]", rail="\x08", indent=6)]
        )
    )
    async with app.run_test(size=(80, 6)):
        shown = "\n".join(screen(app.long_text))
        assert "[bold]not bold[/bold]" in shown
        assert not any(
            ord(character) < 32 or 0x7F <= ord(character) < 0xA0
            for character in shown.replace("\n", "")
        )
        shown.encode("utf-8")


async def test_label_rail_and_tail_have_their_places() -> None:
    blocks = [
        Block(
            "one two three four five",
            key=10,
            hanging="10",
            indent=4,
            tail="← you",
            blank_before=0,
        ),
        Block("opened by you", key=11, hanging="11 ▾", indent=4),
        Block(
            "inside the page",
            key=11,
            rail="   ╎",
            indent=1,
            tail="(3 w)",
            blank_before=1,
        ),
    ]
    app = Screen(LongText(blocks, cursor=True, side_margin=0))
    async with app.run_test(size=(32, 9)) as pilot:
        app.long_text.set_cursor(11)
        await settle(pilot)
        assert [line.rstrip() for line in screen(app.long_text)] == [
            " 10  one two three four five",
            "                          ← you",
            "",
            "▌11 ▾ opened by you",
            "▌   ╎",
            "▌   ╎ inside the page     (3 w)",
            "",
            "",
            "",
        ]


@pytest.mark.drawn
async def test_only_the_rows_of_a_block_that_keeps_its_height_are_drawn_again() -> None:
    app = Screen(
        LongText([Block(f"block {number}", key=number) for number in range(8)])
    )
    async with app.run_test(size=(20, 16)) as pilot:
        await settle(pilot)
        drawn: list[int] = []
        render_line = app.long_text.render_line
        app.long_text.render_line = lambda y: (drawn.append(y), render_line(y))[1]
        app.long_text.splice(2, 1, [Block("changed", key=2)])
        await settle(pilot)
        assert set(drawn) == {4, 5, 6, 7}
        assert row(app.long_text, 5).strip() == "changed"


async def test_another_theme_restyles_what_was_drawn() -> None:
    app = Screen(LongText([Block("Chapter", style="heading", level=1)]))
    async with app.run_test(size=(20, 4)) as pilot:

        def colour() -> object:
            return next(
                s.style.color
                for s in app.long_text.render_line(1)
                if "Chapter" in s.text
            )

        before = colour()
        app.theme = "textual-light"
        await settle(pilot)
        assert colour() != before
