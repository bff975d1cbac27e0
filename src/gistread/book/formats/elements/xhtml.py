"""Turns an XHTML document into paragraphs with their kinds, marks and anchors."""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import islice
from urllib.parse import unquote

from lxml import etree

from gistread.book import inline
from gistread.book.formats.elements import inline_elements, semantics
from gistread.book.formats.elements.equations import equation_text
from gistread.book.formats.elements.inline_elements import StyleSheet, merge_sheets, read_sheet
from gistread.book.formats.elements.markup import (
    MOST_NESTED,
    elements_named,
    local_name,
    plain_text,
)
from gistread.book.formats.elements.paragraphs import (
    BlockContext,
    Collector,
    ParsedParagraph,
    classify,
    context_inside,
)
from gistread.book.formats.elements.semantics import Types
from gistread.book.inline import InlineMark, Marks
from gistread.book.model import ParagraphKind
from gistread.words import count_words

_COLUMN_END = " | "
_NO_SHEET: StyleSheet = {}
_REPLACED = frozenset(("object", "iframe", "canvas", "video", "audio"))
_XML_ID = "{http://www.w3.org/XML/1998/namespace}id"


@dataclass(slots=True)
class XhtmlDocument:
    language: str = ""  # Declared by the document, otherwise the book's
    paragraphs: list[ParsedParagraph] = field(default_factory=list)
    anchors: dict[str, int] = field(
        default_factory=dict
    )  # By id: the paragraph at or after it, or their number
    ends: dict[str, int] = field(default_factory=dict)
    notes: tuple[tuple[int, int], ...] = ()  # Ranges of paragraphs of the declared notes
    has_words: bool = False  # Has words other than file names of pictures
    left_out: Counter[str] = field(default_factory=Counter)  # As `left_out_notices` takes them


def read_document(
    root: etree._Element, language: str = "", sheet: StyleSheet = _NO_SHEET
) -> XhtmlDocument:
    """The paragraphs of `root`, an <html> element or a part of one in any namespace. The tree is
    not changed.

    Translators to XHTML mark verse by class "verse", notes by `epub:type="footnote"` and an id, and
    references by `<a epub:type="noteref" href="#id">`. `sheet`: the external style sheets.
    `language`: the book's, for documents that declare none. Elements nested too deeply become plain
    text.
    """
    bodies = (child for child in root if local_name(child) == "body")
    language = next(filter(None, map(inline_elements.language_of, (root, *bodies))), language)
    sheet = merge_sheets(
        [sheet, *(read_sheet(plain_text(each)) for each in in_head(root, "style"))]
    )
    walker = _Walker(language, sheet, XhtmlDocument(language))
    walker.element(root, BlockContext())
    walker.flush(BlockContext())
    walker.document.notes = tuple(walker.notes)
    return walker.document


def in_head(root: etree._Element, name: str) -> Iterator[etree._Element]:
    return (
        each for head in root if local_name(head) == "head" for each in elements_named(head, name)
    )


@dataclass(slots=True)
class _Walker:
    language: str  # The current element's
    sheet: StyleSheet
    document: XhtmlDocument
    notes: list[tuple[int, int]] = field(default_factory=list)
    _collector: Collector = field(default_factory=Collector)
    _marker: str = ""
    _captioned: list[InlineMark] | None = (
        None  # Inside a figure with a caption: its pictures without a description
    )
    _captions: set[str] = field(default_factory=set)  # Of that figure
    _in_cell: bool = False
    _depth: int = 0

    def element(self, element: etree._Element, context: BlockContext) -> None:
        name = local_name(element)
        if not name or name in semantics.SKIPPED:
            if name in semantics.CONTROLS:
                self.document.left_out["word(s) of buttons and fields"] += count_words(
                    plain_text(element)
                )
            return
        if self._depth > MOST_NESTED:
            self._collector.text(f" {' '.join(map(str, element.itertext()))} ")
            return
        if name in ("iframe", "frame"):
            self.document.left_out["embedded page(s)"] += 1
        self._depth += 1
        if element.attrib:
            self._visit_with_attributes(element, name, context)
        else:
            self._visit(element, name, frozenset(), inline_elements.BY_NAME.get(name, ()), context)
        self._depth -= 1

    def _visit_with_attributes(
        self, element: etree._Element, name: str, context: BlockContext
    ) -> None:
        types = semantics.types_of(element)
        if types & semantics.NON_TEXT_TYPES or (
            semantics.is_hidden(element) and not types & semantics.NOTES_TYPES
        ):
            # Links may lead to invisible elements: an index refers to printed page numbers.
            for inner in islice(element.iter(), 1000):
                self._anchor(inner)
            if semantics.is_invisible(element) and name not in semantics.SKIPPED:
                self.document.left_out["hidden word(s)"] += count_words(plain_text(element))
            return
        marks = (
            inline_elements.block_styles_of
            if name in semantics.BLOCKS
            else inline_elements.styles_of
        )(element, name, self.sheet)
        before, language = self.language, inline_elements.language_of(element)
        if language and not inline_elements.is_same_language(language, before or language):
            marks = (*marks, InlineMark(language=language))
        self.language = language or before
        self._visit(element, name, types, marks, context)
        self.language = before

    def _visit(
        self, element: etree._Element, name: str, types: Types, marks: Marks, context: BlockContext
    ) -> None:
        if name not in semantics.BLOCKS:
            self._anchor(element)
            self._inline(element, name, types, marks, context)
            return
        self.flush(context)
        self._anchor(element)
        first = len(self.document.paragraphs)
        self._collector.begin(marks)
        self._block(element, name, types, context)
        self._collector.end(marks)
        last = len(self.document.paragraphs)
        if last > first:
            if semantics.is_note(element, types):
                self.notes.append((first, last))
            for value in _ids_of(element):
                self.document.ends.setdefault(value, last)

    def flush(self, context: BlockContext) -> None:
        if self._in_cell:
            self._collector.text(" ")
            return
        collected = self._collector.take(heading=context.kind is ParagraphKind.HEADING)
        if collected is None:
            return
        self.document.has_words = self.document.has_words or collected.has_words
        self.document.paragraphs.append(classify(collected, context, self._marker))
        self._marker = ""

    def _anchor(self, element: etree._Element) -> None:
        for value in _ids_of(element):
            self.document.anchors.setdefault(value, len(self.document.paragraphs))

    def _children(self, element: etree._Element, context: BlockContext) -> None:
        text = self._collector.text
        if element.text:
            text(element.text)
        for child in element:
            self.element(child, context)
            if child.tail:
                text(child.tail)

    def _block(
        self, element: etree._Element, name: str, types: Types, context: BlockContext
    ) -> None:
        inner = context_inside(element, name, types, context)
        if name in ("ul", "ol", "menu", "dir"):
            self._list(
                element, name, replace(inner, kind=ParagraphKind.LIST, level=inner.level + 1)
            )
        elif name == "table":
            self._table(element, inner)
        elif name == "hgroup":
            self._heading_group(element, inner)
        elif inner.verse and semantics.is_verse(element, types):
            self._stanzas(element, inner)
        elif semantics.is_figure(element, name):
            self._figure(element, inner)
        elif semantics.is_caption(element, name):
            self._caption(element, inner)
        else:
            self._children(element, inner)
            self.flush(inner)

    def _list(self, element: etree._Element, name: str, context: BlockContext) -> None:
        number = _integer(element.get("start"), 1)
        for child in element:
            if local_name(child) == "li":
                number = _integer(child.get("value"), number)
                self.flush(context)
                self._marker = semantics.marker(element, child, number, ordered=name == "ol")
                number += 1
            self.element(child, context)
            self.flush(context)
        self._marker = ""

    def _table(self, element: etree._Element, context: BlockContext) -> None:
        if self._in_cell or not semantics.is_data_table(element):
            # A layout table, or long cells: read cell by cell.
            self._children(element, context)
            self.flush(context)
            return
        for caption in (child for child in element if local_name(child) == "caption"):
            self.element(caption, context)
        rows = []
        for row in elements_named(element, "tr"):
            self._anchor(row)
            cells = []
            for cell in (each for each in row if local_name(each) in ("td", "th")):
                self._anchor(cell)
                start = self._collector.start_cell()
                self._in_cell = True
                self._children(cell, context)
                self._in_cell = False
                cells.append(self._collector.end_cell(start))
            if any(cells):
                rows.append(_COLUMN_END.join(cells).strip(_COLUMN_END))
        self._collector.rows(rows)
        self.flush(replace(context, kind=ParagraphKind.TABLE))

    def _heading_group(self, element: etree._Element, context: BlockContext) -> None:
        level = next(
            (
                semantics.HEADINGS[local_name(e)]
                for e in element.iter()
                if local_name(e) in semantics.HEADINGS
            ),
            1,
        )
        inner = replace(context, kind=ParagraphKind.HEADING, level=level)
        for child in element:
            self.flush(inner)
            self._anchor(child)
            self._children(child, inner)
            self.flush(inner)

    def _stanzas(self, element: etree._Element, context: BlockContext) -> None:
        document = self.document
        first, known = len(document.paragraphs), len(document.anchors)
        self._children(element, context)
        self.flush(context)
        lines = document.paragraphs[first:]
        if len(lines) < 2 or any(
            line.kind is not ParagraphKind.VERSE or "\n" in line.text for line in lines
        ):
            return
        marks: list[InlineMark] = []
        texts = []
        for paragraph in lines:
            texts.append(
                inline.renumber_marks(paragraph.text, len(marks))
                if paragraph.marks
                else paragraph.text
            )
            marks += paragraph.marks
        kept = tuple(marks[: inline.MAX_MARKS])
        document.paragraphs[first:] = [
            ParsedParagraph("\n".join(texts), ParagraphKind.VERSE, lines=True, marks=kept)
        ]
        for name in islice(
            reversed(document.anchors), len(document.anchors) - known
        ):  # The anchors inside
            document.anchors[name] = first + (document.anchors[name] - first) // len(lines)
            if name in document.ends:
                document.ends[name] = first + 1

    def _figure(self, element: etree._Element, context: BlockContext) -> None:
        """Give the figure's caption, wherever it is, to pictures without a description."""
        before, self._captioned = self._captioned, None
        within = [(each, local_name(each)) for each in element.iter(etree.Element)]
        self._captions = {
            plain_text(each) for each, name in within if semantics.is_caption(each, name)
        } - {""}
        if self._captions:
            pictures = (
                semantics.picture_of(each) for each, name in within if name in ("img", "image")
            )
            self._captioned = [
                InlineMark(image=each.source)
                for each in pictures
                if each.source and not self._is_described(each)
            ]
        self._children(element, context)
        self.flush(context)
        self._captioned = before

    def _is_described(self, picture: semantics.Picture) -> bool:
        return bool(picture.words) and picture.words not in self._captions

    def _caption(self, element: etree._Element, context: BlockContext) -> None:
        inner = replace(context, kind=ParagraphKind.IMAGE)
        marks = self._captioned or []
        if plain_text(element):
            self._captioned = self._captioned and []
        self._collector.begin(marks)
        self._children(element, inner)
        self.flush(inner)
        self._collector.end(marks)

    def _picture(self, picture: semantics.Picture) -> None:
        if self._captioned is None or self._is_described(picture):
            self._collector.picture(picture)

    def _reference(self, element: etree._Element) -> None:
        """Put a note reference in brackets, to separate it from the word before it."""
        for inner in element.iter():
            self._anchor(inner)
        text = plain_text(element) or "*"
        address = next(
            filter(
                None, (inline_elements.href_of(each, local_name(each)) for each in element.iter())
            ),
            "",
        )
        marks = (InlineMark(href=address, is_note=True),) if address else ()
        self._collector.begin(marks)
        self._collector.text(text if text[:1] in "[(" or " " in text else f"[{text}]")
        self._collector.end(marks)

    def _inline(
        self, element: etree._Element, name: str, types: Types, marks: Marks, context: BlockContext
    ) -> None:
        collector = self._collector
        if name == "br":
            collector.end_line()
        elif name == "hr":
            self.flush(context)
            if not self._in_cell:
                self.document.paragraphs.append(ParsedParagraph("* * *", ParagraphKind.BREAK))
        elif name in ("img", "image") or (
            name == "object" and semantics.is_picture_object(element)
        ):
            if self._captioned is not None or not semantics.is_decoration(element):
                self._picture(semantics.picture_of(element))
        elif name == "svg":
            for picture in semantics.svg_pictures(element):
                self._picture(picture)
            collector.text(f" {semantics.drawn_text(element)} ")
        elif name == "math":
            collector.text(equation_text(element))
        elif name == "embed":
            _, _, formula = element.get("src", "").partition(
                "latex?"
            )  # as pandoc writes for --webtex
            collector.text(unquote(formula))
            self.document.left_out["embedded file(s)"] += not formula
        elif name == "ruby":
            collector.text(_ruby(element))
        elif name in ("a", "sup") and semantics.is_reference(element, name, types):
            self._reference(element)
        else:
            if address := inline_elements.href_of(element, name):
                marks = (InlineMark(href=address), *marks)
            opening, closing = (
                ("“", "”") if name == "q" else (" ", " ") if name in _REPLACED else ("", "")
            )
            collector.begin(marks)
            collector.text(opening)
            self._children(element, context)
            collector.text(closing)
            collector.end(marks)


def _ids_of(element: etree._Element) -> tuple[str, ...]:
    return tuple(filter(None, map(element.get, ("id", _XML_ID, "name"))))


def _integer(text: str | None, default: int) -> int:
    return int(text) if text and re.fullmatch(r"-?\d{1,6}", text.strip()) else default


def _ruby(element: etree._Element) -> str:
    """The base text, then its reading in brackets: the base stays searchable."""
    base: list[str] = [element.text or ""]
    reading: list[str] = []
    for child in element:
        name = local_name(child)
        if name in ("rt", "rtc"):
            reading.append(plain_text(child))
        elif name != "rp":
            base.append(plain_text(child))
        base.append(child.tail or "")
    word, spoken = ("".join("".join(parts).split()) for parts in (base, reading))
    return f"{word}（{spoken}）" if spoken else word
