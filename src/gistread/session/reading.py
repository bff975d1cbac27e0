"""Reads one book with one model, page by page; a stop keeps every finished page."""

from collections.abc import Callable

from gistread.engine.protocol import Engine, Priority
from gistread.memory.estimate import UNKNOWN_PACE, Pace, expected_pace, pace_of, seconds_to_read
from gistread.memory.model import Page
from gistread.memory.reading import PageAhead, PageFound, PageRead, ReadingPlan, characters_left, read_book
from gistread.memory.sizes import TOKENS_PER_WORD, measure_tokens_per_word
from gistread.memory.writer import MemoryWriter
from gistread.session.events import ActivityChanged, Notice, PageStarted, SessionEvent


class BookReading:
    def __init__(self, tell: Callable[[SessionEvent], None]) -> None:
        self._tell = tell
        self.page: Page | None = None  # The next page, while its gist is being made
        self.seconds_left: float | None = None  # For what is left of the plan
        self.plan = ReadingPlan()
        self.tokens_per_word = TOKENS_PER_WORD  # Tokens per word of the book, measured once a model is loaded
        self._expected: Pace = UNKNOWN_PACE

    async def expect(self, writer: MemoryWriter, engine: Engine) -> None:
        """Estimate how long the plan takes. Raises EngineError."""
        memory = writer.memory
        if not memory.complete:
            self.tokens_per_word = await measure_tokens_per_word(memory.book, engine)
        self._expected = expected_pace(engine.info, memory.method.mode, self.tokens_per_word)
        self._estimate(writer)

    async def run(self, writer: MemoryWriter, engine: Engine) -> None:
        """Read what is planned. Raises EngineError."""
        notice, found = writer.notice, list[Page]()
        try:
            async for event in read_book(writer, engine, priority=Priority.BACKGROUND, plan=self.plan):
                match event:
                    case PageFound(page=page):
                        found.append(page)
                        if page.number:
                            self._tell(event)
                    case PageRead(entry=entry) | PageAhead(entry=entry):
                        found = [page for page in found if page.start != entry.page.start]
                        self.page = None
                        self._estimate(writer)
                        self._tell(event)
                        self._tell(ActivityChanged())
                if writer.notice != notice:
                    notice = writer.notice
                    self._tell(Notice(notice, is_problem=True))
                if found and self.page is None:
                    self.page = found[0]
                    self._tell(PageStarted(self.page))
        finally:
            self.page = None

    def _estimate(self, writer: MemoryWriter) -> None:
        pace = pace_of(writer.all_entries(), self._expected)
        self.seconds_left = seconds_to_read(writer.memory, pace, characters_left(writer, self.plan))
