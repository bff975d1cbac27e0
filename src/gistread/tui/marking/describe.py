"""Marks in words, and as they are drawn over the text.

A highlight has a sign and a name besides its colour.
"""

from collections.abc import Iterable

from gistread.book.model import Book
from gistread.marking import Color, Mark, MarkKind
from gistread.tui.text import Mark as TextMark
from gistread.units import format_place

NOTE_SIGN, BOOKMARK_SIGN = "✎", "⚑"
COLOR_SIGNS = {Color.YELLOW: "●", Color.GREEN: "■", Color.BLUE: "▲", Color.RED: "◆"}
# From bottom to top. Of several signs in a row, the topmost is shown.
_ORDER = (MarkKind.HIGHLIGHT, MarkKind.NOTE, MarkKind.BOOKMARK, MarkKind.LETTER)


def text_marks(marks: Iterable[Mark]) -> list[TextMark]:
    """What is drawn over the text, from bottom to top."""
    placed = [mark for mark in marks if not mark.lost]
    # Among marks of a kind, the sign of a note is the topmost.
    placed.sort(key=lambda mark: (_ORDER.index(mark.kind), bool(mark.note)))
    drawn: list[TextMark] = []
    for mark in placed:
        # A bookmark is at a place, but an empty mark would not be drawn.
        end = max(mark.end, mark.start + 1)
        drawn.append(TextMark(mark.start, end, _style(mark), sign_of(mark)))
    return drawn


def is_passage(mark: Mark) -> bool:
    """Whether a mark is on words, rather than at a place."""
    return mark.kind in (MarkKind.HIGHLIGHT, MarkKind.NOTE)


def _style(mark: Mark) -> str:
    match mark.kind:
        case MarkKind.HIGHLIGHT:
            return f"highlight-{color_of(mark)}"
        case MarkKind.NOTE:
            return "noted"
        case _:
            return "unmarked"


def color_of(mark: Mark) -> Color:
    return mark.color or Color.YELLOW


def sign_of(mark: Mark) -> str:
    """The sign of a mark, in one cell; a mark with a note has that of a note."""
    if mark.note or mark.kind is MarkKind.NOTE:
        return NOTE_SIGN
    if mark.kind is MarkKind.HIGHLIGHT:
        return COLOR_SIGNS[color_of(mark)]
    return mark.letter or BOOKMARK_SIGN


def name_of(mark: Mark) -> str:
    """The name of a mark: `green highlight`, `mark a`."""
    if mark.kind is MarkKind.HIGHLIGHT:
        return f"{color_of(mark)} highlight"
    if mark.kind is MarkKind.LETTER:
        return f"mark {mark.letter}"
    return mark.kind.value


def title_of(mark: Mark, book: Book) -> str:
    """The signs, name and place of a mark: `● yellow highlight · 34% · Chapter 2`."""
    signs = sign_of(mark)
    if mark.kind is MarkKind.HIGHLIGHT and mark.note:
        signs += COLOR_SIGNS[color_of(mark)]
    if mark.lost:
        where = "not found in this version of the text"
    else:
        where = format_place(mark.start, len(book.text))
        has_chapters = len(book.chapters) > 1
        chapter = book.chapter_title(mark.start) if has_chapters else ""
        if chapter:
            where += f" · {chapter}"
    return f"{signs} {name_of(mark)} · {where}"


def mark_around(marks: Iterable[Mark], start: int, end: int) -> Mark | None:
    """The highlight or note that contains this range of the book; the shortest of several."""
    passages = [mark for mark in marks if is_passage(mark) and not mark.lost]
    around = [mark for mark in passages if mark.start <= start and end <= mark.end]
    return min(around, key=lambda mark: mark.end - mark.start, default=None)
