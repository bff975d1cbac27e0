"""The story so far: sentences of the gists up to the reading place, in a paragraph for each chapter."""

import asyncio
import time
from collections.abc import Callable
from itertools import groupby
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
        """A line that offers the story so far after a day or more, until the user has read on."""
        if not self._away or abs(self._context.place - self._came_to) > _READ_ON:
            return ""
        return f"Away for {self._away}: {self._context.key_hint('recap')} for the story so far"

    async def show(self) -> None:
        from gistread.tui.screens.listing import StoryScreen

        self._away = ""
        known = self._known()
        story = await asyncio.to_thread(recap, known, self._context.corrections)
        is_bounded = len(known.book.text) < len(self._context.book.text)
        people = f"\nPeople here: {', '.join(story.people)}" if story.people else ""
        rows = self._rows(story, ends_here=is_bounded)
        screen = StoryScreen("The story so far", f"{describe_sources(story)}{people}", rows)
        self._context.push(screen, self._navigation.jump)

    def _rows(self, story: Recap, *, ends_here: bool) -> "list[Row[int]]":
        """A paragraph for each chapter; with the sentence at which the user stopped."""
        from gistread.tui.screens.listing import Row

        book, rows = self._context.book, list[Row[int]]()
        for title, told in groupby((*story.before, *story.chapter), key=lambda one: book.chapter_title(one.start)):
            sentences = list(told)
            rows += [Row(None, title)] if title else []
            rows.append(Row(sentences[0].start, " ".join(one.text for one in sentences)))
        if story.stopped and ends_here:
            start, end = story.stopped
            rows += [Row(None, "You stopped at"), Row(start, " ".join(book.text[start:end].split()))]
        return rows
