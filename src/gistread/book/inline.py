"""Marks words in text under construction.

A format encloses the words of its i-th mark in private-use characters, `opening(i)` and
`closing(i)`, after removing such characters from the source with `strip_marks`. The builder
replaces them by offsets.
"""

import re
from dataclasses import dataclass

from gistread.book.model import Style

_OPENING = 0xF0000
_CLOSING = 0x100000
MAX_MARKS = 0xFFFD  # Per paragraph; later text stays unmarked
# More than in a Bible with a reference at each verse; guards against files that consist of tags.
MAX_MARKS_PER_BOOK = 500_000
_MARK_CHARACTERS = "\U000f0000-\U000ffffd\U00100000-\U0010fffd"
MARK_PATTERN = f"[{_MARK_CHARACTERS}]"  # Pattern of one mark
_ANY = re.compile(MARK_PATTERN)
# Atomic, and matches only at the start of a run: a million spaces or marks in a row are scanned
# once.
_RUN = re.compile(rf"(?<!\s)(?>\s*)[{_MARK_CHARACTERS}][\s{_MARK_CHARACTERS}]*")


@dataclass(frozen=True, slots=True)
class InlineMark:
    """Properties of marked words; several may apply."""

    style: Style | None = None
    # Target of a link, as written in the source; the format resolves it later
    href: str = ""
    is_note: bool = False  # The link is a note reference
    language: str = ""  # BCP 47, if it differs from the book's
    image: str = ""  # Path or URL of the picture that the words represent


Marks = tuple[InlineMark, ...]


@dataclass(frozen=True, slots=True)
class MarkedRange:
    """Characters `[start, end)` of a text, which the mark `index` covers."""

    index: int
    start: int
    end: int


def opening(index: int) -> str:
    return chr(_OPENING + index)


def closing(index: int) -> str:
    return chr(_CLOSING + index)


def strip_marks(text: str) -> str:
    """Text of a source without characters that serve as marks."""
    if text.isascii():
        return text
    return _ANY.sub("", text)


def renumber_marks(text: str, by: int) -> str:
    """Marked text with its mark numbers raised by `by`; those beyond `MAX_MARKS` are dropped."""

    def moved(match: re.Match[str]) -> str:
        code = ord(match[0])
        first = _CLOSING if code >= _CLOSING else _OPENING
        if code - first + by < MAX_MARKS:
            return chr(code + by)
        return ""

    return _ANY.sub(moved, text)


def attach_marks(text: str) -> str:
    """Move marks off white space: openings before a word, closings after one; drop empty pairs."""
    return _RUN.sub(_bound, text)


def _bound(run: re.Match[str]) -> str:
    spaces = _ANY.sub("", run[0])
    if not spaces:
        return run[0]
    marks = _ANY.findall(run[0])
    opened = {ord(mark) - _OPENING for mark in marks if ord(mark) < _CLOSING}
    closed = {ord(mark) - _CLOSING for mark in marks if ord(mark) >= _CLOSING}
    empty = opened & closed
    before = "".join(
        m for m in marks if ord(m) >= _CLOSING and ord(m) - _CLOSING not in empty
    )
    after = "".join(
        m for m in marks if ord(m) < _CLOSING and ord(m) - _OPENING not in empty
    )
    return before + spaces + after


def extract_marks(text: str) -> tuple[str, list[MarkedRange]]:
    """The text without marks, and the range of each non-empty mark, by start.

    >>> extract_marks(f"to {opening(0)}be{closing(0)}")
    ('to be', [MarkedRange(index=0, start=3, end=5)])
    """
    pieces: list[str] = []
    starts: dict[int, int] = {}  # Of open marks
    ranges: list[MarkedRange] = []
    at = length = 0
    for match in _ANY.finditer(text):
        pieces.append(text[at : match.start()])
        length += match.start() - at
        at = match.end()
        code = ord(match[0])
        if code < _CLOSING:
            starts[code - _OPENING] = length
        else:
            index = code - _CLOSING
            ranges.append(MarkedRange(index, starts.pop(index, length), length))
    pieces.append(text[at:])
    length += len(text) - at
    ranges += [MarkedRange(index, start, length) for index, start in starts.items()]
    covering = [marked for marked in ranges if marked.start < marked.end]
    covering.sort(key=lambda marked: (marked.start, -marked.end, marked.index))
    return "".join(pieces), covering
