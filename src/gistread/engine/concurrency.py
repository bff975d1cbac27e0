"""Concurrency of engines: an observable state and a shared start."""

import asyncio
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, Generic, TypeVar

from gistread.engine.protocol import EngineState, Phase
from gistread.errors import EngineError


class Observable:
    """Holds a state, and notifies watchers of changes."""

    state = EngineState(Phase.STOPPED)

    def __init__(self) -> None:
        self._watchers: list[Callable[[EngineState], None]] = []

    def watch(self, callback: Callable[[EngineState], None]) -> Callable[[], None]:
        """Call `callback` on every change. Returns a function that unsubscribes it."""
        self._watchers.append(callback)
        return partial(self._watchers.remove, callback)

    def publish(self, state: EngineState) -> None:
        self.state = state
        for callback in tuple(self._watchers):
            callback(state)


T = TypeVar("T")
_CLOSED = "The engine has been closed."


def _retrieve_exception(task: asyncio.Task[Any]) -> None:
    """Keep asyncio from logging an exception that no caller is left to raise."""
    if not task.cancelled():
        task.exception()


class SingleFlight(Generic[T]):
    """Runs `start` once for all who wait; after it ends, the next caller runs it again.

    Await `close` in the end.
    """

    def __init__(self, start: Callable[[], Coroutine[Any, Any, T]], name: str) -> None:
        self._start = start
        self._name = name
        self._task: asyncio.Task[T] | None = None
        self.closed = False

    @property
    def under_way(self) -> bool:
        return self._task is not None and not self._task.done()

    def begin(self) -> asyncio.Task[T]:
        """Start, or join a start. Raises EngineError once it is closed."""
        if self.closed:
            raise EngineError(_CLOSED)
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._start(), name=self._name)
            self._task.add_done_callback(_retrieve_exception)
        return self._task

    async def wait(self) -> T:
        """As `begin`, and wait for the end; raises its exceptions.

        A caller that is cancelled does not stop it.
        """
        task = self.begin()
        await asyncio.wait({task})
        if task.cancelled():
            raise EngineError(_CLOSED)
        return task.result()

    async def close(self) -> None:
        """Cancel a start under way and refuse new ones."""
        self.closed = True
        if self._task is not None and not self._task.done():
            self._task.cancel()
            await asyncio.wait({self._task})
