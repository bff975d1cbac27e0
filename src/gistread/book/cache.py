"""Caches extracted books, keyed by the SHA-256 of the file, so that a long book opens at once the second time.

Entries carry a checksum and the extraction version; damaged or outdated ones are ignored.
"""

import contextlib
import hashlib
import io
import os
from pathlib import Path
from typing import Any

import orjson

from gistread.atomic_write import replace_file
from gistread.book.model import Book, Chapter, Image, LanguageSpan, Link, Paragraph, ParagraphKind, Span, Style
from gistread.book.open import Cancelled, never, open_book_or_series, read_book

EXTRACTION_VERSION = 4
"""Raise this whenever a file would yield another text, other paragraphs or other chapters."""

_MAX_BOOKS = 40
_SUFFIX = ".book"
_DIGEST_BYTES = hashlib.sha256().digest_size
_KINDS = tuple(ParagraphKind)
_STYLES = tuple(Style)


def open_cached(source: Path, directory: Path, cancelled: Cancelled = never) -> Book:
    """`open_book` through the cache in `directory`. Raises BookError.

    An unwritable cache is not an error. The volumes of a series are cached separately. `cancelled` is polled while a
    converter runs.
    """

    def read_one(stream: io.BufferedReader, path: Path) -> Book:
        entry = directory / f"{_digest(stream)}-{EXTRACTION_VERSION}{_SUFFIX}"
        book = _load(entry)
        if book is None:
            book = read_book(stream, path.name, cancelled=cancelled)
            _store(entry, book)
        return book

    return open_book_or_series(read_one, source)


def file_digest(source: Path) -> str:
    """SHA-256 of a file in hexadecimal; empty if it cannot be read."""
    try:
        with source.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError:
        return ""


def _digest(stream: io.BufferedReader) -> str:
    try:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
        stream.seek(0)
    except OSError:
        # A failing disk: reading the book reports it.
        return "unreadable"
    return digest


def _load(entry: Path) -> Book | None:
    try:
        data = entry.read_bytes()
        if hashlib.sha256(data[_DIGEST_BYTES:]).digest() != data[:_DIGEST_BYTES]:
            return None
        book = _from_record(orjson.loads(data[_DIGEST_BYTES:]))
    except (OSError, ValueError, TypeError, IndexError):
        return None
    with contextlib.suppress(OSError):
        os.utime(entry)
    return book


def _store(entry: Path, book: Book) -> None:
    payload = orjson.dumps(_to_record(book))
    with contextlib.suppress(OSError):
        entry.parent.mkdir(parents=True, exist_ok=True)
        replace_file(entry, hashlib.sha256(payload).digest() + payload)
    _evict_old(entry.parent)


def _evict_old(directory: Path) -> None:
    with contextlib.suppress(OSError):
        entry = sorted(directory.glob(f"*{_SUFFIX}"), key=lambda path: path.stat().st_mtime, reverse=True)
        for path in entry[_MAX_BOOKS:]:
            path.unlink()


def _to_record(book: Book) -> list[Any]:
    """The fields in order; paragraphs as four columns, which JSON loads much faster than objects."""
    return [
        book.text,
        book.title,
        book.authors,
        book.language,
        book.source_format,
        book.notices,
        [
            [paragraph.start for paragraph in book.paragraphs],
            [paragraph.end for paragraph in book.paragraphs],
            [_KINDS.index(paragraph.kind) for paragraph in book.paragraphs],
            [paragraph.level for paragraph in book.paragraphs],
        ],
        [[chapter.title, chapter.start, chapter.end, chapter.level] for chapter in book.chapters],
        [[span.start, span.end, _STYLES.index(span.style)] for span in book.spans],
        [[link.start, link.end, link.target, link.target_end, link.address] for link in book.links],
        [[image.start, image.end, image.source] for image in book.images],
        [[words.start, words.end, words.language] for words in book.language_spans],
        book.identifiers,
        book.cover,
    ]


def _from_record(record: list[Any]) -> Book:
    text, title, authors, language, source_format, notices, columns, chapters, *inside = record
    spans, links, images, language_spans, identifiers, cover = inside
    starts, ends, kinds, levels = columns
    return Book(
        text=text,
        title=title,
        paragraphs=tuple(map(Paragraph, starts, ends, [_KINDS[kind] for kind in kinds], levels)),
        chapters=tuple(Chapter(*chapter) for chapter in chapters),
        authors=tuple(authors),
        language=language,
        source_format=source_format,
        notices=tuple(notices),
        spans=tuple(Span(start, end, _STYLES[style]) for start, end, style in spans),
        links=tuple(Link(*link) for link in links),
        images=tuple(Image(*image) for image in images),
        language_spans=tuple(LanguageSpan(*words) for words in language_spans),
        identifiers=tuple(identifiers),
        cover=cover,
    )
