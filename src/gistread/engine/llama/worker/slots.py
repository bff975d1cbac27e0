"""Assigns requests to sequences of the KV cache, and evicts the least recently used ones.

All requests share one context and one prefix tree, so a prefix evaluated for one is reused by all.
The contents of a finished request stay cached until their cells are needed. Models without rollback
continue a whole state or start from nothing.
"""

import itertools
from abc import ABC, abstractmethod
from collections import deque

from gistread.engine.llama.worker.context import (
    BatchToken,
    Context,
    DecodeError,
    Outcome,
)
from gistread.engine.llama.worker.prefix_tree import PrefixTree
from gistread.engine.llama.worker.prompt_cache_files import (
    LEAST_TOKENS,
    PromptCacheFiles,
)
from gistread.engine.llama.worker.requests import ScheduledRequest
from gistread.engine.protocol import Priority

# Sequences kept after background requests, whose prefixes the next ones share
_BACKGROUND_SEQUENCES = 4


class SequencePool(ABC):
    """The first `size` sequences of a context, and the requests that run in them.

    Used by the main loop only.
    """

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
        """Tokens of a request whose state is in the KV cache."""
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
        """The sequences in which no request runs."""
        sequences = range(len(self._used_at))
        return [sequence for sequence in sequences if sequence not in self._running]


class Slots(SequencePool):
    """The sequences of a unified context; the last one is used to copy states."""

    def __init__(self, context: Context, cache_files: PromptCacheFiles | None) -> None:
        super().__init__(context, context.sequences - 1)
        self._spare = context.sequences - 1
        # The state of a sliding window or a recurrent model is valid at its end only.
        can_restart = context.weights.can_restart_anywhere
        self._cache_files = cache_files if can_restart else None
        self._tree = PrefixTree()
        # Sequences released by background requests, the latest last
        self._background: deque[int] = deque()

    def admit(self, request: ScheduledRequest) -> bool:
        self._restore_from_file(request)
        tokens = request.tokens
        idle = sorted(self._idle(), key=self._used_at.__getitem__)
        if not idle:
            return False
        # The last token is always evaluated, for its logits.
        source, length = self._find_cached(tokens[:-1])
        if source in idle and length == self._tree.length(source):
            target = source  # Continue it.
        else:
            # The least recently used one, but not the source if there is any other
            others = [sequence for sequence in idle if sequence != source]
            target = others[0] if others else idle[0]
            if target == source:
                length = self._cut(target, length)
            else:
                self._cut(target, 0)
                if source is not None:
                    self.context.fork(source, target, length)
                    self._tree.share(source, target, length)
        missing_cells = len(tokens) + request.tokens_left - length
        if not self._make_room(missing_cells, keep=target):
            return False
        if target in self._background:
            self._background.remove(target)
        request.sequence = target
        request.reused = max(request.reused, min(length, len(request.prompt)))
        self._running[target] = request
        return True

    def release(self, request: ScheduledRequest) -> None:
        is_background = request.priority is Priority.BACKGROUND
        if request.sequence is not None and is_background and not request.cacheable:
            self._background.append(request.sequence)
        super().release(request)
        while len(self._background) > _BACKGROUND_SEQUENCES:
            self._cut(self._background.popleft(), 0)

    def evaluate(self, tokens: list[BatchToken]) -> Outcome:
        outcome = self.context.evaluate(tokens)
        for sequence in {item.sequence for item in tokens}:
            if outcome is Outcome.DONE:
                evaluated = [item.token for item in tokens if item.sequence == sequence]
                self._tree.extend(sequence, evaluated)
            else:
                was_cut = self.context.cut(sequence, self._tree.length(sequence))
                if not was_cut:  # It is empty now.
                    self._tree.cut(sequence, 0)
        if outcome is Outcome.FULL:
            cached = [
                sequence for sequence in self._idle() if self._tree.length(sequence)
            ]
            if not cached:  # No other batch would fit either.
                raise DecodeError(
                    "the KV cache has no room for the cells reserved by running requests"
                )
            for sequence in cached:
                self._cut(sequence, 0)
        return outcome

    def save(self, beginning: list[int]) -> None:
        """Write the KV state of these tokens to disk for the next process.

        Does nothing unless all are in the cache, and the state is new.
        """
        files = self._cache_files
        if files is None or len(beginning) < LEAST_TOKENS or files.has(beginning):
            return
        source, length = self._tree.find(beginning)
        if source is not None and length == len(beginning):
            self.context.fork(source, self._spare, length)
            files.save(beginning, self.context.state(self._spare))
            self.context.cut(self._spare, 0)

    def _restore_from_file(self, request: ScheduledRequest) -> None:
        """Load the request's cacheable beginning from disk, once, unless it is in the cache."""
        idle = self._idle()
        if request.cache_file_tried or self._cache_files is None or not idle:
            return
        request.cache_file_tried = True
        beginning = request.prompt[: request.cacheable]
        if len(beginning) < LEAST_TOKENS:
            return
        _, cached_length = self._tree.find(beginning)
        if cached_length == len(beginning):
            return
        state = self._cache_files.load(beginning)
        if state is None:
            return
        target = min(idle, key=self._used_at.__getitem__)
        self._cut(target, 0)
        if target in self._background:
            self._background.remove(target)
        has_room = self._make_room(len(beginning), keep=target)
        if has_room and self.context.restore(target, state):
            self._tree.extend(target, beginning)
            self._used_at[target] = next(self._clock)

    def _find_cached(self, tokens: list[int]) -> tuple[int | None, int]:
        """The sequence whose beginning these tokens can reuse, and how many of them.

        (None, 0) if there is none.
        """
        if self.context.weights.can_roll_back:
            source, length = self._tree.find(tokens)
            if source is None:
                return None, 0
            is_whole = length == self._tree.length(source)
            if is_whole or self.context.can_cut_at(source, length):
                return source, length
        source, length = self._tree.find_whole(tokens)
        # The state of a running sequence changes: only an idle one can be continued or copied.
        if source is not None and source not in self._running:
            return (source, length)
        return (None, 0)

    def _length(self, sequence: int) -> int:
        return self._tree.length(sequence)

    def _make_room(self, cells: int, keep: int) -> bool:
        """Empty idle sequences but `keep`, the least recently used first, until `cells` are free.

        The cells that running requests still need are not free. Returns False if there are too few.
        """
        reserved = sum(
            self.pending(request) + request.tokens_left
            for request in self._running.values()
        )
        for sequence in sorted(self._idle(), key=self._used_at.__getitem__):
            if self._tree.cells + reserved + cells <= self.context.cells:
                return True
            if sequence != keep:
                self._cut(sequence, 0)
        return self._tree.cells + reserved + cells <= self.context.cells

    def _cut(self, sequence: int, length: int) -> int:
        """Cut an idle sequence to this length, or empty it if that is impossible.

        Returns its new length. A shorter sequence stays as it is.
        """
        old_length = self._tree.length(sequence)
        if old_length <= length:
            return old_length
        was_cut = self.context.cut(sequence, length)
        new_length = length if was_cut else 0
        self._tree.cut(sequence, new_length)
        return new_length
