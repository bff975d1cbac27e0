"""Marks as W3C Web Annotations (https://www.w3.org/TR/annotation-model/).

The quotation with the words around it is found in any copy of the book; the position counts
characters of gistread's text, whose SHA-256 is the state of the source. A mark in an EPUB has an
EPUB CFI beside them, which other reading programs resolve.
"""

from typing import Any

from gistread.book.model import Book
from gistread.exporting.model import Export
from gistread.marking import Mark, MarkKind
from gistread.units import iso_time

_CFI = "http://www.idpf.org/epub/linking/cfi/epub-cfi.html"
_MOTIVATIONS = {MarkKind.BOOKMARK: "bookmarking", MarkKind.LETTER: "bookmarking"}


def as_web_annotations(export: Export) -> dict[str, Any]:
    """A page of annotations; marks that lost their place have no position."""
    annotations = [
        _annotation(export.book, mark, export.cfis.get(mark.id, ""))
        for mark in export.marks
    ]
    return {
        "@context": "http://www.w3.org/ns/anno.jsonld",
        "id": f"urn:gistread:marks:{export.book.sha256}",
        "type": "AnnotationPage",
        "items": annotations,
    }


def _annotation(book: Book, mark: Mark, cfi: str) -> dict[str, Any]:
    usual = "commenting" if mark.note else "highlighting"
    annotation: dict[str, Any] = {
        "id": f"urn:gistread:mark:{mark.id}",
        "type": "Annotation",
        "motivation": _MOTIVATIONS.get(mark.kind, usual),
        "created": iso_time(mark.made_at),
        "modified": iso_time(mark.changed_at),
        "target": {"source": _source(book), "selector": _selectors(mark, cfi)},
    }
    if mark.note:
        annotation["body"] = {
            "type": "TextualBody",
            "value": mark.note,
            "format": "text/plain",
            "purpose": "commenting",
        }
    return annotation


def _source(book: Book) -> dict[str, Any]:
    identifiers = book.identifiers or (f"urn:sha256:{book.sha256}",)
    return {
        "id": identifiers[0],
        "type": "Text",
        "dc:title": book.title,
        "dc:creator": list(book.authors),
    }


def _selectors(mark: Mark, cfi: str) -> list[dict[str, Any]]:
    """How the words of a mark are found: by their quotation, position and CFI."""
    quote = {
        "type": "TextQuoteSelector",
        "exact": mark.place.exact,
        "prefix": mark.place.prefix,
        "suffix": mark.place.suffix,
    }
    if mark.lost:
        return [quote]
    position = {"type": "TextPositionSelector", "start": mark.start, "end": mark.end}
    if not cfi:
        return [quote, position]
    fragment = {"type": "FragmentSelector", "conformsTo": _CFI, "value": cfi}
    return [quote, position, fragment]
