"""Reading along: its state, the memory shown, and the memory that the model continues."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from gistread.book.model import Book
from gistread.config import Config
from gistread.engine.protocol import EngineInfo
from gistread.errors import GistreadError, OutageError, StorageError
from gistread.memory.front_matter import StoryPart
from gistread.memory.guard import clean
from gistread.memory.model import (
    GistFocus,
    GistMemory,
    Page,
    ReadingMode,
    usual_reading_mode,
)
from gistread.memory.preset_detection import detect_preset
from gistread.memory.reading import PageFound, PageRead, characters_left, read_book
from gistread.memory.sizes import choose_size, expected_pace, pace_of, seconds_to_read
from gistread.memory.store import MemoryHeader, MemoryRequest, MemoryStore
from gistread.memory.writer import MemoryWriter
from gistread.presets import AUTO, find_preset
from gistread.readers.lookups import prepare
from gistread.readers.model_class import class_of
from gistread.session import events
from gistread.session.events import ReadingState, SessionEvent
from gistread.session.machine import UNDER_WAY, Signal, next_state
from gistread.session.models import ModelChecks, ModelPair
from gistread.store.pace import UNKNOWN_PACE, ModelPaces, Pace
from gistread.units import counted

# Pause before reading on after an outage, in seconds; doubled with each further one
_FIRST_RETRY_S = 15
_LONGEST_RETRY_S = 60
_DAMAGED = (
    "A memory of this book is damaged. The model reads its lost pages again "
    "when it reads along."
)


@dataclass(eq=False, repr=False)
class MemoryChoice:
    """Selects the memory for a model by the user's choice, the settings and the memories on disk.

    Reads the disk.
    """

    book: Book
    store: MemoryStore
    _config: Config
    _presets: Path  # Folder of the user's presets
    _task: str | None = None  # What the gists look for; None: as in the furthest memory
    _chosen: GistFocus | MemoryHeader | None = None
    # Whether to continue the model's own memory even if another is shown
    continues_own: bool = False

    def choose(self, focus_or_memory: GistFocus | MemoryHeader) -> None:
        self._chosen = focus_or_memory
        self.continues_own = True

    def memories(self) -> list[MemoryHeader]:
        return [header for header in self.store.find(self.book) if header.pages]

    def latest(self) -> GistMemory | None:
        """The furthest memory, if any. Raises StorageError."""
        headers = self.memories()
        if not headers:
            return None
        return self.store.load(self.book, headers[0])

    def open(self, info: EngineInfo) -> MemoryWriter:
        """Open the memory that this model continues.

        Raises StorageError, EngineError, UsageError.
        """
        chosen = self._chosen
        if not isinstance(chosen, MemoryHeader):
            focus = self._task if chosen is None else chosen
            return self.store.open(self.book, self.request(info, focus))
        # Before the chosen memory is reopened too: it raises if the window of the model is too
        # small to go on.
        request = self.request(info, chosen.focus)
        if chosen.fingerprint == info.fingerprint:
            writer = self.store.reopen(self.book, chosen)
            if writer is not None:
                return writer
        # Another model made it, or its prompts have changed since: a memory of the same kind.
        return self.store.open(self.book, request)

    def request(
        self, info: EngineInfo, chosen: GistFocus | str | None
    ) -> MemoryRequest:
        """The memory with this focus or task, by default the furthest.

        Raises StorageError, EngineError, UsageError.
        """
        config = self._config
        size = choose_size(
            self.book.words, info.context_tokens, config.min_words, config.max_words
        )
        model_memories = [
            header
            for header in self.memories()
            if header.fingerprint == info.fingerprint
        ]
        if config.reading:
            mode = ReadingMode(config.reading)
        elif model_memories:
            mode = model_memories[0].mode  # Of the furthest, to continue it
        else:
            mode = usual_reading_mode(info)
        focus = self._focus(model_memories, chosen)
        focus = replace(focus, wording=focus.wording or info.wording)
        return MemoryRequest(info.name, info.fingerprint, size, mode, focus)

    def _focus(
        self, model_memories: Sequence[MemoryHeader], chosen: GistFocus | str | None
    ) -> GistFocus:
        """The chosen focus, or one with the chosen task and the preset of the settings.

        If none is chosen, the focus of the furthest of `model_memories`, which this model has made,
        unless the settings name another preset.
        """
        if isinstance(chosen, GistFocus):
            return chosen
        task = chosen  # None: none is chosen
        preset = self._config.preset
        if model_memories:
            furthest = model_memories[0].focus
            if task is None and preset in (AUTO, furthest.preset.name):
                return furthest
            if preset == AUTO:
                return GistFocus(furthest.preset, task or "")
        if preset == AUTO:
            preset = detect_preset(self.book)
        return GistFocus(find_preset(preset, self._presets), task or "")

    def keeps_shown(self, shown: GistMemory | None, model_memory: GistMemory) -> bool:
        """Whether to keep the memory shown; `model_memory`: that of the model.

        Any model can answer over it, and rereading may take hours.
        """
        if isinstance(self._chosen, MemoryHeader):
            return not self._chosen.describes(model_memory)
        # The user has asked for the model's own memory, or it has begun one.
        if self.continues_own or model_memory.entries:
            return False
        if shown is None or not shown.entries:
            return False
        return shown.complete or shown.model_name != model_memory.model_name

    def note(self, shown: GistMemory | None, model_name: str) -> str:
        """A notice that the memory shown is kept, which `model_name` has not made.

        Empty if the user chose it, or if that model made it or none is shown.
        """
        is_chosen = isinstance(self._chosen, MemoryHeader)
        if is_chosen or shown is None or shown.model_name == model_name:
            return ""
        pages = counted(len(shown.read_entries), "page")
        return (
            f"{model_name} has not read this book; {shown.model_name} has, {pages}. "
            "Questions are asked over that memory."
        )


@dataclass(eq=False, repr=False)
class Reading:
    """The state of reading along, and its jobs.

    Its methods run as commands and jobs of the session's actor, except the properties.
    """

    choice: MemoryChoice
    models: ModelPair
    checks: ModelChecks
    _paces: ModelPaces
    _emit: Callable[[SessionEvent], None]
    _place: Callable[[], int]  # The offset whose chapter the model reads next
    _background: bool  # Start by itself, and report errors as notices only
    state: ReadingState = ReadingState.NO_MODEL
    failure: GistreadError | None = None
    # The memory shown, which questions are answered from
    memory: GistMemory | None = None
    # Of the memory that the model continues; None before it is loaded
    writer: MemoryWriter | None = None
    # The part of the book that a model reads
    _story: StoryPart = field(default_factory=StoryPart)
    page: Page | None = None  # The next page, while its gist is being made
    _drafts: dict[int, str] = field(default_factory=dict)  # By the start of their page
    seconds_left: float | None = None  # For the rest of the book
    prompt_due: bool = False  # The common beginning of questions is to be evaluated
    check_due: bool = False  # The model is to be checked
    paused_by_user: bool = False  # Now, or when the book was last open
    # Seconds until a server that failed is tried again; None: it is not
    retry_in_s: int | None = None
    _outages: int = 0  # Since the server last answered
    _checked: bool = False
    _expected: Pace = UNKNOWN_PACE  # Before anything of this book is read
    _end_reported: bool = True

    @property
    def has_pages(self) -> bool:
        return bool(self.memory and self.memory.entries)

    @property
    def pace(self) -> Pace:
        """How fast the model reads.

        As in earlier books or by its measured rates, then as in this one.
        """
        entries = self.writer.all_entries() if self.writer else ()
        return pace_of(entries, self._expected)

    @property
    def saves_pages(self) -> bool:
        return self.writer is not None and self.writer.file is not None

    @property
    def draft(self) -> str:
        """The unfinished gist of `page`; empty between two attempts."""
        if not self.page:
            return ""
        page_text = self.choice.book.text[self.page.start : self.page.end]
        draft, *_ = clean(self._drafts.get(self.page.start, ""), page_text)
        return draft

    def signal(self, signal: Signal) -> None:
        """Change the state as the signal says."""
        state = next_state(self.state, signal)
        if state is not self.state:
            self.state = state
            self._emit(events.ActivityChanged())

    def model_chosen(self, *, read: bool = True) -> None:
        self.paused_by_user = False
        self.signal(Signal.MODEL_CHOSEN)
        if read and self._background:
            self.signal(Signal.READ)

    def resume(self) -> None:
        """Start or continue reading, with the model's own memory."""
        self.paused_by_user = False
        self._outages = 0
        self._read_on()

    def _read_on(self) -> None:
        self._end_reported = False
        self.retry_in_s = None
        if self.state is ReadingState.OFFERED and self.writer is not None:
            self.choice.choose(self.writer.memory.focus)
        elif self.state is ReadingState.IDLE:
            self.choice.continues_own = True
        self.failure = None
        self.signal(Signal.READ)

    def pause(self) -> None:
        """Stop reading, also to wait for a server."""
        self.paused_by_user = True
        self.retry_in_s = None
        self.signal(Signal.PAUSE)
        self._emit(events.ActivityChanged())

    @property
    def waits_to_retry(self) -> bool:
        """Whether a server has failed, and is to be tried again by itself."""
        return self.state is ReadingState.FAILED and self.retry_in_s is not None

    async def wait_to_retry(self) -> None:
        """The job: count down to the next attempt, then read on."""
        while self.retry_in_s:
            await asyncio.sleep(1)
            self.retry_in_s -= 1
            self._emit(events.ActivityChanged())
        self.retry()

    def retry(self) -> None:
        """Read on after an outage, if reading waits for that."""
        if self.waits_to_retry:
            self._read_on()

    def report_end(self, *, preparing: bool) -> None:
        """Emit `ReadingEnded` once, when reading has ended."""
        has_ended = self.state not in UNDER_WAY and not preparing
        if has_ended and not self._end_reported:
            self._emit(events.ReadingEnded(self.state, self.failure))
        self._end_reported = has_ended

    async def use_memory(self, chosen: GistFocus | MemoryHeader) -> None:
        """Choose a focus to read with, or a memory to show. Its jobs must have stopped."""
        self.choice.choose(chosen)
        self.signal(Signal.MEMORY_CHOSEN)
        store = self.choice.store
        with self.reported():
            if isinstance(chosen, MemoryHeader):
                memory = await asyncio.to_thread(store.load, self.choice.book, chosen)
                self._show(memory)
            if self._background:
                self.signal(Signal.READ)

    async def show_saved_memory(self) -> None:
        """Show the furthest memory if none is shown; report a damaged one."""
        store = self.choice.store
        try:
            memory = await asyncio.to_thread(self.choice.latest)
            if memory is not None and self.memory is None:
                self._show(memory)
            if self._background:
                is_damaged = await asyncio.to_thread(store.is_damaged, self.choice.book)
                if is_damaged:
                    self._emit(events.Notice(_DAMAGED, is_problem=True))
        except GistreadError as error:
            self._emit(events.Notice(str(error), is_problem=True))

    def stop(self) -> None:
        """Close the memory of this model. Its jobs must have stopped."""
        self.failure = None
        self.retry_in_s = None
        self._outages = 0
        self.prompt_due = False
        if self.writer is not None:
            self.writer.close()
        self.writer = None

    def model_dropped(self) -> None:
        self.check_due = False
        self._checked = False
        self.signal(Signal.MODEL_DROPPED)

    # The jobs, and the commands after their ends

    async def load(self) -> None:
        """Load the reading model and open the memory that it continues. Raises GistreadError."""
        engine = await self.models.load_reading()
        if self.writer is None:
            self.writer = await asyncio.to_thread(self.choice.open, engine.info)
            if self.writer.notice:
                self._emit(events.Notice(self.writer.notice))
        memory = self.writer.memory
        self._story = StoryPart.of(memory.book)
        self._expected = expected_pace(engine.info, memory.mode)
        with suppress(StorageError):
            learned = await asyncio.to_thread(
                self._paces.pace, engine.info.fingerprint, memory.mode.value
            )
            # What earlier books have shown is better than the rates of the engine.
            if learned is not None:
                self._expected = learned
        self._estimate(self.writer)

    def model_loaded(self, *, answering_apart: bool) -> None:
        """Continue the memory of the model just loaded, or keep the one shown.

        `answering_apart`: whether another model is answering a question now.
        """
        assert self.writer is not None
        model_memory = self.writer.memory
        if self.choice.keeps_shown(self.memory, model_memory):
            # Another model made the memory shown; this one reads only when resumed.
            self.signal(Signal.OPENED_OTHER)
            if note := self.choice.note(self.memory, model_memory.model_name):
                self._emit(events.Notice(note))
        elif answering_apart:
            # Keep the memory shown until the answer is complete.
            self.signal(Signal.YIELD)
        else:
            if self.memory is not model_memory:
                self._show(model_memory)
            pages_read = len(self.writer.all_entries())
            self._emit(events.ReadingStarted(pages_read, self.seconds_left))
            if model_memory.complete:
                self._complete()
            else:
                self.signal(Signal.OPENED)

    async def read(self) -> None:
        """Read the rest of the book. Raises EngineError."""
        engine = await self.models.load_reading()
        writer = self.writer
        assert writer is not None
        notice = writer.notice
        unread: dict[int, Page] = {}  # Pages found but not read yet, by their start
        # Of the pages read by this job, for the pace
        words = 0.0
        seconds = 0.0
        self._drafts.clear()
        reading = read_book(writer, engine, place=self._place, on_draft=self._on_draft)
        try:
            async for event in reading:
                match event:
                    case PageFound(page=page):
                        unread[page.start] = page
                        self._emit(event)
                    case PageRead(entry=entry):
                        unread.pop(entry.page.start, None)
                        words += entry.page.words
                        seconds += entry.usage.seconds
                        self._page_read(event, writer)
                if writer.notice != notice:
                    notice = writer.notice
                    self._emit(events.Notice(notice, is_problem=True))
                if unread and self.page is None:
                    self._start_page(next(iter(unread.values())))
        finally:
            self.page = None
            if seconds:
                mode = writer.memory.mode.value
                fingerprint = engine.info.fingerprint
                with suppress(StorageError):
                    await asyncio.to_thread(
                        self._paces.add, fingerprint, mode, words, seconds
                    )

    def _page_read(self, event: PageRead, writer: MemoryWriter) -> None:
        """Report a page that has been read; the next one is not chosen yet."""
        self._drafts.pop(event.entry.page.start, None)
        self.page = None
        self._outages = 0  # The server answers again.
        self._estimate(writer)
        # The check waits for the first page, so that reading begins at once.
        self.check_due = not self._checked
        self._emit(event)
        self._emit(events.ActivityChanged())

    def _start_page(self, page: Page) -> None:
        """Show a page as the next one, whose gist is being made."""
        self.page = page
        self._emit(events.PageStarted(page))

    def end_reached(self) -> None:
        """Every page has been read: the job `read` has ended by itself."""
        self._complete()
        self._emit(events.MemoryComplete())

    async def prepare(self) -> None:
        """Evaluate the common beginning of all questions to a model that looks pages up."""
        assert self.memory is not None
        # If it fails, the first question only takes longer.
        with suppress(GistreadError):
            engine = await self.models.load_reading()
            check = await self.checks.stored(engine.info)
            if class_of(engine.info, check).looks_up:
                await prepare(self.memory, engine)

    async def check(self) -> None:
        """Check the model, and report the result."""
        result = await self.checks.check(self.models.reading)
        if result:
            self._emit(events.Notice(f"{self.models.reading.name}: {result.line}."))

    def check_ended(self, error: Exception | None) -> None:
        """The job `check` has ended; after an error the next page makes it due again."""
        self._checked = error is None
        self.check_due = False

    def fail(self, error: GistreadError) -> None:
        """Stop reading with this error until `resume`; after an outage, for some seconds."""
        self.failure = error
        self.signal(Signal.FAIL)
        is_known = isinstance(error, OutageError) and self._outages > 0
        if self._background and isinstance(error, OutageError):
            doubled_s = _FIRST_RETRY_S * 2**self._outages
            self.retry_in_s = min(_LONGEST_RETRY_S, doubled_s)
            self._outages += 1
        # In the background nobody awaits reading; otherwise its caller gets the error.
        if self._background and not is_known:
            self._emit(events.Notice(str(error), is_problem=True))
        self._emit(events.ActivityChanged())

    @contextmanager
    def reported(self) -> Iterator[None]:
        """Report an error as `fail` does, and raise it unless reading is in the background."""
        try:
            yield
        except GistreadError as error:
            self.fail(error)
            if not self._background:
                raise

    def _complete(self) -> None:
        self.signal(Signal.COMPLETE)
        # The state of the prompt would be in a model that answers no questions.
        self.prompt_due = not self.models.apart

    def _show(self, memory: GistMemory) -> None:
        self.memory = memory
        self._emit(events.MemoryOpened(memory))

    def _on_draft(self, start: int, text: str) -> None:
        """Note the unfinished gist of the page that begins at `start`."""
        self._drafts[start] = text
        if self.page and self.page.start == start:
            self._emit(events.ActivityChanged())

    def _estimate(self, writer: MemoryWriter) -> None:
        characters = characters_left(writer, self._story)
        self.seconds_left = seconds_to_read(writer.memory, self.pace, characters)
