"""Sections of text that the model has not read.

They stand in a memory between those that were read, so that every section has its number by its
place in the whole book, and readers can open the text of each.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from gistread.book.model import Book
from gistread.memory.model import Gist, GistSource, MemoryEntry, Page, PageSize
from gistread.words import count_words

_OPENING_WORDS = 40  # Words that stand for an unread section
_OPENING_CHARACTERS = 600  # Text in which these words are looked for


@dataclass
class Sections:
    """Arranges the entries of a memory by their place, with unread sections in the gaps."""

    book: Book
    size: PageSize
    _cut: dict[tuple[int, int], tuple[MemoryEntry, ...]] = field(default_factory=dict)

    def arranged(self, read: Mapping[int, MemoryEntry]) -> list[MemoryEntry]:
        """All sections up to the last one read, numbered from 1.

        `read`: what was read, by its start. Of two that overlap, the later is left out.
        """
        sections: list[MemoryEntry] = []
        at = 0
        for start in sorted(read):
            entry = read[start]
            if start < at:
                continue
            sections += self._unread(at, start)
            sections.append(entry)
            at = entry.page.end
        return [
            replace(entry, page=replace(entry.page, number=number))
            for number, entry in enumerate(sections, start=1)
        ]

    def _unread(self, start: int, end: int) -> tuple[MemoryEntry, ...]:
        if start == end:
            return ()
        if (start, end) not in self._cut:
            self._cut[start, end] = tuple(self._cut_text(start, end))
        return self._cut[start, end]

    def _cut_text(self, start: int, end: int) -> Iterator[MemoryEntry]:
        """Cut a gap at chapters and paragraphs into sections of the usual length."""
        chapters = [chapter.start for chapter in self.book.chapters]
        inside = chapters[bisect_right(chapters, start) : bisect_left(chapters, end)]
        at = start
        for chapter_end in (*inside, end):
            for section_end in self._ends(at, chapter_end):
                yield self._section(at, section_end)
                at = section_end

    def _ends(self, start: int, end: int) -> list[int]:
        """Where the sections of a part of a chapter end."""
        usual_words = (self.size.min_words + self.size.max_words) / 2
        usual = usual_words * self._characters_per_word
        count = max(1, round((end - start) / usual))
        paragraphs = self.book.paragraphs
        ends: list[int] = []
        for number in range(1, count):
            near = start + round(number * (end - start) / count)
            index = bisect_left(paragraphs, near, key=lambda paragraph: paragraph.start)
            cut = paragraphs[index].start if index < len(paragraphs) else end
            if (ends[-1] if ends else start) < cut < end:
                ends.append(cut)
        return [*ends, end]

    def _section(self, start: int, end: int) -> MemoryEntry:
        beginning = self.book.text[start : min(end, start + _OPENING_CHARACTERS)]
        opening = " ".join(beginning.split()[:_OPENING_WORDS])
        words = round((end - start) / self._characters_per_word)
        gist = Gist(f"{opening} …", count_words(opening), GistSource.UNREAD)
        return MemoryEntry(Page(0, start, end, words), gist)

    @property
    def _characters_per_word(self) -> float:
        return len(self.book.text) / max(1, self.book.words)
