"""What a worker is doing, told to the client: no oftener than a person can follow, and only once that it rests."""

from collections.abc import Callable, Mapping

from gistread.engine.llama.messages import encode
from gistread.engine.protocol import Priority

_EVERY_S = 0.1


class StatusReporter:
    """Of one loop."""

    def __init__(
        self,
        send: Callable[[bytes], None],
        clock: Callable[[], float],
        work: Callable[[], Mapping[str, object]] = dict,
    ) -> None:
        """`work`: what is told besides, whenever something is."""
        self._send = send
        self._clock = clock
        self._work = work
        self._told_s = 0.0
        self._rests = True

    @property
    def rests(self) -> bool:
        """Whether it was told that there is nothing to do."""
        return self._rests

    def busy(self, phase: str, priority: Priority, tokens_per_s: float, fraction: float | None) -> None:
        """Something was done for a request of this priority; told if the last time is long enough ago."""
        now = self._clock()
        if now - self._told_s < _EVERY_S:
            return
        self._told_s = now
        self._rests = False
        self._tell(phase, priority, tokens_per_s, fraction)

    def idle(self) -> None:
        """There is nothing to do; told if it was not yet."""
        if not self._rests:
            self._rests = True
            self._told_s = 0.0
            self._tell("idle", None, None, None)

    def _tell(self, phase: str, priority: Priority | None, tokens_per_s: float | None, fraction: float | None) -> None:
        state = {"phase": phase, "fraction": fraction, "tokens_per_s": tokens_per_s, "priority": priority}
        self._send(encode("state", **state, **self._work()))
