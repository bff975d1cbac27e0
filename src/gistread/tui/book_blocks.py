"""A book as blocks of long text: one per paragraph, created when drawn."""

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Literal, NamedTuple

from gistread.book.model import Book, Paragraph, ParagraphKind, Style
from gistread.memory.front_matter import front_matter_end
from gistread.tui.text import Block, Span
from gistread.tui.text.cells import can_shift
from gistread.tui.text.figure import Figure
from gistread.tui.text.hyphenation import Foreign

FIRST_INDENT = 2
_PARTED = {
    ParagraphKind.TEXT,
    ParagraphKind.QUOTE,
    ParagraphKind.LIST,
    ParagraphKind.NOTE,
}  # hyphenated and justified
_PARAGRAPHS = (ParagraphKind.TEXT, ParagraphKind.QUOTE)  # separated by indents, if so set
_LONGEST_NUMBER = 8  # characters of a chapter heading that is hardly more than a number
_LOWEST_CENTRED = 3  # lowest level of headings that are centred; lower ones are left-aligned
_ABOVE_CHAPTER = 3  # empty rows above the beginning of a chapter
_LONGEST_TITLE = 60  # characters of a line of the title page, which is centred
_MARKER = re.compile(
    r"(?:[•◦▪‣*†‡–-]|\[\d{1,4}\]|\d{1,4}|\(?(?:\d{1,4}|[ivxlcdm]{1,7}|[a-z])[.)])[ \t]+",
    re.IGNORECASE,
)
_TURNOVER = 4
_INDENTS = {
    **dict.fromkeys((ParagraphKind.VERSE, ParagraphKind.QUOTE), 4),
    **dict.fromkeys((ParagraphKind.NOTE, ParagraphKind.IMAGE), 2),
    ParagraphKind.CODE: 1,
}
_SPEECH = "“\"«„‘'—–»"  # what speech begins with
_SAMPLED = 400  # paragraphs
_STYLES = {
    Style.CODE: "inline-code"
}  # styles that `text` names differently; there `code` is a block


class PageStyle(NamedTuple):
    indent: bool = False  # Whether paragraphs are separated by an indent rather than an empty row
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

        More may be added later.
        """
        self._book = book
        self._style = style
        self._figures = {} if figures is None else figures
        self._chapters = {chapter.start for chapter in book.chapters}
        self._begins = front_matter_end(book)
        self._foreign = _foreign_parts(book) if style.hyphenate else {}

    def __len__(self) -> int:
        return len(self._book.paragraphs)

    def __getitem__(self, index: int) -> Block:  # type: ignore[override]  # slices are never asked for
        paragraph = self._book.paragraphs[index]
        return self._block(index, inline_spans(self._book, paragraph.start, paragraph.end))

    def bare(self, index: int) -> Block:
        """The block without its spans, to count its rows."""
        return self._block(index, ())

    def _block(self, index: int, spans: tuple[Span, ...]) -> Block:
        book, style = self._book, self._style
        paragraph = book.paragraphs[index]
        kind = paragraph.kind
        text = book.text[paragraph.start : paragraph.end]
        opens = kind is ParagraphKind.HEADING and paragraph.start in self._chapters
        if opens:  # The beginning of a chapter stands out at any depth.
            paragraph = replace(paragraph, level=min(paragraph.level, _LOWEST_CENTRED))
        before = book.paragraphs[index - 1] if index else None
        goes_on = before is not None and kind is before.kind and kind in _PARAGRAPHS
        parted = style.hyphenate and kind in _PARTED
        titles = (
            kind is ParagraphKind.TEXT
            and paragraph.end <= self._begins
            and len(text) <= _LONGEST_TITLE
        )
        if kind is ParagraphKind.LIST:
            indent = 2 * max(1, paragraph.level)
        else:
            indent = _INDENTS.get(kind, 0)
        figure = self._figures.get(index)
        captioned = figure is not None and kind is ParagraphKind.IMAGE
        pictured = kind is ParagraphKind.IMAGE and any(
            book.images_between(paragraph.start, paragraph.end)
        )
        return Block(
            text=text,
            key=index,
            start=paragraph.start,
            style="numeral" if opens and len(text) <= _LONGEST_NUMBER else kind.value,
            level=paragraph.level,
            indent=0 if captioned else indent,
            # The first paragraph of a section is not indented.
            first_indent=FIRST_INDENT if style.indent and goes_on and not titles else 0,
            turnover=turnover(kind, text),
            hanging="▧"
            if pictured and not captioned
            else "",  # a caption may belong to a table or a listing
            rail="▏" if kind is ParagraphKind.CODE else "",
            blank_before=_above(paragraph, before, text, style.indent, opens=opens),
            opens=opens,
            align="center" if captioned or titles else _align(paragraph, style.justify),
            language=book.language if parted else "",
            foreign=self._foreign.get(index, ()) if parted else (),
            spans=spans,
            figure=figure,
        )


def is_story(book: Book) -> bool:
    """Whether people talk in it: of its paragraphs at least one in eight begins with speech."""
    told = [paragraph for paragraph in book.paragraphs if paragraph.kind is ParagraphKind.TEXT]
    some = told[:: max(1, len(told) // _SAMPLED)]
    return sum(book.text[one.start] in _SPEECH for one in some) * 8 >= max(1, len(some))


def inline_spans(book: Book, start: int, end: int) -> tuple[Span, ...]:
    """Styles and links of `book.text[start:end]` as spans.

    `Span.link` is an index in `book.links`.
    """
    spans = [
        Span(
            max(one.start, start) - start,
            min(one.end, end) - start,
            _STYLES.get(one.style, one.style.value),
        )
        for one in book.spans_between(start, end)
    ]
    spans += (
        Span(max(one.start, start) - start, min(one.end, end) - start, "image")
        for one in book.images_between(start, end)
    )
    spans += _link_spans(book, start, end)
    return tuple(spans)


def _link_spans(book: Book, start: int, end: int) -> Iterator[Span]:
    if not book.links:
        return
    paragraph = book.paragraphs[book.paragraph_index(start)].start  # links do not cross paragraphs
    first = bisect_left(book.links, paragraph, key=lambda one: one.start)
    for index, link in enumerate(islice(book.links, first, None), first):
        if link.start >= end:
            return
        if link.end <= start:
            continue
        # Raised numbers are not underlined like other links.
        raised = link.target_end is not None and any(
            one.style is Style.SUPERSCRIPT
            and can_shift(book.text[one.start : one.end], "superscript")
            for one in book.spans_between(link.start, link.end)
        )
        style = "note-link" if raised else "link"
        yield Span(max(link.start, start) - start, min(link.end, end) - start, style, link=index)


def _foreign_parts(book: Book) -> dict[int, tuple[Foreign, ...]]:
    parts: dict[int, tuple[Foreign, ...]] = {}
    for language_span in book.language_spans:
        index = book.paragraph_index(language_span.start)
        start, end = book.paragraphs[index].start, book.paragraphs[index].end
        parts[index] = (
            *parts.get(index, ()),
            (
                language_span.start - start,
                min(language_span.end, end) - start,
                language_span.language,
            ),
        )
    return parts


def _align(paragraph: Paragraph, justify: bool) -> Literal["left", "center", "justify"]:
    kind = paragraph.kind
    if kind is ParagraphKind.BREAK or (
        kind is ParagraphKind.HEADING and paragraph.level <= _LOWEST_CENTRED
    ):
        return "center"
    return "justify" if justify and kind in _PARTED else "left"


def _above(
    paragraph: Paragraph, before: Paragraph | None, text: str, indented: bool, *, opens: bool
) -> int:
    kind = paragraph.kind
    if before is None:
        return 1
    if kind is ParagraphKind.HEADING:
        if before.kind is ParagraphKind.HEADING:
            return 1
        return _ABOVE_CHAPTER if opens else 2
    if kind is before.kind is ParagraphKind.LIST:
        # Items stand together; continuations of an item are set apart.
        return 0 if paragraph.level > before.level or _MARKER.match(text) else 1
    if indented and kind is before.kind and kind in (*_PARAGRAPHS, ParagraphKind.NOTE):
        return 0
    return 1


def turnover(kind: ParagraphKind, text: str) -> int:
    """Indent of rows that continue a line, in cells."""
    if kind is ParagraphKind.VERSE:
        return _TURNOVER
    if kind in (ParagraphKind.LIST, ParagraphKind.NOTE):
        marker = _MARKER.match(text)
        return marker.end() if marker else 0
    return 2 if kind is ParagraphKind.CODE else 0
