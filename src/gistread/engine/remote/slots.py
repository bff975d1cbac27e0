"""A priority semaphore for the requests to one server. An interactive request preempts a background one."""

import asyncio
import contextlib
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

from gistread.engine.protocol import Priority
from gistread.engine.remote.failures import ServerLostError


@dataclass(eq=False, slots=True)
class RequestSlot:
    priority: Priority
    limit: int  # Of all slots when it was granted
    # Set when the request should end and be sent again later.
    preempted: asyncio.Event = field(default_factory=asyncio.Event)


class RequestSlots:
    def __init__(self, limit: int) -> None:
        self.limit = max(1, limit)  # Concurrent requests; halved when the server reports overload
        self._taken: list[RequestSlot] = []
        self._waiting = Counter[Priority]()
        self._changed = asyncio.Condition()

    @contextlib.asynccontextmanager
    async def slot(self, priority: Priority) -> AsyncIterator[RequestSlot]:
        async with self._changed:
            self._waiting[priority] += 1
            try:
                self._preempt()
                await self._changed.wait_for(lambda: self._is_free(priority))
            finally:
                self._waiting[priority] -= 1
                self._changed.notify_all()
            slot = RequestSlot(priority, self.limit)
            self._taken.append(slot)
        try:
            yield slot
        except ServerLostError as lost:
            if lost.busy and slot.limit == self.limit:  # Requests that fail together count once.
                self.limit = max(1, self.limit // 2)
            raise
        finally:
            self._taken.remove(slot)
            async with self._changed:
                self._changed.notify_all()

    def _is_free(self, priority: Priority) -> bool:
        goes_first = priority is Priority.INTERACTIVE or not self._waiting[Priority.INTERACTIVE]
        return goes_first and len(self._taken) < self.limit

    def _preempt(self) -> None:
        """Ask the newest background requests to end, as many as interactive ones lack a slot."""
        wanted = self._waiting[Priority.INTERACTIVE] - max(0, self.limit - len(self._taken))
        background = [slot for slot in reversed(self._taken) if slot.priority is Priority.BACKGROUND]
        for slot in background[: max(0, wanted)]:
            slot.preempted.set()
