"""The marks of all books. Each has the time of its last change, by which changes of two processes are merged."""

import time
from collections.abc import Iterable
from dataclasses import replace

from gistread.marking.model import Mark, merge_marks, sorted_marks
from gistread.paths import Paths
from gistread.store.database import Database
from gistread.store.rows import has_mark, mark_of_row, mark_row, put_mark, remove_mark

_MOMENT_S = 1e-3  # Minimum between versions of a mark

Stamp = tuple[int, float]  # (marks, removed ones included; sum of the times of their last changes)


class MarkStore:
    """By the SHA-256 of a book's text. Its methods raise StorageError."""

    def __init__(self, paths: Paths) -> None:
        self._database = Database(paths)

    def marks(self, sha256: str) -> list[Mark]:
        """Marks of a book, by position."""
        with self._database.reading() as connection:
            rows = connection.execute("SELECT * FROM marks WHERE sha256 = ? AND details IS NOT NULL", (sha256,))
            return sorted_marks([mark for mark in map(mark_of_row, rows) if mark is not None])

    def stamp(self, sha256: str) -> Stamp:
        """A value that changes with the marks of a book."""
        with self._database.reading() as connection:
            query = "SELECT count(*), total(changed_at) FROM marks WHERE sha256 = ?"
            count, total = connection.execute(query, (sha256,)).fetchone()
            return count, total

    def put(self, sha256: str, mark: Mark, base: Mark | None = None) -> Mark:
        """Store a mark, merged with changes made since `base`, and return the result."""
        with self._database.writing() as connection:
            known = mark_row(connection, sha256, mark.id)
            mark = merge_marks(mark, mark_of_row(known) if known else None, base)
            if known and known["changed_at"] >= mark.changed_at:
                mark = replace(mark, changed_at=known["changed_at"] + _MOMENT_S)
            put_mark(connection, sha256, mark)
        return mark

    def put_new(self, sha256: str, marks: Iterable[Mark]) -> list[Mark]:
        """Store the marks with new ids and return them."""
        with self._database.writing() as connection:
            new = [mark for mark in marks if not has_mark(connection, sha256, mark.id)]
            for mark in new:
                put_mark(connection, sha256, mark)
        return new

    def remove(self, sha256: str, mark: Mark) -> Mark:
        """Remove a mark and return its last version; `put` restores it."""
        with self._database.writing() as connection:
            known = mark_row(connection, sha256, mark.id)
            last = (mark_of_row(known) if known else None) or mark
            remove_mark(connection, sha256, mark.id, max(time.time(), last.changed_at + _MOMENT_S))
        return last
