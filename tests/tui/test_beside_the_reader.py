"""After any event, the pane tells of the section in view, and nothing after the bound."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from random import Random

import pytest
from textual.pilot import Pilot

from gistread.memory.gaps import GapFiller
from gistread.memory.model import Gist, GistMemory, GistSource, MemoryEntry, PageSize
from gistread.store.model import BoundChoice
from gistread.tui import memory_blocks
from gistread.tui.memory_rows import MemoryRow, RowKind
from gistread.tui.reading.pane_switcher import Pane
from gistread.tui.screens.reading import ReadingScreen
from gistread.tui.widgets.memory_pane import MemoryPane
from tests.tui.books import long_book
from tests.tui.scripted import app_on, opened, until, until_shown

NARROW = (60, 20)
SIZES = [(110, 30), (130, 44), (160, 50)]
# A chapter's title and the space around it may stand between gist and text
_TITLE_ROWS = 4
_ABOVE = 3  # A third of the pane may stand above what is unread
_DRAWN = 8  # Looks at the screen before a disagreement counts
_UNREAD = (range(9, 15), range(30, 34))  # Sections that the model has not read


def memory_with_gaps() -> GistMemory:
    """Two gaps, and nothing read of the last fifth of the book."""
    book = long_book(40)
    memory = GistMemory(book, PageSize(40, 90), "fake")
    whole = GapFiller(book, memory.size).arranged(
        {len(book.text): _entry_at(len(book.text))}
    )
    read: dict[int, MemoryEntry] = {}
    for entry in whole[: 4 * len(whole) // 5]:
        if not any(entry.page.number in unread for unread in _UNREAD):
            gist = Gist(
                f"Of section {entry.page.number} this is told.", 6, GistSource.MODEL
            )
            read[entry.page.start] = MemoryEntry(entry.page, gist)
    memory.entries[:] = GapFiller(book, memory.size).arranged(read)
    return memory


def _entry_at(offset: int) -> MemoryEntry:
    from gistread.memory.model import Page

    return MemoryEntry(Page(0, offset, offset, 0), Gist("", 0, GistSource.MODEL))


class Drive:
    """Does random things with the screen of one book."""

    def __init__(
        self, pilot: Pilot[None], screen: ReadingScreen, size: tuple[int, int]
    ) -> None:
        self._pilot = pilot
        self._screen = screen
        self._size = size
        self.random = Random(size[0])
        self.events: dict[str, Callable[[], Awaitable[object]]] = {
            key: lambda key=key: pilot.press(key)
            for key in (
                "space",
                "space",
                "b",
                "down",
                "up",
                "home",
                "end",
                "]",
                "[",
                "backspace",
            )
        }
        self.events |= {
            "go to": self._go_to,
            "resize": self._resize,
            "read on": lambda: pilot.press("space", "space"),
            "forward": lambda: pilot.press("alt+right"),
            "hide and show the memory": lambda: pilot.press("M", "space", "M", "M"),
            "to the memory and back": lambda: pilot.press("tab", "escape"),
            "settle": lambda: (
                pilot.press("enter") if self._looks else pilot.press("space")
            ),
        }

    @property
    def _looks(self) -> bool:
        return self._screen.controllers.context.position.looking

    async def _go_to(self) -> None:
        await self._pilot.press(":", *f"{self.random.randrange(101)}%", "enter")

    async def _resize(self) -> None:
        columns, rows = self._size
        wider, higher = self.random.randrange(0, 20), self.random.randrange(-6, 6)
        await self._pilot.resize_terminal(columns + wider, rows + higher)

    async def step(self) -> str:
        name = self.random.choice(list(self.events))
        await self.events[name]()
        return name


async def lasting_disagreement(pilot: Pilot[None], screen: ReadingScreen) -> str:
    """How pane and book disagree once everything is drawn; empty if they do not."""
    fault = disagreement(screen)
    for _ in range(_DRAWN):
        if not fault:
            return ""
        await pilot.pause(0.05)
        fault = disagreement(screen)
    return fault


def _tells_ahead(pane: MemoryPane, bound: int) -> bool:
    pages = [row.entry.page for row in pane.rows() if row.kind is RowKind.GIST]
    return any(pane.memory.last_word_end(page) > bound for page in pages)


def disagreement(screen: ReadingScreen) -> str:
    """How pane and book disagree; empty if they do not."""
    book, pane = screen.book_pane, screen.memory_pane
    rows, view = pane.rows(), book.visible_range
    bound = screen.controllers.line.bound
    if bound is not None and _tells_ahead(pane, bound):
        return "a gist tells what is after the bound"
    here = [row for row in rows if row.here]
    if len(here) != 1:
        return f"{len(here)} rows are at the place"
    (row,) = here
    if row.entry is not None and view is not None and not _is_in_view(row, view):
        return f"section {row.first} is marked, which is not in view"
    if row.entry is None and view[1] < pane.memory.read_until:
        return "a section after the last one read is marked"
    return _misplaced(screen, row)


def _is_in_view(row: MemoryRow, view: tuple[int, int]) -> bool:
    return row.entry.page.start < view[1] and view[0] < row.entry.page.end


def _misplaced(screen: ReadingScreen, row: MemoryRow) -> str:
    book, pane = screen.book_pane, screen.memory_pane
    block = pane._index.find_key(memory_blocks.key_of(row))
    if block is None:
        return f"section {row.first} is not drawn"
    first_row = pane._index.first_row(block) + pane._index.layout(block).above
    gist_row = first_row - pane.scroll_offset.y
    if row.entry is None:
        return "" if 0 <= gist_row < pane.size.height else "the place is out of sight"
    level = book.row_in_view(row.entry.page.start)
    if not row.entry.is_read and row.entry.page.start < book.visible_range[0]:
        level = pane.size.height // _ABOVE  # Older gists stand above it
    is_level = abs(gist_row - level) <= _TITLE_ROWS
    is_at_top = pane.scroll_offset.y == 0 and gist_row <= level
    return (
        "" if is_level or is_at_top else f"gist at row {gist_row}, text at row {level}"
    )


async def shown_memory(pilot: Pilot[None], screen: ReadingScreen) -> str:
    """How the memory disagrees once it is shown in place of the book; empty if it does not."""
    marked = screen.memory_pane.view.here
    screen.panes.show(Pane.MEMORY)
    fault = ""
    for _ in range(_DRAWN):
        await pilot.pause(0.05)
        fault = _out_of_sight(screen)
        if not fault:
            break
    if screen.memory_pane.view.here != marked:
        fault = f"section {screen.memory_pane.view.here} is marked, not {marked}"
    here = next((row for row in screen.memory_pane.rows() if row.here), None)
    if here is not None and screen.memory_pane.cursor_key != memory_blocks.key_of(here):
        fault = f"the cursor is at {screen.memory_pane.cursor_key}"
    screen.panes.show(Pane.BOOK)
    await pilot.pause()
    return fault


def _out_of_sight(screen: ReadingScreen) -> str:
    pane = screen.memory_pane
    here = [row for row in pane.rows() if row.here]
    if len(here) != 1:
        return f"{len(here)} rows are at the place"
    block = pane._index.find_key(memory_blocks.key_of(here[0]))
    if block is None:
        return f"section {here[0].first} is not drawn"
    first_row = pane._index.first_row(block) + pane._index.layout(block).above
    at = first_row - pane.scroll_offset.y
    return (
        "" if 0 <= at < pane.size.height else f"section {here[0].first} is at row {at}"
    )


@pytest.mark.parametrize("steps", [4, pytest.param(200, marks=pytest.mark.slow)])
async def test_a_hidden_memory_is_beside_the_reader_once_it_is_shown(
    tmp_path: Path, steps: int
) -> None:
    app = app_on(long_book(40), tmp_path)
    async with app.run_test(size=NARROW) as pilot:
        screen = await opened(pilot)
        await until_shown(pilot, "No model yet")
        screen.memory_pane.show_memory(memory_with_gaps())
        screen.redraw_lines()
        screen.controllers.pages.show_here(scroll=True)
        drive = Drive(pilot, screen, NARROW)
        assert not await shown_memory(pilot, screen)
        # More sections than before are told
        await pilot.press(":", *"90%", "enter", "space")
        assert not await shown_memory(pilot, screen)
        for number in range(steps):
            event = await drive.step()
            screen.panes.show(Pane.BOOK)
            await until(pilot, lambda: not screen.memory_pane.size.height)
            fault = await shown_memory(pilot, screen)
            assert not fault, f"{number}: after {event}: {fault}"


async def test_older_gists_stand_above_an_unread_section(tmp_path: Path) -> None:
    app = app_on(long_book(40), tmp_path)
    async with app.run_test(size=SIZES[0]) as pilot:
        screen = await opened(pilot)
        pane = screen.memory_pane
        pane.show_memory(memory_with_gaps())
        screen.controllers.line.choose_bound(BoundChoice(whole=True))
        last_read = pane.memory.read_entries[-1].page
        screen.controllers.context.navigation.show(pane.memory.read_until + 200)
        await until(
            pilot, lambda: RowKind.UNREAD_HERE in {row.kind for row in pane.rows()}
        )
        await until(pilot, lambda: pane.scroll_offset.y > 0)
        above = pane._index.find_key(("page", last_read.number))
        assert above is not None
        assert pane._in_view(above, pane.size.height)
        assert screen.book_pane.row_in_view(last_read.start) == 0
        assert not disagreement(screen)


@pytest.mark.slow
@pytest.mark.parametrize("size", SIZES)
async def test_pane_and_book_agree_after_every_event(
    tmp_path: Path, size: tuple[int, int]
) -> None:
    app = app_on(long_book(40), tmp_path)
    async with app.run_test(size=size) as pilot:
        screen = await opened(pilot)
        screen.memory_pane.show_memory(memory_with_gaps())
        screen.lines.show_place()
        screen.redraw_lines()
        screen.controllers.pages.show_here(scroll=True)
        assert not await lasting_disagreement(pilot, screen)
        drive = Drive(pilot, screen, size)
        events: list[str] = []
        wrong: list[str] = []
        for _ in range(500):
            events.append(await drive.step())
            if fault := await lasting_disagreement(pilot, screen):
                wrong.append(f"{len(events)}: after {events[-3:]}: {fault}")
        assert len(set(events)) > 8
        assert not wrong, f"{len(wrong)} of {len(events)}\n" + "\n".join(wrong[:20])
