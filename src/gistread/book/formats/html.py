"""Reads HTML pages and web archives (MHTML): hand-written, saved by a browser, malformed. Fetches nothing."""

import email
import email.policy
import re
from dataclasses import replace
from email.message import Message

from lxml import etree

from gistread.book.formats.elements.markup import local_name, parse, parse_page, plain_text
from gistread.book.formats.elements.single_document import book_from_tree
from gistread.book.formats.encoding import Decoded, codec_of, decode_declared, encoding_notices
from gistread.book.formats.html_cleanup import mark_backlinks, remove_boilerplate, split_at_empty_lines
from gistread.book.formats.html_metadata import metadata_of
from gistread.book.formats.text import read_text
from gistread.book.model import Book
from gistread.errors import BookError

DECLARATION = re.compile(
    rb"""<\?xml[^>]{0,200}?\bencoding\s*=\s*["']([\w.:-]+)|<meta\b[^>]{0,500}?\bcharset\s*=\s*["']?\s*([\w.:-]+)""",
    re.IGNORECASE,
)
"""Where a page declares its encoding."""

_IS_XHTML = re.compile(r"(?:\s|<!--.*?-->)*(?:<\?xml\b|<!doctype[^>]*xhtml|<html\b[^>]*xmlns\s*=)", re.I | re.S)
_XML_DECLARATION = re.compile(r"^\s*<\?xml[^>]*\?>")

_EMBEDDED = "embedded:"

# A page that is mostly one <pre> is plain text with a few tags around it.
_SHARE_OF_PRE = 0.8
_FEWEST_CHARACTERS_OF_PRE = 2000


def read_html(data: bytes, name: str) -> Book:
    """The book in `data`; `name` is used in messages. Raises BookError."""
    decoded = decode_declared(data, DECLARATION)
    if decoded is None:
        raise BookError(f"{name} is not an HTML page but unknown binary data.")
    return read_page(decoded.text, name, notices=encoding_notices(decoded))


def read_page(text: str, name: str, *, notices: tuple[str, ...] = ()) -> Book:
    """The book in the text of an HTML file. Raises BookError."""
    root = _tree(text.lstrip("\ufeff"))
    if root is None:
        raise BookError(f"{name} cannot be read: it contains no HTML, or too much.")
    plain = _preformatted(root)
    if plain:
        return replace(read_text(plain.encode("utf-8", errors="replace"), name), source_format="html")
    metadata = metadata_of(root)
    for number, picture in enumerate(_embedded(root), start=1):
        picture.set("src", f"{_EMBEDDED}{number}")
    remove_boilerplate(root)
    mark_backlinks(root)
    split_at_empty_lines(root)
    return book_from_tree(root, name, "html", metadata, notices=notices)


def _tree(text: str) -> etree._Element | None:
    if _IS_XHTML.match(text):
        tree = parse(_XML_DECLARATION.sub("", text, count=1).encode("utf-8", errors="replace"))
        return tree.root if tree else None
    return parse_page(text)


def is_embedded(source: str) -> bool:
    """Whether an `Image.source` is a picture inside the page."""
    return source.startswith(_EMBEDDED)


def embedded_picture(data: bytes, source: str) -> str:
    """The `data:` URL of a picture inside the page `data`; empty if there is no such picture."""
    number = source.removeprefix(_EMBEDDED)
    if not number.isdecimal():
        return ""
    decoded = decode_declared(data, DECLARATION)
    root = _tree(decoded.text.lstrip("\ufeff")) if decoded else None
    pictures = _embedded(root) if root is not None else []
    return (pictures[int(number) - 1].get("src") or "").strip() if 0 < int(number) <= len(pictures) else ""


def _embedded(root: etree._Element) -> list[etree._Element]:
    return [
        element
        for element in root.iter()
        if local_name(element) == "img" and (element.get("src") or "").lstrip()[:5].lower() == "data:"
    ]


def _preformatted(root: etree._Element) -> str:
    """The text of the page's <pre> if the page has little else."""
    blocks = ["".join(str(part) for part in e.itertext()) for e in root.iter() if local_name(e) == "pre"]
    longest = max(map(len, blocks), default=0)
    if longest < _FEWEST_CHARACTERS_OF_PRE or longest < len(plain_text(root)) * _SHARE_OF_PRE:
        return ""
    return "\n\n".join(blocks)


_MOST_PARTS = 10_000


def read_mhtml(data: bytes, name: str) -> Book:
    """The page in the web archive `data`; `name` is used in messages. Raises BookError."""
    page = _page(email.message_from_bytes(data, policy=email.policy.compat32))
    decoded = _decoded(page) if page is not None else None
    if decoded is None:
        raise BookError(f"{name} is a saved page (MHTML) with no page of HTML in it.", "Save the page again, as HTML.")
    return read_page(decoded.text, name, notices=encoding_notices(decoded))


def _page(message: Message) -> Message | None:
    for number, part in enumerate(message.walk()):
        if part.get_content_type() in ("text/html", "application/xhtml+xml"):
            return part
        if number > _MOST_PARTS:
            break
    return None


def _decoded(page: Message) -> Decoded | None:
    payload = page.get_payload(decode=True)
    if not isinstance(payload, bytes):
        return None
    codec = codec_of(page.get_content_charset() or "")
    if codec:
        text = payload.decode(codec, errors="replace")
        return Decoded(text, codec, text.count("\ufffd"))
    return decode_declared(payload, DECLARATION)
