"""What the memory pane shows at a place in the book.

Each section has a row; neighbours without gists share one.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum

from gistread.memory.model import GistMemory, MemoryEntry, Page
from gistread.memory.sections import Sections


class RowKind(StrEnum):
    """What a row shows of its section."""

    GIST = "gist"
    UNFINISHED = "unfinished"  # The user is in it: its gist would tell its end
    BEING_READ = "being read"  # The model makes its gist
    UNREAD_HERE = "unread here"  # The user is in it, and the model has not read it
    UNREAD = "unread"  # In front of the bound
    AHEAD = "ahead"  # After the bound


TO_COME = (RowKind.UNREAD, RowKind.AHEAD)  # Kinds of neighbours that share a row


@dataclass(frozen=True, slots=True)
class MemoryRow:
    """A section, or neighbours without gists."""

    kind: RowKind
    first: int  # Number of its first section
    last: int  # Number of its last section
    # The entry of its first section; None behind the last section that was read
    entry: MemoryEntry | None = None
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
        if rows and _share_row(rows[-1], row, place):
            rows[-1] = replace(rows[-1], last=row.last)
        else:
            rows.append(row)
    return rows


def _share_row(before: MemoryRow, row: MemoryRow, place: PlaceInMemory) -> bool:
    """Whether two neighbours without gists share a row."""
    if before.first in place.alone or row.first in place.alone:
        return False
    return row.kind in TO_COME and before.kind is row.kind


def _known_rows(memory: GistMemory, place: PlaceInMemory) -> Iterator[MemoryRow]:
    """The rows up to the last section that the model has read."""
    last_within = memory.count_within(place.bound)
    for entry in memory.entries:
        number = entry.page.number
        if entry.is_read:
            kind = _kind_read(entry, place, last_within)
        else:
            kind = _kind_unread(entry, place)
        if kind is RowKind.UNREAD and number > last_within:
            kind = RowKind.AHEAD
        is_here = number == place.here
        yield MemoryRow(kind, first=number, last=number, entry=entry, here=is_here)


def _kind_read(entry: MemoryEntry, place: PlaceInMemory, last_within: int) -> RowKind:
    """What the row of a section that the model has read shows of it.

    `last_within`: number of the last section in front of the bound.
    """
    number = entry.page.number
    if number in place.opened or number <= last_within:
        return RowKind.GIST
    is_first_after = number == last_within + 1
    has_bound_inside = place.bound is not None and entry.page.start < place.bound
    if number == place.here or (is_first_after and has_bound_inside):
        return RowKind.UNFINISHED
    return RowKind.AHEAD


def _kind_unread(entry: MemoryEntry, place: PlaceInMemory) -> RowKind:
    """What the row of a section that the model has left out shows of it."""
    page, begun = entry.page, place.begun
    if page.number in place.opened:
        return RowKind.GIST
    if place.reading and begun is not None and page.start <= begun.start < page.end:
        return RowKind.BEING_READ
    if page.number == place.here:
        return RowKind.UNREAD_HERE
    return RowKind.UNREAD


def _later_rows(memory: GistMemory, place: PlaceInMemory) -> Iterator[MemoryRow]:
    """The rows after the last section that the model has read. Their numbers are estimates."""
    sections = Sections(memory)
    under_way = _number_under_way(memory, sections, place)
    here = _number_here(sections, place, under_way)
    for section in sections.after(len(memory.entries)):
        number = section.number
        if number == under_way:
            kind = RowKind.BEING_READ
        elif number == here:
            kind = RowKind.UNREAD_HERE
        elif place.bound is None or section.start < place.bound:
            kind = RowKind.UNREAD
        else:
            kind = RowKind.AHEAD
        yield MemoryRow(kind, first=number, last=number, here=number == here)


def _number_here(
    sections: Sections, place: PlaceInMemory, under_way: int | None
) -> int | None:
    """The estimated number of the section that the user is in; None if it is read.

    `under_way`: number of the one whose gist is being made, if it is a later one.
    """
    offset, begun = place.unread_at, place.begun
    if offset is None:
        return None
    is_in_begun = begun is not None and begun.start <= offset < begun.end
    if under_way is not None and is_in_begun:
        return under_way
    section = sections.at(offset)
    if section is None:
        return None
    number = section.number
    # The estimate names the page under way, but the user is behind its end.
    is_behind_begun = begun is not None and number == under_way
    if is_behind_begun and number < sections.last:
        return number + 1
    return number


def _number_under_way(
    memory: GistMemory, sections: Sections, place: PlaceInMemory
) -> int | None:
    """The number of the section whose gist is being made.

    None if nothing is being read, or a section before the last one read.
    """
    begun = place.begun
    if not place.reading:
        return None
    if begun is not None:
        if begun.start < memory.read_until:
            return None
        section = sections.at(begun.start)
        return None if section is None else section.number
    next_number = len(memory.entries) + 1
    if place.unread_at is None:
        return next_number
    # The model goes on where it stopped, unless the user is in another chapter.
    chapter_of_view = memory.book.chapter_index(place.unread_at)
    if chapter_of_view == memory.book.chapter_index(memory.read_until):
        return next_number
    return None
