"""Which request has which sequence of the KV cache, and what makes way for it.

All requests share one context and one prefix tree: whatever was evaluated for one is found by every other that
begins the same. What a request leaves behind stays until its cells or its sequence are needed, the least
recently used going first. A running request keeps what it has, and the cells that it may still need.

Models whose memory cannot be cut back (recurrent and hybrid ones) go on from a whole state or from nothing.
"""

import itertools
from collections import deque

from gistread.engine.llama.worker.context import BatchToken, Context, DecodeError, Outcome
from gistread.engine.llama.worker.prefix_tree import PrefixTree
from gistread.engine.llama.worker.requests import Request
from gistread.engine.llama.worker.snapshots import LEAST_TOKENS, Snapshots
from gistread.engine.protocol import Priority

_KEPT_OF_BACKGROUND = 4
"""Sequences that background work leaves behind and that are kept: its next requests begin like the last ones. Attention
takes time for every cell in use, whoever needs it: 6,000 cells of others halve the decode rate on a CPU."""


class Slots:
    """The sequences of one context. Belongs to the loop."""

    def __init__(self, context: Context, snapshots: Snapshots | None) -> None:
        self.context = context
        # The state of a sliding window, or of a recurrent model, is exact at its end alone.
        self._snapshots = snapshots if context.weights.can_restart_anywhere else None
        self._tree = PrefixTree()
        self._running: dict[int, Request] = {}
        """By sequence."""
        self._spare = context.sequences - 1
        """Belongs to no request: what is saved is brought into it first."""
        self._used_at = dict.fromkeys(range(self._spare), 0)
        """When a request last ended in it, by a clock that ticks once a use."""
        self._clock = itertools.count(1)
        self._background: deque[int] = deque()
        """Sequences that background work has left behind, the latest last."""

    @property
    def running(self) -> list[Request]:
        """In the order in which they were admitted."""
        return list(self._running.values())

    def held(self, request: Request) -> int:
        """Tokens of the request that need not be evaluated any more."""
        return 0 if request.sequence is None else self._tree.length(request.sequence)

    def pending(self, request: Request) -> int:
        """Tokens to evaluate before the next can be decided: 1 while decoding."""
        return request.length - self.held(request)

    def admit(self, request: Request) -> bool:
        """Give a waiting request a sequence and the cells that it may need. False: they cannot be had now."""
        self._bring_back(request)
        tokens = request.tokens
        idle = sorted(self._idle(), key=lambda sequence: self._used_at[sequence])
        if not idle:
            return False
        source, length = self._known(tokens[: request.reusable])  # what decides is always evaluated
        if source is not None and source in idle and length == self._tree.length(source):
            target = source
        else:
            target = next((s for s in idle if s != source), idle[0])
            if target == source:
                length = self._cut(target, length)
            else:
                self._cut(target, 0)
                if source is not None:
                    self.context.fork(source, target, length)
                    self._tree.share(source, target, length)
        if not self._make_room(len(tokens) + request.tokens_left - length, keep=target):
            return False
        if target in self._background:
            self._background.remove(target)
        request.sequence = target
        request.reused = max(request.reused, min(length, len(request.prompt)))
        self._running[target] = request
        return True

    def release(self, request: Request) -> None:
        """Take the sequence back; what it holds stays for the next request."""
        if request.sequence is not None:
            del self._running[request.sequence]
            self._used_at[request.sequence] = next(self._clock)
            if request.scorer is not None:  # Its prompt will not come again: what others left must not make way for it.
                self._cut(request.sequence, 0)
                self._used_at[request.sequence] = 0
            elif request.priority is Priority.BACKGROUND and request.sampler is not None:
                self._background.append(request.sequence)
            request.sequence = None
            while len(self._background) > _KEPT_OF_BACKGROUND:
                self._cut(self._background.popleft(), 0)

    def evaluate(self, tokens: list[BatchToken]) -> Outcome:
        """Evaluate a batch and book what the sequences hold now. Unless it is done, they hold what they held before.

        Raises DecodeError.
        """
        outcome = self.context.evaluate(tokens)
        sequences = {item.sequence for item in tokens}
        for sequence in sequences:
            if outcome is Outcome.DONE:
                self._tree.extend(sequence, [item.token for item in tokens if item.sequence == sequence])
            else:
                self._trim(sequence)
        if outcome is Outcome.FULL:
            resting = [sequence for sequence in self._idle() if self._tree.length(sequence)]
            if not resting:  # No other batch would fit either: better a new worker than to try for ever.
                raise DecodeError("the KV cache has no room for what was promised to the running requests")
            for sequence in resting:
                self._cut(sequence, 0)
        return outcome

    def unsaved(self, request: Request) -> bool:
        """Whether the stable beginning of this request lies in the cache and not yet on disk."""
        stable = request.prompt[: request.stable]
        return (
            self._snapshots is not None
            and len(stable) >= LEAST_TOKENS
            and self._tree.find(stable)[1] == len(stable)
            and not self._snapshots.has(stable)
        )

    def save(self, stable: list[int]) -> None:
        """Keep the state of these tokens on disk, if they still lie in the cache."""
        source, length = self._tree.find(stable)
        if self._snapshots is not None and source is not None and length == len(stable):
            self.context.fork(source, self._spare, length)
            self._snapshots.save(stable, self.context.state(self._spare))
            self.context.cut(self._spare, 0)

    def _bring_back(self, request: Request) -> None:
        """Restore the stable beginning of a request from disk when that spares evaluating it. Tried once."""
        stable = request.prompt[: request.stable]
        idle = self._idle()
        if request.sought or self._snapshots is None or len(stable) < LEAST_TOKENS or not idle:
            return
        request.sought = True
        if self._tree.find(stable)[1] == len(stable) or (state := self._snapshots.load(stable)) is None:
            return
        target = min(idle, key=lambda sequence: self._used_at[sequence])
        self._cut(target, 0)
        if target in self._background:
            self._background.remove(target)
        if self._make_room(len(stable), keep=target) and self.context.restore(target, state):
            self._tree.extend(target, stable)
            self._used_at[target] = next(self._clock)

    def _known(self, tokens: list[int]) -> tuple[int | None, int]:
        if self.context.weights.can_roll_back:
            source, length = self._tree.find(tokens)
            if source is None or length == self._tree.length(source) or self.context.holds_window(source, length):
                return source, length
        source, length = self._tree.find_whole(tokens)
        # A running sequence's state moves on: only one that rests can be taken further, or copied.
        return (source, length) if source is not None and source not in self._running else (None, 0)

    def _idle(self) -> list[int]:
        return [sequence for sequence in self._used_at if sequence not in self._running]

    def _make_room(self, cells: int, keep: int) -> bool:
        """Empty idle sequences, the least recently used first, until so many cells are free."""
        promised = sum(self.pending(request) + request.tokens_left for request in self._running.values())
        for sequence in sorted(self._idle(), key=lambda s: self._used_at[s]):
            if self._tree.cells + promised + cells <= self.context.cells:
                return True
            if sequence != keep:
                self._cut(sequence, 0)
        return self._tree.cells + promised + cells <= self.context.cells

    def _cut(self, sequence: int, length: int) -> int:
        """Keep the first `length` tokens of a sequence, or none where that cannot be done; how many are left."""
        kept = length if self._tree.length(sequence) <= length or self.context.cut(sequence, length) else 0
        self._tree.cut(sequence, kept)
        return min(kept, self._tree.length(sequence))

    def _trim(self, sequence: int) -> None:
        """Remove what a batch that did not end has left behind what the sequence is known to hold."""
        if not self.context.cut(sequence, self._tree.length(sequence)):
            self._tree.cut(sequence, 0)
