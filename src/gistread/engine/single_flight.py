"""What is started once, however many wait for it. What it is that starts, it does not know."""

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from gistread.errors import EngineError

Started = TypeVar("Started")


@dataclass(eq=False, slots=True)
class _Run(Generic[Started]):
    """One start, and how many want it."""

    task: asyncio.Task[Started]
    wanted: int = 0


class SingleFlight(Generic[Started]):
    """Goes on as long as one of those who wait still does. `close` has to be awaited.

    After it has ended, well or not, whoever waits lets it start again.
    """

    def __init__(self, start: Callable[[], Coroutine[Any, Any, Started]], name: str) -> None:
        """`name`: of the task."""
        self._start = start
        self._name = name
        self._run: _Run[Started] | None = None
        self._closed = False

    @property
    def under_way(self) -> bool:
        return self._run is not None and not self._run.task.done()

    @property
    def closed(self) -> bool:
        return self._closed

    async def wait(self) -> Started:
        """What was started. Raises what starting raises, to all who wait, and EngineError when this is closed.

        The last who is cancelled ends it, and is gone when it is. Who comes meanwhile lets it start again.
        """
        while self._run is not None and not self._run.task.done() and self._run.task.cancelling():
            await asyncio.wait({self._run.task})
        run = self._begun()
        run.wanted += 1
        try:
            await asyncio.wait({run.task})
        finally:
            run.wanted -= 1
            if not run.wanted and not run.task.done():
                run.task.cancel()
                await asyncio.wait({run.task})
        if run.task.cancelled():
            raise _closed()
        return run.task.result()

    def begin(self) -> None:
        """Let it start, and go on whoever gives up. Not while it is under way."""
        if not self._closed:
            self._begun().wanted += 1

    async def close(self) -> None:
        """End it if it is under way, and let it never start again."""
        self._closed = True
        if self._run is not None and not self._run.task.done():
            self._run.task.cancel()
            await asyncio.wait({self._run.task})

    def _begun(self) -> _Run[Started]:
        if self._closed:
            raise _closed()
        if self._run is None or self._run.task.done():
            self._run = _Run(asyncio.create_task(self._start(), name=self._name))
            # Where nobody is left who waits, nobody asks how it ended.
            self._run.task.add_done_callback(lambda task: task.cancelled() or task.exception())
        return self._run


def _closed() -> EngineError:
    return EngineError("The engine has been closed.")
