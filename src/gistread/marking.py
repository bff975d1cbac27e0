"""Marks in a book: bookmarks, letters as in vim, highlights, notes.

Concurrent changes of a mark are merged.
"""

import time
import uuid
from dataclasses import dataclass, replace
from enum import StrEnum

CONTEXT = 64  # Characters of context on each side
# Least time between two changes of a mark, also if the clock was set back between them
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

    >>> quote_at("Call me Ishmael.", 5, 7)
    TextQuote(start=5, end=7, exact='me', prefix='Call ', suffix=' Ishmael.')
    """
    start = min(max(0, start), len(text))
    if end is None:
        end = _end_of_words(text, start)
    end = min(max(start, end), len(text))
    return TextQuote(
        start,
        end,
        exact=text[start:end],
        prefix=text[max(0, start - CONTEXT) : start],
        suffix=text[end : end + CONTEXT],
    )


def _end_of_words(text: str, start: int) -> int:
    """The end of the first words from `start`: whole ones, unless the last is very long."""
    words = text[start : start + _HERE]
    if start + _HERE < len(text):
        last_blank = max(words.rfind(" "), words.rfind("\n"))
        if last_blank > _HERE // 2:
            words = words[:last_blank]
    return start + len(words.rstrip())


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
    identifier = uuid.uuid4().hex[:16]
    if kind is MarkKind.LETTER:
        identifier = f"letter-{letter}"
    return Mark(
        id=identifier,
        kind=kind,
        place=place,
        color=color,
        note=note,
        letter=letter,
        made_at=now,
        changed_at=now,
    )


def with_changes(mark: Mark, **fields: object) -> Mark:
    """The mark with other fields, changed now."""
    now = max(time.time(), mark.changed_at + _LEAST_LATER_S)
    return replace(mark, changed_at=now, **fields)  # type: ignore[arg-type]


def merge_marks(mine: Mark, stored: Mark | None, base: Mark | None) -> Mark:
    """Merge a change with the version that was stored meanwhile.

    `base`: the version before both changes. The merged mark has both new notes, and the other
    fields of `mine`.
    """
    if stored is None or stored.lost or base is None:
        return mine
    has_new_note = bool(stored.note) and stored.note not in (base.note, mine.note)
    if not has_new_note:
        return mine
    note = stored.note
    if mine.note and mine.note != base.note:
        note = f"{mine.note}\n\n{stored.note}"
    return with_changes(mine, note=note)


def sorted_marks(marks: list[Mark]) -> list[Mark]:
    """The marks by position; lost marks last."""
    return sorted(
        marks, key=lambda mark: (mark.lost, mark.start, mark.end, mark.made_at)
    )
