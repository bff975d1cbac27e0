"""A memory of a book in the words of people, for the command line and the screen alike."""

from gistread.book.model import Book
from gistread.library.saying import percent, when
from gistread.memory.kept import MemoryHeader


def said(header: MemoryHeader, book: Book, now_s: float) -> tuple[str, str]:
    """Who read the book, how and for what; and how far, with which pages, when last."""
    share = "" if header.complete else f", {percent(header.read_until / max(1, len(book.text)))} of the book"
    pages = f"{header.pages} page{'' if header.pages == 1 else 's'}{share}"
    facts = (
        pages,
        f"{header.size.min_words} to {header.size.max_words} words a page",
        header.reading,
        when(header.modified_s, now_s),
    )
    return f"{header.model_name}, {header.aim.said}", " · ".join(facts)
