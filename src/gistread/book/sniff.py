"""What a file is, told from its bytes and never from its name.

Only names formats; it reads none. A format that gistread cannot read is still named, so that the person hears
what they have rather than seeing it as noise.
"""

import re
from dataclasses import dataclass
from enum import Enum, auto

from gistread.book.formats.archive import Archive, ArchiveError


class Readable(Enum):
    """The formats that can be read."""

    TEXT = auto()
    EPUB = auto()


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A format that is known and cannot be read, with its article: "a PDF document"."""

    name: str
    advice: str = ""
    """What the person can do, where there is something better than a list of what can be read."""


HEAD_BYTES = 4096
"""As much of the start of a file as `identify` wants to see."""

_CONVERT = "Convert it to EPUB first (Calibre does: ebook-convert BOOK BOOK.epub)."
_UNPACK = "Unpack it and open the book inside."

# (offset, bytes, what it is)
_SIGNATURES: tuple[tuple[int, bytes, Unreadable], ...] = (
    (0, b"%PDF-", Unreadable("a PDF document", _CONVERT)),
    (60, b"BOOKMOBI", Unreadable("a Kindle book (MOBI/AZW)", _CONVERT)),
    (60, b"TEXtREAd", Unreadable("a PalmDOC book", _CONVERT)),
    (0, b"\xeaDRMION\xee", Unreadable("a Kindle book (KFX) that is protected by DRM")),
    (0, b"CONT\x02\x00", Unreadable("a Kindle book (KFX)", _CONVERT)),
    (0, b"ITOLITLS", Unreadable("a Microsoft Reader book (LIT)", _CONVERT)),
    (0, b"ITSF", Unreadable("a compiled HTML help file (CHM)", _CONVERT)),
    (0, b"L\x00R\x00F\x00", Unreadable("a Sony book (LRF)", _CONVERT)),
    (0, b"AT&TFORM", Unreadable("a DjVu document")),
    (0, b"{\\rtf", Unreadable("an RTF document", _CONVERT)),
    (0, b"%!PS", Unreadable("a PostScript document")),
    (0, b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", Unreadable("an old Microsoft Office document", _CONVERT)),
    (0, b"\x1f\x8b", Unreadable("a gzip archive", _UNPACK)),
    (0, b"BZh", Unreadable("a bzip2 archive", _UNPACK)),
    (0, b"\xfd7zXZ\x00", Unreadable("an xz archive", _UNPACK)),
    (0, b"\x28\xb5\x2f\xfd", Unreadable("a Zstandard archive", _UNPACK)),
    (0, b"7z\xbc\xaf\x27\x1c", Unreadable("a 7-Zip archive", _UNPACK)),
    (0, b"Rar!\x1a\x07", Unreadable("a RAR archive", _UNPACK)),
    (257, b"ustar", Unreadable("a tar archive", _UNPACK)),
    (0, b"GGUF", Unreadable("a GGUF model, not a book", "Give it with --model, and a book beside it.")),
    (0, b"\x7fELF", Unreadable("a program (ELF)")),
    (0, b"\xcf\xfa\xed\xfe", Unreadable("a program (Mach-O)")),
    (0, b"MZ\x90\x00", Unreadable("a Windows program")),
    (0, b"SQLite format 3\x00", Unreadable("an SQLite database")),
    (0, b"\x89PNG\r\n\x1a\n", Unreadable("a PNG image")),
    (0, b"\xff\xd8\xff", Unreadable("a JPEG image")),
    (0, b"GIF87a", Unreadable("a GIF image")),
    (0, b"GIF89a", Unreadable("a GIF image")),
    (0, b"II*\x00", Unreadable("a TIFF image")),
    (0, b"MM\x00*", Unreadable("a TIFF image")),
    (8, b"WEBP", Unreadable("a WebP image")),
    (8, b"WAVE", Unreadable("a WAVE recording")),
    (4, b"ftyp", Unreadable("a video, a sound or an image (MP4 family)")),
    (0, b"ID3", Unreadable("an MP3 recording")),
    (0, b"OggS", Unreadable("an Ogg recording")),
    (0, b"fLaC", Unreadable("a FLAC recording")),
    (0, b"\x1aE\xdf\xa3", Unreadable("a Matroska video")),
)

# What the first element of a marked-up text is. HTML as plain text would be read with its tags.
_MARKUP: tuple[tuple[re.Pattern[bytes], Unreadable], ...] = (
    (re.compile(rb"<FictionBook\b"), Unreadable("a FictionBook (FB2)", _CONVERT)),
    (re.compile(rb"(?i)<!doctype\s+html|<html\b|<head\b|<body\b"), Unreadable("a web page (HTML)", _CONVERT)),
    (re.compile(rb"<svg\b"), Unreadable("an SVG image")),
    (re.compile(rb"<\?xml\b"), Unreadable("an XML document")),
)
_MARKUP_START = re.compile(rb"\s*<(?:\?xml|!doctype|!--|html|head|body|svg|FictionBook)\b", re.IGNORECASE)

_ZIP_MIMETYPES = {
    b"application/vnd.oasis.opendocument.text": Unreadable("an OpenDocument text (ODT)", _CONVERT),
    b"application/vnd.oasis.opendocument.spreadsheet": Unreadable("an OpenDocument spreadsheet"),
    b"application/vnd.oasis.opendocument.presentation": Unreadable("an OpenDocument presentation"),
}
_IMAGES = (".jpg", ".jpeg", ".png", ".gif", ".webp")


def identify(head: bytes) -> Readable | Unreadable | None:
    """What starts with these bytes (`HEAD_BYTES` of them). None where only a look inside can tell: a zip archive."""
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return None
    marked = head.removeprefix(b"\xef\xbb\xbf").lstrip(b" \t\r\n") or head
    for offset, signature, name in _SIGNATURES:
        if head.startswith(signature, offset) or (offset == 0 and marked.startswith(signature)):
            return name
    if _MARKUP_START.match(marked):
        for pattern, name in _MARKUP:
            if pattern.search(marked):
                return name
    return Readable.TEXT


def identify_zip(archive: Archive) -> Readable | Unreadable:
    """What a zip archive is, by what it declares and by what it holds."""
    try:
        declared = archive.read("mimetype").strip()
    except ArchiveError:
        declared = b""
    if declared == b"application/epub+zip" or archive.find("META-INF/container.xml"):
        return Readable.EPUB
    if declared in _ZIP_MIMETYPES:
        return _ZIP_MIMETYPES[declared]
    if archive.find("[Content_Types].xml"):
        if any(name.startswith("word/") for name in archive.names):
            return Unreadable("a Word document (DOCX)", _CONVERT)
        return Unreadable("a Microsoft Office document")
    files = [name.lower() for name in archive.names]
    if files and all(name.endswith(_IMAGES) for name in files):
        return Unreadable("a comic book or another archive of images")
    return Unreadable("a zip archive", _UNPACK)
