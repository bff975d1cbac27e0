"""Marks as drawn over the text and in words.

Besides its colour a highlight has a sign and a name.
"""

from collections.abc import Iterable

from gistread.book.model import Book
from gistread.marking import Color, Mark, MarkKind
from gistread.tui.text import Mark as TextMark
from gistread.units import format_place

NOTE_SIGN, BOOKMARK_SIGN = "✎", "⚑"
COLOR_SIGNS = {Color.YELLOW: "●", Color.GREEN: "■", Color.BLUE: "▲", Color.RED: "◆"}
# From bottom to top. Of several signs in a row the topmost is shown.
_ORDER = (MarkKind.HIGHLIGHT, MarkKind.NOTE, MarkKind.BOOKMARK, MarkKind.LETTER)


def text_marks(marks: Iterable[Mark]) -> list[TextMark]:
    placed = sorted(
        (mark for mark in marks if not mark.lost),
        key=lambda mark: (_ORDER.index(mark.kind), bool(mark.note)),
    )
    return [
        TextMark(mark.start, max(mark.end, mark.start + 1), _style(mark), sign_of(mark))
        for mark in placed
    ]


def is_passage(mark: Mark) -> bool:
    return mark.kind in (MarkKind.HIGHLIGHT, MarkKind.NOTE)


def _style(mark: Mark) -> str:
    if mark.kind is MarkKind.HIGHLIGHT:
        return f"highlight-{color_of(mark)}"
    return "noted" if mark.kind is MarkKind.NOTE else "unmarked"


def color_of(mark: Mark) -> Color:
    return mark.color or Color.YELLOW


def sign_of(mark: Mark) -> str:
    """The sign of a mark, one cell; of a mark with a note, the note's."""
    if mark.note or mark.kind is MarkKind.NOTE:
        return NOTE_SIGN
    if mark.kind is MarkKind.HIGHLIGHT:
        return COLOR_SIGNS[color_of(mark)]
    return mark.letter or BOOKMARK_SIGN


def name_of(mark: Mark) -> str:
    """The name of a mark: `green highlight`, `mark a`."""
    if mark.kind is MarkKind.HIGHLIGHT:
        return f"{color_of(mark)} highlight"
    if mark.kind is not MarkKind.LETTER:
        return mark.kind.value
    return f"mark {mark.letter}"


def title_of(mark: Mark, book: Book) -> str:
    signs = sign_of(mark)
    if mark.kind is MarkKind.HIGHLIGHT and mark.note:
        signs += COLOR_SIGNS[color_of(mark)]
    where = format_place(mark.start, len(book.text))
    if len(book.chapters) > 1 and (chapter := book.chapter_title(mark.start)):
        where += f" · {chapter}"
    if mark.lost:
        where = "not found in this version of the text"
    return f"{signs} {name_of(mark)} · {where}"


def mark_around(marks: Iterable[Mark], start: int, end: int) -> Mark | None:
    """The highlight or note that contains this range of the book; the shortest of several."""
    around = [
        mark
        for mark in marks
        if is_passage(mark)
        and not mark.lost
        and mark.start <= start
        and end <= mark.end
    ]
    return min(around, key=lambda mark: mark.end - mark.start, default=None)
