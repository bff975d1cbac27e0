"""Tabulates the outcome of every EPUB in the collection beside the checkout: `python -m
tests.book.epub_table`.

One line a file: name, read or refused, and the notice or reason.
"""

import csv
import functools
import sys
from pathlib import Path

from gistread.book.model import Book
from gistread.book.open import open_book
from gistread.errors import BookError
from tests.book.data import all_epubs

TABLE = Path(__file__).with_name("epubs.csv")


def outcome(path: Path) -> tuple[str, Book | None, str]:
    """Name; the book, or None if it is refused; notices or reason."""
    name = f"{path.parent.name}/{path.name}"
    try:
        book = open_book(path)
    except BookError as error:
        # The first sentence; the rest is advice.
        reason = str(error).replace(path.name, "It").splitlines()[0].partition(". ")[0]
        return name, None, f"{reason.rstrip('.')}."
    return name, book, " ".join(book.notices)


@functools.cache
def table() -> dict[str, tuple[str, str, str]]:
    """The recorded lines by name."""
    with TABLE.open(encoding="utf-8", newline="") as file:
        return {row[0]: (row[0], row[1], row[2]) for row in csv.reader(file)}


if __name__ == "__main__":
    csv.writer(sys.stdout, lineterminator="\n").writerows(
        (name, "read" if book else "refused", said)
        for name, book, said in map(outcome, all_epubs())
    )
