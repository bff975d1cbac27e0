"""Words of EPUBs compared with a second, independent reading of their files."""

import re
import unicodedata
import zipfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

from gistread.book import open_book
from gistread.errors import BookError
from tests.book.data import all_epubs
from tests.book.source_words import source_words

_CHARACTER = re.compile(r"\w")


def rows(folder: Path) -> Iterator[tuple[str, ...]]:
    """For each collection: books compared, characters in words, characters that are in no paragraph or notice."""
    for name in dict.fromkeys(path.parent.name for path in all_epubs()):
        books = characters = lost = 0
        worst = ""
        for path in (path for path in all_epubs() if path.parent.name == name):
            try:
                source, _ = source_words(path)
                book = open_book(path)
            except (BookError, ElementTree.ParseError, LookupError, StopIteration, zipfile.BadZipFile):
                continue  # Refused with a reason, or too broken for the second reader
            missing = _letters("".join(source)) - _letters(book.text)
            books, characters = books + 1, characters + sum(map(len, source))
            lost += missing.total()
            worst = f"{worst} {path.stem}" if missing else worst
        yield name, str(books), f"{characters:,}", f"{lost:,}", worst.strip() or "none"


def _letters(text: str) -> Counter[str]:
    return Counter(_CHARACTER.findall(unicodedata.normalize("NFKC", text)))  # x² is x2
