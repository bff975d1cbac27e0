"""The book stands still: whatever appears around it, its first line stays the first line."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from textual.pilot import Pilot

from gistread.config import Config
from gistread.readers.events import (
    AnswerDelta,
    Expanded,
    LookedUp,
    OpenedBy,
    ReaderEvent,
)
from gistread.tui.reading.pane_switcher import Pane
from gistread.tui.screens.reading import ReadingScreen
from tests.tui.books import long_book
from tests.tui.scripted import (
    ScriptedReader,
    SteppedEngine,
    app_on,
    lines,
    opened,
    until,
)
from tests.tui.test_asking import STARTED, answered, citation, says

SIZES = [
    (80, 24),
    pytest.param((110, 30), marks=pytest.mark.slow),
    pytest.param((160, 50), marks=pytest.mark.slow),
]
_LOOKS = 6  # At the screen after each event
_BETWEEN_LOOKS_S = 0.03


class Still:
    """Looks at the book after each event: its first line, and where on the screen it stands."""

    def __init__(self, pilot: Pilot[None], screen: ReadingScreen) -> None:
        self._pilot = pilot
        self._screen = screen
        self.faults: list[str] = []
        self._place = screen.book_pane.place
        self._row = screen.book_pane.content_region.y
        self._line = self._first_line()
        self._row_width = screen.book_pane.row_width

    async def after(self, event: str, act: Callable[[], Awaitable[object]]) -> None:
        """Let it happen. Every look at the screen must find the same line at the same row."""
        await act()
        for _ in range(_LOOKS):
            await asyncio.sleep(_BETWEEN_LOOKS_S)
            await self._pilot.pause()
            if fault := self._fault():
                self.faults.append(f"after {event}: {fault}")
                return

    async def keys(self, *keys: str) -> None:
        for key in keys:
            await self.after(key, lambda key=key: self._pilot.press(key))

    async def resized(self, *sizes: tuple[int, int]) -> None:
        """Through these sizes and back: rows are wrapped anew, and the first line comes back."""
        before = self._screen.app.size
        for size in (*sizes, (before.width, before.height)):
            await self.after(f"resize to {size}", lambda size=size: self._resize(*size))

    async def _resize(self, columns: int, rows: int) -> None:
        await self._pilot.resize_terminal(columns, rows)
        await until(self._pilot, lambda: self._screen.size == (columns, rows))
        await self._pilot.pause()

    def _first_line(self) -> str:
        x, y, width, _ = self._screen.book_pane.content_region
        return lines(self._screen.app)[y][x : x + width].strip()

    def _fault(self) -> str:
        book = self._screen.book_pane
        if not book.size.height:  # Behind another pane of a narrow screen
            return ""
        if book.place != self._place:
            return f"the book is at {book.place}, not at {self._place}"
        if book.content_region.y != self._row:
            return f"the book begins at row {book.content_region.y}, not {self._row}"
        first_line = self._first_line()
        if book.row_width == self._row_width:
            is_same = first_line == self._line
        else:  # Rows are wrapped anew.
            is_same = bool(set(first_line.split()) & set(self._line.split()))
        if not is_same:
            return f"{first_line!r} is the first line, not {self._line!r}"
        return ""

    @property
    def line_is_the_same(self) -> bool:
        return self._first_line() == self._line


@pytest.mark.parametrize("size", SIZES)
async def test_the_first_line_of_the_book_stays_whatever_appears(
    tmp_path: Path, reader: ScriptedReader, size: tuple[int, int]
) -> None:
    engine = SteppedEngine(says=says)
    engine.stop_after = 4
    app = app_on(long_book(40), tmp_path, engine, Config(min_words=40, max_words=90))
    async with app.run_test(size=size) as pilot:
        screen = await opened(pilot)
        await engine.stopped.wait()
        screen.book_pane.scroll_to_offset(screen.book.chapters[3].start + 700)
        await pilot.pause()
        still = Still(pilot, screen)
        await still.after("gists", lambda: _read_on(pilot, screen, engine))
        await still.keys("M", "M", "M", "f2", "escape", "a", "escape", "tab", "escape")
        await still.after("a question", lambda: _ask(pilot, screen, reader))
        await still.after("a step", lambda: _look_up(pilot, screen, reader))
        await still.after(
            "a part", lambda: _say(reader, AnswerDelta("It was Finch. " * 20))
        )
        source = citation(screen, "This is paragraph 2.")
        answer = answered("It was Finch [1]. " * 20, source)
        await still.after("the answer", lambda: _say(reader, answer))
        await until(pilot, lambda: not screen.session.answering)
        await still.keys("v", "v", "W", "escape", "escape")
        screen.panes.show(Pane.BOOK)
        await still.after("a notice", lambda: _notify(screen))
        columns, rows = size
        await still.resized(
            (columns + 9, rows), (columns, rows + 5), (columns - 9, rows - 6)
        )
        await still.resized((60, 20), (160, 50), (99, 30), (141, 40))
        assert not still.faults, "\n".join(still.faults)
        assert still.line_is_the_same


async def _read_on(
    pilot: Pilot[None], screen: ReadingScreen, engine: SteppedEngine
) -> None:
    before = len(screen.memory_pane.memory.entries)
    engine.gate.set()
    await until(pilot, lambda: len(screen.memory_pane.memory.entries) > before + 4)


async def _ask(
    pilot: Pilot[None], screen: ReadingScreen, reader: ScriptedReader
) -> None:
    await pilot.press("a", *"Who", "enter")
    await until(pilot, lambda: reader.questions)
    screen.panes.show(Pane.BOOK)


async def _look_up(
    pilot: Pilot[None], screen: ReadingScreen, reader: ScriptedReader
) -> None:
    reader.say(STARTED, LookedUp(2, 1, "because it tells"), Expanded(2, OpenedBy.AGENT))
    await until(pilot, lambda: 2 in screen.memory_pane.view.opened)


async def _say(reader: ScriptedReader, event: ReaderEvent) -> None:
    reader.say(event)


async def _notify(screen: ReadingScreen) -> None:
    screen.notify("Something happened. " * 5)
