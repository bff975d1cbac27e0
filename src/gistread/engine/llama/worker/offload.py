"""States of the KV cache that are put aside in memory, so that what rests takes no time of what runs.

Attention goes over every cell in use, whoever needs it: on a CPU, each thousand cells of others make the prompts of a
small model 2% slower and its decoding 6%. Out of the cache they cost nothing; a thousand tokens are copied there and
back in some ten milliseconds, where evaluating them takes seconds. They are found again by their tokens.

Kept as a tree of pieces, so that what several prompts begin with is kept once. All of them together stay below a share
of the memory that is free; what is worth least and was not used for longest, and nothing else goes on from, is dropped
first. Knows nothing of the cache.
"""

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import IntEnum

import numpy as np
import numpy.typing as npt

from gistread.engine.llama.machine import available_bytes
from gistread.engine.llama.worker.prefix_tree import common_prefix

LIMIT_BYTES = 2 * 2**30
"""All that is parked. 2,000 tokens take 46 MB with the starter, 230 MB with a model of 3 billion."""
_SHARE = 8
"""No more than one part in so many of the memory that is free."""
_BACKGROUND_PIECES = 8
"""Of background work, which goes on from its last prompts alone."""
_HELD_SHARE = 0.8
"""Of all that is parked, what is held at most. The rest is for what requests leave behind while it is used: without
room of its own each of these would drop what is held and about to be asked for."""

State = npt.NDArray[np.uint8]


class EvictionRank(IntEnum):
    """What goes first is least."""

    BACKGROUND = 0
    """Left behind by background work."""
    ASKED = 1
    """Left behind by a person's request."""
    HELD = 2
    """Evaluated ahead, for requests to come. Nothing else that is held makes way for it."""


@dataclass(eq=False, slots=True)
class OffloadedRun:
    """A run of tokens with its state."""

    start: int
    """Position of its first token. What stands before it is in the pieces above it."""
    tokens: list[int]
    state: State
    above: "OffloadedRun | None"
    worth: EvictionRank
    used_at: int = 0
    below: list["OffloadedRun"] = field(default_factory=list)
    """Those that go on from any place in it."""

    @property
    def end(self) -> int:
        return self.start + len(self.tokens)


@dataclass(frozen=True, slots=True)
class OffloadedPrefix:
    """The longest beginning of a prompt that is parked."""

    pieces: tuple[OffloadedRun, ...]
    """From position 0 on; each is needed up to where the next begins, the last up to `length`."""
    length: int


NOTHING = OffloadedPrefix((), 0)


class Offload:
    """What is parked. Belongs to the loop."""

    def __init__(self, limit_bytes: int = LIMIT_BYTES, free_bytes: Callable[[], int] = available_bytes) -> None:
        """`free_bytes`: memory of the machine that is free."""
        self._limit_bytes = limit_bytes
        self._free_bytes = free_bytes
        self._roots: list[OffloadedRun] = []
        self._clock = itertools.count(1)
        self.size = 0
        """Bytes of all states."""

    def find(self, tokens: Sequence[int]) -> OffloadedPrefix:
        wanted = list(tokens)
        best: tuple[OffloadedRun | None, int] = (None, 0)
        open_pieces = list(self._roots)
        while open_pieces:
            piece = open_pieces.pop()
            shared = common_prefix(piece.tokens, wanted[piece.start : piece.end])
            end = piece.start + shared
            if shared and end > best[1]:
                best = (piece, end)
            open_pieces += [lower for lower in piece.below if lower.start <= end]
        return OffloadedPrefix(tuple(_down_to(best[0])), best[1])

    def holdable(self) -> int:
        """Bytes that can be held, by the memory that is free now."""
        return int(self._limit * _HELD_SHARE)

    def use(self, found: OffloadedPrefix) -> None:
        """These are needed now: others go first."""
        for piece in found.pieces:
            piece.used_at = next(self._clock)

    def make_room(self, size: int, after: OffloadedPrefix, worth: EvictionRank) -> bool:
        """Drop what is worth least, and of that what was not used for longest, until `size` bytes more may be kept.

        `after`: pieces that stay, since what comes goes on from them. False: the bytes may not be kept.
        """
        limit = self._limit
        if worth is EvictionRank.HELD and self._held + size > limit * _HELD_SHARE:
            return False
        while self.size + size > limit:
            leaves = [piece for piece in self._all() if not piece.below and piece not in after.pieces]
            if worth is EvictionRank.HELD:
                leaves = [piece for piece in leaves if piece.worth is not EvictionRank.HELD]
            if not leaves:
                return False
            self._drop(min(leaves, key=lambda piece: (piece.worth, piece.used_at)))
        return True

    def keep(self, tokens: Sequence[int], state: State, after: OffloadedPrefix, worth: EvictionRank) -> None:
        """Keep the state of `tokens` from position `after.length` on."""
        above = after.pieces[-1] if after.pieces else None
        piece = OffloadedRun(after.length, list(tokens[after.length :]), state, above, worth)
        (above.below if above else self._roots).append(piece)
        self.size += len(state)
        self.use(OffloadedPrefix((*after.pieces, piece), piece.end))
        of_background = [other for other in self._all() if other.worth is EvictionRank.BACKGROUND and not other.below]
        if worth is EvictionRank.BACKGROUND and len(of_background) > _BACKGROUND_PIECES:
            self._drop(min(of_background, key=lambda other: other.used_at))

    def hold(self, found: OffloadedPrefix) -> bool:
        """Hold what is parked already. False: as much is held as may be."""
        more = sum(len(piece.state) for piece in found.pieces if piece.worth is not EvictionRank.HELD)
        if self._held + more > self._limit * _HELD_SHARE:
            return False
        for piece in found.pieces:
            piece.worth = EvictionRank.HELD
        return True

    @property
    def _limit(self) -> int:
        return min(self._limit_bytes, (self._free_bytes() + self.size) // _SHARE)

    @property
    def _held(self) -> int:
        return sum(len(piece.state) for piece in self._all() if piece.worth is EvictionRank.HELD)

    def _drop(self, piece: OffloadedRun) -> None:
        (piece.above.below if piece.above else self._roots).remove(piece)
        self.size -= len(piece.state)

    def _all(self) -> Iterator[OffloadedRun]:
        waiting = list(self._roots)
        while waiting:
            piece = waiting.pop()
            waiting += piece.below
            yield piece


def _down_to(piece: OffloadedRun | None) -> list[OffloadedRun]:
    path: list[OffloadedRun] = []
    while piece is not None:
        path.append(piece)
        piece = piece.above
    return path[::-1]
