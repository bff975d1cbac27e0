"""The state of a remote engine: whether requests are in progress, and how fast text arrives."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from gistread.engine.observable import Observable
from gistread.engine.protocol import EngineState, Phase, Priority

_EVERY_S = 0.25
"""Least time between updates of the rate."""
_WINDOW_S = 5.0
"""The rate is averaged over this time."""


class Activity(Observable):
    """The observable state of a remote engine."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._now = now
        self._running: list[Priority] = []
        self._pieces: list[float] = []
        self._rate_published_s = 0.0

    def notice(self, line: str) -> None:
        """Publish a line for the person without changing the phase."""
        self.publish(EngineState(self.state.phase, priority=self.state.priority, notice=line))

    @contextmanager
    def working(self, priority: Priority) -> Iterator[None]:
        """A request is in progress."""
        self._running.append(priority)
        if self.state.phase in (Phase.IDLE, Phase.PREFILL):
            self.publish(EngineState(Phase.PREFILL, priority=min(self._running)))
        try:
            yield
        finally:
            self._running.remove(priority)
            if not self._running and self.state.phase in (Phase.PREFILL, Phase.DECODE):
                self._pieces.clear()
                self.publish(EngineState(Phase.IDLE))

    def piece(self) -> None:
        """Part of an answer arrived."""
        if self.state.phase not in (Phase.IDLE, Phase.PREFILL, Phase.DECODE):
            return
        now = self._now()
        self._pieces = [at for at in self._pieces if at > now - _WINDOW_S] + [now]
        if self.state.phase is not Phase.DECODE or now - self._rate_published_s >= _EVERY_S:
            self._rate_published_s = now
            seconds = now - self._pieces[0]
            rate = (len(self._pieces) - 1) / seconds if seconds > 0 else None
            self.publish(EngineState(Phase.DECODE, tokens_per_s=rate, priority=min(self._running, default=None)))
