"""Places in an EPUB as other programs write them, beside a highlight or bookmark."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from gistread.book.formats.epub_cfi import SourceText, open_source
from gistread.book.model import Book
from gistread.errors import BookError
from gistread.syncing.places import PlaceConverter

_CFI = "epubcfi("


@dataclass(frozen=True)
class Pointers:
    """Reads KOReader's XPointers and EPUB CFIs of one book; slow, since they need its file.

    >>> Pointers(book, path).offset_of("epubcfi(/6/4!/4/2/1:0)")
    812
    >>> Pointers(book, path).offset_of("/body/DocFragment[2]/body/h1/text().0")
    812
    """

    book: Book
    path: Path

    def offset_of(self, pointer: str) -> int | None:
        """The offset that a pointer means; None in other formats, or if there is no such place."""
        if not pointer.startswith(_CFI):
            return self._converter.pointed_offset(pointer)
        if self._source is None:
            return None
        place = self._source.place(pointer, self.book.text)
        if not place:
            return None
        start, _ = place
        return start

    @cached_property
    def _converter(self) -> PlaceConverter:
        return PlaceConverter(self.book, self.path)

    @cached_property
    def _source(self) -> SourceText | None:
        """None for other formats than EPUB, and for a file that cannot be read any more."""
        if self.book.source_format != "epub":
            return None
        try:
            return open_source(self.path)
        except BookError:
            return None
