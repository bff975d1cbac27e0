"""The interface between the scheduler and the sequences of a context: admit, evaluate, release."""

import itertools
from abc import ABC, abstractmethod

from gistread.engine.llama.worker.context import BatchToken, Context, Outcome
from gistread.engine.llama.worker.requests import ScheduledRequest


class SequencePool(ABC):
    """The first `size` sequences of a context, and the requests that run in them. Used by the main loop only."""

    def __init__(self, context: Context, size: int) -> None:
        self.context = context
        self._running: dict[int, ScheduledRequest] = {}  # By sequence
        self._used_at = [0] * size  # Logical time of the last release, by sequence
        self._clock = itertools.count(1)

    @property
    def running(self) -> list[ScheduledRequest]:
        """In order of admission."""
        return list(self._running.values())

    def evaluated(self, request: ScheduledRequest) -> int:
        return 0 if request.sequence is None else self._length(request.sequence)

    def pending(self, request: ScheduledRequest) -> int:
        """Tokens to evaluate before the next can be sampled: 1 while decoding."""
        return request.length - self.evaluated(request)

    @abstractmethod
    def admit(self, request: ScheduledRequest) -> bool:
        """Give a waiting request a sequence. Returns False if there is no room now."""

    @abstractmethod
    def evaluate(self, tokens: list[BatchToken]) -> Outcome:
        """Evaluate and record a batch; unless done, cut its sequences back. Raises DecodeError."""

    def release(self, request: ScheduledRequest) -> None:
        """Free the sequence; its contents stay cached."""
        if request.sequence is not None:
            del self._running[request.sequence]
            self._used_at[request.sequence] = next(self._clock)
            request.sequence = None

    @abstractmethod
    def _length(self, sequence: int) -> int:
        """Tokens in a sequence."""

    def _idle(self) -> list[int]:
        return [sequence for sequence in range(len(self._used_at)) if sequence not in self._running]
