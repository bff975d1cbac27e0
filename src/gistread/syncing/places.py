"""The place in a book as KOReader writes it, and back."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from gistread.book.formats.archive import Archive, ArchiveError
from gistread.book.formats.xpointers import SpineText, read_spine_text
from gistread.book.model import Book
from gistread.library.moving import SearchableText, find_quote
from gistread.marking import quote_at

_EPUB = "epub"
_MOST_TRIED = 5  # Paragraphs from a place on whose words are looked for in the file
_DECIMALS = 6


@dataclass(frozen=True)
class PlaceConverter:
    """Converts places of one book; slow, since it reads the file at its first use."""

    book: Book
    path: Path

    def percentage_of(self, offset: int) -> float:
        """The share of the book before a place, 0 to 1."""
        return round(offset / max(1, len(self.book.text)), _DECIMALS)

    def progress_of(self, offset: int) -> str:
        """The XPointer of a place; empty in other formats than EPUB, and without words there."""
        if self._spine is None:
            return ""
        text, length = self.book.text, len(self.book.text)
        first = self.book.paragraph_index(offset)
        following = (paragraph.start for paragraph in self.book.paragraphs[first + 1 :])
        for start, _ in zip((offset, *following), range(_MOST_TRIED), strict=False):
            place = find_quote(quote_at(text, start), self._in_file, length)
            if place is not None:
                return self._spine.pointer_at(place[0])
        return ""

    def offset_of(self, progress: str, percentage: float) -> int:
        """The offset of a place that another device wrote.

        By its XPointer; where this file lacks that element, by the percentage within the file
        of the book that it names.
        """
        by_percentage = round(percentage * len(self.book.text))
        if self._spine is None:
            return by_percentage
        offset = self.pointed_offset(progress)
        if offset is not None:
            return offset
        fragment = self._spine.fragment_of(progress)
        if fragment is None:
            return by_percentage
        start, end = (self._in_book(edge) for edge in fragment)
        first = start if start is not None else 0
        last = end if end is not None else len(self.book.text)
        return max(first, min(by_percentage, last))

    def pointed_offset(self, pointer: str) -> int | None:
        """The offset that an XPointer means; None if this file lacks that element."""
        if self._spine is None:
            return None
        at = self._spine.offset_of(pointer)
        return None if at is None else self._in_book(at)

    def _in_book(self, at: int) -> int | None:
        """The offset in the book of one in the text of the file; None if its words are missing."""
        assert self._spine is not None
        text = self._spine.text
        place = find_quote(quote_at(text, at), self._of_book, len(text))
        if not place:
            return None
        return place[0]

    @cached_property
    def _spine(self) -> SpineText | None:
        """None for other formats than EPUB, and for a file that cannot be read any more."""
        if self.book.source_format != _EPUB:
            return None
        try:
            with self.path.open("rb") as stream:
                spine = read_spine_text(Archive(stream))
        except (OSError, ArchiveError):
            return None
        if not spine.text:
            return None
        return spine

    @cached_property
    def _in_file(self) -> SearchableText:
        assert self._spine is not None
        return SearchableText(self._spine.text)

    @cached_property
    def _of_book(self) -> SearchableText:
        return SearchableText(self.book.text)
