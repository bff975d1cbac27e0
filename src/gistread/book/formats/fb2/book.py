"""Turns a FictionBook 2 into a Book, in any declared encoding, well-formed or nearly so."""

import base64
import binascii
import re
from collections.abc import Iterable

from lxml import etree

from gistread.book.formats.elements.markup import Tree, local_name, parse_xml, plain_text
from gistread.book.formats.elements.single_document import Metadata, book_from_tree
from gistread.book.formats.encoding import decode_declared, encoding_notices
from gistread.book.formats.fb2.tree import FictionBook, href_of, translate
from gistread.book.model import Book
from gistread.book.normalise import language_tag
from gistread.errors import BookError

_DECLARATION = re.compile(rb"""<\?xml[^>]{0,200}?\bencoding\s*=\s*["']([\w.:-]+)""", re.IGNORECASE)
# Pictures are most of the bytes; a parser would keep them all.
_BINARY = re.compile(r"<(?:\w+:)?binary\b([^>]*)>([^<]*)</(?:\w+:)?binary\s*>", re.IGNORECASE)
_BINARY_ID = re.compile(r"""\bid\s*=\s*["']([^"']*)["']""", re.IGNORECASE)


def read_fb2(data: bytes, name: str) -> Book:
    """The book in `data`; `name` is used in messages. Raises BookError."""
    decoded = decode_declared(data, _DECLARATION)
    tree = parse_xml(_BINARY.sub("", decoded.text)) if decoded else None
    if decoded is None or tree is None:
        raise BookError(f"{name} cannot be read: it is not a valid FictionBook.")
    book = translate(tree.root)
    return book_from_tree(
        book.root,
        name,
        "fb2",
        _metadata(tree.root),
        sections=book.sections,
        notices=(*encoding_notices(decoded), *_notices(tree, book)),
    )


def read_binary(data: bytes, name: str) -> bytes | None:
    """The picture named `name`; None if it is missing or damaged."""
    decoded = decode_declared(data, _DECLARATION)
    for match in _BINARY.finditer(decoded.text if decoded else ""):
        named = _BINARY_ID.search(match[1])
        if named and named[1] == name:
            try:
                return base64.b64decode("".join(match[2].split()), validate=False)
            except (binascii.Error, ValueError):
                return None
    return None


def _notices(tree: Tree, book: FictionBook) -> Iterable[str]:
    if tree.repaired:
        yield "The file is not well-formed XML; the readable parts were read."
    if not book.has_body:
        yield "The file has no <body>; all its text was read."


def _metadata(root: etree._Element) -> Metadata:
    info = _first(root, "title-info")
    if info is None:
        return Metadata()
    publication, document = _first(root, "publish-info"), _first(root, "document-info")
    isbn = _text(publication, "isbn").replace(" ", "")
    own = _text(document, "id")
    cover = _first(info, "coverpage")
    image = _first(cover, "image") if cover is not None else None
    return Metadata(
        title=_text(info, "book-title"),
        authors=tuple(dict.fromkeys(filter(None, (_person(e) for e in info if local_name(e) == "author")))),
        language=language_tag(_text(info, "lang")),
        identifiers=tuple(filter(None, (f"isbn:{isbn}" if isbn else "", own))),
        cover=href_of(image).removeprefix("#") if image is not None else "",
    )


def _person(author: etree._Element) -> str:
    parts = [_text(author, part) for part in ("first-name", "middle-name", "last-name")]
    return " ".join(filter(None, parts)) or _text(author, "nickname")


def _first(root: etree._Element | None, name: str) -> etree._Element | None:
    return next((e for e in root.iter() if local_name(e) == name), None) if root is not None else None


def _text(root: etree._Element | None, name: str) -> str:
    found = _first(root, name)
    return plain_text(found) if found is not None else ""
