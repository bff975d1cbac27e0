"""Turns a Word document's body into an XHTML tree.

Headings, lists, quotations, verse, tables, pictures, notes.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import islice

from lxml import etree

from gistread.book.formats.docx.runs import Relation, RunState, RunWriter, shown_form
from gistread.book.formats.docx.styles import (
    Numbering,
    ParagraphStyle,
    StyleRole,
    numbering_of,
    value,
)
from gistread.book.formats.elements.markup import append_text, plain_text
from gistread.book.formats.elements.omissions import words_in
from gistread.book.formats.elements.semantics import BULLET, EPUB_TYPE, MARKER_ATTRIBUTE
from gistread.book.formats.text_blocks import is_break
from gistread.book.normalise import letters
from gistread.words import count_words

_DEEPEST_HEADING = 6
_CONTENTS = "contents"
_EMPTY = "empty"
_PROSE_TAGS = frozenset(("p", "blockquote"))
_OUTSIDE_PARAGRAPHS = frozenset(
    "r t hyperlink fldsimple omath omathpara drawing pict object ruby deltext sym tab br".split()
)
"""Elements of a paragraph that damaged files have outside any."""
_CONTENTS_WORDS = 4
"""Most words of the heading above a table of contents."""
_PAGE_AT_END = re.compile(r"(?:[\t.…·_]|\s{2,}|\D)\s*(?:\d{1,5}|[ivxlc]{1,7})\s*$", re.IGNORECASE)


@dataclass(slots=True)
class BodyWriter:
    target: etree._Element
    state: RunState
    numbering: Numbering
    has_title: bool = False  # Whether a paragraph has the title style: headings move one level down
    unread: int = 0
    _lists: list[etree._Element] = field(default_factory=list)  # Open lists, the outermost first
    _joined: etree._Element | None = (
        None  # A paragraph whose end was deleted: the next one continues it
    )

    def write(self, element: etree._Element) -> None:
        for inner in element:
            self._element(inner, str(inner.tag))

    def _element(self, element: etree._Element, name: str) -> None:
        if name == "p":
            self._paragraph(element)
        elif name in ("del", "movefrom") or (name == "tr" and element.find("trpr/del") is not None):
            self.state.delete(element)
        elif name == "tbl":
            # A table of one cell is a frame around text.
            self._within(element, "div" if _is_one_cell(element) else "table")
        elif name == "tr":
            self._within(element, "tr")
        elif name == "tc":
            self._within(element, "td")
        elif name == "sdt" and _is_contents(element):
            self._within(element, "div").set("class", _CONTENTS)
        elif name == "bookmarkstart":
            if (place := element.get("name", "_GoBack")) != "_GoBack":
                self.state.places.append(place)
        elif name == "altchunk":
            self.unread += 1
        elif name == "alternatecontent":
            self.write(shown_form(element))
        elif name in _OUTSIDE_PARAGRAPHS:
            self._paragraph(element)
        else:
            self.write(element)

    def finish(self) -> None:
        """Add a paragraph whose end was deleted and that nothing continues."""
        draft, self._joined = self._joined, None
        if draft is not None:
            self._styled(draft, ParagraphStyle(), None)

    def _paragraph(self, element: etree._Element) -> None:
        properties = element.find("ppr")
        style = self.state.styles.paragraphs.get(value(properties, "pstyle"), ParagraphStyle())
        in_contents = style.role is StyleRole.CONTENTS or self.state.is_in_contents
        if style.role is StyleRole.TEXT:
            style = style.at_outline_level(value(properties, "outlinelvl"))
        draft = self._joined if self._joined is not None else etree.Element("p")
        writer = RunWriter(draft, self.state)
        if element.tag == "p":
            writer.write(element)
        else:
            writer.write_one(element)
        if element.find("ppr/rpr/del") is not None:
            self._joined = draft
            self.state.changes += 1
            self._boxes(writer)
            return
        self._joined = None
        if in_contents:
            draft.set("class", _CONTENTS)
            self._add(draft)
        else:
            own = numbering_of(properties, style.numbering)
            marker = self.numbering.next_marker(*own) if own and own[0] not in ("", "0") else ""
            self._styled(draft, style, (marker, own[1]) if own and marker else None)
        self._boxes(writer)

    def _boxes(self, writer: RunWriter) -> None:
        """Write the text boxes and rules of a paragraph after it."""
        for box in writer.boxes:
            if box.tag == "hr":
                self._add(box)
            else:
                self._within(box, "div")

    def _styled(
        self, draft: etree._Element, style: ParagraphStyle, marker: tuple[str, int] | None
    ) -> None:
        role = style.role
        empty = (
            not len(draft)
            and not (draft.text or "").strip()
            and not (marker and role is StyleRole.HEADING)
        )
        if empty or (not plain_text(draft) and draft.find(".//img") is None and not marker):
            draft.set("class", _EMPTY)
            self._add(draft)
        elif role in (StyleRole.HEADING, StyleRole.TITLE):
            if not is_break(plain_text(draft)):
                level = 1 if role is StyleRole.TITLE else style.level + self.has_title
                draft.tag = f"h{min(level, _DEEPEST_HEADING)}"
            if marker and marker[0] != BULLET:
                _prefix(draft, marker[0])
            self._add(draft)
        elif marker:
            self._item(draft, *marker)
        elif role is StyleRole.QUOTE:
            quote = etree.Element("blockquote")
            quote.append(draft)
            self._add(quote)
        elif role is StyleRole.CODE:
            self._code(draft)
        elif role is StyleRole.VERSE:
            if not len(self.target) or self.target[-1].get("class") != "stanza":
                self._add(etree.Element("div", {"class": "stanza"}))
            draft.tag = "div"
            self.target[-1].append(draft)
        else:
            if role is StyleRole.CAPTION:
                draft.set("class", "caption")
            self._add(draft)

    def _add(self, element: etree._Element) -> None:
        if element.get("class") != _EMPTY:
            self._lists.clear()
        self.target.append(element)

    def _item(self, draft: etree._Element, marker: str, level: int) -> None:
        if not self._lists:
            self._lists.append(etree.SubElement(self.target, "ul"))
        del self._lists[level + 1 :]
        while len(self._lists) <= min(level, 9):
            self._lists.append(etree.SubElement(self._lists[-1], "ul"))
        draft.tag = "li"
        draft.set(MARKER_ATTRIBUTE, marker)
        self._lists[-1].append(draft)

    def _code(self, draft: etree._Element) -> None:
        for line_end in list(draft.iter("br")):
            line_end.tail = "\n" + (line_end.tail or "")
        etree.strip_tags(draft, "br")
        if len(self.target) and self.target[-1].tag == "pre":
            append_text(self.target[-1], "\n")
        else:
            self._add(etree.Element("pre"))
        append_text(self.target[-1], draft.text)
        self.target[-1].extend(list(draft))

    def _within(self, element: etree._Element, tag: str) -> etree._Element:
        outer = self.target
        inner = etree.SubElement(outer, tag)
        joined, self._joined = self._joined, None
        self.target, self._lists = inner, []
        self.write(element)
        self.finish()
        self._joined = joined
        self.target, self._lists = outer, []
        return inner

    def write_notes(
        self, notes: dict[tuple[str, str | None], tuple[etree._Element, Mapping[str, Relation]]]
    ) -> None:
        """Append the notes, by kind and id, in order of reference, each with the relations of its
        part.
        """
        outer = self.target
        for (
            kind,
            number,
            label,
        ) in self.state.references:  # A note may refer to another one, which follows it
            note = notes.pop((kind, number), None)
            if note is None:
                continue
            self.target = etree.SubElement(outer, "aside", id=f"{kind} {number}")
            self.target.set(EPUB_TYPE, "footnote")
            self.state.relations = note[1]
            self.write(note[0])
            self.finish()
            first = next(self.target.iter("p", "li"), None)
            if first is not None:
                _prefix(first, label if label[-1:] in ")*†‡§]" else f"{label}.")
        self.target = outer


def finish_tree(root: etree._Element) -> int:
    """Finish the whole tree: mark scene breaks, attach captions, remove the table of contents.

    Returns the number of words removed.
    """
    empty = [e for e in root.iter("p") if e.get("class") == _EMPTY]
    parts = len(empty) * 6 <= sum(1 for _ in root.iter("p"))  # Otherwise they are spacing
    for element in empty:
        around = (element.getprevious(), element.getnext())
        if parts and all(
            each is not None and each.tag in _PROSE_TAGS and not each.get("class")
            for each in around
        ):
            element.tag = "hr"
            del element.attrib["class"]
    for caption in [e for e in root.iter("p") if e.get("class") == "caption"]:
        picture = caption.getprevious()
        del caption.attrib["class"]
        is_picture = (
            picture is not None and picture.tag == "p" and picture.find(".//img") is not None
        )
        if picture is not None and is_picture and not plain_text(picture):
            figure = etree.Element("figure")
            picture.addprevious(figure)
            caption.tag = "figcaption"
            figure.extend((picture, caption))
    return _remove_contents(root)


def _remove_contents(root: etree._Element) -> int:
    """Remove the table of contents of a document with headings. Returns the number of its words."""
    headings = {letters(plain_text(each)) for each in root.iter("h1", "h2", "h3")}
    if not headings:
        return 0
    removed = 0
    for contents in [e for e in root.iter("div") if e.get("class") == _CONTENTS]:
        lines = [e for e in contents.iter("p", "h1", "h2", "h3") if plain_text(e)]
        if lines and count_words(plain_text(lines[0])) <= _CONTENTS_WORDS:
            removed += _remove(lines[0])  # Its own heading
    for entry in [e for e in root.iter("p") if e.get("class") == _CONTENTS]:
        if _is_entry(entry, headings):
            removed += _remove(entry)
        else:
            del entry.attrib["class"]
    return removed


def _is_entry(line: etree._Element, headings: set[str]) -> bool:
    """Whether a line names a heading or ends with the number of a page."""
    text = plain_text(line)
    name = letters(text).rstrip("0123456789")
    is_named = any(name == heading.rstrip("0123456789") for heading in headings)
    return not text or is_named or bool(_PAGE_AT_END.search("".join(map(str, line.itertext()))))


def _remove(element: etree._Element) -> int:
    parent = element.getparent()
    if parent is not None:
        parent.remove(element)
    return words_in(element)


def _is_one_cell(table: etree._Element) -> bool:
    """Whether a table has one cell, whatever wraps its rows and cells."""
    cells = islice(table.iter("tc"), 2)
    return sum(1 for _ in cells) == 1


def _is_contents(element: etree._Element) -> bool:
    gallery = value(element, "sdtpr/docpartobj/docpartgallery")
    return gallery.lower() == "table of contents"


def _prefix(element: etree._Element, marker: str) -> None:
    """Insert a marker before an element's text; a full stop separates "Chapter 1" from a title."""
    if marker[-1:].isalnum() and any(map(str.isspace, marker)) and plain_text(element):
        separator = ". "
    else:
        separator = " "
    element.text = f"{marker}{separator}{element.text or ''}"
