"""Sections of text that the model has not read.

They stand in a memory between those that were read, so that every section has its number by its
place in the whole book, and readers can open the text of each.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from gistread.book.model import Book
from gistread.memory.cutting import characters_per_word, section_ends
from gistread.memory.model import Gist, GistSource, MemoryEntry, Page, PageSize
from gistread.words import count_words

_OPENING_WORDS = 40  # Words that stand for an unread section
_OPENING_CHARACTERS = 600  # These words are taken from so many characters


@dataclass
class GapFiller:
    """Arranges the entries of a memory by their place, with unread sections in the gaps."""

    book: Book
    size: PageSize
    # The sections of each gap that was cut before
    _cut: dict[tuple[int, int], tuple[MemoryEntry, ...]] = field(default_factory=dict)

    def arranged(self, read: Mapping[int, MemoryEntry]) -> list[MemoryEntry]:
        """All sections up to the last one read, numbered from 1.

        `read`: the sections that were read, by their start. Of two that overlap, the later is left
        out.
        """
        sections: list[MemoryEntry] = []
        last_end = 0
        for start in sorted(read):
            entry = read[start]
            if start < last_end:
                continue
            sections += self._unread(last_end, start)
            sections.append(entry)
            last_end = entry.page.end
        return [
            replace(entry, page=replace(entry.page, number=number))
            for number, entry in enumerate(sections, start=1)
        ]

    def _unread(self, start: int, end: int) -> tuple[MemoryEntry, ...]:
        """The unread sections of a gap."""
        if (start, end) not in self._cut:
            self._cut[start, end] = tuple(self._sections(start, end))
        return self._cut[start, end]

    def _sections(self, start: int, end: int) -> Iterator[MemoryEntry]:
        for section_end in section_ends(self.book, start, end, self.size.usual_words):
            yield self._section(start, section_end)
            start = section_end

    def _section(self, start: int, end: int) -> MemoryEntry:
        beginning = self.book.text[start : min(end, start + _OPENING_CHARACTERS)]
        opening = " ".join(beginning.split()[:_OPENING_WORDS])
        words = round((end - start) / characters_per_word(self.book))
        gist = Gist(f"{opening} …", count_words(opening), GistSource.UNREAD)
        return MemoryEntry(Page(0, start, end, words), gist)
