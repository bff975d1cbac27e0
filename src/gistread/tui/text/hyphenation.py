"""Where a word may be parted at the end of a row, by the rules of its language.

The dictionaries are those of LibreOffice, read by pyphen when the first word of a language is to be parted. What is
found is only drawn: a hyphen is never part of a text. Nothing here knows rows or how wide a character is.
"""

import re
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyphen import Pyphen

Foreign = tuple[int, int, str]
"""`text[start:end]` is in this language (BCP 47)."""
Breaker = Callable[[str, int, int], int]
"""`(text, start, limit)`: the last place in `(start, limit]` of the words at `start` behind which a hyphen may be
drawn, or 0. No white space stands in between."""

_LETTERS = re.compile(r"[^\W\d_]+")
_LEAST_LETTERS = 6
_LEFT, _RIGHT = 3, 3
"""Least letters before and behind a hyphen."""
_PASSAGE = 60
"""Characters from which words in another language are a passage, parted by its own rules. A few stay whole: a
dictionary of their language would take longer to read than the whole book to lay out."""
_LONGEST = 64
"""Letters of a word that may follow the edge of a row."""
_JOINTS = frozenset("-‐‑_@/\\&=")
_NOUNS_ARE_CAPITAL = "de"


@lru_cache(maxsize=256)
def breaker(language: str, foreign: tuple[Foreign, ...] = ()) -> Breaker:
    """What parts the words of a text in `language` (BCP 47); where nothing is known of it, none are parted."""

    def last(text: str, start: int, limit: int) -> int:
        for begin, end, inner in reversed(foreign):
            if begin < limit and start < end:
                return _last(inner, text, start, limit) if end - begin >= _PASSAGE and begin <= start else 0
        return _last(language, text, start, limit)

    return last


def _last(language: str, text: str, start: int, limit: int) -> int:
    bound = limit + _LONGEST
    for word in _LETTERS.finditer(text, start, bound):
        first, end = word.span()
        if end >= limit:
            break
    else:
        return 0
    # A compound has its own hyphens, an address none, and a name is known by its shape.
    if (
        first >= limit
        or end == bound  # what goes on so long is no word
        or end - first < _LEAST_LETTERS
        or (first and text[first - 1] in _JOINTS)
        or text[end : end + 1] in _JOINTS
        or (text[first].isupper() and not language.startswith(_NOUNS_ARE_CAPITAL))
    ):
        return 0
    for place in reversed(places(language, text[first:end].lower())):
        if first + place <= limit:
            return first + place
    return 0


@lru_cache(maxsize=1 << 16)
def places(language: str, word: str) -> tuple[int, ...]:
    """Places inside a word in small letters where it may be parted."""
    dictionary = _dictionary(language)
    if dictionary is None:
        return ()
    # A place with data is one where the spelling changes, as in Swedish: more than a hyphen would have to be drawn.
    return tuple(int(place) for place in dictionary.positions(word) if place.data is None)


@lru_cache(maxsize=16)
def _dictionary(language: str) -> "Pyphen | None":
    if not language:
        return None
    import pyphen

    known = pyphen.language_fallback(language.replace("_", "-"))
    return pyphen.Pyphen(lang=known, left=_LEFT, right=_RIGHT) if known else None
