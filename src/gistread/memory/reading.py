"""Reads a book with a model: finds, gists and stores page after page, as a stream of events.

Chapters are independent. Reading may begin with any of them, and several are read at once if the
engine runs requests in parallel. Within a chapter, the gist of a page is made while the next page
is being found. Reading can be stopped at any moment by cancelling the task or killing the process,
and resumes where it stopped. Prompts depend only on the book, the page size and the earlier pages
of the chapter, not on the order of chapters.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass, replace
from functools import partial

from gistread.engine.protocol import Engine, Priority
from gistread.memory.front_matter import (
    StoryPart,
    front_matter_end,
    front_matter_entries,
    imprint_start,
)
from gistread.memory.gisting import Attempt, careful_attempts, gist_page, is_short
from gistread.memory.guard import Fault, told_before
from gistread.memory.model import GistSource, MemoryEntry, Page, ReadingMode
from gistread.memory.pagination import chapter_end, next_page
from gistread.memory.prose import prose_of
from gistread.memory.single_pass import PageToGist, SinglePass
from gistread.memory.writer import MemoryWriter

# Parallel requests that one chapter keeps busy: pages are found faster than they are gisted
_REQUESTS_PER_CHAPTER = 8
# On a server, where one page is found while another is gisted
_REMOTE_REQUESTS_PER_CHAPTER = 2
_PAGES_AT_FIRST = 1
_PAGES_MORE = 2
# Second attempts at gists end if fewer than this share of them pass
_SECOND_PAYS = 1 / 6


@dataclass(frozen=True, slots=True)
class PageFound:
    """The page is known, and its gist is being made."""

    page: Page


@dataclass(frozen=True, slots=True)
class PageRead:
    """The page has joined the memory, and is on disk unless writing failed."""

    entry: MemoryEntry
    # Faults of the model's rejected attempts at this gist
    faults: tuple[Fault, ...] = ()

    @property
    def retries(self) -> int:
        """How often the model was asked again."""
        return max(
            0, len(self.faults) - (self.entry.gist.source is GistSource.EXTRACTIVE)
        )


PageEvent = PageFound | PageRead
OnDraft = Callable[[int, str], None]


async def read_book(
    writer: MemoryWriter,
    engine: Engine,
    *,
    place: Callable[[], int] = lambda: 0,
    on_draft: OnDraft = lambda _, __: None,
) -> AsyncGenerator[PageEvent, None]:
    """Read the chapters, without front matter.

    `place` is called before each page: the chapter at this offset is read next, then those after
    it. `on_draft` gets the start of a page and the text so far of its gist, empty after a rejected
    attempt. Raises EngineError, also when no page fits the window.
    """
    events: asyncio.Queue[PageEvent | None] = asyncio.Queue()
    reading = asyncio.create_task(
        _Reading(writer, engine, events.put_nowait, on_draft, place).run(),
        name="read-book",
    )
    reading.add_done_callback(lambda _: events.put_nowait(None))
    try:
        while (event := await events.get()) is not None:
            yield event
        await reading
    finally:
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)


def characters_left(writer: MemoryWriter, story: StoryPart) -> int:
    """Characters that the model has still to read: no front matter, no imprint."""
    start = first_section(writer, story.start)
    end = len(writer.memory.book.text) if story.end is None else story.end
    pages = (entry.page for entry in writer.all_entries())
    read = sum(page.end - page.start for page in pages if start <= page.start < end)
    return max(0, end - start - read)


def first_section(writer: MemoryWriter, story_start: int) -> int:
    """Offset where the model begins.

    That is `story_start`, the end of the front matter, unless a model has read that already.
    """
    is_between_pages = writer.entry_at(story_start) or not writer.covers(story_start)
    return story_start if is_between_pages else 0


@dataclass(eq=False, repr=False)
class _Reading:
    writer: MemoryWriter
    engine: Engine
    emit: Callable[[PageEvent], None]
    on_draft: OnDraft
    place: Callable[[], int]

    def __post_init__(self) -> None:
        self._memory, book = self.writer.memory, self.writer.memory.book
        # As read: a gist that names the title of a later volume would tell what a bound hides.
        self._book = book.upto(len(book.text)) if book.volumes else book
        self._tasks = asyncio.TaskGroup()  # Chapters being read and gists being made
        # Chapters with their headings that are not being read
        self._waiting: list[tuple[int, int]] = []
        self._gisting: dict[int, Page] = {}  # Pages whose gist is being made, by start
        # Gists of pages found in this run, by the end of the page.
        self._gists: dict[int, asyncio.Future[str]] = {}
        # Limits pages being found and gisted. It grows with each finished page, so that the first
        # gist comes soon.
        self._pages = asyncio.Semaphore(_PAGES_AT_FIRST)
        self._pages_to_add = self.engine.info.parallel - _PAGES_AT_FIRST
        self._chapters = 0  # Chapters being read
        # Second attempts made, and those that passed
        self._second = self._second_passed = 0
        # Faults of finished gists by the start of their page, until they are reported.
        self._faults: dict[int, tuple[Fault, ...]] = {}

    async def run(self) -> None:
        memory = self._memory
        begin = first_section(self.writer, front_matter_end(memory.book))
        unread = self._known_until(0)
        if unread < begin:
            end = min(begin, self.writer.next_start(unread) or begin)
            for entry in front_matter_entries(
                memory.book, unread, end, memory.size.max_words
            ):
                self._add(entry)
        imprint = max(begin, imprint_start(memory.book))
        while begin < imprint:
            end = chapter_end(memory.book, begin)
            if self._known_until(begin) < end:
                self._waiting.append((begin, end))
            begin = end
        try:
            async with self._tasks:
                self._start_chapters()
        except BaseExceptionGroup as group:
            raise group.exceptions[0] from None
        self._add_imprint(imprint)

    def _add_imprint(self, start: int) -> None:
        """Add the imprint at the end of the book, which no model reads."""
        book = self._memory.book
        unread = self._known_until(start)
        if unread < len(book.text):
            entries = front_matter_entries(
                book, unread, len(book.text), self._memory.size.max_words
            )
            for entry in entries:
                self._add(entry)

    def _start_chapters(self) -> None:
        info = self.engine.info
        requests = (
            _REMOTE_REQUESTS_PER_CHAPTER if info.is_remote else _REQUESTS_PER_CHAPTER
        )
        while self._chapters < max(1, info.parallel // requests):
            self._chapters += 1
            self._tasks.create_task(self._read_sections())

    async def _read_sections(self) -> None:
        while self._waiting:
            place = self.place()
            section = min(
                self._waiting, key=lambda waiting: (waiting[1] <= place, waiting[0])
            )
            self._waiting.remove(section)
            await self._read_section(*section)

    def _is_awaited_elsewhere(self) -> bool:
        """Whether the chapter at the user's place waits to be read."""
        place = self.place()
        return any(
            start <= place < end and self._known_until(start) < end
            for start, end in self._waiting
        )

    async def _read_section(self, start: int, end: int) -> None:
        memory = self._memory
        if self._known_until(start) >= end:
            return
        is_single = memory.mode is ReadingMode.SINGLE_PASS
        if is_single:
            single_pass = SinglePass(
                self._book, start, memory.size, self.engine, memory.focus
            )
        else:
            single_pass = None
        at = start
        while at < end:
            known = self.writer.entry_at(at)
            if page := known.page if known else self._gisting.get(at):
                if single_pass is not None:
                    await single_pass.skip_page(page)
                at = page.end
                continue
            await self._pages.acquire()
            if self._is_awaited_elsewhere():
                self._pages.release()
                self._waiting.append((start, end))
                return
            find = single_pass.next_page if single_pass else self._find_page
            page_to_gist = await find(at, self.writer.next_start(at))
            page = page_to_gist.page
            self._gisting[page.start] = page
            self._gists[page.end] = asyncio.get_running_loop().create_future()
            self.emit(PageFound(replace(page, number=self._number_of(page))))
            self._tasks.create_task(self._gist(page_to_gist))
            at = page.end

    def _number_of(self, page: Page) -> int:
        """The number that a page under way will have."""
        memory = self._memory
        if (unread := memory.page_at(page.start)) is not None:
            return unread.number
        new = sum(memory.read_until <= start <= page.start for start in self._gisting)
        return len(memory.entries) + new

    def _known_until(self, start: int) -> int:
        while known := self.writer.entry_at(start):
            start = known.page.end
        return start

    def _text_of(self, page: Page) -> str:
        return self._book.text[page.start : page.end].strip()

    async def _find_page(self, start: int, next_start: int | None) -> PageToGist:
        memory = self._memory
        page, usage = await next_page(
            self._book, start, memory.size, self.engine, memory.focus, next_start
        )
        text = self._text_of(page)
        attempts: tuple[Attempt, ...] = ()
        if not is_short(text):
            attempts = await careful_attempts(text, self.engine, memory.focus)
        return PageToGist(page, lambda _: attempts, usage)

    async def _gist_before(self, page: Page) -> str:
        """The gist of the page before in the same chapter, once it is made; empty without one.

        A model on this machine makes several gists of a chapter at once, and does not wait for it.
        """
        is_used = (
            self._memory.mode is ReadingMode.SINGLE_PASS and self.engine.info.is_remote
        )
        chapter = self._book.chapters[self._book.chapter_index(page.start)]
        if not is_used or page.start == chapter.start:
            return ""
        if (gist := self._gists.get(page.start)) is not None:
            return await asyncio.shield(gist)
        entries = self.writer.all_entries()
        return next(
            (entry.gist.text for entry in entries if entry.page.end == page.start), ""
        )

    async def _gist(self, page_to_gist: PageToGist) -> None:
        page = page_to_gist.page
        gist_before = await self._gist_before(page)
        attempts = await asyncio.to_thread(page_to_gist.attempts_after, gist_before)
        if self._second_passed < int(_SECOND_PAYS * self._second):
            attempts = attempts[:1]
        text = self._text_of(page)
        try:
            result = await gist_page(
                text,
                self.engine,
                attempts,
                Priority.BACKGROUND,
                task=self._memory.focus.task,
                told_before=told_before(
                    self._book.text, page.start, self.engine.info.wording
                ),
                prose=prose_of(self._book, page.start, page.end),
                on_draft=partial(self.on_draft, page.start),
            )
        finally:
            del self._gisting[page.start]
            more = min(_PAGES_MORE, self._pages_to_add)
            self._pages_to_add -= more
            for _ in range(1 + more):
                self._pages.release()
        self._start_chapters()
        if result.faults and len(attempts) > 1:
            self._second += 1
            self._second_passed += result.gist.source is not GistSource.EXTRACTIVE
        self._faults[page.start] = result.faults
        usage = page_to_gist.usage + result.usage
        if self.engine.info.is_remote:
            # Pages at a server are read side by side, so each takes a share of the time
            usage = replace(usage, seconds=usage.seconds / (1 + len(self._gisting)))
        self._add(MemoryEntry(page, result.gist, usage))
        self._gists[page.end].set_result(result.gist.text)

    def _add(self, entry: MemoryEntry) -> None:
        self.emit(
            PageRead(self.writer.add(entry), self._faults.pop(entry.page.start, ()))
        )
