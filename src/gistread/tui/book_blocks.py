"""A book as blocks of long text: one a paragraph, made when it is drawn. Pure.

Here a paragraph gets its place on the page (indents, space above, alignment) and its words their styles and links.
How rows are broken and what a style looks like is the affair of `text`.
"""

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from gistread.book.model import Book, Kind, Paragraph, Style
from gistread.tui.text.document import Block, Span
from gistread.tui.text.scripts import can_shift

FIRST_INDENT = 2
_PARTED = {Kind.TEXT, Kind.QUOTE, Kind.LIST, Kind.NOTE}
"""Prose: its words may be parted and its lines justified."""
_CENTRED = {Kind.HEADING, Kind.BREAK}
_MARKER = re.compile(
    r"(?:[•◦▪‣*†‡–-]|\[\d{1,4}\]|\d{1,4}|\(?(?:\d{1,4}|[ivxlcdm]{1,7}|[a-z])[.)])[ \t]+", re.IGNORECASE
)
_TURNOVER = 4
_STYLES = {Style.CODE: "inline-code"}
"""Names in `text` of the styles that are called otherwise there; a block of code has the name `code`."""


class PageStyle(NamedTuple):
    """What the person chooses of how paragraphs are set."""

    indent: bool = False
    """Paragraphs are told apart by an indented first line, else by an empty row."""
    justify: bool = False
    hyphenate: bool = False


PLAIN = PageStyle()


class BookBlocks(Sequence[Block]):
    """Block `i` is paragraph `i`."""

    def __init__(self, book: Book, style: PageStyle = PLAIN) -> None:
        self._book = book
        self._style = style

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
        before = book.paragraphs[index - 1].kind if index else None
        goes_on = kind is Kind.TEXT and before is Kind.TEXT
        language, foreign = _languages(book, paragraph) if style.hyphenate and kind in _PARTED else ("", ())
        return Block(
            text=text,
            key=index,
            start=paragraph.start,
            style=kind.value,
            level=paragraph.level,
            indent=_indent(paragraph),
            # The first paragraph of a section needs no sign that it begins.
            first_indent=FIRST_INDENT if style.indent and goes_on else 0,
            turnover=_turnover(kind, text),
            hanging="▧" if kind is Kind.IMAGE else "",
            rail="▏" if kind is Kind.CODE else "",
            blank_before=_above(kind, before, style.indent),
            align="center" if kind in _CENTRED else "justify" if style.justify and kind in _PARTED else "left",
            language=language,
            foreign=foreign,
            spans=spans,
        )


def inline_spans(book: Book, start: int, end: int) -> tuple[Span, ...]:
    """Styles and links of `book.text[start:end]`, as parts of it. `Span.link` is the index in `book.links`."""
    spans = [
        Span(max(one.start, start) - start, min(one.end, end) - start, _STYLES.get(one.style, one.style.value))
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
    paragraph = book.paragraphs[book.paragraph_index(start)].start  # no link reaches over the end of its paragraph
    first = bisect_left(book.links, paragraph, key=lambda one: one.start)
    for index, link in enumerate(islice(book.links, first, None), first):
        if link.start >= end:
            return
        if link.end <= start:
            continue
        # A raised number shows by itself that it leads somewhere; anything else is underlined, as other links are.
        raised = link.target_end is not None and any(
            one.style is Style.SUPERSCRIPT and can_shift(book.text[one.start : one.end], "superscript")
            for one in book.spans_between(link.start, link.end)
        )
        style = "note-link" if raised else "link"
        yield Span(max(link.start, start) - start, min(link.end, end) - start, style, link=index)


def _languages(book: Book, paragraph: Paragraph) -> tuple[str, tuple[tuple[int, int, str], ...]]:
    """Language of a paragraph, and the parts of it that are in another."""
    if not book.foreign:
        return book.language, ()
    start, end = paragraph.start, paragraph.end
    first = bisect_left(book.foreign, start, key=lambda one: one.start)
    parts: list[tuple[int, int, str]] = []
    language = book.language
    for one in islice(book.foreign, first, None):
        if one.start >= end:
            break
        if one.start == start and one.end >= end:
            language = one.language
        else:
            parts.append((one.start - start, min(one.end, end) - start, one.language))
    return language, tuple(parts)


def _above(kind: Kind, before: Kind | None, indented: bool) -> int:
    """Empty rows above a paragraph."""
    if before is None:
        return 1
    if kind is Kind.HEADING:
        return 1 if before is Kind.HEADING else 2
    together = kind is before and kind in (Kind.TEXT, Kind.LIST, Kind.NOTE)
    return 0 if indented and together else 1


def _indent(paragraph: Paragraph) -> int:
    match paragraph.kind:
        case Kind.VERSE | Kind.QUOTE:
            return 4
        case Kind.LIST:
            return 2 * max(1, paragraph.level)
        case Kind.NOTE | Kind.IMAGE:
            return 2
        case Kind.CODE:
            return 1
        case _:
            return 0


def _turnover(kind: Kind, text: str) -> int:
    """Cells by which a row that goes on from the one before stands further in."""
    if kind is Kind.VERSE:
        return _TURNOVER
    if kind in (Kind.LIST, Kind.NOTE):
        marker = _MARKER.match(text)
        return marker.end() if marker else 0
    return 2 if kind is Kind.CODE else 0
