"""Tabulates the outcome of every EPUB in the collection beside the checkout.

`python -m tests.book.epub_table` prints a line per file: its name, `read` or `refused`, and the
notices or the reason.
"""

import csv
import functools
import sys
from dataclasses import dataclass
from pathlib import Path

from gistread.book.model import Book
from gistread.book.open import open_book
from gistread.errors import BookError
from tests.book.data import all_epubs

TABLE = Path(__file__).with_name("epubs.csv")


@dataclass(frozen=True)
class Outcome:
    """What opening a file led to; `book` is None if it was refused."""

    name: str
    book: Book | None
    remark: str
    """The notices, or the reason."""

    @property
    def row(self) -> list[str]:
        return [self.name, "read" if self.book else "refused", self.remark]


def outcome(path: Path) -> Outcome:
    name = f"{path.parent.name}/{path.name}"
    try:
        book = open_book(path)
    except BookError as error:
        # The first sentence; the rest is advice.
        reason = str(error).replace(path.name, "It").splitlines()[0].partition(". ")[0]
        return Outcome(name, None, f"{reason.rstrip('.')}.")
    return Outcome(name, book, " ".join(book.notices))


@functools.cache
def table() -> dict[str, list[str]]:
    """The recorded rows by name."""
    with TABLE.open(encoding="utf-8", newline="") as file:
        return {row[0]: row for row in csv.reader(file)}


if __name__ == "__main__":
    rows = [outcome(path).row for path in all_epubs()]
    csv.writer(sys.stdout, lineterminator="\n").writerows(rows)
