"""Words of EPUBs compared with a second, independent reading of their files.

Or with the words put into them.
"""

import re
import unicodedata
import zipfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

from gistread.book.model import Book
from gistread.book.open import open_book
from gistread.errors import BookError
from tests.book.data import all_epubs
from tests.book.make_epub import read_pages
from tests.book.source_words import source_words

_CHARACTER = re.compile(r"\w")
_MANY = 1_500
_TAGS = (
    "a",
    "font",
    "b><i",
    "div",
    "span",
    "blockquote",
    "ul><li",
    "table><tr><td",
    "section",
    "video",
    "svg><text",
)


def rows(folder: Path) -> Iterator[tuple[str, ...]]:
    """For each collection: books, characters in words, and those in no paragraph.

    Last, those of them without a notice.
    """
    for name in dict.fromkeys(path.parent.name for path in all_epubs()):
        yield _row(
            name,
            (
                each
                for path in all_epubs()
                if path.parent.name == name
                for each in _compared(path)
            ),
        )
    yield _row(
        f"generated: tags {_MANY:,} deep, closed or not",
        map(_nested, _TAGS * 2, [True, False] * len(_TAGS)),
    )


def _row(name: str, compared: Iterator[tuple[str, Book]]) -> tuple[str, ...]:
    books = characters = lost = silent = 0
    for source, book in compared:
        missing = (_letters(source) - _letters(book.text)).total()
        books += 1
        characters += len(source)
        lost += missing
        silent += 0 if book.notices else missing
    return name, str(books), f"{characters:,}", f"{lost:,}", f"{silent:,}"


def _compared(path: Path) -> Iterator[tuple[str, Book]]:
    try:
        words, _ = source_words(path)
        yield "".join(words), open_book(path)
    except (
        BookError,
        ElementTree.ParseError,
        LookupError,
        StopIteration,
        zipfile.BadZipFile,
    ):
        return  # Refused with a reason, or too broken for the second reader


def _nested(tag: str, is_closed: bool) -> tuple[str, Book]:
    words = [f"word{number}" for number in range(_MANY)]
    closing = "".join(f"</{name}>" for name in reversed(tag.split("><")))
    return "".join(words), read_pages(
        "".join(f"<{tag}>{word} " for word in words) + closing * (is_closed and _MANY)
    )


def _letters(text: str) -> Counter[str]:
    return Counter(_CHARACTER.findall(unicodedata.normalize("NFKC", text)))  # x² is x2
