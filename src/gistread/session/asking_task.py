"""One question at a time, as a task that the person steers while it runs. Knows no widgets.

The question waits for the model and for the first page where these are on their way; where they are not, the
session has said so before anything starts.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace

from gistread.engine.protocol import Embedder, Engine
from gistread.errors import GistreadError
from gistread.memory.model import GistMemory
from gistread.readers.events import (
    AnswerDelta,
    Branched,
    PartRead,
    Planned,
    Prepared,
    ReaderEvent,
    Steering,
    Stopped,
    TeamFormed,
)
from gistread.readers.options import ReaderOptions
from gistread.readers.registry import DEFAULT_READER, METHODS
from gistread.session.events import (
    ActivityChanged,
    AskingState,
    Crashed,
    QuestionAsked,
    QuestionEnded,
    QuestionProgress,
    QuestionStarted,
    SessionEvent,
)


class AskingTask:
    """Owns the task and the steering of the running question."""

    def __init__(
        self,
        tell: Callable[[SessionEvent], None],
        max_pages: int,
        reader: str = "",
        embedder: Embedder | None = None,
        is_reliable: Callable[[str], bool] = lambda _: True,
    ) -> None:
        """`is_reliable`: from a model's fingerprint to what is known of it, see `ReaderOptions`; called in a thread."""
        self._tell = tell
        self._task: asyncio.Task[None] | None = None
        self._options = ReaderOptions(max_pages=max_pages, embedder=embedder)
        self._is_reliable = is_reliable
        self.reader = reader if reader in METHODS else DEFAULT_READER
        self.state = AskingState.IDLE
        self.steering = Steering()

    @property
    def needs_memory(self) -> bool:
        """Whether the next question needs a page that has been read."""
        return METHODS[self.reader].needs_memory

    @property
    def running(self) -> bool:
        return self._task is not None and not self._task.done()

    def use_embedder(self, embedder: Embedder | None) -> None:
        """For the next question."""
        self._options = replace(self._options, embedder=embedder)

    def start(
        self,
        question: str,
        pinned: set[int],
        ready: Callable[[], Awaitable[tuple[GistMemory, Engine]]],
        here: int | None = None,
    ) -> None:
        """Ask, from this offset in the book. Not while one is running.

        `ready` returns once there is a memory with a page in it and a model.
        """
        self.steering = Steering(pinned=set(pinned), here=here)
        self._set(AskingState.WAITING)
        self._task = asyncio.create_task(self._run(question, ready), name="asking")

    async def cancel(self, why: str = "Cancelled.") -> None:
        """Stop at once; the answer so far stays on screen as what it is."""
        task, self._task = self._task, None
        if task is None or task.done():
            return
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        self._end(why)

    async def _run(self, question: str, ready: Callable[[], Awaitable[tuple[GistMemory, Engine]]]) -> None:
        self._tell(QuestionAsked(question))
        problem = ""
        try:
            memory, engine = await ready()
            self._tell(QuestionStarted(engine.info.name, memory.model_name if memory.entries else ""))
            self._set(AskingState.PAGE)
            reliable = await asyncio.to_thread(self._is_reliable, engine.info.fingerprint)
            options = replace(self._options, is_reliable=reliable)
            async for event in METHODS[self.reader].reader()(question, memory, engine, self.steering, options):
                if (state := _doing(event, self.state)) is not self.state:
                    self._set(state)
                self._tell(QuestionProgress(event))
        except GistreadError as error:
            problem = str(error).replace("\n", " ")
        except Exception as error:
            self._tell(Crashed(error))
            problem = "Stopped by a defect."
        self._end(problem)

    def _end(self, problem: str) -> None:
        self._task = None
        self._set(AskingState.IDLE)
        self._tell(QuestionEnded(problem))

    def _set(self, state: AskingState) -> None:
        self.state = state
        self._tell(ActivityChanged())


def _doing(event: ReaderEvent, before: AskingState) -> AskingState:
    """What a reader does from this event on."""
    match event:
        case Prepared():
            return AskingState.ARTIFACTS
        case TeamFormed() | PartRead():
            return AskingState.TEXT
        case Stopped() | AnswerDelta():
            return AskingState.ANSWER
        case Branched() | Planned():
            return AskingState.PAGE
    return before
