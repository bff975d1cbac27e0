"""Turns a Word document into a Book. Tracked changes are read as if accepted.

Its parts are found by relationships: paths and namespaces differ between programs.
"""

import posixpath
import re
from collections import Counter
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
from gistread.book.formats.docx.tree import BodyWriter, Notes, finish_tree
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
# Languages in other scripts. If the letters contradict the declared language, it is Word's default.
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
    writer = BodyWriter(
        root, state, read_numbering(roots.get("numbering")), has_title=has_title
    )
    notes = _notes(parts)
    try:
        writer.write(body)
        writer.finish()
        writer.write_notes(notes)
    except RecursionError as error:
        raise BookError(f"{name} cannot be read: it is nested too deeply.") from error
    left_out = Counter({"word(s) of the table of contents": finish_tree(root)})
    left_out["word(s) of unused notes"] = sum(
        words_of_runs(note) for note, _ in notes.values()
    )
    left_out["word(s) of page headers and footers"] = _furniture_words(archive, main)
    metadata = metadata_of(archive)
    # The text styled as title replaces a missing title.
    title = metadata.title
    if has_title and not title:
        title = plain_text(root.find(".//h1"))
    metadata = replace(metadata, title=title, language=_language(metadata, state, root))
    return book_from_tree(
        root,
        name,
        "docx",
        metadata,
        notices=tuple(_notices(writer, main)),
        left_out=left_out + _left_out(state),
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
    names = (str(each.get("val")) for each in body.iter("pstyle"))
    used = (styles.paragraphs.get(name, ParagraphStyle()) for name in names)
    return any(style.role is StyleRole.TITLE for style in used)


def _notes(parts: Mapping[str, _Part]) -> Notes:
    notes: Notes = {}
    for name, kind in _NOTES.items():
        if name in parts:
            part = parts[name]
            for note in part.tree.root.iterfind(kind):
                notes[kind, note.get("id")] = (note, part.relations)
    return notes


def _language(metadata: Metadata, state: RunState, root: etree._Element) -> str:
    """The language of most letters, or of the document, that fits the script of the letters."""
    sample = "".join(map(str, root.itertext()))[:_SAMPLE_CHARACTERS]
    letters = [char for char in sample if char.isalpha()]
    is_latin = 2 * sum(char < _FIRST_NOT_LATIN for char in letters) >= len(letters)
    marked = filter(None, state.characters)
    of_most = max(marked, key=state.characters.__getitem__, default="")
    for language in (of_most, metadata.language):
        if language and is_latin is not bool(_NOT_LATIN.match(language)):
            return language
    return ""


def _notices(writer: BodyWriter, main: _Part) -> Iterator[str]:
    if main.tree.repaired:
        yield "The document is not well-formed XML; the readable parts were read."
    if writer.state.changes:
        yield "The document holds tracked changes; it was read as if all of them had been accepted."
    left_out = {
        "word(s) in damaged markup": main.tree.lost,
        "comment(s)": writer.state.comments,
    }
    yield from left_out_notices(left_out | {"hidden word(s)": writer.state.hidden})
    if writer.unread:
        yield "Embedded documents were not read."


def _left_out(state: RunState) -> Counter[str]:
    return Counter(
        {
            "deleted word(s)": state.deleted,
            "word(s) of the codes of fields": state.field_words,
            "character(s) of symbol fonts": state.unknown_symbols,
        }
    )


def _furniture_words(archive: Archive, main: _Part) -> int:
    """Words of the headers and footers of pages, each file once."""
    kinds = ("header", "footer")
    paths = {each.target for each in main.relations.values() if each.kind in kinds}
    words = 0
    for path in sorted(paths):
        with suppress(ArchiveError):
            words += words_of_runs(_part(archive, path).tree.root)
    return words


def metadata_of(archive: Archive) -> Metadata:
    path = _path_of(_relations(archive, ""), "core-properties") or "docProps/core.xml"
    root = parse_entry(archive, path)
    if root is None:
        return Metadata()
    properties = {element.tag: plain_text(element) for element in root}
    title = properties.get("title", "")
    # It is the name of a printed file.
    if title.lower().startswith("microsoft word -"):
        title = ""
    names = (name.strip() for name in properties.get("creator", "").split(";"))
    return Metadata(
        title=title,
        authors=tuple(dict.fromkeys(filter(None, names))),
        language=language_tag(properties.get("language", "")),
    )


def _part(archive: Archive, path: str) -> _Part:
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
    inside = (relation for relation in relations.values() if not relation.external)
    return next((relation.target for relation in inside if relation.kind == kind), "")


def _relations(archive: Archive, path: str) -> dict[str, Relation]:
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
