"""Who may ask the server now: as many requests as pay, a person's before those in the background.

Where a server works on a fixed number at a time, a person's request takes the place of one in the background, which
is stopped and asked again later. Elsewhere it is asked beside them.
"""

import asyncio
import contextlib
import time
from collections import deque
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field

from gistread.engine.protocol import Priority
from gistread.engine.remote.growth import Growth


@dataclass(eq=False, slots=True)
class Place:
    """Leave to ask. `wanted` is set when somebody else should have it."""

    priority: Priority
    wanted: asyncio.Event = field(default_factory=asyncio.Event)
    work: float = 0.0
    """What came of the request; 0: nothing is learned from it."""


class Places:
    """The places of one server."""

    def __init__(self, growth: Growth, *, has_slots: bool, now: Callable[[], float] = time.monotonic) -> None:
        """`has_slots`: never more requests than there are places, not even a person's."""
        self._growth = growth
        self._has_slots = has_slots
        self._now = now
        self._taken: list[Place] = []
        self._waiting: dict[Priority, deque[asyncio.Future[None]]] = {one: deque() for one in Priority}

    @property
    def limit(self) -> int:
        return self._growth.limit

    @contextlib.asynccontextmanager
    async def place(self, priority: Priority) -> AsyncIterator[Place]:
        """Wait for a place and give it back at the end."""
        place = await self._take(priority)
        try:
            yield place
        finally:
            self._taken.remove(place)
            self._count()
            if place.work > 0:
                self._growth.done(place.work, self._now())
            self._let_in()

    def too_much(self) -> None:
        """The server has said that it has too much to do."""
        self._growth.too_much(self._now())

    async def _take(self, priority: Priority) -> Place:
        while not self._may_begin(priority):
            if priority is Priority.PERSON:
                self._make_way()
            turn = asyncio.get_running_loop().create_future()
            queue = self._waiting[priority]
            queue.append(turn)
            try:
                await turn
            except asyncio.CancelledError:
                queue.remove(turn)
                self._let_in()  # The turn may have been ours already, and somebody else can have it.
                raise
            queue.remove(turn)
        place = Place(priority)
        self._taken.append(place)
        self._count()
        self._let_in()
        return place

    def _may_begin(self, priority: Priority) -> bool:
        if priority is Priority.BACKGROUND:
            return len(self._taken) < self.limit and not self._waiting[Priority.PERSON]
        persons = sum(place.priority is Priority.PERSON for place in self._taken)
        return (len(self._taken) if self._has_slots else persons) < self.limit

    def _make_way(self) -> None:
        """Ask the request that was begun last in the background to end; each waiting person's takes one place."""
        asked = sum(place.wanted.is_set() for place in self._taken)
        if asked > len(self._waiting[Priority.PERSON]):
            return
        for place in reversed(self._taken):
            if place.priority is Priority.BACKGROUND and not place.wanted.is_set():
                place.wanted.set()
                return

    def _let_in(self) -> None:
        """Wake the next who may begin; it wakes the one after it."""
        for priority in Priority:
            for turn in self._waiting[priority]:
                if not turn.done():
                    if self._may_begin(priority):
                        turn.set_result(None)
                    return

    def _count(self) -> None:
        self._growth.running(len(self._taken), self._now())
