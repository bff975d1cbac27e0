"""How far a file has come, how fast, and how long the rest will take."""

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum

_TOLD_EVERY_S = 0.1
_RATE_OVER_S = 8.0


class DownloadStep(StrEnum):
    """What is being done."""

    CHECKING = "checking"
    """What is here already is read, for its checksum."""
    FETCHING = "fetching"
    WAITING = "waiting"
    """Until the next attempt."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far one file has come."""

    step: DownloadStep
    done_bytes: int
    total_bytes: int | None = None
    bytes_per_s: float | None = None
    notice: str = ""
    """What is in the way, for the person."""

    @property
    def left_s(self) -> float | None:
        if not self.bytes_per_s or self.total_bytes is None:
            return None
        return max(0, self.total_bytes - self.done_bytes) / self.bytes_per_s


Tell = Callable[[Progress], None]


class ProgressReporter:
    """Adds the rate of the last seconds, and tells no more often than an eye can follow."""

    def __init__(self, tell: Tell) -> None:
        self._tell = tell
        self._seen: deque[tuple[float, int]] = deque()
        self._step: DownloadStep | None = None
        self._told_at = 0.0

    def tell(self, progress: Progress) -> None:
        now = time.monotonic()
        if progress.step is not self._step or (self._seen and progress.done_bytes < self._seen[-1][1]):
            self._seen.clear()
        elif (
            now - self._told_at < _TOLD_EVERY_S and progress.done_bytes != progress.total_bytes and not progress.notice
        ):
            return
        self._step, self._told_at = progress.step, now
        self._seen.append((now, progress.done_bytes))
        while now - self._seen[0][0] > _RATE_OVER_S and len(self._seen) > 2:
            self._seen.popleft()
        seconds, done = now - self._seen[0][0], progress.done_bytes - self._seen[0][1]
        self._tell(replace(progress, bytes_per_s=done / seconds if seconds > 0.2 and done else None))
