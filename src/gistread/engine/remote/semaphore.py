"""A priority semaphore for requests to a server, with an adaptive limit.

Where a server runs a fixed number of requests, an interactive one preempts a background one, which is sent again later;
elsewhere it runs beside them. Requests may also share one window: then those running never exceed it together.
"""

import asyncio
import contextlib
import time
from collections import deque
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field

from gistread.engine.protocol import Priority
from gistread.engine.remote.concurrency import AdaptiveLimit
from gistread.engine.remote.failures import ServerLostError


@dataclass(eq=False, slots=True)
class RequestSlot:
    """Permission to send a request."""

    priority: Priority
    tokens: int
    """Tokens of prompt and answer, at most."""
    before_sharing: bool
    """Whether it was granted before requests were known to share a window."""
    preempted: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the request should end and be sent again later."""
    work: float = 0.0
    """Work done by the request; 0 if it says nothing about throughput."""


@dataclass(eq=False, slots=True)
class _Waiter:
    """A request waiting for a slot."""

    tokens: int
    ready: asyncio.Future[None]


class RequestSlots:
    """A priority semaphore for the requests to one server."""

    def __init__(
        self,
        limit: AdaptiveLimit,
        *,
        has_slots: bool,
        window: int | None = None,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        """`has_slots`: the limit holds for interactive requests too. `window`: tokens that requests turn out to share
        if the server reports a full KV cache; None if they never do.
        """
        self._limit = limit
        self._has_slots = has_slots
        self._window = window
        self._shared = False
        self._now = now
        self._taken: list[RequestSlot] = []
        self._waiting: dict[Priority, deque[_Waiter]] = {one: deque() for one in Priority}

    @property
    def limit(self) -> int:
        return self._limit.limit

    @property
    def shares_window(self) -> bool:
        """Whether requests may share a window, so that their tokens matter."""
        return self._window is not None

    @contextlib.asynccontextmanager
    async def slot(self, priority: Priority, tokens: int = 0) -> AsyncIterator[RequestSlot]:
        """Wait for a slot, released at the end. `tokens`: those of prompt and answer, at most.

        A ServerLostError raised inside adapts the limit.
        """
        slot = await self._take(priority, tokens)
        try:
            yield slot
        except ServerLostError as lost:
            if lost.cache_full and self._window is not None and slot.before_sharing:
                self._shared = True
            elif lost.busy:
                self._limit.back_off(self._now())
            raise
        finally:
            self._taken.remove(slot)
            self._count()
            if slot.work > 0:
                self._limit.done(slot.work, self._now())
            self._wake_next()

    async def _take(self, priority: Priority, tokens: int = 0) -> RequestSlot:
        while not self._may_begin(priority, tokens):
            waiter = _Waiter(tokens, asyncio.get_running_loop().create_future())
            queue = self._waiting[priority]
            queue.append(waiter)
            if priority is Priority.INTERACTIVE:
                self._preempt()
            try:
                await waiter.ready
            except asyncio.CancelledError:
                queue.remove(waiter)
                self._wake_next()  # The slot may have been ours already.
                raise
            queue.remove(waiter)
        slot = RequestSlot(priority, tokens, before_sharing=not self._shared)
        self._taken.append(slot)
        self._count()
        self._wake_next()
        return slot

    def _may_begin(self, priority: Priority, tokens: int) -> bool:
        used = sum(slot.tokens for slot in self._taken)
        if self._shared and self._window is not None and self._taken and used + tokens > self._window:
            return False
        if priority is Priority.BACKGROUND:
            return len(self._taken) < self.limit and not self._waiting[Priority.INTERACTIVE]
        interactive = sum(slot.priority is Priority.INTERACTIVE for slot in self._taken)
        return (len(self._taken) if self._has_slots else interactive) < self.limit

    def _preempt(self) -> None:
        """Preempt the latest background request, one for each waiting interactive request."""
        preempted = sum(slot.preempted.is_set() for slot in self._taken)
        if preempted >= len(self._waiting[Priority.INTERACTIVE]):
            return
        for slot in reversed(self._taken):
            if slot.priority is Priority.BACKGROUND and not slot.preempted.is_set():
                slot.preempted.set()
                return

    def _wake_next(self) -> None:
        """Wake the next request that may begin; it wakes the one after it."""
        for priority in Priority:
            for waiter in self._waiting[priority]:
                if not waiter.ready.done():
                    if self._may_begin(priority, waiter.tokens):
                        waiter.ready.set_result(None)
                    elif priority is Priority.INTERACTIVE and self._shared:
                        self._preempt()  # The slot freed was not enough.
                    return

    def _count(self) -> None:
        self._limit.set_running(len(self._taken), self._now())
