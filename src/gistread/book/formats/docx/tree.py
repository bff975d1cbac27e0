"""Turns a Word document's body into an XHTML tree.

It writes headings, lists, quotations, verse, tables, pictures and notes.
"""

import re
from collections.abc import Iterator, Mapping
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
# Elements of a paragraph that damaged files have outside of paragraphs.
_PARTS_OF_PARAGRAPHS = frozenset(
    "r t hyperlink fldsimple omath omathpara drawing pict object ruby deltext sym tab br".split()
)
_MOST_CONTENTS_WORDS = 4  # In the heading above a table of contents
_CELLS = {"tr": "tr", "tc": "td"}  # Elements of XHTML
_LAST_EDIT = "_GoBack"  # Word's bookmark of the last edit


@dataclass(frozen=True, slots=True)
class Note:
    element: etree._Element
    relations: Mapping[str, Relation]  # Of its part


Notes = dict[tuple[str, str | None], Note]  # By kind and id


@dataclass(frozen=True, slots=True)
class _ListItem:
    """The place of a paragraph in a list."""

    marker: str
    level: int


_DEEPEST_LIST = 9
# Empty paragraphs are scene breaks if at most one paragraph in this many is empty, else spacing.
_PARAGRAPHS_FOR_ONE_BREAK = 6
# "......  17", "\t17"
_PAGE_AT_END = re.compile(
    r"(?:[\t.…·_]|\s{2,}|\D)\s*(?:\d{1,5}|[ivxlc]{1,7})\s*$", re.IGNORECASE
)


@dataclass(slots=True)
class BodyWriter:
    """Writes the body and the notes of a document into `target`, an element of XHTML."""

    target: etree._Element
    state: RunState
    numbering: Numbering
    # Whether a paragraph has the title style: headings move one level down
    has_title: bool = False
    unread: int = 0  # Number of embedded documents
    # Open lists, the outermost first
    _lists: list[etree._Element] = field(default_factory=list)
    # A paragraph whose end was deleted: the next one continues it
    _unended: etree._Element | None = None

    def write(self, element: etree._Element) -> None:
        """Write the content of an element."""
        for inner in element:
            self._element(inner, str(inner.tag))

    def _element(self, element: etree._Element, name: str) -> None:
        """Write a paragraph, a table, a table of contents or what another element contains."""
        if name == "p" or name in _PARTS_OF_PARAGRAPHS:
            self._paragraph(element)
        elif _is_deleted(element, name):
            self.state.delete(element)
        elif name == "tbl":
            # A table of one cell is a frame around text.
            self._within(element, "div" if _is_one_cell(element) else "table")
        elif name in _CELLS:
            self._within(element, _CELLS[name])
        elif name == "sdt" and _is_contents(element):
            self._within(element, "div").set("class", _CONTENTS)
        elif name == "bookmarkstart":
            self._bookmark(element.get("name", _LAST_EDIT))
        elif name == "altchunk":
            self.unread += 1
        elif name == "alternatecontent":
            self.write(shown_form(element))
        else:
            self.write(element)

    def _bookmark(self, name: str) -> None:
        if name != _LAST_EDIT:
            self.state.bookmarks.append(name)

    def finish(self) -> None:
        """Add a paragraph whose end was deleted and that nothing continues."""
        draft = self._unended
        self._unended = None
        if draft is not None:
            self._add_styled(draft, ParagraphStyle(), None)

    def _paragraph(self, element: etree._Element) -> None:
        """Write a paragraph, or a part of one that stands alone in a damaged file.

        If the mark at its end was deleted, the next paragraph continues it.
        """
        properties = element.find("ppr")
        style_id = value(properties, "pstyle")
        style = self.state.styles.paragraphs.get(style_id, ParagraphStyle())
        # Asked now, since the field may end inside this paragraph.
        in_contents = style.role is StyleRole.CONTENTS or self.state.is_in_contents
        if style.role is StyleRole.TEXT:
            style = style.at_outline_level(value(properties, "outlinelvl"))
        draft = self._unended
        if draft is None:
            draft = etree.Element("p")
        writer = RunWriter(draft, self.state)
        if element.tag == "p":
            writer.write(element)
        else:
            writer.write_one(element)
        is_end_deleted = element.find("ppr/rpr/del") is not None
        if is_end_deleted:
            self._unended = draft
            self.state.changes += 1
            self._boxes(writer)
            return
        self._unended = None
        if in_contents:
            draft.set("class", _CONTENTS)
            self._add(draft)
        else:
            self._add_styled(draft, style, self._next_item(properties, style))
        self._boxes(writer)

    def _next_item(
        self, properties: etree._Element | None, style: ParagraphStyle
    ) -> _ListItem | None:
        """The place of a paragraph in its list; None if it is in none or has no number."""
        place = numbering_of(properties, style.numbering)
        if place is None or place.list_id in ("", "0"):
            return None
        marker = self.numbering.next_marker(place)
        if not marker:
            return None
        return _ListItem(marker, place.level)

    def _boxes(self, writer: RunWriter) -> None:
        """Write the text boxes and rules of a paragraph after it."""
        for box in writer.boxes:
            if box.tag == "hr":
                self._add(box)
            else:
                self._within(box, "div")

    def _add_styled(
        self, draft: etree._Element, style: ParagraphStyle, item: _ListItem | None
    ) -> None:
        """Add a paragraph as the element that its style and its place in a list call for."""
        role = style.role
        if _is_blank(draft, role, item):
            draft.set("class", _EMPTY)
            self._add(draft)
        elif role in (StyleRole.HEADING, StyleRole.TITLE):
            self._heading(draft, style, item)
        elif item:
            self._item(draft, item)
        elif role is StyleRole.QUOTE:
            quote = etree.Element("blockquote")
            quote.append(draft)
            self._add(quote)
        elif role is StyleRole.CODE:
            self._code(draft)
        elif role is StyleRole.VERSE:
            self._verse(draft)
        else:
            if role is StyleRole.CAPTION:
                draft.set("class", "caption")
            self._add(draft)

    def _heading(
        self, draft: etree._Element, style: ParagraphStyle, item: _ListItem | None
    ) -> None:
        """Add a heading, one level lower if the document has a title; a rule stays as it is."""
        if not is_break(plain_text(draft)):
            level = style.level
            if style.role is StyleRole.TITLE:
                level = 1
            elif self.has_title:
                level += 1
            draft.tag = f"h{min(level, _DEEPEST_HEADING)}"
        if item and item.marker != BULLET:
            _prefix(draft, item.marker)
        self._add(draft)

    def _verse(self, draft: etree._Element) -> None:
        """Add a line of verse to the stanza before it, or to a new one."""
        last = self.target[-1] if len(self.target) else None
        if last is None or last.get("class") != "stanza":
            self._add(etree.Element("div", {"class": "stanza"}))
        draft.tag = "div"
        self.target[-1].append(draft)

    def _add(self, element: etree._Element) -> None:
        """Add a paragraph that is no list item; unless it is empty, it ends the lists."""
        if element.get("class") != _EMPTY:
            self._lists.clear()
        self.target.append(element)

    def _item(self, draft: etree._Element, item: _ListItem) -> None:
        """Add a list item to the list of its level."""
        if not self._lists:
            self._lists.append(etree.SubElement(self.target, "ul"))
        # The lists inside this level have ended.
        del self._lists[item.level + 1 :]
        while len(self._lists) <= min(item.level, _DEEPEST_LIST):
            self._lists.append(etree.SubElement(self._lists[-1], "ul"))
        draft.tag = "li"
        draft.set(MARKER_ATTRIBUTE, item.marker)
        self._lists[-1].append(draft)

    def _code(self, draft: etree._Element) -> None:
        """Add a line of code to the <pre> before it, or to a new one."""
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
        """Write the content of an element into a new one with this tag."""
        outer_target = self.target
        outer_unended = self._unended
        inner = etree.SubElement(outer_target, tag)
        self.target = inner
        self._unended = None
        self._lists = []
        self.write(element)
        self.finish()
        self.target = outer_target
        self._unended = outer_unended
        self._lists = []
        return inner

    def write_notes(self, notes: Notes) -> None:
        """Append the notes in order of reference, and remove them from `notes`."""
        outer_target = self.target
        # This list grows in the loop: a note may refer to another one, which follows it.
        for reference in self.state.references:
            note = notes.pop((reference.kind, reference.id), None)
            if note is None:
                continue
            aside_id = f"{reference.kind} {reference.id}"
            self.target = etree.SubElement(outer_target, "aside", id=aside_id)
            self.target.set(EPUB_TYPE, "footnote")
            # Ids of links and pictures belong to the file of the notes.
            self.state.relations = note.relations
            self.write(note.element)
            self.finish()
            first = next(self.target.iter("p", "li"), None)
            if first is not None:
                label = reference.label
                ends_with_sign = label[-1:] in ")*†‡§]"
                _prefix(first, label if ends_with_sign else f"{label}.")
        self.target = outer_target


def finish_tree(root: etree._Element) -> int:
    """Finish the whole tree: mark scene breaks, attach captions, remove the table of contents.

    Returns the number of words removed.
    """
    _mark_breaks(root)
    _attach_captions(root)
    return _remove_contents(root)


def _attach_captions(root: etree._Element) -> None:
    """Make a figure of each picture and the caption below it."""
    for caption in list(_of_class(root, "p", "caption")):
        del caption.attrib["class"]
        picture = caption.getprevious()
        if picture is not None and _is_picture(picture):
            figure = etree.Element("figure")
            picture.addprevious(figure)
            caption.tag = "figcaption"
            figure.extend((picture, caption))


def _mark_breaks(root: etree._Element) -> None:
    """Make scene breaks of the empty paragraphs between two paragraphs."""
    empty_paragraphs = list(_of_class(root, "p", _EMPTY))
    count = sum(1 for _ in root.iter("p"))
    if len(empty_paragraphs) * _PARAGRAPHS_FOR_ONE_BREAK > count:
        return
    for element in empty_paragraphs:
        if _is_prose(element.getprevious()) and _is_prose(element.getnext()):
            element.tag = "hr"
            del element.attrib["class"]


def _is_prose(element: etree._Element | None) -> bool:
    if element is None:
        return False
    return element.tag in _PROSE_TAGS and not element.get("class")


def _is_picture(element: etree._Element) -> bool:
    """Whether a paragraph has a picture and no words."""
    has_picture = element.tag == "p" and element.find(".//img") is not None
    return has_picture and not plain_text(element)


def _of_class(
    root: etree._Element, name: str, class_name: str
) -> Iterator[etree._Element]:
    return (
        element for element in root.iter(name) if element.get("class") == class_name
    )


def _remove_contents(root: etree._Element) -> int:
    """Remove the table of contents of a document with headings. Returns the number of its words."""
    headings = {letters(plain_text(heading)) for heading in root.iter("h1", "h2", "h3")}
    if not headings:
        return 0
    words_removed = 0
    for contents in list(_of_class(root, "div", _CONTENTS)):
        all_lines = contents.iter("p", "h1", "h2", "h3")
        lines = [line for line in all_lines if plain_text(line)]
        own_heading = lines[0] if lines else None
        if count_words(plain_text(own_heading)) <= _MOST_CONTENTS_WORDS:
            words_removed += _remove(own_heading)
    for entry in list(_of_class(root, "p", _CONTENTS)):
        if _is_entry(entry, headings):
            words_removed += _remove(entry)
        else:
            del entry.attrib["class"]
    return words_removed


def _is_entry(line: etree._Element, headings: set[str]) -> bool:
    """Whether a line is empty, names a heading or ends with the number of a page."""
    words = plain_text(line)
    if not words:
        return True
    # A page number may follow the name, in the contents or in the heading.
    name = letters(words).rstrip("0123456789")
    if any(name == heading.rstrip("0123456789") for heading in headings):
        return True
    text = "".join(map(str, line.itertext()))
    return bool(_PAGE_AT_END.search(text))


def _remove(element: etree._Element | None) -> int:
    """Remove an element, if there is one. Returns the number of its words."""
    if element is None:
        return 0
    parent = element.getparent()
    if parent is not None:
        parent.remove(element)
    return words_in(element)


def _is_blank(draft: etree._Element, role: StyleRole, item: _ListItem | None) -> bool:
    """Whether a paragraph shows nothing: no word, picture or number."""
    if item is None:
        has_picture = draft.find(".//img") is not None
        return not has_picture and not plain_text(draft)
    # The number of a heading is shown even without words.
    has_children = len(draft) > 0
    if has_children or role is StyleRole.HEADING:
        return False
    return not (draft.text or "").strip()


def _is_deleted(element: etree._Element, name: str) -> bool:
    is_deleted_row = name == "tr" and element.find("trpr/del") is not None
    return is_deleted_row or name in ("del", "movefrom")


def _is_one_cell(table: etree._Element) -> bool:
    """Whether a table has one cell, whatever wraps its rows and cells."""
    cells = islice(table.iter("tc"), 2)
    return sum(1 for _ in cells) == 1


def _is_contents(element: etree._Element) -> bool:
    gallery = value(element, "sdtpr/docpartobj/docpartgallery")
    return gallery.lower() == "table of contents"


def _prefix(element: etree._Element, marker: str) -> None:
    """Insert a marker before an element's text; a full stop separates "Chapter 1" from a title."""
    has_several_words = any(map(str.isspace, marker))
    needs_stop = has_several_words and marker[-1].isalnum() and plain_text(element)
    separator = ". " if needs_stop else " "
    element.text = f"{marker}{separator}{element.text or ''}"
