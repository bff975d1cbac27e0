"""The library: known book files, added folders, and books that the user took out of the list."""

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from gistread.store.database import Database
from gistread.store.model import BookFile
from gistread.store.rows import (
    Connection,
    decode_path,
    decoded,
    encode_path,
    from_json,
    put_file,
    put_row,
)


def id_of_text(sha256: str) -> str:
    """The id of a book by its text, known once it was opened."""
    return f"text:{sha256}"


def id_of_file(digest: str) -> str:
    """The id of a book by the bytes of its file."""
    return f"file:{digest}"


@dataclass(frozen=True, slots=True)
class CatalogueContents:
    files: Mapping[str, BookFile] = field(default_factory=dict)  # By the file's digest
    folders: tuple[Path, ...] = ()  # In the order of adding
    # Ids of removed books, with the time of removal
    removed: Mapping[str, float] = field(default_factory=dict)
    # By the book's ids, in the order of adding
    tags: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    numbers: Mapping[str, int] = field(default_factory=dict)  # By the book's ids

    @property
    def paths(self) -> dict[Path, BookFile]:
        """The file recorded last at each path."""
        oldest_first = sorted(self.files.values(), key=lambda file: file.at)
        return {file.path: file for file in oldest_first}


class Catalogue(Database):
    """The library of the user. Its methods raise StorageError."""

    def read(self) -> CatalogueContents:
        with self.reading() as connection:
            rows = connection.execute("SELECT details FROM files ORDER BY id")
            files = [decoded(BookFile, from_json(row["details"])) for row in rows]
            rows = connection.execute("SELECT path FROM folders ORDER BY id")
            folders = tuple(decode_path(row["path"]) for row in rows)
            rows = connection.execute("SELECT book, removed_at FROM removed")
            removed = {row["book"]: row["removed_at"] for row in rows}
            tags: dict[str, tuple[str, ...]] = {}
            for row in connection.execute("SELECT book, tag FROM tags ORDER BY id"):
                book = row["book"]
                tags[book] = (*tags.get(book, ()), row["tag"])
            numbers = _numbers(connection)
        by_digest = {file.digest: file for file in files if file}
        return CatalogueContents(
            files=by_digest,
            folders=folders,
            removed=removed,
            tags=tags,
            numbers=numbers,
        )

    def add(self, files: Sequence[BookFile]) -> None:
        """Add files, or update those known by their digest."""
        if not files:
            return
        with self.writing() as connection:
            for file in files:
                put_file(connection, file)

    def add_folder(self, folder: Path) -> None:
        self.put_row("folders", {"path": encode_path(folder)}, {})

    def remove(self, ids: Iterable[str]) -> None:
        """Take a book with these ids out of the list."""
        with self.writing() as connection:
            for book in ids:
                values = {"removed_at": time.time()}
                put_row(connection, "removed", {"book": book}, values)

    def tag(self, ids: Iterable[str], tag: str, *, remove: bool = False) -> None:
        """Give the book with these ids a tag, or take it away."""
        delete = "DELETE FROM tags WHERE book = ? AND tag = ?"
        with self.writing() as connection:
            for book in ids:
                if remove:
                    connection.execute(delete, (book, tag))
                else:
                    put_row(connection, "tags", {"book": book, "tag": tag}, {})

    def number(self, books: Sequence[Sequence[str]]) -> list[int]:
        """The numbers of books, given the ids of each; those without one get the next."""
        with self.writing() as connection:
            known = _numbers(connection)
            numbers = assign_numbers(books, known)
            for ids, number in zip(books, numbers, strict=True):
                for book in set(ids) - known.keys():
                    put_row(connection, "numbers", {"book": book}, {"number": number})
        return numbers

    def restore(self, *ids: str) -> None:
        """Restore a book if it was taken out under one of these ids."""
        removed = self.read().removed
        if not any(book in removed for book in ids):
            return
        with self.writing() as connection:
            rows = [(book,) for book in ids]
            connection.executemany("DELETE FROM removed WHERE book = ?", rows)


def assign_numbers(
    books: Iterable[Sequence[str]], known: Mapping[str, int]
) -> list[int]:
    """A number of its own for each book, given its ids: the known one, or the next.

    >>> assign_numbers([["a"], ["b", "c"]], {"c": 4})
    [5, 4]
    """
    highest = max(known.values(), default=0)
    numbers: dict[int, None] = {}  # In order, each once
    for ids in books:
        known_numbers = [known[book] for book in ids if book in known]
        unused = [number for number in known_numbers if number not in numbers]
        if unused:
            numbers[unused[0]] = None
        else:
            highest += 1
            numbers[highest] = None
    return list(numbers)


def _numbers(connection: Connection) -> dict[str, int]:
    """The numbers of books, by their ids."""
    rows = connection.execute("SELECT book, number FROM numbers")
    return {row["book"]: row["number"] for row in rows}
