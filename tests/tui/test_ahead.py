"""Gists of what lies ahead of the user are not shown until they are asked for."""

from pathlib import Path

from gistread.memory.model import Gist, GistSource, MemoryEntry, Page
from gistread.tui.memory_blocks import AHEAD, UNFINISHED, View, entry_blocks, rest_blocks
from tests.readers.memories import make_memory
from tests.tui.books import long_book
from tests.tui.scripted import SteppedEngine, app_on, read_whole, text_of, until

WIDE = (150, 60)


def test_sections_ahead_are_one_line() -> None:
    memory = make_memory()
    total = len(memory.entries)
    third = memory.entry(3).page
    view = View(bound=memory.last_word_end(third))
    assert memory.count_within(view.bound) == 3
    (line,) = rest_blocks(memory, view, 3)
    assert (line.hanging.strip(), line.text) == ("4–", f"{AHEAD} · to {total}")
    assert memory.count_within(memory.last_word_end(third) - 1) == 2
    assert memory.count_within(None) == total
    assert rest_blocks(memory, View(), total) == []


def test_the_section_that_the_user_is_in_has_its_number_and_no_gist() -> None:
    memory = make_memory()
    third = memory.entry(3).page
    view = View(bound=memory.last_word_end(third) - 1, here=3)
    unfinished, line = rest_blocks(memory, view, 2)
    assert (unfinished.text, unfinished.hanging.strip()) == (UNFINISHED, "3")
    assert line.text == f"{AHEAD} · to {len(memory.entries)}"


def test_a_look_ahead_shows_the_number_there_and_no_gist() -> None:
    memory = make_memory()
    view = View(bound=memory.last_word_end(memory.entry(2).page), here=6)
    before, looked_at, behind = rest_blocks(memory, view, 2)
    assert before.text == f"{AHEAD} · to 5"
    assert (looked_at.text, looked_at.hanging.strip()) == (UNFINISHED, "6")
    assert behind.text == f"{AHEAD} · to 8"


def test_sections_of_the_front_matter_have_no_gist_and_the_current_one_is_railed() -> None:
    memory = make_memory()
    first, second = memory.entry(1), memory.entry(2)
    assert entry_blocks(memory, first, View(), begins=first.page.end) == []
    assert entry_blocks(memory, second, View(), begins=first.page.end)
    here = entry_blocks(memory, second, View(here=2))[-1]
    assert (here.rail, here.ground, here.tail) == ("▌", "opened", "")
    assert entry_blocks(memory, second, View())[-1].rail == ""


def test_sections_read_ahead_of_a_gap_and_the_one_under_way_are_hidden_too() -> None:
    some = make_memory(2)
    page = Page(0, some.book.chapters[5].start, some.book.chapters[5].end, 50)
    ahead = MemoryEntry(page, Gist("Ferrand confessed.", 2, GistSource.MODEL))
    view = View(bound=10, ahead=(ahead,), reading=True, begun=page, draft="Ferrand confessed all")
    hidden = [block.text for block in rest_blocks(some, view, 2)]
    assert not any("Ferrand" in text for text in hidden)
    assert f"1 section {AHEAD}" in hidden
    view.bound = None
    assert any("Ferrand confessed." in block.text for block in rest_blocks(some, view, 2))


async def test_what_lies_ahead_is_shown_as_the_user_reads_and_without_a_bound(
    tmp_path: Path,
) -> None:
    app = app_on(
        long_book(40), tmp_path, SteppedEngine(says=lambda _: "The road went on along the river.")
    )
    async with app.run_test(size=WIDE) as pilot:
        screen = await read_whole(pilot)
        pane = screen.memory_pane
        await until(pilot, lambda: AHEAD in text_of(app))
        shown = pane.memory.count_within(pane.view.bound)
        assert 0 < shown < len(pane.memory.entries)
        await pilot.press("space")
        await until(pilot, lambda: pane.memory.count_within(pane.view.bound) > shown)
        await pilot.press("ctrl+t", "enter")
        await until(
            pilot, lambda: pane.memory.count_within(pane.view.bound) == len(pane.memory.entries)
        )
        await pilot.press("ctrl+t", "enter")
        await until(
            pilot,
            lambda: (
                pane.memory.count_within(pane.view.bound) < len(pane.memory.entries)
                and AHEAD in text_of(app)
            ),
        )
