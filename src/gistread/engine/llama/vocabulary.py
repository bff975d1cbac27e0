"""Reads the vocabulary of a GGUF file, and finds the tokens that the merges of byte-level BPE can produce.

Byte-level BPE writes each byte as a printable character (GPT-2) and merges neighbours by the rank of their pair
(Sennrich et al. 2016, section 3.2). llama.cpp does the same. tiktoken knows ranked tokens but not pairs, and merges any
two neighbours that form a token. Both agree if tiktoken gets exactly the tokens that merging produces from their own
bytes, each ranked by its last pair. A token always comes from the same pair, because merging inside a span that no
merge crosses does not depend on the surrounding text.
"""

import codecs
import itertools
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from gistread.engine.llama.gguf import read_values
from gistread.engine.llama.gguf_contents import Value

_KEYS = ("model", "pre", "tokens", "token_type", "merges")
_USER_DEFINED = 4  # Token type as numbered by llama.cpp
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """A tokenizer's data. Fields missing from the file are empty."""

    model: str  # Tokenizer type: `gpt2` is byte-level BPE
    pre: str  # Name of the pre-tokenization rule, which splits a text into words
    tokens: list[bytes]  # By id, as written: byte-level BPE writes bytes as printable characters
    kinds: list[int]  # By id; may be shorter or longer than `tokens`
    merges: list[bytes]  # Pairs separated by a space, by rank
    title: str  # The model's name, on which llama.cpp bases the behaviour of some tokens

    @property
    def added(self) -> list[bytes]:
        """User-defined tokens, which are matched before pre-tokenization."""
        return [text for text, kind in zip(self.tokens, self.kinds, strict=False) if kind == _USER_DEFINED]


def read_vocabulary(path: Path) -> Vocabulary:
    """Read the vocabulary of a model file; 0.2 s for 150,000 tokens. Raises EngineError as `gguf.read_header`."""
    prefix = "tokenizer.ggml."
    values = read_values(path, {*(prefix + key for key in _KEYS), "general.name"})
    return Vocabulary(
        model=str(values.get(prefix + "model", "")),
        pre=str(values.get(prefix + "pre", "")),
        tokens=_items(values.get(prefix + "tokens"), bytes),
        kinds=_items(values.get(prefix + "token_type"), int),
        merges=_items(values.get(prefix + "merges"), bytes),
        title=str(values.get("general.name", "")),
    )


def _items(value: Value | None, kind: type[_T]) -> list[_T]:
    return [item for item in value if isinstance(item, kind)] if isinstance(value, list) else []


_BYTES = 256


def _alphabet() -> str:
    printable = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = itertools.count(_BYTES)
    return "".join(chr(byte if byte in printable else next(others)) for byte in range(_BYTES))


ALPHABET = _alphabet()  # The characters for the bytes 0 to 255
_ENCODING = codecs.charmap_build(ALPHABET)


def token_bytes(text: str) -> bytes:
    """Bytes of a token. Raises UnicodeEncodeError for other characters than those of `ALPHABET`."""
    return codecs.charmap_encode(text, "strict", _ENCODING)[0]


def merged_tokens(merges: Iterable[bytes]) -> list[str]:
    """The tokens in order of rank, as the vocabulary writes them. Raises ValueError for impossible `merges`."""
    known = {character: byte for byte, character in enumerate(ALPHABET)}
    tokens_made = _MergedTokens()
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
            if text not in known and (token := tokens_made.add(left, right, rank)):
                known[text] = token
                tokens.append(text)
    if not unknown.isdisjoint(known):
        raise ValueError("a pair comes before the merge of one of its halves")
    return tokens


class _MergedTokens:
    """Tokens by number, bytes first, with the rank and the halves each is merged from."""

    def __init__(self) -> None:
        self._births = [-1] * _BYTES
        self._lefts = [-1] * _BYTES
        self._rights = [-1] * _BYTES
        self._ranks: dict[tuple[int, int], int] = {}

    def add(self, left: int, right: int, rank: int) -> int | None:
        """Add the token merged from this pair and return its number; None if a pair across its middle merges first."""
        if self._is_crossed(left, right, rank):
            return None
        self._ranks[left, right] = rank
        self._births.append(rank)
        self._lefts.append(left)
        self._rights.append(right)
        return len(self._births) - 1

    def _is_crossed(self, left: int, right: int, rank: int) -> bool:
        """Whether some suffix of the left token merges with some prefix of the right one."""
        births, ranks = self._births, self._ranks
        left_ends = right_ends = rank
        while True:
            left_begins, right_begins = births[left], births[right]
            if left_begins > right_begins:
                left_ends, left = left_begins, self._rights[left]
            elif right_begins >= 0:
                # Of two equal pairs the left one merges first, so the right part is merged later.
                right_ends, right = right_begins, self._lefts[right]
            else:
                return False
            crossing = ranks.get((left, right))
            if crossing is not None:
                at = max(crossing, births[left], births[right])
                if at < left_ends and at <= right_ends:
                    return True
