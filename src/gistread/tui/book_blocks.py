"""A book as blocks of long text: one per paragraph, created when drawn."""

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Literal, NamedTuple

from gistread.book.model import Book, Link, Paragraph, ParagraphKind, Style
from gistread.memory.front_matter import front_matter_end
from gistread.tui.text import Block, Span
from gistread.tui.text.cells import can_shift
from gistread.tui.text.figure import Figure
from gistread.tui.text.hyphenation import Foreign

FIRST_INDENT = 2
# Kinds that are hyphenated and justified
_PARTED = (
    ParagraphKind.TEXT,
    ParagraphKind.QUOTE,
    ParagraphKind.LIST,
    ParagraphKind.NOTE,
)
# Kinds that may be separated by indents
_INDENTED = (ParagraphKind.TEXT, ParagraphKind.QUOTE)
_LONGEST_NUMBER = 8  # Characters of a chapter heading that is hardly more than a number
# Lowest level of headings that are centred; lower ones are left-aligned
_LOWEST_CENTRED = 3
_ABOVE_CHAPTER = 3  # Empty rows above the beginning of a chapter
_ABOVE_HEADING = 2  # The same above a heading within one
_LONGEST_TITLE = 60  # Characters of a line of the title page, which is centred
# The beginning of an item or a note: "• ", "[12] ", "12 ", "(iv) ", "b. "
_MARKER = re.compile(
    r"(?:[•◦▪‣*†‡–-]|\[\d{1,4}\]|\d{1,4}|\(?(?:\d{1,4}|[ivxlcdm]{1,7}|[a-z])[.)])[ \t]+",
    re.IGNORECASE,
)
_TURNOVER = 4  # Indent of the further rows of a verse
_CODE_TURNOVER = 2  # The same of a line of code
_INDENTS = {
    **dict.fromkeys((ParagraphKind.VERSE, ParagraphKind.QUOTE), 4),
    **dict.fromkeys((ParagraphKind.NOTE, ParagraphKind.IMAGE), 2),
    ParagraphKind.CODE: 1,
}
_SPEECH = "“\"«„‘'—–»"  # Characters that speech begins with
_SAMPLED = 400  # Paragraphs that are looked at, about
_LEAST_SPEECH = 1 / 8  # Share of the paragraphs of a story that begin with speech
# A chapter's title that is only its number
_BARE_NUMBER = re.compile(r"[IVXLCDM]+|\d+")
# Styles that `text` names differently; there `code` is a block
_STYLES = {Style.CODE: "inline-code"}


class PageStyle(NamedTuple):
    """How paragraphs are laid out."""

    # Whether paragraphs are separated by an indent rather than an empty row
    indent: bool = False
    justify: bool = False
    hyphenate: bool = False


PLAIN = PageStyle()


class BookBlocks(Sequence[Block]):
    """The book as blocks of text: block `i` is paragraph `i`."""

    def __init__(
        self,
        book: Book,
        style: PageStyle = PLAIN,
        figures: Mapping[int, Figure | None] | None = None,
    ) -> None:
        """`figures`: pictures to draw, by the index of the paragraph below them.

        The caller may add to them later.
        """
        self._book = book
        self._style = style
        self._figures: Mapping[int, Figure | None] = {} if figures is None else figures
        self._chapters = {chapter.start for chapter in book.chapters}
        self._front_matter_end = front_matter_end(book)
        self._language = book.language if style.hyphenate else ""
        self._foreign: dict[int, tuple[Foreign, ...]] = {}
        if style.hyphenate:
            self._foreign = _foreign_parts(book)

    def __len__(self) -> int:
        return len(self._book.paragraphs)

    def __getitem__(self, index: int) -> Block:  # type: ignore[override]  # No slices
        paragraph = self._book.paragraphs[index]
        spans = inline_spans(self._book, paragraph.start, paragraph.end)
        return self._block(index, spans)

    def bare(self, index: int) -> Block:
        """The block without its spans, to count its rows."""
        return self._block(index, ())

    def _block(self, index: int, spans: tuple[Span, ...]) -> Block:
        """The block of a paragraph, as its kind, its neighbour and its place in the book ask."""
        book = self._book
        paragraph = book.paragraphs[index]
        kind = paragraph.kind
        before = book.paragraphs[index - 1] if index else None
        text = book.text[paragraph.start : paragraph.end]
        opens = kind is ParagraphKind.HEADING and paragraph.start in self._chapters
        block = Block(
            text=text,
            key=index,
            start=paragraph.start,
            style=kind.value,
            level=paragraph.level,
            indent=_indent(paragraph),
            first_indent=self._first_indent(paragraph, before),
            turnover=turnover(kind, text),
            rail="▏" if kind is ParagraphKind.CODE else "",
            blank_before=_rows_above(
                paragraph, before, text, indented=self._style.indent, opens=opens
            ),
            align=_align(paragraph, self._style.justify),
            language=self._language if kind in _PARTED else "",
            foreign=self._foreign.get(index, ()),
            spans=spans,
            figure=self._figures.get(index),
        )
        if opens:
            return _chapter_opening(block)
        if kind is ParagraphKind.IMAGE:
            return self._caption(block, paragraph)
        if self._is_title_line(paragraph):
            return replace(block, first_indent=0, align="center")
        return block

    def _first_indent(self, paragraph: Paragraph, before: Paragraph | None) -> int:
        """Cells before the first row. The first paragraph of a section is not indented."""
        if not self._style.indent or before is None:
            return 0
        if paragraph.kind is before.kind and paragraph.kind in _INDENTED:
            return FIRST_INDENT
        return 0

    def _is_title_line(self, paragraph: Paragraph) -> bool:
        """Whether it is a line of the title page."""
        return (
            paragraph.kind is ParagraphKind.TEXT
            and paragraph.end <= self._front_matter_end
            and paragraph.end - paragraph.start <= _LONGEST_TITLE
        )

    def _caption(self, block: Block, paragraph: Paragraph) -> Block:
        """The words below a picture; a sign stands for one that is not drawn."""
        if block.figure is not None:
            return replace(block, indent=0, align="center")
        # A caption may belong to a table or a listing.
        if any(self._book.images_between(paragraph.start, paragraph.end)):
            return replace(block, hanging="▧")
        return block


def _chapter_opening(block: Block) -> Block:
    """The heading that begins a chapter, which stands out at any depth."""
    is_number = len(block.text) <= _LONGEST_NUMBER
    return replace(
        block,
        style="numeral" if is_number else block.style,
        level=min(block.level, _LOWEST_CENTRED),
        opens=True,
        align="center",
    )


def is_story(book: Book) -> bool:
    """Whether people talk in the book: one paragraph in eight begins with speech."""
    starts = [
        paragraph.start
        for paragraph in book.paragraphs
        if paragraph.kind is ParagraphKind.TEXT
    ]
    step = max(1, len(starts) // _SAMPLED)
    sample = starts[::step]
    speeches = sum(book.text[start] in _SPEECH for start in sample)
    return speeches >= _LEAST_SPEECH * max(1, len(sample))


def inline_spans(book: Book, start: int, end: int) -> tuple[Span, ...]:
    """Styles and links of `book.text[start:end]` as spans.

    `Span.link` is an index in `book.links`.
    """
    spans: list[Span] = []
    for styled in book.spans_between(start, end):
        first = max(styled.start, start) - start
        last = min(styled.end, end) - start
        style = _STYLES.get(styled.style, styled.style.value)
        spans.append(Span(first, last, style))
    for image in book.images_between(start, end):
        first = max(image.start, start) - start
        last = min(image.end, end) - start
        spans.append(Span(first, last, "image"))
    spans += _link_spans(book, start, end)
    return tuple(spans)


def _link_spans(book: Book, start: int, end: int) -> Iterator[Span]:
    """The links in `book.text[start:end]`, which is in one paragraph."""
    if not book.links:
        return
    # A link that reaches `start` begins in the same paragraph: none crosses paragraphs.
    paragraph = book.paragraphs[book.paragraph_index(start)]
    first = bisect_left(book.links, paragraph.start, key=lambda link: link.start)
    for index, link in enumerate(islice(book.links, first, None), first):
        if link.start >= end:
            return
        if link.end <= start:
            continue
        # Raised numbers are not underlined like other links.
        style = "note-link" if _is_raised_number(book, link) else "link"
        link_start = max(link.start, start) - start
        link_end = min(link.end, end) - start
        yield Span(link_start, link_end, style, link=index)


def _is_raised_number(book: Book, link: Link) -> bool:
    """Whether a link to a note is drawn with raised characters."""
    if link.target_end is None:
        return False
    return any(
        span.style is Style.SUPERSCRIPT
        and can_shift(book.text[span.start : span.end], "superscript")
        for span in book.spans_between(link.start, link.end)
    )


def _foreign_parts(book: Book) -> dict[int, tuple[Foreign, ...]]:
    """The parts in another language of each paragraph that is hyphenated, by its index."""
    parts: defaultdict[int, list[Foreign]] = defaultdict(list)
    for language_span in book.language_spans:
        index = book.paragraph_index(language_span.start)
        paragraph = book.paragraphs[index]
        if paragraph.kind in _PARTED:
            start = language_span.start - paragraph.start
            end = min(language_span.end, paragraph.end) - paragraph.start
            parts[index].append((start, end, language_span.language))
    return {index: tuple(foreign) for index, foreign in parts.items()}


def _indent(paragraph: Paragraph) -> int:
    if paragraph.kind is ParagraphKind.LIST:
        return 2 * max(1, paragraph.level)
    return _INDENTS.get(paragraph.kind, 0)


def _align(paragraph: Paragraph, justify: bool) -> Literal["left", "center", "justify"]:
    kind = paragraph.kind
    if kind is ParagraphKind.BREAK:
        return "center"
    if kind is ParagraphKind.HEADING and paragraph.level <= _LOWEST_CENTRED:
        return "center"
    if justify and kind in _PARTED:
        return "justify"
    return "left"


def _rows_above(
    paragraph: Paragraph,
    before: Paragraph | None,
    text: str,
    *,
    indented: bool,
    opens: bool,
) -> int:
    """Empty rows above a paragraph.

    `indented`: whether indents separate paragraphs. `opens`: whether it begins a chapter.
    """
    kind = paragraph.kind
    if before is None:
        return 1
    if kind is ParagraphKind.HEADING:
        if before.kind is ParagraphKind.HEADING:
            return 1
        return _ABOVE_CHAPTER if opens else _ABOVE_HEADING
    if kind is not before.kind:
        return 1
    if kind is ParagraphKind.LIST:
        # Items stand together; further paragraphs of an item are set apart.
        begins_item = paragraph.level > before.level or _MARKER.match(text)
        return 0 if begins_item else 1
    if indented and kind in (*_INDENTED, ParagraphKind.NOTE):
        return 0
    return 1


def turnover(kind: ParagraphKind, text: str) -> int:
    """Indent of rows that continue a line, in cells."""
    match kind:
        case ParagraphKind.VERSE:
            return _TURNOVER
        case ParagraphKind.LIST | ParagraphKind.NOTE:
            marker = _MARKER.match(text)
            if not marker:
                return 0
            return marker.end()
        case ParagraphKind.CODE:
            return _CODE_TURNOVER
    return 0


def chapter_name(title: str, language: str) -> str:
    """The title of a chapter where nothing else tells that it is one.

    >>> chapter_name("VI", "en"), chapter_name("Loomings", "en")
    ('Chapter VI', 'Loomings')
    """
    if language.startswith("en") and _BARE_NUMBER.fullmatch(title):
        return f"Chapter {title}"
    return title
