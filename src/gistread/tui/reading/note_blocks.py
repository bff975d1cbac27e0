"""Notes of a book as blocks to stand under their paragraph, and the links in view.

An open note is identified by its path: the links followed to it, as indices of `Book.links`.
"""

from bisect import bisect_left
from dataclasses import replace

from gistread.book.model import Book
from gistread.tui.book_blocks import inline_spans
from gistread.tui.text import Block

NotePath = tuple[int, ...]
_RAIL = "┊ "


def links_in(book: Book, start: int, end: int) -> list[int]:
    """Indices of the links that begin in `[start, end)`."""
    first = bisect_left(book.links, start, key=lambda link: link.start)
    last = bisect_left(book.links, end, key=lambda link: link.start)
    return list(range(first, last))


def note_key(path: NotePath) -> tuple[str, NotePath]:
    return "note", path


def note_blocks(book: Book, path: NotePath, chosen: int | None = None) -> list[Block]:
    """The note that the last link of `path` refers to; `chosen` is the index of a link in it.

    The blocks have no offset in the book: the person is reading the paragraph above them.
    """
    link = book.links[path[-1]]
    if link.target is None or link.target_end is None:
        return []
    rail = _RAIL * len(path)
    blocks: list[Block] = []
    for paragraph in book.paragraphs_between(link.target, link.target_end):
        start, end = max(paragraph.start, link.target), min(paragraph.end, link.target_end)
        spans = inline_spans(book, start, end)
        if chosen is not None:
            spans += tuple(replace(span, style="current-link") for span in spans if span.link == chosen)
        blocks.append(
            Block(
                book.text[start:end],
                key=note_key(path),
                style="note",
                indent=2,
                rail=rail,
                blank_before=1 if not blocks else 0,
                spans=spans,
            )
        )
    return blocks or [Block("This note is empty.", key=note_key(path), style="muted", rail=rail)]


def shown_links(book: Book, start: int, end: int, notes: list[NotePath]) -> list[tuple[NotePath, int]]:
    """(path of its note, index) of each link between two offsets, in the order of the screen.

    `notes` are open. A link in the text itself has an empty path.
    """
    shown: list[tuple[NotePath, int]] = []
    for paragraph in book.paragraphs_between(start, end):
        shown += (((), link) for link in links_in(book, max(start, paragraph.start), min(end, paragraph.end)))
        for path in sorted(notes):
            if paragraph.start <= book.links[path[0]].start < paragraph.end:
                target = book.links[path[-1]]
                assert target.target is not None
                assert target.target_end is not None
                shown += ((path, link) for link in links_in(book, target.target, target.target_end))
    return shown
