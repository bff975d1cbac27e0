"""The sections of a whole book: those of its memory, then estimated ones of equal length.

A reader of the book's own text shows passages from parts that the model has not read. Here these
parts have numbers too, the same that the memory on the screen counts.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from gistread.memory.model import GistMemory
from gistread.memory.passages import Passage, sentence_at


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

    >>> Sections(unread_memory(book)).at(0).number
    1
    """

    def __init__(self, memory: GistMemory) -> None:
        self._memory = memory
        self._known = len(memory.entries)
        self.last = max(memory.estimated_pages, self._known)
        left = len(memory.book.text) - memory.read_until
        self._characters = left / max(1, self.last - self._known)  # Of an estimated section

    def at(self, offset: int) -> Section | None:
        """The section at an offset of the book; None in a book without text."""
        page = self._memory.page_at(offset)
        if page is not None:
            return self.numbered(page.number)
        if self.last == self._known:
            return self.numbered(self.last)
        after = max(0, offset - self._memory.read_until)
        number = self._known + 1 + int(after / self._characters)
        number = min(number, self.last)
        while number < self.last and self._start_of(number + 1) <= offset:
            number += 1
        while number > self._known + 1 and self._start_of(number) > offset:
            number -= 1
        return self.numbered(number)

    def numbered(self, number: int) -> Section | None:
        """The section with this number; None if there is none."""
        if not 1 <= number <= self.last:
            return None
        if number <= self._known:
            entry = self._memory.entry(number)
            return Section(number, entry.page.start, entry.page.end)
        start = self._start_of(number)
        return Section(number, start, max(start, self._start_of(number + 1)))

    def places_of(self, numbers: Iterable[int]) -> list[Passage]:
        """The text of the sections with these numbers, in order."""
        sections = (self.numbered(number) for number in sorted(set(numbers)))
        return [section.place for section in sections if section is not None]

    def _start_of(self, number: int) -> int:
        """Where an estimated section begins: with a paragraph, or a sentence of a long one."""
        book = self._memory.book
        before = number - self._known - 1
        if before <= 0:
            return self._memory.read_until
        if number > self.last:
            return len(book.text)
        offset = self._memory.read_until + round(before * self._characters)
        if not book.paragraphs:
            return offset
        paragraph = book.paragraphs[book.paragraph_index(offset)]
        is_near = offset - paragraph.start < self._characters / 2
        return paragraph.start if is_near else sentence_at(book, offset)[0]


def renumbered(number: int, memory: GistMemory | None, other: GistMemory | None) -> int:
    """The number, in another memory of the book, of the section at the same place."""
    if memory is None or other is None:
        return number
    section = Sections(memory).numbered(number)
    if section is None:
        return number
    same = Sections(other).at(section.start)
    return same.number if same is not None else number
