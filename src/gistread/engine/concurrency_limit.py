"""Limits concurrent work to the number of requests that is useful for an engine at the moment."""

import asyncio
from collections import deque
from typing import Self

from gistread.engine.protocol import Engine


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
