"""Builds a book from one XHTML tree. Every marked-up format except EPUB is translated to one."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath
from types import MappingProxyType

from lxml import etree

from gistread.book.builder import BookBuilder, ChapterStart
from gistread.book.formats.elements.linking import anchor_in_document, assemble, resolve_links
from gistread.book.formats.elements.markup import NOT_IN_XML, local_name
from gistread.book.formats.elements.paragraphs import ParsedParagraph
from gistread.book.formats.elements.section_headings import HeadingParagraph, find_chapters
from gistread.book.formats.elements.semantics import BLOCKS
from gistread.book.formats.elements.xhtml import XhtmlDocument, read_document
from gistread.book.formats.gutenberg import find_bounds
from gistread.book.formats.notices import left_out_notices
from gistread.book.formats.outline import outline
from gistread.book.formats.text_blocks import TextBlock
from gistread.book.model import Book, ParagraphKind
from gistread.errors import BookError


@dataclass(frozen=True, slots=True)
class Metadata:
    title: str = ""
    authors: tuple[str, ...] = ()
    language: str = ""
    identifiers: tuple[str, ...] = ()
    cover: str = ""


@dataclass(frozen=True, slots=True)
class Section:
    """A chapter named by the format, which starts at the id `anchor`."""

    anchor: str
    title: str
    level: int


_NOTES = "Notes"


def book_from_tree(
    root: etree._Element,
    name: str,
    source_format: str,
    metadata: Metadata,
    *,
    sections: Sequence[Section] = (),
    notices: Sequence[str] = (),
    left_out: Mapping[str, int] = MappingProxyType({}),
) -> Book:
    """Build the book of a tree, which is modified. Chapters start at `sections`, else at headings. Raises BookError."""
    limit_depth(root)
    document = read_document(root, metadata.language)
    first, end, framed = find_bounds([paragraph.words for paragraph in document.paragraphs])
    document = _section(document, first, end)
    if not (document.paragraphs and document.has_words):
        raise BookError(f"{name} has no readable text.")
    title = framed.title or metadata.title
    links = resolve_links({name: document}, anchor_in_document)
    document = links.documents[name]
    chapters = _chapters(document, sections, title, framed.authors or metadata.authors)
    builder = BookBuilder()
    resolve = assemble(builder, links, {name: chapters})
    if not builder.characters:  # only controls and spaces
        raise BookError(f"{name} has no readable text.")
    return builder.build(
        title=title or _title_heading(document.paragraphs, {each.index for each in chapters}) or PurePath(name).stem,
        authors=framed.authors or metadata.authors,
        language=metadata.language or document.language or framed.language,
        source_format=source_format,
        notices=(*notices, *left_out_notices(document.left_out + Counter(left_out))),
        identifiers=metadata.identifiers,
        cover=metadata.cover,
        resolve=resolve,
    )


def _section(document: XhtmlDocument, first: int, end: int) -> XhtmlDocument:
    if (first, end) == (0, len(document.paragraphs)):
        return document
    return replace(
        document,
        paragraphs=document.paragraphs[first:end],
        anchors={name: at - first for name, at in document.anchors.items() if first <= at < end},
        ends={name: min(at, end) - first for name, at in document.ends.items() if first <= at},
        notes=tuple((a - first, min(b, end) - first) for a, b in document.notes if first <= a < end),
    )


def _chapters(
    document: XhtmlDocument, sections: Sequence[Section], title: str, authors: Sequence[str]
) -> list[ChapterStart]:
    paragraphs = document.paragraphs
    if sections:
        anchors = document.anchors
        return [ChapterStart(anchors[one.anchor], one.title, one.level) for one in sections if one.anchor in anchors]
    headings = [
        HeadingParagraph(index, paragraph.words, paragraph.level)
        for index, paragraph in enumerate(paragraphs)
        if paragraph.kind is ParagraphKind.HEADING
    ]
    if headings:
        found = list(find_chapters(headings, title, authors))
    else:
        blocks = [TextBlock(tuple(paragraph.words.split("\n")), paragraph.kind, 2) for paragraph in paragraphs]
        found = list(outline(blocks).chapters)
    # Notes at the end without a heading of their own are not part of the last chapter.
    first = len(paragraphs)
    while first and paragraphs[first - 1].kind in (ParagraphKind.NOTE, ParagraphKind.BREAK):
        first -= 1
    if 0 < first < len(paragraphs) and paragraphs[first - 1].kind is not ParagraphKind.HEADING:
        found.append(ChapterStart(first, _NOTES, 1))
    return found


def _title_heading(paragraphs: Sequence[ParsedParagraph], starts: Collection[int]) -> str:
    first = next(
        (index for index, paragraph in enumerate(paragraphs[:3]) if paragraph.kind is ParagraphKind.HEADING), None
    )
    return paragraphs[first].words if first is not None and (first not in starts or len(starts) == 1) else ""


# Thousands of unclosed <font> nest; real pages have about twenty levels.
_DEEPEST_INLINE = 60
_DEEPEST = 160


def limit_depth(root: etree._Element) -> None:
    """Unwrap inline elements below 60 levels, then all elements below 160."""
    deep = _elements_below(_DEEPEST_INLINE, root)
    for element in reversed(deep):
        if local_name(element) not in BLOCKS:
            _unwrap(element)
    for element in reversed(_elements_below(_DEEPEST, root) if deep else []):
        _unwrap(element)


def _elements_below(level: int, root: etree._Element) -> list[etree._Element]:
    depth = 0
    found = []
    for event, element in etree.iterwalk(root, events=("start", "end")):
        if event == "start" and depth > level:
            found.append(element)
        depth += 1 if event == "start" else -1
    return found


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
    # The HTML parser accepts control characters that a tree rejects.
    if before is None:
        parent.text = NOT_IN_XML.sub("", (parent.text or "") + text)
    else:
        before.tail = NOT_IN_XML.sub("", (before.tail or "") + text)
