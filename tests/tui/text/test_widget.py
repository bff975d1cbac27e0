"""What a person sees and does: reading, jumping, resizing, clicking, selecting, while text opens around them."""

import time

import pytest
from textual.app import App, ComposeResult
from textual.geometry import Offset
from textual.pilot import Pilot
from textual.selection import Selection

from gistread.tui.text import Block, LongText, Span

WORDS = "It is simply this. That Space, as our mathematicians have it, is spoken of as having three dimensions. "


class Book:
    """Paragraphs of a synthetic book, each with its number in its first word; blocks are made when asked for."""

    def __init__(self, paragraphs: int = 200) -> None:
        self.texts = [f"P{number} {WORDS * (1 + number % 5)}".strip() for number in range(paragraphs)]
        self.starts = [0]
        for text in self.texts:
            self.starts.append(self.starts[-1] + len(text) + 2)
        self.text = "\n\n".join(self.texts)

    def __len__(self) -> int:
        return len(self.texts)

    def __getitem__(self, index: int) -> Block:
        return Block(self.texts[index], key=index, start=self.starts[index])


class Screen(App[None]):
    """One long text on an otherwise empty screen."""

    ENABLE_COMMAND_PALETTE = False

    def __init__(self, long_text: LongText) -> None:
        super().__init__()
        self.long_text = long_text
        self.heard: list[object] = []

    def compose(self) -> ComposeResult:
        yield self.long_text

    def on_long_text_clicked(self, event: LongText.Clicked) -> None:
        self.heard.append(event)

    def on_long_text_offset_changed(self, event: LongText.OffsetChanged) -> None:
        self.heard.append(event)

    def on_long_text_activated(self, event: LongText.Activated) -> None:
        self.heard.append(event)

    def on_long_text_cursor_moved(self, event: LongText.CursorMoved) -> None:
        self.heard.append(event)

    def heard_of(self, kind: type) -> list:  # type: ignore[type-arg]
        return [event for event in self.heard if isinstance(event, kind)]


def row(widget: LongText, y: int) -> str:
    return widget.render_line(y).text.rstrip()


def screen(widget: LongText) -> list[str]:
    return [row(widget, y) for y in range(widget.size.height)]


def first_words(widget: LongText, book: Book, count: int = 12) -> str:
    offset = widget.reading_offset
    assert offset is not None
    return book.text[offset : offset + count]


async def settle(pilot: Pilot[None]) -> None:
    await pilot.pause()
    await pilot.pause()


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
        assert app.heard_of(LongText.OffsetChanged)[-1].offset == book.starts[77]


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
        for action in ("page_down", "bottom", "cursor_down", "activate"):
            await widget.run_action(action)
        await pilot.click(LongText, offset=(3, 2))
        assert widget.reading_offset is None
        assert widget.visible_range is None
        assert widget.cursor_key is None
        assert not any(screen(widget))
        widget.append([Block("words", key="a")])
        await settle(pilot)
        assert row(widget, 1).strip("▌ ") == "words"
        widget.splice(0, 1, [])
        await settle(pilot)
        assert not any(screen(widget))


async def test_a_page_keeps_rows_in_view() -> None:
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
        widget.update_block(0, Block("short"))
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


async def test_what_streams_in_at_the_end_is_followed_only_from_the_end() -> None:
    app = Screen(LongText([Block("word " * 100)], follow=True))
    async with app.run_test(size=(40, 8)) as pilot:
        widget = app.long_text
        widget.action_bottom()
        widget.append([Block("news " * 30 + "last")])
        await settle(pilot)
        assert row(widget, 7).endswith("last")
        widget.update_block(1, Block("news " * 60 + "later"))
        await settle(pilot)
        assert row(widget, 7).endswith("later")
        widget.action_top()
        await settle(pilot)
        widget.append([Block("unseen " * 20)])
        await settle(pilot)
        assert widget.scroll_offset.y == 0


async def test_a_click_names_the_character_and_its_place_in_the_book() -> None:
    app = Screen(LongText([Block("ab字de f", start=1000, key="p", blank_before=0)], side_margin=0))
    async with app.run_test(size=(20, 5)) as pilot:
        expected = [0, 1, 2, 2, 3, 4, 5, 6]
        for x, offset in enumerate(expected):
            await pilot.click(LongText, offset=(x, 0))
            await pilot.pause()
            event = app.heard_of(LongText.Clicked)[-1]
            assert (event.block_key, event.offset_in_block, event.book_offset) == ("p", offset, 1000 + offset)


async def test_a_click_on_a_citation_gives_its_link_and_beside_the_text_no_offset() -> None:
    text = "bent by the landing [11]"
    block = Block(text, key="answer", blank_before=1, indent=4, hanging="A", spans=(Span(20, 24, "link", 11),))
    app = Screen(LongText([block], side_margin=0))
    async with app.run_test(size=(40, 5)) as pilot:
        await pilot.click(LongText, offset=(4 + 21, 1))
        await pilot.pause()
        assert app.heard_of(LongText.Clicked)[-1].link == 11
        await pilot.click(LongText, offset=(0, 1))
        await pilot.pause()
        event = app.heard_of(LongText.Clicked)[-1]
        assert (event.block_key, event.offset_in_block, event.link) == ("answer", None, None)
        count = len(app.heard_of(LongText.Clicked))
        await pilot.click(LongText, offset=(4, 0))
        await pilot.click(LongText, offset=(4, 4))
        await pilot.pause()
        assert len(app.heard_of(LongText.Clicked)) == count


async def test_the_mouse_selects_words_of_the_book_without_margins_and_broken_rows() -> None:
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
        assert not app.heard_of(LongText.Clicked)
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


async def test_a_selection_that_leaves_the_widget_ends_with_what_is_in_view() -> None:
    book = Book()
    app = Screen(LongText(book))
    async with app.run_test(size=(60, 20)) as pilot:
        await settle(pilot)
        picked = app.long_text.get_selection(Selection(Offset(0, 1), None))
        assert picked is not None
        assert len(picked[0]) < 60 * 20
        whole = app.long_text.get_selection(Selection(None, None))
        assert whole is not None
        assert whole[0] == book.text


async def test_the_cursor_goes_from_key_to_key_and_stays_in_view() -> None:
    blocks = [
        Block("MEMORY"),
        *(
            Block(f"gist {number // 2} " * 12, key=number // 2, hanging=f"{number // 2:>2}", indent=4)
            for number in range(40)
        ),
    ]
    app = Screen(LongText(blocks, cursor=True, side_margin=0))
    async with app.run_test(size=(40, 12)) as pilot:
        widget = app.long_text
        assert widget.cursor_key == 0
        for expected in (1, 2, 3, 4):
            widget.move_cursor(1)
            await settle(pilot)
            assert widget.cursor_key == expected
            marked = [line for line in screen(widget) if line.startswith("▌")]
            assert marked
            assert any(f"gist {expected}" in line for line in marked)
            assert not any("gist" in line and f"gist {expected}" not in line for line in marked)
        widget.action_activate()
        await settle(pilot)
        assert app.heard_of(LongText.Activated)[-1].key == 4
        assert [event.key for event in app.heard_of(LongText.CursorMoved)] == [1, 2, 3, 4]
        widget.splice(1, 2, [Block("new", key="new")])
        await settle(pilot)
        assert widget.cursor_key == 4
        widget.move_cursor(-1)
        assert widget.cursor_key == 3
        widget.move_cursor(-10)
        assert widget.cursor_key == "new"


async def test_after_paging_away_the_cursor_comes_back_into_view_first() -> None:
    app = Screen(LongText([Block(f"gist {number}", key=number) for number in range(60)], cursor=True))
    async with app.run_test(size=(40, 10)) as pilot:
        widget = app.long_text
        widget.action_page_down()
        widget.action_page_down()
        await settle(pilot)
        widget.move_cursor(1)
        await settle(pilot)
        assert 0 <= next(y for y, line in enumerate(screen(widget)) if "▌" in line) < 10
        assert widget.cursor_key == 8


async def test_a_key_comes_into_view_with_the_least_movement() -> None:
    app = Screen(LongText([Block(f"gist {number}", key=number) for number in range(60)]))
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


async def test_marks_change_the_style_of_a_range_and_go_again() -> None:
    app = Screen(LongText([Block("never mind the gap", start=100, blank_before=0)], side_margin=0))
    async with app.run_test(size=(40, 5)) as pilot:
        widget = app.long_text

        def underlined() -> str:
            return "".join(s.text for s in widget.render_line(0) if s.style is not None and s.style.underline)

        assert underlined() == ""
        widget.mark(106, 110, "hit")
        assert underlined() == "mind"
        widget.marks = [(111, 114, "hit")]
        assert underlined() == "the"
        widget.mark(115, 118, "cited", seconds=0.05)
        assert underlined() == "thegap"
        await pilot.pause(0.2)
        assert underlined() == "the"
        widget.unmark()
        assert underlined() == ""


async def test_nothing_in_a_text_is_markup_or_reaches_the_terminal_as_a_control() -> None:
    text = "[bold]not bold[/bold] \x1b[31mred\x07\x9b2J \ud800 end"
    app = Screen(LongText([Block(text, hanging="\x1b[1m", tail="\x07[b]", rail="\x08", indent=6)]))
    async with app.run_test(size=(80, 6)):
        shown = "\n".join(screen(app.long_text))
        assert "[bold]not bold[/bold]" in shown
        assert not any(ord(character) < 32 or 0x7F <= ord(character) < 0xA0 for character in shown.replace("\n", ""))
        shown.encode("utf-8")


async def test_a_label_a_rail_and_a_tail_stand_where_the_sketch_has_them() -> None:
    blocks = [
        Block("one two three four five", key=10, hanging="10", indent=4, tail="← you", blank_before=0),
        Block("opened by you", key=11, hanging="11 ▾", indent=4),
        Block("inside the page", key=11, rail="   ╎", indent=1, tail="(3 w)", blank_before=1),
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


async def test_an_unknown_style_is_drawn_as_text() -> None:
    app = Screen(LongText([Block("words", style="nonsense", spans=(Span(0, 2, "nonsense too"),))]))
    async with app.run_test(size=(20, 4)):
        assert row(app.long_text, 1).strip() == "words"


async def test_a_short_text_takes_only_its_rows_where_the_height_is_auto() -> None:
    app = Screen(LongText([Block("a few words that take two rows", blank_before=0)], side_margin=0))
    async with app.run_test(size=(21, 10)) as pilot:
        app.long_text.styles.height = "auto"
        await settle(pilot)
        assert app.long_text.size.height == 2
        app.long_text.append([Block("more")])
        await settle(pilot)
        assert app.long_text.size.height == 4


async def test_another_theme_restyles_what_was_drawn() -> None:
    app = Screen(LongText([Block("Chapter", style="heading", level=1)]))
    async with app.run_test(size=(20, 4)) as pilot:

        def colour() -> object:
            return next(s.style.color for s in app.long_text.render_line(1) if "Chapter" in s.text)

        before = colour()
        app.theme = "textual-light"
        await settle(pilot)
        assert colour() != before


async def test_a_book_of_three_million_characters_opens_and_jumps_at_once() -> None:
    book = Book(10_000)
    assert len(book.text) > 2_900_000
    app = Screen(LongText(book, text_width=66))
    async with app.run_test(size=(100, 40)) as pilot:
        widget = app.long_text
        start = time.process_time()
        widget.show(book)
        assert time.process_time() - start < 2
        start = time.process_time()
        widget.scroll_to_offset(book.starts[8_000])
        widget.render_lines(widget.region.reset_offset)
        assert time.process_time() - start < 0.2
        await settle(pilot)
        assert row(widget, 0).strip().startswith("P8000 ")


async def test_a_paragraph_of_a_megabyte_without_a_space_is_shown() -> None:
    app = Screen(LongText([Block("字" * 1_000_000, start=0)]))
    async with app.run_test(size=(80, 24)) as pilot:
        app.long_text.scroll_to_offset(500_000)
        await settle(pilot)
        assert row(app.long_text, 3).strip() == "字" * 37


async def test_padding_and_border_take_nothing_from_the_text() -> None:
    class Framed(Screen):
        CSS = "LongText { padding: 1 2; border: solid red; }"

    app = Framed(LongText([Block("x" * 500 + "END", key=1)], side_margin=0))
    async with app.run_test(size=(40, 12)) as pilot:
        app.long_text.action_bottom()
        await settle(pilot)
        shown = [strip.text[3:-4] for strip in app.screen._compositor.render_strips()]
        assert shown[2] == "x" * 33
        assert shown[9].rstrip().endswith("END")
        await pilot.click(LongText, offset=(3, 9))
        await pilot.pause()
        assert app.heard_of(LongText.Clicked)[-1].offset_in_block == 500 - 500 % 33


async def test_the_owner_may_keep_changing_the_list_that_was_shown() -> None:
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


async def test_a_cursor_whose_block_goes_stays_near() -> None:
    app = Screen(LongText([Block(f"gist {number}", key=number) for number in range(30)], cursor=True))
    async with app.run_test(size=(40, 10)) as pilot:
        widget = app.long_text
        widget.set_cursor(29)
        await settle(pilot)
        widget.splice(29, 1, [Block("gist", key="thirty"), Block("rest", key="rest")])
        assert widget.cursor_key == "thirty"
        widget.splice(5, 26, [])
        assert widget.cursor_key == 4
        widget.splice(0, 5, [])
        assert widget.cursor_key is None


async def test_a_cursor_in_view_stays_in_view_when_the_screen_shrinks() -> None:
    app = Screen(LongText([Block(f"gist {number} " * 9, key=number) for number in range(30)], cursor=True))
    async with app.run_test(size=(120, 40)) as pilot:
        widget = app.long_text
        widget.set_cursor(12)
        await settle(pilot)
        await pilot.resize_terminal(40, 10)
        await settle(pilot)
        assert any("▌" in line and "gist 12" in line for line in screen(widget))


async def test_what_is_written_into_an_empty_text_is_seen_from_its_beginning() -> None:
    app = Screen(LongText())
    async with app.run_test(size=(30, 5)) as pilot:
        app.long_text.append([Block(f"paragraph {number}") for number in range(20)])
        await settle(pilot)
        assert row(app.long_text, 1).strip() == "paragraph 0"


async def test_nothing_is_measured_before_there_is_a_size() -> None:
    class Counted(Book):
        made = 0

        def __getitem__(self, index: int) -> Block:
            Counted.made += 1
            return super().__getitem__(index)

    widget = LongText(Counted(500))
    widget.show(Counted(1000))
    widget.scroll_to_offset(5000)
    assert widget.reading_offset is None
    assert widget.block_at(0) is None
    assert Counted.made == 0
    async with Screen(widget).run_test(size=(70, 20)):
        assert 1000 <= Counted.made < 1200
