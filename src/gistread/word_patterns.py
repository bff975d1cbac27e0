"""Finds words in any script: one character of a script without spaces counts as a word."""

import re
import unicodedata
from collections.abc import Sequence

# Characters of scripts without spaces between words: Thai, Lao, Burmese, Khmer, kana, Han.
UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"
)
UNSPACED_CHARACTER = re.compile(f"[{UNSPACED}]")

# Accents, points and vowel signs of scripts with spaces between words: `\w` matches none of them.
_FIRST_MARK, _END_OF_INDIC = 0x300, 0xE00
MARKS = frozenset(
    character
    for character in map(chr, range(_FIRST_MARK, _END_OF_INDIC))
    if unicodedata.category(character) in ("Mn", "Mc")
)
# Marks that users leave out when they type. In Indic scripts these are the dots below, but not the
# vowel signs.
_FIRST_INDIC = "\u0900"
_DOTS_BELOW = "\u093c\u09bc\u0a3c\u0abc\u0b3c\u0cbc"
ACCENTS = frozenset(
    mark for mark in MARKS if mark < _FIRST_INDIC or mark in _DOTS_BELOW
)
MARK_CLASS = "".join(sorted(MARKS))
_RUN = f"(?:(?![{UNSPACED}])\\w[{MARK_CLASS}]*)+"

PART = re.compile(f"[{UNSPACED}]|{_RUN}")  # A word, split at apostrophes and hyphens
WORD = re.compile(f"[{UNSPACED}]|{_RUN}(?:['’]{_RUN})*")  # A word with its apostrophes
# A word with its apostrophes and hyphens
HYPHENATED = re.compile(f"[{UNSPACED}]|{_RUN}(?:['’‑-]{_RUN})*")
# A word of letters alone, with its apostrophes and hyphens
ALPHABETIC = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")


def folded_words(text: str) -> list[str]:
    """The words of a text without case, for comparison."""
    return WORD.findall(text.casefold())


def runs_of(words: Sequence[str], length: int) -> list[tuple[str, ...]]:
    """All runs of `length` words in a row.

    >>> runs_of(["the", "old", "mill"], 2)
    [('the', 'old'), ('old', 'mill')]
    """
    starts = range(len(words) - length + 1)
    return [tuple(words[start : start + length]) for start in starts]
