"""A synchronous session for scripts."""

import asyncio
from collections.abc import AsyncGenerator, Coroutine, Iterator
from typing import Any, Self, TypeVar, Unpack

from gistread.book.model import Book
from gistread.errors import NotReadyError, UsageError
from gistread.memory.model import GistMemory
from gistread.readers.events import ReaderEvent
from gistread.readers.steering import Steering
from gistread.session.events import ReadingEvent
from gistread.session.questions import Answer, AskOptions
from gistread.session.session import Session

T = TypeVar("T")


class SyncSession:
    """Like `Session`, with blocking calls.

    Use with `with`. In a running event loop, its calls raise UsageError.
    """

    def __init__(self, book: Book, model: str = "", **options: Any) -> None:
        self._session = Session(book, model, **options)
        self._runner = asyncio.Runner()
        self._closed = False

    def __enter__(self) -> Self:
        try:
            self._run(self._session.__aenter__())
        except BaseException:
            self._runner.close()
            raise
        return self

    def __exit__(self, *exception: object) -> None:
        try:
            self._run(self._session.close())
        finally:
            self._runner.close()
            self._closed = True

    @property
    def memory(self) -> GistMemory | None:
        return self._session.memory

    @property
    def steering(self) -> Steering:
        """Steering of the running or last question."""
        return self._session.steering

    def read(self) -> GistMemory:
        """Read the book to its end and return its memory. Raises GistreadError."""
        return self._run(self._session.read())

    def stream_reading(self) -> Iterator[ReadingEvent]:
        """Read the book to its end, yielding events. Raises GistreadError."""
        return self._iterate(self._session.stream_reading())

    def ask(self, question: str, **options: Unpack[AskOptions]) -> Answer:
        """Answer from the pages read so far. Raises GistreadError."""
        return self._run(self._session.ask(question, **options))

    def stream_answer(
        self, question: str, **options: Unpack[AskOptions]
    ) -> Iterator[ReaderEvent]:
        """Yield the reader's events; the last is `Answered`. Raises GistreadError."""
        return self._iterate(self._session.stream_answer(question, **options))

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine to its end. Raises UsageError inside an event loop."""
        if self._closed:
            work.close()
            raise NotReadyError("The session is closed.", "Open a new one.")
        if _is_in_event_loop():
            work.close()
            raise UsageError(
                "SyncSession cannot run inside an event loop.",
                "Use `async with Session(…)` there.",
            )
        return self._runner.run(work)

    def _iterate(self, stream: AsyncGenerator[T, None]) -> Iterator[T]:
        """The events of a stream; leaving the iterator early closes it."""

        async def next_event() -> T | None:
            return await anext(stream, None)

        try:
            while (event := self._run(next_event())) is not None:
                yield event
        finally:
            self._run(stream.aclose())


def _is_in_event_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
