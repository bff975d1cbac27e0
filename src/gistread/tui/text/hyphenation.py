"""Hyphenation by the rules of a language.

The dictionaries are LibreOffice's (pyphen), loaded on first use.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyphen import Pyphen

Foreign = tuple[int, int, str]  # `text[start:end]` is in this language (BCP 47)

_LETTERS = re.compile(r"[^\W\d_]+")
_LEAST_LETTERS = 6  # Of a word that is hyphenated
_LEFT, _RIGHT = 3, 3  # Minimum letters before and after a hyphen
# Minimum characters of a passage in another language to hyphenate it: loading a dictionary takes
# longer than laying out a book.
_LEAST_PASSAGE = 60
_MOST_AFTER_EDGE = 64  # Maximum letters of a word after the edge of a row
_JOINTS = frozenset("-‐‑_@/\\&=")  # Between the parts of a compound or an address
_NOUNS_ARE_CAPITAL = "de"  # Elsewhere a word with a capital is taken for a name


def last_hyphen(
    language: str, foreign: Sequence[Foreign], text: str, start: int, limit: int
) -> int | None:
    """The last place in `(start, limit]` of a text after which a hyphen may be drawn, if any.

    `language`: of the text (BCP 47), but for its foreign passages.
    """
    language = _language_of_row(language, foreign, start, limit)
    word = _word_at_edge(text, start, limit)
    if not language or word is None:
        return None
    first, end = word
    is_short = end - first < _LEAST_LETTERS
    is_name = text[first].isupper() and not language.startswith(_NOUNS_ARE_CAPITAL)
    if is_short or is_name or _is_part_of_compound(text, first, end):
        return None
    word_places = _hyphen_places(language, text[first:end].lower())
    for place in reversed(word_places):
        if first + place <= limit:
            return first + place
    return None


def _language_of_row(
    language: str, foreign: Sequence[Foreign], start: int, limit: int
) -> str:
    """The language of a row; empty if it changes there, or if the passage is too short."""
    for passage_start, passage_end, passage_language in reversed(foreign):
        if passage_start < limit and start < passage_end:
            is_short = passage_end - passage_start < _LEAST_PASSAGE
            if is_short or passage_start > start:
                return ""
            return passage_language
    return language


def _word_at_edge(text: str, start: int, limit: int) -> tuple[int, int] | None:
    """The word from `start` on that begins before `limit` and reaches it, unless it is too long."""
    bound = limit + _MOST_AFTER_EDGE
    for word in _LETTERS.finditer(text, start, bound):
        first, end = word.span()
        if end < limit:
            continue
        is_too_long = end >= bound
        if first >= limit or is_too_long:
            return None
        return first, end
    return None


def _is_part_of_compound(text: str, first: int, end: int) -> bool:
    """Whether a word is part of a compound or an address, which has better places to break."""
    is_joined_before = first > 0 and text[first - 1] in _JOINTS
    return is_joined_before or text[end : end + 1] in _JOINTS


@lru_cache(maxsize=1 << 16)
def _hyphen_places(language: str, word: str) -> tuple[int, ...]:
    """Places inside a lower-case word where it may be hyphenated; none without a dictionary."""
    dictionary = _dictionary(language)
    if dictionary is None:
        return ()
    # A place with data would change the spelling, as in Swedish.
    return tuple(
        int(place) for place in dictionary.positions(word) if place.data is None
    )


@lru_cache(maxsize=16)
def _dictionary(language: str) -> "Pyphen | None":
    import pyphen

    nearest = pyphen.language_fallback(language.replace("_", "-"))
    if not nearest:
        return None
    return pyphen.Pyphen(lang=nearest, left=_LEFT, right=_RIGHT)
