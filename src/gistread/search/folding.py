"""Folds characters to what a reader types for them.

Case, width, accents, points, final forms, ligatures and typography do not count.
"""

import unicodedata
from functools import cache

from gistread.word_patterns import ACCENTS

_SINGLE_QUOTES = "'‘’‚‛′`´ʼ׳"
_DOUBLE_QUOTES = '"“”„‟″«»״'
_DASHES = "-‐‑‒–—―−־"
_PLAIN = (
    dict.fromkeys(_SINGLE_QUOTES, "'")
    | dict.fromkeys(_DOUBLE_QUOTES, '"')
    | dict.fromkeys(_DASHES, "-")
    | {"…": "..."}
)
# Ligatures that Unicode does not decompose
_LIGATURES = {
    "ß": "ss",
    "ẞ": "SS",
    "æ": "ae",
    "Æ": "Ae",
    "œ": "oe",
    "Œ": "Oe",
    "þ": "th",
}
# Letters with a stroke, and the dotless i, become the plain letter and a mark.
_STROKE = "\u0335"
_STROKED = {
    letter: plain + _STROKE
    for letter, plain in zip("đĐøØłŁħĦıð", "dDoOlLhHid", strict=True)
}
_HEBREW_FINALS = dict(zip("ךםןףץ", "כמנפצ", strict=True))
# Letters of Arabic, Persian and Urdu that are typed for each other
_ARABIC = dict(zip("ىیکڪةھہە", "ييككهههه", strict=True))
_FORMS = {"ς": "σ", **_HEBREW_FINALS, **_ARABIC, **_LIGATURES, **_STROKED}
# Invisible: soft hyphen, joiners, directions, tatweel.
_INVISIBLE = frozenset("\u00ad\u0640\u200b\u200c\u200d\u200e\u200f\u2060\ufeff")
# Letters whose accent makes them another letter. They keep it, as Hangul syllables stay whole.
_WHOLE = frozenset("йЙўЎїЇѓЃќЌ")
_FIRST_HANGUL, _LAST_HANGUL = "\uac00", "\ud7a3"


@cache
def parts(character: str) -> str:
    """A character's plain parts in their case, with their accents after them.

    >>> parts("É") == "E\u0301", parts("ﬁ"), parts("’")
    (True, 'fi', "'")
    """
    if character in _PLAIN:
        return _PLAIN[character]
    if character in _INVISIBLE:
        return ""
    if character.isspace():
        return " "
    if character.isascii() or character in _WHOLE:
        return character
    if _FIRST_HANGUL <= character <= _LAST_HANGUL:
        return character
    taken_apart = unicodedata.normalize("NFKD", character)
    is_blank = not taken_apart.strip()
    if is_blank:
        return character
    return "".join(_FORMS.get(part, _digit(part)) for part in taken_apart)


def _digit(character: str) -> str:
    """The ASCII digit of a decimal digit of any script; other characters unchanged."""
    value = unicodedata.decimal(character, None)
    return character if value is None else str(value)


@cache
def fold(character: str) -> str:
    """What stands for a character in a search: no, one or several small letters.

    >>> fold("É"), fold("ﬁ"), fold("ß"), fold("\u05b8")
    ('e', 'fi', 'ss', '')
    """
    return "".join(part for part in parts(character).casefold() if part not in ACCENTS)


def folded_text(text: str) -> str:
    """`text` with each character folded.

    >>> folded_text("L’Œuvre de Straßburg")
    "l'oeuvre de strassburg"
    """
    return "".join(map(fold, text))
