"""Builds a book from one XHTML tree. Every marked-up format except EPUB is translated to one."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath
from types import MappingProxyType

from lxml import etree

from gistread.book.builder import BookBuilder, ChapterStart, left_out_notices
from gistread.book.formats.elements.linking import anchor_in_document, assemble, resolve_links
from gistread.book.formats.elements.section_headings import HeadingParagraph, find_chapters
from gistread.book.formats.elements.xhtml import XhtmlDocument, read_document
from gistread.book.formats.gutenberg import find_bounds
from gistread.book.formats.outline import outline
from gistread.book.formats.text_blocks import TextBlock
from gistread.book.model import Book, ParagraphKind
from gistread.errors import BookError


@dataclass(frozen=True, slots=True)
class Metadata:
    title: str = ""
    authors: tuple[str, ...] = ()
    language: str = ""
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
    """Build the book of a tree. Chapters start at `sections`, else at headings. Raises BookError."""
    document = read_document(root, metadata.language)
    begin, end, framed = find_bounds([paragraph.words for paragraph in document.paragraphs])
    document = _section(document, begin, end)
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
    starts = {each.index for each in chapters}
    first_headings = (n for n, each in enumerate(document.paragraphs[:3]) if each.kind is ParagraphKind.HEADING)
    first = next(first_headings, None)
    if not title and first is not None and (first not in starts or len(starts) == 1):
        title = document.paragraphs[first].words
    return builder.build(
        title=title or PurePath(name).stem,
        authors=framed.authors or metadata.authors,
        language=metadata.language or document.language or framed.language,
        source_format=source_format,
        notices=(*notices, *left_out_notices(document.left_out + Counter(left_out))),
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
