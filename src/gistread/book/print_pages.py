"""Page numbers of about 250 words each, the same everywhere, and unrelated to the pages of a memory."""

from gistread.book.model import Book

WORDS = 250  # Per printed page, as publishers estimate


def page_count(book: Book) -> int:
    """At least 1."""
    return max(1, round(book.words / WORDS))


def page_at(book: Book, offset: int) -> int:
    count = page_count(book)
    return min(count, 1 + max(0, offset) * count // max(1, len(book.text)))


def page_start(book: Book, page: int) -> int:
    """Offset of a page's first character; `page` is clamped to the book."""
    count = page_count(book)
    return -(-(min(max(1, page), count) - 1) * len(book.text) // count)
