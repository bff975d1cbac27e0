"""Gists of what lies ahead of the person are shaded until they are asked for."""

from pathlib import Path

from gistread.memory.model import Gist, GistSource, MemoryEntry, Page
from gistread.memory.tree import chapters, current_tree
from gistread.tui.memory_blocks import AHEAD, View, Zoom, begun_block, entry_blocks, half_of, part_blocks, rest_blocks
from tests.readers.memories import make_memory
from tests.tui.books import long_book
from tests.tui.scripted import SteppedEngine, app_on, read_whole, text_of, until

WIDE = (150, 60)


def test_words_keep_their_length_and_the_label_stays() -> None:
    memory = make_memory()
    view = View(bound=memory.entry(2).page.end)
    before, after = (entry_blocks(memory, memory.entry(number), view)[-1] for number in (2, 3))
    gist = memory.entry(3).gist.text
    assert before.text == memory.entry(2).gist.text
    assert [len(word) for word in after.text.split()] == [len(word) for word in gist.split()]
    assert set(after.text) == {"░", " "}
    assert after.hanging.strip() == "3"
    assert after.tail == AHEAD
    assert AHEAD not in before.tail
    view.here = 3
    assert entry_blocks(memory, memory.entry(3), view)[-1].tail == AHEAD  # looked at from afar
    view.bound = memory.entry(3).page.start + 1
    assert entry_blocks(memory, memory.entry(3), view)[-1].tail == f"partly {AHEAD} · ← you"
    view.bound = half_of(memory.entry(3).page)
    half_seen = entry_blocks(memory, memory.entry(3), view)[-1]
    assert (half_seen.text, half_seen.tail) == (gist, "← you")
    view.here, view.bound = None, memory.entry(1).page.end
    assert "░" in entry_blocks(memory, memory.entry(2), view)[-1].text
    view.revealed.add((memory.entry(2).page.start, memory.entry(2).page.end))
    assert entry_blocks(memory, memory.entry(2), view)[-1] == before


def test_summaries_across_the_bound_pages_ahead_and_the_page_under_way_are_shaded() -> None:
    memory = make_memory()
    parts = chapters(memory, current_tree(memory))
    view = View(bound=memory.entry(2).page.end - 5, zoom=Zoom.CHAPTER)
    shaded = ["░" in part_blocks(memory, part, view)[-1].text for part in parts]
    assert shaded == [False] + [True] * (len(parts) - 1)
    view.zoom = Zoom.BOOK
    assert set(part_blocks(memory, current_tree(memory), view)[-1].text) == {"░", " "}
    some = make_memory(2)
    page = Page(0, some.book.chapters[5].start, some.book.chapters[5].end, 50)
    ahead = MemoryEntry(page, Gist("Ferrand confessed.", 2, GistSource.MODEL))
    view = View(bound=10, ahead=(ahead,), reading=True, begun=page, draft="Ferrand confessed all")
    assert not any("Ferrand" in block.text for block in rest_blocks(some, view))
    assert any(block.tail == AHEAD for block in rest_blocks(some, view))
    assert "░░░░░░░ ░░░░░░░░░ …" in begun_block(some, view).text
    view.bound = None
    assert any("Ferrand confessed." in block.text for block in rest_blocks(some, view))


async def test_a_card_is_shown_by_key_or_click_and_all_by_a_command(tmp_path: Path) -> None:
    app = app_on(long_book(40), tmp_path, SteppedEngine(says=lambda _: "The road went on along the river."))
    async with app.run_test(size=WIDE) as pilot:
        screen = await read_whole(pilot)
        pane = screen.memory_pane
        screen.controllers.questions._whole_book = False
        screen.redraw_lines()
        await until(pilot, lambda: "░░░ ░░░░" in text_of(app))
        first = next(one.page.number for one in pane.memory.entries if half_of(one.page) > pane.view.bound)
        await pilot.press("tab", *["j"] * (first - pane.chosen), "enter")
        await until(pilot, lambda: pane.view.revealed)
        assert pane.chosen == first
        assert not pane.view.opened
        await pilot.press("enter")
        await until(pilot, lambda: first in pane.view.opened)
        await pilot.press("S")
        await until(pilot, lambda: "░" not in text_of(app))
        await pilot.press("S")
        await until(pilot, lambda: "░" in text_of(app))
        before = pane.view.bound
        await pilot.press("shift+tab", "space")
        await until(pilot, lambda: pane.view.bound > before)
        await pilot.press("tab", "<", "<")
        await until(pilot, lambda: pane.view.zoom is Zoom.BOOK and AHEAD in text_of(app))
        await pilot.click(pane, offset=(10, 6))
        await until(pilot, lambda: pane.view.revealed and AHEAD not in text_of(app))
