"""Reads FictionBook 2 (FB2) by translating it to XHTML, even if slightly malformed."""

import base64
import re
from collections import Counter
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

# Pictures are most of the bytes; a parser would keep them all.
_BINARY = re.compile(
    r"<(?:\w+:)?binary\b([^>]*)>([^<]*)</(?:\w+:)?binary\s*>", re.IGNORECASE
)
_BASE64 = re.compile(r"[A-Za-z0-9+/=\s]*")
_BINARY_ID = re.compile(r"""\bid\s*=\s*["']([^"']*)["']""", re.IGNORECASE)


def read_fb2(data: bytes, name: str) -> Book:
    """The book in `data`; `name` is used in messages. Raises BookError."""
    decoded = decode_declared(data)
    tree = parse_xml(_BINARY.sub(_without_picture, decoded.text)) if decoded else None
    if decoded is None or tree is None:
        raise BookError(f"{name} cannot be read: it is not a valid FictionBook.")
    notices = list(encoding_notices(decoded))
    if tree.repaired:
        notices.append("The file is not well-formed XML; the readable parts were read.")
    metadata = _metadata(tree.root)
    left_out = Counter({"word(s) in damaged markup": tree.lost})
    left_out["word(s) of the annotation"] = sum(
        map(words_in, tree.root.iterfind(_ANNOTATION))
    )
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


def _translate(
    root: etree._Element, parts: Sequence[etree._Element]
) -> tuple[etree._Element, list[Section]]:
    """XHTML of the bodies and of whatever stands beside them, and the chapters."""
    _mark_breaks(root)
    references = root.iterfind(".//a[@type='note']")
    referred = {link.get("href", "").removeprefix("#") for link in references}
    translator = _Translator()
    target = etree.Element("body")
    is_first = True
    for part in parts:
        # Links of type "note" may lead to a later body without a known name.
        ids = (section.get("id") for section in part.iterfind("section"))
        has_notes = not is_first and not referred.isdisjoint(ids)
        is_named_so = (part.get("name") or "").lower() in _NOTE_BODIES
        if part.tag == "body" and (has_notes or is_named_so):
            translator.notes(part)
        else:
            translator.body(part, first=is_first)
        is_first = False
        target.append(part)
    return target, translator.sections


def _words_between(element: etree._Element) -> int:
    texts = (element.text, *(child.tail for child in element))
    return sum(count_words(text) for text in texts if text)


def _without_picture(match: re.Match[str]) -> str:
    """Nothing for a picture; the words of an element that is only called so."""
    lines = match[2].split()
    has_even_lines = len({len(line) for line in lines[:-1]}) <= 1
    is_picture = (
        has_even_lines and _BINARY_ID.search(match[1]) and _BASE64.fullmatch(match[2])
    )
    if is_picture:
        return ""
    return match[0]


def read_binary(data: bytes, name: str) -> bytes | None:
    decoded = decode_declared(data)
    if decoded is None:
        return None
    for match in _BINARY.finditer(decoded.text):
        named = _BINARY_ID.search(match[1])
        if named and named[1] == name:
            try:
                return base64.b64decode("".join(match[2].split()), validate=False)
            except ValueError:
                return None
    return None


def _metadata(root: etree._Element) -> Metadata:
    info = root.find(".//title-info")
    if info is None:
        return Metadata()
    image = info.find(".//coverpage//image")
    names = map(_name, info.iterfind("author"))
    return Metadata(
        title=plain_text(info.find(".//book-title")),
        authors=tuple(dict.fromkeys(filter(None, names))),
        language=language_tag(plain_text(info.find(".//lang"))),
        cover="" if image is None else image.get("href", "").removeprefix("#"),
    )


def _name(author: etree._Element) -> str:
    parts = (
        plain_text(author.find(f"{part}-name")) for part in ("first", "middle", "last")
    )
    return " ".join(filter(None, parts)) or plain_text(author.find("nickname"))


_NOTE_BODIES = frozenset(
    ("notes", "note", "comments", "comment", "footnotes", "footnote", "endnotes")
)
_ANNOTATION = "description/title-info/annotation"
_NOT_TEXT = frozenset(("description", "stylesheet", "binary"))
# XHTML elements by name.
_TAGS = {
    **{
        name: name
        for name in (*word_set("strong sub sup code p table tr td th hr"), *HEADINGS)
    },
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
# With more empty lines than one to so many paragraphs, they are spacing.
_PARAGRAPHS_FOR_ONE_BREAK = 6


def _mark_breaks(root: etree._Element) -> None:
    """Make scene breaks of the empty lines between two paragraphs."""
    empty = list(root.iter("empty-line"))
    paragraphs = sum(1 for _ in root.iter("p"))
    are_breaks = len(empty) * _PARAGRAPHS_FOR_ONE_BREAK <= paragraphs
    for line in empty:
        around = (line.getprevious(), line.getnext())
        is_break = are_breaks and all(
            each is not None and each.tag == "p" for each in around
        )
        line.tag = "hr" if is_break and not plain_text(line) else "span"


@dataclass(slots=True)
class _Translator:
    """Makes XHTML of bodies, in place; every section with a title is a chapter."""

    sections: list[Section] = field(default_factory=list)

    def body(self, body: etree._Element, *, first: bool) -> None:
        """Translate a body; the first one's title is the book's and starts no chapter."""
        _rename(body, "section")
        if not first:
            self._chapter(body, 1)
        self._children(body, 0 if first else 1)

    def notes(self, body: etree._Element) -> None:
        _rename(body, "section", {EPUB_TYPE: "footnotes"})
        self._chapter(body, 1, default="Notes")
        for child in body:
            self._note(child, 1)

    def _note(self, section: etree._Element, depth: int) -> None:
        if section.tag != "section":
            self._element(section, depth)
        elif not section.get("id") and section.find("section") is not None:
            # The notes of one chapter.
            _rename(section, "div")
            for child in section:
                self._note(child, 2)
        else:
            _rename(section, "aside", {EPUB_TYPE: "footnote"})
            label = _take_titles(section)
            self._children(section, _DEEPEST_HEADING)
            if label:
                _begin_with(section, label)

    def _chapter(self, section: etree._Element, level: int, default: str = "") -> None:
        title = _title_of(section) or default
        if title:
            if not section.get("id"):
                section.set("id", f"section {len(self.sections)}")
            self.sections.append(Section(section.get("id") or "", title, level))

    def _children(self, element: etree._Element, depth: int) -> None:
        for child in element:
            self._element(child, depth)

    def _element(self, element: etree._Element, depth: int) -> None:
        """`depth`: number of enclosing sections."""
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
            kind = {EPUB_TYPE: "noteref"} if element.get("type") == "note" else {}
            _rename(element, "a", {"href": element.get("href", "")} | kind)
        else:
            _rename(element, _TAGS.get(str(name), "span"))
        self._children(element, depth)

    def _poem(self, poem: etree._Element, depth: int) -> None:
        _rename(poem, "div", {"class": "poem"})
        below = [child for child in poem if child.tag in ("text-author", "date")]
        for child in list(poem):
            if child.tag == "stanza":
                for heading in [
                    line for line in child if line.tag in ("title", "subtitle")
                ]:
                    child.addprevious(heading)
                    self._element(heading, _DEEPEST_HEADING)
                _rename(child, "div", {"class": "stanza"})
                for line in child:
                    self._element(line, depth)
                    line.tag = "div"
            else:
                self._element(
                    child, _DEEPEST_HEADING if child.tag == "title" else depth
                )
        for child in reversed(below):
            quote = etree.Element("blockquote")
            append_text_before(child, " ")
            quote.append(child)
            poem.addnext(quote)


def _title_of(section: etree._Element) -> str:
    """Number and name in one line; empty if there is none."""
    title = section.find("title")
    if title is None:
        return ""
    parts = [*filter(None, map(plain_text, title))]
    return join_title(parts or [plain_text(title)])


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
    if words := image.get("alt") or image.get("title"):
        attributes["alt"] = words
    _rename(image, "img", attributes)


def _rename(
    element: etree._Element,
    tag: str,
    attributes: Mapping[str, str] = MappingProxyType({}),
) -> None:
    """Make an element of XHTML of one of FictionBook, which keeps its id and language."""
    kept = {key: element.get(key, "") for key in ("id", "lang") if element.get(key)}
    element.attrib.clear()
    element.attrib.update((*kept.items(), *attributes.items()))
    element.tag = tag
