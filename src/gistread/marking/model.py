"""A mark: a bookmark, a letter as in vim, a highlight, a note. Data, and when two versions of one are the same.

Every mark is one record with an id of its own. What a person changes on two screens at once is merged, and of
two notes on the same mark neither is lost. Nothing here knows files or screens.
"""

import time
import uuid
from dataclasses import dataclass, replace
from enum import StrEnum

from gistread.marking.text_quote import TextQuote


class MarkKind(StrEnum):
    BOOKMARK = "bookmark"
    LETTER = "letter"
    HIGHLIGHT = "highlight"
    NOTE = "note"
    """A note on words that are not highlighted."""


class Color(StrEnum):
    """Of a highlight. A name to people; what it looks like is the theme's affair."""

    YELLOW = "yellow"
    GREEN = "green"
    BLUE = "blue"
    RED = "red"


@dataclass(frozen=True, slots=True)
class Mark:
    """`id` stays the same through all changes; `changed_at` says which version is the later one."""

    id: str
    kind: MarkKind
    place: TextQuote
    color: Color | None = None
    """Of a highlight."""
    note: str = ""
    letter: str = ""
    """Of a letter mark: the one letter."""
    made_at: float = 0.0
    """Seconds since the epoch, likewise `changed_at`."""
    changed_at: float = 0.0
    lost: bool = False
    """Its words are not in this version of the text: `place` is that of an earlier one."""

    @property
    def start(self) -> int:
        return self.place.start

    @property
    def end(self) -> int:
        return self.place.end


def new_mark(kind: MarkKind, place: TextQuote, *, color: Color | None = None, note: str = "", letter: str = "") -> Mark:
    """A mark made now. A letter marks one place in a book: its id is the letter's."""
    now = time.time()
    identifier = f"letter-{letter}" if kind is MarkKind.LETTER else uuid.uuid4().hex[:16]
    return Mark(identifier, kind, place, color, note, letter, now, now)


def changed(mark: Mark, **fields: object) -> Mark:
    """The mark with other fields, as of now; later than it was, whatever the clock says."""
    at = max(time.time(), mark.changed_at + 1e-3)
    return replace(mark, changed_at=at, **fields)  # type: ignore[arg-type]


def merged(mine: Mark, known: Mark | None, base: Mark | None) -> Mark:
    """What to keep of my change of `base`, where `known` was kept in the meantime: both notes, my other fields."""
    if known is None or known.lost or base is None or known.note in (base.note, mine.note) or not known.note:
        return mine
    if mine.note == base.note:
        return changed(mine, note=known.note)
    return changed(mine, note=f"{mine.note}\n\n{known.note}" if mine.note else known.note)


def in_order(marks: list[Mark]) -> list[Mark]:
    """By place in the book; those that lost theirs last."""
    return sorted(marks, key=lambda mark: (mark.lost, mark.start, mark.end, mark.made_at))
