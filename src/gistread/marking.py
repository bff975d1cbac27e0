"""Marks in a book: bookmarks, letters as in vim, highlights, notes.

And merging of concurrent changes.
"""

import time
import uuid
from dataclasses import dataclass, replace
from enum import StrEnum

CONTEXT = 64  # Characters of context on each side
# By which a change follows the one before, also if the clock was set back
_LEAST_LATER_S = 1e-3
_HERE = 64  # Characters quoted for a place without an end, such as a bookmark


@dataclass(frozen=True, slots=True)
class TextQuote:
    """`text[start:end] == exact`, preceded by `prefix` and followed by `suffix`."""

    start: int
    end: int
    exact: str
    prefix: str
    suffix: str


def quote_at(text: str, start: int, end: int | None = None) -> TextQuote:
    """Quote `[start, end)`; without an end, the first words from `start`.

    Offsets are clamped to the text.
    """
    start = min(max(0, start), len(text))
    if end is None:
        words = text[start : start + _HERE]
        if start + _HERE < len(text):
            last_blank = max(words.rfind(" "), words.rfind("\n"))
            if last_blank > _HERE // 2:
                words = words[:last_blank]
        end = start + len(words.rstrip())
    end = min(max(start, end), len(text))
    return TextQuote(
        start,
        end,
        text[start:end],
        text[max(0, start - CONTEXT) : start],
        text[end : end + CONTEXT],
    )


class MarkKind(StrEnum):
    BOOKMARK = "bookmark"
    LETTER = "letter"
    HIGHLIGHT = "highlight"
    NOTE = "note"  # A note on words that are not highlighted


class Color(StrEnum):
    """Colour names of highlights; themes define their look."""

    YELLOW = "yellow"
    GREEN = "green"
    BLUE = "blue"
    RED = "red"


@dataclass(frozen=True, slots=True)
class Mark:
    """A mark; `changed_at` orders the versions of one `id`."""

    id: str
    kind: MarkKind
    place: TextQuote
    color: Color | None = None
    note: str = ""
    letter: str = ""
    made_at: float = 0.0  # Seconds since the epoch; likewise `changed_at`
    changed_at: float = 0.0
    # Whether its words are not in this version of the text; `place` is from an earlier one
    lost: bool = False

    @property
    def start(self) -> int:
        return self.place.start

    @property
    def end(self) -> int:
        return self.place.end


def new_mark(
    kind: MarkKind,
    place: TextQuote,
    *,
    color: Color | None = None,
    note: str = "",
    letter: str = "",
) -> Mark:
    """A mark made now.

    A letter mark has its letter in its id: each letter marks one place per book.
    """
    now = time.time()
    identifier = (
        f"letter-{letter}" if kind is MarkKind.LETTER else uuid.uuid4().hex[:16]
    )
    return Mark(identifier, kind, place, color, note, letter, now, now)


def with_changes(mark: Mark, **fields: object) -> Mark:
    at = max(time.time(), mark.changed_at + _LEAST_LATER_S)
    return replace(mark, changed_at=at, **fields)  # type: ignore[arg-type]


def merge_marks(mine: Mark, known: Mark | None, base: Mark | None) -> Mark:
    """Merge a change of `base` with the version stored meanwhile.

    Both notes, the other fields of `mine`.
    """
    if known is None or known.lost or base is None:
        return mine
    if not known.note or known.note in (base.note, mine.note):
        return mine
    note = known.note
    if mine.note and mine.note != base.note:
        note = f"{mine.note}\n\n{known.note}"
    return with_changes(mine, note=note)


def sorted_marks(marks: list[Mark]) -> list[Mark]:
    """By position; lost marks last."""
    return sorted(
        marks, key=lambda mark: (mark.lost, mark.start, mark.end, mark.made_at)
    )
