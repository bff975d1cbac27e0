"""Turns an XHTML document into paragraphs with their kinds, marks and anchors."""

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, islice
from typing import cast
from urllib.parse import unquote

from lxml import etree

from gistread.book import inline
from gistread.book.formats.elements import inline_elements, omissions, semantics
from gistread.book.formats.elements.equations import equation_text, unread_sources
from gistread.book.formats.elements.inline_elements import (
    StyleSheet,
    merge_sheets,
    read_sheet,
)
from gistread.book.formats.elements.markup import (
    MOST_NESTED,
    elements_named,
    local_name,
    plain_text,
)
from gistread.book.formats.elements.omissions import Omission, words_in
from gistread.book.formats.elements.paragraphs import (
    BlockContext,
    Collector,
    ParsedParagraph,
    classify,
    context_inside,
    join_ideographs,
)
from gistread.book.formats.elements.semantics import Types
from gistread.book.inline import InlineMark, Marks
from gistread.book.model import ParagraphKind

_COLUMN_END = " | "
_STRING_LENGTH = etree.XPath("string-length()")
_NO_SHEET: StyleSheet = {}
_EMPTY_LINES = re.compile(r"\n[ \t]*(?:\n[ \t]*)+")
_EMPTY_ELEMENTS = frozenset(("br", "hr", "img", "image", "embed"))
# Blocks that cannot contain another paragraph
_LINES = frozenset(("p", *semantics.HEADINGS))
_SPACES = (" ", " ")
# What stands before and after the text of an element.
_AROUND = {
    "q": ("“", "”"),
    **dict.fromkeys(("object", "iframe", "canvas", "video", "audio"), _SPACES),
}
_MOST_UNREAD_ANCHORS = 1000  # Elements searched for ids in one that is left out
_XML_ID = "{http://www.w3.org/XML/1998/namespace}id"


@dataclass(slots=True)
class XhtmlDocument:
    """The paragraphs of a document, and what points into them by the paragraph's index."""

    language: str = ""  # Declared by the document, otherwise the book's
    paragraphs: list[ParsedParagraph] = field(default_factory=list)
    # By the id of an element: its first paragraph, or the next one if it has none.
    anchors: dict[str, int] = field(default_factory=dict)
    # By the id of a block: the paragraph after its last one.
    ends: dict[str, int] = field(default_factory=dict)
    # Of each declared note: its first paragraph, and the one after its last.
    notes: tuple[tuple[int, int], ...] = ()
    has_words: bool = False  # Has words other than file names of pictures
    # For `left_out_notices`
    left_out: Counter[str] = field(default_factory=Counter)


def read_document(
    root: etree._Element, language: str = "", sheet: StyleSheet = _NO_SHEET
) -> XhtmlDocument:
    """The paragraphs of `root`, an <html> element or a part of one in any namespace.

    The tree is not changed. Translators to XHTML mark verse by class "verse", notes by
    `epub:type="footnote"` and an id, and references by `<a epub:type="noteref" href="#id">`.
    `sheet`: the external style sheets. `language`: the book's, for documents that declare none.
    Elements nested too deeply become plain text.
    """
    bodies = [child for child in root if local_name(child) == "body"]
    for element in (root, *bodies):
        declared_language = inline_elements.language_of(element)
        if declared_language:
            language = declared_language
            break
    own_sheets = [read_sheet(plain_text(style)) for style in in_head(root, "style")]
    walker = _Walker(
        language, merge_sheets([sheet, *own_sheets]), XhtmlDocument(language)
    )
    return walker.read(root)


def in_head(root: etree._Element, name: str) -> Iterator[etree._Element]:
    """The elements with this name in the <head>."""
    for child in root:
        if local_name(child) == "head":
            yield from elements_named(child, name)


@dataclass(frozen=True, slots=True)
class _InnerNote:
    """A note inside a paragraph or heading, to be read after it."""

    element: etree._Element
    types: Types
    marks: Marks
    language: str


@dataclass(slots=True)
class _Walker:
    """Walks a tree in document order and fills `document`.

    The collector gathers the text of the current paragraph until `flush` ends it.
    """

    language: str  # The current element's
    sheet: StyleSheet
    document: XhtmlDocument
    notes: list[tuple[int, int]] = field(default_factory=list)
    _collector: Collector = field(default_factory=Collector)
    _marker: str = ""  # Of a list item, for the next paragraph: "•", "3."
    # Inside a figure with a caption: its pictures without a description.
    _captioned: list[InlineMark] | None = None
    _captions: set[str] = field(default_factory=set)  # Of that figure
    _in_cell: bool = False
    _depth: int = 0
    # Whether a rule of the style sheet shows line feeds, or floats an element.
    _shows_lines: bool = False
    _has_floats: bool = False
    # Number of open paragraphs, headings and cells. None of them contains another paragraph.
    _open_lines: int = 0
    _inner_notes: list[_InnerNote] = field(default_factory=list)
    # A floated initial whose word goes on after it
    _initial_span: etree._Element | None = None
    # Index of the last paragraph, if it is a floated initial
    _initial_index: int | None = None

    def read(self, root: etree._Element) -> XhtmlDocument:
        """The document of a whole tree."""
        effects = self.sheet.values()
        self._shows_lines = any(effect.keeps_lines for effect in effects)
        self._has_floats = any(effect.floats for effect in effects)
        self.element(root, BlockContext())
        self.flush(BlockContext())
        self._read_inner_notes(BlockContext())
        self.document.notes = tuple(self.notes)
        self._count_unread(root)
        return self.document

    def _count_unread(self, root: etree._Element) -> None:
        """Count the words that no method of this class has read: a safety net."""
        if _length(root) == self._collector.characters:
            # All characters were read or counted as left out.
            return
        from gistread.word_patterns import WORD  # imported here: few pages need it

        source_text = " ".join(map(str, root.itertext()))
        read_text = " ".join(paragraph.words for paragraph in self.document.paragraphs)
        missing = Counter(WORD.findall(source_text)) - Counter(WORD.findall(read_text))
        unread = missing.total() - self.document.left_out.total()
        self.document.left_out[omissions.UNREAD] += max(0, unread)

    def element(self, element: etree._Element, context: BlockContext) -> None:
        """Read an element, unless it is left out; the text alone if it is too deep."""
        name = local_name(element)
        if not name:
            return
        if self._depth > MOST_NESTED:
            self._collector.characters += _length(element)
            self._collector.text(f" {' '.join(map(str, element.itertext()))} ")
            return
        if name in omissions.SPECIAL_NAMES:
            omission = omissions.omission_by_name(element, name)
            if omission is not None:
                self._leave_out(element, omission)
                return
        if name in ("iframe", "frame"):
            self.document.left_out["embedded page(s)"] += 1
        self._depth += 1
        # A rule for all elements of this name may show line feeds.
        may_have_rule = self._shows_lines and name in self.sheet
        if element.attrib or may_have_rule:
            self._visit_with_attributes(element, name, context)
        else:
            marks = inline_elements.BY_NAME.get(name, ())
            self._visit(element, name, frozenset(), marks, context)
        self._depth -= 1

    def _leave_out(self, element: etree._Element, omission: Omission) -> None:
        """Skip an element: count its words, and enter the ids inside it."""
        self._collector.characters += _length(element)
        if omission.count:
            self.document.left_out[omission.kind] += omission.count
        # A page or line number may divide a word; other blocks separate words.
        is_number = omission.kind in omissions.NUMBERS
        if not is_number and local_name(element) in semantics.BLOCKS:
            self._collector.text(" ")
        # Links may lead to invisible elements: an index refers to printed page numbers.
        for inner in islice(element.iter(), _MOST_UNREAD_ANCHORS):
            self._anchor(inner)

    def _visit_with_attributes(
        self, element: etree._Element, name: str, context: BlockContext
    ) -> None:
        """Read an element with its styles and language, unless its attributes leave it out."""
        types = semantics.types_of(element)
        omission = omissions.omission_by_attributes(element, types)
        if omission is not None:
            self._leave_out(element, omission)
            return
        if name in semantics.BLOCKS:
            marks = inline_elements.block_styles_of(element, name, self.sheet)
        else:
            marks = inline_elements.styles_of(element, name, self.sheet)
        context = self._with_line_feeds(element, name, context)
        language = inline_elements.language_of(element)
        if not language:
            self._visit(element, name, types, marks, context)
            return
        outer = self.language
        if outer and not inline_elements.is_same_language(language, outer):
            marks = (*marks, InlineMark(language=language))
        self.language = language
        self._visit(element, name, types, marks, context)
        self.language = outer

    def _with_line_feeds(
        self, element: etree._Element, name: str, context: BlockContext
    ) -> BlockContext:
        """The context after what an element declares about line feeds."""
        if not self._shows_lines and not element.get("style"):
            return context
        keeps_lines = inline_elements.keeps_lines(element, name, self.sheet)
        if keeps_lines is None or keeps_lines == context.keeps_lines:
            return context
        return replace(context, keeps_lines=keeps_lines)

    def _visit(
        self,
        element: etree._Element,
        name: str,
        types: Types,
        marks: Marks,
        context: BlockContext,
    ) -> None:
        """Read a block, or words; a note inside a paragraph is read after the paragraph."""
        if self._open_lines and semantics.is_inner_note(name, types):
            note = _InnerNote(element, types, marks, self.language)
            self._inner_notes.append(note)
        elif name in semantics.BLOCKS:
            self._visit_block(element, name, types, marks, context)
        else:
            self._anchor(element)
            self._inline(element, name, types, marks, context)

    def _visit_block(
        self,
        element: etree._Element,
        name: str,
        types: Types,
        marks: Marks,
        context: BlockContext,
    ) -> None:
        """Read a block as paragraphs of their own, and the notes inside after them."""
        self.flush(context)
        self._anchor(element)
        first = len(self.document.paragraphs)
        opened_lines = 1 if name in _LINES else 0
        self._open_lines += opened_lines
        self._collector.begin(marks)
        self._block(element, name, types, context)
        self._collector.end(marks)
        self._open_lines -= opened_lines
        if len(self.document.paragraphs) > first:
            self._record_block(element, name, types, first)
        if self._inner_notes and not self._open_lines:
            self._read_inner_notes(context)

    def _record_block(
        self, element: etree._Element, name: str, types: Types, first: int
    ) -> None:
        """Record what a block is whose paragraphs are those from `first` on."""
        end = len(self.document.paragraphs)
        if semantics.is_note(element, types):
            self.notes.append((first, end))
        for value in _ids_of(element):
            self.document.ends.setdefault(value, end)
        if end == first + 1 and self._is_initial(element, name):
            self._initial_index = first

    def _read_inner_notes(self, context: BlockContext) -> None:
        """Read the notes inside a paragraph after it, so that they do not cut it in two."""
        notes = self._inner_notes
        self._inner_notes = []
        outer_language = self.language
        context = replace(context, kind=ParagraphKind.TEXT, level=0, is_note=True)
        for note in notes:
            self.language = note.language
            self._visit_block(note.element, "aside", note.types, note.marks, context)
            self.flush(context)
        self.language = outer_language

    def flush(self, context: BlockContext) -> None:
        """End the current paragraph, if it has text; inside a cell, only separate words."""
        if self._in_cell:
            self._collector.text(" ")
            return
        collected = self._collector.take(heading=context.kind is ParagraphKind.HEADING)
        if collected is None:
            return
        self.document.has_words = self.document.has_words or collected.has_words
        paragraph = classify(collected, context, self._marker)
        self._marker = ""
        if self._continues_initial(paragraph):
            self._join_initial(paragraph)
        else:
            self.document.paragraphs.append(paragraph)
        self._initial_index = None

    def _is_initial(self, element: etree._Element, name: str) -> bool:
        """Whether a block, the last paragraph, is the large first letter of the next one."""
        paragraph = self.document.paragraphs[-1]
        if len(paragraph.text) > semantics.LONGEST_INITIAL:
            return False
        return semantics.is_initial(paragraph.words) and self._may_be_initial(
            element, name
        )

    def _continues_initial(self, paragraph: ParsedParagraph) -> bool:
        """Whether a paragraph goes on with the word of the initial before it."""
        if self._initial_index is None:
            return False
        is_last = self._initial_index == len(self.document.paragraphs) - 1
        words = paragraph.words
        return is_last and (words[:1].islower() or words[:2].isupper())

    def _join_initial(self, paragraph: ParsedParagraph) -> None:
        """Put the floated initial, which is the last paragraph, before the rest of its word."""
        paragraphs = self.document.paragraphs
        initial = paragraphs.pop().words
        paragraphs.append(replace(paragraph, text=initial + paragraph.text))
        last = len(paragraphs) - 1
        # The newest anchors and ends are after the initial, where its word goes on.
        for places in (self.document.anchors, self.document.ends):
            for value in reversed(places):
                if places[value] <= last:
                    break
                places[value] = last
        self.document.has_words = True

    def _anchor(self, element: etree._Element) -> None:
        for value in _ids_of(element):
            self.document.anchors.setdefault(value, len(self.document.paragraphs))

    def _children(self, element: etree._Element, context: BlockContext) -> None:
        """Read the text and the elements inside an element."""
        keeps_lines = context.keeps_lines and not context.is_preformatted
        read: Callable[[str], None] = self._collector.source_text
        if keeps_lines:
            read = partial(self._lines, context=context)
        if element.text:
            read(element.text)
        for child in element:
            self.element(child, context)
            tail = child.tail
            if tail and child is self._initial_span:
                tail = self._without_gap(tail)
            if tail:
                read(tail)

    def _without_gap(self, text: str) -> str:
        """The text after a floated initial, without white space if its word goes on."""
        word = text.lstrip()
        if not word[:1].islower():
            return text
        self._collector.characters += len(text) - len(word)
        return word

    def _lines(self, text: str, context: BlockContext) -> None:
        """Read text whose line feeds are shown, where an empty line ends a paragraph."""
        self._collector.characters += len(text)
        for number, part in enumerate(_EMPTY_LINES.split(text)):
            if number:
                self.flush(context)
            first, *others = part.split("\n")
            self._collector.text(first)
            for line in others:
                self._collector.end_line()
                self._collector.text(line)

    def _text_between(self, text: str | None, context: BlockContext) -> None:
        """Read the text between the items of a list as a paragraph of its own."""
        if not text:
            return
        if text.isspace():
            self._collector.characters += len(text)
            return
        self._collector.source_text(text)
        self.flush(context)

    def _block(
        self, element: etree._Element, name: str, types: Types, context: BlockContext
    ) -> None:
        """Read the content of a block by what it is: a list, a table, a figure and so on."""
        inner = context_inside(element, name, types, context)
        if name in ("ul", "ol", "menu", "dir"):
            inner = replace(inner, kind=ParagraphKind.LIST, level=inner.level + 1)
            self._list(element, name, inner)
        elif name == "table":
            self._table(element, inner)
        elif name == "hgroup":
            self._heading_group(element, inner)
        elif inner.is_verse and semantics.is_verse(element, types):
            self._stanzas(element, inner)
        elif semantics.is_figure(element, name):
            self._figure(element, inner)
        elif semantics.is_caption(element, name):
            self._caption(element, inner)
        else:
            self._children(element, inner)
            self.flush(inner)

    def _list(self, element: etree._Element, name: str, context: BlockContext) -> None:
        """Read a list, with the number or bullet of each item before its first paragraph."""
        number = _integer(element.get("start"), 1)
        self._text_between(element.text, context)
        for child in element:
            if local_name(child) == "li":
                number = _integer(child.get("value"), number)
                self.flush(context)
                self._marker = semantics.marker(
                    element, child, number, ordered=name == "ol"
                )
                number += 1
            self.element(child, context)
            self.flush(context)
            self._text_between(child.tail, context)
        self._marker = ""

    def _table(self, element: etree._Element, context: BlockContext) -> None:
        """Read a table of data as one paragraph with a line for each row."""
        rows = None if self._in_cell else semantics.data_rows(element)
        if rows is None:
            # A layout table, or long cells: read cell by cell.
            self._children(element, context)
            self.flush(context)
            return
        captions = [child for child in element if local_name(child) == "caption"]
        for caption in captions:
            self.element(caption, context)
        # Between the cells is only white space; it counts as read.
        read_parts = chain(captions, *rows)
        between_characters = _length(element) - sum(map(_length, read_parts))
        self._collector.characters += between_characters
        self._open_lines += 1
        lines = [self._row(row, context) for row in rows]
        self._open_lines -= 1
        self._collector.rows([line for line in lines if line])
        self.flush(replace(context, kind=ParagraphKind.TABLE))

    def _row(self, cells: list[etree._Element], context: BlockContext) -> str:
        """The line of a table's row; empty if no cell has words."""
        row = cells[0].getparent() if cells else None
        if row is not None:
            self._anchor(row)
        texts = []
        for cell in cells:
            self._anchor(cell)
            start = self._collector.start_cell()
            self._in_cell = True
            self._children(cell, context)
            self._in_cell = False
            texts.append(self._collector.end_cell(start))
        if not any(texts):
            return ""
        return _COLUMN_END.join(texts).strip(_COLUMN_END)

    def _heading_group(self, element: etree._Element, context: BlockContext) -> None:
        """Read the title and the subtitles of an <hgroup> as headings of one level."""
        inner_names = map(local_name, element.iter())
        headings = filter(semantics.HEADINGS.__contains__, inner_names)
        level = semantics.HEADINGS.get(next(headings, ""), 1)
        inner = replace(context, kind=ParagraphKind.HEADING, level=level)
        self._text_between(element.text, inner)
        for child in element:
            self.flush(inner)
            name = local_name(child)
            if name == "p" or name in semantics.HEADINGS:
                self._anchor(child)
                self._children(child, inner)
            else:
                self.element(child, inner)
            self.flush(inner)
            self._text_between(child.tail, inner)

    def _stanzas(self, element: etree._Element, context: BlockContext) -> None:
        """Read verse, and join lines that are paragraphs of their own into one."""
        document = self.document
        first = len(document.paragraphs)
        anchors_before = len(document.anchors)
        self._children(element, context)
        self.flush(context)
        lines = document.paragraphs[first:]
        are_verse_lines = all(map(_is_verse_line, lines))
        if len(lines) < 2 or not are_verse_lines:
            return
        document.paragraphs[first:] = [_joined_lines(lines)]
        anchors_inside = len(document.anchors) - anchors_before
        self._join_anchors(anchors_inside, first, len(lines))

    def _join_anchors(self, anchor_count: int, first: int, line_count: int) -> None:
        """Move the last anchors from lines to the paragraph that they have become.

        Anchors after the last line lead to the next paragraph.
        """
        document = self.document
        after_lines = first + line_count
        for name in islice(reversed(document.anchors), anchor_count):
            is_in_line = document.anchors[name] < after_lines
            document.anchors[name] = first if is_in_line else first + 1
            if name in document.ends:
                document.ends[name] = first + 1

    def _figure(self, element: etree._Element, context: BlockContext) -> None:
        """Give the figure's caption, wherever it is, to pictures without a description."""
        outer_captioned = self._captioned
        self._captioned = None
        self._captions = set()
        pictures: list[semantics.Picture] = []
        for inner in element.iter(etree.Element):
            name = local_name(inner)
            if semantics.is_caption(inner, name):
                self._captions.add(plain_text(inner))
            if name in ("img", "image"):
                pictures.append(semantics.picture_of(inner))
        self._captions.discard("")
        if self._captions:
            self._captioned = [
                InlineMark(image=picture.source)
                for picture in pictures
                if picture.source and not self._is_described(picture)
            ]
        self._children(element, context)
        self.flush(context)
        self._captioned = outer_captioned

    def _is_described(self, picture: semantics.Picture) -> bool:
        return bool(picture.words) and picture.words not in self._captions

    def _caption(self, element: etree._Element, context: BlockContext) -> None:
        """Read a caption; the first one with text represents the figure's pictures."""
        inner = replace(context, kind=ParagraphKind.IMAGE)
        marks = self._captioned or []
        if marks and plain_text(element):
            self._captioned = []
        self._collector.begin(marks)
        self._children(element, inner)
        self.flush(inner)
        self._collector.end(marks)

    def _picture(self, picture: semantics.Picture) -> None:
        """Read a picture, unless the caption of its figure represents it."""
        if self._captioned is None or self._is_described(picture):
            self._collector.picture(picture)

    def _is_reference(self, element: etree._Element, name: str, types: Types) -> bool:
        """Whether an element refers to a note and has nothing but a short sign."""
        if not semantics.is_reference(element, name, types):
            return False
        return semantics.is_phrase(element) or not plain_text(element)

    def _reference(self, element: etree._Element) -> None:
        """Put a note reference in brackets, to separate it from the word before it.

        A reference that is a word of the sentence gets none.
        """
        for inner in element.iter():
            self._anchor(inner)
        self._collector.characters += _length(element)
        text = plain_text(element) or "*"
        if semantics.needs_brackets(text):
            text = f"[{text}]"
        address = _first_address(element)
        marks = (InlineMark(href=address, is_note=True),) if address else ()
        self._collector.begin(marks)
        self._collector.text(text)
        self._collector.end(marks)

    def _inline(
        self,
        element: etree._Element,
        name: str,
        types: Types,
        marks: Marks,
        context: BlockContext,
    ) -> None:
        """Read an element among words: a phrase, a picture, an equation, a reference to a note."""
        is_ruby = name == "ruby" and semantics.is_phrase(element)
        if is_ruby or name in ("svg", "math"):
            self._collector.characters += _length(element)
            self._collector.text(self._replaced(element, name))
        elif name in _EMPTY_ELEMENTS:
            self._empty(element, name, context)
            # In broken markup it has text and children.
            if element.text:
                self._collector.text(" ")
            self._children(element, context)
        elif name == "object" and semantics.is_picture_object(element):
            self._empty(element, "img", context)
            self._collector.characters += _length(element)
        elif name in ("a", "sup") and self._is_reference(element, name, types):
            self._reference(element)
        elif self._may_be_initial(element, name):
            self._initial(element, name, marks, context)
        else:
            self._phrase(element, name, marks, context)

    def _phrase(
        self, element: etree._Element, name: str, marks: Marks, context: BlockContext
    ) -> None:
        """Read words with the link, the marks and the quotation marks of their element."""
        address = inline_elements.href_of(element, name)
        if address:
            marks = (InlineMark(href=address), *marks)
        opening, closing = _AROUND.get(name, ("", ""))
        self._collector.begin(marks)
        self._collector.text(opening)
        self._children(element, context)
        self._collector.text(closing)
        self._collector.end(marks)

    def _may_be_initial(self, element: etree._Element, name: str) -> bool:
        """Whether an element has the class of a drop cap, or floats."""
        if not element.attrib:
            return False
        if semantics.is_drop_cap(element):
            return True
        may_float = self._has_floats or element.get("style")
        return bool(may_float) and inline_elements.floats(element, name, self.sheet)

    def _initial(
        self, element: etree._Element, name: str, marks: Marks, context: BlockContext
    ) -> None:
        """Read a floated initial, whose word goes on after any white space."""
        text = plain_text(element)
        if len(element) or not semantics.is_initial(text):
            self._phrase(element, name, marks, context)
            return
        self._collector.characters += _length(element)
        self._collector.begin(marks)
        self._collector.text(text)
        self._collector.end(marks)
        self._initial_span = None if semantics.is_word_of_one_letter(text) else element

    def _replaced(self, element: etree._Element, name: str) -> str:
        """The text of ruby, of an equation or of a drawing."""
        if name == "ruby":
            return _ruby(element)
        left_out = self.document.left_out
        for inner in element.iter():
            if local_name(inner) in semantics.SCRIPTS:
                left_out[omissions.SCRIPTS] += words_in(inner)
        if name == "math":
            unread_words = sum(map(words_in, unread_sources(element)))
            left_out[omissions.OTHER_FORM] += unread_words
            return equation_text(element)
        for picture in semantics.svg_pictures(element):
            self._picture(picture)
        return f" {semantics.drawn_text(element)} "

    def _empty(self, element: etree._Element, name: str, context: BlockContext) -> None:
        """Read what an element without text shows: a line end, a rule, a picture."""
        if name == "br":
            self._collector.end_line()
        elif name == "hr":
            self.flush(context)
            if not self._in_cell:
                scene_break = ParsedParagraph("* * *", ParagraphKind.BREAK)
                self.document.paragraphs.append(scene_break)
        elif name == "embed":
            # `pandoc --webtex` embeds a picture of a formula: `https://…/latex?E=mc%5E2`.
            _, _, formula = element.get("src", "").partition("latex?")
            self._collector.text(unquote(formula))
            if not formula:
                self.document.left_out["embedded file(s)"] += 1
        elif self._captioned is not None or not semantics.is_decoration(element):
            self._picture(semantics.picture_of(element))


def _is_verse_line(paragraph: ParsedParagraph) -> bool:
    return paragraph.kind is ParagraphKind.VERSE and "\n" not in paragraph.text


def _joined_lines(lines: list[ParsedParagraph]) -> ParsedParagraph:
    """One paragraph of verse, with the marks of all lines."""
    texts: list[str] = []
    marks: list[InlineMark] = []
    for line in lines:
        text = line.text
        if line.marks:
            text = inline.renumber_marks(text, len(marks))
        texts.append(text)
        marks += line.marks
    return ParsedParagraph(
        "\n".join(texts),
        ParagraphKind.VERSE,
        keeps_lines=True,
        marks=tuple(marks[: inline.MAX_MARKS]),
    )


def _first_address(element: etree._Element) -> str:
    """The address of the first link in an element, itself included; empty if there is none."""
    for inner in element.iter(etree.Element):
        address = inline_elements.href_of(inner, local_name(inner))
        if address:
            return address
    return ""


def _length(element: etree._Element) -> int:
    """The characters of an element, without those of comments."""
    return int(cast("float", _STRING_LENGTH(element)))


def _ids_of(element: etree._Element) -> tuple[str, ...]:
    if not element.attrib:
        return ()
    values = map(element.get, ("id", _XML_ID, "name"))
    return tuple(filter(None, values))


def _integer(text: str | None, default: int) -> int:
    if text and re.fullmatch(r"-?\d{1,6}", text.strip()):
        return int(text)
    return default


def _ruby(element: etree._Element) -> str:
    """The base text, then its reading in brackets: the base stays searchable."""
    base_parts: list[str] = [element.text or ""]
    reading_parts: list[str] = []
    for child in element:
        name = local_name(child)
        text = "".join(map(str, child.itertext()))
        is_bracket = name == "rp" and not any(map(str.isalnum, text))
        if name in ("rt", "rtc"):
            reading_parts.append(text)
        elif not is_bracket:
            base_parts.append(text)
        base_parts.append(child.tail or "")
    base = join_ideographs("".join(base_parts))
    reading = join_ideographs("".join(reading_parts)).strip()
    if not reading:
        return base
    gap = " " if base[-1:].isspace() else ""
    return f"{base.rstrip()}（{reading}）{gap}"
