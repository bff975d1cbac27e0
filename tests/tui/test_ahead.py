"""Gists of what lies ahead of the user are not shown until they are asked for."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from gistread.memory.front_matter import StoryPart
from gistread.memory.gaps import GapFiller
from gistread.memory.model import GistMemory, Page
from gistread.tui.memory_blocks import AHEAD, UNFINISHED, View, entry_blocks, row_blocks
from gistread.tui.memory_rows import MemoryRow, PlaceInMemory, RowKind, memory_rows
from tests.readers.memories import make_memory
from tests.tui.books import long_book
from tests.tui.scripted import (
    SteppedEngine,
    app_on,
    read_whole,
    text_of,
    until,
    until_shown,
)

WIDE = (150, 60)


Row = tuple[RowKind, int, int]


def rows(memory: GistMemory, **place: Any) -> list[Row]:
    return [
        (row.kind, row.first, row.last)
        for row in memory_rows(memory, PlaceInMemory(**place))
    ]


def gists(first: int, last: int) -> list[Row]:
    return [(RowKind.GIST, number, number) for number in range(first, last + 1)]


def test_sections_ahead_are_one_line() -> None:
    memory = make_memory()
    third = memory.entry(3).page
    end = memory.last_word_end(third)
    assert rows(memory, bound=end) == [*gists(1, 3), (RowKind.AHEAD, 4, 8)]
    (line,) = row_blocks(memory, MemoryRow(RowKind.AHEAD, 4, 8), View())
    assert (line.hanging.strip(), line.text) == ("4", f"to 8 · {AHEAD}")
    unfinished = (RowKind.UNFINISHED, 3, 3)
    assert rows(memory, bound=end - 1) == [
        *gists(1, 2),
        unfinished,
        (RowKind.AHEAD, 4, 8),
    ]
    assert rows(memory) == gists(1, 8)


def test_a_refused_section_that_is_unread_has_a_line_of_its_own_that_says_so() -> None:
    memory = with_gap()
    assert (RowKind.UNREAD, 3, 5) in rows(memory)
    view = View(refused={4})
    assert [
        row for row in rows(memory, alone=view.apart) if row[0] is RowKind.UNREAD
    ] == [(RowKind.UNREAD, number, number) for number in (3, 4, 5)]
    refused = MemoryRow(RowKind.UNREAD, 4, 4, memory.entry(4))
    under_way = replace(refused, kind=RowKind.BEING_READ)
    here = replace(refused, kind=RowKind.UNREAD_HERE, here=True)
    for row in (refused, under_way, here):
        assert row_blocks(memory, row, view)[0].tail == "refused"


def test_the_section_that_the_user_is_in_has_its_number_and_no_gist() -> None:
    memory = make_memory()
    row = MemoryRow(RowKind.UNFINISHED, 3, 3, memory.entry(3), here=True)
    *_, block = row_blocks(memory, row, View(here=3))
    assert (block.text, block.hanging.strip(), block.rail) == (UNFINISHED, "3", "▌")


def test_a_look_ahead_shows_the_number_there_and_no_gist() -> None:
    memory = make_memory()
    assert rows(memory, bound=memory.last_word_end(memory.entry(2).page), here=6) == [
        *gists(1, 2),
        (RowKind.AHEAD, 3, 5),
        (RowKind.UNFINISHED, 6, 6),
        (RowKind.AHEAD, 7, 8),
    ]


def test_sections_of_the_front_matter_have_no_gist_and_the_current_one_is_railed() -> (
    None
):
    memory = make_memory()
    first, second = memory.entry(1), memory.entry(2)
    assert entry_blocks(memory, first, View(), story=StoryPart(first.page.end)) == []
    assert entry_blocks(memory, second, View(), story=StoryPart(first.page.end))
    assert (
        entry_blocks(memory, second, View(), story=StoryPart(0, second.page.start))
        == []
    )
    assert entry_blocks(memory, first, View(), story=StoryPart(0, second.page.start))
    here = entry_blocks(memory, second, View(here=2))[-1]
    assert (here.rail, here.ground, here.tail) == ("▌", "opened", "")
    assert entry_blocks(memory, second, View())[-1].rail == ""


def with_gap() -> GistMemory:
    """Sections 3 to 5 of eight are not read."""
    memory = make_memory()
    read = [entry for entry in memory.entries if entry.page.number not in (3, 4, 5)]
    by_start = {entry.page.start: entry for entry in read}
    memory.entries[:] = GapFiller(memory.book, memory.size).arranged(by_start)
    return memory


def test_what_is_unread_between_is_one_line_and_numbers_are_by_place() -> None:
    memory = with_gap()
    assert rows(memory) == [*gists(1, 2), (RowKind.UNREAD, 3, 5), *gists(6, 8)]
    here = [
        *gists(1, 2),
        (RowKind.UNREAD, 3, 3),
        (RowKind.UNREAD_HERE, 4, 4),
        (RowKind.UNREAD, 5, 5),
        *gists(6, 8),
    ]
    assert rows(memory, here=4) == here
    begun = memory.entry(3).page
    under_way = rows(memory, here=4, begun=begun, reading=True)
    assert under_way == [*gists(1, 2), (RowKind.BEING_READ, 3, 3), *here[3:]]
    hidden = rows(memory, bound=memory.last_word_end(memory.entry(1).page))
    assert hidden == [*gists(1, 1), (RowKind.AHEAD, 2, 8)]


def test_after_the_last_section_read_the_place_has_an_estimated_number() -> None:
    memory = make_memory(2)
    total = memory.estimated_pages
    assert rows(memory, bound=memory.read_until) == [
        *gists(1, 2),
        (RowKind.AHEAD, 3, total),
    ]
    assert rows(memory, unread_at=memory.read_until + 1)[2] == (
        RowKind.UNREAD_HERE,
        3,
        3,
    )
    at_end = len(memory.book.text) - 1
    *_, before, here = rows(memory, unread_at=at_end)
    assert (before, here) == (
        (RowKind.UNREAD, 3, total - 1),
        (RowKind.UNREAD_HERE, total, total),
    )
    begun = Page(3, memory.read_until, memory.read_until + 100, 50)
    assert (RowKind.BEING_READ, 3, 3) in rows(
        memory, unread_at=at_end, begun=begun, reading=True
    )


def test_the_draft_of_a_section_ahead_is_hidden() -> None:
    memory = make_memory(2)
    begun = Page(3, memory.read_until, memory.read_until + 100, 50)
    row = MemoryRow(RowKind.BEING_READ, 3, 3)
    view = View(bound=10, reading=True, begun=begun, draft="Ferrand confessed all")
    assert "Ferrand" not in row_blocks(memory, row, view)[0].text
    view.bound = None
    assert "Ferrand" in row_blocks(memory, row, view)[0].text


async def test_what_lies_ahead_is_shown_as_the_user_reads_and_without_a_bound(
    tmp_path: Path,
) -> None:
    app = app_on(
        long_book(40),
        tmp_path,
        SteppedEngine(says=lambda _: "The road went on along the river."),
    )
    async with app.run_test(size=WIDE) as pilot:
        screen = await read_whole(pilot)
        pane = screen.memory_pane
        await until_shown(pilot, AHEAD)
        shown = pane.memory.count_within(pane.view.bound)
        assert 0 < shown < len(pane.memory.entries)
        await pilot.press("space")
        await until(pilot, lambda: pane.memory.count_within(pane.view.bound) > shown)
        await pilot.press("ctrl+t", *"all", "enter")
        await until_shown(pilot, "tell the end?")
        await pilot.press("down", "enter")
        await until(
            pilot,
            lambda: (
                pane.memory.count_within(pane.view.bound) == len(pane.memory.entries)
            ),
        )
        await pilot.press("ctrl+t", "enter")
        await until(
            pilot,
            lambda: (
                pane.memory.count_within(pane.view.bound) < len(pane.memory.entries)
                and AHEAD in text_of(app)
            ),
        )
