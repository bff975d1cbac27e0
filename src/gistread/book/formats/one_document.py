"""A book whose whole text is one tree of XHTML: its paragraphs, its chapters, and the places its links mean.

Formats other than EPUB are translated into such a tree and end here, so that a list, a poem or a note is the same in
all of them. Knows nothing of files and of no format but the tree.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from urllib.parse import unquote

from lxml import etree

from gistread.book.builder import BookBuilder, Target
from gistread.book.formats.gutenberg import Frame, frame
from gistread.book.formats.layout import Block
from gistread.book.formats.outline import outline
from gistread.book.formats.pieces import Piece
from gistread.book.formats.section_headings import Division, HeadingPiece, divisions
from gistread.book.formats.shallow import make_shallow
from gistread.book.formats.xhtml import Document, read_document
from gistread.book.inline import Mark
from gistread.book.model import Book, Kind
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
    make_shallow(root)
    document = read_document(root, metadata.language)
    framed = frame([piece.words for piece in document.pieces])
    title = framed.title or metadata.title
    builder = BookBuilder()
    starts = _fill(builder, document, framed, _divisions(document, framed, sections, title))
    if not (builder.characters and document.has_words):
        raise BookError(f"{name} has no text in it that can be read.")
    return builder.build(
        title=title or _first_heading(document, framed) or PurePath(name).stem,
        authors=framed.authors or metadata.authors,
        language=metadata.language or document.language or framed.language,
        source_format=source_format,
        notices=tuple(notices),
        identifiers=metadata.identifiers,
        cover=metadata.cover,
        resolve=lambda mark: _place(mark, document, starts, name, builder.characters),
    )


def _fill(builder: BookBuilder, document: Document, framed: Frame, found: Sequence[Division]) -> list[int]:
    """Where each piece begins in the text, or would; and at last where the text ends."""
    starts = [0] * framed.first
    marks: dict[int, list[Division]] = {}
    for division in found:
        marks.setdefault(division.index, []).append(division)
    for index in range(framed.first, framed.end):
        for division in marks.get(index, ()):
            builder.chapter(division.title, division.level)
        piece = document.pieces[index]
        starts.append(builder.next_start)
        builder.add(piece.text, piece.kind, piece.level, lines=piece.lines, marks=piece.marks)
    return [*starts, *[builder.next_start] * (len(document.pieces) - framed.end + 1)]


def _place(mark: Mark, document: Document, starts: Sequence[int], name: str, length: int) -> Target | None:
    """The place in the book that a link means; None where it leads elsewhere or to nothing."""
    page, _, fragment = mark.href.partition("#")
    if page and unquote(page).rpartition("/")[2] != name:
        return None
    anchor = next((each for each in (fragment, unquote(fragment)) if each in document.anchors), None)
    if anchor is None:
        # Without a fragment, or with that of HTML itself, it leads to the start of the document.
        return Target(0) if fragment in ("", "top") and not page.startswith(("http:", "https:")) else None
    index = document.anchors[anchor]
    if starts[index] >= length:
        return None
    note = next(((first, last) for first, last in document.notes if first <= index < last), None)
    end = note[1] if note else document.ends.get(anchor, index + 1) if mark.is_note else None
    return Target(starts[index], max(starts[index], min(length, starts[end] - 2)) if end else None)


def _divisions(document: Document, framed: Frame, sections: Sequence[Section], title: str) -> list[Division]:
    pieces = document.pieces
    if sections:
        anchors = document.anchors
        return [Division(anchors[one.anchor], one.title, one.level) for one in sections if one.anchor in anchors]
    headings = [
        HeadingPiece(index, pieces[index].words, pieces[index].level)
        for index in range(framed.first, framed.end)
        if pieces[index].kind is Kind.HEADING
    ]
    found = list(divisions(headings, title)) if headings else list(_by_words(pieces, framed))
    return [*found, *_notes(pieces, framed)]


def _by_words(pieces: Sequence[Piece], framed: Frame) -> Iterator[Division]:
    """For a document that marks no heading as one: what a plain text with these paragraphs would have."""
    blocks = [Block(tuple(piece.words.split("\n")), piece.kind, 2) for piece in pieces[framed.first : framed.end]]
    for heading in outline(blocks).headings:
        yield Division(framed.first + heading.index, heading.title, heading.level)


def _notes(pieces: Sequence[Piece], framed: Frame) -> Iterator[Division]:
    """The notes at the end of a document, where no heading stands over them: they are not part of the last chapter."""
    first = framed.end
    while first > framed.first and pieces[first - 1].kind in (Kind.NOTE, Kind.BREAK):
        first -= 1
    if framed.first < first < framed.end and pieces[first - 1].kind is not Kind.HEADING:
        yield Division(first, _NOTES, 1)


def _first_heading(document: Document, framed: Frame) -> str:
    pieces = document.pieces[framed.first : framed.end][:3]
    return next((piece.words for piece in pieces if piece.kind is Kind.HEADING), "")
