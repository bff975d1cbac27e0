"""Loads the bytes of a book's pictures from its file or folder, and from nowhere else."""

import base64
import io
import re
from pathlib import Path
from typing import BinaryIO
from urllib.parse import unquote, unquote_to_bytes

from gistread.book.formats.archive import Archive, ArchiveError
from gistread.book.open import open_file, read_limited
from gistread.book.series import volume_path
from gistread.book.sniff import (
    HEAD_BYTES,
    ForeignFormat,
    ReadableFormat,
    identify,
    is_fb2_name,
)
from gistread.errors import BookError

LIMIT_BYTES = 32 * 1024 * 1024
LIMIT_FICTIONBOOK_BYTES = 128 * 1024 * 1024  # An FB2 file with all its pictures
_ZIP = b"PK\x03\x04"
# "https:", "file:"
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")


def read_image(book: Path, source: str) -> bytes:
    """The bytes of a picture (`Image.source`) of this file.

    Raises BookError if it is missing or over `LIMIT_BYTES`.
    """
    if source.startswith("data:"):
        return _decode_data_url(source)
    if not source:
        raise BookError("The book does not say where this picture is stored.")
    with open_file(book) as stream:
        # Peeked at, since the functions below read the stream from its start.
        head = stream.peek(HEAD_BYTES)[:HEAD_BYTES]
        if head.startswith(_ZIP):
            return _from_archive(stream, source)
        kind = identify(head, book.name)
        if kind is ReadableFormat.SERIES:
            return _from_volume(stream, book, source)
        if kind is ReadableFormat.FB2:
            data = read_limited(stream, book.name, limit_bytes=LIMIT_FICTIONBOOK_BYTES)
            return _from_fictionbook(data, source)
        if kind is ReadableFormat.HTML:
            address = _address_in_page(stream, book.name, source)
            if address:
                return _decode_data_url(address)
    is_converted = isinstance(kind, ForeignFormat) and kind.suffix
    if is_converted:
        raise BookError(
            "Pictures of converted books are not available.",
            "Convert it to EPUB with Calibre and open that.",
        )
    return _from_folder(book, source)


def _from_archive(stream: BinaryIO, source: str) -> bytes:
    """A picture of an EPUB, a Word document or a zipped FictionBook."""
    try:
        archive = Archive(stream)
        for name in archive.names:
            if is_fb2_name(name):
                return _from_fictionbook(archive.read(name), source)
        return archive.read(source)
    except ArchiveError as error:
        raise BookError(f"The picture {source} {error}.") from error


def _from_volume(stream: BinaryIO, series: Path, source: str) -> bytes:
    """A picture of a series, such as `3/images/map.png` in its third volume."""
    number, _, source_in_volume = source.partition("/")
    volume_number = int(number) if number.isdecimal() else 0
    volume = volume_path(stream, series, volume_number)
    return read_image(volume, source_in_volume)


def _address_in_page(stream: BinaryIO, name: str, source: str) -> str:
    """The `data:` URL of a picture inside an HTML page; empty if it is not inside."""
    from gistread.book.formats.html import EMBEDDED, embedded_picture  # imports lxml

    if not source.startswith(EMBEDDED):
        return ""
    return embedded_picture(read_limited(stream, name), source)


def _from_fictionbook(data: bytes, source: str) -> bytes:
    from gistread.book.formats.fb2 import read_binary  # imports lxml

    picture = read_binary(data, source)
    if picture is None:
        raise BookError(f"The picture {source} is missing, or its data are damaged.")
    return picture


def _from_folder(book: Path, source: str) -> bytes:
    """A picture in a file of its own, in the folder of its page or below."""
    if _SCHEME.match(source) or source.startswith("//"):
        raise BookError(
            f"The picture lies outside the book: {source}",
            "gistread does not download pictures.",
        )
    folder = book.resolve().parent
    without_query = source.partition("?")[0]
    without_fragment = without_query.partition("#")[0]
    try:
        path = (folder / unquote(without_fragment)).resolve()
        is_inside = path.is_relative_to(folder)
    except (OSError, ValueError, RuntimeError):
        # A name with a null character, or a loop of links
        is_inside = False
    if not is_inside:
        raise BookError(
            f"The picture lies outside the book's folder: {source}",
            "gistread reads only the book's folder.",
        )
    with open_file(path) as stream:
        return read_limited(stream, f"The picture {source}", limit_bytes=LIMIT_BYTES)


def _decode_data_url(source: str) -> bytes:
    """The bytes in an address such as `data:image/png;base64,iVBORw0K…`."""
    # Base64 takes four characters for three bytes: twice the limit is more than enough.
    header, comma, escaped = source[: 2 * LIMIT_BYTES].partition(",")
    if not comma:
        raise BookError("The picture's data are damaged.")
    data = unquote_to_bytes(escaped)
    if header.endswith(";base64"):
        try:
            data = base64.b64decode(data)
        except ValueError as error:
            raise BookError("The picture's data are damaged.") from error
    return read_limited(
        io.BytesIO(data), "The picture in the text", limit_bytes=LIMIT_BYTES
    )
