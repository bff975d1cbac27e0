"""Finds the useful number of concurrent requests by additive increase and multiplicative decrease (AIMD).

As in congestion control, with the server's throughput in place of packet loss. Pure arithmetic over reported events;
`semaphore.py` has the clock and the requests.
"""

_MIN_REQUESTS = 4
"""Requests in a round before its throughput counts."""
_BETTER = 1.1
"""More concurrency must raise throughput by this factor."""
_SATURATED = 0.5
"""Least mean use of the limit for a round to say anything about it."""
_HOLD_ROUNDS = 6
"""Rounds to wait before trying a higher limit again."""


class AdaptiveLimit:
    """The limit for one server."""

    def __init__(self, first: int, most: int) -> None:
        self.most = max(1, most)
        self.limit = max(1, min(first, self.most))
        self._best: tuple[int, float] | None = None
        """A limit and the work per second it achieved."""
        self._hold = 0
        self._running = 0
        self._begin(0.0)

    def set_running(self, count: int, now_s: float) -> None:
        """Record the number of requests that run from now on."""
        self._advance(now_s)
        self._running = count

    def done(self, work: float, now_s: float) -> None:
        """Record a completed request and the work it took."""
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
            self._learn(rate)

    def back_off(self, now_s: float) -> None:
        """Halve the limit after the server reported overload."""
        self.limit = max(1, self.limit // 2)
        self._best, self._hold = None, _HOLD_ROUNDS
        self._begin(now_s)

    def _learn(self, rate: float) -> None:
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
