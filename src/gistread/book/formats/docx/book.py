"""Turns a Word document into a Book. Tracked changes are read as if accepted."""

import re
from collections.abc import Iterator
from dataclasses import replace

from lxml import etree

from gistread.book.formats.archive import Archive, ArchiveError
from gistread.book.formats.docx.numbering import read_numbering
from gistread.book.formats.docx.package import DocxPart, main_part, metadata_of, related_part
from gistread.book.formats.docx.runs import RunState
from gistread.book.formats.docx.styles import StyleRole, Styles, attribute, child, read_styles
from gistread.book.formats.docx.tree import BodyWriter, finish_tree, write_notes
from gistread.book.formats.elements.markup import elements_named, plain_text
from gistread.book.formats.elements.single_document import Metadata, book_from_tree
from gistread.book.formats.notices import left_out_notices
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
    body = child(main.root, "body")
    if body is None:
        raise BookError(f"{name} cannot be read as a Word document: it has no text.", _FRESH_COPY)
    parts = {kind: related_part(archive, main, kind) for kind in ("styles", "numbering", *_NOTES)}
    styles, numbering = parts["styles"], parts["numbering"]
    state = RunState(read_styles(styles.root if styles else None), main.relations)
    root = etree.Element("body")
    writer = BodyWriter(
        root, state, read_numbering(numbering.root if numbering else None), has_title=_has_title(body, state.styles)
    )
    try:
        writer.write(body)
        write_notes(writer, {_NOTES[kind]: part for kind, part in parts.items() if part and kind in _NOTES})
    except RecursionError as error:
        raise BookError(f"{name} cannot be read: it is nested too deeply.") from error
    finish_tree(root)
    metadata = metadata_of(archive)
    # The text styled as title replaces a missing title.
    heading = next(root.iter("h1"), None) if writer.has_title else None
    title = metadata.title or plain_text(heading)
    metadata = replace(metadata, title=title, language=_language(metadata, state))
    return book_from_tree(root, name, "docx", metadata, notices=tuple(_notices(writer, main)))


def _has_title(body: etree._Element, styles: Styles) -> bool:
    used = (styles.paragraphs.get(attribute(element) or "") for element in elements_named(body, "pstyle"))
    return any(style is not None and style.role is StyleRole.TITLE for style in used)


def _language(metadata: Metadata, state: RunState) -> str:
    counts = {language: count for language, count in state.characters.items() if language}
    most = max(counts, key=lambda language: counts[language], default="")
    for language in (most, metadata.language):
        if language and _fits_script(language, "".join(state.sample)):
            return language
    return ""


def _fits_script(language: str, sample: str) -> bool:
    """Whether the letters fit the script of the language."""
    letters = [char for char in sample if char.isalpha()]
    latin = sum(char < "\u0250" for char in letters)
    return (latin >= len(letters) * _LATIN_SHARE) is not bool(_NOT_LATIN.match(language))


def _notices(writer: BodyWriter, main: DocxPart) -> Iterator[str]:
    if main.repaired:
        yield "The document is not well-formed XML; the readable parts were read."
    if writer.state.changes:
        yield "The document holds tracked changes; it was read as if all of them had been accepted."
    left_out = {"word(s) in damaged markup": main.lost, "comment(s)": writer.state.comments}
    yield from left_out_notices(left_out | {"hidden word(s)": writer.state.hidden})
    if writer.unread:
        yield "Embedded documents were not read."
