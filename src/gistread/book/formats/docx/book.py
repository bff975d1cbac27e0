"""Turns a Word document into a Book. Tracked changes are read as if accepted.

Its parts are found by relationships: paths and namespaces differ between programs.
"""

import posixpath
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace

from lxml import etree

from gistread.book.builder import Metadata, left_out_notices
from gistread.book.formats.archive import Archive, ArchiveError, normalise_path
from gistread.book.formats.docx.runs import Relation, RunState, words_of_runs
from gistread.book.formats.docx.styles import (
    ParagraphStyle,
    StyleRole,
    Styles,
    read_numbering,
    read_styles,
)
from gistread.book.formats.docx.tree import BodyWriter, Note, Notes, finish_tree
from gistread.book.formats.elements.markup import (
    Tree,
    each_named,
    has_too_many_tags,
    parse_entry,
    parse_xml,
    plain_text,
)
from gistread.book.formats.elements.single_document import book_from_tree
from gistread.book.formats.encoding import decode_declared
from gistread.book.model import Book
from gistread.book.normalise import language_tag
from gistread.errors import BookError

_FRESH_COPY = "Get a fresh copy of the file."
_NOTES = {"footnotes": "footnote", "endnotes": "endnote"}
# Languages in other scripts. If the letters contradict the declared language, that is only Word's
# default.
_NOT_LATIN = re.compile(
    r"(?:ru|uk|be|bg|sr|mk|el|he|yi|ar|fa|ur|hi|bn|ta|te|th|zh|ja|ko|ka|hy|mn|kk|ky|tg)\b",
    re.I,
)
_FIRST_NOT_LATIN = "\u0250"
_SAMPLE_CHARACTERS = 40_000
# Formatting, proofing marks and printer breaks: most of the tags, and no text.
_NOISE = re.compile(
    r"<w:(?:rFonts(?![^<>]*(?:Symbol|Wingdings))|sz|szCs|color|proofErr|lastRenderedPageBreak|kern"
    r"|spacing|bCs|iCs|noProof|position|w|shd|highlight|ind|jc|keepNext|keepLines|widowControl"
    r"|contextualSpacing|autoSpaceDE|autoSpaceDN|adjustRightInd|snapToGrid|textAlignment|webHidden"
    r"|cs|effect|bdr|tcW|tcBorders|vAlign|permStart|permEnd)(?:\s[^<>]*)?/>"
)


@dataclass(frozen=True, slots=True)
class _Part:
    """A file of the document: its text, its styles, its footnotes."""

    tree: Tree
    relations: Mapping[str, Relation]  # By id


def read_docx(archive: Archive, name: str) -> Book:
    """The book in an open archive; `name` is used in messages. Raises BookError."""
    main = _main_part(archive, name)
    body = main.tree.root.find("body")
    if body is None:
        raise BookError(
            f"{name} cannot be read as a Word document: it has no text.", _FRESH_COPY
        )
    parts = _parts(archive, main)
    roots = {kind: part.tree.root for kind, part in parts.items()}
    state = RunState(read_styles(roots.get("styles")), main.relations)
    has_title = _has_title(body, state.styles)
    root = etree.Element("body")
    numbering = read_numbering(roots.get("numbering"))
    writer = BodyWriter(root, state, numbering, has_title=has_title)
    notes = _notes(parts)
    try:
        writer.write(body)
        writer.finish()
        writer.write_notes(notes)
    except RecursionError as error:
        raise BookError(f"{name} cannot be read: it is nested too deeply.") from error
    # `write_notes` has removed the notes to which a reference leads.
    unused_notes = [note.element for note in notes.values()]
    left_out = {
        "word(s) of the table of contents": finish_tree(root),
        "word(s) of unused notes": sum(map(words_of_runs, unused_notes)),
        "word(s) of page headers and footers": _furniture_words(archive, main),
        "deleted word(s)": state.deleted_words,
        "word(s) of the codes of fields": state.field_words,
        "character(s) of symbol fonts": state.unknown_symbols,
    }
    metadata = metadata_of(archive)
    if has_title and not metadata.title:
        styled_title = plain_text(root.find(".//h1"))
        metadata = replace(metadata, title=styled_title)
    metadata = replace(metadata, language=_language(metadata, state, root))
    return book_from_tree(
        root,
        name,
        "docx",
        metadata,
        notices=tuple(_notices(writer, main)),
        left_out=left_out,
    )


def _main_part(archive: Archive, name: str) -> _Part:
    path = _path_of(_relations(archive, ""), "officedocument") or "word/document.xml"
    try:
        return _part(archive, path)
    except ArchiveError as error:
        message = f"{name} cannot be read as a Word document: its text {path} {error}."
        raise BookError(message, _FRESH_COPY) from error


def _parts(archive: Archive, main: _Part) -> dict[str, _Part]:
    """The readable parts beside the text, by kind."""
    parts: dict[str, _Part] = {}
    for kind in ("styles", "numbering", *_NOTES):
        with suppress(ArchiveError):  # Missing or unreadable
            parts[kind] = _part(archive, _path_of(main.relations, kind))
    return parts


def _has_title(body: etree._Element, styles: Styles) -> bool:
    """Whether a paragraph has the style of a title."""
    for element in body.iter("pstyle"):
        style = styles.paragraphs.get(str(element.get("val")), ParagraphStyle())
        if style.role is StyleRole.TITLE:
            return True
    return False


def _notes(parts: Mapping[str, _Part]) -> Notes:
    """All footnotes and endnotes, with the relations of their files."""
    notes: Notes = {}
    for name, kind in _NOTES.items():
        if name in parts:
            part = parts[name]
            for element in part.tree.root.iterfind(kind):
                note_id = element.get("id")
                notes[kind, note_id] = Note(element, part.relations)
    return notes


def _language(metadata: Metadata, state: RunState, root: etree._Element) -> str:
    """The language of most letters, else of the document, if it fits the script of the letters."""
    sample = "".join(map(str, root.itertext()))[:_SAMPLE_CHARACTERS]
    letters = [char for char in sample if char.isalpha()]
    latin_letters = sum(char < _FIRST_NOT_LATIN for char in letters)
    is_latin = 2 * latin_letters >= len(letters)
    languages = filter(None, state.letters)  # Some runs name none
    commonest = max(languages, key=state.letters.__getitem__, default="")
    for language in (commonest, metadata.language):
        is_language_latin = not _NOT_LATIN.match(language)
        if language and is_language_latin is is_latin:
            return language
    return ""


def _notices(writer: BodyWriter, main: _Part) -> Iterator[str]:
    """Sentences about damage, about changes and about what was not read."""
    if main.tree.is_repaired:
        yield "The document is not well-formed XML; the readable parts were read."
    if writer.state.changes:
        yield "The document holds tracked changes; it was read as if all of them had been accepted."
    left_out = {
        "word(s) in damaged markup": main.tree.lost,
        "comment(s)": writer.state.comments,
        "hidden word(s)": writer.state.hidden_words,
    }
    yield from left_out_notices(left_out)
    if writer.unread:
        yield "Embedded documents were not read."


def _furniture_words(archive: Archive, main: _Part) -> int:
    """Words of the headers and footers of pages, each file once."""
    paths = {
        relation.target
        for relation in main.relations.values()
        if relation.kind in ("header", "footer")
    }
    words = 0
    for path in sorted(paths):
        with suppress(ArchiveError):
            words += words_of_runs(_part(archive, path).tree.root)
    return words


def metadata_of(archive: Archive) -> Metadata:
    """Title, authors and language in the properties of a document, where it states them."""
    path = _path_of(_relations(archive, ""), "core-properties") or "docProps/core.xml"
    root = parse_entry(archive, path)
    if root is None:
        return Metadata()
    properties = {element.tag: plain_text(element) for element in root}
    title = properties.get("title", "")
    if title.lower().startswith("microsoft word -"):
        # The name of a file that was printed.
        title = ""
    creators = properties.get("creator", "").split(";")
    names = (name.strip() for name in creators)
    return Metadata(
        title=title,
        authors=tuple(dict.fromkeys(filter(None, names))),
        language=language_tag(properties.get("language", "")),
    )


def _part(archive: Archive, path: str) -> _Part:
    """Raises ArchiveError."""
    decoded = decode_declared(archive.read(path))
    text = _NOISE.sub("", decoded.text) if decoded else ""
    if has_too_many_tags(text):
        raise ArchiveError("has more tags than any book")
    tree = parse_xml(text)
    if tree is None:
        raise ArchiveError("is not XML")
    return _Part(tree, _relations(archive, path))


def _path_of(relations: Mapping[str, Relation], kind: str) -> str:
    """The path of the first part of a kind; empty if there is none."""
    for relation in relations.values():
        if relation.kind == kind and not relation.is_external:
            return relation.target
    return ""


def _relations(archive: Archive, path: str) -> dict[str, Relation]:
    """The relations of a part by id; of the whole document for an empty path."""
    folder, name = posixpath.split(path)
    root = parse_entry(archive, posixpath.join(folder, "_rels", f"{name}.rels"))
    relations = {}
    for element in each_named(root, "relationship"):
        target = element.get("target", "")
        external = element.get("targetmode", "").lower() == "external"
        if not external:
            target = normalise_path(posixpath.join(folder, target))
        kind = element.get("type", "").rpartition("/")[2].lower()
        relations[element.get("id", "")] = Relation(kind, target, external)
    return relations
