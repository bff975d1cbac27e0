"""Detects the format of a file from its first bytes.

Names formats that gistread does not read, for the error message.
"""

import re
import tomllib
from dataclasses import dataclass
from enum import Enum, auto
from pathlib import Path, PurePath
from typing import Any

from gistread.book.formats.archive import Archive, ArchiveError

SUPPORTED_FORMATS = "plain text, EPUB, PDF, HTML, Markdown, FB2 and DOCX"


class ReadableFormat(Enum):
    TEXT = auto()
    MARKDOWN = auto()
    HTML = auto()
    MHTML = auto()
    FB2 = auto()
    EPUB = auto()
    PDF = auto()
    DOCX = auto()
    ZIPPED_FB2 = auto()
    SERIES = auto()


@dataclass(frozen=True, slots=True)
class ForeignFormat:
    """A format that gistread recognises but does not read itself."""

    name: str  # With its article: "a Kindle book"
    # The file name suffix for Calibre's `ebook-convert`; empty if Calibre cannot read the format
    suffix: str = ""
    advice: str = ""
    # False: Calibre makes up the table of contents from links
    has_contents: bool = True


FileType = ReadableFormat | ForeignFormat

HEAD_BYTES = 4096  # Number of bytes from the start of a file that `identify` needs

_TABLES = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))


@dataclass(frozen=True, slots=True)
class _Signature:
    """Bytes by which files of a format are recognised."""

    offset: int
    content: bytes
    kind: ForeignFormat

    def is_in(self, head: bytes) -> bool:
        """Whether a file begins so; blanks and a byte order mark may precede a first signature."""
        if head.startswith(self.content, self.offset):
            return True
        return self.offset == 0 and _without_blanks(head).startswith(self.content)


def _signature(row: dict[str, Any]) -> _Signature:
    """A row of the table: `at` and `bytes`, and the fields of the format."""
    offset = row.pop("at", 0)
    content = row.pop("bytes").encode("latin-1")
    return _Signature(offset, content, ForeignFormat(**row))


_SIGNATURES = [_signature(row) for row in _TABLES["signatures"]]
_ZIP_TYPES = {
    mimetype: ForeignFormat(**row) for mimetype, row in _TABLES["zip_types"].items()
}
_UNPACK = "Unpack it and open the book inside."

# The first element of a marked-up text.
_MARKUP: tuple[tuple[re.Pattern[str], FileType], ...] = (
    (re.compile(r"<(?:\w+:)?FictionBook\b"), ReadableFormat.FB2),
    (
        re.compile(r"<!doctype\s+html|<html\b|<head\b|<body\b", re.IGNORECASE),
        ReadableFormat.HTML,
    ),
    (re.compile(r"<svg\b"), ForeignFormat("an SVG image")),
    (re.compile(r"<\?xml\b"), ForeignFormat("an XML document")),
)
_MARKUP_START = re.compile(
    r"<!--|<(?:\?xml|!doctype|html|head|body|svg|(?:\w+:)?FictionBook)\b", re.IGNORECASE
)
# Elements that a page without <html> or a doctype may begin with.
_FRAGMENT_START = re.compile(
    r"<(?:title|meta|link|base|style|script|h[1-6]|p|div|center|table|article|section|main|header"
    r"|nav|font|pre|blockquote|ul|ol|dl|hr|br|a|img|b|i|em|strong|span)(?:\s[^<>]*)?/?>",
    re.IGNORECASE,
)
# In a fragment of a page, anywhere: "</p>", "<br/>".
_TAG = re.compile(
    r"</(?:p|h[1-6]|div|a|b|i|em|strong|span|font|li|td|center|body|html)\s*>|<(?:br|p|hr)\s*/?>",
    re.IGNORECASE,
)
# The headers of a saved page, up to "Content-Type: multipart/related".
_MHTML = re.compile(
    r"(?:[\w-]+:[^\n]*\n(?:[ \t][^\n]*\n)*)*?content-type:\s*multipart/related\b",
    re.IGNORECASE,
)

# Some programs write a few lines before the signature.
_PDF = re.compile(rb"(?:\A|[\r\n])\s*%PDF-\d\.\d")

SERIES_SUFFIX = ".series"
_HTML_NAMES = frozenset((".html", ".htm", ".xhtml", ".xht", ".shtml"))
_MARKDOWN_NAMES = frozenset(
    (".md", ".markdown", ".mdown", ".mkdn", ".mkd", ".mdwn", ".qmd", ".rmd")
)
# "## Chapter 1"
_HEADING_LINE = re.compile(r"^#{1,6} +\S", re.MULTILINE)
# "```python"
_FENCE = re.compile(r"^(?:```|~~~)[\w-]*\s*$", re.MULTILINE)
# "[words](address)", '![words](address "title")'
_MARKDOWN_LINK = re.compile(r"!?\[[^\]\n]+\]\([^()\s]+(?:\s\"[^\"\n]*\")?\)")
# "---", up to forty lines with a "title:" among them, "---"
_FRONT_MATTER = re.compile(
    r"---[ \t]*\n"
    r"(?:[^\n]*\n){0,40}?(?:title|author|lang|date)[ \t]*:[^\n]*\n"
    r"(?:[^\n]*\n){0,40}?(?:---|\.\.\.)[ \t]*\n"
)

_OFFICE: tuple[tuple[str, FileType], ...] = (
    ("word/", ReadableFormat.DOCX),
    ("xl/", ForeignFormat("a Microsoft Excel workbook (XLSX)")),
    ("ppt/", ForeignFormat("a Microsoft PowerPoint presentation (PPTX)")),
    ("visio/", ForeignFormat("a Microsoft Visio drawing (VSDX)")),
)
# Calibre's archives of one text with its pictures, by the name of the text.
_CALIBRE_METADATA = "metadata.opf"
_CALIBRE_TEXTS = {
    "index.html": ForeignFormat("an HTMLZ book", ".htmlz", has_contents=False),
    "index.txt": ForeignFormat("a TXTZ book", ".txtz"),
}
_MACOS_METADATA = "__macosx/"
_PDF_BYTES = 1024  # Where a PDF's signature may stand
_UTF8_MARK = b"\xef\xbb\xbf"
_IMAGES = (".jpg", ".jpeg", ".png", ".gif", ".webp")


def identify(head: bytes, name: str = "") -> FileType | None:
    """The format of a file that begins with `head`; None for a zip archive, see `identify_zip`."""
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return None
    if _PDF.search(head.removeprefix(_UTF8_MARK)[:_PDF_BYTES]):
        return ReadableFormat.PDF
    for signature in _SIGNATURES:
        if signature.is_in(head):
            return signature.kind
    text = _legible_text(head)
    if _MARKUP_START.match(text):
        for pattern, markup in _MARKUP:
            if pattern.search(text):
                return markup
    return _by_content(text, PurePath(name).suffix.lower())


def _without_blanks(head: bytes) -> bytes:
    return head.removeprefix(_UTF8_MARK).lstrip(b" \t\r\n")


def _legible_text(head: bytes) -> str:
    """The ASCII part of a file's beginning in any encoding, without a byte order mark."""
    if head.count(0) > len(head) // 8:  # UTF-16 or UTF-32
        head = head.replace(b"\0", b"")
    text = head.removeprefix(_UTF8_MARK).decode("latin-1")
    return text.lstrip("\xff\xfe").replace("\r\n", "\n").lstrip()


def _by_content(text: str, suffix: str) -> ReadableFormat:
    """The format of a text that is no complete XML or HTML document."""
    if suffix == SERIES_SUFFIX:
        return ReadableFormat.SERIES
    if _MHTML.match(text):
        return ReadableFormat.MHTML
    if suffix in _MARKDOWN_NAMES:
        return ReadableFormat.MARKDOWN
    if _FRAGMENT_START.match(text) or (suffix in _HTML_NAMES and _TAG.search(text)):
        return ReadableFormat.HTML
    has_headings = len(_HEADING_LINE.findall(text)) >= 2
    has_marks = _MARKDOWN_LINK.search(text) or len(_FENCE.findall(text)) >= 2
    is_markdown = _FRONT_MATTER.match(text) or (has_headings and has_marks)
    return ReadableFormat.MARKDOWN if is_markdown else ReadableFormat.TEXT


def identify_zip(archive: Archive) -> FileType:
    """The format of a zip archive: the one it declares, else by the names of its files."""
    try:
        declared = archive.read("mimetype").strip().decode("latin-1")
    except ArchiveError:
        declared = ""
    if declared == "application/epub+zip" or archive.find("META-INF/container.xml"):
        return ReadableFormat.EPUB
    if declared in _ZIP_TYPES:
        return _ZIP_TYPES[declared]
    lower_names = [name.lower() for name in archive.names]
    names = [name for name in lower_names if not name.startswith(_MACOS_METADATA)]
    if archive.find("[Content_Types].xml"):
        return _office_format(names)
    return _format_inside(names)


def _office_format(names: list[str]) -> FileType:
    for folder, kind in _OFFICE:
        if any(name.startswith(folder) for name in names):
            return kind
    return ForeignFormat("a Microsoft Office document of an unknown kind")


def _format_inside(names: list[str]) -> FileType:
    """The format of an archive that declares none, by the names of its files."""
    books = [name for name in names if is_fb2_name(name)]
    if len(books) == 1:
        return ReadableFormat.ZIPPED_FB2
    if books:
        return ForeignFormat(
            f"a zip archive of {len(books)} FictionBooks", advice=_UNPACK
        )
    if _CALIBRE_METADATA in names:
        for text_name, kind in _CALIBRE_TEXTS.items():
            if text_name in names:
                return kind
    if names and all(name.endswith(_IMAGES) for name in names):
        return ForeignFormat("a comic book or another archive of images")
    return ForeignFormat("a zip archive", advice=_UNPACK)


def is_fb2_name(name: str) -> bool:
    lower_name = name.lower()
    return lower_name.endswith(".fb2") and not lower_name.startswith(_MACOS_METADATA)
