"""The user's library for Python: books, places, marks and questions."""

from contextlib import suppress
from pathlib import Path

from gistread.book.cache import file_digest, open_cached
from gistread.book.model import Book
from gistread.errors import GistreadError, StorageError, UsageError
from gistread.library.entries import (
    LibraryEntry,
    find_book,
    is_file,
    list_entries,
    path_of,
)
from gistread.library.metadata import record_text
from gistread.library.moving import migrate_user_data
from gistread.marking import Color, Mark, MarkKind, new_mark, quote_at
from gistread.paths import Paths, default_paths
from gistread.search.destinations import Destination, destinations_of
from gistread.store.catalogue import Catalogue
from gistread.store.model import ReadingPlace, SavedThread
from gistread.store.pace import ReadingSpeed
from gistread.store.user_data import MarkStore, UserData


class Library:
    """The user's books and what they did in each: the same data as on the screen.

    Places are offsets in characters of `Book.text`; an end is excluded. Times are seconds since the
    epoch. Every method raises StorageError if the data cannot be read or written.

    >>> library = Library()
    >>> book = library.open("frankenstein")
    >>> place = library.places(book, "chapter 5")[0]
    >>> mark = library.mark(book, place.offset, place.offset + 9, note="It lives")
    >>> [(mark.place.exact, mark.note) for mark in library.marks(book)]
    [('Chapter V', 'It lives')]
    """

    def __init__(self, paths: Paths | None = None) -> None:
        """`paths`: the folders of gistread; those of the user by default."""
        self._paths = paths or default_paths()
        self._user_data = UserData(self._paths)
        self._marks = MarkStore(self._paths)
        # Of the opened books, by the SHA-256 of the text
        self._files: dict[str, Path] = {}

    def books(self) -> list[LibraryEntry]:
        """All books, the last read first.

        `share` is what was read of a book, from 0 to 1, and `length` the characters of its text.
        """
        speed = ReadingSpeed(self._paths).words_per_minute
        entries, problem = list_entries(self._user_data, Catalogue(self._paths), speed)
        if problem:
            raise StorageError(problem)
        return entries

    def open(self, name: str | Path) -> Book:
        """The book in a file, or with this title, number or id in the library.

        Marks and questions of an earlier version of the file are copied.
        Raises BookError; UsageError if the name means no book or several.
        """
        path = Path(name)
        if not is_file(path) and isinstance(name, str):
            path = path_of(find_book(self.books(), name))
        book = open_cached(path, self._paths.texts, encodings=self._paths.encodings)
        if not self._user_data.opened_at(book.sha256):
            digest = file_digest(path)
            migrate_user_data(
                book, self._user_data, self._marks, file=digest, path=path
            )
        self._files[book.sha256] = path
        return book

    def place(self, book: Book) -> ReadingPlace:
        """Where the user is (`offset`), and the parts that were read (`read`, `furthest`)."""
        return self._user_data.reading_place(book.sha256)

    def places(self, book: Book, words: str) -> tuple[Destination, ...]:
        """The places that words name, the likeliest first.

        `p. 101`, `40%`, a chapter, words in double quotes, `@` and an offset, or an EPUB CFI of a
        book in a file that is known. Raises UsageError if there is none.
        """
        here = self._user_data.position(book.sha256)
        source = self._files.get(book.sha256) or self._listed_file(book)
        target = destinations_of(words, book, here, source)
        if not target.destinations:
            raise UsageError(target.problem or "The place is empty.")
        return target.destinations

    def _listed_file(self, book: Book) -> Path | None:
        """The file of the book in the library; None if it has none."""
        for entry in self.books():
            if entry.sha256 == book.sha256:
                return entry.path
        return None

    def marks(self, book: Book) -> list[Mark]:
        """The marks by place; those whose words are no longer in the text (`lost`) come last."""
        return self._marks.marks(book.sha256)

    def mark(
        self,
        book: Book,
        start: int,
        end: int,
        *,
        note: str = "",
        color: Color | None = Color.YELLOW,
    ) -> Mark:
        """Highlight `book.text[start:end]`; without a colour, only add a note there.

        The book is added to the library, unless the user has removed it. Raises UsageError if the
        range is empty or outside the text.
        """
        length = len(book.text)
        if not 0 <= start < end <= length:
            raise UsageError(f"{start} to {end} is no part of a text of {length:,}.")
        if color is None and not note:
            raise UsageError("A mark without a colour needs a note.")
        kind = MarkKind.HIGHLIGHT if color else MarkKind.NOTE
        place = quote_at(book.text, start, end)
        mark = new_mark(kind, place, color=color, note=note)
        mark = self._marks.put(book.sha256, mark)
        self._record(book)
        return mark

    def _record(self, book: Book) -> None:
        """Add an opened book to the library."""
        path = self._files.get(book.sha256)
        if path is None:
            return
        # The mark is stored even if this fails.
        with suppress(GistreadError):
            record_text(Catalogue(self._paths), path, book)

    def remove(self, book: Book, mark: Mark) -> None:
        """Remove a mark; nothing happens if it is not there."""
        self._marks.remove(book.sha256, mark)

    def threads(self, book: Book) -> list[SavedThread]:
        """The questions with their answers, by thread; the thread continued last comes last."""
        return self._user_data.threads(book.sha256)
