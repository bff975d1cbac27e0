"""Pages as in print: a number of places in a book that is the same at every width, in every format, on every machine.

A printed page holds about 250 words, so a book has as many pages as it has times 250 words, all of one length in
characters. They have nothing to do with the pages of a memory, which end where the text pauses.
"""

from gistread.book.model import Book

WORDS = 250
"""Of a printed page: the count by which publishers estimate."""


def page_count(book: Book) -> int:
    """At least 1."""
    return max(1, round(book.words / WORDS))


def page_at(book: Book, offset: int) -> int:
    """The page that holds `offset`, from 1."""
    count = page_count(book)
    return min(count, 1 + max(0, offset) * count // max(1, len(book.text)))


def page_start(book: Book, page: int) -> int:
    """Offset of the first character of a page; `page` is brought into the book."""
    count = page_count(book)
    return -(-(min(max(1, page), count) - 1) * len(book.text) // count)
