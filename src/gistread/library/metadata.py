"""Reads titles and authors from as little of a file as possible.

In slow ones, the file name is the title.
"""

import hashlib
import io
import os
import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO

from gistread.book.formats.archive import Archive, ArchiveError
from gistread.book.formats.calibre import converter_of, kindle_title
from gistread.book.model import Book
from gistread.book.normalise import clean_line
from gistread.book.open import open_file, read_book
from gistread.book.series import read_series_file
from gistread.book.sniff import (
    HEAD_BYTES,
    SERIES_SUFFIX,
    ForeignFormat,
    ReadableFormat,
    identify,
    identify_zip,
)
from gistread.errors import BookError
from gistread.library.entries import SERIES_FORMAT, absolute
from gistread.store.catalogue import Catalogue
from gistread.store.model import BookFile, VolumeText

_SUFFIXES = (
    *(".epub", ".fb2", ".fb2.zip", ".fbz", ".docx", ".pdf", SERIES_SUFFIX),
    *(".txt", ".text", ".md", ".markdown"),
    *(".html", ".htm", ".xhtml", ".mhtml", ".mht"),
    # Through Calibre
    *(".mobi", ".azw", ".azw3", ".prc", ".lit", ".lrf", ".htmlz", ".txtz"),
)
# A page, the tree of pages, or compressed objects, which may contain them
_PDF_PAGE = re.compile(rb"/(?:Page|Kids|ObjStm)\b")
_LONGEST_NAME = 16  # Bytes of a match, with what follows it
_BLOCK = 1024 * 1024  # Bytes
_Facts = dict[str, Any]  # Fields of a `BookFile`
# Bytes at the start of plain text, enough for title and author
_TITLE_PAGES = 64 * 1024


def has_book_suffix(name: str) -> bool:
    return name.lower().endswith(_SUFFIXES)


def read_book_file(
    path: Path, cancelled: Callable[[], bool] = lambda: False
) -> BookFile:
    """The file with its title and authors. Raises BookError if it is not a readable book."""
    with open_file(path) as stream:
        facts = _read_facts(stream, path, cancelled)
    return replace(examine_file(path), **facts)


def _read_facts(stream: BinaryIO, path: Path, cancelled: Callable[[], bool]) -> _Facts:
    """Title, authors and format, and all facts of a format that must be read whole."""
    head = stream.read(HEAD_BYTES)
    if not head:
        raise BookError(f"{path.name} is empty.")
    kind = identify(head, path.name)
    stream.seek(0)
    match kind:
        case ReadableFormat.TEXT | ReadableFormat.MARKDOWN:
            title_pages = io.BytesIO(_first_lines(stream))
            book = read_book(title_pages, path.name, cancelled=cancelled)
            return _named(book.title, book.authors, book.source_format)
        case ReadableFormat.PDF:
            # Reading it needs a worker process: hours for a folder of hundreds.
            if not _has_pdf_pages(stream):
                reason = f"{path.name} cannot be read: it is damaged or not a PDF."
                raise BookError(reason, "Get a fresh copy of the file.")
            return _named(path.stem.replace("_", " "), (), "pdf")
        case ReadableFormat.SERIES:
            series = read_series_file(stream, path.name)
            return _named(series.title, series.authors, SERIES_FORMAT)
        case ForeignFormat(suffix=suffix) if suffix:
            return _foreign(path, stream, kind)
        case None:
            zipped = _zipped(path, stream)
            if zipped is not None:
                return zipped
    stream.seek(0)
    return _whole(read_book(stream, path.name, cancelled=cancelled))


def _first_lines(stream: BinaryIO) -> bytes:
    """Whole lines from the beginning; a part of the first if that is very long."""
    data = stream.read(_TITLE_PAGES)
    if len(data) < _TITLE_PAGES:
        return data
    return data[: data.rfind(b"\n") + 1] or data


def _has_pdf_pages(stream: BinaryIO) -> bool:
    """Whether the file has any page; one that was cut off early has none."""
    overlap = b""  # The end of the last block: a match may lie across both
    while block := stream.read(_BLOCK):
        if _PDF_PAGE.search(overlap + block):
            return True
        overlap = block[-_LONGEST_NAME:]
    return False


def book_file_of(path: Path, book: Book) -> BookFile:
    """The file of a book just read. Raises BookError."""
    return replace(examine_file(path), **_whole(book))


def record_text(catalogue: Catalogue, path: Path, book: Book) -> None:
    """Record the text of a file, by which the library finds the user's data.

    Adds a file that the library does not have. Raises BookError, StorageError.
    """
    catalogue.add([book_file_of(path, book)])


def _zipped(path: Path, stream: BinaryIO) -> _Facts | None:
    """Title, authors and format of a book in a ZIP file; None for another file."""
    try:
        archive = Archive(stream)
        kind = identify_zip(archive)
        if kind is ReadableFormat.EPUB:
            from gistread.book.formats.epub_package import encrypted_paths, read_package

            package = read_package(archive)
            if encrypted_paths(archive) & frozenset(package.spine):
                raise BookError(f"{path.name} is encrypted: it is protected by DRM.")
            return _named(package.title or path.stem, package.authors, "epub")
        if kind is ReadableFormat.DOCX:
            from gistread.book.formats.docx.book import metadata_of

            metadata = metadata_of(archive)
            return _named(metadata.title or path.stem, metadata.authors, "docx")
        if isinstance(kind, ForeignFormat) and kind.suffix:
            return _foreign(path, stream, kind)
    except ArchiveError as error:
        raise BookError(f"{path.name} cannot be read: {error}.") from error
    return None


def _foreign(path: Path, stream: BinaryIO, kind: ForeignFormat) -> _Facts:
    """Title and format of a book that Calibre will convert when it is opened."""
    converter_of(stream, path.name, kind)
    title = kindle_title(stream) if kind.suffix == ".mobi" else ""
    return _named(title or path.stem, (), kind.suffix.removeprefix("."))


def _whole(book: Book) -> _Facts:
    """All facts of a book that was read."""
    pairs = zip(book.volumes, book.volume_books, strict=True)
    volumes = tuple(
        VolumeText(text.sha256, volume.start, volume.end) for volume, text in pairs
    )
    return {
        **_named(book.title, book.authors, book.source_format),
        "language": book.language,
        "sha256": book.sha256,
        "words": book.words,
        "length": len(book.text),
        "volumes": volumes,
    }


def _named(title: str, authors: Iterable[str], source_format: str) -> _Facts:
    """The facts known without the whole text."""
    return {
        "title": clean_line(title),
        "authors": tuple(map(clean_line, authors)),
        "format": source_format,
    }


def examine_file(path: Path) -> BookFile:
    """Digest and size of a file, without parsing the book. Raises BookError."""
    try:
        with path.open("rb") as file:
            status = os.fstat(file.fileno())
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise BookError(f"{path} cannot be read: {error.strerror or error}.") from error
    return BookFile(
        path=absolute(path),
        digest=digest,
        size=status.st_size,
        modified_ns=status.st_mtime_ns,
        title=path.stem,
    )
