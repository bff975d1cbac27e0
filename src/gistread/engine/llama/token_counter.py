"""Counts tokens while no model is loaded: a tiktoken encoding of the vocabulary in a GGUF file.

Byte-level BPE is determined by the file: bytes, ranked merges (Sennrich et al. 2016, section 3.2),
and the name of the rule that splits a text into words. Counts differ from llama.cpp's where a token
comes about by no merge, or by several. tiktoken's own encodings, which it would download, are not
used.
"""

import itertools
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from gistread.engine.llama.gguf import read_contents
from gistread.errors import GistreadError

if TYPE_CHECKING:
    from tiktoken import Encoding

# Letters, digits and marks as in llama.cpp's tables, of Unicode 15.1.
_L, _N, _M = (rf"[\p{{{name}}}&&\p{{Age:15.1}}]" for name in "LNM")
_CONTRACTIONS = "'(?:[sStTmMdD]|[rR][eE]|[vV][eE]|[lL][lL])"
_SPACES = r"\s*[\r\n]+|\s+(?!\S)|\s+"

# What splits a text into words must match all of any text: unmatched text would be lost. Words come
# first if no other alternative can match there: twice as fast.
_GPT2 = rf" ?{_L}+|'(?:[stmd]|re|ve|ll)| ?{_N}+| ?[^\s{_L}{_N}]+|\s+(?!\S)|\s+"
# llama.cpp splits off each digit first and then the text between, so spaces before a digit stay
# together.
_DIGITS_ALONE = (
    rf" ?{_L}+|'(?:[stmd]|re|ve|ll)|{_N}| ?[^\s{_L}{_N}]+|\s+(?![^\s{_N}])|\s+"
)
_LLAMA3 = rf"{_CONTRACTIONS}|[^\r\n{_L}{_N}]?{_L}+|{_N}{{1,3}}| ?[^\s{_L}{_N}]+[\r\n]*|{_SPACES}"
_QWEN2 = (
    rf"{_CONTRACTIONS}|[^\r\n{_L}{_N}]?{_L}+|{_N}| ?[^\s{_L}{_N}]+[\r\n]*|{_SPACES}"
)
_QWEN35 = rf"{_CONTRACTIONS}|[^\r\n{_L}{_N}]?[{_L}{_M}]+|{_N}| ?[^\s{_L}{_M}{_N}]+[\r\n]*|{_SPACES}"
_RULES = {
    **dict.fromkeys(("command-r", "refact", "smollm", "starcoder"), _DIGITS_ALONE),
    **{"gpt-2": _GPT2, "llama-bpe": _LLAMA3, "qwen2": _QWEN2, "qwen35": _QWEN35},
}
SUPPORTED = tuple(_RULES)

_TOKENS = "tokenizer.ggml.tokens"
_MERGES = "tokenizer.ggml.merges"
_TOKEN_TYPES = "tokenizer.ggml.token_type"
_BYTE_LEVEL_BPE = "gpt2"
_USER_DEFINED = 4  # Token type as numbered by llama.cpp: matched before a text is split
# Characters. tiktoken panics on a million spaces in a row, and prints that over the screen.
_LONG_SPACE = 50_000


def _alphabet() -> list[str]:
    """The printable characters that byte-level BPE writes for the bytes (GPT-2).

    A printable byte is written as itself, any other as a character from 256 on: a space as `Ġ`.
    """
    printable = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    substitutes = itertools.count(256)
    return [
        chr(byte) if byte in printable else chr(next(substitutes))
        for byte in range(256)
    ]


class TokenCounter:
    """Counts tokens with one vocabulary as llama.cpp does, without parsing control tokens."""

    def __init__(self, encoding: "Encoding", added: Iterable[str]) -> None:
        """`added`: user-defined tokens."""
        self._encoding = encoding
        # llama.cpp searches the whole text for the longest added token first.
        self._added = sorted(added, key=lambda text: -len(text.encode()))

    def count(self, text: str) -> int | None:
        """Count tokens; None if only llama.cpp can. Callable from any thread."""
        # A run of spaces twice as long as a block fills one, wherever it begins.
        starts = range(0, len(text) - _LONG_SPACE, _LONG_SPACE)
        if any(text[start : start + _LONG_SPACE].isspace() for start in starts):
            return None
        # llama.cpp gets a lone surrogate as a question mark (`worker/weights.py`).
        pieces = [text.encode("utf-8", "replace").decode()]
        tokens = 0
        for added in self._added:
            parts_of_pieces = [piece.split(added) for piece in pieces]
            tokens += sum(len(parts) - 1 for parts in parts_of_pieces)
            pieces = list(itertools.chain.from_iterable(parts_of_pieces))
        for piece in pieces:
            tokens += len(self._encoding.encode_ordinary(piece))
        return tokens


def read_counter(path: Path) -> TokenCounter | None:
    """The counter of a model file; None if its vocabulary is not supported.

    Takes a second for 150,000 tokens.
    """
    # The encodings that tiktoken registers would be downloaded.
    from tiktoken import Encoding

    try:
        contents = read_contents(path, (_TOKENS, _MERGES, _TOKEN_TYPES))
        if contents.text("tokenizer.ggml.model") != _BYTE_LEVEL_BPE:
            return None
        tokens = contents.strings[_TOKENS]
        encoding = Encoding(
            "gistread",
            pat_str=_RULES[contents.text("tokenizer.ggml.pre")],
            mergeable_ranks=_ranks(contents.strings[_MERGES]),
            special_tokens={},
        )
    except (GistreadError, LookupError, ValueError):
        return None
    types = contents.arrays.get(_TOKEN_TYPES, ())
    added = [
        token.decode("utf-8", "replace")
        for token, token_type in zip(tokens, types, strict=False)
        if token_type == _USER_DEFINED and token
    ]
    return TokenCounter(encoding, added)


def _ranks(merges: Iterable[bytes]) -> dict[bytes, int]:
    """Ranks of the tokens, first of single bytes, then of merges such as `Ġ t`.

    Raises LookupError or ValueError for a merge that is not of byte-level BPE.
    """
    byte_of = {character: byte for byte, character in enumerate(_alphabet())}
    ranks = {bytes([byte]): byte for byte in range(256)}
    for merge in merges:
        left, right = merge.decode().split(" ")
        token = bytes(byte_of[character] for character in left + right)
        ranks.setdefault(token, len(ranks))
    return ranks
