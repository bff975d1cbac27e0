"""Reads HTML pages and web archives (MHTML): hand-written, saved by a browser, malformed. Fetches nothing."""

import email
import email.policy
import re
from collections.abc import Iterable
from dataclasses import replace
from email.message import Message
from itertools import islice

from lxml import etree

from gistread.book.formats.elements.inline_elements import language_of
from gistread.book.formats.elements.markup import (
    elements_named,
    first_named,
    local_name,
    parse_page,
    parse_xhtml,
    plain_text,
)
from gistread.book.formats.elements.single_document import Metadata, book_from_tree
from gistread.book.formats.encoding import Decoded, codec_of, decode_declared, encoding_notices
from gistread.book.formats.gutenberg import GutenbergText, strip_gutenberg
from gistread.book.formats.html_cleanup import mark_backlinks, remove_boilerplate, split_at_empty_lines
from gistread.book.formats.text import read_text
from gistread.book.model import Book
from gistread.book.normalise import language_tag, one_line
from gistread.errors import BookError

_IS_XHTML = re.compile(r"(?:\s|<!--.*?-->)*(?:<\?xml\b|<!doctype[^>]*xhtml|<html\b[^>]*xmlns\s*=)", re.I | re.S)

_EMBEDDED = "embedded:"

# A page that is mostly one <pre> is plain text with a few tags around it.
_SHARE_OF_PRE = 0.8
_FEWEST_CHARACTERS_OF_PRE = 2000

_TITLES = ("dc.title", "dcterms.title", "citation_title", "og:title", "title")
_AUTHORS = ("dc.creator", "dcterms.creator", "citation_author", "author", "article:author", "book:author")
_LANGUAGES = ("dc.language", "dcterms.language", "citation_language", "content-language")
_COVER_RELATIONS = frozenset(("coverpage", "cover"))
# "Chapter 1 - A Site": the site's name usually follows the separator.
_SITE = re.compile(r"\s+[|\-–—·:»]\s+")
_AUTHOR_DATES = re.compile(r",?\s*\(?\b\d{3,4}\??\s*[-–]\s*(?:\d{3,4}\??)?\)?\s*$")


def read_html(data: bytes, name: str) -> Book:
    """The book in `data`; `name` is used in messages. Raises BookError."""
    decoded = decode_declared(data)
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
    meta = _meta(root)
    framed = _gutenberg_header(root)
    # Some pages name their author by a link or a handle.
    values = (v for v in _first_present(meta, _AUTHORS) if not v.startswith(("http:", "https:", "@")) and len(v) <= 120)
    authors = (name for value in values for name in _names(value))
    declared = (language_of(element) for element in (root, first_named(root, "body")) if element is not None)
    metadata = Metadata(
        title=framed.title or _title(root, meta),
        authors=tuple(dict.fromkeys(framed.authors or authors)),
        language=next(filter(None, (*declared, *map(language_tag, _first_present(meta, _LANGUAGES)))), framed.language),
        cover=_cover(root),
    )
    for number, picture in enumerate(_embedded(root), start=1):
        picture.set("src", f"{_EMBEDDED}{number}")
    removed = remove_boilerplate(root)
    mark_backlinks(root)
    split_at_empty_lines(root)
    left_out = {"word(s) of menus and the like": removed}
    return book_from_tree(root, name, "html", metadata, notices=notices, left_out=left_out)


def _tree(text: str) -> etree._Element | None:
    if _IS_XHTML.match(text):
        tree = parse_xhtml(text)
        return tree.root if tree else None
    return parse_page(text)


def is_embedded(source: str) -> bool:
    return source.startswith(_EMBEDDED)


def embedded_picture(data: bytes, source: str) -> str:
    """The `data:` URL of a picture inside the page `data`; empty if there is no such picture."""
    number = source.removeprefix(_EMBEDDED)
    if not number.isdecimal():
        return ""
    decoded = decode_declared(data)
    root = _tree(decoded.text.lstrip("\ufeff")) if decoded else None
    pictures = _embedded(root) if root is not None else []
    return (pictures[int(number) - 1].get("src") or "").strip() if 0 < int(number) <= len(pictures) else ""


def _embedded(root: etree._Element) -> list[etree._Element]:
    return [each for each in elements_named(root, "img") if (each.get("src") or "").lstrip()[:5].lower() == "data:"]


def _preformatted(root: etree._Element) -> str:
    blocks = ["".join(map(str, each.itertext())) for each in elements_named(root, "pre")]
    longest = max(map(len, blocks), default=0)
    if longest < _FEWEST_CHARACTERS_OF_PRE or longest < len(plain_text(root)) * _SHARE_OF_PRE:
        return ""
    return "\n\n".join(blocks)


_MOST_PARTS = 10_000


def read_mhtml(data: bytes, name: str) -> Book:
    """The page in the web archive `data`; `name` is used in messages. Raises BookError."""
    parts = islice(email.message_from_bytes(data, policy=email.policy.compat32).walk(), _MOST_PARTS)
    # The first HTML part is the page; parts of frames follow it.
    pages = (part for part in parts if part.get_content_type() in ("text/html", "application/xhtml+xml"))
    page = next(pages, None)
    decoded = _decoded(page) if page is not None else None
    if decoded is None:
        raise BookError(f"{name} is a saved page (MHTML) with no page of HTML in it.", "Save the page again, as HTML.")
    return read_page(decoded.text, name, notices=encoding_notices(decoded))


def _decoded(page: Message) -> Decoded | None:
    payload = page.get_payload(decode=True)
    if not isinstance(payload, bytes):
        return None
    codec = codec_of(page.get_content_charset() or "")
    if codec:
        text = payload.decode(codec, errors="replace")
        return Decoded(text, codec, text.count("\ufffd"))
    return decode_declared(payload)


def _gutenberg_header(root: etree._Element) -> GutenbergText:
    header = next(root.iterfind(".//*[@id='pg-header']"), None)
    if header is None:
        return GutenbergText("")
    return strip_gutenberg(
        "\n".join(plain_text(element) for element in header.iter() if local_name(element) in ("p", "div"))
    )


def _meta(root: etree._Element) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for element in elements_named(root, "meta"):
        key = element.get("name") or element.get("property") or element.get("http-equiv") or ""
        value = one_line(element.get("content") or "")
        if key and value:
            found.setdefault(key.lower(), []).append(value)
    return found


def _first_present(meta: dict[str, list[str]], keys: Iterable[str]) -> list[str]:
    return next((meta[key] for key in keys if key in meta), [])


def _title(root: etree._Element, meta: dict[str, list[str]]) -> str:
    named = _first_present(meta, _TITLES[:3])
    if named:
        return named[0]
    titles = (each for each in elements_named(root, "title") if "svg" not in map(local_name, each.iterancestors()))
    title = next(map(plain_text, titles), "") or next(iter(_first_present(meta, _TITLES)), "")
    headings = [plain_text(each) for each in elements_named(root, "h1")]
    parts = _SITE.split(title)
    if len(headings) == 1 and len(parts) > 1 and headings[0] in (parts[0], parts[-1]):
        return headings[0]
    return title


def _names(value: str) -> list[str]:
    """Names in reading order: catalogues write "Tolstoy, Leo, graf, 1828-1910"."""
    if ";" in value:
        return [name for part in value.split(";") for name in _names(part.strip())]
    parts = [part.strip() for part in _AUTHOR_DATES.sub("", value).split(",") if part.strip()]
    if len(parts) > 1 and all(" " in part for part in parts):
        return parts
    return [f"{parts[1]} {parts[0]}"] if len(parts) in (2, 3) else [", ".join(parts)] if parts else []


def _cover(root: etree._Element) -> str:
    for element in root.iter():
        name = local_name(element)
        if name == "link" and set((element.get("rel") or "").lower().split()) & _COVER_RELATIONS:
            return element.get("href") or ""
        if name == "img" and (element.get("id") or "").lower() in ("coverpage", "cover"):
            return element.get("src") or ""
    return ""
