"""The story so far: sentences of the gists up to the reading place, each of which leads to its page."""

import asyncio
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from gistread.memory.sizes import unread_memory
from gistread.readers.recap import Recap, describe_sources, recap
from gistread.tui.reading.context import ReadingContext
from gistread.tui.reading.navigation import Navigation
from gistread.units import counted

if TYPE_CHECKING:
    from gistread.tui.screens.listing import Row


_DAY_S = 24 * 3600
_READ_ON = 3_000  # Characters after which nobody needs the story so far


class RecapController:
    def __init__(self, context: ReadingContext, navigation: Navigation, bound: Callable[[], int | None]) -> None:
        """`bound`: the end of the text that may be shown; None for the whole book."""
        self._context = context
        self._navigation = navigation
        self._bound = bound
        self._away = ""  # For how long, in words; empty after less than a day
        self._came_to = 0

    def opened_before(self, at: float) -> None:
        """The book was opened before, at this time in seconds since the epoch; 0 if never."""
        days = max(0, int((time.time() - at) / _DAY_S)) if at and self._context.position.furthest else 0
        self._away = counted(days, "day") if days else ""
        self._came_to = self._context.place

    @property
    def offer(self) -> str:
        """A line that offers the story so far after a day or more, until the person has read on."""
        if not self._away or abs(self._context.place - self._came_to) > _READ_ON:
            return ""
        return f"Away for {self._away}: {self._context.key_hint('recap')} for the story so far"

    async def show(self) -> None:
        from gistread.tui.screens.listing import ListScreen

        self._away = ""
        book, bound = self._context.book, self._bound()
        memory = self._context.memory_pane.memory or unread_memory(book)
        known = memory if bound is None else memory.upto(bound)
        story = await asyncio.to_thread(recap, known, self._context.corrections)
        source = describe_sources(story)
        people = f"\nPeople here: {', '.join(story.people)}" if story.people else ""
        screen = ListScreen("The story so far", f"{source}{people}", self._rows(story))
        self._context.push(screen, lambda row: self._navigation.jump(int(row.partition(" ")[2])))

    def _rows(self, story: Recap) -> "list[Row]":
        from gistread.tui.screens.listing import Row, place_in

        book = self._context.book
        rows = []
        for number, told in enumerate((*story.before, *story.chapter)):
            rows.append(Row(f"{number} {told.start}", told.text, place_in(book, told.start)))
        if story.stopped:
            start, end = story.stopped
            rows.append(Row(f"stopped {start}", f"You stopped at: {' '.join(book.text[start:end].split())}"))
        return rows
