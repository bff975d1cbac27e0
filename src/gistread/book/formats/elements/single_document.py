"""A book whose whole text is one tree of XHTML: what of it is the book, and where its chapters begin.

Formats other than EPUB are translated into such a tree and end here, so that a list, a poem or a note is the same in
all of them. Knows nothing of files and of no format but the tree.
"""

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath
from urllib.parse import unquote

from lxml import etree

from gistread.book.builder import BookBuilder
from gistread.book.formats.elements.assembly import assemble
from gistread.book.formats.elements.linking import DocumentAnchor, own_anchor, resolve_links
from gistread.book.formats.elements.markup import local_name
from gistread.book.formats.elements.paragraphs import ParsedParagraph
from gistread.book.formats.elements.section_headings import Division, HeadingPiece, divisions
from gistread.book.formats.elements.semantics import BLOCKS
from gistread.book.formats.elements.xhtml import XhtmlDocument, read_document
from gistread.book.formats.gutenberg import BookBounds, find_bounds
from gistread.book.formats.outline import outline
from gistread.book.formats.text_blocks import TextBlock
from gistread.book.model import Book, ParagraphKind
from gistread.errors import BookError


@dataclass(frozen=True, slots=True)
class Metadata:
    """What a file says of its book."""

    title: str = ""
    authors: tuple[str, ...] = ()
    language: str = ""
    identifiers: tuple[str, ...] = ()
    cover: str = ""


@dataclass(frozen=True, slots=True)
class Section:
    """A chapter that the format itself names: it begins where the id `anchor` stands."""

    anchor: str
    title: str
    level: int


_NOTES = "Notes"


def read_tree(
    root: etree._Element,
    name: str,
    source_format: str,
    metadata: Metadata,
    *,
    sections: Sequence[Section] = (),
    notices: Sequence[str] = (),
) -> Book:
    """The book in a tree, which is changed on the way. `name` is what messages call it.

    Chapters begin at `sections`; without them at the headings, and without those where the words look like headings.
    Raises BookError where there is no text in it.
    """
    limit_depth(root)
    document = read_document(root, metadata.language)
    framed = find_bounds([piece.words for piece in document.pieces])
    document = _cut(document, framed)
    if not (document.pieces and document.has_words):
        raise BookError(f"{name} has no text in it that can be read.")
    title = framed.title or metadata.title
    links = resolve_links({name: document}, _own_place)
    document = links.documents[name]
    begins: dict[int, list[tuple[str, int]]] = {}
    for division in _divisions(document, sections, title, framed.authors or metadata.authors):
        begins.setdefault(division.index, []).append((division.title, division.level))
    builder = BookBuilder()
    resolve = assemble(builder, links, lambda path, document: begins)
    if not builder.characters:  # its words are controls and spaces
        raise BookError(f"{name} has no text in it that can be read.")
    return builder.build(
        title=title or _title_heading(document.pieces, begins) or PurePath(name).stem,
        authors=framed.authors or metadata.authors,
        language=metadata.language or document.language or framed.language,
        source_format=source_format,
        notices=tuple(notices),
        identifiers=metadata.identifiers,
        cover=metadata.cover,
        resolve=resolve,
    )


def _own_place(path: str, href: str) -> DocumentAnchor | None:
    """What a link means: a place in the document, also where it names the file; else it leads out of the book."""
    page, separator, fragment = href.partition("#")
    return own_anchor(path, separator + fragment) if not page or unquote(page) == path else None


def _cut(document: XhtmlDocument, framed: BookBounds) -> XhtmlDocument:
    """The document without what a publisher put before and behind the book."""
    first, end = framed.first, framed.end
    if (first, end) == (0, len(document.pieces)):
        return document
    return replace(
        document,
        pieces=document.pieces[first:end],
        anchors={name: at - first for name, at in document.anchors.items() if first <= at < end},
        ends={name: min(at, end) - first for name, at in document.ends.items() if first <= at},
        notes=tuple((a - first, min(b, end) - first) for a, b in document.notes if first <= a < end),
    )


def _divisions(
    document: XhtmlDocument, sections: Sequence[Section], title: str, authors: Sequence[str]
) -> list[Division]:
    pieces = document.pieces
    if sections:
        anchors = document.anchors
        return [Division(anchors[one.anchor], one.title, one.level) for one in sections if one.anchor in anchors]
    headings = [
        HeadingPiece(index, piece.words, piece.level)
        for index, piece in enumerate(pieces)
        if piece.kind is ParagraphKind.HEADING
    ]
    found = list(divisions(headings, title, authors)) if headings else list(_by_words(pieces))
    return [*found, *_notes(pieces)]


def _by_words(pieces: Sequence[ParsedParagraph]) -> Iterator[Division]:
    """For a document that marks no heading as one: what a plain text with these paragraphs would have."""
    blocks = [TextBlock(tuple(piece.words.split("\n")), piece.kind, 2) for piece in pieces]
    for heading in outline(blocks).headings:
        yield Division(heading.index, heading.title, heading.level)


def _notes(pieces: Sequence[ParsedParagraph]) -> Iterator[Division]:
    """The notes at the end of a document, where no heading stands over them: they are not part of the last chapter."""
    first = len(pieces)
    while first and pieces[first - 1].kind in (ParagraphKind.NOTE, ParagraphKind.BREAK):
        first -= 1
    if 0 < first < len(pieces) and pieces[first - 1].kind is not ParagraphKind.HEADING:
        yield Division(first, _NOTES, 1)


def _title_heading(pieces: Sequence[ParsedParagraph], begins: Collection[int]) -> str:
    """The first heading, where it stands over the whole text and not over the first of several chapters."""
    first = next((index for index, piece in enumerate(pieces[:3]) if piece.kind is ParagraphKind.HEADING), None)
    return pieces[first].words if first is not None and (first not in begins or len(begins) == 1) else ""


# A thousand <font> that were never closed nest; a quotation in a list in a section in a page has twenty levels.
_DEEPEST_INLINE = 60
_DEEPEST = 160
_NOT_OF_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def limit_depth(root: etree._Element) -> None:
    """Take out inline elements beyond 60 levels, then whatever is beyond 160."""
    deep = [element for element, depth in _depths(root) if depth > _DEEPEST_INLINE]
    if not deep:
        return
    for element in reversed(deep):
        if local_name(element) not in BLOCKS:
            _unwrap(element)
    for element in reversed([element for element, depth in _depths(root) if depth > _DEEPEST]):
        _unwrap(element)


def _depths(root: etree._Element) -> Iterator[tuple[etree._Element, int]]:
    """Every element with its depth, in document order."""
    depth = 0
    for event, element in etree.iterwalk(root, events=("start", "end")):
        if event == "start":
            yield element, depth
            depth += 1
        else:
            depth -= 1


def _unwrap(element: etree._Element) -> None:
    parent = element.getparent()
    if parent is None:
        return
    before = element.getprevious()
    _append_text(parent, before, element.text)
    children = list(element)
    at = parent.index(element)
    parent[at : at + 1] = children
    _append_text(parent, children[-1] if children else before, element.tail)


def _append_text(parent: etree._Element, before: etree._Element | None, text: str | None) -> None:
    if not text:
        return
    # The HTML parser lets controls through that a tree does not take back.
    if before is None:
        parent.text = _NOT_OF_XML.sub("", (parent.text or "") + text)
    else:
        before.tail = _NOT_OF_XML.sub("", (before.tail or "") + text)
