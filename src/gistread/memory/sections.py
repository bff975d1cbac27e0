"""The sections of a whole book: those of its memory, then estimated ones.

A reader of the book's own text shows passages from parts that the model has not read. These parts
have numbers too, the same as on the screen.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from gistread.memory.model import GistMemory
from gistread.memory.passages import Passage


@dataclass(frozen=True, slots=True)
class Section:
    """`book.text[start:end]`."""

    number: int  # From 1
    start: int
    end: int

    @property
    def place(self) -> Passage:
        return self.start, self.end


class Sections:
    """Numbers the sections of a book by place.

    >>> Sections(memory).at(0).number
    1
    """

    def __init__(self, memory: GistMemory) -> None:
        self._places = [(entry.page.start, entry.page.end) for entry in memory.entries]
        start = memory.read_until
        for end in memory.unread_ends:
            self._places.append((start, end))
            start = end

    @property
    def last(self) -> int:
        """The number of the last section."""
        return len(self._places)

    def at(self, offset: int) -> Section | None:
        """The section at an offset of the book; None in a book without text."""
        number = bisect_right(self._places, offset, key=lambda place: place[0])
        return self.numbered(max(1, number))

    def number_at(self, offset: int) -> int:
        """The number of the section at an offset of the book; 0 in a book without text."""
        section = self.at(offset)
        return section.number if section is not None else 0

    def numbered(self, number: int) -> Section | None:
        """The section with this number; None if there is none."""
        if not 1 <= number <= self.last:
            return None
        start, end = self._places[number - 1]
        return Section(number, start, end)

    def after(self, number: int) -> Iterator[Section]:
        """The sections after the one with this number, in order."""
        places = self._places[number:]
        for following, (start, end) in enumerate(places, start=number + 1):
            yield Section(following, start, end)

    def places_of(self, numbers: Iterable[int]) -> list[Passage]:
        """The text of the sections with these numbers, in order."""
        sections = (self.numbered(number) for number in sorted(set(numbers)))
        return [section.place for section in sections if section is not None]


def sections_of(memory: GistMemory | None) -> Sections | None:
    """The sections of a memory, if there is one."""
    if memory is None:
        return None
    return Sections(memory)


def renumbered(number: int, sections: Sections | None, other: Sections | None) -> int:
    """The number, in another memory of the book, of the section at the same place."""
    if sections is None or other is None:
        return number
    section = sections.numbered(number)
    if section is None:
        return number
    other_section = other.at(section.start)
    if other_section is None:
        return number
    return other_section.number
