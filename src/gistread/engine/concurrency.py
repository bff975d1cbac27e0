"""Concurrency of engines: an observable state, a shared start, a limit of requests."""

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine
from typing import Any, Generic, Self, TypeVar

from gistread.engine.protocol import Engine, EngineState, Phase
from gistread.errors import EngineError


class Observable:
    """Holds a state, STOPPED at first, and notifies watchers of changes."""

    def __init__(self) -> None:
        self._state = EngineState(Phase.STOPPED)
        self._watchers: dict[object, Callable[[EngineState], None]] = {}

    @property
    def state(self) -> EngineState:
        return self._state

    def watch(self, callback: Callable[[EngineState], None]) -> Callable[[], None]:
        """Call `callback` on every change. Returns a function that unsubscribes it."""
        key = object()
        self._watchers[key] = callback

        def unwatch() -> None:
            self._watchers.pop(key, None)

        return unwatch

    def publish(self, state: EngineState) -> None:
        self._state = state
        for callback in tuple(self._watchers.values()):
            callback(state)


T = TypeVar("T")
_CLOSED = "The engine has been closed."


class SingleFlight(Generic[T]):
    """Runs `start` once for all who wait; after it ends, the next caller runs it again. Await `close`."""

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
            # Retrieve the exception, in case no caller is left.
            self._task.add_done_callback(lambda task: task.cancelled() or task.exception())
        return self._task

    async def wait(self) -> T:
        """As `begin`, and wait for the end; raises its exceptions. A caller that is cancelled does not stop it."""
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


class ConcurrencyLimit:
    """A fair semaphore of capacity `Engine.info.parallel`. `acquire` and `release` may be called by different tasks."""

    def __init__(self, engine: Engine, maximum: int | None = None) -> None:
        """`maximum`: an upper bound of the capacity; may be changed."""
        self._engine = engine
        self.maximum = maximum
        self._taken = 0
        self._waiting: deque[asyncio.Future[None]] = deque()

    @property
    def capacity(self) -> int:
        parallel = max(1, self._engine.info.parallel)
        return parallel if self.maximum is None else max(1, min(self.maximum, parallel))

    async def acquire(self) -> None:
        if self._taken >= self.capacity or self._waiting:
            turn = asyncio.get_running_loop().create_future()
            self._waiting.append(turn)
            try:
                await turn
            except asyncio.CancelledError:
                if not turn.cancelled():
                    self.release()
                elif turn in self._waiting:
                    self._waiting.remove(turn)
                raise
        else:
            self._taken += 1

    def release(self) -> None:
        self._taken -= 1
        while self._waiting and self._taken < self.capacity:
            turn = self._waiting.popleft()
            if not turn.cancelled():
                self._taken += 1
                turn.set_result(None)

    async def __aenter__(self) -> Self:
        await self.acquire()
        return self

    async def __aexit__(self, *_: object) -> None:
        self.release()
