"""Names sections whose gists are quotations of the book, after the people who enter in them."""

import asyncio
from functools import partial

from gistread.memory.model import GistMemory
from gistread.people.mentions import supports_names
from gistread.people.sections import names_of_sections
from gistread.store.model import NameCorrection
from gistread.tui.jobs import run_job
from gistread.tui.reading.context import ReadingContext
from gistread.tui.reading.memory_pages import MemoryPages
from gistread.tui.reading.question_line import QuestionLine
from gistread.tui.reading.so_far import PeopleController

_Sections = tuple[tuple[int, int], ...]  # (start, end) of each
# What names depend on: sections, bound and corrections
_State = tuple[_Sections, int | None, tuple[NameCorrection, ...]]


class SectionNamer:
    """Keeps the names in the memory pane up to what the user has read, and never ahead of it."""

    def __init__(
        self,
        context: ReadingContext,
        pages: MemoryPages,
        line: QuestionLine,
        people: PeopleController,
    ) -> None:
        self._context = context
        self._pages = pages
        self._line = line
        self._people = people
        self._named: _State | None = None  # What the names in the pane were made from
        self._memory: GistMemory | None = None  # The memory whose sections they name

    def update(self) -> None:
        """Find the names again if memory, sections, bound or corrections have changed."""
        memory = self._context.memory_pane.memory
        if memory is not self._memory:  # The pane has dropped the names.
            self._memory = memory
            self._named = None
        if memory is None or not memory.has_quotations:
            return
        if not supports_names(self._context.book):
            return
        sections = tuple((entry.page.start, entry.page.end) for entry in memory.entries)
        state = sections, self._line.bound, self._context.corrections
        if state != self._named:
            self._named = state
            job = partial(self._name, sections)
            run_job(self._context.screen, job, group="section names")

    async def _name(self, sections: _Sections) -> None:
        """Find the names of these sections, and show them."""
        view = await self._people.names_so_far()
        names = await asyncio.to_thread(names_of_sections, view, sections)
        if self._context.memory_pane.show_names(names):
            # A pane that has just appeared is laid out by then.
            self._context.screen.call_after_refresh(self._pages.rows_changed)
        self._context.refresh()  # The header says that names are shown.
