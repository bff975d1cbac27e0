"""Reads the metadata in a page's head: Dublin Core, the names publishers and sites use, and the page's title."""

import re
from collections.abc import Iterable

from lxml import etree

from gistread.book.formats.elements.markup import local_name, plain_text
from gistread.book.formats.elements.single_document import Metadata
from gistread.book.formats.gutenberg import GutenbergText, strip_gutenberg
from gistread.book.normalise import language_tag, one_line

_TITLES = ("dc.title", "dcterms.title", "citation_title", "og:title", "title")
_AUTHORS = ("dc.creator", "dcterms.creator", "citation_author", "author", "article:author", "book:author")
_LANGUAGES = ("dc.language", "dcterms.language", "citation_language", "content-language")
_IDENTIFIERS = ("dc.identifier", "dcterms.identifier", "citation_isbn", "citation_doi", "book:isbn", "isbn", "doi")
_SCHEMES = {"citation_isbn": "isbn:", "book:isbn": "isbn:", "isbn": "isbn:", "citation_doi": "doi:", "doi": "doi:"}
_COVER_RELATIONS = frozenset(("coverpage", "cover"))
_XML_LANG = "{http://www.w3.org/XML/1998/namespace}lang"
# "Chapter 1 - A Site": what follows is usually the site's name.
_SITE = re.compile(r"\s+[|\-–—·:»]\s+")
_AUTHOR_DATES = re.compile(r",?\s*\(?\b\d{3,4}\??\s*[-–]\s*(?:\d{3,4}\??)?\)?\s*$")


def metadata_of(root: etree._Element) -> Metadata:
    meta = _meta(root)
    framed = _gutenberg_header(root)
    authors = (name for value in _first_present(meta, _AUTHORS) if _is_name(value) for name in _names(value))
    return Metadata(
        title=framed.title or _title(root, meta),
        authors=tuple(dict.fromkeys(framed.authors or authors)),
        language=_language(root, meta) or framed.language,
        identifiers=tuple(
            dict.fromkeys(_SCHEMES.get(key, "") + value for key in _IDENTIFIERS for value in meta.get(key, ()))
        ),
        cover=_cover(root),
    )


def _gutenberg_header(root: etree._Element) -> GutenbergText:
    header = next((element for element in root.iter() if element.get("id") == "pg-header"), None)
    if header is None:
        return GutenbergText("")
    return strip_gutenberg(
        "\n".join(plain_text(element) for element in header.iter() if local_name(element) in ("p", "div"))
    )


def _meta(root: etree._Element) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for element in root.iter():
        if local_name(element) == "meta":
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
    title = next((plain_text(e) for e in root.iter() if local_name(e) == "title" and not _in_picture(e)), "")
    title = title or next(iter(_first_present(meta, _TITLES)), "")
    headings = [plain_text(e) for e in root.iter() if local_name(e) == "h1"]
    parts = _SITE.split(title)
    if len(headings) == 1 and len(parts) > 1 and headings[0] in (parts[0], parts[-1]):
        return headings[0]
    return title


def _in_picture(element: etree._Element) -> bool:
    return any(local_name(outer) == "svg" for outer in element.iterancestors())


def _names(value: str) -> list[str]:
    """Names in reading order: catalogues write "Tolstoy, Leo, graf, 1828-1910"."""
    if ";" in value:
        return [name for part in value.split(";") for name in _names(part.strip())]
    parts = [part.strip() for part in _AUTHOR_DATES.sub("", value).split(",") if part.strip()]
    if len(parts) > 1 and all(" " in part for part in parts):
        return parts
    return [f"{parts[1]} {parts[0]}"] if len(parts) in (2, 3) else [", ".join(parts)] if parts else []


def _is_name(value: str) -> bool:
    return not value.startswith(("http:", "https:", "@")) and len(value) <= 120


def _language(root: etree._Element, meta: dict[str, list[str]]) -> str:
    body = next((element for element in root.iter() if local_name(element) == "body"), root)
    said = [element.get(key) for element in (root, body) for key in ("lang", _XML_LANG)]
    return next(filter(None, (language_tag(value or "") for value in (*said, *_first_present(meta, _LANGUAGES)))), "")


def _cover(root: etree._Element) -> str:
    for element in root.iter():
        name = local_name(element)
        if name == "link" and set((element.get("rel") or "").lower().split()) & _COVER_RELATIONS:
            return element.get("href") or ""
        if name == "img" and (element.get("id") or "").lower() in ("coverpage", "cover"):
            return element.get("src") or ""
    return ""
