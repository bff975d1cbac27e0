"""The story so far: sentences of the gists up to the reading place, each of which leads to its page."""

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from gistread.memory.sizes import unread_memory
from gistread.readers.recap import Recap, recap
from gistread.tui.reading.context import ReadingContext
from gistread.tui.reading.navigation import Navigation
from gistread.units import counted

if TYPE_CHECKING:
    from gistread.tui.screens.listing import Row


class RecapController:
    def __init__(self, context: ReadingContext, navigation: Navigation, bound: Callable[[], int | None]) -> None:
        """`bound`: the end of the text that may be shown; None for the whole book."""
        self._context = context
        self._navigation = navigation
        self._bound = bound

    async def show(self) -> None:
        from gistread.tui.screens.listing import ListScreen

        book, bound = self._context.book, self._bound()
        memory = self._context.memory_pane.memory or unread_memory(book)
        known = memory if bound is None else memory.upto(bound)
        story = await asyncio.to_thread(recap, known, self._context.corrections)
        source = (
            f"from the gists of {counted(story.pages, 'page')}" if story.pages else "in the chapter's own sentences"
        )
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
