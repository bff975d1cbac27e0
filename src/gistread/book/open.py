"""Opens a book: detects the format by content and calls its reader.

Never blocks on a pipe or device.
"""

import io
import os
import stat
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

from gistread.book import sniff
from gistread.book.formats.archive import Archive, ArchiveError
from gistread.book.formats.encoding import decode_as, encoding_notices
from gistread.book.model import Book
from gistread.book.series import is_series, read_series
from gistread.errors import BookError

# For plain text, HTML, Markdown and FB2; about twenty times War and Peace.
LIMIT_BYTES = 64 * 1024 * 1024
# For EPUB, DOCX and PDF: only their text is read
_ARCHIVE_LIMIT_BYTES = 1024 * 1024 * 1024

Cancelled = Callable[[], bool]  # Polled during slow work: whether to give up


def never() -> bool:
    return False


def open_book(source: Path | str) -> Book:
    """Read the book in the file `source`. Raises BookError."""
    return open_book_or_series(
        lambda stream, path: read_book(stream, path.name), Path(source)
    )


def open_book_or_series(
    read_one: Callable[[io.BufferedReader, Path], Book], source: Path
) -> Book:
    """Read a book or series with `read_one`, which reads one file. Raises BookError."""

    def open_volume(path: Path) -> Book:
        with open_file(path) as stream:
            if is_series(stream, path.name):  # It could include itself
                raise BookError(
                    f"{path.name} is itself a series.", "List its volumes instead."
                )
            return read_one(stream, path)

    with open_file(source) as stream:
        try:
            if is_series(stream, source.name):
                return read_series(stream, source, open_volume)
            return read_one(stream, source)
        except OSError as error:
            raise BookError(
                f"{source.name} cannot be read: {error.strerror or error}."
            ) from error


def open_bytes(data: bytes, name: str) -> Book:
    """Read a book from memory; `name` is used in messages. Raises BookError."""
    return read_book(io.BytesIO(data), name)


def read_limited(
    stream: BinaryIO, name: str, *, limit_bytes: int = LIMIT_BYTES
) -> bytes:
    """Read a whole stream.

    Raises BookError if it is longer than `limit_bytes` or cannot be read.
    """
    try:
        data = stream.read(limit_bytes + 1)
    except OSError as error:
        raise BookError(f"{name} cannot be read: {error.strerror or error}.") from error
    if len(data) > limit_bytes:
        raise _too_large_error(name, limit_bytes)
    return data


def open_file(source: Path) -> io.BufferedReader:
    """Open a regular file for reading. Raises BookError."""
    descriptor = _open_descriptor(source)
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISREG(mode):
        return os.fdopen(descriptor, "rb")
    os.close(descriptor)
    if stat.S_ISDIR(mode):
        raise BookError(
            f"{source} is a directory, not a book.",
            "Choose a file inside it; `gistread books --add DIR` adds all of them to the library.",
        )
    raise BookError(
        f"{source} is a pipe or a device, not a file.",
        "To read from a pipe, use - as the book.",
    )


def _open_descriptor(source: Path) -> int:
    """Open for reading without blocking on a pipe that nobody writes to. Raises BookError."""
    try:
        return os.open(source, os.O_RDONLY | os.O_NONBLOCK)
    except FileNotFoundError as error:
        raise BookError(f"No such file: {source}", _hint_if_address(source)) from error
    except PermissionError as error:
        raise BookError(f"{source} cannot be read: permission denied.") from error
    except OSError as error:
        reason = error.strerror or str(error)
        raise BookError(f"{source} cannot be opened: {reason}.") from error
    except ValueError as error:
        raise BookError(f"{source} cannot be opened: {error}.") from error


def _hint_if_address(source: Path) -> str:
    """What to do if a path is the address of a page; empty for other paths."""
    # `Path` collapses the slashes of "https://".
    is_address = source.parts[:1] in (("http:",), ("https:",))
    if not is_address:
        return ""
    return "Nothing is read from the network. Download the book, then open its file."


def read_book(
    stream: BinaryIO, name: str, *, encoding: str = "", cancelled: Cancelled = never
) -> Book:
    """Read the book in a seekable stream. Raises BookError, also if `cancelled` returns True.

    `encoding`: the codec of a text; empty to detect it.
    """
    try:
        return _read_identified(stream, name, encoding, cancelled)
    except ArchiveError as error:
        hint = "Get a fresh copy of the file."
        raise BookError(f"{name} cannot be read: {error}.", hint) from error
    except OSError as error:
        raise BookError(f"{name} cannot be read: {error.strerror or error}.") from error


def _read_identified(
    stream: BinaryIO, name: str, encoding: str, cancelled: Cancelled
) -> Book:
    """Read a book in the format that its first bytes show.

    Raises BookError, ArchiveError, OSError.
    """
    head = stream.read(sniff.HEAD_BYTES)
    if not head:
        raise BookError(f"{name} is empty.")
    kind = sniff.identify(head, name)
    _check_size(stream, name, kind)
    if kind is None:  # A zip archive
        archive = Archive(stream)
        kind = sniff.identify_zip(archive)
        if not isinstance(kind, sniff.ForeignFormat):
            return _read_archive(archive, name, kind)
    if isinstance(kind, sniff.ForeignFormat):
        return _read_foreign(stream, name, kind, cancelled)
    if kind is sniff.ReadableFormat.SERIES:
        raise BookError(
            f"{name} is a series that refers to other files.", "Open it by its path."
        )
    stream.seek(0)
    if kind is sniff.ReadableFormat.PDF:
        from gistread.book.formats.pdf.book import read_pdf

        return read_pdf(stream, name, cancelled)
    return _read_text(stream.read(LIMIT_BYTES), name, kind, encoding)


def _check_size(stream: BinaryIO, name: str, kind: sniff.FileType | None) -> None:
    """Raises BookError if the file is too large for its format. `kind`: None for an archive."""
    if isinstance(kind, sniff.ForeignFormat) and not kind.suffix:
        # It cannot be read: its format is the reason to refuse it, not its size.
        return
    is_archive = kind is None
    is_pdf = kind is sniff.ReadableFormat.PDF
    is_converted = isinstance(kind, sniff.ForeignFormat)
    limit_bytes = LIMIT_BYTES
    if is_archive or is_pdf or is_converted:
        limit_bytes = _ARCHIVE_LIMIT_BYTES
    if stream.seek(0, os.SEEK_END) > limit_bytes:
        raise _too_large_error(name, limit_bytes)


def _read_text(
    data: bytes, name: str, kind: sniff.ReadableFormat, encoding: str
) -> Book:
    """Read a text; in an encoding that the user has chosen, it becomes UTF-8 first."""
    read = _text_reader(kind)
    if not encoding:
        return read(data, name)
    decoded = decode_as(data, encoding)
    book = read(decoded.text.encode("utf-8", "replace"), name)
    return replace(book, notices=(*encoding_notices(decoded), *book.notices))


def _text_reader(kind: sniff.ReadableFormat) -> Callable[[bytes, str], Book]:
    """The reader of a format, imported when a book needs it: lxml takes a while."""
    match kind:
        case sniff.ReadableFormat.HTML:
            from gistread.book.formats.html import read_html as read
        case sniff.ReadableFormat.MHTML:
            from gistread.book.formats.html import read_mhtml as read
        case sniff.ReadableFormat.MARKDOWN:
            from gistread.book.formats.markdown import read_markdown as read
        case sniff.ReadableFormat.FB2:
            from gistread.book.formats.fb2 import read_fb2 as read
        case _:
            from gistread.book.formats.text import read_text as read
    return read


def _read_archive(archive: Archive, name: str, kind: sniff.ReadableFormat) -> Book:
    if kind is sniff.ReadableFormat.DOCX:
        from gistread.book.formats.docx.book import read_docx

        return read_docx(archive, name)
    if kind is sniff.ReadableFormat.ZIPPED_FB2:
        return _read_zipped_fb2(archive, name)
    from gistread.book.formats.epub import read_epub

    return read_epub(archive, name)


def _read_zipped_fb2(archive: Archive, name: str) -> Book:
    from gistread.book.formats.fb2 import read_fb2

    inner_name = next(entry for entry in archive.names if sniff.is_fb2_name(entry))
    try:
        data = archive.read(inner_name)
    except ArchiveError as error:
        raise ArchiveError(f"{inner_name} in it {error}") from error
    return read_fb2(data, name)


def _read_foreign(
    stream: BinaryIO, name: str, kind: sniff.ForeignFormat, cancelled: Cancelled
) -> Book:
    """Read a book through Calibre. Raises BookError if Calibre does not read the format either."""
    if not kind.suffix:
        raise BookError(
            f"{name} is {kind.name}. gistread reads {sniff.SUPPORTED_FORMATS}.",
            kind.advice,
        )
    from gistread.book.formats.calibre import convert_to_epub
    from gistread.book.formats.epub import read_epub

    epub = convert_to_epub(stream, name, kind, cancelled)
    try:
        book = read_epub(Archive(epub), name, has_contents=kind.has_contents)
    except ArchiveError as error:
        raise BookError(
            f"{name} is {kind.name}; what ebook-convert made of it cannot be read: {error}."
        ) from error
    return replace(book, source_format=kind.suffix.removeprefix("."))


def _too_large_error(name: str, limit_bytes: int) -> BookError:
    limit_megabytes = limit_bytes // 1024 // 1024
    return BookError(f"{name} is larger than the limit of {limit_megabytes} MB.")
