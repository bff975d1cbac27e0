"""Who may ask the server now: as many requests as pay, a person's before those in the background.

Where a server works on a fixed number at a time, a person's request takes the place of one in the background, which
is stopped and asked again later. Elsewhere it is asked beside them. Requests may also have to share one window: then
those at work are never more than fit it together.
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
    """Leave to ask. `wanted` is set when somebody else should have it."""

    priority: Priority
    tokens: int
    """Of the window, that the request may come to fill."""
    unweighed: bool
    """Taken when it was not known that requests share a window."""
    wanted: asyncio.Event = field(default_factory=asyncio.Event)
    work: float = 0.0
    """What came of the request; 0: nothing is learned from it."""


@dataclass(eq=False, slots=True)
class _Turn:
    """Somebody waits for a place."""

    tokens: int
    come: asyncio.Future[None]


class RequestSlots:
    """The places of one server."""

    def __init__(
        self,
        growth: AdaptiveLimit,
        *,
        has_slots: bool,
        window: int | None = None,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        """`has_slots`: never more requests than there are places, not even a person's. `window`: tokens that requests
        turn out to share when the server says that they do not fit it together; None: they never do.
        """
        self._growth = growth
        self._has_slots = has_slots
        self._window = window
        self._shared = False
        self._now = now
        self._taken: list[RequestSlot] = []
        self._waiting: dict[Priority, deque[_Turn]] = {one: deque() for one in Priority}

    @property
    def limit(self) -> int:
        return self._growth.limit

    @property
    def weighs(self) -> bool:
        """Whether it matters how much of a window a request fills."""
        return self._window is not None

    @contextlib.asynccontextmanager
    async def place(self, priority: Priority, tokens: int = 0) -> AsyncIterator[RequestSlot]:
        """Wait for a place and give it back at the end. `tokens`: what prompt and answer come to, at most.

        From a ServerLostError that passes through here it is learned how many places there should be.
        """
        place = await self._take(priority, tokens)
        try:
            yield place
        except ServerLostError as lost:
            if lost.crowded and self._window is not None and place.unweighed:
                self._shared = True
            elif lost.busy:
                self._growth.too_much(self._now())
            raise
        finally:
            self._taken.remove(place)
            self._count()
            if place.work > 0:
                self._growth.done(place.work, self._now())
            self._let_in()

    async def _take(self, priority: Priority, tokens: int = 0) -> RequestSlot:
        while not self._may_begin(priority, tokens):
            turn = _Turn(tokens, asyncio.get_running_loop().create_future())
            queue = self._waiting[priority]
            queue.append(turn)
            if priority is Priority.INTERACTIVE:
                self._make_way()
            try:
                await turn.come
            except asyncio.CancelledError:
                queue.remove(turn)
                self._let_in()  # The turn may have been ours already, and somebody else can have it.
                raise
            queue.remove(turn)
        place = RequestSlot(priority, tokens, unweighed=not self._shared)
        self._taken.append(place)
        self._count()
        self._let_in()
        return place

    def _may_begin(self, priority: Priority, tokens: int) -> bool:
        filled = sum(place.tokens for place in self._taken)
        if self._shared and self._window is not None and self._taken and filled + tokens > self._window:
            return False
        if priority is Priority.BACKGROUND:
            return len(self._taken) < self.limit and not self._waiting[Priority.INTERACTIVE]
        persons = sum(place.priority is Priority.INTERACTIVE for place in self._taken)
        return (len(self._taken) if self._has_slots else persons) < self.limit

    def _make_way(self) -> None:
        """Ask the request that was begun last in the background to end; each waiting person's takes one place."""
        asked = sum(place.wanted.is_set() for place in self._taken)
        if asked >= len(self._waiting[Priority.INTERACTIVE]):
            return
        for place in reversed(self._taken):
            if place.priority is Priority.BACKGROUND and not place.wanted.is_set():
                place.wanted.set()
                return

    def _let_in(self) -> None:
        """Wake the next who may begin; it wakes the one after it."""
        for priority in Priority:
            for turn in self._waiting[priority]:
                if not turn.come.done():
                    if self._may_begin(priority, turn.tokens):
                        turn.come.set_result(None)
                    elif priority is Priority.INTERACTIVE and self._shared:
                        self._make_way()  # What has ended was not enough.
                    return

    def _count(self) -> None:
        self._growth.running(len(self._taken), self._now())
