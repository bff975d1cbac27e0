"""Which request has which sequence of the KV cache, and what makes way for it.

All requests share one context and one prefix tree: whatever was evaluated for one is found by every other that
begins the same. What a request leaves behind stays until its cells or its sequence are needed, the least
recently used going first, and is then parked outside the cache (`offload.py`). On a CPU, where every cell in use takes
time of whatever runs, all but a little is parked as soon as something else runs. A running request keeps what it has,
and the cells that it may still need.

Models whose memory cannot be cut back (recurrent and hybrid ones) go on from a whole state or from nothing; of these,
and of sliding windows, nothing is parked.
"""

import itertools
from collections import deque

from gistread.engine.llama.worker.context import BatchToken, Context, DecodeError, Outcome
from gistread.engine.llama.worker.offload import NOTHING, EvictionRank, Offload, OffloadedPrefix, State
from gistread.engine.llama.worker.prefix_tree import PrefixTree
from gistread.engine.llama.worker.prompt_cache_files import LEAST_TOKENS, PromptCacheFiles
from gistread.engine.llama.worker.requests import Request
from gistread.engine.protocol import Priority

_KEPT_OF_BACKGROUND = 4
"""Sequences that background work leaves behind and that are kept: its next requests begin like the last ones."""
_RESTING_CELLS = 1024
"""That may stay in the cache of a CPU beside what runs: what was used last, as a rule by the next request too."""
_LEAST_PARKED = 64
_LEAST_OF_BACKGROUND = 256
"""Tokens that are not worth it, beside what others hold or is parked: a question, and a task with its gist."""


class Slots:
    """The sequences of one context. Belongs to the loop."""

    def __init__(self, context: Context, snapshots: PromptCacheFiles | None, *, on_gpu: bool = False) -> None:
        self.context = context
        self._parked = Offload() if context.weights.can_restart_anywhere else None
        self._clears_away = self._parked is not None and not on_gpu
        # The state of a sliding window, or of a recurrent model, is exact at its end alone.
        self._snapshots = snapshots if context.weights.can_restart_anywhere else None
        self._tree = PrefixTree()
        self._running: dict[int, Request] = {}
        """By sequence."""
        self._spare = context.sequences - 1
        """Belongs to no request: what is saved, parked or brought back goes through it."""
        self._used_at = dict.fromkeys(range(self._spare), 0)
        """When a request last ended in it, by a clock that ticks once a use."""
        self._clock = itertools.count(1)
        self._background: deque[int] = deque()
        """Sequences that background work has left behind, the latest last."""

    @property
    def running(self) -> list[Request]:
        """In the order in which they were admitted."""
        return list(self._running.values())

    @property
    def cells(self) -> int:
        """In use: what attention goes over."""
        return self._tree.cells

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
                self._put_away(target)
                if source is not None:
                    self.context.fork(source, target, length)
                    self._tree.share(source, target, length)
        if not self._make_room(len(tokens) + request.tokens_left - length, keep=target):
            return False
        length = self._unpark(target, tokens[: request.reusable], length)
        if self._clears_away:
            self._park_resting(beside=target)
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

    def state(self, tokens: list[int]) -> State:
        """A copy of what the cache holds of these tokens: all of them."""
        source, length = self._tree.find(tokens)
        assert source is not None
        assert length == len(tokens)
        self.context.fork(source, self._spare, length)
        state = self.context.state(self._spare)
        self.context.cut(self._spare, 0)
        return state

    def save(self, stable: list[int], state: State) -> None:
        """Keep the state of these tokens on disk."""
        if self._snapshots is not None:
            self._snapshots.save(stable, state)

    def hold(self, request: Request) -> bool:
        """Hold what was evaluated for a request in memory, outside the cache. False: there is no room for it."""
        assert request.sequence is not None
        return self._park(request.sequence, EvictionRank.HELD)

    def holds(self, tokens: list[int]) -> bool:
        """Whether all of these tokens lie in the cache or in memory."""
        return max(self._tree.find(tokens)[1], self._find_parked(tokens).length) == len(tokens)

    def holdable(self, token_bytes: float) -> int:
        """Tokens that can be held, of so many bytes each."""
        return int(self._parked.holdable() / token_bytes) if self._parked is not None and token_bytes else 0

    def _bring_back(self, request: Request) -> None:
        """Restore the stable beginning of a request from disk when that spares evaluating it. Tried once."""
        stable = request.prompt[: request.stable]
        idle = self._idle()
        if request.sought or self._snapshots is None or len(stable) < LEAST_TOKENS or not idle:
            return
        request.sought = True
        here = max(self._tree.find(stable)[1], self._find_parked(stable).length)
        if here == len(stable) or (state := self._snapshots.load(stable)) is None:
            return
        target = min(idle, key=lambda sequence: self._used_at[sequence])
        self._put_away(target)
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
                self._put_away(sequence)
        return self._tree.cells + promised + cells <= self.context.cells

    # Parking.

    def _find_parked(self, tokens: list[int]) -> OffloadedPrefix:
        return self._parked.find(tokens) if self._parked is not None else NOTHING

    def _unpark(self, sequence: int, tokens: list[int], length: int) -> int:
        """Bring back what is parked of `tokens` beyond the `length` that `sequence` holds; how many it holds then.

        A piece is brought into the cache whole, for a moment: where that has no room, the rest is evaluated again.
        """
        found = self._find_parked(tokens)
        if self._parked is None or found.length <= length:
            return length
        self._parked.use(found)
        ends = [*(piece.start for piece in found.pieces[1:]), found.length]
        for piece, end in zip(found.pieces, ends, strict=True):
            if end <= length:
                continue
            if self._tree.cells + len(piece.tokens) > self.context.cells:
                break
            if not self.context.restore(self._spare, piece.state):
                break
            self.context.fork(self._spare, sequence, end, length)
            self.context.cut(self._spare, 0)
            self._tree.extend(sequence, tokens[length:end])
            length = end
        return length

    def _park_resting(self, beside: int) -> None:
        """Let no more than a little rest in the cache beside what runs and what is about to."""
        running = {*self._running, beside}
        resting = [sequence for sequence in self._idle() if sequence != beside]
        for sequence in sorted(resting, key=self._tree.length, reverse=True):
            if self._tree.cells - self._tree.held_by(running) <= _RESTING_CELLS:
                return
            self._put_away(sequence)

    def _put_away(self, sequence: int) -> None:
        """Empty a sequence; what it held is parked, if it is worth it."""
        background = sequence in self._background
        least = _LEAST_OF_BACKGROUND if background else _LEAST_PARKED
        if self._tree.alone(sequence) > least:
            self._park(sequence, EvictionRank.BACKGROUND if background else EvictionRank.ASKED, least)
        self._cut(sequence, 0)

    def _park(self, sequence: int, worth: EvictionRank, least: int = 0) -> bool:
        """Park what a sequence holds, if that is more than `least` tokens beyond what is parked. False: no room."""
        if self._parked is None:
            return False
        tokens = self._tree.tokens(sequence)
        known = self._parked.find(tokens)
        if len(tokens) - known.length <= least:
            return worth is not EvictionRank.HELD or self._parked.hold(known)
        self.context.fork(sequence, self._spare, len(tokens), known.length)
        room = self._parked.make_room(self.context.state_bytes(self._spare), known, worth)
        if room:
            self._parked.keep(tokens, self.context.state(self._spare), known, worth)
        self.context.cut(self._spare, 0)
        return room

    def _cut(self, sequence: int, length: int) -> int:
        """Keep the first `length` tokens of a sequence, or none where that cannot be done; how many are left."""
        kept = length if self._tree.length(sequence) <= length or self.context.cut(sequence, length) else 0
        self._tree.cut(sequence, kept)
        return min(kept, self._tree.length(sequence))

    def _trim(self, sequence: int) -> None:
        """Remove what a batch that did not end has left behind what the sequence is known to hold."""
        if not self.context.cut(sequence, self._tree.length(sequence)):
            self._tree.cut(sequence, 0)
