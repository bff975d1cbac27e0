"""How many requests at once pay on a server, found by trying: more while more comes of it, half when it is too much.

Plain arithmetic over what was told; clocks and requests are the affair of `semaphore.py`. This is the
additive increase and
multiplicative decrease of congestion control, with what the server gets done in place of lost packets.
"""

_FEWEST = 4
"""Requests after which something can be said of how much gets done."""
_BETTER = 1.1
"""More requests have to get so much more done, or they only wait for one another."""
_BUSY = 0.5
"""Of the places, taken in the mean: below that it is not known what more of them would do."""
_STAY = 6
"""Stretches of requests before it is tried again."""


class AdaptiveLimit:
    """What is known of one server. `limit` is how many requests it should have."""

    def __init__(self, first: int, most: int) -> None:
        self.most = max(1, most)
        self.limit = max(1, min(first, self.most))
        self._known: tuple[int, float] | None = None
        """A number of requests, and the work done in a second with it."""
        self._stay = 0
        self._running = 0
        self._begin(0.0)

    def running(self, count: int, now_s: float) -> None:
        """From now on so many requests are at work."""
        self._advance(now_s)
        self._running = count

    def done(self, work: float, now_s: float) -> None:
        """A request has ended, and so much came of it."""
        self._advance(now_s)
        self._work += work
        self._done += 1
        if self._done < max(_FEWEST, self.limit):
            return
        seconds = now_s - self._began_s
        saturated = seconds > 0 and self._busy / seconds >= _BUSY * self.limit
        rate = self._work / seconds if seconds > 0 else 0.0
        self._begin(now_s)
        if saturated:
            self._learn(rate)

    def too_much(self, now_s: float) -> None:
        """The server has refused a request for having too many."""
        self.limit = max(1, self.limit // 2)
        self._known, self._stay = None, _STAY
        self._begin(now_s)

    def _learn(self, rate: float) -> None:
        if self._stay:
            self._stay -= 1
            self._known = (self.limit, rate)
            if self._stay == 0:
                self._grow(self.limit + max(1, self.limit // 2))
        elif self._known is None or rate >= _BETTER * self._known[1]:
            self._known = (self.limit, rate)
            self._grow(2 * self.limit)
        elif self.limit != self._known[0]:
            self.limit, self._stay = self._known[0], _STAY
        else:
            self._stay = _STAY

    def _grow(self, limit: int) -> None:
        self.limit = min(self.most, limit)
        if self._known is not None and self.limit == self._known[0]:
            self._stay = _STAY

    def _begin(self, now_s: float) -> None:
        self._began_s = self._at_s = now_s
        self._work = self._busy = 0.0
        self._done = 0

    def _advance(self, now_s: float) -> None:
        if self._done == 0 and self._busy == 0.0 and self._running == 0:
            self._began_s = now_s  # Nothing was at work: the stretch has not begun.
        self._busy += self._running * (now_s - self._at_s)
        self._at_s = now_s
