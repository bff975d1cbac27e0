"""The memory pane: pages, their states, opening, pinning, following."""

import asyncio
import re
from collections.abc import AsyncGenerator
from dataclasses import replace
from pathlib import Path

import pytest

from gistread.engine.protocol import (
    GREEDY,
    NO_USAGE,
    Completion,
    Priority,
    Prompt,
    Sampling,
    StreamEvent,
    TextDelta,
)
from gistread.prompts import TRAINED
from gistread.store.model import BoundChoice
from gistread.store.user_data import UserData
from gistread.tui.app import GistreadApp
from gistread.tui.memory_blocks import TAIL, SectionNote, key_of
from gistread.tui.memory_rows import RowKind
from gistread.tui.reading.pane_switcher import Pane
from gistread.tui.screens.reading import ReadingScreen
from tests.tui.books import long_book, small_book
from tests.tui.scripted import (
    SteppedEngine,
    app_on,
    lines,
    opened,
    paths_in,
    read_whole,
    text_of,
    until,
    until_gone,
    until_read,
    until_shown,
)

WIDE = (130, 44)
TO_COME = re.compile("ahead of you|not read yet")


def gists(text: str) -> str:
    """A gist that passes the guard whatever the page is: words of the page itself."""
    return "The lamp and the boy are spoken of."


async def test_pages_appear_as_they_are_read_and_the_rest_is_marked_unread(
    tmp_path: Path,
) -> None:
    engine = SteppedEngine(says=gists)
    engine.gate.clear()
    app = app_on(small_book(), tmp_path, engine)
    async with app.run_test(size=WIDE) as pilot:
        screen = await opened(pilot)
        await until_shown(pilot, "being read")
        assert TO_COME.search(text_of(app))
        assert "Reading along" in text_of(app)
        engine.gate.set()
        await until_read(pilot, screen)
        pages = len(screen.memory_pane.memory.entries)
        await until_shown(pilot, f"Memory   {pages} sections")


async def test_the_header_says_what_stands_in_place_of_the_starters_quotations(
    tmp_path: Path,
) -> None:
    engine = SteppedEngine(says=gists)
    engine._info = replace(engine.info, wording=TRAINED)
    app = app_on(small_book(), tmp_path, engine)
    async with app.run_test(size=WIDE) as pilot:
        screen = await opened(pilot)
        await until_read(pilot, screen)
        await until(
            pilot,
            lambda: re.search(r"Memory +\d+ sections · who comes in", text_of(app)),
        )


class Writing(SteppedEngine):
    """Writes a gist word by word, waiting in the middle until `go_on` is set."""

    def __init__(self, drafts: list[str]) -> None:
        super().__init__()
        self.drafts = drafts
        self.go_on = asyncio.Event()

    async def stream(
        self,
        prompt: Prompt,
        sampling: Sampling = GREEDY,
        priority: Priority = Priority.INTERACTIVE,
    ) -> AsyncGenerator[StreamEvent]:
        words = (draft := self.drafts.pop(0)).split()
        for at, word in enumerate(words):
            if at == len(words) // 2:
                await self.go_on.wait()
                self.go_on.clear()
            yield TextDelta(f"{word} ")
        yield Completion(draft, "end", NO_USAGE)


async def test_a_gist_appears_in_its_card_while_it_is_written_and_a_rejected_one_leaves_its_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Textual loses a timer that begins late.
    monkeypatch.setattr(ReadingScreen, "set_timer", lambda *_: None)
    shown = "Somebody lights the lamp there at dusk and midnight, nightly"
    rejected = f"{shown} so I cannot help with that because I am here"
    engine = Writing(
        [
            rejected,
            "The lamp and the boy are spoken of here.",
            *["The lamp is lit by Anna."] * 20,
        ]
    )
    app = app_on(small_book(), tmp_path, engine)
    async with app.run_test(size=WIDE) as pilot:
        screen = await opened(pilot)
        await until_shown(pilot, "midnight, …")
        assert TO_COME.search(text_of(app))
        below = next(row for row, line in enumerate(lines(app)) if TO_COME.search(line))
        engine.go_on.set()
        await until_shown(pilot, "The lamp and …")
        assert "Somebody lights" not in text_of(app)
        assert TO_COME.search(lines(app)[below])
        engine.go_on.set()
        await until_shown(pilot, "are spoken of here.")
        written = [entry.gist.text for entry in screen.memory_pane.memory.entries]
        assert "The lamp and the boy are spoken of here." in written


async def test_a_note_on_the_section_being_read_has_no_empty_rows(
    tmp_path: Path,
) -> None:
    engine = SteppedEngine(says=gists)
    engine.gate.clear()
    app = app_on(small_book(), tmp_path, engine)
    async with app.run_test(size=WIDE) as pilot:
        screen = await opened(pilot)
        await until_shown(pilot, "being read")
        pane = screen.memory_pane
        (number,) = (row.first for row in pane.rows() if row.kind is RowKind.BEING_READ)
        pane.show_note(
            SectionNote(number, f"wanted, because it has “{'boy ' * 30}”", "keys")
        )
        reason, keys = (block for block in pane.blocks if block.style == TAIL)
        assert "\n" not in reason.text
        assert keys.text == "keys"


async def test_the_current_page_is_marked(tmp_path: Path) -> None:
    app = app_on(long_book(40), tmp_path, SteppedEngine(says=gists))
    async with app.run_test(size=WIDE) as pilot:
        screen = await read_whole(pilot)
        assert screen.memory_pane.view.here == 1
        assert "▌" in text_of(app)
        await pilot.press("]", "]", "]")
        await until(pilot, lambda: screen.memory_pane.view.here != 1)
        await pilot.press("enter")
        page = screen.memory_pane.memory.page_at(screen.book_pane.place)
        assert screen.memory_pane.view.here == page.number
        await until_shown(pilot, "▌")


async def test_the_source_of_a_gist_is_described(tmp_path: Path) -> None:
    app = app_on(
        small_book(), tmp_path, SteppedEngine(says=lambda _: "I cannot help with that.")
    )
    async with app.run_test(size=WIDE) as pilot:
        await read_whole(pilot)
        await until_shown(pilot, "no gist")


async def test_a_page_opens_and_closes_inline_by_key_and_by_mouse(
    tmp_path: Path,
) -> None:
    app = app_on(small_book(), tmp_path, SteppedEngine(says=gists))
    async with app.run_test(size=WIDE) as pilot:
        screen = await read_whole(pilot)
        await pilot.press("tab", "enter")
        await until_shown(pilot, "opened by you")
        assert "end of section 1" in text_of(app)
        await pilot.press("enter")
        await until_gone(pilot, "opened by you")
        row = next(row for row, line in enumerate(lines(app)) if " 2 " in line[70:90])
        await pilot.click(offset=(100, row))
        await until(pilot, lambda: 2 in screen.memory_pane.view.opened)


async def test_pages_are_pinned_and_lead_to_the_book(tmp_path: Path) -> None:
    app = app_on(long_book(40), tmp_path, SteppedEngine(says=gists))
    async with app.run_test(size=WIDE) as pilot:
        screen = await read_whole(pilot)
        await pilot.press("tab", "down", "down", "p")
        await until_shown(pilot, "◆ pinned")
        assert screen.memory_pane.view.pinned == {3}
        await pilot.press("o")
        await until(pilot, lambda: screen.panes.current is Pane.BOOK)
        assert screen.book_pane.place == screen.memory_pane.memory.entry(3).page.start
        await pilot.press("backspace")
        await pilot.press("p")
        await until(pilot, lambda: len(screen.memory_pane.view.pinned) != 1)


async def test_the_memory_moves_the_book(tmp_path: Path) -> None:
    app = app_on(long_book(40), tmp_path, SteppedEngine(says=gists))
    async with app.run_test(size=WIDE) as pilot:
        screen = await read_whole(pilot)
        await pilot.press("tab", "down", "down")
        third = screen.memory_pane.memory.entry(3).page
        await until(pilot, lambda: screen.book_pane.place == third.start)


async def test_a_complete_memory_is_shown_without_a_model(tmp_path: Path) -> None:
    app = app_on(small_book(), tmp_path, SteppedEngine(says=gists))
    async with app.run_test(size=WIDE) as pilot:
        await read_whole(pilot)
        await pilot.press("q")
    again = app_on(small_book(), tmp_path)
    async with again.run_test(size=WIDE) as pilot:
        await until(
            pilot, lambda: "The lamp and the boy are spoken of." in text_of(again)
        )


async def test_reading_is_paused_and_resumed_by_key(tmp_path: Path) -> None:
    engine = SteppedEngine(says=gists)
    engine.stop_after = 9
    app = app_on(long_book(40), tmp_path, engine)
    async with app.run_test(size=WIDE) as pilot:
        screen = await opened(pilot)
        await until(pilot, lambda: not engine.gate.is_set())
        await pilot.press("escape", "escape")
        assert screen.session.busy
        await pilot.press("r")
        await until_shown(pilot, "Paused · ")
        count = len(screen.memory_pane.memory.entries)
        engine.gate.set()
        await pilot.pause(0.2)
        assert len(screen.memory_pane.memory.entries) == count
        await pilot.press("r")
        await until(pilot, lambda: len(screen.memory_pane.memory.entries) > count)


async def test_the_loading_of_a_model_is_shown_and_can_be_stopped(
    tmp_path: Path,
) -> None:
    engine = SteppedEngine()
    engine.load_gate.clear()
    app = app_on(small_book(), tmp_path, engine)
    async with app.run_test(size=WIDE) as pilot:
        await opened(pilot)
        await until_shown(pilot, "Loading the model 40%")
        await pilot.press("r")
        await until_shown(pilot, "Paused while loading")
        engine.load_gate.set()
        await pilot.press("r")
        await until_shown(pilot, "memory is complete")


async def test_an_engine_failure_is_one_line_and_a_key_resumes(tmp_path: Path) -> None:
    from gistread.errors import EngineError

    failing = [True]

    def says(text: str) -> str | Exception:
        if failing[0]:
            return EngineError("The model ended twice.", "Choose another with m.")
        return gists(text)

    app = app_on(small_book(), tmp_path, SteppedEngine(says=says))
    async with app.run_test(size=WIDE) as pilot:
        await opened(pilot)
        await until_shown(pilot, "Stopped: The model ended twice")
        await pilot.press("space")
        failing[0] = False
        await pilot.press("r")
        await until_shown(pilot, "memory is complete")


def begun_in_the_middle(tmp_path: Path) -> tuple[GistreadApp, SteppedEngine]:
    """A long book opened at chapter 8. The engine stops after four gists."""
    engine = SteppedEngine(says=gists)
    engine.stop_after = 4
    book = long_book(40)
    UserData(paths_in(tmp_path)).set_position(book.sha256, book.chapters[7].start)
    return app_on(book, tmp_path, engine), engine


async def test_sections_after_a_gap_are_numbered_and_keep_what_was_done_with_them(
    tmp_path: Path,
) -> None:
    app, engine = begun_in_the_middle(tmp_path)
    async with app.run_test(size=WIDE) as pilot:
        screen = await opened(pilot)
        pane = screen.memory_pane
        await engine.stopped.wait()
        await until(pilot, lambda: pane.memory and len(pane.memory.read_entries) > 2)
        await until_shown(pilot, "Chapter 8 ───")
        assert RowKind.UNREAD in {row.kind for row in pane.rows()}
        section = pane.memory.read_entries[-2].page
        assert section.number > 2
        pane.toggle_pin(section.number)
        engine.gate.set()
        with app.batch_update():
            await until_read(pilot, screen)
        await until(
            pilot, lambda: RowKind.UNREAD not in {row.kind for row in pane.rows()}
        )
        (pinned,) = pane.view.pinned
        assert pane.memory.entry(pinned).page.start == section.start


async def test_the_cursor_stays_on_its_section_when_others_come_before_it(
    tmp_path: Path,
) -> None:
    app = app_on(small_book(), tmp_path, SteppedEngine(says=gists))
    async with app.run_test(size=WIDE) as pilot:
        screen = await read_whole(pilot)
        pane = screen.memory_pane
        await until(pilot, lambda: pane.cursor_key is not None)  # On the user's place
        pane.set_cursor(("page", 4))
        first, *others = pane.memory.entries
        middle = (first.page.start + first.page.end) // 2
        halves = [
            replace(first, page=replace(first.page, end=middle)),
            replace(first, page=replace(first.page, number=2, start=middle)),
        ]
        later = [
            replace(entry, page=replace(entry.page, number=entry.page.number + 1))
            for entry in others
        ]
        pane.memory.entries[:] = halves + later
        pane.show_reading(begun=None, draft="", reading=False)
        assert pane.cursor_key == ("page", 5)


async def test_what_is_unread_between_leads_to_the_book(tmp_path: Path) -> None:
    app, engine = begun_in_the_middle(tmp_path)
    async with app.run_test(size=WIDE) as pilot:
        screen = await opened(pilot)
        pane = screen.memory_pane
        await engine.stopped.wait()
        await until(pilot, lambda: RowKind.UNREAD in {row.kind for row in pane.rows()})
        gap = next(row for row in pane.rows() if row.kind is RowKind.UNREAD)
        await pilot.press("tab")  # It puts the cursor on the user's place.
        pane.set_cursor(("rest", gap.first))
        await pilot.press("enter")
        start = pane.memory.entry(gap.first).page.start
        await until(pilot, lambda: screen.book_pane.place == start)


async def test_what_is_unread_to_the_end_leads_to_the_book(tmp_path: Path) -> None:
    app, engine = begun_in_the_middle(tmp_path)
    async with app.run_test(size=WIDE) as pilot:
        screen = await opened(pilot)
        pane = screen.memory_pane
        await engine.stopped.wait()
        await until(pilot, lambda: pane.memory and len(pane.memory.read_entries) > 2)
        assert pane.memory
        await until(pilot, lambda: key_of(pane.rows()[-1])[0] == "rest")
        rest = pane.rows()[-1]
        assert screen.book_pane.place < pane.memory.read_until
        assert rest.first > len(pane.memory.entries)
        await pilot.press("tab")  # It puts the cursor on the user's place.
        pane.set_cursor(("rest", rest.first))
        await pilot.press("enter")
        read_until = pane.memory.read_until
        await until(pilot, lambda: screen.book_pane.place >= read_until)


async def test_the_pane_follows_the_place_after_a_gap(tmp_path: Path) -> None:
    app, engine = begun_in_the_middle(tmp_path)
    async with app.run_test(size=(120, 14)) as pilot:
        screen = await opened(pilot)
        pane = screen.memory_pane
        await engine.stopped.wait()
        await until(pilot, lambda: pane.memory and len(pane.memory.read_entries) > 3)
        screen.controllers.line.choose_bound(BoundChoice(whole=True))
        pane.set_here(pane.memory.read_entries[-1].page.start, scroll=True)
        await until(pilot, lambda: pane.scroll_offset.y > 0)


def gist_row(screen: ReadingScreen) -> int:
    """The row of the screen where the gist of the section in view begins."""
    pane = screen.memory_pane
    block = pane._index.find_key(("page", pane.view.here))
    assert block is not None
    first = pane._index.first_row(block)
    return pane.content_region.y + first - pane.scroll_offset.y


def section_row(screen: ReadingScreen) -> int:
    """The row of the screen where the section in view begins.

    The first one of the memory if it begins above.
    """
    book, pane = screen.book_pane, screen.memory_pane
    assert pane.view.here is not None
    start = pane.memory.entry(pane.view.here).page.start
    return max(pane.content_region.y, book.content_region.y + book.row_in_view(start))


async def test_the_gist_in_view_is_level_with_its_section_also_where_the_rest_is_ahead(
    tmp_path: Path,
) -> None:
    engine = SteppedEngine(
        says=lambda _: "The lamp and the boy are spoken of, as they were. " * 8
    )
    app = app_on(long_book(), tmp_path, engine)
    async with app.run_test(size=(130, 44)) as pilot:
        screen = await read_whole(pilot)
        for _ in range(4):
            before = screen.memory_pane.view.here
            await pilot.press("space")
            await until(
                pilot, lambda before=before: screen.memory_pane.view.here != before
            )
            # A chapter's title may stand between
            assert abs(gist_row(screen) - section_row(screen)) <= 3
        assert TO_COME.search(text_of(app))
        await pilot.press("q")
    again = app_on(long_book(), tmp_path)
    async with again.run_test(size=(130, 44)) as pilot:
        screen = await opened(pilot)
        await until(
            pilot,
            lambda: screen.memory_pane.view.here and TO_COME.search(text_of(again)),
        )
        await until(pilot, lambda: abs(gist_row(screen) - section_row(screen)) <= 3)


async def test_a_gist_keeps_clear_of_the_header_and_of_the_edge_of_its_tint(
    tmp_path: Path,
) -> None:
    engine = SteppedEngine(
        says=lambda _: "The lamp and the boy are spoken of, as they were. " * 8
    )
    app = app_on(long_book(), tmp_path, engine)
    async with app.run_test(size=(120, 36)) as pilot:
        screen = await read_whole(pilot)
        pane = screen.memory_pane
        screen.controllers.line.choose_bound(BoundChoice(whole=True))
        await pilot.press("space", "space")
        await until(pilot, lambda: pane.scroll_offset.y > 0)
        pane.action_line_down(2)  # The gist in view is cut at the top.
        await pilot.pause()
        x, y, width, _ = pane.content_region
        header, above = (lines(app)[row][x : x + width] for row in (y - 2, y - 1))
        assert "Memory" in header
        assert not above.strip()
        cells = [
            segment.style.bgcolor
            for segment in pane.render_line(0)
            for _ in segment.text
        ]
        edge = pane._left_margin + pane.gutter_cells + pane.row_width
        assert (
            cells[edge]
            == cells[edge - 1]
            != cells[edge + 1 if edge + 1 < len(cells) else 0]
        )
