"""Reads FictionBook 2 (FB2) by translating it to XHTML, even if slightly malformed."""

import base64
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from lxml import etree

from gistread.book.builder import Metadata
from gistread.book.formats.elements.markup import (
    append_text_before,
    parse_xml,
    plain_text,
)
from gistread.book.formats.elements.omissions import words_in
from gistread.book.formats.elements.semantics import EPUB_TYPE, HEADINGS, has_own_text
from gistread.book.formats.elements.single_document import Section, book_from_tree
from gistread.book.formats.encoding import decode_declared, encoding_notices
from gistread.book.formats.text_blocks import is_break
from gistread.book.model import Book
from gistread.book.normalise import join_title, language_tag, word_set
from gistread.errors import BookError
from gistread.words import count_words

# '<binary id="cover.jpg">/9j/4AAQ…</binary>'. Pictures are most of the bytes of a file, and a
# parser would keep them all.
_BINARY = re.compile(
    r"<(?:\w+:)?binary\b(?P<attributes>[^>]*)>(?P<content>[^<]*)</(?:\w+:)?binary\s*>",
    re.IGNORECASE,
)
_BASE64 = re.compile(r"[A-Za-z0-9+/=\s]*")
_BINARY_ID = re.compile(r"""\bid\s*=\s*["']([^"']*)["']""", re.IGNORECASE)


def read_fb2(data: bytes, name: str) -> Book:
    """The book in `data`; `name` is used in messages. Raises BookError."""
    decoded = decode_declared(data)
    if decoded is None:
        raise _invalid_error(name)
    tree = parse_xml(_BINARY.sub(_without_picture, decoded.text))
    if tree is None:
        raise _invalid_error(name)
    notices = list(encoding_notices(decoded))
    if tree.is_repaired:
        notices.append("The file is not well-formed XML; the readable parts were read.")
    metadata = _metadata(tree.root)
    annotations = tree.root.iterfind(_ANNOTATION)
    left_out = {
        "word(s) in damaged markup": tree.lost,
        "word(s) of the annotation": sum(map(words_in, annotations)),
    }
    parts = [part for part in tree.root if part.tag not in _NOT_TEXT]
    if tree.root.find("body") is None:
        notices.append("The file has no <body>; all its text was read.")
    elif has_own_text(tree.root):
        left_out["word(s) outside the text"] = _words_between(tree.root)
    target, sections = _translate(tree.root, parts)
    return book_from_tree(
        target,
        name,
        "fb2",
        metadata,
        sections=sections,
        notices=notices,
        left_out=left_out,
    )


def _invalid_error(name: str) -> BookError:
    return BookError(f"{name} cannot be read: it is not a valid FictionBook.")


def _translate(
    root: etree._Element, parts: Sequence[etree._Element]
) -> tuple[etree._Element, list[Section]]:
    """XHTML of the bodies and of other elements beside them, and the chapters."""
    _mark_breaks(root)
    references = root.iterfind(".//a[@type='note']")
    note_ids = {link.get("href", "").removeprefix("#") for link in references}
    translator = _Translator()
    target = etree.Element("body")
    for index, part in enumerate(parts):
        is_first = index == 0
        # Links of type "note" may lead to a later body without a known name.
        section_ids = [section.get("id") for section in part.iterfind("section")]
        has_notes = not is_first and not note_ids.isdisjoint(section_ids)
        is_named_notes = (part.get("name") or "").lower() in _NOTE_BODIES
        if part.tag == "body" and (has_notes or is_named_notes):
            translator.notes(part)
        else:
            translator.body(part, first=is_first)
        target.append(part)
    return target, translator.sections


def _words_between(element: etree._Element) -> int:
    """The number of words between the children of an element."""
    texts = (element.text, *(child.tail for child in element))
    return sum(count_words(text) for text in texts if text)


def _without_picture(match: re.Match[str]) -> str:
    """Nothing for a picture; an element with other content stays."""
    lines = match["content"].split()
    # Words of a text may be valid base64 too, but have different lengths.
    has_even_lines = len({len(line) for line in lines[:-1]}) <= 1
    is_base64 = _BASE64.fullmatch(match["content"])
    if has_even_lines and is_base64 and _BINARY_ID.search(match["attributes"]):
        return ""
    return match[0]


def read_binary(data: bytes, name: str) -> bytes | None:
    """The bytes of the picture with the id `name`; None if it is missing or damaged."""
    decoded = decode_declared(data)
    if decoded is None:
        return None
    for match in _BINARY.finditer(decoded.text):
        binary_id = _BINARY_ID.search(match["attributes"])
        if binary_id and binary_id[1] == name:
            encoded = "".join(match["content"].split())
            try:
                return base64.b64decode(encoded, validate=False)
            except ValueError:
                return None
    return None


def _metadata(root: etree._Element) -> Metadata:
    info = root.find(".//title-info")
    if info is None:
        return Metadata()
    image = info.find(".//coverpage//image")
    cover = "" if image is None else image.get("href", "").removeprefix("#")
    names = map(_name, info.iterfind("author"))
    return Metadata(
        title=plain_text(info.find(".//book-title")),
        authors=tuple(dict.fromkeys(filter(None, names))),
        language=language_tag(plain_text(info.find(".//lang"))),
        cover=cover,
    )


def _name(author: etree._Element) -> str:
    """First, middle and last name of an author; the nickname if there is no other."""
    elements = map(author.find, ("first-name", "middle-name", "last-name"))
    name = " ".join(filter(None, map(plain_text, elements)))
    return name or plain_text(author.find("nickname"))


_NOTE_BODIES = frozenset(
    ("notes", "note", "comments", "comment", "footnotes", "footnote", "endnotes")
)
_ANNOTATION = "description/title-info/annotation"
_NOT_TEXT = frozenset(("description", "stylesheet", "binary"))
# XHTML elements by the name in FictionBook.
_SAME_NAMES = word_set("strong sub sup code p table tr td th hr") | HEADINGS.keys()
_TAGS = {
    **{name: name for name in _SAME_NAMES},
    **{
        "emphasis": "em",
        "strikethrough": "s",
        "text-author": "p",
        "date": "p",
        "v": "div",
    },
    **dict.fromkeys(("cite", "epigraph", "annotation"), "blockquote"),
}
_DEEPEST_HEADING = 6
# Empty lines are scene breaks if there is at most one for this many paragraphs; more are spacing.
_PARAGRAPHS_FOR_ONE_BREAK = 6


def _mark_breaks(root: etree._Element) -> None:
    """Make scene breaks of the empty lines between two paragraphs."""
    empty_lines = list(root.iter("empty-line"))
    paragraphs = sum(1 for _ in root.iter("p"))
    are_breaks = len(empty_lines) * _PARAGRAPHS_FOR_ONE_BREAK <= paragraphs
    for line in empty_lines:
        is_between = _is_paragraph(line.getprevious()) and _is_paragraph(line.getnext())
        is_break = are_breaks and is_between and not plain_text(line)
        line.tag = "hr" if is_break else "span"


def _is_paragraph(element: etree._Element | None) -> bool:
    return element is not None and element.tag == "p"


@dataclass(slots=True)
class _Translator:
    """Turns bodies into XHTML, in place. Every section with a title is a chapter."""

    sections: list[Section] = field(default_factory=list)

    def body(self, body: etree._Element, *, first: bool) -> None:
        """Translate a body; the first one's title is the book's and starts no chapter."""
        _rename(body, "section")
        depth = 0 if first else 1
        if not first:
            self._chapter(body, depth)
        self._children(body, depth)

    def notes(self, body: etree._Element) -> None:
        """Translate a body of notes, one to a section."""
        _rename(body, "section", {EPUB_TYPE: "footnotes"})
        self._chapter(body, 1, default="Notes")
        for child in body:
            self._note(child, 1)

    def _note(self, section: etree._Element, depth: int) -> None:
        """Translate a note, the notes of one chapter, or what stands between notes."""
        if section.tag != "section":
            self._element(section, depth)
        elif not section.get("id") and section.find("section") is not None:
            # The notes of one chapter.
            _rename(section, "div")
            for child in section:
                self._note(child, depth=2)
        else:
            _rename(section, "aside", {EPUB_TYPE: "footnote"})
            label = _take_titles(section)
            self._children(section, _DEEPEST_HEADING)
            if label:
                _begin_with(section, label)

    def _chapter(self, section: etree._Element, level: int, default: str = "") -> None:
        """Record a section as a chapter, if it has a title."""
        title = _title_of(section) or default
        if not title:
            return
        section_id = section.get("id") or f"section {len(self.sections)}"
        section.set("id", section_id)
        self.sections.append(Section(section_id, title, level))

    def _children(self, element: etree._Element, depth: int) -> None:
        for child in element:
            self._element(child, depth)

    def _element(self, element: etree._Element, depth: int) -> None:
        """Translate an element with all inside it. `depth`: number of enclosing sections."""
        name = element.tag
        if name == "section":
            _rename(element, "section")
            self._chapter(element, depth + 1)
            depth += 1
        elif name == "title":
            # Each paragraph becomes a heading: a number, and a name below it.
            _rename(element, "div")
            for child in element.iterfind("p"):
                child.tag = _heading(max(depth, 1))
        elif name == "subtitle":
            is_heading = depth and not is_break(plain_text(element))
            _rename(element, _heading(depth + 1) if is_heading else "p")
        elif name == "poem":
            self._poem(element, depth)
            return
        elif name == "image":
            _rename_image(element)
        elif name == "a":
            attributes = {"href": element.get("href", "")}
            if element.get("type") == "note":
                attributes[EPUB_TYPE] = "noteref"
            _rename(element, "a", attributes)
        else:
            _rename(element, _TAGS.get(str(name), "span"))
        self._children(element, depth)

    def _poem(self, poem: etree._Element, depth: int) -> None:
        """Translate a poem. Its author and date become a quotation after it."""
        _rename(poem, "div", {"class": "poem"})
        signatures = [child for child in poem if child.tag in ("text-author", "date")]
        for child in list(poem):
            if child.tag == "stanza":
                self._stanza(child, depth)
            elif child.tag == "title":
                self._element(child, _DEEPEST_HEADING)
            else:
                self._element(child, depth)
        # Each comes right after the poem: the last one first.
        for signature in reversed(signatures):
            quote = etree.Element("blockquote")
            append_text_before(signature, " ")
            quote.append(signature)
            poem.addnext(quote)

    def _stanza(self, stanza: etree._Element, depth: int) -> None:
        """Translate a stanza. Its headings move before it."""
        headings = [child for child in stanza if child.tag in ("title", "subtitle")]
        for heading in headings:
            stanza.addprevious(heading)
            self._element(heading, _DEEPEST_HEADING)
        _rename(stanza, "div", {"class": "stanza"})
        for line in stanza:
            self._element(line, depth)
            line.tag = "div"


def _title_of(section: etree._Element) -> str:
    """Number and name in one line; empty if there is none."""
    title = section.find("title")
    if title is None:
        return ""
    parts = list(filter(None, map(plain_text, title)))
    if not parts:
        return plain_text(title)
    return join_title(parts)


def _take_titles(note: etree._Element) -> str:
    """Remove the titles of a note. Returns their words."""
    titles = note.findall("title")
    for title in titles:
        append_text_before(title, title.tail)
        note.remove(title)
    return " ".join(map(plain_text, titles))


def _begin_with(note: etree._Element, label: str) -> None:
    """Put the number of a note before its first paragraph."""
    first = note.find("p")
    if first is None:
        first = etree.Element("p")
        note.insert(0, first)
    joint = " " if label[-1] in ".])*†‡§" else ". "
    first.text = f"{label}{joint}{first.text or ''}"


def _heading(level: int) -> str:
    return f"h{min(level, _DEEPEST_HEADING)}"


def _rename_image(image: etree._Element) -> None:
    attributes = {"src": image.get("href", "").removeprefix("#")}
    description = image.get("alt") or image.get("title")
    if description:
        attributes["alt"] = description
    _rename(image, "img", attributes)


def _rename(
    element: etree._Element,
    tag: str,
    attributes: Mapping[str, str] = MappingProxyType({}),
) -> None:
    """Turn an element of FictionBook into one of XHTML. It keeps its id and language."""
    element_id = element.get("id")
    language = element.get("lang")
    element.attrib.clear()
    if element_id:
        element.set("id", element_id)
    if language:
        element.set("lang", language)
    for key, value in attributes.items():
        element.set(key, value)
    element.tag = tag
