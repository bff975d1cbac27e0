"""What an engine is doing, told to whoever watches: how many requests are at work, and how fast words come."""

import contextlib
import time
from collections.abc import Callable

from gistread.engine.protocol import EngineState, Phase, Priority

_EVERY_S = 0.25
"""Between two tellings of nothing but a rate."""
_WINDOW_S = 5.0
"""A rate is that of the last seconds."""


class Activity:
    """Of one engine."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._watchers: list[Callable[[EngineState], None]] = []
        self._running: list[Priority] = []
        self._pieces: list[float] = []
        self._told_s = 0.0
        self.state = EngineState(Phase.STOPPED)

    def watch(self, callback: Callable[[EngineState], None]) -> Callable[[], None]:
        """Call back on every change of state; the returned function ends it."""
        self._watchers.append(callback)

        def unwatch() -> None:
            with contextlib.suppress(ValueError):
                self._watchers.remove(callback)

        return unwatch

    def tell(self, state: EngineState) -> None:
        """This is what goes on now."""
        self.state = state
        self._told_s = self._now()
        for callback in tuple(self._watchers):
            callback(state)

    def notice(self, line: str) -> None:
        """Something the person should know, while things go on."""
        self.tell(EngineState(self.state.phase, priority=self.state.priority, notice=line))

    def begun(self, priority: Priority) -> None:
        """A request is at work."""
        self._running.append(priority)
        if self.state.phase in (Phase.IDLE, Phase.PREFILL):
            self.tell(EngineState(Phase.PREFILL, priority=min(self._running)))

    def piece(self) -> None:
        """A word has come."""
        if self.state.phase not in (Phase.IDLE, Phase.PREFILL, Phase.DECODE):
            return
        now = self._now()
        self._pieces = [at for at in self._pieces if at > now - _WINDOW_S] + [now]
        if self.state.phase is not Phase.DECODE or now - self._told_s >= _EVERY_S:
            seconds = now - self._pieces[0]
            rate = (len(self._pieces) - 1) / seconds if seconds > 0 else None
            self.tell(EngineState(Phase.DECODE, tokens_per_s=rate, priority=min(self._running, default=None)))

    def ended(self, priority: Priority) -> None:
        """A request is no longer at work."""
        self._running.remove(priority)
        if not self._running and self.state.phase in (Phase.PREFILL, Phase.DECODE):
            self._pieces.clear()
            self.tell(EngineState(Phase.IDLE))
