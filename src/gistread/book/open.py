"""A file becomes a Book: what it is, is told from its content, and the module of its format reads it.

Refuses what cannot be read with a BookError of one or two lines: what it is, and what can be done. Never hangs on a
pipe or a device, and never reads more than its limit.
"""

import io
import os
import stat
from pathlib import Path
from typing import BinaryIO

from gistread.book.formats.archive import Archive, ArchiveError
from gistread.book.model import Book
from gistread.book.sniff import HEAD_BYTES, Unreadable, identify, identify_zip
from gistread.errors import BookError

LIMIT_BYTES = 64 * 1024 * 1024
"""Largest plain text that is read, as bytes: some twenty times War and Peace."""
_EPUB_LIMIT_BYTES = 1024 * 1024 * 1024
"""Of an EPUB only what is text gets read; pictures and sounds make up most of a large one."""

_READABLE = "gistread reads plain text and EPUB."
_BLOCK = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)


def open_book(source: Path, *, limit_bytes: int = LIMIT_BYTES) -> Book:
    """Read the book in the file `source`. Raises BookError, and nothing else, where that cannot be done."""
    with open_file(source) as stream:
        return read_book(stream, source.name, limit_bytes=limit_bytes)


def open_bytes(data: bytes, name: str) -> Book:
    """Read a book from memory, as from standard input; `name` is what messages call it. Raises BookError."""
    return read_book(io.BytesIO(data), name, limit_bytes=max(LIMIT_BYTES, len(data)))


def read_limited(stream: BinaryIO, name: str, *, limit_bytes: int = LIMIT_BYTES) -> bytes:
    """All of a stream, for `open_bytes`. Raises BookError when it goes on beyond `limit_bytes`."""
    data = stream.read(limit_bytes + 1)
    if len(data) > limit_bytes:
        raise _too_large(name, limit_bytes)
    return data


def open_file(source: Path) -> io.BufferedReader:
    """The regular file `source`, open for reading. Raises BookError with the reason where it cannot be opened."""
    try:
        # Not blocking: opening a pipe that nobody writes to would wait for ever.
        descriptor = os.open(source, os.O_RDONLY | _BLOCK)
    except FileNotFoundError as error:
        raise BookError(f"There is no file {source}.") from error
    except PermissionError as error:
        if source.is_dir():  # Windows does not even open them
            raise _directory(source) from error
        raise BookError(f"{source} cannot be read: you have no permission to.") from error
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise BookError(f"{source} cannot be opened: {reason}.") from error
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISREG(mode):
        return os.fdopen(descriptor, "rb")
    os.close(descriptor)
    if stat.S_ISDIR(mode):
        raise _directory(source)
    raise BookError(f"{source} is a pipe or a device, not a file.", "To read from a pipe, give - as the book.")


def read_book(stream: BinaryIO, name: str, *, limit_bytes: int = LIMIT_BYTES) -> Book:
    """Read the book in a seekable stream. Raises BookError."""
    try:
        head = stream.read(HEAD_BYTES)
        if not head:
            raise BookError(f"{name} is empty.")
        kind = identify(head)
        if kind is None:
            return _read_zip(stream, name)
        if isinstance(kind, Unreadable):
            raise _refusal(name, kind)
        if stream.seek(0, 2) > limit_bytes:
            raise _too_large(name, limit_bytes)
        stream.seek(0)
        data = stream.read(limit_bytes)
    except OSError as error:
        raise BookError(f"{name} cannot be read: {error.strerror or error}.") from error
    from gistread.book.formats.text import read_text

    return read_text(data, name)


def _read_zip(stream: BinaryIO, name: str) -> Book:
    if stream.seek(0, 2) > _EPUB_LIMIT_BYTES:
        raise _too_large(name, _EPUB_LIMIT_BYTES)
    try:
        archive = Archive(stream)
    except ArchiveError as error:
        raise BookError(f"{name} cannot be read: {error}.", "Get a fresh copy of the file.") from error
    kind = identify_zip(archive)
    if isinstance(kind, Unreadable):
        raise _refusal(name, kind)
    # Imported here: lxml is needed for EPUB alone.
    from gistread.book.formats.epub import read_epub

    return read_epub(archive, name)


def _directory(source: Path) -> BookError:
    return BookError(f"{source} is a directory, not a book.", "Name a file inside it.")


def _refusal(name: str, kind: Unreadable) -> BookError:
    return BookError(f"{name} is {kind.name}. {_READABLE}", kind.advice)


def _too_large(name: str, limit_bytes: int) -> BookError:
    return BookError(f"{name} is larger than {limit_bytes // 1024 // 1024} MB, the most that is read.")
