"""KV states offloaded from the cache to memory, as a tree of runs, so that shared beginnings are kept once.

Attention visits every cell in use: on a CPU, each thousand idle cells slow down a small model's prompts by 2% and its
decoding by 6%. Copying a thousand tokens out and back takes some ten milliseconds, evaluating them takes seconds. The
total is limited to a share of free memory; runs are evicted by rank, then the least recently used first.
"""

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import IntEnum

import numpy as np
import numpy.typing as npt

from gistread.engine.llama.machine import available_bytes
from gistread.engine.llama.worker.prefix_tree import common_prefix

# All states together. 2,000 tokens take 46 MB with the starter, 230 MB with a model of 3 billion parameters.
LIMIT_BYTES = 2 * 2**30
_SHARE = 8  # Limit as a fraction of free memory: one eighth
_BACKGROUND_RUNS = 8  # Most runs kept for background work, which only reuses its latest prompts
_PINNED_SHARE = 0.8
"""Share of the limit that may be pinned. The rest is for states that requests leave behind, which would otherwise
evict pinned runs before they are used."""

State = npt.NDArray[np.uint8]


class EvictionRank(IntEnum):
    """Order of eviction, lowest first."""

    BACKGROUND = 0  # Left by background work
    INTERACTIVE = 1  # Left by an interactive request
    PINNED = 2  # Evaluated ahead for later requests. Never evicted for another pinned run.


@dataclass(eq=False, slots=True)
class OffloadedRun:
    """The KV state of consecutive tokens: a node of the tree."""

    start: int  # Position of the first token; the tokens before it are in the parents
    tokens: list[int]
    state: State
    parent: "OffloadedRun | None"
    rank: EvictionRank
    used_at: int = 0
    children: list["OffloadedRun"] = field(default_factory=list)  # Runs that continue from any position in this one

    @property
    def end(self) -> int:
        return self.start + len(self.tokens)


@dataclass(frozen=True, slots=True)
class OffloadedPrefix:
    # From position 0 on. Each run is used up to the start of the next, the last up to `length`.
    runs: tuple[OffloadedRun, ...]
    length: int


NOTHING = OffloadedPrefix((), 0)


class Offload:
    """Offloaded states. Used by the main loop only."""

    def __init__(self, limit_bytes: int = LIMIT_BYTES, free_bytes: Callable[[], int] = available_bytes) -> None:
        """`free_bytes` returns the machine's free memory."""
        self._limit_bytes = limit_bytes
        self._free_bytes = free_bytes
        self._roots: list[OffloadedRun] = []
        self._clock = itertools.count(1)
        self.size = 0  # Bytes of all states

    def find(self, tokens: Sequence[int]) -> OffloadedPrefix:
        wanted = list(tokens)
        best: tuple[OffloadedRun | None, int] = (None, 0)
        open_runs = list(self._roots)
        while open_runs:
            run = open_runs.pop()
            shared = common_prefix(run.tokens, wanted[run.start : run.end])
            end = run.start + shared
            if shared and end > best[1]:
                best = (run, end)
            open_runs += [child for child in run.children if child.start <= end]
        return OffloadedPrefix(tuple(_path_to(best[0])), best[1])

    def pinnable_bytes(self) -> int:
        """Bytes that can be pinned, given the memory that is free now."""
        return int(self._limit * _PINNED_SHARE)

    def use(self, found: OffloadedPrefix) -> None:
        """Mark these runs as most recently used."""
        for run in found.runs:
            run.used_at = next(self._clock)

    def make_room(self, size: int, after: OffloadedPrefix, rank: EvictionRank) -> bool:
        """Evict runs except `after`, lowest rank and least recent first. Returns False if `size` bytes cannot fit."""
        limit = self._limit
        if rank is EvictionRank.PINNED and self._pinned + size > limit * _PINNED_SHARE:
            return False
        while self.size + size > limit:
            leaves = [run for run in self._all() if not run.children and run not in after.runs]
            if rank is EvictionRank.PINNED:
                leaves = [run for run in leaves if run.rank is not EvictionRank.PINNED]
            if not leaves:
                return False
            self._drop(min(leaves, key=lambda run: (run.rank, run.used_at)))
        return True

    def add(self, tokens: Sequence[int], state: State, after: OffloadedPrefix, rank: EvictionRank) -> None:
        parent = after.runs[-1] if after.runs else None
        run = OffloadedRun(after.length, list(tokens[after.length :]), state, parent, rank)
        (parent.children if parent else self._roots).append(run)
        self.size += len(state)
        self.use(OffloadedPrefix((*after.runs, run), run.end))
        of_background = [other for other in self._all() if other.rank is EvictionRank.BACKGROUND and not other.children]
        if rank is EvictionRank.BACKGROUND and len(of_background) > _BACKGROUND_RUNS:
            self._drop(min(of_background, key=lambda other: other.used_at))

    def pin(self, found: OffloadedPrefix) -> bool:
        """Pin runs that are offloaded already. Returns False if too much is pinned."""
        more = sum(len(run.state) for run in found.runs if run.rank is not EvictionRank.PINNED)
        if self._pinned + more > self._limit * _PINNED_SHARE:
            return False
        for run in found.runs:
            run.rank = EvictionRank.PINNED
        return True

    @property
    def _limit(self) -> int:
        return min(self._limit_bytes, (self._free_bytes() + self.size) // _SHARE)

    @property
    def _pinned(self) -> int:
        return sum(len(run.state) for run in self._all() if run.rank is EvictionRank.PINNED)

    def _drop(self, run: OffloadedRun) -> None:
        (run.parent.children if run.parent else self._roots).remove(run)
        self.size -= len(run.state)

    def _all(self) -> Iterator[OffloadedRun]:
        waiting = list(self._roots)
        while waiting:
            run = waiting.pop()
            waiting += run.children
            yield run


def _path_to(run: OffloadedRun | None) -> list[OffloadedRun]:
    path: list[OffloadedRun] = []
    while run is not None:
        path.append(run)
        run = run.parent
    return path[::-1]
