"""Single-flight start: concurrent callers share one start."""

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from gistread.errors import EngineError

T = TypeVar("T")


@dataclass(eq=False, slots=True)
class _Run(Generic[T]):
    task: asyncio.Task[T]
    callers: int = 0


class SingleFlight(Generic[T]):
    """Runs `start` while a caller awaits it; after it ends, the next caller runs it again. Await `close`."""

    def __init__(self, start: Callable[[], Coroutine[Any, Any, T]], name: str) -> None:
        self._start = start
        self._name = name
        self._run: _Run[T] | None = None
        self.closed = False

    @property
    def under_way(self) -> bool:
        return self._run is not None and not self._run.task.done()

    async def wait(self) -> T:
        """Start or join a start; raises its exceptions. Cancelling the last caller cancels the start."""
        while self._run is not None and not self._run.task.done() and self._run.task.cancelling():
            await asyncio.wait({self._run.task})
        run = self._current()
        run.callers += 1
        try:
            await asyncio.wait({run.task})
        finally:
            run.callers -= 1
            if not run.callers and not run.task.done():
                run.task.cancel()
                await asyncio.wait({run.task})
        if run.task.cancelled():
            raise _closed()
        return run.task.result()

    def begin(self) -> None:
        """Start without a caller, so that no cancellation stops it. Only while no start is under way."""
        if not self.closed:
            self._current().callers += 1

    async def close(self) -> None:
        """Cancel a start under way and refuse new ones."""
        self.closed = True
        if self._run is not None and not self._run.task.done():
            self._run.task.cancel()
            await asyncio.wait({self._run.task})

    def _current(self) -> _Run[T]:
        if self.closed:
            raise _closed()
        if self._run is None or self._run.task.done():
            self._run = _Run(asyncio.create_task(self._start(), name=self._name))
            # Retrieve the exception, in case no caller is left.
            self._run.task.add_done_callback(lambda task: task.cancelled() or task.exception())
        return self._run


def _closed() -> EngineError:
    return EngineError("The engine has been closed.")
