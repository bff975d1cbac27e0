"""Where a row may end in scripts that write no spaces: Thai, Lao, Burmese and Khmer.

ICU's dictionaries tell the words. Without ICU a row ends between syllables, never inside a cluster.
"""

import re
import unicodedata
from functools import lru_cache
from itertools import accumulate

UNSPACED_CLASS = (
    "\u0e01-\u0e3a\u0e40-\u0e4e\u0e80-\u0eff\u1000-\u103f\u1050-\u109f\u1780-\u17dd"
)
_CHARACTER = re.compile(f"[{UNSPACED_CLASS}]")

_VOWELS_BEFORE = frozenset("เแโใไເແໂໃໄ")  # Written before their consonant
_NEVER_FIRST = frozenset("ะาำๅๆฯະາຳຽໆຯ")
_JOINS_THE_NEXT = frozenset("\u1039\u17d2")  # Stack the next consonant below
_CLOSES_A_SYLLABLE = frozenset("\u103a\u1039")  # After the last consonant of a syllable
_CACHED_PARAGRAPHS = 512


def is_inside(text: str, place: int) -> bool:
    """Whether the characters on both sides of `place` are of these scripts."""
    before, after = text[place - 1], text[place]
    return _CHARACTER.match(before) is not None and _CHARACTER.match(after) is not None


def may_break(text: str, place: int) -> bool:
    """Whether a row may end at `place`, which is inside a run of these scripts."""
    words = _word_ends(text)
    return is_between_clusters(text, place) and (words is None or place in words)


def is_between_clusters(text: str, place: int) -> bool:
    """Whether a cluster ends at `place`: a consonant with all its vowels and signs."""
    before, after = text[place - 1], text[place]
    if before in _VOWELS_BEFORE or before in _JOINS_THE_NEXT:
        return False
    if after in _NEVER_FIRST or unicodedata.category(after) in ("Mn", "Mc"):
        return False
    # A consonant with such a sign after it ends the syllable before `place`.
    sign_after = text[place + 1 : place + 2]
    return sign_after not in _CLOSES_A_SYLLABLE


@lru_cache(_CACHED_PARAGRAPHS)
def _word_ends(text: str) -> frozenset[int] | None:
    """Offsets of the ends of words; None without ICU."""
    try:
        from icu4py.breakers import LineBreaker  # Imported here: few books need it.
    except ImportError:
        return None
    # ICU chooses the dictionary by the script, whichever of these languages is named.
    parts = LineBreaker(text, "th")
    return frozenset(accumulate(map(len, parts)))
