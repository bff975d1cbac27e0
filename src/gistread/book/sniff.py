"""What a file is, told from its bytes.

A name decides only where the bytes leave it open: Markdown is plain text that means more by its signs, and a piece of
HTML without any head may begin with words. Only names formats; it reads none. A format that gistread cannot read is
still named, so that the person hears what they have rather than seeing it as noise.
"""

import re
from dataclasses import dataclass
from enum import Enum, auto
from pathlib import PurePath

from gistread.book.formats.archive import Archive, ArchiveError

READABLE = "plain text, EPUB, PDF, HTML, Markdown, FB2 and DOCX"
"""The formats that are read, for messages."""


class Readable(Enum):
    """The formats that can be read."""

    TEXT = auto()
    MARKDOWN = auto()
    HTML = auto()
    MHTML = auto()
    """A page that a browser saved as one file."""
    FB2 = auto()
    EPUB = auto()
    PDF = auto()
    DOCX = auto()
    ZIPPED_FB2 = auto()
    SERIES = auto()
    """A list of books that are read as one; see `series.py`."""


@dataclass(frozen=True, slots=True)
class Convertible:
    """A format that the person's own `ebook-convert` makes an EPUB of, with its article."""

    name: str
    suffix: str
    """What such files are called, since the converter goes by names."""


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A format that is known and cannot be read, with its article: "a DjVu document"."""

    name: str
    advice: str = ""
    """What the person can do, where there is something better than a list of what can be read."""


Kind = Readable | Convertible | Unreadable

HEAD_BYTES = 4096
"""As much of the start of a file as `identify` wants to see."""

_CONVERT = "Convert it to EPUB first (Calibre does: ebook-convert BOOK BOOK.epub)."
_SAVE_AS_DOCX = "Save it as DOCX first (LibreOffice does: soffice --convert-to docx FILE)."
_UNPACK = "Unpack it and open the book inside."

# (offset, bytes, what it is)
_SIGNATURES: tuple[tuple[int, bytes, Convertible | Unreadable], ...] = (
    (60, b"BOOKMOBI", Convertible("a Kindle book (MOBI/AZW)", ".mobi")),
    (60, b"TEXtREAd", Convertible("a PalmDOC book", ".pdb")),
    (0, b"\xeaDRMION\xee", Unreadable("a Kindle book (KFX) that is protected by DRM")),
    (0, b"CONT\x02\x00", Unreadable("a Kindle book (KFX)", _CONVERT)),
    (0, b"ITOLITLS", Convertible("a Microsoft Reader book (LIT)", ".lit")),
    (0, b"ITSF", Convertible("a compiled HTML help file (CHM)", ".chm")),
    (0, b"L\x00R\x00F\x00", Convertible("a Sony book (LRF)", ".lrf")),
    (0, b"AT&TFORM", Unreadable("a DjVu document")),
    (0, b"{\\rtf", Convertible("an RTF document", ".rtf")),
    (0, b"%!PS", Unreadable("a PostScript document")),
    (
        0,
        b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
        Unreadable("an old Microsoft Office document, or one with a password", _SAVE_AS_DOCX),
    ),
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

# What the first element of a marked-up text is: an FB2 or HTML as plain text would be read with its tags.
_MARKUP: tuple[tuple[re.Pattern[str], Readable | Unreadable], ...] = (
    (re.compile(r"<(?:\w+:)?FictionBook\b"), Readable.FB2),
    (re.compile(r"<!doctype\s+html|<html\b|<head\b|<body\b", re.IGNORECASE), Readable.HTML),
    (re.compile(r"<svg\b"), Unreadable("an SVG image")),
    (re.compile(r"<\?xml\b"), Unreadable("an XML document")),
)
_MARKUP_START = re.compile(r"<!--|<(?:\?xml|!doctype|html|head|body|svg|(?:\w+:)?FictionBook)\b", re.IGNORECASE)
# A page without <html> or a doctype begins with an element all the same.
_FRAGMENT_START = re.compile(
    r"<(?:title|meta|link|base|style|script|h[1-6]|p|div|center|table|article|section|main|header|nav|font|pre|blockquote"
    r"|ul|ol|dl|hr|br|a|img|b|i|em|strong|span)(?:\s[^<>]*)?/?>",
    re.IGNORECASE,
)
_TAG = re.compile(
    r"</(?:p|h[1-6]|div|a|b|i|em|strong|span|font|li|td|center|body|html)\s*>|<(?:br|p|hr)\s*/?>", re.IGNORECASE
)
_MHTML = re.compile(r"(?:[\w-]+:[^\n]*\n(?:[ \t][^\n]*\n)*)*?content-type:\s*multipart/related\b", re.IGNORECASE)

# Some programs write a few lines of their own before it.
_PDF = re.compile(rb"(?:\A|[\r\n])\s*%PDF-\d\.\d")
_PDF_WITHIN_BYTES = 1024

SERIES_SUFFIX = ".series"
_HTML_NAMES = frozenset((".html", ".htm", ".xhtml", ".xht", ".shtml"))
_MARKDOWN_NAMES = frozenset((".md", ".markdown", ".mdown", ".mkdn", ".mkd", ".mdwn", ".qmd", ".rmd"))
_HEADING_LINE = re.compile(r"^#{1,6} +\S", re.MULTILINE)
_FENCE = re.compile(r"^(?:```|~~~)[\w-]*\s*$", re.MULTILINE)
_MARKDOWN_LINK = re.compile(r"!?\[[^\]\n]+\]\([^()\s]+(?:\s\"[^\"\n]*\")?\)")
_FRONT_MATTER = re.compile(
    r"---[ \t]*\n(?:[^\n]*\n){0,40}?(?:title|author|lang|date)[ \t]*:[^\n]*\n(?:[^\n]*\n){0,40}?(?:---|\.\.\.)[ \t]*\n"
)
_FEWEST_HEADINGS = 2

_ZIP_MIMETYPES: dict[bytes, Convertible | Unreadable] = {
    b"application/vnd.oasis.opendocument.text": Convertible("an OpenDocument text (ODT)", ".odt"),
    b"application/vnd.oasis.opendocument.spreadsheet": Unreadable("an OpenDocument spreadsheet"),
    b"application/vnd.oasis.opendocument.presentation": Unreadable("an OpenDocument presentation"),
}
_OFFICE: tuple[tuple[str, Readable | Unreadable], ...] = (
    ("word/", Readable.DOCX),
    ("xl/", Unreadable("a Microsoft Excel workbook (XLSX)")),
    ("ppt/", Unreadable("a Microsoft PowerPoint presentation (PPTX)")),
    ("visio/", Unreadable("a Microsoft Visio drawing (VSDX)")),
)
_IMAGES = (".jpg", ".jpeg", ".png", ".gif", ".webp")


def identify(head: bytes, name: str = "") -> Kind | None:
    """What starts with these bytes (`HEAD_BYTES` of them). None where only a look inside can tell: a zip archive."""
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return None
    if _PDF.search(head.removeprefix(b"\xef\xbb\xbf")[:_PDF_WITHIN_BYTES]):
        return Readable.PDF
    bare = head.removeprefix(b"\xef\xbb\xbf").lstrip(b" \t\r\n") or head
    for offset, signature, kind in _SIGNATURES:
        if head.startswith(signature, offset) or (offset == 0 and bare.startswith(signature)):
            return kind
    text = _readable_signs(head)
    return _markup(text) or _by_signs(text, PurePath(name).suffix.lower())


def _readable_signs(head: bytes) -> str:
    """The head with its ASCII legible, whatever the encoding: all that is looked for in it is ASCII."""
    nuls = head.count(0)
    if nuls > len(head) // 8:
        # UTF-16 or UTF-32, with a mark or without
        head = head.replace(b"\0", b"")
    return head.removeprefix(b"\xef\xbb\xbf").decode("latin-1").lstrip("\xff\xfe").replace("\r\n", "\n").lstrip()


def _markup(text: str) -> Readable | Unreadable | None:
    if not _MARKUP_START.match(text):
        return None
    return next((kind for pattern, kind in _MARKUP if pattern.search(text)), None)


def _by_signs(text: str, suffix: str) -> Readable:
    """Of what is no known binary and no whole document of XML or HTML."""
    if suffix == SERIES_SUFFIX:
        return Readable.SERIES
    if _MHTML.match(text):
        return Readable.MHTML
    if suffix in _MARKDOWN_NAMES:
        return Readable.MARKDOWN
    if _FRAGMENT_START.match(text) or (suffix in _HTML_NAMES and _TAG.search(text)):
        return Readable.HTML
    return Readable.MARKDOWN if _is_markdown(text) else Readable.TEXT


def _is_markdown(text: str) -> bool:
    """Whether a text that does not call itself Markdown evidently is: headings, and signs that only Markdown has."""
    if _FRONT_MATTER.match(text):
        return True
    headings = len(_HEADING_LINE.findall(text))
    return headings >= _FEWEST_HEADINGS and bool(_MARKDOWN_LINK.search(text) or len(_FENCE.findall(text)) >= 2)


def identify_zip(archive: Archive) -> Kind:
    """What a zip archive is, by what it declares and by what it holds."""
    try:
        declared = archive.read("mimetype").strip()
    except ArchiveError:
        declared = b""
    if declared == b"application/epub+zip" or archive.find("META-INF/container.xml"):
        return Readable.EPUB
    if declared in _ZIP_MIMETYPES:
        return _ZIP_MIMETYPES[declared]
    names = [name.lower() for name in archive.names if not _is_litter(name)]
    if archive.find("[Content_Types].xml"):
        found = (kind for folder, kind in _OFFICE if any(name.startswith(folder) for name in names))
        return next(found, Unreadable("a Microsoft Office document of an unknown kind"))
    books = [name for name in names if is_fb2_name(name)]
    if len(books) == 1:
        return Readable.ZIPPED_FB2
    if books:
        return Unreadable(f"a zip archive of {len(books)} FictionBooks", _UNPACK)
    if names and all(name.endswith(_IMAGES) for name in names):
        return Unreadable("a comic book or another archive of images")
    return Unreadable("a zip archive", _UNPACK)


def is_fb2_name(name: str) -> bool:
    """Whether an entry of an archive is a FictionBook, by its name."""
    return name.lower().endswith(".fb2") and not _is_litter(name)


def _is_litter(name: str) -> bool:
    """What macOS puts beside every file that it packs."""
    return name.lower().startswith("__macosx/")
