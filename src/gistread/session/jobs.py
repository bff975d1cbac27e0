"""The long jobs of a session: reading the book and building artifacts. Stopping keeps everything finished."""

import time
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import replace

from gistread.engine.protocol import Engine, Priority
from gistread.memory.artifacts import ARTIFACTS, ArtifactModels
from gistread.memory.estimate import UNKNOWN_PACE, Pace, expected_pace, pace_of, seconds_to_read
from gistread.memory.guard import clean
from gistread.memory.model import GistMemory, Page
from gistread.memory.reading import PageAhead, PageFound, PageRead, ReadingPlan, characters_left, read_book
from gistread.memory.sizes import TOKENS_PER_WORD, measure_tokens_per_word
from gistread.memory.writer import MemoryWriter
from gistread.session.events import ActivityChanged, ArtifactGrown, ArtifactProgress, Notice, PageStarted, SessionEvent


class BookReading:
    def __init__(self, emit: Callable[[SessionEvent], None], place: Callable[[], int]) -> None:
        self._emit = emit
        self._place = place
        self.page: Page | None = None  # The next page, while its gist is being made
        self._drafts: dict[int, str] = {}  # By the start of their page
        self.seconds_left: float | None = None  # For the rest of the plan
        self.plan = ReadingPlan()
        self.tokens_per_word = TOKENS_PER_WORD  # Tokens per word of the book, measured once a model is loaded
        self._expected: Pace = UNKNOWN_PACE

    async def expect(self, writer: MemoryWriter, engine: Engine, past: Pace) -> None:
        """Estimate the time of the plan from the `past` pace of this model, or from its rates. Raises EngineError."""
        memory = writer.memory
        if not memory.complete:
            self.tokens_per_word = await measure_tokens_per_word(memory.book, engine)
        promised = expected_pace(engine.info, memory.method.mode, self.tokens_per_word)
        self._expected = promised if past == UNKNOWN_PACE else past
        self._estimate(writer)

    async def run(self, writer: MemoryWriter, engine: Engine) -> None:
        """Read according to the plan. Raises EngineError."""
        notice, found = writer.notice, list[Page]()
        self._drafts.clear()
        try:
            place = None if self.plan.alone else self._place
            async for event in read_book(writer, engine, plan=self.plan, place=place, on_draft=self._on_draft):
                match event:
                    case PageFound(page=page):
                        found.append(page)
                        if page.number:
                            self._emit(event)
                    case PageRead(entry=entry) | PageAhead(entry=entry):
                        found = [page for page in found if page.start != entry.page.start]
                        self._drafts.pop(entry.page.start, None)
                        self.page = None
                        self._estimate(writer)
                        self._emit(event)
                        self._emit(ActivityChanged())
                if writer.notice != notice:
                    notice = writer.notice
                    self._emit(Notice(notice, is_problem=True))
                if found and self.page is None:
                    self.page = found[0]
                    self._emit(PageStarted(self.page))
        finally:
            self.page = None

    @property
    def draft(self) -> str:
        """Text so far of the gist of `page`."""
        return clean(self._drafts.get(self.page.start, ""))[0] if self.page else ""

    def _on_draft(self, start: int, text: str) -> None:
        self._drafts[start] = text
        if self.page and self.page.start == start:
            self._emit(ActivityChanged())

    def _estimate(self, writer: MemoryWriter) -> None:
        pace = pace_of(writer.all_entries(), self._expected)
        self.seconds_left = seconds_to_read(writer.memory, pace, characters_left(writer, self.plan))


class Artifacts:
    def __init__(self, emit: Callable[[SessionEvent], None]) -> None:
        self._emit = emit
        self._wanted: dict[str, None] = {}
        self.paused = False  # Paused by the user
        self.progress: ArtifactProgress | None = None

    @property
    def due(self) -> bool:
        return bool(self._wanted) and not self.paused

    def want(self, *names: str) -> None:
        """Add these artifacts (`memory/artifacts.py`) to the queue."""
        self._wanted.update(dict.fromkeys(names))

    def forget(self) -> None:
        self._wanted.clear()
        self.paused = False
        self._set(None)

    def pause(self) -> None:
        """Pause until `resume`; progress stays visible."""
        self.paused = bool(self._wanted)
        self._set(replace(self.progress, paused=True, seconds_left=None) if self.progress else None)

    def resume(self) -> None:
        self.paused = False
        self._set(replace(self.progress, paused=False) if self.progress else None)

    async def run(self, memory: GistMemory, models: ArtifactModels) -> None:
        """Build the missing parts of all queued artifacts. Raises GistreadError."""
        try:
            while self._wanted:
                name = next(iter(self._wanted))
                await self._build(name, memory, models)
                self._wanted.pop(name, None)
        finally:
            if not self.paused:
                self._set(None)

    async def _build(self, name: str, memory: GistMemory, models: ArtifactModels) -> None:
        artifact = ARTIFACTS[name]
        left = await artifact.remaining(memory, models)
        if left.complete:
            return
        expected = left.seconds(models.engine.info)
        self._set(ArtifactProgress(name, left.done, left.total, expected))
        begun = time.monotonic()
        done = left.done
        async with aclosing(artifact.build(memory, models, Priority.BACKGROUND)) as growing:
            async for grown in growing:
                done = max(done, grown.done)
                built = done - left.done
                seconds = (time.monotonic() - begun) / built * max(0, grown.total - done) if built > 0 else expected
                self._set(ArtifactProgress(name, done, grown.total, seconds))
                self._emit(ArtifactGrown(name))

    def _set(self, progress: ArtifactProgress | None) -> None:
        if progress != self.progress:
            self.progress = progress
            self._emit(ActivityChanged())
