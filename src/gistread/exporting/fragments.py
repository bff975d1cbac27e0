"""The places of marks in the file of their book, as EPUB CFIs."""

from collections.abc import Iterable
from pathlib import Path

from gistread.book.model import Book
from gistread.errors import BookError
from gistread.marking import Mark

_EPUB = "epub"


def cfis_of(book: Book, marks: Iterable[Mark], path: Path) -> dict[str, str]:
    """CFIs by the ids of marks; a mark that is not found exactly has none.

    Empty for a book in another format than EPUB. `path`: the file of the book.
    """
    placed = [mark for mark in marks if not mark.lost]
    if not placed or book.source_format != _EPUB:
        return {}
    # Imported here: parsers take a while.
    from gistread.book.formats.epub_cfi import open_source

    try:
        source = open_source(path)
    except BookError:
        return {}
    ranges = [(mark.start, mark.end) for mark in placed]
    identifiers = source.identifiers(book.text, ranges)
    pairs = zip(placed, identifiers, strict=True)
    return {mark.id: identifier for mark, identifier in pairs if identifier}
