"""What the memory pane shows at a place in the book.

One row a section, or one for neighbours that have nothing to tell.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum

from gistread.memory.model import GistMemory, MemoryEntry, Page
from gistread.memory.sections import Sections


class RowKind(StrEnum):
    GIST = "gist"
    UNFINISHED = "unfinished"  # The user is in it: its gist would tell its end
    BEING_READ = "being read"  # The model makes its gist
    UNREAD_HERE = "unread here"  # The user is in it, and the model has not read it
    UNREAD = "unread"  # In front of the bound
    AHEAD = "ahead"  # After the bound


TO_COME = (RowKind.UNREAD, RowKind.AHEAD)  # Kinds of neighbours that share a row


@dataclass(frozen=True, slots=True)
class MemoryRow:
    kind: RowKind
    first: int  # Number of its first section
    last: int
    entry: MemoryEntry | None = None  # Of one section; None after the last one read
    here: bool = False  # Whether the user is in it


@dataclass(frozen=True, slots=True)
class PlaceInMemory:
    """Where the user is, and what the model is doing."""

    # Number of the section in view; None after the last one read
    here: int | None = None
    unread_at: int | None = None  # Offset of the view there
    # Gists of text after this offset are hidden; None: none are
    bound: int | None = None
    begun: Page | None = None  # The page whose gist is being made
    reading: bool = False  # Whether the model is reading the book
    opened: Collection[int] = ()  # Sections that the user or the agent opened
    # Sections with a note or a mark: each has a row of its own
    alone: Collection[int] = ()


def memory_rows(memory: GistMemory, place: PlaceInMemory) -> list[MemoryRow]:
    """The rows of the pane, in the order of the book."""
    rows: list[MemoryRow] = []
    for row in (*_known_rows(memory, place), *_later_rows(memory, place)):
        last = rows[-1] if rows else None
        is_alone = row.first in place.alone or (
            last is not None and last.first in place.alone
        )
        is_joined = last is not None and last.kind is row.kind and row.kind in TO_COME
        if last is not None and is_joined and not is_alone:
            rows[-1] = replace(last, last=row.last)
        else:
            rows.append(row)
    return rows


def _known_rows(memory: GistMemory, place: PlaceInMemory) -> Iterator[MemoryRow]:
    """Up to the last section that the model has read."""
    within = memory.count_within(place.bound)
    for entry in memory.entries:
        number = entry.page.number
        if entry.is_read:
            kind = _kind_read(entry, place, within)
        else:
            kind = _kind_unread(entry, place)
        if kind is RowKind.UNREAD and number > within:
            kind = RowKind.AHEAD
        yield MemoryRow(kind, number, number, entry, number == place.here)


def _kind_read(entry: MemoryEntry, place: PlaceInMemory, within: int) -> RowKind:
    """`within`: number of the last section in front of the bound."""
    number = entry.page.number
    if number in place.opened or number <= within:
        return RowKind.GIST
    is_next = number == within + 1 and place.bound is not None
    is_begun = is_next and entry.page.start < (place.bound or 0)
    return RowKind.UNFINISHED if is_begun or number == place.here else RowKind.AHEAD


def _kind_unread(entry: MemoryEntry, place: PlaceInMemory) -> RowKind:
    page, begun = entry.page, place.begun
    if page.number in place.opened:
        return RowKind.GIST
    if place.reading and begun is not None and page.start <= begun.start < page.end:
        return RowKind.BEING_READ
    return RowKind.UNREAD_HERE if page.number == place.here else RowKind.UNREAD


def _later_rows(memory: GistMemory, place: PlaceInMemory) -> Iterator[MemoryRow]:
    """After the last section that the model has read, where numbers are estimated."""
    sections = Sections(memory)
    begun = _number_under_way(memory, sections, place)
    here = _number_here(sections, place, begun)
    for section in sections.after(len(memory.entries)):
        number = section.number
        if number == begun:
            kind = RowKind.BEING_READ
        elif number == here:
            kind = RowKind.UNREAD_HERE
        elif place.bound is None or section.start < place.bound:
            kind = RowKind.UNREAD
        else:
            kind = RowKind.AHEAD
        yield MemoryRow(kind, number, number, here=number == here)


def _number_here(sections: Sections, place: PlaceInMemory, under_way: int) -> int:
    """The estimated number of the section that the user is in; 0 if it is read.

    `under_way`: number of the one whose gist is being made.
    """
    offset, begun = place.unread_at, place.begun
    if offset is None:
        return 0
    if under_way and begun is not None and begun.start <= offset < begun.end:
        return under_way
    section = sections.at(offset)
    if section is None:
        return 0
    here = section.number
    is_after_begun = here == under_way and begun is not None and here < sections.last
    if not is_after_begun:
        return here
    return here + 1


def _number_under_way(
    memory: GistMemory, sections: Sections, place: PlaceInMemory
) -> int:
    """Number of the section after the last one read whose gist is being made; 0: none is."""
    begun = place.begun
    if not place.reading:
        return 0
    if begun is not None:
        section = sections.at(begun.start) if begun.start >= memory.read_until else None
        return section.number if section is not None else 0
    chapter_at = memory.book.chapter_index
    if place.unread_at is None or chapter_at(place.unread_at) == chapter_at(
        memory.read_until
    ):
        return len(memory.entries) + 1
    return 0
