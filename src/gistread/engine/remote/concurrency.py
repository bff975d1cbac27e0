"""A priority semaphore for requests to a server, with a limit found by AIMD, as in congestion control.

On a server with a fixed number of slots, an interactive request preempts a background one; elsewhere it runs beside
them. Requests that share one window never exceed it together.
"""

import asyncio
import contextlib
import time
from collections import deque
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

from gistread.engine.protocol import Priority
from gistread.engine.remote.failures import ServerLostError

_MIN_REQUESTS = 4  # Requests in a round before its throughput counts
_BETTER = 1.1  # More concurrency must raise throughput by this factor
_SATURATED = 0.5  # Least mean use of the limit for a round to count
_HOLD_ROUNDS = 6  # Rounds to wait before trying a higher limit again


class AdaptiveLimit:
    """The limit for one server: pure arithmetic over reported events."""

    def __init__(self, first: int, most: int) -> None:
        self.most = max(1, most)
        self.limit = max(1, min(first, self.most))
        self._best: tuple[int, float] | None = None  # A limit and the work per second it achieved
        self._hold = 0
        self._running = 0
        self._begin(0.0)

    def set_running(self, count: int, now_s: float) -> None:
        self._advance(now_s)
        self._running = count

    def done(self, work: float, now_s: float) -> None:
        self._advance(now_s)
        self._work += work
        self._done += 1
        if self._done < max(_MIN_REQUESTS, self.limit):
            return
        seconds = now_s - self._began_s
        saturated = seconds > 0 and self._busy / seconds >= _SATURATED * self.limit
        rate = self._work / seconds if seconds > 0 else 0.0
        self._begin(now_s)
        if saturated:
            if self._hold:
                self._hold -= 1
                self._best = (self.limit, rate)
                if self._hold == 0:
                    self._grow(self.limit + max(1, self.limit // 2))
            elif self._best is None or rate >= _BETTER * self._best[1]:
                self._best = (self.limit, rate)
                self._grow(2 * self.limit)
            elif self.limit != self._best[0]:
                self.limit, self._hold = self._best[0], _HOLD_ROUNDS
            else:
                self._hold = _HOLD_ROUNDS

    def back_off(self, now_s: float) -> None:
        """Halve the limit after the server reported overload."""
        self.limit = max(1, self.limit // 2)
        self._best, self._hold = None, _HOLD_ROUNDS
        self._begin(now_s)

    def _grow(self, limit: int) -> None:
        self.limit = min(self.most, limit)
        if self._best is not None and self.limit == self._best[0]:
            self._hold = _HOLD_ROUNDS

    def _begin(self, now_s: float) -> None:
        self._began_s = self._at_s = now_s
        self._work = self._busy = 0.0
        self._done = 0

    def _advance(self, now_s: float) -> None:
        if self._done == 0 and self._busy == 0.0 and self._running == 0:
            self._began_s = now_s  # The round begins with the first request.
        self._busy += self._running * (now_s - self._at_s)
        self._at_s = now_s


@dataclass(eq=False, slots=True)
class RequestSlot:
    priority: Priority
    tokens: int  # Tokens of prompt and answer, at most
    before_sharing: bool  # Whether it was granted before requests were known to share a window
    # Set when the request should end and be sent again later.
    preempted: asyncio.Event = field(default_factory=asyncio.Event)
    work: float = 0.0  # Work done by the request; 0 to leave it out of the throughput


@dataclass(eq=False, slots=True)
class _Waiter:
    tokens: int
    ready: asyncio.Future[None]


class RequestSlots:
    """A priority semaphore for the requests to one server."""

    def __init__(self, limit: AdaptiveLimit, *, has_slots: bool, window: int | None = None) -> None:
        """`has_slots`: the limit applies to interactive requests too. `window`: tokens that all requests share once
        the server has reported a full KV cache; None if they never share any.
        """
        self._limit = limit
        self._has_slots = has_slots
        self._window = window
        self._shared = False
        self._taken: list[RequestSlot] = []
        self._waiting: dict[Priority, deque[_Waiter]] = {one: deque() for one in Priority}

    @property
    def limit(self) -> int:
        return self._limit.limit

    @property
    def shares_window(self) -> bool:
        return self._window is not None

    @contextlib.asynccontextmanager
    async def slot(self, priority: Priority, tokens: int = 0) -> AsyncIterator[RequestSlot]:
        """Wait for a slot for `tokens` of prompt and answer. A ServerLostError raised inside adapts the limit."""
        slot = await self._take(priority, tokens)
        try:
            yield slot
        except ServerLostError as lost:
            if lost.cache_full and self._window is not None and slot.before_sharing:
                self._shared = True
            elif lost.busy:
                self._limit.back_off(time.monotonic())
            raise
        finally:
            self._taken.remove(slot)
            self._limit.set_running(len(self._taken), time.monotonic())
            if slot.work > 0:
                self._limit.done(slot.work, time.monotonic())
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
        self._limit.set_running(len(self._taken), time.monotonic())
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
        preempted = sum(slot.preempted.is_set() for slot in self._taken)
        if preempted >= len(self._waiting[Priority.INTERACTIVE]):
            return
        for slot in reversed(self._taken):
            if slot.priority is Priority.BACKGROUND and not slot.preempted.is_set():
                slot.preempted.set()
                return

    def _wake_next(self) -> None:
        for priority in Priority:
            for waiter in self._waiting[priority]:
                if not waiter.ready.done():
                    if self._may_begin(priority, waiter.tokens):
                        waiter.ready.set_result(None)
                    elif priority is Priority.INTERACTIVE and self._shared:
                        self._preempt()  # The slot freed was not enough.
                    return
