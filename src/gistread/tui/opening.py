"""What it takes to open a book on the screen, as functions for a thread: none of them touches a widget.

Each imports what it needs when it is called: a book is to be on screen before readers and memories are loaded.
"""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from gistread.book.model import Book
from gistread.errors import StorageError
from gistread.readers.events import Citation
from gistread.shelf import Shelf
from gistread.tui.answer_blocks import Exchange
from gistread.tui.news import News

if TYPE_CHECKING:
    from gistread.config import Config
    from gistread.tui.session import MakeEngine, Session


def read_book(wanted: Book | Path, texts: Path, shelf: Shelf) -> tuple[Book, int]:
    """The book, with what is slow to know of it, and where the person was in it. Raises BookError.

    `texts` is the folder that keeps what was extracted from books before.
    """
    if isinstance(wanted, Book):
        book = wanted
    else:
        from gistread.book.cache import open_cached

        book = open_cached(wanted, texts)
    _ = book.words
    try:
        return book, shelf.position(book.sha256) or 0
    except StorageError:
        return book, 0


def make_session(
    book: Book, memories: Path, config: "Config", make_engine: "MakeEngine", tell: Callable[[News], None]
) -> "Session":
    """The session of a book; nothing has begun."""
    from gistread.memory.store import MemoryStore
    from gistread.tui.session import Session

    return Session(book, MemoryStore(memories), config, make_engine, tell)


def earlier_questions(book: Book, shelf: Shelf) -> list[Exchange]:
    """What was asked of this book at other times, the last last."""
    try:
        kept = shelf.questions(book.sha256)
    except StorageError:
        return []
    return [
        Exchange(
            one.question,
            answer=one.answer,
            citations=tuple(Citation(c.page, c.start, c.end, c.quote) for c in one.citations),
            lookups=one.lookups,
            found=one.found,
        )
        for one in kept
    ]
