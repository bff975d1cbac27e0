"""A full-text index of every book in the library, in a SQLite file of the cache.

It is made again when it is lost. It holds the stems of each passage, not the text: that is read
from `texts`, or again from the book's file. One table (FTS5) has a row for each passage. The number
of a row is that of its book, shifted by `_SHIFT` bits, plus that of the passage in its book. A
passage scores by the words of the query in it and, with less weight, in the passages beside it
(inverse document frequency).
"""

import contextlib
import json
import math
import sqlite3
from array import array
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

from gistread.book.cache import EXTRACTION_VERSION
from gistread.book.model import Book
from gistread.errors import StorageError
from gistread.memory.passages import Span, split_into_passages
from gistread.memory.spoilers import has_plot
from gistread.paths import Paths
from gistread.search.tokens import Terms, WordPlace, code_of, language_of
from gistread.store.database import use_write_ahead_log
from gistread.store.files import make_folder

# Raise the thousands when passages or stems change
_VERSION = 1000 + EXTRACTION_VERSION
_SHIFT = 20  # `row >> _SHIFT` is the book of a row …
_NUMBER = (1 << _SHIFT) - 1  # … and `row & _NUMBER` its passage.
_BESIDE = 0.5  # Weight of a word of the query that only the passage before or after has
# Share of a book's passages that have a word, at which the word counts half for the book. Chosen on
# `tests/benchmarks/which_book.tsv`.
_USUAL_SHARE = 0.03
_WAIT_S = 10.0


@dataclass(frozen=True, slots=True)
class IndexedBook:
    """A book in the index; without passages if its file could not be read."""

    id: int
    digest: str  # SHA-256 of the file
    sha256: str  # Of the text
    length: int  # Characters of the text, without white space at its end
    plot: bool  # See `has_plot`
    language: str
    chapters: str  # Start and title of each, as JSON
    spans: Sequence[int]  # Start and end of each passage, flat

    def span(self, number: int) -> Span:
        return self.spans[2 * number], self.spans[2 * number + 1]

    def known_passages(self, bound: int | None) -> int:
        """How many passages end at or before the bound."""
        if bound is None:
            return len(self.spans) // 2
        return bisect_right(self.spans[1::2], bound)

    @property
    def chapter_starts(self) -> list[int]:
        return [start for start, _ in json.loads(self.chapters)]

    def chapter_title(self, offset: int) -> str:
        """The title of the chapter at this offset; empty before the first."""
        for start, title in reversed(json.loads(self.chapters)):
            if start <= offset:
                return str(title)
        return ""


@dataclass(frozen=True, slots=True)
class PassageHit:
    book: int  # Id of the book
    number: int  # Of the passage in its book
    score: float
    # Words of the query that are in it, with their weights
    words: Mapping[str, float]


class Matches:
    """The passages that have words of a query, in the books searched, up to their bounds."""

    def __init__(
        self,
        masks: Mapping[int, int],
        weights: Mapping[str, float],
        known: Mapping[int, int],
    ) -> None:
        """`masks`: by the row of a passage (see `_SHIFT`), a bit for each word of the query.

        `known`: how many passages count, by the id of each book to search.
        """
        self.weights = weights
        # Of the passages up to the bounds. Rows are taken apart in place: there may be a million,
        # and a call for each would slow the search down.
        self._masks = {
            row: mask
            for row, mask in masks.items()
            if row & _NUMBER < known.get(row >> _SHIFT, 0)
        }
        unknown_rows = masks.keys() - self._masks.keys()
        # Of the passages after the bounds
        self._beyond = [row for row in unknown_rows if row >> _SHIFT in known]
        self._all_masks = masks
        self._known = known
        by_bit = list(enumerate(weights.values()))
        # The weight of the words of a mask
        self._weight = cache(
            lambda mask: sum(weight for bit, weight in by_bit if mask >> bit & 1)
        )

    def hits(self) -> list[PassageHit]:
        """The passages with at least half of the best one's weight, the best first.

        Of passages with the same score, those of the likelier book come first.
        """
        common = self._commonness()
        hits = [self._hit(row) for row in self._heavy(self._masks)]
        return sorted(
            hits, key=lambda hit: (-hit.score, -common[hit.book], hit.book, hit.number)
        )

    def in_book(self, book: int) -> list[PassageHit]:
        """The passages of a book that have a word of the query, the best first."""
        hits = [self._hit(row) for row in self._masks if row >> _SHIFT == book]
        return sorted(hits, key=lambda hit: (-hit.score, hit.number))

    def hits_beyond(self) -> Counter[int]:
        """How many hits there would be in the unknown rest, by the id of the book."""
        return Counter(row >> _SHIFT for row in self._heavy(self._beyond))

    def book_scores(self) -> dict[int, float]:
        """The score of each book: that of its best passage, and how common the words are in it."""
        best: defaultdict[int, float] = defaultdict(float)
        for row in self._heavy(self._masks):
            hit = self._hit(row)
            best[hit.book] = max(best[hit.book], hit.score)
        return {book: score + best[book] for book, score in self._commonness().items()}

    def _commonness(self) -> dict[int, float]:
        """How common the words of the query are in each book."""
        passages_with: defaultdict[int, list[int]] = defaultdict(
            lambda: [0] * len(self.weights)
        )
        # How many passages of each book have the same words
        equal_rows = Counter((row >> _SHIFT, mask) for row, mask in self._masks.items())
        for (book, mask), count in equal_rows.items():
            for bit in range(len(self.weights)):
                if mask >> bit & 1:
                    passages_with[book][bit] += count
        commonness: dict[int, float] = {}
        for book, counts in passages_with.items():
            usual = _USUAL_SHARE * self._known[book]
            pairs = zip(self.weights.values(), counts, strict=True)
            commonness[book] = sum(
                weight * count / (count + usual) for weight, count in pairs
            )
        return commonness

    def _heavy(self, rows: Iterable[int]) -> list[int]:
        """The rows with at least half of the weight of the best passage."""
        best_weight = max(map(self._weight, set(self._masks.values())), default=0.0)
        return [
            row for row in rows if 2 * self._weight(self._all_masks[row]) >= best_weight
        ]

    def _hit(self, row: int) -> PassageHit:
        """The passage of a row, scored by its words and by those only beside it."""
        mask = self._masks[row]
        neighbours = self._masks.get(row - 1, 0) | self._masks.get(row + 1, 0)
        only_beside = neighbours & ~mask
        score = self._weight(mask) + _BESIDE * self._weight(only_beside)
        words = {
            word: weight
            for bit, (word, weight) in enumerate(self.weights.items())
            if mask >> bit & 1
        }
        return PassageHit(row >> _SHIFT, row & _NUMBER, score, words)


class LibraryIndex:
    """The index of the user's library. Its methods raise StorageError."""

    def __init__(self, paths: Paths) -> None:
        self.folder = paths.index
        self._file = paths.index / "passages.db"

    def books(self) -> dict[str, IndexedBook]:
        """By the digest of the file."""
        with self._open() as connection:
            books: dict[str, IndexedBook] = {}
            for row in connection.execute("SELECT * FROM books"):
                columns = dict(row)
                columns["spans"] = memoryview(row["spans"]).cast("I")
                books[row["digest"]] = IndexedBook(**columns)
            return books

    def add(self, digest: str, book: Book | None) -> None:
        """Add a book in one short transaction.

        `book`: None if its file cannot be read. It is added without passages then, so that it is
        not tried again.
        """
        book = book or Book(text="", title="", paragraphs=(), chapters=())
        # A row has no room for the numbers of more.
        spans = split_into_passages(book)[: _NUMBER + 1]
        passages = _stems_of(book, spans)
        columns = {"digest": digest, **_columns(book, spans)}
        names = ", ".join(columns)
        values = ", ".join("?" * len(columns))
        insert = f"INSERT INTO books ({names}) VALUES ({values})"
        with self._open(write=True) as connection:
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("DELETE FROM books WHERE digest = ?", (digest,))
            cursor = connection.execute(insert, tuple(columns.values()))
            first_row = (cursor.lastrowid or 0) << _SHIFT
            connection.executemany(
                "INSERT INTO stems (rowid, words) VALUES (?, ?)",
                enumerate(passages, first_row),
            )
            connection.execute("COMMIT")

    def keep(self, digests: Collection[str]) -> None:
        """Drop all other books.

        Their stems are never found, and go with the file once they are the greater part.
        """
        with self._open(write=True) as connection:
            rows = connection.execute("SELECT id, digest FROM books").fetchall()
            dropped = [(row["id"],) for row in rows if row["digest"] not in digests]
            if not dropped:
                return
            connection.executemany("DELETE FROM books WHERE id = ?", dropped)
            present, ever_added = connection.execute(
                "SELECT count(*), (SELECT seq FROM sqlite_sequence) FROM books"
            ).fetchone()
        if 2 * present < ever_added:
            self.delete()

    def forget(self, digest: str) -> None:
        """Let the book of this file be indexed anew, as its text has changed."""
        with self._open(write=True) as connection:
            connection.execute("DELETE FROM books WHERE digest = ?", (digest,))

    def delete(self) -> None:
        for file in self.folder.glob(f"{self._file.name}*"):
            file.unlink(missing_ok=True)

    def find(self, query: str, known: Mapping[int, int]) -> Matches:
        """The passages with words of a query. `known`: see `Matches`."""
        find_stems = "SELECT rowid FROM stems WHERE stems MATCH ?"
        with self._open() as connection:
            languages = _column(connection, "SELECT DISTINCT language FROM books")
            # A span has two numbers of four bytes.
            total = _value(connection, "SELECT sum(length(spans)) / 8 FROM books") or 0
            words = words_of(query, languages or ["en"])
            masks: defaultdict[int, int] = defaultdict(int)
            weights: dict[str, float] = {}
            for bit, (word, stems) in enumerate(words.items()):
                any_stem = " OR ".join(f'"{stem}"' for stem in sorted(stems))
                rows = _column(connection, find_stems, any_stem)
                weights[word] = math.log(1 + total / (len(rows) + 1))
                for row in rows:
                    masks[row] |= 1 << bit
        return Matches(masks, weights, known)

    @contextlib.contextmanager
    def _open(self, *, write: bool = False) -> Iterator[sqlite3.Connection]:
        """A connection; without a file, one to an empty index. A damaged file is deleted."""
        try:
            if write:
                make_folder(self.folder)
                # SQLite gives its other files the same mode.
                self._file.touch(mode=0o600)
            name = self._file if write or self._file.exists() else ":memory:"
            opened = sqlite3.connect(name, timeout=_WAIT_S, isolation_level=None)
            with contextlib.closing(opened) as connection:
                connection.row_factory = sqlite3.Row
                if _value(connection, "PRAGMA user_version") != _VERSION:
                    _create_tables(connection)
                yield connection
        except (sqlite3.Error, OSError) as error:
            if _is_damage(error):
                self.delete()
            raise StorageError(
                f"The index of the library cannot be used: {error}.", "Try again."
            ) from error


def _stems_of(book: Book, spans: Sequence[Span]) -> list[str]:
    """The stems of the words of each passage."""
    terms = Terms(book.language)
    stem = cache(terms.stem)
    return [
        " ".join(map(stem, terms.words(book.text[start:end]))) for start, end in spans
    ]


def _columns(book: Book, spans: Sequence[Span]) -> dict[str, object]:
    """What the index knows about a book with these passages."""
    chapters = [
        (chapter.start, book.chapter_title(chapter.start)) for chapter in book.chapters
    ]
    return {
        "sha256": book.sha256,
        "length": len(book.text.rstrip()),
        "plot": has_plot(book),
        "language": code_of(book.language),
        "chapters": json.dumps(chapters),
        "spans": array("I", chain.from_iterable(spans)).tobytes(),
    }


def _is_damage(error: Exception) -> bool:
    """Whether the file itself is damaged; an operational error is one of access or locks."""
    is_operational = isinstance(error, sqlite3.OperationalError)
    return isinstance(error, sqlite3.DatabaseError) and not is_operational


def _column(connection: sqlite3.Connection, query: str, *values: str) -> list[Any]:
    """The first column of the rows."""
    return [row[0] for row in connection.execute(query, values)]


def _value(connection: sqlite3.Connection, query: str) -> Any:
    """The first column of the first row."""
    return connection.execute(query).fetchone()[0]


def _create_tables(connection: sqlite3.Connection) -> None:
    """Create the tables, in place of those of another version."""
    use_write_ahead_log(connection)
    connection.execute("BEGIN IMMEDIATE")
    # Another process may have been faster.
    if _value(connection, "PRAGMA user_version") != _VERSION:
        schema = Path(__file__).with_name("index.sql").read_text("utf-8")
        for statement in schema.split(";"):
            connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {_VERSION}")
    connection.execute("COMMIT")


def words_of(query: str, languages: Sequence[str]) -> dict[str, set[str]]:
    """The words of the query, with their stems in each language.

    Without stop words, unless there are no others.
    """
    query_terms = Terms(language_of(query, languages[0]))
    terms_of_languages = [Terms(language) for language in languages]
    every_word = query_terms.words(query)
    words = [word for word in every_word if word not in query_terms.stop_words]
    stems_of: dict[str, set[str]] = {}
    for word in words or every_word:
        stems = {terms.stem(word) for terms in terms_of_languages}
        is_known = any(stems & others for others in stems_of.values())
        if not is_known:
            stems_of[word] = stems
    return stems_of


def places_in(text: str, words: Iterable[str], language: str) -> list[WordPlace]:
    """Where these words of a query are, in any inflection, in a text of this language."""
    terms = Terms(language)
    word_of_stem = {terms.stem(word): word for word in words}
    places: list[WordPlace] = []
    for place in terms.places(text):
        word = word_of_stem.get(terms.stem(place.word))
        if word is not None:
            places.append(place._replace(word=word))
    return places
