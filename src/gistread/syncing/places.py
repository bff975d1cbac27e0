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
_MOST_TRIED = (
    5  # Places whose words are looked for in the file: one, and later paragraphs
)
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
        """The XPointer of a place; empty in other formats than EPUB, and without words there.

        If its words are not found in the file, that of one of the next paragraphs.
        """
        if self._spine is None:
            return ""
        text = self.book.text
        first = self.book.paragraph_index(offset) + 1
        paragraphs_after = self.book.paragraphs[first : first + _MOST_TRIED - 1]
        starts = [offset, *(paragraph.start for paragraph in paragraphs_after)]
        for start in starts:
            place = find_quote(quote_at(text, start), self._in_file, len(text))
            if place is not None:
                start_in_file, _ = place
                return self._spine.pointer_at(start_in_file)
        return ""

    def offset_of(self, progress: str, percentage: float) -> int:
        """The offset of a place that another device wrote.

        It is found by its XPointer. If this file lacks that element, it is found by the percentage,
        within the part of the EPUB that the XPointer names.
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
        file_start, file_end = fragment
        start = self._in_book(file_start)
        end = self._in_book(file_end)
        first = 0 if start is None else start
        last = len(self.book.text) if end is None else end
        return max(first, min(by_percentage, last))

    def pointed_offset(self, pointer: str) -> int | None:
        """The offset that an XPointer means; None if this file lacks that element."""
        if self._spine is None:
            return None
        offset_in_file = self._spine.offset_of(pointer)
        if offset_in_file is None:
            return None
        return self._in_book(offset_in_file)

    def _in_book(self, offset_in_file: int) -> int | None:
        """The same place in the book; None if the words there are missing in it."""
        assert self._spine is not None
        text = self._spine.text
        quote = quote_at(text, offset_in_file)
        place = find_quote(quote, self._of_book, len(text))
        if not place:
            return None
        start, _ = place
        return start

    @cached_property
    def _spine(self) -> SpineText | None:
        """The text of the file; None in other formats than EPUB, and if it cannot be read now."""
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
