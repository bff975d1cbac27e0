"""Collects the paragraphs of a document with their pictures and marks, and classifies them.

The elements around a paragraph determine its kind.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from lxml import etree

from gistread.book import inline
from gistread.book.formats.elements.semantics import (
    HEADINGS,
    Picture,
    Types,
    holds_notes,
    is_verse,
)
from gistread.book.formats.text_blocks import is_break
from gistread.book.inline import InlineMark, Marks
from gistread.book.model import ParagraphKind

# A line end by the author: a white space character that XML cannot contain
LINE_END = "\x0b"

_NO_FILE_NAME = "picture"
_NOT_WRITTEN = -1  # The index of a mark that the text does not contain
_ADDRESS_END = re.compile(r"[?#].*", re.DOTALL)


@dataclass(frozen=True, slots=True)
class CollectedText:
    """A paragraph's text, with `LINE_END` at its line ends, and its marks."""

    text: str
    marks: Marks
    is_picture: bool  # Contains only pictures
    has_words: bool  # Has words other than file names of pictures


@dataclass(slots=True)
class Collector:
    """Collects the text of one paragraph after another.

    >>> collector = Collector()
    >>> collector.source_text("Call me Ishmael.")
    >>> collector.take().text
    'Call me Ishmael.'
    >>> collector.take()
    """

    characters: int = 0  # Of the source, read or counted as left out
    _buffer: list[str] = field(default_factory=list)
    _marks: list[InlineMark] = field(default_factory=list)  # Of this paragraph
    # Open marks, outermost first, each with its index in `_marks` or `_NOT_WRITTEN`.
    _open: list[tuple[InlineMark, int]] = field(default_factory=list)
    # Each picture with the index of its words in the buffer.
    _pictures: list[tuple[int, Picture]] = field(default_factory=list)
    _all_marks: int = 0  # Marks in all paragraphs so far

    def text(self, text: str) -> None:
        self._buffer.append(text if text.isascii() else inline.strip_marks(text))

    def source_text(self, text: str) -> None:
        """Add text of the source, and count it."""
        self.characters += len(text)
        self._buffer.append(text if text.isascii() else inline.strip_marks(text))

    def end_line(self) -> None:
        self._buffer.append(LINE_END)

    def rows(self, rows: Sequence[str]) -> None:
        """Add the lines of a table made of `end_cell` results."""
        self._buffer.append(LINE_END.join(rows))

    def begin(self, marks: Sequence[InlineMark]) -> None:
        for mark in marks:
            self._open_mark(mark)

    def end(self, marks: Sequence[InlineMark]) -> None:
        for _ in marks:
            _, index = self._open.pop()
            self._close_mark(index)

    def picture(self, picture: Picture) -> None:
        self._pictures.append((len(self._buffer), picture))
        self._buffer.append("")

    def start_cell(self) -> int:
        """Start a table cell; until `end_cell` no paragraph ends."""
        return len(self._buffer)

    def end_cell(self, start: int) -> str:
        """Remove the words of the cell from the buffer. Returns them in one line, with marks."""
        pictures_before: list[tuple[int, Picture]] = []
        for index, picture in self._pictures:
            if index >= start:
                self._place(index, picture, _among_words(picture.words))
            else:
                pictures_before.append((index, picture))
        self._pictures = pictures_before
        words = inline.attach_marks("".join(self._buffer[start:]))
        del self._buffer[start:]
        if not inline.strip_marks(words).strip():
            return ""
        return " ".join(words.split())

    def take(self, *, heading: bool = False) -> CollectedText | None:
        """Finish the paragraph; None if it is empty.

        In a `heading`, a picture's description is the heading.
        """
        if not self._buffer:
            return None
        marks = self._marks
        # Open marks continue in the next paragraph; there they are opened again.
        for _, index in reversed(self._open):
            self._close_mark(index)
        is_picture = False
        has_words = True
        if self._pictures:
            is_picture = not inline.strip_marks("".join(self._buffer)).strip()
            is_described = any(picture.words for _, picture in self._pictures)
            has_words = is_described or not is_picture
            self._place_pictures(heading=heading, alone=is_picture)
        text = "".join(self._buffer)
        self._start_paragraph()
        if marks:
            text = inline.attach_marks(text)
            if not inline.strip_marks(text).strip():
                return None
        elif not text or text.isspace():
            return None
        return CollectedText(text, tuple(marks), is_picture, has_words)

    def _start_paragraph(self) -> None:
        """Empty the buffer, and reopen the marks that continue in the next paragraph."""
        open_before = self._open
        self._buffer = []
        self._marks = []
        self._open = []
        for mark, index in open_before:
            if index == _NOT_WRITTEN:
                self._open.append((mark, index))
            else:
                self._open_mark(mark)

    def _open_mark(self, mark: InlineMark) -> None:
        """Write the beginning of a mark, unless the same one is open or there are too many."""
        index = len(self._marks)
        is_open = any(mark == other for other, _ in self._open)
        is_full = (
            index >= inline.MAX_MARKS or self._all_marks >= inline.MAX_MARKS_PER_BOOK
        )
        if is_open or is_full:
            self._open.append((mark, _NOT_WRITTEN))
            return
        self._all_marks += 1
        self._marks.append(mark)
        self._buffer.append(inline.opening(index))
        self._open.append((mark, index))

    def _close_mark(self, index: int) -> None:
        if index != _NOT_WRITTEN:
            self._buffer.append(inline.closing(index))

    def _place_pictures(self, *, heading: bool, alone: bool) -> None:
        """Give each picture its words; pictures `alone` in a paragraph have a line each."""
        has_line = False
        for index, picture in self._pictures:
            if alone:
                words = _words_alone(picture, heading=heading)
                if words and has_line:
                    words = LINE_END + words
            else:
                words = _among_words(picture.words)
            self._place(index, picture, words)
            has_line = has_line or bool(words)
        self._pictures = []

    def _place(self, buffer_index: int, picture: Picture, words: str) -> None:
        """Put the words of a picture into the buffer, with a mark of its source."""
        if words and picture.source and len(self._marks) < inline.MAX_MARKS:
            index = len(self._marks)
            self._marks.append(InlineMark(image=picture.source))
            words = inline.opening(index) + words + inline.closing(index)
        self._buffer[buffer_index] = words


def _words_alone(picture: Picture, *, heading: bool) -> str:
    """The words of a picture without text beside it: its description, else its file's name."""
    if picture.words and (heading or is_break(picture.words)):
        return picture.words
    path = _ADDRESS_END.sub("", picture.source).rstrip("/")
    file_name = path.rpartition("/")[2]
    return f"[{picture.words or file_name or _NO_FILE_NAME}]"


def _among_words(words: str) -> str:
    """The words of a picture inside a paragraph, in brackets if they are a description."""
    # A drawn initial is part of its word.
    is_initial = len(words) <= 2 and words.isalpha()
    if is_initial or is_break(words) or not words:
        return words
    return f"[{words}]"


_TAB_COLUMNS = 4
# Lines that the author has ended are verse if they are more than these, and not longer.
_MOST_LINES_OF_PROSE = 2
_LONGEST_VERSE = 60  # Characters
_KINDS_WITHOUT_LEVEL = frozenset(
    (ParagraphKind.TABLE, ParagraphKind.NOTE, ParagraphKind.IMAGE, ParagraphKind.VERSE)
)
_IDEOGRAPH = (
    "[\u2e80-\u312f\u3190-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    "\uff00-\uffef\U00020000-\U0003ffff]"
)
# A line break in the source between two ideographs; elsewhere it is a space.
_MARKS = f"{inline.MARK_PATTERN}{{0,8}}"
_WRAPPED_IDEOGRAPHS = rf"({_IDEOGRAPH}{_MARKS})[ \t\r]*\n\s*(?={_MARKS}{_IDEOGRAPH})"
# Ideographs, and the characters between them in Unicode. The patterns above are slow to compile,
# and most books have no match of this one.
_MAY_BE_IDEOGRAPH = re.compile("[^\0-\u2e7f\U000f0000-\U0010ffff]")


@dataclass(frozen=True, slots=True)
class ParsedParagraph:
    """A paragraph with marks in its text, before links are resolved."""

    # With `inline.opening(i)` and `inline.closing(i)` around the words of `marks[i]`
    text: str
    kind: ParagraphKind
    level: int = 0
    keeps_lines: bool = False  # Its line feeds
    marks: Marks = ()  # With unresolved `href`, and `is_note` as declared by the link

    @property
    def words(self) -> str:
        if not self.marks:
            return self.text
        return inline.strip_marks(self.text)

    def under(self, mark: InlineMark) -> "ParsedParagraph":
        """The paragraph with another mark around all its text."""
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
    is_preformatted: bool = False
    is_verse: bool = False
    is_note: bool = False
    keeps_lines: bool = False  # Shows line feeds: `white-space: pre-wrap` and the like


def join_ideographs(text: str) -> str:
    """One line, without the spaces beside ideographs that come from wrapped lines."""
    line = re.sub(r"\s+", " ", text)
    if not _MAY_BE_IDEOGRAPH.search(line):
        return line
    joined = re.sub(f" (?={_IDEOGRAPH})", "", line)
    return re.sub(f"(?<={_IDEOGRAPH}) ", "", joined)


def context_inside(
    element: etree._Element, name: str, types: Types, context: BlockContext
) -> BlockContext:
    """The context for the text in a block that stands in `context`."""
    if name in HEADINGS:
        level = HEADINGS[name]
        return replace(context, kind=ParagraphKind.HEADING, level=level, is_verse=False)
    if name == "pre":
        return replace(context, is_preformatted=True)
    if name == "blockquote":
        level = context.level + 1 if context.kind is ParagraphKind.QUOTE else 1
        context = replace(context, kind=ParagraphKind.QUOTE, level=level)
    elif name == "dd":
        # A definition stands below its term.
        context = replace(context, kind=ParagraphKind.LIST, level=2)
    elif name == "dt":
        context = replace(context, kind=ParagraphKind.LIST, level=1)
    if holds_notes(element, types):
        context = replace(context, is_note=True)
    if not context.is_verse and is_verse(element, types):
        context = replace(context, is_verse=True)
    return context


def classify(
    collected: CollectedText, context: BlockContext, marker: str
) -> ParsedParagraph:
    """Finish a paragraph that stands in `context`. `marker`: of a list item."""
    marks = collected.marks
    lines = _lines_of(collected, context)
    one_line = " ".join(lines)
    text = "\n".join(lines)
    # A heading of pictures without descriptions would show the names of files.
    if context.kind is ParagraphKind.HEADING and collected.has_words:
        kind = ParagraphKind.HEADING
        return ParsedParagraph(one_line, kind, context.level, marks=marks)
    if collected.is_picture and not is_break(inline.strip_marks(one_line)):
        return ParsedParagraph(text, ParagraphKind.IMAGE, keeps_lines=True, marks=marks)
    if context.is_preformatted:
        kind = ParagraphKind.VERSE if context.is_verse else ParagraphKind.CODE
        return ParsedParagraph(text, kind, keeps_lines=True, marks=marks)
    lines_of_words = _without_marks(lines, marks)
    if len(lines) == 1 and is_break(marker + lines_of_words[0]):
        return ParsedParagraph(marker + text, ParagraphKind.BREAK, marks=marks)
    kind = _kind_in(context, lines_of_words)
    keeps_lines = len(lines) > 1 or kind in (ParagraphKind.TABLE, ParagraphKind.VERSE)
    level = 0 if kind in _KINDS_WITHOUT_LEVEL else context.level
    return ParsedParagraph(marker + text, kind, level, keeps_lines, marks)


def _without_marks(lines: list[str], marks: Marks) -> list[str]:
    if not marks:
        return lines
    return [inline.strip_marks(line) for line in lines]


def _lines_of(collected: CollectedText, context: BlockContext) -> list[str]:
    """The lines of a paragraph: as in the source if it is preformatted, else as marked up."""
    if not context.is_preformatted:
        return _fold_lines(collected.text)
    lines = collected.text.replace(LINE_END, "\n").strip("\n").split("\n")
    if not collected.marks:
        return lines
    return [_expanded(line) for line in lines]


def _kind_in(context: BlockContext, lines: Sequence[str]) -> ParagraphKind:
    """The kind of a paragraph with these lines, by the elements around and their length."""
    kind = context.kind
    # In a note, a table stays a table, and everything else is a note.
    if kind is ParagraphKind.TABLE:
        return kind
    if context.is_note:
        return ParagraphKind.NOTE
    if kind is ParagraphKind.IMAGE:
        return kind
    has_many_lines = len(lines) > _MOST_LINES_OF_PROSE
    has_short_lines = has_many_lines and max(map(len, lines)) <= _LONGEST_VERSE
    if context.is_verse or (has_short_lines and kind is not ParagraphKind.LIST):
        return ParagraphKind.VERSE
    return kind


def _fold_lines(text: str) -> list[str]:
    """The lines that the author has ended; line breaks of the source become spaces."""
    if "\n" in text and not text.isascii() and _MAY_BE_IDEOGRAPH.search(text):
        text = re.sub(_WRAPPED_IDEOGRAPHS, r"\1", text)
    if LINE_END not in text:
        return [" ".join(text.split())]
    lines = [" ".join(line.split()) for line in text.split(LINE_END)]
    return [line for line in lines if line]


def _expanded(line: str) -> str:
    """A line with spaces for its tabs. Marks take no room."""
    expanded, *parts = line.split("\t")
    for part in parts:
        columns = len(inline.strip_marks(expanded))
        spaces = _TAB_COLUMNS - columns % _TAB_COLUMNS
        expanded += " " * spaces + part
    return expanded
