"""Keeps what was extracted from a file, so that a long book opens at once the second time.

A file is known by the SHA-256 of its bytes, never by its name. What is kept carries a checksum and the version of the
extraction; whatever is damaged, older or newer is ignored and made again. Losing any of it costs half a second.
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
from gistread.book.open import Cancelled, never, open_with, read_book

EXTRACTION = 4
"""To be raised whenever the same file would give another text, paragraphs or chapters than before."""

_KEPT_BOOKS = 40
_SUFFIX = ".book"
_DIGEST_BYTES = hashlib.sha256().digest_size
_KINDS = tuple(ParagraphKind)
_STYLES = tuple(Style)


def open_cached(source: Path, directory: Path, cancelled: Cancelled = never) -> Book:
    """`open_book`, by way of what `directory` keeps of the same file. Raises BookError as that does.

    So too where `cancelled`, asked while a converter runs, says that nobody waits any more.

    The directory is made when there is something to keep; one that cannot be written to is no error. Of a series its
    volumes are kept, each for itself: one that has changed is read again.
    """

    def read_one(stream: io.BufferedReader, path: Path) -> Book:
        kept = directory / f"{_digest(stream)}-{EXTRACTION}{_SUFFIX}"
        book = _load(kept)
        if book is None:
            book = read_book(stream, path.name, cancelled=cancelled)
            _store(kept, book)
        return book

    return open_with(read_one, source)


def file_digest(source: Path) -> str:
    """SHA-256 of a file's bytes, in hexadecimal; empty where it cannot be read."""
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
        # A disk that fails: reading the book says so in words.
        return "unreadable"
    return digest


def _load(kept: Path) -> Book | None:
    try:
        data = kept.read_bytes()
        if hashlib.sha256(data[_DIGEST_BYTES:]).digest() != data[:_DIGEST_BYTES]:
            return None
        book = _book(orjson.loads(data[_DIGEST_BYTES:]))
    except (OSError, ValueError, TypeError, IndexError):
        return None
    with contextlib.suppress(OSError):
        os.utime(kept)
    return book


def _store(kept: Path, book: Book) -> None:
    payload = orjson.dumps(_record(book))
    with contextlib.suppress(OSError):
        kept.parent.mkdir(parents=True, exist_ok=True)
        replace_file(kept, hashlib.sha256(payload).digest() + payload)
    _forget_old(kept.parent)


def _forget_old(directory: Path) -> None:
    """Keep the books that were opened last."""
    with contextlib.suppress(OSError):
        kept = sorted(directory.glob(f"*{_SUFFIX}"), key=lambda path: path.stat().st_mtime, reverse=True)
        for path in kept[_KEPT_BOOKS:]:
            path.unlink()


def _record(book: Book) -> list[Any]:
    """The fields of a book in order; paragraphs as four columns, which JSON reads much faster than objects."""
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
        [[words.start, words.end, words.language] for words in book.foreign],
        book.identifiers,
        book.cover,
    ]


def _book(record: list[Any]) -> Book:
    text, title, authors, language, source_format, notices, columns, chapters, *inside = record
    spans, links, images, foreign, identifiers, cover = inside
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
        foreign=tuple(LanguageSpan(*words) for words in foreign),
        identifiers=tuple(identifiers),
        cover=cover,
    )
