"""Searches every book of the library, each up to its spoiler bound."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from gistread.book.cache import cached_text, open_cached
from gistread.errors import BookError, StorageError
from gistread.library.entries import SERIES_FORMAT, LibraryEntry, list_entries, tagged
from gistread.library.index import (
    IndexedBook,
    LibraryIndex,
    Matches,
    PassageHit,
    places_in,
)
from gistread.memory.passages import Span
from gistread.memory.spoilers import bound_of
from gistread.paths import Paths
from gistread.search.book_search import best_sentence
from gistread.store.catalogue import Catalogue
from gistread.store.model import BoundChoice
from gistread.store.user_data import UserData
from gistread.units import counted

MOST_HITS = 100
_CORE = 200  # Characters of a hit in a list


@dataclass(frozen=True, slots=True, eq=False)
class ShelfBook:
    """A book that can be searched, and how much of it may be shown."""

    entry: LibraryEntry
    indexed: IndexedBook
    bound: int | None  # Offset; None: the whole book
    begun: bool

    @property
    def path(self) -> Path:
        assert self.entry.path is not None  # See `searchable`.
        return self.entry.path

    @property
    def document(self) -> dict[str, object]:
        """The book in JSON output."""
        return {
            "title": self.entry.title,
            "path": str(self.path),
            "sha256": self.indexed.sha256,
        }


@dataclass(frozen=True, slots=True)
class LibraryHit:
    """A sentence of a book, within its passage."""

    book: ShelfBook
    start: int
    end: int
    before: str
    text: str
    after: str
    words: tuple[Span, ...]  # The words of the query, as offsets in the book

    @property
    def core(self) -> Span:
        """From the first to the last word of the query in the sentence, or its beginning."""
        words_inside = [
            (start, end) for start, end in self.words if self.start <= start < self.end
        ]
        start = self.start
        end = self.end
        if words_inside:
            start, _ = words_inside[0]
            _, end = words_inside[-1]
        return start, min(end, start + _CORE)

    @property
    def chapter(self) -> str:
        return self.book.indexed.chapter_title(self.start)


@dataclass(frozen=True, slots=True)
class Shelf:
    """The library as it can be searched now."""

    books: tuple[ShelfBook, ...]
    total: int  # Books that the index should have
    pending: tuple[LibraryEntry, ...]  # Those that it does not have yet
    paths: Paths

    @property
    def progress(self) -> str:
        """`indexing 12 of 100`; empty if everything is indexed."""
        if not self.pending:
            return ""
        indexed = self.total - len(self.pending)
        return f"indexing {indexed} of {self.total}"

    def find(self, query: str, books: Iterable[ShelfBook]) -> Matches:
        """Search these books. Raises StorageError."""
        known = {
            book.indexed.id: book.indexed.known_passages(book.bound) for book in books
        }
        return LibraryIndex(self.paths).find(query, known)

    def search(
        self, query: str, limit: int = MOST_HITS, first: int = 0
    ) -> "LibraryHits":
        """The best hits, without the first `first` of them; at most `limit`.

        Hits in books whose files are missing are left out, but keep their ranks. Raises
        StorageError.
        """
        matches = self.find(query, self.books)
        text_of = cache(self.text_of)  # Several hits may be in one book.
        by_id = {book.indexed.id: book for book in self.books}
        hits = matches.hits()
        shown: list[LibraryHit] = []
        for hit in hits[first : first + limit]:
            book = by_id[hit.book]
            text = text_of(book)
            if text is not None:
                shown.append(hit_in(book, text, hit))
        beyond = {by_id[id_]: count for id_, count in matches.hits_beyond().items()}
        return LibraryHits(tuple(shown), len(hits), beyond)

    def text_of(self, book: ShelfBook) -> str | None:
        """The text that was indexed; None if the file is missing or has changed."""
        text = cached_text(book.indexed.digest, self.paths.texts)
        if text is not None:
            return text
        try:
            opened = open_cached(
                book.path, self.paths.texts, encodings=self.paths.encodings
            )
        except BookError:
            return None
        if opened.sha256 != book.indexed.sha256:
            return None
        return opened.text


@dataclass(frozen=True, slots=True)
class LibraryHits:
    hits: tuple[LibraryHit, ...]  # The best first
    total: int
    # Hits left out, by the books in which they are beyond the bound
    beyond: Mapping[ShelfBook, int]

    @property
    def left_out(self) -> str:
        """`12 more beyond where you stopped in 3 books`; empty for none."""
        hits = sum(self.beyond.values())
        if not hits:
            return ""
        books = counted(len(self.beyond), "book")
        return f"{hits} more beyond where you stopped in {books}"


def open_shelf(paths: Paths, tag: str = "") -> Shelf:
    """The books of the library, or of a collection. Raises StorageError, UsageError."""
    user_data = UserData(paths)
    entries, problem = list_entries(user_data, Catalogue(paths))
    if problem and not entries:
        raise StorageError(problem)
    if tag:
        entries = tagged(entries, tag)
    bounds = user_data.bounds()
    indexed = LibraryIndex(paths).books()
    expected = list(searchable(entries))
    books = []
    for entry in expected:
        indexed_book = indexed.get(entry.digest)
        if indexed_book is None or not indexed_book.spans:
            continue
        here, choice = bounds.get(indexed_book.sha256, (0, None))
        books.append(_shelf_book(entry, indexed_book, here, choice))
    pending = tuple(entry for entry in expected if entry.digest not in indexed)
    return Shelf(tuple(books), len(expected), pending, paths)


def _shelf_book(
    entry: LibraryEntry, indexed: IndexedBook, here: int, choice: BoundChoice | None
) -> ShelfBook:
    """The book up to its bound.

    `here`: how far the user has read; `choice`: where answers stop, if chosen.
    """
    bound = bound_of(indexed.length, here, choice, lambda: indexed.plot)
    is_begun = here > 0 or choice is not None
    return ShelfBook(entry, indexed, bound, is_begun)


def searchable(entries: Iterable[LibraryEntry]) -> Iterator[LibraryEntry]:
    """The books whose files exist.

    A series that is begun is searched as one book; before that, its volumes are.
    """
    present = [
        entry for entry in entries if entry.path and entry.digest and not entry.missing
    ]
    series = [entry for entry in present if entry.format == SERIES_FORMAT]
    begun_series = [entry for entry in series if entry.position > 0]
    volumes = {volume.sha256 for entry in begun_series for volume in entry.volumes}
    for entry in present:
        if entry.format == SERIES_FORMAT:
            is_searched = entry.position > 0
        else:
            is_searched = entry.sha256 not in volumes
        if is_searched:
            yield entry


def hit_in(book: ShelfBook, text: str, hit: PassageHit) -> LibraryHit:
    """The sentence of a passage with most words of the query; `text`: the book's.

    It is a heading only if no other sentence has a word.
    """
    first, last = book.indexed.span(hit.number)
    passage = text[first:last]
    places = places_in(passage, hit.words, book.indexed.language)
    # A chapter begins with its heading, on a line of its own.
    headings = [
        (chapter_start - first, text.find("\n", chapter_start) - first)
        for chapter_start in book.indexed.chapter_starts
        if first <= chapter_start < last
    ]
    outside_headings = [
        place
        for place in places
        if not any(start <= place.start < end for start, end in headings)
    ]
    start, end = best_sentence(
        passage, outside_headings or places, hit.words.__getitem__
    )
    words = tuple((first + place.start, first + place.end) for place in places)
    return LibraryHit(
        book,
        first + start,
        first + end,
        before=passage[:start],
        text=passage[start:end],
        after=passage[end:],
        words=words,
    )
