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
from gistread.memory.gisting import (
    Attempt,
    GistResult,
    careful_attempts,
    gist_page,
    is_short,
)
from gistread.memory.guard import Fault, told_before
from gistread.memory.model import GistSource, MemoryEntry, Page, ReadingMode
from gistread.memory.pagination import chapter_end, next_page
from gistread.memory.prose import prose_of
from gistread.memory.single_pass import PageToGist, SinglePass
from gistread.memory.writer import MemoryWriter

# One chapter keeps so many parallel requests busy: pages are found faster than they are gisted.
_REQUESTS_PER_CHAPTER = 8
# The same on a server, where one page is found while another is gisted
_REMOTE_REQUESTS_PER_CHAPTER = 2
_PAGES_AT_FIRST = 1  # Pages that may be found and gisted at once
_PAGES_MORE = 2  # Added after each finished page
# No second attempts at gists are made if fewer than this share of them pass: of 32 second
# attempts over growing text by models of 0.5 and 1.5 billion parameters, 4 passed.
_SECOND_PAYS = 1 / 3


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
        attempts_failed = len(self.faults)
        if self.entry.gist.source is GistSource.EXTRACTIVE:
            # After the last attempt it was not asked again.
            return max(0, attempts_failed - 1)
        return attempts_failed


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
    # None when reading has ended
    events: asyncio.Queue[PageEvent | None] = asyncio.Queue()
    reading = _Reading(writer, engine, events.put_nowait, on_draft, place)
    task = asyncio.create_task(reading.run(), name="read-book")
    task.add_done_callback(lambda _: events.put_nowait(None))
    try:
        while (event := await events.get()) is not None:
            yield event
        await task
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def characters_left(writer: MemoryWriter, story: StoryPart) -> int:
    """Characters of the story that the model has not read yet."""
    start = first_section(writer, story.start)
    end = len(writer.memory.book.text) if story.end is None else story.end
    pages = (entry.page for entry in writer.all_entries())
    characters_read = sum(
        page.end - page.start for page in pages if start <= page.start < end
    )
    return max(0, end - start - characters_read)


def first_section(writer: MemoryWriter, story_start: int) -> int:
    """Offset where the model begins: `story_start`, the end of the front matter.

    0 if a page lies across that offset: a model has read the front matter too.
    """
    starts_page = writer.entry_at(story_start) is not None
    is_within_page = writer.covers(story_start) and not starts_page
    return 0 if is_within_page else story_start


@dataclass(eq=False, repr=False)
class _Reading:
    """One run over the chapters that are not read yet."""

    writer: MemoryWriter
    engine: Engine
    emit: Callable[[PageEvent], None]
    on_draft: OnDraft
    place: Callable[[], int]

    def __post_init__(self) -> None:
        self._memory = self.writer.memory
        book = self._memory.book
        # Without titles of later volumes: a gist that names one would tell what a bound hides.
        self._book = book.upto(len(book.text)) if book.volumes else book
        self._tasks = asyncio.TaskGroup()  # Chapters being read and gists being made
        # Chapters with their headings that are not being read
        self._waiting: list[tuple[int, int]] = []
        self._gisting: dict[int, Page] = {}  # Pages whose gist is being made, by start
        # Gists of pages found in this run, by the end of the page
        self._gists: dict[int, asyncio.Future[str]] = {}
        # Limits pages being found and gisted. It grows with each finished page, so that the first
        # gist comes soon.
        self._pages = asyncio.Semaphore(_PAGES_AT_FIRST)
        self._pages_to_add = self.engine.info.parallel - _PAGES_AT_FIRST
        self._chapters = 0  # Number of chapters being read
        self._second_attempts = 0
        self._second_passed = 0
        # Faults of finished gists by the start of their page, until they are reported
        self._faults: dict[int, tuple[Fault, ...]] = {}

    async def run(self) -> None:
        """Add the front matter, read all waiting chapters, then add the imprint."""
        book = self._memory.book
        story_start = first_section(self.writer, front_matter_end(book))
        self._add_front_matter(story_start)
        imprint = max(story_start, imprint_start(book))
        start = story_start
        while start < imprint:
            end = chapter_end(book, start)
            if self._known_until(start) < end:
                self._waiting.append((start, end))
            start = end
        try:
            async with self._tasks:
                self._start_chapters()
        except BaseExceptionGroup as group:
            raise group.exceptions[0] from None
        known_end = self._known_until(imprint)
        if known_end < len(book.text):
            self._add_without_model(known_end, len(book.text))

    def _add_front_matter(self, story_start: int) -> None:
        """Add the front matter, up to a page that was read before, if it is not known yet."""
        known_end = self._known_until(0)
        if known_end < story_start:
            next_start = self.writer.next_start(known_end) or story_start
            self._add_without_model(known_end, min(story_start, next_start))

    def _add_without_model(self, start: int, end: int) -> None:
        """Add the pages of front matter or of the imprint, which the model does not read."""
        most_words = self._memory.size.max_words
        for entry in front_matter_entries(self._memory.book, start, end, most_words):
            self._add(entry)

    def _start_chapters(self) -> None:
        """Start to read as many chapters as keep the engine busy."""
        info = self.engine.info
        requests = _REQUESTS_PER_CHAPTER
        if info.is_remote:
            requests = _REMOTE_REQUESTS_PER_CHAPTER
        while self._chapters < max(1, info.parallel // requests):
            self._chapters += 1
            self._tasks.create_task(self._read_sections())

    async def _read_sections(self) -> None:
        """Read the waiting chapters one after the other, beginning at the user's place."""
        while self._waiting:
            place = self.place()
            from_here_on = [(start, end) for start, end in self._waiting if end > place]
            chapter = min(from_here_on or self._waiting)
            self._waiting.remove(chapter)
            await self._read_section(*chapter)

    def _is_awaited_elsewhere(self) -> bool:
        """Whether the chapter at the user's place waits to be read."""
        place = self.place()
        return any(
            start <= place < end and self._known_until(start) < end
            for start, end in self._waiting
        )

    async def _read_section(self, start: int, end: int) -> None:
        """Find the pages of a chapter, unless the user waits for another one."""
        memory = self._memory
        if self._known_until(start) >= end:
            return
        single_pass: SinglePass | None = None
        if memory.mode is ReadingMode.SINGLE_PASS:
            single_pass = SinglePass(
                self._book, start, memory.size, self.engine, memory.focus
            )
        page_start = start
        while page_start < end:
            known_page = self._known_page(page_start)
            if known_page is not None:
                if single_pass is not None:
                    await single_pass.skip_page(known_page)
                page_start = known_page.end
                continue
            await self._pages.acquire()
            if self._is_awaited_elsewhere():
                self._pages.release()
                self._waiting.append((start, end))
                return
            find = single_pass.next_page if single_pass else self._find_page
            next_start = self.writer.next_start(page_start)
            page_to_gist = await find(page_start, next_start)
            self._start_gist(page_to_gist)
            page_start = page_to_gist.page.end

    def _known_page(self, start: int) -> Page | None:
        """The page at `start` that was read or is being gisted."""
        known = self.writer.entry_at(start)
        if known is not None:
            return known.page
        return self._gisting.get(start)

    def _start_gist(self, page_to_gist: PageToGist) -> None:
        """Make the gist of a page in a task."""
        page = page_to_gist.page
        self._gisting[page.start] = page
        self._gists[page.end] = asyncio.get_running_loop().create_future()
        self.emit(PageFound(replace(page, number=self._number_of(page))))
        self._tasks.create_task(self._gist(page_to_gist))

    def _number_of(self, page: Page) -> int:
        """The number that a page will have when its gist is made."""
        memory = self._memory
        unread = memory.page_at(page.start)
        if unread is not None:
            return unread.number
        # It follows the last page read, and the pages between that are being gisted.
        new_pages = sum(
            memory.read_until <= start <= page.start for start in self._gisting
        )
        return len(memory.entries) + new_pages

    def _known_until(self, start: int) -> int:
        """The offset up to which pages from `start` on were read without a gap."""
        while known := self.writer.entry_at(start):
            start = known.page.end
        return start

    def _text_of(self, page: Page) -> str:
        return self._book.text[page.start : page.end].strip()

    async def _find_page(self, start: int, next_start: int | None) -> PageToGist:
        """Find a page for careful reading."""
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
        is_single_pass = self._memory.mode is ReadingMode.SINGLE_PASS
        if not is_single_pass or not self.engine.info.is_remote:
            return ""
        chapter = self._book.chapters[self._book.chapter_index(page.start)]
        if page.start == chapter.start:
            return ""
        gist = self._gists.get(page.start)
        if gist is not None:
            return await asyncio.shield(gist)
        for entry in self.writer.all_entries():
            if entry.page.end == page.start:
                return entry.gist.text
        return ""

    async def _gist(self, page_to_gist: PageToGist) -> None:
        """Make the gist of a page, and add both to the memory."""
        page = page_to_gist.page
        gist_before = await self._gist_before(page)
        attempts = await asyncio.to_thread(page_to_gist.attempts_after, gist_before)
        least_passed = int(_SECOND_PAYS * self._second_attempts)
        if self._second_passed < least_passed:
            attempts = attempts[:1]
        wording = self.engine.info.wording
        try:
            result = await gist_page(
                self._text_of(page),
                self.engine,
                attempts,
                Priority.BACKGROUND,
                task=self._memory.focus.task,
                told_before=told_before(self._book.text, page.start, wording),
                prose=prose_of(self._book, page.start, page.end),
                on_draft=partial(self.on_draft, page.start),
            )
        finally:
            del self._gisting[page.start]
            self._let_more_pages_in()
        self._start_chapters()
        if len(attempts) > 1:
            self._count_second_attempt(result)
        self._faults[page.start] = result.faults
        usage = page_to_gist.usage + result.usage
        if self.engine.info.is_remote:
            # A server reads several pages at once, so each takes a share of the time.
            at_once = 1 + len(self._gisting)
            usage = replace(usage, seconds=usage.seconds / at_once)
        self._add(MemoryEntry(page, result.gist, usage))
        self._gists[page.end].set_result(result.gist.text)

    def _count_second_attempt(self, result: GistResult) -> None:
        """Count the second attempt at a gist, if there was one, and whether it passed."""
        if result.faults:
            self._second_attempts += 1
            if result.gist.source is not GistSource.EXTRACTIVE:
                self._second_passed += 1

    def _let_more_pages_in(self) -> None:
        """Let as many pages in as have ended, and some more until the engine is busy."""
        more = min(_PAGES_MORE, self._pages_to_add)
        self._pages_to_add -= more
        for _ in range(1 + more):
            self._pages.release()

    def _add(self, entry: MemoryEntry) -> None:
        """Save and report a page."""
        numbered = self.writer.add(entry)
        faults = self._faults.pop(entry.page.start, ())
        self.emit(PageRead(numbered, faults))
