"""The model reads a book: page after page is found, shortened and kept, as a stream of events.

Reading goes on where the memory ends and may be stopped at any moment, by cancelling the task or killing the
process: what was kept stays, and the page in flight is read again. Which pages come out depends on nothing
but the book, the model and the page size.
"""

from collections.abc import AsyncIterator
from dataclasses import dataclass

from gistread.engine.protocol import Engine, Priority
from gistread.memory.gisting import gist_page
from gistread.memory.guard import Fault
from gistread.memory.model import Entry, GistMemory, Page
from gistread.memory.pagination import next_page
from gistread.memory.store import KeptMemory


@dataclass(frozen=True, slots=True)
class Resumed:
    """Reading goes on after these many pages, kept from before."""

    pages: int


@dataclass(frozen=True, slots=True)
class PageFound:
    """The model has paused: the page is known and its gist is being made."""

    page: Page


@dataclass(frozen=True, slots=True)
class Gisted:
    """The page is in the memory, and on disk where the disk allows."""

    entry: Entry
    faults: tuple[Fault, ...]
    """Of the model's attempts at this gist that were not kept."""

    @property
    def retries(self) -> int:
        """How often the model was asked again."""
        return min(1, len(self.faults))


@dataclass(frozen=True, slots=True)
class Finished:
    """The whole book is in the memory."""

    memory: GistMemory


ReadingEvent = Resumed | PageFound | Gisted | Finished


async def read_book(
    kept: KeptMemory, engine: Engine, *, priority: Priority = Priority.BACKGROUND
) -> AsyncIterator[ReadingEvent]:
    """Read on to the end of the book. Raises EngineError when the engine fails or no page fits its window."""
    memory = kept.memory
    if memory.entries:
        yield Resumed(len(memory.entries))
    while not memory.complete:
        page, usage = await next_page(
            memory.book, memory.read_until, len(memory.entries) + 1, memory.size, engine, priority
        )
        yield PageFound(page)
        gisted = await gist_page(memory.text_of(page), engine, priority)
        entry = Entry(page, gisted.gist, usage + gisted.usage)
        kept.keep(entry)
        yield Gisted(entry, gisted.faults)
    yield Finished(memory)
