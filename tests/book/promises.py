"""Invariants of every `Book`, whatever its format (see `book/model.py`)."""

import re
import unicodedata
from itertools import pairwise

from gistread.book.model import Book

_FORBIDDEN = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\u00ad\u200b\u202a-\u202e\u2066-\u2069\ufeff]"
)


def assert_keeps_promises(book: Book) -> None:
    assert book.title
    _check_text(book.text)
    _check_paragraphs(book)
    _check_chapters(book)


def _check_text(text: str) -> None:
    assert unicodedata.is_normalized("NFC", text)
    assert not _FORBIDDEN.search(text)
    assert "\n\n\n" not in text


def _check_paragraphs(book: Book) -> None:
    """None is empty, and together they are the text."""
    paragraphs = [
        book.text[paragraph.start : paragraph.end] for paragraph in book.paragraphs
    ]
    assert book.text == "\n\n".join(paragraphs)
    for words in paragraphs:
        assert words.strip()
        assert "\n\n" not in words


def _check_chapters(book: Book) -> None:
    """Each has a title and begins with a paragraph, and together they cover the text."""
    assert book.chapters[0].start == 0
    assert book.chapters[-1].end == len(book.text)
    for before, after in pairwise(book.chapters):
        assert before.end == after.start
    paragraph_starts = {paragraph.start for paragraph in book.paragraphs}
    for chapter in book.chapters:
        assert chapter.title
        assert chapter.start < chapter.end
        assert chapter.start in paragraph_starts
