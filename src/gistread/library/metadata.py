"""What a book is called, told from as little of its file as will do: for lists of many books that nobody opened yet.

The whole of a book is read only in formats that say nothing before; what that teaches is kept too. Where even that
would be slow the file's name has to do until the book is opened.
"""

import os
from dataclasses import replace
from pathlib import Path

from gistread.book.formats.archive import Archive, ArchiveError
from gistread.book.model import Book
from gistread.book.open import open_file, read_book
from gistread.book.sniff import HEAD_BYTES, Readable, identify, identify_zip
from gistread.errors import BookError
from gistread.library.catalogue import look_at
from gistread.library.model import BookFile

SUFFIXES = frozenset((".epub", ".txt", ".text"))
"""Of files that are looked into when a folder is searched. What a file then is, its content says."""

_TITLE_PAGES = 64 * 1024
"""Bytes of a plain text in which title and author stand, if anywhere."""


def describe(path: Path) -> BookFile:
    """The file and what its book is called. Raises BookError where it holds no book that can be read."""
    with open_file(path) as stream:
        head = stream.read(HEAD_BYTES)
        if not head:
            raise BookError(f"{path.name} is empty.")
        kind = identify(head)
        stream.seek(0)
        if kind is Readable.TEXT:
            named = _named(_text(stream.read(_TITLE_PAGES), path.name))
        elif kind is None and (found := _epub(path)) is not None:
            named = found
        else:
            named = _whole(read_book(stream, path.name))
    try:
        file = look_at(path)
    except OSError as error:
        raise BookError(f"{path.name} cannot be read: {error.strerror or error}.") from error
    return replace(named, path=file.path, digest=file.digest, size=file.size, modified_ns=file.modified_ns)


def opened(path: Path, book: Book) -> BookFile:
    """The file of a book that was just read. Raises OSError."""
    file = look_at(path)
    return replace(_whole(book), path=file.path, digest=file.digest, size=file.size, modified_ns=file.modified_ns)


def _text(data: bytes, name: str) -> Book:
    from gistread.book.formats.text import read_text

    whole_lines = data[: data.rfind(b"\n") + 1] if len(data) == _TITLE_PAGES else data
    return read_text(whole_lines or data, name)


def _epub(path: Path) -> BookFile | None:
    """None: another kind of zip archive."""
    from gistread.book.formats.package import PackageError, encrypted_paths, read_package

    with open_file(path) as stream:
        try:
            archive = Archive(stream)
            if identify_zip(archive) is not Readable.EPUB:
                return None
            package = read_package(archive)
            locked = encrypted_paths(archive) & frozenset(package.spine)
        except (ArchiveError, PackageError) as error:
            raise BookError(f"{path.name} cannot be read: {error}.") from error
    if locked:
        raise BookError(f"{path.name} is encrypted: it is protected by DRM.")
    return _file(package.title or path.stem, package.authors, "epub")


def _named(book: Book) -> BookFile:
    return _file(book.title, book.authors, book.source_format)


def _whole(book: Book) -> BookFile:
    return replace(_named(book), sha256=book.sha256, words=book.words, length=len(book.text))


def _file(title: str, authors: tuple[str, ...], source_format: str) -> BookFile:
    # The name of a file may hold bytes that are no text; a title is text.
    shown = os.fsencode(title).decode("utf-8", "replace") if not title.isprintable() else title
    return BookFile(Path(), "", 0, 0, " ".join(shown.split()), authors, source_format)
