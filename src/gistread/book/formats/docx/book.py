"""Turns a Word document into a Book. Tracked changes are read as if accepted."""

import re
from collections.abc import Iterator
from dataclasses import replace

from lxml import etree

from gistread.book.builder import left_out_notices
from gistread.book.formats.archive import Archive, ArchiveError
from gistread.book.formats.docx.numbering import read_numbering
from gistread.book.formats.docx.package import DocxPart, main_part, metadata_of, related_part
from gistread.book.formats.docx.runs import RunState
from gistread.book.formats.docx.styles import ParagraphStyle, StyleRole, read_styles
from gistread.book.formats.docx.tree import BodyWriter, finish_tree, write_notes
from gistread.book.formats.elements.markup import plain_text
from gistread.book.formats.elements.single_document import Metadata, book_from_tree
from gistread.book.model import Book
from gistread.errors import BookError

_FRESH_COPY = "Get a fresh copy of the file."
_NOTES = {"footnotes": "footnote", "endnotes": "endnote"}
# Languages in other scripts. If the letters contradict the declared language, it is Word's default.
_LATIN_SHARE = 0.5
_NOT_LATIN = re.compile(r"(?:ru|uk|be|bg|sr|mk|el|he|yi|ar|fa|ur|hi|bn|ta|te|th|zh|ja|ko|ka|hy|mn|kk|ky|tg)\b", re.I)


def read_docx(archive: Archive, name: str) -> Book:
    """The book in an open archive; `name` is used in messages. Raises BookError."""
    try:
        main = main_part(archive)
    except ArchiveError as error:
        raise BookError(f"{name} cannot be read as a Word document: {error}.", _FRESH_COPY) from error
    body = main.root.find("body")
    if body is None:
        raise BookError(f"{name} cannot be read as a Word document: it has no text.", _FRESH_COPY)
    parts = {kind: related_part(archive, main, kind) for kind in ("styles", "numbering", *_NOTES)}
    styles, numbering = ((part.root if part else None) for part in (parts["styles"], parts["numbering"]))
    state = RunState(read_styles(styles), main.relations)
    used = (state.styles.paragraphs.get(each.get("val", ""), ParagraphStyle()) for each in body.iter("pstyle"))
    root = etree.Element("body")
    writer = BodyWriter(
        root, state, read_numbering(numbering), has_title=any(style.role is StyleRole.TITLE for style in used)
    )
    try:
        writer.write(body)
        write_notes(writer, {_NOTES[kind]: part for kind, part in parts.items() if part and kind in _NOTES})
    except RecursionError as error:
        raise BookError(f"{name} cannot be read: it is nested too deeply.") from error
    finish_tree(root)
    metadata = metadata_of(archive)
    # The text styled as title replaces a missing title.
    title = metadata.title or (plain_text(root.find(".//h1")) if writer.has_title else "")
    metadata = replace(metadata, title=title, language=_language(metadata, state))
    return book_from_tree(root, name, "docx", metadata, notices=tuple(_notices(writer, main)))


def _language(metadata: Metadata, state: RunState) -> str:
    """The language of most letters, or of the document, that fits the script of the letters."""
    letters = [char for char in "".join(state.sample) if char.isalpha()]
    is_latin = sum(char < "\u0250" for char in letters) >= len(letters) * _LATIN_SHARE
    most = max(filter(None, state.characters), key=lambda language: state.characters[language], default="")
    fitting = (each for each in (most, metadata.language) if each and is_latin is not bool(_NOT_LATIN.match(each)))
    return next(fitting, "")


def _notices(writer: BodyWriter, main: DocxPart) -> Iterator[str]:
    if main.repaired:
        yield "The document is not well-formed XML; the readable parts were read."
    if writer.state.changes:
        yield "The document holds tracked changes; it was read as if all of them had been accepted."
    left_out = {"word(s) in damaged markup": main.lost, "comment(s)": writer.state.comments}
    yield from left_out_notices(left_out | {"hidden word(s)": writer.state.hidden})
    if writer.unread:
        yield "Embedded documents were not read."
