"""Which tokens the merges of a byte-level BPE vocabulary lead to.

Byte-level BPE writes each byte as a printable character (GPT-2), and merges neighbours by the place of their pair in
a list (Sennrich et al. 2016, section 3.2). llama.cpp does just that. tiktoken knows tokens and their ranks but not the
pairs: it merges whatever makes a token. Both come to the same if it is told exactly those tokens that merging makes of
their own bytes, by the rank of the pair that comes last. That is so since what happens within a stretch of text that
no merge crosses is what would happen if it stood alone; so a token is never made of any pair but that one.
"""

import codecs
import itertools
from collections.abc import Iterable

_BYTES = 256


def _alphabet() -> str:
    printable = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = itertools.count(_BYTES)
    return "".join(chr(byte if byte in printable else next(others)) for byte in range(_BYTES))


ALPHABET = _alphabet()
"""The characters that stand for the 256 bytes, in the order of the bytes."""
_ENCODING = codecs.charmap_build(ALPHABET)


def token_bytes(text: str) -> bytes:
    """What a token stands for. Raises UnicodeEncodeError for characters that stand for no byte."""
    return codecs.charmap_encode(text, "strict", _ENCODING)[0]


def merged_tokens(merges: Iterable[bytes]) -> list[str]:
    """The tokens that merging makes, as the vocabulary writes them, in the order of their ranks.

    `merges`: pairs with a space between, the most wanted first. Raises ValueError where something in them is no pair,
    or where a pair comes before one that makes a part of it: no trained vocabulary is like that.
    """
    known = {character: byte for byte, character in enumerate(ALPHABET)}
    made = _Made()
    unknown: set[str] = set()
    tokens: list[str] = []
    for rank, merge in enumerate(merges):
        left_text, right_text = merge.decode().split(" ")
        left, right = known.get(left_text), known.get(right_text)
        if left is None:
            unknown.add(left_text)
        if right is None:
            unknown.add(right_text)
        if left is not None and right is not None:
            text = left_text + right_text
            if text not in known and (token := made.add(left, right, rank)):
                known[text] = token
                tokens.append(text)
    if not unknown.isdisjoint(known):
        raise ValueError("a pair comes before what makes a part of it")
    return tokens


class _Made:
    """Tokens by number, bytes first: when each is made, and of what."""

    def __init__(self) -> None:
        self._births = [-1] * _BYTES
        self._lefts = [-1] * _BYTES
        self._rights = [-1] * _BYTES
        self._ranks: dict[tuple[int, int], int] = {}
        """Of the pairs that tokens are made of."""

    def add(self, left: int, right: int, rank: int) -> int | None:
        """The number of the token that this pair makes; None where the pair never comes about.

        It does not where another pair across the boundary comes first. Pairs have to come in the order of ranks.
        """
        if self._is_crossed(left, right, rank):
            return None
        self._ranks[left, right] = rank
        self._births.append(rank)
        self._lefts.append(left)
        self._rights.append(right)
        return len(self._births) - 1

    def _is_crossed(self, left: int, right: int, rank: int) -> bool:
        """Whether some end of the left token is merged with some beginning of the right one.

        Goes back in time from the two whole ones. Each end is there from its own merge to that of what it is part of.
        """
        births, ranks = self._births, self._ranks
        left_ends = right_ends = rank
        while True:
            left_begins, right_begins = births[left], births[right]
            if left_begins > right_begins:
                left_ends, left = left_begins, self._rights[left]
            elif right_begins >= 0:
                # Of equal pairs the one on the left is merged first, so what is on the right is the younger.
                right_ends, right = right_begins, self._lefts[right]
            else:
                return False
            crossing = ranks.get((left, right))
            if crossing is not None:
                at = max(crossing, births[left], births[right])
                if at < left_ends and at <= right_ends:
                    return True
