"""The reading of the book by the model, as one task that can be paused and taken up again.

Every page is on disk before it is told of, so pausing is cancelling. Knows no widgets and no questions.
"""

import asyncio
import contextlib
from collections.abc import Callable

from gistread.engine.protocol import Engine, Priority
from gistread.errors import GistreadError
from gistread.memory.estimate import UNKNOWN_PACE, estimate, expected_pace, pace_of
from gistread.memory.model import GistMemory, Page
from gistread.memory.reading import Finished, PageFound, PageGisted, Resumed, read_book
from gistread.memory.sizes import TOKENS_PER_WORD, measure_tokens_per_word
from gistread.memory.writer import MemoryWriter
from gistread.readers.lookups import prepare
from gistread.session.events import (
    ActivityChanged,
    Crashed,
    MemoryComplete,
    Notice,
    PageRead,
    PageStarted,
    ReadingState,
    SessionEvent,
)


class ReadingTask:
    """Owns the task; the memory and the engine belong to the session."""

    def __init__(self, tell: Callable[[SessionEvent], None]) -> None:
        self._tell = tell
        self._task: asyncio.Task[None] | None = None
        self.state = ReadingState.NO_MODEL
        self.problem = ""
        self.page: Page | None = None
        """The next page of the memory, being shortened, when its bounds are known."""
        self._found: list[Page] = []
        self.seconds_left: float | None = None
        self._expected = UNKNOWN_PACE
        self.tokens_per_word = TOKENS_PER_WORD
        """Of the book, once the model has been seen to count it."""

    def start(
        self, kept: MemoryWriter, engine: Engine, then: Callable[[], None], *, prepare_questions: bool = True
    ) -> None:
        """Read on where the memory ends, and call `then` when the whole book has been read. Not while it is running.

        `prepare_questions`: the same engine will be asked over the memory.
        """
        self.problem = ""
        self._expected = expected_pace(engine.info, kept.memory.method.mode, self.tokens_per_word)
        self._estimate(kept.memory)
        self._set(ReadingState.DONE if kept.memory.complete else ReadingState.RUNNING)
        self._task = asyncio.create_task(self._run(kept, engine, then, prepare_questions), name="reading")

    def offer(self) -> None:
        """Do not begin by itself."""
        self._set(ReadingState.OFFERED)

    async def hold(self) -> None:
        """Stop at once, for as long as another model answers a question."""
        if self._task is not None and not self._task.done():
            await self.stop(ReadingState.WAITING)

    async def stop(self, state: ReadingState = ReadingState.PAUSED) -> None:
        """Stop at once; what is whole is kept."""
        task, self._task = self._task, None
        if task is not None and not task.done():
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        if self.state is ReadingState.RUNNING or state is ReadingState.NO_MODEL:
            self._set(state)

    async def _run(self, kept: MemoryWriter, engine: Engine, then: Callable[[], None], prepare_questions: bool) -> None:
        notice = kept.notice
        try:
            await self._expect(kept.memory, engine)
            async for event in read_book(kept, engine, priority=Priority.BACKGROUND):
                match event:
                    case Resumed():
                        self._tell(ActivityChanged())
                    case PageFound(page=page):
                        self._found.append(page)
                        if len(self._found) == 1:
                            self._begin_next()
                    case PageGisted(entry=entry):
                        self._found = [page for page in self._found if page.start >= entry.page.end]
                        self.page = None
                        self._estimate(kept.memory)
                        self._tell(PageRead(entry))
                        self._begin_next()
                        if kept.notice != notice:
                            notice = kept.notice
                            self._tell(Notice(notice, is_problem=True))
                    case Finished() if self.state is ReadingState.RUNNING:
                        self._set(ReadingState.DONE)
                        self._tell(MemoryComplete())
            if prepare_questions:
                with contextlib.suppress(GistreadError):  # Then the first question takes its time.
                    await prepare(kept.memory, engine)
            then()
        except GistreadError as error:
            self.problem = str(error).replace("\n", " ")
            self._set(ReadingState.FAILED)
        except Exception as error:
            self._set(ReadingState.FAILED)
            self._tell(Crashed(error))
        finally:
            self.page = None
            self._found = []

    def _begin_next(self) -> None:
        if self._found:
            self.page = self._found[0]
            self._tell(PageStarted(self.page))

    async def _expect(self, memory: GistMemory, engine: Engine) -> None:
        """The pace by what this model makes of the words of this book."""
        if memory.complete:
            return
        self.tokens_per_word = await measure_tokens_per_word(memory.book, engine)
        self._expected = expected_pace(engine.info, memory.method.mode, self.tokens_per_word)
        self._estimate(memory)
        self._tell(ActivityChanged())

    def _estimate(self, memory: GistMemory) -> None:
        self.seconds_left = estimate(memory, pace_of(memory, self._expected)).seconds_left

    def _set(self, state: ReadingState) -> None:
        self.state = state
        self._tell(ActivityChanged())
