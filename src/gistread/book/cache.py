"""Caches extracted books by the SHA-256 of the file, so that a long book opens at once the second time."""

import contextlib
import hashlib
import io
import os
from dataclasses import fields
from pathlib import Path
from typing import Any

import orjson

from gistread.atomic_write import make_folder, replace_file
from gistread.book.model import Book, Chapter, Image, LanguageSpan, Link, Paragraph, ParagraphKind, Span, Style
from gistread.book.open import Cancelled, never, open_book_or_series, read_book

EXTRACTION_VERSION = 14  # Raise this when a file yields different text, paragraphs or chapters

_MAX_BOOKS = 40
_SUFFIX = ".book"
_PAYLOAD_BYTES = 16  # Memory for encoding a book, in bytes a character
_DIGEST_BYTES = hashlib.sha256().digest_size
# The fields of a book that are sequences of ranges.
_RANGES: dict[str, type] = {
    "paragraphs": Paragraph,
    "chapters": Chapter,
    "spans": Span,
    "links": Link,
    "images": Image,
    "language_spans": LanguageSpan,
}


def open_cached(source: Path, directory: Path, cancelled: Cancelled = never) -> Book:
    """`open_book` through the cache in `directory`, if that is writable; a series by volume. Raises BookError."""

    def read_one(stream: io.BufferedReader, path: Path) -> Book:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
        stream.seek(0)
        entry = directory / f"{digest}-{EXTRACTION_VERSION}{_SUFFIX}"
        book = _load(entry)
        if book is None:
            book = read_book(stream, path.name, cancelled=cancelled)
            payload = _encode(book)
            with contextlib.suppress(OSError):
                make_folder(entry.parent)
                replace_file(entry, hashlib.sha256(payload).digest() + payload)
            with contextlib.suppress(OSError):
                entries = sorted(entry.parent.glob(f"*{_SUFFIX}"), key=lambda path: path.stat().st_mtime, reverse=True)
                for old in entries[_MAX_BOOKS:]:
                    old.unlink()
        return book

    return open_book_or_series(read_one, source)


def file_digest(source: Path) -> str:
    """SHA-256 of a file in hexadecimal; empty if it cannot be read."""
    try:
        with source.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError:
        return ""


def _load(entry: Path) -> Book | None:
    try:
        data = entry.read_bytes()
        if hashlib.sha256(data[_DIGEST_BYTES:]).digest() != data[:_DIGEST_BYTES]:
            return None
        record = orjson.loads(data[_DIGEST_BYTES:])
        for name, values in record.items():
            if (kind := _RANGES.get(name)) is not None:
                enums = {"kind": ParagraphKind, "style": Style}
                columns = (
                    map(enums[each.name], column) if each.name in enums else column
                    for each, column in zip(fields(kind), values, strict=True)
                )
                record[name] = tuple(map(kind, *columns))
            elif isinstance(values, list):
                record[name] = tuple(values)
        book = Book(**record)
    except (OSError, ValueError, TypeError):
        return None
    with contextlib.suppress(OSError):
        os.utime(entry)
    return book


def _encode(book: Book) -> bytes:
    bytearray(_PAYLOAD_BYTES * len(book.text))  # raises MemoryError; orjson would abort the process
    return orjson.dumps(_to_record(book))


def _to_record(book: Book) -> dict[str, Any]:
    record = {each.name: getattr(book, each.name) for each in fields(book)}
    for name, kind in _RANGES.items():
        record[name] = [[getattr(one, each.name) for one in record[name]] for each in fields(kind)]
    return record
