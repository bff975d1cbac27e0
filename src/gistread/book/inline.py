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
# Marks with the white space around and between them. The group is atomic and matches only at the
# start of a run, so a million spaces or marks in a row are scanned once.
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

    def renumbered(match: re.Match[str]) -> str:
        mark = match[0]
        if _index_of(mark) + by >= MAX_MARKS:
            return ""
        return chr(ord(mark) + by)

    return _ANY.sub(renumbered, text)


def _is_closing(mark: str) -> bool:
    return ord(mark) >= _CLOSING


def _index_of(mark: str) -> int:
    return ord(mark) - (_CLOSING if _is_closing(mark) else _OPENING)


def attach_marks(text: str) -> str:
    """Move marks off white space: openings before a word, closings after one; drop empty pairs."""
    return _RUN.sub(_attached, text)


def _attached(run: re.Match[str]) -> str:
    """A run of marks and spaces, with the closing marks before the spaces, the opening after."""
    spaces = _ANY.sub("", run[0])
    if not spaces:
        return run[0]
    marks = _ANY.findall(run[0])
    closings = [mark for mark in marks if _is_closing(mark)]
    openings = [mark for mark in marks if not _is_closing(mark)]
    opened = {_index_of(mark) for mark in openings}
    closed = {_index_of(mark) for mark in closings}
    empty = opened & closed  # They only cover spaces
    before = "".join(mark for mark in closings if _index_of(mark) not in empty)
    after = "".join(mark for mark in openings if _index_of(mark) not in empty)
    return before + spaces + after


def extract_marks(text: str) -> tuple[str, list[MarkedRange]]:
    """The text without marks, and the range of each non-empty mark, by start.

    >>> extract_marks(f"to {opening(0)}be{closing(0)}")
    ('to be', [MarkedRange(index=0, start=3, end=5)])
    """
    pieces: list[str] = []
    starts: dict[int, int] = {}  # Of open marks
    ranges: list[MarkedRange] = []
    piece_start = 0
    length = 0  # Of the pieces so far
    for match in _ANY.finditer(text):
        pieces.append(text[piece_start : match.start()])
        length += match.start() - piece_start
        piece_start = match.end()
        index = _index_of(match[0])
        if _is_closing(match[0]):
            # Without an opening mark, the range is empty.
            start = starts.pop(index, length)
            ranges.append(MarkedRange(index, start, length))
        else:
            starts[index] = length
    pieces.append(text[piece_start:])
    length += len(text) - piece_start
    # A mark that is never closed reaches to the end.
    ranges += [MarkedRange(index, start, length) for index, start in starts.items()]
    covering = [marked for marked in ranges if marked.start < marked.end]
    covering.sort(key=lambda marked: (marked.start, -marked.end, marked.index))
    return "".join(pieces), covering
