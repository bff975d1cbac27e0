"""Caches extracted books by the SHA-256 of the file: a long book opens at once the second time."""

import contextlib
import hashlib
import io
import os
from collections.abc import Iterable, Sequence
from dataclasses import fields, replace
from pathlib import Path, PurePath
from typing import Any

import orjson

from gistread.book.encodings import chosen_encoding
from gistread.book.model import (
    Book,
    Chapter,
    Image,
    LanguageSpan,
    Link,
    Paragraph,
    ParagraphKind,
    Span,
    Style,
)
from gistread.book.normalise import clean_line
from gistread.book.open import Cancelled, never, open_book_or_series, read_book
from gistread.store.files import make_folder, replace_file

# Raise this when a file yields different text, paragraphs or chapters
EXTRACTION_VERSION = 22

# An entry is the SHA-256 of the rest, the length of the text, the text, and the other fields as
# JSON.
_DIGEST_BYTES = hashlib.sha256().digest_size
_LENGTH_BYTES = 8
_SUFFIX = ".book"
_LIMIT_BYTES = 512 * 1024 * 1024  # All entries together; some 700 novels
_PAYLOAD_BYTES = 16  # Memory for encoding a book, in bytes a character
_NAME = "name"  # The JSON field with the title from the file name
# The fields of a book that are sequences of ranges.
_RANGES: dict[str, type] = {
    "paragraphs": Paragraph,
    "chapters": Chapter,
    "spans": Span,
    "links": Link,
    "images": Image,
    "language_spans": LanguageSpan,
}
_ENUMS = {"kind": ParagraphKind, "style": Style}  # By the name of their field


def open_cached(
    source: Path,
    directory: Path,
    cancelled: Cancelled = never,
    *,
    encodings: Path | None = None,
) -> Book:
    """`open_book` through the cache in `directory`, if that is writable; a series by volume.

    `encodings`: the file of encodings that the user chose. Raises BookError.
    """

    def read_one(stream: io.BufferedReader, path: Path) -> Book:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
        stream.seek(0)
        entry = _entry(digest, directory)
        cached = _load(entry, path.name)
        if cached is not None:
            return cached
        encoding = chosen_encoding(encodings, digest) if encodings else ""
        book = read_book(stream, path.name, encoding=encoding, cancelled=cancelled)
        _save(book, entry, path.name)
        return book

    return open_book_or_series(read_one, source)


def _save(book: Book, entry: Path, name: str) -> None:
    """Write an entry, if the folder is writable. Raises MemoryError.

    `name`: of the book's file.
    """
    # Fails with MemoryError where orjson would end the process.
    bytearray(_PAYLOAD_BYTES * len(book.text))
    text = book.text.encode()
    record = orjson.dumps(_record(book) | {_NAME: _title_from_name(name)})
    payload = len(text).to_bytes(_LENGTH_BYTES) + text + record
    with contextlib.suppress(OSError):
        make_folder(entry.parent)
        replace_file(entry, hashlib.sha256(payload).digest() + payload)
    with contextlib.suppress(OSError):
        _trim(entry.parent)


def _record(book: Book) -> dict[str, object]:
    """The fields of a book but its text. Ranges become columns: all starts, then all ends, …"""
    record: dict[str, object] = {}
    for field in fields(book):
        value = getattr(book, field.name)
        if field.name in _RANGES:
            record[field.name] = _columns(_RANGES[field.name], value)
        elif field.name != "text":
            record[field.name] = value
    return record


def _columns(kind: type, ranges: Sequence[object]) -> list[list[object]]:
    """For each field of a kind of ranges: its values. The inverse of `_ranges`."""
    return [[getattr(item, field.name) for item in ranges] for field in fields(kind)]


def forget_cached(digest: str, directory: Path) -> None:
    """Read the file with this SHA-256 anew when it is opened next. Raises OSError."""
    _entry(digest, directory).unlink(missing_ok=True)


def cached_text(digest: str, directory: Path) -> str | None:
    """The text of the file with this SHA-256 in a hundredth of the time of `open_cached`.

    None if it is not cached.
    """
    with contextlib.suppress(OSError, ValueError):
        return _read(_entry(digest, directory))[0]
    return None


def cached_book(digest: str, name: str, directory: Path) -> Book | None:
    """The book of the file with this SHA-256, named `name`; None if it is not cached."""
    if not digest:
        return None
    return _load(_entry(digest, directory), name)


def _entry(digest: str, directory: Path) -> Path:
    return directory / f"{digest}-{EXTRACTION_VERSION}{_SUFFIX}"


def _trim(directory: Path) -> None:
    """Delete the least recently used entries until the rest is within the limit. Raises OSError."""
    status_of = {path: path.stat() for path in directory.glob(f"*{_SUFFIX}")}
    newest_first = sorted(status_of, key=lambda path: -status_of[path].st_mtime)
    total_bytes = 0
    for path in newest_first:
        total_bytes += status_of[path].st_size
        if total_bytes > _LIMIT_BYTES:
            path.unlink()


def file_digest(source: Path) -> str:
    """SHA-256 of a file in hexadecimal; empty if it cannot be read."""
    try:
        with source.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError:
        return ""


def _read(entry: Path) -> tuple[str, bytes]:
    """The text, and the other fields as JSON.

    Raises OSError, and ValueError for a damaged entry.
    """
    data = entry.read_bytes()
    payload = memoryview(data)[_DIGEST_BYTES:]
    if hashlib.sha256(payload).digest() != data[:_DIGEST_BYTES]:
        raise ValueError
    text_start = _DIGEST_BYTES + _LENGTH_BYTES
    text_bytes = int.from_bytes(data[_DIGEST_BYTES:text_start])
    text_end = text_start + text_bytes
    return data[text_start:text_end].decode(), data[text_end:]


def _load(entry: Path, name: str) -> Book | None:
    """The book of an entry; None if there is none or it is damaged.

    `name`: of the opened file. The entry may stem from a copy with another name.
    """
    try:
        text, other_fields = _read(entry)
        record = orjson.loads(other_fields)
        title = _title_from_name(name)
        saved_title = str(record.pop(_NAME, title))
        for field, values in record.items():
            if field in _RANGES:
                record[field] = _ranges(_RANGES[field], values)
            elif isinstance(values, list):
                record[field] = tuple(values)
        book = Book(text, **record)
    except (OSError, ValueError, TypeError, AttributeError):
        return None
    with contextlib.suppress(OSError):
        # Marks it as used, for `_trim`.
        os.utime(entry)
    if saved_title == title:
        return book
    return _renamed(book, saved_title, title)


def _title_from_name(name: str) -> str:
    """The title of a book that has none itself, from its file name."""
    return clean_line(PurePath(name).stem)


def _renamed(book: Book, old_title: str, new_title: str) -> Book:
    """The book with the new title, if its title comes from the old name of its file.

    Chapters without a title of their own have the book's.
    """
    if book.title != old_title:
        return book
    chapters: list[Chapter] = []
    for chapter in book.chapters:
        has_book_title = chapter.title == old_title
        title = new_title if has_book_title else chapter.title
        chapters.append(replace(chapter, title=title))
    return replace(book, title=new_title, chapters=tuple(chapters))


def _ranges(kind: type, columns: list[list[Any]]) -> tuple[Any, ...]:
    """Ranges of a kind, from a column for each of its fields. Raises ValueError, TypeError.

    >>> _ranges(Span, [[0, 5], [3, 9], ["emphasis", "strong"]])[0]
    Span(start=0, end=3, style=<Style.EMPHASIS: 'emphasis'>)
    """
    typed_columns: list[Iterable[Any]] = []
    for field, column in zip(fields(kind), columns, strict=True):
        enum = _ENUMS.get(field.name)
        typed_columns.append(map(enum, column) if enum else column)
    return tuple(map(kind, *typed_columns))
