"""Work handed to an engine as many pieces at a time as pay at that moment.

How many that is may change while the work goes on: an engine on a server finds it out by being asked.
"""

import asyncio
from collections import deque
from types import TracebackType
from typing import Self

from gistread.engine.protocol import Engine


class ConcurrencyLimit:
    """Places for pieces of work, given in the order in which they were asked for; `async with` takes one.

    Work that goes from one task to another takes one with `begin` and gives it back with `end`.
    """

    def __init__(self, engine: Engine, most: int | None = None) -> None:
        """`most`: never more than these; may be changed."""
        self._engine = engine
        self.most = most
        self._taken = 0
        self._waiting: deque[asyncio.Future[None]] = deque()

    @property
    def places(self) -> int:
        """How many there are now."""
        parallel = max(1, self._engine.info.parallel)
        return parallel if self.most is None else max(1, min(self.most, parallel))

    async def begin(self) -> None:
        """Wait for a place."""
        if self._taken >= self.places or self._waiting:
            turn = asyncio.get_running_loop().create_future()
            self._waiting.append(turn)
            try:
                await turn
            except asyncio.CancelledError:
                if turn.cancelled():
                    self._waiting.remove(turn)
                else:
                    self.end()
                raise
        else:
            self._taken += 1

    def end(self) -> None:
        """Give a place back."""
        self._taken -= 1
        while self._waiting and self._taken < self.places:
            self._taken += 1
            self._waiting.popleft().set_result(None)

    async def __aenter__(self) -> Self:
        await self.begin()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()
