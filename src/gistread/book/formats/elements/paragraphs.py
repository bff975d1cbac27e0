"""Classifies a collected paragraph by the elements around it and by its layout."""

import re
from dataclasses import dataclass, replace

from lxml import etree

from gistread.book import inline
from gistread.book.formats.elements.collector import LINE_END, CollectedText
from gistread.book.formats.elements.semantics import HEADINGS, holds_notes, is_verse
from gistread.book.formats.text_blocks import is_break
from gistread.book.inline import InlineMark
from gistread.book.model import ParagraphKind

_SHORT_LINE_CHARACTERS = 60
_TAB_COLUMNS = 4
_IDEOGRAPH = "[\u2e80-\u312f\u3190-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff]"
# A line break in the source is a space, except between ideographs.
_WRAPPED_IDEOGRAPHS = re.compile(
    f"({_IDEOGRAPH}{inline.MARK_PATTERN}{{0,8}})[ \t\r]*\n\\s*(?={inline.MARK_PATTERN}{{0,8}}{_IDEOGRAPH})"
)


@dataclass(frozen=True, slots=True)
class ParsedParagraph:
    text: str  # With `inline.opening(i)` and `inline.closing(i)` around the words of `marks[i]`
    kind: ParagraphKind
    level: int = 0
    lines: bool = False  # Keep its line feeds
    marks: tuple[InlineMark, ...] = ()  # With unresolved `href`, and `is_note` as declared by the link

    @property
    def words(self) -> str:
        return inline.strip_marks(self.text) if self.marks else self.text

    def under(self, mark: InlineMark) -> "ParsedParagraph":
        index = len(self.marks)
        if index >= inline.MAX_MARKS:
            return self
        text = inline.opening(index) + self.text + inline.closing(index)
        return replace(self, text=text, marks=(*self.marks, mark))


@dataclass(frozen=True, slots=True)
class BlockContext:
    """Properties that the surrounding elements give to the text inside."""

    kind: ParagraphKind = ParagraphKind.TEXT
    level: int = 0
    preformatted: bool = False
    verse: bool = False
    note: bool = False


def context_inside(element: etree._Element, name: str, types: frozenset[str], context: BlockContext) -> BlockContext:
    if name in HEADINGS:
        return replace(context, kind=ParagraphKind.HEADING, level=HEADINGS[name], verse=False)
    if name == "pre":
        return replace(context, preformatted=True)
    if name == "blockquote":
        level = context.level + 1 if context.kind is ParagraphKind.QUOTE else 1
        context = replace(context, kind=ParagraphKind.QUOTE, level=level)
    elif name == "dd":
        context = replace(context, kind=ParagraphKind.LIST, level=2)
    elif name == "dt":
        context = replace(context, kind=ParagraphKind.LIST, level=1)
    if holds_notes(element, types):
        context = replace(context, note=True)
    if not context.verse and is_verse(element, types):
        context = replace(context, verse=True)
    return context


def classify(collected: CollectedText, context: BlockContext, marker: str) -> ParsedParagraph:
    marks = collected.marks
    if context.preformatted:
        lines = collected.text.replace(LINE_END, "\n").strip("\n").split("\n")
        lines = [_expanded(line) for line in lines] if marks else lines
    else:
        lines = _fold_lines(collected.text)
    if context.kind is ParagraphKind.HEADING and collected.has_words:
        return ParsedParagraph(" ".join(lines), ParagraphKind.HEADING, context.level, marks=marks)
    if collected.is_picture and not is_break(inline.strip_marks(" ".join(lines))):
        return ParsedParagraph("\n".join(lines), ParagraphKind.IMAGE, lines=True, marks=marks)
    if context.preformatted:
        return ParsedParagraph(
            "\n".join(lines), ParagraphKind.VERSE if context.verse else ParagraphKind.CODE, lines=True, marks=marks
        )
    text = marker + "\n".join(lines)
    words = [inline.strip_marks(line) for line in lines] if marks else lines
    if len(words) == 1 and is_break(marker + words[0]):
        return ParsedParagraph(text, ParagraphKind.BREAK, marks=marks)
    kind, level, several = context.kind, context.level, len(lines) > 1
    if kind is ParagraphKind.TABLE:
        return ParsedParagraph(text, ParagraphKind.TABLE, lines=True, marks=marks)
    if context.note or kind is ParagraphKind.IMAGE:
        kind = ParagraphKind.NOTE if context.note else ParagraphKind.IMAGE
        return ParsedParagraph(text, kind, lines=several, marks=marks)
    is_short = len(words) > 2 and max(map(len, words)) <= _SHORT_LINE_CHARACTERS
    if context.verse or (is_short and kind is not ParagraphKind.LIST):
        return ParsedParagraph(text, ParagraphKind.VERSE, lines=True, marks=marks)
    return ParsedParagraph(text, kind, level, several, marks)


def _fold_lines(text: str) -> list[str]:
    if "\n" in text and not text.isascii():
        text = _WRAPPED_IDEOGRAPHS.sub(r"\1", text)
    if LINE_END not in text:
        return [" ".join(text.split())]
    return [line for line in (" ".join(part.split()) for part in text.split(LINE_END)) if line]


def _expanded(line: str) -> str:
    first, *others = line.split("\t")
    for other in others:
        first += " " * (_TAB_COLUMNS - len(inline.strip_marks(first)) % _TAB_COLUMNS) + other
    return first
