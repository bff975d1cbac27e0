"""The story so far: sentences of the gists up to the reading place, each linked to its page."""

import asyncio
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from gistread.memory.model import GistMemory
from gistread.readers.recap import Recap, describe_sources, recap
from gistread.tui.reading.context import ReadingContext
from gistread.tui.reading.navigation import Navigation
from gistread.units import counted

if TYPE_CHECKING:
    from gistread.tui.screens.listing import Row


_DAY_S = 24 * 3600
_READ_ON = 3_000  # Characters after which the recap is no longer offered


class RecapController:
    def __init__(self, context: ReadingContext, navigation: Navigation, known: Callable[[], GistMemory]) -> None:
        """`known`: the memory up to the reading place."""
        self._context = context
        self._navigation = navigation
        self._known = known
        self._away = ""  # For how long, in words; empty after less than a day
        self._came_to = 0

    def set_last_opened(self, at: float) -> None:
        """Set when the book was opened last, in seconds since the epoch; 0 if never."""
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
        known = self._known()
        story = await asyncio.to_thread(recap, known, self._context.corrections)
        is_bounded = len(known.book.text) < len(self._context.book.text)
        source = describe_sources(story)
        people = f"\nPeople here: {', '.join(story.people)}" if story.people else ""
        screen = ListScreen("The story so far", f"{source}{people}", self._rows(story, ends_here=is_bounded))
        self._context.push(screen, lambda row: self._navigation.jump(int(row.partition(" ")[2])))

    def _rows(self, story: Recap, *, ends_here: bool) -> "list[Row]":
        from gistread.tui.screens.listing import Row, place_in

        book = self._context.book
        rows = []
        for number, told in enumerate((*story.before, *story.chapter)):
            rows.append(Row(f"{number} {told.start}", told.text, place_in(book, told.start)))
        if story.stopped and ends_here:
            start, end = story.stopped
            rows.append(Row(f"stopped {start}", f"You stopped at: {' '.join(book.text[start:end].split())}"))
        return rows
