"""Finds words in a book as a person types them: in either case, across line ends, with plain quotes and dashes, and
without the diacritics that a keyboard lacks.

Works on text and offsets alone; knows nothing of books or screens.
"""

import re
import unicodedata
from collections.abc import Iterator

# What a person types, and what a typesetter made of it. Matched in both directions.
_SINGLE_QUOTES = "'‘’‚‛′`´"
_DOUBLE_QUOTES = '"“”„‟″«»'
_DASH = "(?:--|[-‐‑‒–—―−])"
_ELLIPSIS = "(?:\\.\\.\\.|…)"
_TOKEN = re.compile(r"\s+|--|\.\.\.|.", re.DOTALL)
_WORD = re.compile(r"\w")

# Letters of two characters, which a match character by character does not find.
_LIGATURES = {"ß": "(?:ß|ss)", "ẞ": "(?:ß|ss)", "æ": "(?:æ|ae)", "œ": "(?:œ|oe)"}


def _variants() -> dict[str, str]:
    """Of each plain letter a set of it and all that carry diacritics: "Natasha" finds "Natásha"."""
    variants: dict[str, str] = {}
    for code in (*range(0xC0, 0x250), *range(0x1E00, 0x1F00)):
        base = unicodedata.normalize("NFD", chr(code))[0].lower()
        if base.isascii() and base.isalpha():
            variants[base] = variants.get(base, base) + chr(code).lower()
    return {base: f"[{''.join(dict.fromkeys(letters))}]" for base, letters in variants.items()}


_VARIANTS = _variants()


def find(text: str, words: str, *, whole_words: bool = False) -> Iterator[tuple[int, int]]:
    """Bounds of each place in `text` where `words` stand, in order, none overlapping; none for empty `words`.

    Upper and lower case are the same, and so are any two runs of white space, the forms of quotation marks and
    apostrophes, of dashes, and of the ellipsis. A plain letter finds itself with any diacritic, a letter with one only
    itself. With `whole_words`, "art" is not found in "party".
    """
    pattern = _pattern(words, plain=text.isascii(), whole_words=whole_words)
    if pattern is None:
        return
    for match in pattern.finditer(text):
        yield match.span()


def _pattern(words: str, *, plain: bool, whole_words: bool) -> re.Pattern[str] | None:
    """What finds `words`; `plain` where the text has no letters but ASCII's, which is several times as fast."""
    words = unicodedata.normalize("NFC", words).strip()
    if not words:
        return None
    body = "".join(_part(token[0], plain=plain) for token in _TOKEN.finditer(words))
    if whole_words:
        # At an edge that is no letter (a quotation mark) there is no word to be whole.
        before = r"(?<!\w)" if _WORD.match(words[0]) else ""
        after = r"(?!\w)" if _WORD.match(words[-1]) else ""
        body = f"{before}{body}{after}"
    return re.compile(body, re.IGNORECASE)


def _part(token: str, *, plain: bool) -> str:
    """What one character (or run of white space) of the query matches."""
    if token.isspace():
        return r"\s+"
    if token in _SINGLE_QUOTES:
        return f"[{_SINGLE_QUOTES}]"
    if token in _DOUBLE_QUOTES:
        return f"[{_DOUBLE_QUOTES}]"
    if token == "--" or token in "-‐‑‒–—―−":
        return _DASH
    if token in ("...", "…"):
        return _ELLIPSIS
    letter = token.lower()
    if letter in _LIGATURES:
        return _LIGATURES[letter]
    return re.escape(token) if plain else _VARIANTS.get(letter, re.escape(token))
