"""Links of a book as they are chosen: which of them are in a place; and a note as blocks to stand under its paragraph.

A note that is open is named by the way to it: the links, as indices of `Book.links`, that were followed one inside the
other. Pure.
"""

from bisect import bisect_left
from dataclasses import replace

from gistread.book.model import Book
from gistread.tui.book_blocks import inline_spans
from gistread.tui.text.document import Block

Way = tuple[int, ...]
_RAIL = "┊ "


def links_in(book: Book, start: int, end: int) -> list[int]:
    """Indices of the links that begin in `[start, end)`."""
    first = bisect_left(book.links, start, key=lambda link: link.start)
    last = bisect_left(book.links, end, key=lambda link: link.start)
    return list(range(first, last))


def note_key(way: Way) -> tuple[str, Way]:
    """The key of a note's blocks."""
    return "note", way


def note_blocks(book: Book, way: Way, chosen: int | None = None) -> list[Block]:
    """The note that the last link of `way` refers to, to stand under its paragraph; `chosen` is a link inside it.

    The blocks have no place in the book: it is the paragraph above that a person reads.
    """
    link = book.links[way[-1]]
    if link.target is None or link.target_end is None:
        return []
    rail = _RAIL * len(way)
    blocks: list[Block] = []
    for paragraph in book.paragraphs_between(link.target, link.target_end):
        start, end = max(paragraph.start, link.target), min(paragraph.end, link.target_end)
        spans = inline_spans(book, start, end)
        if chosen is not None:
            spans += tuple(replace(span, style="current-link") for span in spans if span.link == chosen)
        blocks.append(
            Block(
                book.text[start:end],
                key=note_key(way),
                style="note",
                indent=2,
                rail=rail,
                blank_before=1 if not blocks else 0,
                spans=spans,
            )
        )
    return blocks or [Block("This note is empty.", key=note_key(way), style="muted", rail=rail)]


def shown_links(book: Book, start: int, end: int, notes: list[Way]) -> list[tuple[Way, int]]:
    """(way of the note it stands in, index) of the links shown between two places, in the order of the screen.

    `notes` are open. A link of the text itself has the empty way.
    """
    shown: list[tuple[Way, int]] = []
    for paragraph in book.paragraphs_between(start, end):
        shown += (((), link) for link in links_in(book, max(start, paragraph.start), min(end, paragraph.end)))
        for way in sorted(notes):
            if paragraph.start <= book.links[way[0]].start < paragraph.end:
                target = book.links[way[-1]]
                assert target.target is not None
                assert target.target_end is not None
                shown += ((way, link) for link in links_in(book, target.target, target.target_end))
    return shown
