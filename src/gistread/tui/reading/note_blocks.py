"""The notes of a book as blocks of text."""

from collections.abc import Hashable
from dataclasses import replace

from gistread.book.model import Book, Link
from gistread.tui.book_blocks import inline_spans
from gistread.tui.text import Block, Span

AIR = Block("", key="air", blank_before=0)  # An empty row below open notes
_RAIL = "┊ "


def has_note(link: Link) -> bool:
    """Whether a link refers to a note: only the target of such a link has an end."""
    return link.target is not None and link.target_end is not None


def note_key(note: int) -> tuple[str, int]:
    """The key of the blocks of a note."""
    return "note", note


def note_blocks(book: Book, note: int, chosen: int | None = None) -> list[Block]:
    """Blocks of the note that a link refers to, without offsets in the book.

    Empty for a link that refers to no note. `chosen`: index of the selected link in the note.
    """
    link = book.links[note]
    if link.target is None or link.target_end is None:
        return []
    key = note_key(note)
    blocks: list[Block] = []
    for paragraph in book.paragraphs_between(link.target, link.target_end):
        start = max(paragraph.start, link.target)
        end = min(paragraph.end, link.target_end)
        block = Block(
            book.text[start:end],
            key=key,
            style="note",
            indent=2,
            rail=_RAIL,
            blank_before=0 if blocks else 1,
            spans=_spans_of_note(book, start, end, chosen),
        )
        blocks.append(block)
    if not blocks:
        blocks = [Block("This note is empty.", key=key, style="muted", rail=_RAIL)]
    return blocks


def _spans_of_note(
    book: Book, start: int, end: int, chosen: int | None
) -> tuple[Span, ...]:
    """Styles and links of a paragraph, with another style over the `chosen` link."""
    spans = inline_spans(book, start, end)
    if chosen is None:
        return spans
    chosen_spans = [span for span in spans if span.link == chosen]
    marked = [replace(span, style="current-link") for span in chosen_spans]
    return (*spans, *marked)


def note_of(key: Hashable) -> int | None:
    """The note whose blocks have this key; None if it is another key."""
    match key:
        case ("note", int(note)):
            return note
    return None
