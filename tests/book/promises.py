"""Invariants of every `Book`, whatever its format (see `book/model.py`)."""

import re
import unicodedata
from itertools import pairwise

from gistread.book.model import Book

_FORBIDDEN = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u00ad\u200b\u202a-\u202e\u2066-\u2069\ufeff]")


def assert_keeps_promises(book: Book) -> None:
    text = book.text
    assert unicodedata.is_normalized("NFC", text)
    assert not _FORBIDDEN.search(text)
    assert "\n\n\n" not in text
    assert text == "\n\n".join(text[p.start : p.end] for p in book.paragraphs)
    for paragraph in book.paragraphs:
        words = text[paragraph.start : paragraph.end]
        assert words.strip()
        assert "\n\n" not in words
    assert book.title
    assert book.chapters[0].start == 0
    assert book.chapters[-1].end == len(text)
    for before, after in pairwise(book.chapters):
        assert before.end == after.start
    assert all(chapter.start < chapter.end and chapter.title for chapter in book.chapters)
    starts = {p.start for p in book.paragraphs}
    assert all(chapter.start in starts for chapter in book.chapters)
