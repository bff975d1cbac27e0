"""Reads a book's cover without reading the whole book."""

from pathlib import Path

from gistread.book.formats.archive import Archive, ArchiveError
from gistread.book.images import read_image
from gistread.book.open import open_file, read_book
from gistread.book.sniff import HEAD_BYTES, ReadableFormat, identify, identify_zip
from gistread.errors import BookError


def read_cover(path: Path) -> bytes:
    """The bytes of an EPUB's or FB2's cover, or of a PDF's first page; empty if there is none. Raises BookError."""
    with open_file(path) as stream:
        kind = identify(stream.peek(HEAD_BYTES)[:HEAD_BYTES], path.name)
        source = ""
        try:
            if kind is None and identify_zip(archive := Archive(stream)) is ReadableFormat.EPUB:
                from gistread.book.formats.epub.package import read_package

                source = read_package(archive).cover
        except ArchiveError as error:
            raise BookError(f"{path.name} cannot be read: {error}.") from error
        if kind is ReadableFormat.PDF:
            from gistread.book.formats.pdf.process import draw_cover

            return draw_cover(stream)
        if kind is ReadableFormat.FB2:
            source = read_book(stream, path.name).cover
    return read_image(path, source) if source else b""
