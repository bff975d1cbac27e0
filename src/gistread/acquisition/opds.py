"""Parses OPDS catalogues: version 1.2 (Atom) and 2.0 (JSON).

https://specs.opds.io/opds-1.2 and https://drafts.opds.io/opds-2.0
"""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urljoin

import orjson
from lxml import etree

from gistread.book.normalise import clean_line
from gistread.errors import FetchError

_ATOM = "{http://www.w3.org/2005/Atom}"
_TERMS = "{http://purl.org/dc/terms/}"
_SEARCH = "{http://a9.com/-/spec/opensearch/1.1/}"
_ACQUISITION = "http://opds-spec.org/acquisition"
# Acquisitions that cost nothing: not `/buy`, `/borrow`, `/subscribe` and `/sample`
_FREE = {_ACQUISITION, f"{_ACQUISITION}/open-access"}
# Media types that gistread reads, the best first, and the files' suffixes
BOOK_SUFFIXES = {
    "application/epub+zip": ".epub",
    "application/x-fictionbook+xml": ".fb2",
    "application/fb2+zip": ".fb2.zip",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": ".docx",
    "text/html": ".html",
    "application/pdf": ".pdf",
    "text/plain": ".txt",
}
_TYPES = tuple(BOOK_SUFFIXES)
_LONGEST_LINE = 60
# The smallest picture first: a terminal shows no more
_COVERS = ("http://opds-spec.org/image/thumbnail", "http://opds-spec.org/image")
_FEED_TYPES = ("application/atom+xml", "application/opds+json")
_ANY_TYPE = ("",)  # Every type begins so.
_DESCRIPTION_TYPE = "application/opensearchdescription+xml"
# What parsing raises for a document of another form
_MALFORMED = (
    ValueError,
    TypeError,
    LookupError,
    AttributeError,
    etree.XMLSyntaxError,
)


@dataclass(frozen=True, slots=True)
class Acquisition:
    """A file of a book."""

    url: str
    media_type: str
    size_bytes: int | None = None  # As the catalogue says


@dataclass(frozen=True, slots=True)
class OfferedBook:
    """A book of a catalogue, with its files, or with the feed that names them."""

    title: str
    authors: tuple[str, ...] = ()
    language: str = ""
    files: tuple[Acquisition, ...] = ()  # Free ones that gistread reads, the best first
    feed: str = ""  # Address of a feed with more about it; empty if none
    about: str = ""  # A short line; at Project Gutenberg the author
    cover: str = ""  # Address of a picture, or the picture as a `data:` address

    @property
    def by(self) -> str:
        """Its authors, or what the catalogue says about it."""
        return ", ".join(self.authors) or self.about

    @property
    def label(self) -> str:
        return " · ".join(filter(None, (self.title, self.by, self.language)))


@dataclass(frozen=True, slots=True)
class Feed:
    """A page of a catalogue. Addresses are absolute."""

    title: str
    books: tuple[OfferedBook, ...] = ()
    shelves: tuple[OfferedBook, ...] = ()  # Entries that lead to other feeds only
    next: str = ""  # Address of the next page
    # Address of a search, with `{searchTerms}` or as an RFC 6570 template
    search: str = ""
    # Address of an OpenSearch description, which has the search address
    description: str = ""


def parse_feed(data: bytes, url: str) -> Feed:
    """Raises FetchError if this is no OPDS catalogue."""
    try:
        if data.lstrip()[:1] == b"{":
            return _parse_json(orjson.loads(data), url)
        return _parse_atom(_parse_xml(data), url)
    except _MALFORMED as error:
        message = f"{url} is not an OPDS catalogue."
        raise FetchError(message, "Check the address.") from error


def parse_description(data: bytes, url: str) -> str:
    """The search address of an OpenSearch description; empty if it has none. Raises FetchError."""
    try:
        root = _parse_xml(data)
    except (ValueError, etree.XMLSyntaxError) as error:
        message = f"{url} does not describe a search."
        raise FetchError(message, "Try again later.") from error
    for element in root.iter(f"{_SEARCH}Url"):
        if element.get("type", "").startswith(_FEED_TYPES):
            return _absolute(url, element.get("template", ""))
    return ""


def search_url(template: str, words: str) -> str:
    """Fill in the words of a search.

    >>> search_url("https://example.org/?q={searchTerms}&n={count?}", "war and peace")
    'https://example.org/?q=war%20and%20peace&n='
    >>> search_url("https://example.org/find{?query,title}", "emma")
    'https://example.org/find?query=emma'
    >>> search_url("https://example.org/search/{searchTerms}", "war/peace")
    'https://example.org/search/war%20peace'
    """
    path, _, _ = template.partition("?")
    # Calibre takes even an escaped slash for the end of the words.
    if "{searchTerms}" in path:
        words = words.replace("/", " ")
    quoted = quote(words, safe="")
    if "{?" in template:  # RFC 6570, as OPDS 2.0 has it
        start, _, after_start = template.partition("{?")
        parameters, _, end = after_start.partition("}")
        names = parameters.split(",")
        name = "query" if "query" in names else names[0]
        return f"{start}?{name}={quoted}{end}"
    filled = template.replace("{searchTerms}", quoted).replace("{query}", quoted)
    # Optional parameters stay empty; a brace that is not closed cuts the rest off.
    return re.sub(r"\{[^}]*(?:\}|$)", "", filled)


def _parse_xml(data: bytes) -> etree._Element:
    parser = etree.XMLParser(resolve_entities=False, no_network=True, huge_tree=False)
    return etree.fromstring(data, parser)


def _parse_atom(root: etree._Element, url: str) -> Feed:
    """The feed of a document of OPDS 1.2. Raises one of `_MALFORMED`."""
    if root.tag == f"{_ATOM}entry":  # The whole entry of one book
        return Feed(title="", books=(_atom_book(root, url),))
    if root.tag != f"{_ATOM}feed":
        raise ValueError("no feed")
    entries = [_atom_book(entry, url) for entry in root.iterfind(f"{_ATOM}entry")]
    books = [entry for entry in entries if entry.files]
    shelves = [entry for entry in entries if entry.feed and not entry.files]
    links = _atom_links(root)
    return Feed(
        title=_text(root, f"{_ATOM}title"),
        books=tuple(books),
        shelves=tuple(shelves),
        next=_link(links, url, "next", _ANY_TYPE),
        search=_link(links, url, "search", _FEED_TYPES),
        description=_link(links, url, "search", (_DESCRIPTION_TYPE,)),
    )


def _atom_links(element: etree._Element) -> list[dict[str, str]]:
    """The attributes of the links in an element."""
    attributes: list[dict[str, str]] = []
    for link in element.iterfind(f"{_ATOM}link"):
        pairs = link.attrib.items()
        attributes.append({str(name): str(value) for name, value in pairs})
    return attributes


def _atom_book(entry: etree._Element, url: str) -> OfferedBook:
    links = _atom_links(entry)
    authors = entry.iterfind(f"{_ATOM}author")
    names = [_text(author, f"{_ATOM}name") for author in authors]
    return OfferedBook(
        title=_text(entry, f"{_ATOM}title") or "Untitled",
        authors=tuple(filter(None, names)),
        language=_text(entry, f"{_TERMS}language"),
        files=_files(links, url),
        feed=_feed_address(links, url),
        about=_short_line(_text(entry, f"{_ATOM}content")),
        cover=_cover(links, url),
    )


def _feed_address(links: Sequence[Mapping[str, str]], url: str) -> str:
    """The address of the first link to a feed; empty if there is none."""
    for link in links:
        if link.get("type", "").startswith(_FEED_TYPES):
            return _absolute(url, link["href"])
    return ""


def _short_line(text: str) -> str:
    """The text if it is short, and no summary of the book."""
    if len(text) > _LONGEST_LINE:
        return ""
    return text


def _text(element: etree._Element, path: str) -> str:
    return clean_line(element.findtext(path) or "")


def _parse_json(document: Mapping[str, Any], url: str) -> Feed:
    """The feed of a document of OPDS 2.0. Raises one of `_MALFORMED`."""
    metadata = document["metadata"]
    links = document.get("links", [])
    books = [_json_book(publication, url) for publication in _publications(document)]
    shelves = [_json_shelf(item, url) for item in document.get("navigation", [])]
    return Feed(
        title=clean_line(str(metadata.get("title") or "")),
        books=tuple(book for book in books if book.files or book.feed),
        shelves=tuple(shelves),
        next=_link(links, url, "next", _ANY_TYPE),
        search=_link(links, url, "search", ("application/opds+json", *_ANY_TYPE)),
    )


def _json_shelf(item: Mapping[str, Any], url: str) -> OfferedBook:
    title = clean_line(str(item.get("title") or "Untitled"))
    return OfferedBook(title, feed=_absolute(url, item["href"]))


def _publications(document: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The books of a feed and of its groups, or the book of a document about one book."""
    is_feed = "publications" in document or "groups" in document
    if not is_feed and "images" in document:
        yield document
    yield from document.get("publications", [])
    for group in document.get("groups", []):
        yield from group.get("publications", [])


def _json_book(publication: Mapping[str, Any], url: str) -> OfferedBook:
    metadata = publication["metadata"]
    links = publication.get("links", [])
    title = _in_words(metadata.get("title")) or "Untitled"
    language = metadata.get("language") or ""
    if not isinstance(language, str):
        language = ", ".join(language)
    return OfferedBook(
        title=clean_line(title),
        authors=tuple(map(clean_line, _names(metadata.get("author")))),
        language=language,
        files=_files(links, url),
        feed=_link(links, url, "self", ("application/opds-publication+json",)),
        cover=_smallest(publication.get("images") or (), url),
    )


def _cover(links: Sequence[Mapping[str, Any]], url: str) -> str:
    """The address of the smallest picture of a book; empty if there is none."""
    for relation in _COVERS:
        cover = _link(links, url, relation, _ANY_TYPE)
        if cover:
            return cover
    return ""


def _smallest(images: Sequence[Mapping[str, Any]], url: str) -> str:
    """The address of the picture with the least width; empty if there is none."""

    def width(image: Mapping[str, Any]) -> float:
        pixels = image.get("width")
        return pixels if isinstance(pixels, int | float) else math.inf

    with_address = [image for image in images if isinstance(image.get("href"), str)]
    smallest = min(with_address, key=width, default=None)
    if smallest is None:
        return ""
    return _absolute(url, smallest["href"])


def _names(contributor: Any) -> list[str]:
    """Names of contributors: a string, an object with `name`, or a list of both."""
    if isinstance(contributor, list):
        return [name for member in contributor for name in _names(member)]
    if isinstance(contributor, dict):
        return _names(contributor.get("name"))
    if not contributor:
        return []
    return [contributor]


def _in_words(text: Any) -> str:
    """A string, or the first of its translations by language."""
    if isinstance(text, dict):
        return str(next(iter(text.values()), ""))
    return str(text or "")


def _relations(link: Mapping[str, Any]) -> Sequence[str]:
    """The relations of a link: separated by spaces, or in JSON also a list."""
    relations: Any = link.get("rel") or ""
    return relations.split() if isinstance(relations, str) else relations


def _files(links: Sequence[Mapping[str, Any]], url: str) -> tuple[Acquisition, ...]:
    """The free files that gistread reads, the best first."""
    files = []
    for link in links:
        # Without parameters, as in "text/html; charset=utf-8"
        media_type, _, _ = (link.get("type") or "").partition(";")
        media_type = media_type.strip().lower()
        if media_type not in _TYPES or _FREE.isdisjoint(_relations(link)):
            continue
        address = _absolute(url, link["href"])
        size = str(link.get("length") or link.get("size") or "")
        size_bytes = int(size) if size.isdecimal() else None
        files.append(Acquisition(address, media_type, size_bytes))
    return tuple(sorted(files, key=lambda file: _TYPES.index(file.media_type)))


def _link(
    links: Sequence[Mapping[str, Any]], url: str, relation: str, types: Sequence[str]
) -> str:
    """The absolute address of the first link with a relation and one of these types.

    `types`: beginnings of media types, the best first. Empty if there is no such link.
    """
    for media_type in types:
        for link in links:
            link_type = link.get("type") or ""
            if relation in _relations(link) and link_type.startswith(media_type):
                return _absolute(url, link["href"])
    return ""


def _absolute(url: str, address: str) -> str:
    if not address:
        return ""
    return urljoin(url, address)
