"""Progress of a download: bytes, rate, remaining time."""

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum

_INTERVAL_S = 0.1
_RATE_OVER_S = 8.0


class DownloadStep(StrEnum):
    CHECKING = "checking"  # Hashing what is already on disk
    FETCHING = "fetching"
    WAITING = "waiting"  # Pausing before the next attempt


@dataclass(frozen=True, slots=True)
class Progress:
    step: DownloadStep
    done_bytes: int
    total_bytes: int | None = None
    bytes_per_s: float | None = None
    notice: str = ""  # Problem, for the person

    @property
    def left_s(self) -> float | None:
        if not self.bytes_per_s or self.total_bytes is None:
            return None
        return max(0, self.total_bytes - self.done_bytes) / self.bytes_per_s


Report = Callable[[Progress], None]


class ProgressReporter:
    """Adds the current rate to progress reports, and limits their frequency."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._seen: deque[tuple[float, int]] = deque()
        self._step: DownloadStep | None = None
        self._reported_at = 0.0

    def report(self, progress: Progress) -> None:
        now = time.monotonic()
        if progress.step is not self._step or (self._seen and progress.done_bytes < self._seen[-1][1]):
            self._seen.clear()
        elif (
            now - self._reported_at < _INTERVAL_S
            and progress.done_bytes != progress.total_bytes
            and not progress.notice
        ):
            return
        self._step, self._reported_at = progress.step, now
        self._seen.append((now, progress.done_bytes))
        while now - self._seen[0][0] > _RATE_OVER_S and len(self._seen) > 2:
            self._seen.popleft()
        seconds, done = now - self._seen[0][0], progress.done_bytes - self._seen[0][1]
        self._report(replace(progress, bytes_per_s=done / seconds if seconds > 0.2 and done else None))
