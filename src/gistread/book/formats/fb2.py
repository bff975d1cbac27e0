"""Reads FictionBook 2 (FB2) by translating it to XHTML, even if slightly malformed."""

import base64
import binascii
import re
from dataclasses import dataclass, field

from lxml import etree

from gistread.book.formats.elements.markup import append_text, parse_xml, plain_text
from gistread.book.formats.elements.semantics import EPUB_TYPE
from gistread.book.formats.elements.single_document import Metadata, Section, book_from_tree
from gistread.book.formats.encoding import decode_declared, encoding_notices
from gistread.book.formats.text_blocks import is_break
from gistread.book.model import Book
from gistread.book.normalise import join_title, language_tag
from gistread.errors import BookError

# Pictures are most of the bytes; a parser would keep them all.
_BINARY = re.compile(r"<(?:\w+:)?binary\b([^>]*)>([^<]*)</(?:\w+:)?binary\s*>", re.IGNORECASE)
_BINARY_ID = re.compile(r"""\bid\s*=\s*["']([^"']*)["']""", re.IGNORECASE)


def read_fb2(data: bytes, name: str) -> Book:
    """The book in `data`; `name` is used in messages. Raises BookError."""
    decoded = decode_declared(data)
    tree = parse_xml(_BINARY.sub("", decoded.text)) if decoded else None
    if decoded is None or tree is None:
        raise BookError(f"{name} cannot be read: it is not a valid FictionBook.")
    notices = list(encoding_notices(decoded))
    if tree.repaired:
        notices.append("The file is not well-formed XML; the readable parts were read.")
    bodies = tree.root.findall("body")
    if not bodies:
        notices.append("The file has no <body>; all its text was read.")
    empty, paragraphs = (sum(1 for _ in tree.root.iter(name)) for name in ("empty-line", "p"))
    translator = _Translator(empty * _PARAGRAPHS_FOR_ONE_EMPTY_LINE <= paragraphs)
    target = etree.Element("body")
    for number, body in enumerate(bodies or [tree.root]):
        if (body.get("name") or "").lower() in _NOTE_BODIES or (number and _is_of_notes(body, tree.root)):
            translator.notes(body, target)
        else:
            translator.body(body, target, first=not number)
    metadata = _metadata(tree.root)
    left_out = {"word(s) in damaged markup": tree.lost}
    return book_from_tree(
        target, name, "fb2", metadata, sections=translator.sections, notices=notices, left_out=left_out
    )


def read_binary(data: bytes, name: str) -> bytes | None:
    decoded = decode_declared(data)
    for match in _BINARY.finditer(decoded.text if decoded else ""):
        named = _BINARY_ID.search(match[1])
        if named and named[1] == name:
            try:
                return base64.b64decode("".join(match[2].split()), validate=False)
            except (binascii.Error, ValueError):
                return None
    return None


def _metadata(root: etree._Element) -> Metadata:
    info = root.find(".//title-info")
    if info is None:
        return Metadata()
    image = info.find(".//coverpage//image")
    return Metadata(
        title=plain_text(info.find(".//book-title")),
        authors=tuple(dict.fromkeys(filter(None, map(_full_name, info.iterfind("author"))))),
        language=language_tag(plain_text(info.find(".//lang"))),
        cover="" if image is None else image.get("href", "").removeprefix("#"),
    )


def _full_name(author: etree._Element) -> str:
    parts = (plain_text(author.find(part)) for part in ("first-name", "middle-name", "last-name"))
    return " ".join(filter(None, parts)) or plain_text(author.find("nickname"))


_NOTE_BODIES = frozenset(("notes", "note", "comments", "comment", "footnotes", "footnote", "endnotes"))
# XHTML elements by name.
_TAGS = {
    **{name: name for name in ("strong", "sub", "sup", "code", "p", "table", "tr", "td", "th")},
    **{"emphasis": "em", "strikethrough": "s", "style": "span", "text-author": "p", "date": "p"},
    **dict.fromkeys(("cite", "epigraph", "annotation"), "blockquote"),
}
_UNDER_POEMS = frozenset(("text-author", "date"))
_DEEPEST_HEADING = 6
# If more paragraphs are followed by an empty line, the lines are spacing, not scene breaks.
_PARAGRAPHS_FOR_ONE_EMPTY_LINE = 6


def _is_of_notes(body: etree._Element, root: etree._Element) -> bool:
    """Whether links of type "note" lead to a later body without a known name."""
    wanted = {a.get("href", "").removeprefix("#") for a in root.iterfind(".//a[@type='note']")}
    return any(section.get("id") in wanted for section in body.iterfind("section"))


@dataclass(slots=True)
class _Translator:
    """Translates bodies into one tree; every section with a title is a chapter."""

    keeps_empty_lines: bool
    sections: list[Section] = field(default_factory=list)

    def body(self, body: etree._Element, target: etree._Element, *, first: bool) -> None:
        """Translate a body; the first one's title is the book's and starts no chapter."""
        inner = etree.SubElement(target, "section")
        _copy_attributes(body, inner)
        if not first:
            self._chapter(body, inner, 1)
        self._children(body, inner, 0 if first else 1)

    def notes(self, body: etree._Element, target: etree._Element) -> None:
        inner = etree.SubElement(target, "section", {EPUB_TYPE: "footnotes"})
        _copy_attributes(body, inner)
        self._chapter(body, inner, 1, default="Notes")
        for child in body:
            self._note(child, inner, 1)

    def _note(self, section: etree._Element, target: etree._Element, depth: int) -> None:
        if section.tag != "section":
            self._element(section, target, depth)
            return
        if not section.get("id") and any(child.tag == "section" for child in section):
            # The notes of one chapter.
            for child in section:
                self._note(child, target, 2)
            return
        note = etree.SubElement(target, "aside", {EPUB_TYPE: "footnote"})
        _copy_attributes(section, note)
        label = " ".join(plain_text(child) for child in section if child.tag == "title")
        for child in section:
            if child.tag != "title":
                self._element(child, note, _DEEPEST_HEADING)
        _prepend_label(note, label)

    def _chapter(self, section: etree._Element, inner: etree._Element, level: int, default: str = "") -> None:
        # Number and name in one line.
        titles = (child for child in section if child.tag == "title")
        title = next((join_title([*filter(None, map(plain_text, each))] or [plain_text(each)]) for each in titles), "")
        title = title or default
        if title:
            if not inner.get("id"):
                inner.set("id", f"section {len(self.sections)}")
            self.sections.append(Section(inner.get("id") or "", title, level))

    def _children(self, element: etree._Element, target: etree._Element, depth: int) -> None:
        append_text(target, element.text)
        for child in element:
            self._element(child, target, depth)
            append_text(target, child.tail)

    def _element(self, element: etree._Element, target: etree._Element, depth: int) -> None:
        """Translate an element without its tail. `depth`: number of enclosing sections."""
        name = element.tag
        if name == "section":
            inner = etree.SubElement(target, "section")
            _copy_attributes(element, inner)
            self._chapter(element, inner, depth + 1)
            self._children(element, inner, depth + 1)
        elif name == "title":
            # Each paragraph becomes a heading: a number, and a name below it.
            for child in element:
                if child.tag == "p":
                    self._paragraph(child, target, f"h{min(max(depth, 1), _DEEPEST_HEADING)}", depth)
                else:
                    self._element(child, target, depth)
        elif name == "subtitle":
            is_heading = depth and not is_break(plain_text(element))
            self._paragraph(element, target, f"h{min(depth + 1, _DEEPEST_HEADING)}" if is_heading else "p", depth)
        elif name == "empty-line":
            # A scene break only between two paragraphs.
            around = (element.getprevious(), element.getnext())
            if self.keeps_empty_lines and all(each is not None and each.tag == "p" for each in around):
                etree.SubElement(target, "hr")
        elif name == "poem":
            self._poem(element, target, depth)
        elif name == "image":
            _picture(element, target)
        elif name == "a":
            self._link(element, target, depth)
        elif name in _TAGS:
            self._paragraph(element, target, _TAGS[name], depth)
        elif name not in ("", "description", "stylesheet", "binary"):
            self._children(element, target, depth)

    def _paragraph(self, element: etree._Element, target: etree._Element, tag: str, depth: int) -> None:
        inner = etree.SubElement(target, tag)
        _copy_attributes(element, inner)
        self._children(element, inner, depth)

    def _poem(self, poem: etree._Element, target: etree._Element, depth: int) -> None:
        inner = etree.SubElement(target, "div", {"class": "poem"})
        _copy_attributes(poem, inner)
        for child in poem:
            name = child.tag
            if name == "stanza":
                for line in child:
                    if line.tag == "title":
                        self._element(line, inner, _DEEPEST_HEADING)
                    elif line.tag == "subtitle":
                        self._paragraph(line, inner, "h6", depth)
                verse = etree.SubElement(inner, "div", {"class": "stanza"})
                _copy_attributes(child, verse)
                for line in child:
                    if line.tag not in ("", "title", "subtitle"):
                        self._paragraph(line, verse, "div", depth)
            elif name == "title":
                self._element(child, inner, _DEEPEST_HEADING)
            elif name == "v":
                self._paragraph(child, inner, "div", depth)
            else:
                self._element(child, etree.SubElement(target, "blockquote") if name in _UNDER_POEMS else inner, depth)

    def _link(self, element: etree._Element, target: etree._Element, depth: int) -> None:
        href = element.get("href", "")
        inner = etree.SubElement(target, "a")
        if href:
            inner.set("href", href)
        if element.get("type") == "note":
            inner.set(EPUB_TYPE, "noteref")
        _copy_attributes(element, inner)
        self._children(element, inner, depth)


def _copy_attributes(element: etree._Element, target: etree._Element) -> None:
    for key in ("id", "lang"):
        if value := element.get(key):
            target.set(key, value)


def _prepend_label(note: etree._Element, label: str) -> None:
    if not label:
        return
    label = f"{label} " if label[-1] in ".])*†‡§" else f"{label}. "
    first = next((child for child in note if child.tag == "p"), None)
    if first is None:
        first = etree.Element("p")
        note.insert(0, first)
    first.text = label + (first.text or "")


def _picture(element: etree._Element, target: etree._Element) -> None:
    inner = etree.SubElement(target, "img", src=element.get("href", "").removeprefix("#"))
    if words := element.get("alt") or element.get("title"):
        inner.set("alt", words)
    _copy_attributes(element, inner)
