"""The text of a book of the library, also if its file is missing or has changed."""

from dataclasses import dataclass
from pathlib import Path

from gistread.book.cache import cached_book, file_digest, open_cached
from gistread.book.model import Book, Chapter
from gistread.errors import BookError, StorageError
from gistread.library.entries import LibraryEntry
from gistread.library.moving import migrate_user_data
from gistread.paths import Paths
from gistread.store.user_data import MarkStore, UserData


@dataclass(frozen=True, slots=True)
class KnownText:
    """A book with its text, or without it if no copy of the text is left."""

    book: Book
    path: Path | None  # Its file; None if that is missing or holds another text
    # For the user: why the text is not that of the file, or has changed
    notice: str = ""
    has_text: bool = True  # False: title, length and hash are known, and no words


def text_of_entry(entry: LibraryEntry, paths: Paths) -> KnownText:
    """The text with the user's data: of the file, else from the cache, else without words.

    If the file has a new text of the same book, the data is copied to that.
    """
    if entry.path is None:
        return _remembered(entry, paths, "was read from standard input")
    if entry.missing:
        return _remembered(entry, paths, "is missing")
    try:
        book = open_cached(entry.path, paths.texts, encodings=paths.encodings)
    except BookError as error:
        return _remembered(entry, paths, f"cannot be read ({error.message})")
    if book.sha256 == entry.sha256:
        return KnownText(book, entry.path)
    return _changed(entry, book, entry.path, paths)


def _changed(entry: LibraryEntry, book: Book, path: Path, paths: Paths) -> KnownText:
    """What is known of a book whose file has another text: a new version, or another book."""
    user_data = UserData(paths)
    marks = MarkStore(paths)
    digest = file_digest(path)
    try:
        migrated = migrate_user_data(book, user_data, marks, file=digest, path=path)
    except StorageError:
        migrated = None
    if migrated is None or migrated.source != entry.sha256:
        return _remembered(entry, paths, "holds another text now")
    lost = f", {migrated.lost} of its marks are lost" if migrated.lost else ""
    return KnownText(book, path, f"{entry.title}: its file has changed{lost}.")


def _remembered(entry: LibraryEntry, paths: Paths, reason: str) -> KnownText:
    """The text from the cache, or a book without words; `reason`: what the file is or does."""
    book = cached_book(entry.digest, entry.title, paths.texts)
    if book is not None and book.sha256 == entry.sha256:
        notice = f"{entry.title}: its file {reason}; its text is still known."
        return KnownText(book, None, notice)
    notice = f"{entry.title}: its file {reason}; only marked and quoted words are left."
    return KnownText(_without_words(entry), None, notice, has_text=False)


def _without_words(entry: LibraryEntry) -> Book:
    """A book of the right length, so that places keep their share of it."""
    chapter = Chapter("", 0, entry.length)
    book = Book(
        text=" " * entry.length,
        title=entry.title,
        paragraphs=(),
        chapters=(chapter,),
        authors=entry.authors,
    )
    vars(book).update(sha256=entry.sha256, words=entry.words)  # Not those of the blanks
    return book
