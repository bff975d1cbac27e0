"""Assigns requests to sequences of the KV cache, and evicts the least recently used ones.

All requests share one context and one prefix tree, so a prefix evaluated for one is reused by all. The contents
of a finished request stay cached until their cells are needed; then they are offloaded (`offload.py`). On a CPU, idle
sequences are offloaded as soon as another request runs. Models without rollback continue a whole state or start from
nothing, and are not offloaded.
"""

from collections import deque

from gistread.engine.llama.worker.context import BatchToken, Context, DecodeError, Outcome
from gistread.engine.llama.worker.offload import NOTHING, EvictionRank, Offload, OffloadedPrefix, State
from gistread.engine.llama.worker.prefix_tree import PrefixTree
from gistread.engine.llama.worker.prompt_cache_files import LEAST_TOKENS, PromptCacheFiles
from gistread.engine.llama.worker.requests import Request
from gistread.engine.llama.worker.sequence_pool import SequencePool
from gistread.engine.protocol import Priority

_BACKGROUND_SEQUENCES = 4  # Sequences kept after background requests, whose prefixes the next ones share
_IDLE_CELLS = 1024  # Idle cells that may stay in the cache on a CPU: the next request usually shares the latest prefix
_LEAST_OFFLOADED = 64
# Sequences with fewer unshared tokens are dropped: a question, or a task with its gist.
_LEAST_OFFLOADED_BACKGROUND = 256


class Slots(SequencePool):
    """The sequences of a unified context; the last one is used to save, offload and restore states."""

    def __init__(self, context: Context, cache_files: PromptCacheFiles | None, *, on_gpu: bool = False) -> None:
        super().__init__(context, context.sequences - 1)
        self._spare = context.sequences - 1
        self._offload = Offload() if context.weights.can_restart_anywhere else None
        self._offloads_idle = self._offload is not None and not on_gpu
        # The state of a sliding window or a recurrent model is valid at its end only.
        self._cache_files = cache_files if context.weights.can_restart_anywhere else None
        self._tree = PrefixTree()
        self._background: deque[int] = deque()  # Sequences released by background requests, the latest last

    @property
    def cells(self) -> int:
        return self._tree.cells

    def admit(self, request: Request) -> bool:
        self._restore_from_file(request)
        tokens = request.tokens
        idle = sorted(self._idle(), key=self._used_at.__getitem__)
        if not idle:
            return False
        source, length = self._find_cached(tokens[:-1])  # the last token is always evaluated, for its logits
        if source is not None and source in idle and length == self._tree.length(source):
            target = source
        else:
            target = next((s for s in idle if s != source), idle[0])
            if target == source:
                length = self._cut(target, length)
            else:
                self._evict(target)
                if source is not None:
                    self.context.fork(source, target, length)
                    self._tree.share(source, target, length)
        if not self._make_room(len(tokens) + request.tokens_left - length, keep=target):
            return False
        length = self._load_offloaded(target, tokens[:-1], length)
        if self._offloads_idle:
            self._offload_idle(beside=target)
        if target in self._background:
            self._background.remove(target)
        request.sequence = target
        request.reused = max(request.reused, min(length, len(request.prompt)))
        self._running[target] = request
        return True

    def release(self, request: Request) -> None:
        if request.sequence is not None and request.priority is Priority.BACKGROUND and request.sampler is not None:
            self._background.append(request.sequence)
        super().release(request)
        while len(self._background) > _BACKGROUND_SEQUENCES:
            self._cut(self._background.popleft(), 0)

    def evaluate(self, tokens: list[BatchToken]) -> Outcome:
        outcome = self.context.evaluate(tokens)
        sequences = {item.sequence for item in tokens}
        for sequence in sequences:
            if outcome is Outcome.DONE:
                self._tree.extend(sequence, [item.token for item in tokens if item.sequence == sequence])
            elif not self.context.cut(sequence, self._tree.length(sequence)):
                self._tree.cut(sequence, 0)
        if outcome is Outcome.FULL:
            idle = [sequence for sequence in self._idle() if self._tree.length(sequence)]
            if not idle:  # no other batch would fit either
                raise DecodeError("the KV cache has no room for the cells reserved by running requests")
            for sequence in idle:
                self._cut(sequence, 0)
        return outcome

    def unsaved(self, request: Request) -> bool:
        """Whether the stable beginning of this request is in the cache and not yet on disk."""
        stable = request.prompt[: request.stable]
        return (
            self._cache_files is not None
            and len(stable) >= LEAST_TOKENS
            and self._tree.find(stable)[1] == len(stable)
            and not self._cache_files.has(stable)
        )

    def state(self, tokens: list[int]) -> State:
        """Copy the KV state of these tokens, all of which are in the cache."""
        source, length = self._tree.find(tokens)
        assert source is not None
        assert length == len(tokens)
        self.context.fork(source, self._spare, length)
        state = self.context.state(self._spare)
        self.context.cut(self._spare, 0)
        return state

    def save(self, stable: list[int], state: State) -> None:
        if self._cache_files is not None:
            self._cache_files.save(stable, state)

    def save_unfinished(self, tokens: list[int]) -> None:
        if self._cache_files is None:
            return
        if evaluated := self._cache_files.unfinished_part(tokens[: self._tree.find(tokens)[1]]):
            self._cache_files.unfinished.save(evaluated, self.state(evaluated))

    def pin(self, request: Request) -> bool:
        """Pin the prompt of a request, in memory outside the cache. Returns False if there is no room."""
        assert request.sequence is not None
        return self._offload_sequence(request.sequence, EvictionRank.PINNED)

    def is_evaluated(self, tokens: list[int]) -> bool:
        return max(self._tree.find(tokens)[1], self._find_offloaded(tokens).length) == len(tokens)

    def pinnable_tokens(self, token_bytes: float) -> int:
        """Tokens of this size that can be pinned."""
        return int(self._offload.pinnable_bytes() / token_bytes) if self._offload is not None and token_bytes else 0

    def _restore_from_file(self, request: Request) -> None:
        idle = self._idle()
        if request.cache_file_tried or self._cache_files is None or not idle:
            return
        request.cache_file_tried = True
        files, stable = self._cache_files, request.prompt[: request.stable]
        if not stable and request.priority is Priority.BACKGROUND:
            stable, files = files.find_unfinished(request.prompt), files.unfinished
        in_memory = max(self._tree.find(stable)[1], self._find_offloaded(stable).length)
        if len(stable) < LEAST_TOKENS or in_memory == len(stable) or (state := files.load(stable)) is None:
            return
        if not request.stable:
            files.remove(stable)
        target = min(idle, key=self._used_at.__getitem__)
        self._evict(target)
        if target in self._background:
            self._background.remove(target)
        if self._make_room(len(stable), keep=target) and self.context.restore(target, state):
            self._tree.extend(target, stable)
            self._used_at[target] = next(self._clock)

    def _find_cached(self, tokens: list[int]) -> tuple[int | None, int]:
        if self.context.weights.can_roll_back:
            source, length = self._tree.find(tokens)
            if source is None or length == self._tree.length(source) or self.context.can_cut_at(source, length):
                return source, length
        source, length = self._tree.find_whole(tokens)
        # The state of a running sequence changes: only an idle one can be continued or copied.
        return (source, length) if source is not None and source not in self._running else (None, 0)

    def _length(self, sequence: int) -> int:
        return self._tree.length(sequence)

    def _make_room(self, cells: int, keep: int) -> bool:
        reserved = sum(self.pending(request) + request.tokens_left for request in self._running.values())
        for sequence in sorted(self._idle(), key=self._used_at.__getitem__):
            if self._tree.cells + reserved + cells <= self.context.cells:
                return True
            if sequence != keep:
                self._evict(sequence)
        return self._tree.cells + reserved + cells <= self.context.cells

    def _find_offloaded(self, tokens: list[int]) -> OffloadedPrefix:
        return self._offload.find(tokens) if self._offload is not None else NOTHING

    def _load_offloaded(self, sequence: int, tokens: list[int], length: int) -> int:
        """Restore offloaded tokens beyond the `length` that `sequence` holds. Returns its new length."""
        found = self._find_offloaded(tokens)
        if self._offload is None or found.length <= length:
            return length
        self._offload.use(found)
        ends = [*(run.start for run in found.runs[1:]), found.length]
        for run, end in zip(found.runs, ends, strict=True):
            if end <= length:
                continue
            if self._tree.cells + len(run.tokens) > self.context.cells:
                break
            if not self.context.restore(self._spare, run.state):
                break
            self.context.fork(self._spare, sequence, end, length)
            self.context.cut(self._spare, 0)
            self._tree.extend(sequence, tokens[length:end])
            length = end
        return length

    def _offload_idle(self, beside: int) -> None:
        running = {*self._running, beside}
        idle = [sequence for sequence in self._idle() if sequence != beside]
        for sequence in sorted(idle, key=self._tree.length, reverse=True):
            if self._tree.cells - self._tree.cells_of(running) <= _IDLE_CELLS:
                return
            self._evict(sequence)

    def _evict(self, sequence: int) -> None:
        background = sequence in self._background
        least = _LEAST_OFFLOADED_BACKGROUND if background else _LEAST_OFFLOADED
        if self._tree.unshared(sequence) > least:
            self._offload_sequence(sequence, EvictionRank.BACKGROUND if background else EvictionRank.INTERACTIVE, least)
        self._cut(sequence, 0)

    def _offload_sequence(self, sequence: int, rank: EvictionRank, least: int = 0) -> bool:
        """Offload a sequence if that adds more than `least` tokens. Returns False if there is no room."""
        if self._offload is None:
            return False
        tokens = self._tree.tokens(sequence)
        known = self._offload.find(tokens)
        if len(tokens) - known.length <= least:
            return rank is not EvictionRank.PINNED or self._offload.pin(known)
        self.context.fork(sequence, self._spare, len(tokens), known.length)
        room = self._offload.make_room(self.context.state_bytes(self._spare), known, rank)
        if room:
            self._offload.add(tokens, self.context.state(self._spare), known, rank)
        self.context.cut(self._spare, 0)
        return room

    def _cut(self, sequence: int, length: int) -> int:
        kept = length if self._tree.length(sequence) <= length or self.context.cut(sequence, length) else 0
        self._tree.cut(sequence, kept)
        return min(kept, self._tree.length(sequence))
