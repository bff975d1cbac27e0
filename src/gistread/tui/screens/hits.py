"""The list of all search hits, with context, chapter and place."""

from collections.abc import Iterable

from gistread.book.model import Book
from gistread.search.book_search import SearchHits, SearchMode
from gistread.tui.screens.listing import ListScreen, Row
from gistread.tui.text import Span
from gistread.units import ELLIPSIS, counted, format_place

MOST = 1000  # Most hits in the list
_BEFORE, _AFTER = 70, 110  # Characters of context: two rows of a list 88 cells wide
_CHAPTER_CHARACTERS = 40


class HitsScreen(ListScreen[int]):
    """Dismissed with the index of the chosen hit."""

    ENTER = "go there"
    TALL = True
    SPACED = True

    def __init__(self, book: Book, hits: SearchHits, current: int | None) -> None:
        title = f"All hits: {hits.words}"
        count = min(MOST, len(hits))
        rows = [hit_row(book, hits, index) for index in range(count)]
        note = counted(len(hits), "hit")
        if len(hits) > MOST:
            note += f", the first {MOST:,} are listed"
        elif hits.mode is SearchMode.RANKED:
            note += ", the best first"
        note += f" · {hits.mode} search"
        super().__init__(title, note, rows, current, placeholder="type to filter")


def hit_row(book: Book, hits: SearchHits, index: int) -> Row[int]:
    """A hit with the words around it."""
    start, end = hits.span(index)
    text, spans = quote_around(book.text, 0, (start, end), hits.marked(index))
    chapter = book.chapter_title(start)
    place = format_place(start, len(book.text))
    tail = " · ".join(filter(None, (chapter[:_CHAPTER_CHARACTERS], place)))
    return Row(index, text, tail=tail, spans=spans)


def quote_around(
    text: str, offset: int, hit: tuple[int, int], marked: Iterable[tuple[int, int]]
) -> tuple[str, tuple[Span, ...]]:
    """A hit with the words around it, and spans of the marked words.

    `offset`: where `text` begins in the book. `hit` and `marked` are ranges of the book.
    """
    start, end = hit[0] - offset, hit[1] - offset
    left, right = _cut_at_spaces(text, start, end)
    opening = "… " if left > 0 else ""
    closing = ELLIPSIS if right < len(text) else ""
    shift = len(opening) - left  # From a place in `text` to the same in the quote
    spans: list[Span] = []
    for first, last in marked:
        shown_from = max(left, first - offset)
        shown_to = min(right, last - offset)
        if shown_from < shown_to:
            spans.append(Span(shown_from + shift, shown_to + shift, "hit"))
    # Of the same length, so that the spans fit.
    words = text[left:right].replace("\n\n", " ¶").replace("\n", " ")
    return f"{opening}{words}{closing}", tuple(spans)


def _cut_at_spaces(text: str, start: int, end: int) -> tuple[int, int]:
    """The range of the text to show around a hit; if possible, it begins and ends at spaces."""
    left = max(0, start - _BEFORE)
    right = min(len(text), end + _AFTER)
    if left > 0:
        space = text.find(" ", left, start)
        if space >= 0:
            left = space + 1
    if right < len(text):
        space = text.rfind(" ", end, right)
        if space >= 0:
            right = space
    return left, right
