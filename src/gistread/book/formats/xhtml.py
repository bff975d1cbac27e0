"""An XHTML document becomes paragraphs: what each says, of which kind it is, and where its anchors stand.

Reads the tree as a browser without style sheets would show it: blocks part paragraphs, inline markup parts nothing,
white space folds. Knows nothing of archives, packages or chapters.
"""

import re
from dataclasses import dataclass, field, replace

from lxml import etree

from gistread.book.formats.layout import is_break
from gistread.book.formats.markup import local_name, plain_text
from gistread.book.formats.semantics import (
    BLOCKS,
    HEADINGS,
    NOT_TEXT,
    NOTES,
    SKIPPED,
    is_hidden,
    is_reference,
    is_verse,
    types_of,
)
from gistread.book.formats.tables import table_rows
from gistread.book.model import Kind

BREAK_TEXT = "* * *"


@dataclass(frozen=True, slots=True)
class Piece:
    """A paragraph as the document gives it."""

    text: str
    kind: Kind
    level: int = 0
    lines: bool = False
    """Its line feeds are the author's."""


@dataclass(frozen=True, slots=True)
class Document:
    pieces: tuple[Piece, ...]
    anchors: dict[str, int]
    """Of each id the index of the piece that it stands in or before; may be the number of pieces."""
    title: str


@dataclass(frozen=True, slots=True)
class _Context:
    """What the elements around say of the text inside."""

    kind: Kind = Kind.TEXT
    level: int = 0
    preformatted: bool = False
    verse: bool = False
    note: bool = False


# Stands for <br/> until a paragraph is complete: XML cannot contain it, and white space around it folds away.
_LINE_END = "\x0b"

_SHORT_LINE_CHARACTERS = 60


def read_document(root: etree._Element) -> Document:
    """The paragraphs of a document (`markup.parse`)."""
    walker = _Walker()
    title = next((plain_text(element) for element in root.iter() if local_name(element) == "title"), "")
    walker.element(root, _Context())
    walker.flush(_Context())
    return Document(tuple(walker.pieces), walker.anchors, title)


@dataclass(slots=True)
class _Walker:
    """Walks one document and collects its pieces."""

    pieces: list[Piece] = field(default_factory=list)
    anchors: dict[str, int] = field(default_factory=dict)
    _ids: list[str] = field(default_factory=list)
    """The keys of `anchors` in order."""
    _buffer: list[str] = field(default_factory=list)
    _marker: str = ""
    """Bullet or number that the next paragraph of a list begins with."""

    def element(self, element: etree._Element, context: _Context) -> None:
        """Take in one element without its tail."""
        name = local_name(element)
        if not name or name in SKIPPED:
            return
        types: frozenset[str] = frozenset()
        if element.attrib:
            if is_hidden(element):
                return
            types = types_of(element)
            if types & NOT_TEXT:
                self._anchor(element)
                return
        if name in BLOCKS:
            self.flush(context)
            self._anchor(element)
            self._block(element, name, types, context)
        else:
            self._anchor(element)
            self._inline(element, name, types, context)

    def flush(self, context: _Context) -> None:
        """End the paragraph that has been collected."""
        if not self._buffer:
            return
        raw = "".join(self._buffer)
        self._buffer.clear()
        if context.preformatted:
            lines = raw.replace(_LINE_END, "\n").strip("\n").split("\n")
        else:
            lines = [line for line in (" ".join(part.split()) for part in raw.split(_LINE_END)) if line]
        if not any(line.strip() for line in lines):
            return
        self.pieces.append(_piece(lines, context, self._marker))
        self._marker = ""

    def _anchor(self, element: etree._Element) -> None:
        """Note where an id stands: at the paragraph that is being collected, or the one that comes next."""
        for name in ("id", "{http://www.w3.org/XML/1998/namespace}id", "name"):
            value = element.get(name)
            if value and value not in self.anchors:
                self.anchors[value] = len(self.pieces)
                self._ids.append(value)

    def _children(self, element: etree._Element, context: _Context) -> None:
        if element.text:
            self._buffer.append(element.text)
        for child in element:
            self.element(child, context)
            if child.tail:
                self._buffer.append(child.tail)

    def _block(self, element: etree._Element, name: str, types: frozenset[str], context: _Context) -> None:
        inner = _inside(element, name, types, context)
        if name in ("ul", "ol", "menu", "dir"):
            self._list(element, name, replace(inner, kind=Kind.LIST, level=inner.level + 1))
        elif name == "table":
            self._table(element, inner)
        elif name == "hgroup":
            self._heading_group(element, inner)
        elif inner.verse and is_verse(element, types):
            self._stanzas(element, inner)
        else:
            self._children(element, inner)
            self.flush(inner)

    def _list(self, element: etree._Element, name: str, context: _Context) -> None:
        number = _integer(element.get("start"), 1)
        for child in element:
            if local_name(child) == "li":
                number = _integer(child.get("value"), number)
                self.flush(context)
                self._marker = f"{number}. " if name == "ol" else "• "
                number += 1
            self.element(child, context)
            self.flush(context)
        self._marker = ""

    def _table(self, element: etree._Element, context: _Context) -> None:
        rows = table_rows(element)
        if rows is None:
            # A table that only lays out a page, or cells that are texts of their own: read cell by cell.
            self._children(element, context)
            self.flush(context)
            return
        for caption in (child for child in element if local_name(child) == "caption"):
            self.element(caption, context)
        for inner in element.iter():
            self._anchor(inner)
        self._buffer = [_LINE_END.join(rows)]
        self.flush(replace(context, kind=Kind.TABLE))

    def _heading_group(self, element: etree._Element, context: _Context) -> None:
        level = next((HEADINGS[local_name(e)] for e in element.iter() if local_name(e) in HEADINGS), 1)
        inner = replace(context, kind=Kind.HEADING, level=level)
        for child in element:
            self.flush(inner)
            self._anchor(child)
            self._children(child, inner)
            self.flush(inner)

    def _stanzas(self, element: etree._Element, context: _Context) -> None:
        """A poem or one stanza. Where each of its lines is an element of its own, they become one paragraph."""
        first, known = len(self.pieces), len(self._ids)
        self._children(element, context)
        self.flush(context)
        lines = self.pieces[first:]
        if len(lines) < 2 or any(piece.kind is not Kind.VERSE or "\n" in piece.text for piece in lines):
            return
        self.pieces[first:] = [Piece("\n".join(piece.text for piece in lines), Kind.VERSE, lines=True)]
        for name in self._ids[known:]:
            self.anchors[name] = first + (self.anchors[name] - first) // len(lines)

    def _inline(self, element: etree._Element, name: str, types: frozenset[str], context: _Context) -> None:
        if name == "br":
            self._buffer.append(_LINE_END)
        elif name == "hr":
            self.flush(context)
            self.pieces.append(Piece(BREAK_TEXT, Kind.BREAK))
        elif name in ("img", "image"):
            self._buffer.append(_bracketed(element.get("alt", "")))
        elif name == "svg":
            self._buffer.append(_svg_text(element))
        elif name == "math":
            self._buffer.append(element.get("alttext") or plain_text(element))
        elif name == "ruby":
            self._buffer.append(_ruby(element))
        elif name == "q":
            self._buffer.append("“")
            self._children(element, context)
            self._buffer.append("”")
        elif name in ("a", "sup") and is_reference(element, name, types):
            text = plain_text(element)
            self._buffer.append(text if text[:1] in "[(" else f"[{text}]")
        else:
            self._children(element, context)


def _inside(element: etree._Element, name: str, types: frozenset[str], context: _Context) -> _Context:
    """What `element` adds to the context of its contents."""
    if name in HEADINGS:
        return replace(context, kind=Kind.HEADING, level=HEADINGS[name], verse=False)
    if name == "pre":
        return replace(context, kind=Kind.TABLE, preformatted=True)
    if name == "blockquote":
        level = context.level + 1 if context.kind is Kind.QUOTE else 1
        context = replace(context, kind=Kind.QUOTE, level=level)
    elif name == "dd":
        context = replace(context, kind=Kind.LIST, level=2)
    elif name == "dt":
        context = replace(context, kind=Kind.LIST, level=1)
    if types & NOTES:
        context = replace(context, note=True)
    if not context.verse and is_verse(element, types):
        context = replace(context, verse=True)
    return context


def _piece(lines: list[str], context: _Context, marker: str) -> Piece:
    if context.kind is Kind.HEADING:
        return Piece(" ".join(lines), Kind.HEADING, context.level)
    if context.preformatted:
        return Piece("\n".join(lines), Kind.TABLE, lines=True)
    text = marker + "\n".join(lines)
    if len(lines) == 1 and is_break(text):
        return Piece(text, Kind.BREAK)
    if context.kind is Kind.TABLE:
        return Piece(text, Kind.TABLE, lines=True)
    if context.note:
        return Piece(text, Kind.NOTE, lines=len(lines) > 1)
    if context.verse:
        return Piece(text, Kind.VERSE, lines=True)
    if len(lines) > 2 and context.kind is not Kind.LIST and max(map(len, lines)) <= _SHORT_LINE_CHARACTERS:
        return Piece(text, Kind.VERSE, lines=True)
    return Piece(text, context.kind, context.level, lines=len(lines) > 1)


def _integer(text: str | None, otherwise: int) -> int:
    return int(text) if text and re.fullmatch(r"-?\d{1,6}", text.strip()) else otherwise


def _bracketed(text: str) -> str:
    text = " ".join(text.split())
    return f"[{text}]" if text else ""


def _ruby(element: etree._Element) -> str:
    """The base text, then its reading in brackets: the base stays in one piece for a search."""
    base: list[str] = [element.text or ""]
    reading: list[str] = []
    for child in element:
        name = local_name(child)
        if name in ("rt", "rtc"):
            reading.append(plain_text(child))
        elif name != "rp":
            base.append(plain_text(child))
        base.append(child.tail or "")
    word, said = ("".join("".join(parts).split()) for parts in (base, reading))
    return f"{word}（{said}）" if said else word


def _svg_text(element: etree._Element) -> str:
    """The words drawn in a picture, or else what it is called."""
    words = [plain_text(each) for each in element.iter() if local_name(each) == "text"]
    if any(words):
        return f" {' '.join(words)} "
    title = next((plain_text(each) for each in element.iter() if local_name(each) in ("title", "desc")), "")
    return _bracketed(title)
