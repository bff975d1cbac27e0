"""The model reads a book: page after page is found, shortened and kept, as a stream of events.

Chapters are read for themselves, several at once where the engine can do more than one thing well; within a chapter
the gist of a page is made while the next page is being found. ReadingMode goes on where the memory ends and may be
stopped at any moment, by cancelling the task or killing the process: what was kept stays, and what was in flight
is read again. Which prompts the model sees depends on nothing but the book, the page size and the pages before in
the chapter, so it does not matter how many chapters are read at once.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator
from dataclasses import dataclass

from gistread.book.model import Book
from gistread.engine.concurrency_limit import ConcurrencyLimit
from gistread.engine.protocol import Engine, Priority, Usage
from gistread.memory.gisting import Attempt, careful_attempts, gist_page, is_short, longer_task
from gistread.memory.guard import Fault
from gistread.memory.model import GistMemory, MemoryEntry, Page, ReadingMode
from gistread.memory.pagination import TOKENS_BESIDE, chapter_end, next_page
from gistread.memory.single_pass import SinglePass
from gistread.memory.writer import MemoryWriter

_REQUESTS_A_CHAPTER = 8
"""One chapter gives so many requests at once something to do: pages are found faster than they are shortened."""
_REQUESTS_ELSEWHERE = 2
"""On a server, where requests do not take turns: one page is found while another is shortened."""
_PAGES_AT_FIRST = 2
_PAGES_MORE = 2


@dataclass(frozen=True, slots=True)
class Resumed:
    """Reading goes on after these many pages, kept from before."""

    pages: int


@dataclass(frozen=True, slots=True)
class PageFound:
    """The model has paused: the page is known and its gist is being made."""

    page: Page


@dataclass(frozen=True, slots=True)
class PageGisted:
    """The page is in the memory, and on disk where the disk allows."""

    entry: MemoryEntry
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


ReadingEvent = Resumed | PageFound | PageGisted | Finished


async def read_book(
    kept: MemoryWriter, engine: Engine, *, priority: Priority = Priority.BACKGROUND
) -> AsyncGenerator[ReadingEvent, None]:
    """Read on to the end of the book. Raises EngineError when the engine fails or no page fits its window."""
    memory = kept.memory
    if kept.pages:
        yield Resumed(kept.pages)
    events: asyncio.Queue[ReadingEvent | None] = asyncio.Queue()
    reading = asyncio.create_task(_Reading(kept, engine, priority, events.put_nowait).run(), name="read-book")
    reading.add_done_callback(lambda _: events.put_nowait(None))
    try:
        while (event := await events.get()) is not None:
            yield event
        await reading
    finally:
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)
    yield Finished(memory)


def sections(book: Book) -> Iterator[tuple[int, int]]:
    """Start and end of each stretch of the book that is read for itself: a chapter, with titles before it.

    The headings of a series' volumes are in none: there is nothing in them to read.
    """
    start = 0
    while start < len(book.text):
        if book.is_title(start):
            start = book.volumes[book.volume_index(start)].start
        end = chapter_end(book, start)
        yield start, end
        start = end


def _next_text(memory: GistMemory) -> int:
    """Where the text begins that is read next: behind the title of a volume, which comes with its first page."""
    book, at = memory.book, memory.read_until
    return book.volumes[book.volume_index(at)].start if book.is_title(at) else at


class _UnderWay:
    """How many pages are being found and shortened: two at first, two more with each that is done, up to what pays.

    So the first gists come soon, and afterwards as many are written together as the device likes.
    """

    def __init__(self, engine: Engine) -> None:
        self._pages = ConcurrencyLimit(engine, _PAGES_AT_FIRST)
        self.begin = self._pages.begin

    def end(self) -> None:
        """Give the place back."""
        self._pages.most = self._pages.places + _PAGES_MORE
        self._pages.end()


class _Reading:
    """All that is under way in one reading of a book."""

    def __init__(
        self, kept: MemoryWriter, engine: Engine, priority: Priority, tell: Callable[[ReadingEvent], None]
    ) -> None:
        self._kept = kept
        self._engine = engine
        self._priority = priority
        self._tell = tell
        self._under_way = _UnderWay(engine)
        self._chapters = 0
        """That are being read at this moment."""
        self._read_more: Callable[[], None] = lambda: None
        self._front = 0
        """Pages found in the chapter that the memory has got to, their gists not made yet."""
        self._faults: dict[int, tuple[Fault, ...]] = {}
        """Of gists that are made, by the start of their page, until they are told of."""

    async def run(self) -> None:
        memory = self._kept.memory
        waiting = iter([part for part in sections(memory.book) if part[1] > memory.read_until])
        try:
            async with asyncio.TaskGroup() as tasks:
                self._read_more = lambda: self._begin_chapters(waiting, tasks)
                self._read_more()
        except BaseExceptionGroup as group:
            raise group.exceptions[0] from None

    def _begin_chapters(self, waiting: Iterator[tuple[int, int]], tasks: asyncio.TaskGroup) -> None:
        """Begin with as many more as pay at this moment."""
        info = self._engine.info
        requests = _REQUESTS_ELSEWHERE if info.is_remote else _REQUESTS_A_CHAPTER
        while self._chapters < max(1, info.parallel // requests):
            self._chapters += 1
            tasks.create_task(self._read_sections(waiting, tasks))

    async def _read_sections(self, waiting: Iterator[tuple[int, int]], tasks: asyncio.TaskGroup) -> None:
        for start, end in waiting:
            await self._read_section(start, end, tasks)

    async def _read_section(self, start: int, end: int, tasks: asyncio.TaskGroup) -> None:
        memory = self._kept.memory
        if self._known_until(start) >= end:
            return
        single = None
        if memory.reading_mode is ReadingMode.SINGLE_PASS:
            single = SinglePass(
                memory.book,
                start,
                self._kept.size_at(start),
                self._engine,
                self._priority,
                memory.pauses,
                memory.focus,
            )
        at = start
        while at < end:
            if known := self._kept.entry_at(at):
                if single is not None:
                    await single.follow(known.page)
                at = known.page.end
                continue
            await self._under_way.begin()
            page, attempts, usage = await self._find_page(at, single)
            if start <= _next_text(memory):
                self._front += 1
                number = len(memory.entries) + self._front + memory.book.is_title(memory.read_until)
                self._tell(PageFound(Page(number, page.start, page.end, page.words)))
            tasks.create_task(self._shorten(page, attempts, usage))
            at = page.end

    def _known_until(self, start: int) -> int:
        """Where the pages end that are known from `start` on."""
        while known := self._kept.entry_at(start):
            start = known.page.end
        return start

    async def _find_page(self, start: int, single: SinglePass | None) -> tuple[Page, tuple[Attempt, ...], Usage]:
        if single is not None:
            return await single.next_page(start)
        memory = self._kept.memory
        beside = await longer_task(self._engine, memory.focus.template("gist"), "pagination", TOKENS_BESIDE)
        page, usage = await next_page(
            memory.book, start, self._kept.size_at(start), self._engine, self._priority, memory.pauses, beside
        )
        text = memory.text_of(page)
        return page, () if is_short(text) else await careful_attempts(text, self._engine, memory.focus), usage

    async def _shorten(self, page: Page, attempts: tuple[Attempt, ...], usage: Usage) -> None:
        """Make the gist and keep it. Ends what was begun when the page was looked for."""
        try:
            memory = self._kept.memory
            text = memory.text_of(page)
            gisted = await gist_page(
                text, self._engine, attempts, self._priority, task=memory.focus.task, guarded=memory.guarded
            )
        finally:
            self._under_way.end()
        self._read_more()
        self._faults[page.start] = gisted.faults
        for entry in self._kept.add(MemoryEntry(page, gisted.gist, usage + gisted.usage)):
            self._front = max(0, self._front - 1)
            self._tell(PageGisted(entry, self._faults.pop(entry.page.start, ())))
