"""Reports the worker's status to the client, rate-limited."""

from collections.abc import Callable

from gistread.engine.llama.messages import Status, WorkerStats
from gistread.engine.protocol import Phase, Priority

_INTERVAL_S = 0.1


class StatusReporter:
    """Sends `Status` messages for one main loop."""

    def __init__(
        self, send: Callable[[Status], None], clock: Callable[[], float], stats: Callable[[], WorkerStats] = WorkerStats
    ) -> None:
        self._send = send
        self._clock = clock
        self._stats = stats
        self._sent_s = 0.0
        self._idle = True

    @property
    def is_idle(self) -> bool:
        """Whether the last status sent was idle."""
        return self._idle

    def busy(self, phase: Phase, priority: Priority, tokens_per_s: float, fraction: float | None) -> None:
        """Report work, unless the last report is too recent."""
        now = self._clock()
        if now - self._sent_s < _INTERVAL_S:
            return
        self._sent_s = now
        self._idle = False
        self._send(Status(phase, fraction, tokens_per_s, priority, self._stats()))

    def idle(self) -> None:
        """Report that there is nothing to do, once."""
        if not self._idle:
            self._idle = True
            self._sent_s = 0.0
            self._send(Status(Phase.IDLE, stats=self._stats()))
