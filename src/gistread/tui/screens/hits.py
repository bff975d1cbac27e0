"""The list of all search hits, with context, chapter and place."""

import asyncio
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from gistread.book.model import Book
from gistread.errors import GistreadError
from gistread.search.book_search import BookSearch, SearchCancelled, SearchHits, SearchMode
from gistread.tui.commands import own_keys
from gistread.tui.screens.listing import ListScreen, Row
from gistread.tui.text import Span

MOST = 1000  # maximum hits in the list
_BEFORE, _AFTER = 70, 110  # characters of context: two rows of a list 88 cells wide


@dataclass(frozen=True, slots=True)
class ChosenHit:
    hits: SearchHits
    index: int


class HitsScreen(ListScreen[ChosenHit]):
    """Dismissed with the chosen hit. The line has the words that are searched for."""

    KEYS = (("tab", "next_mode", "search otherwise"),)
    BINDINGS = own_keys(*KEYS, priority=True)
    ENTER = "go there"
    TALL = True
    SPACED = True

    def __init__(self, book: Book, search: BookSearch, hits: SearchHits, mode: SearchMode, current: int | None) -> None:
        at = ChosenHit(hits, current) if current is not None and current < MOST else None
        super().__init__("All hits", at=at, placeholder="words of the book", typed=hits.words)
        self._book = book
        self._search = search
        self._hits = hits
        self._mode = mode
        self._stop = threading.Event()
        self.note = self._count()

    def on_mount(self) -> None:
        super().on_mount()
        if self._hits.words and self._hits.mode is not self._mode:
            self._search_again()

    def rows_for(self, typed: str) -> Sequence[Row[ChosenHit]]:
        return [hit_row(self._book, self._hits, index) for index in range(min(MOST, len(self._hits)))]

    def filtered(self) -> None:
        if self.typed != self._hits.words:
            self._search_again()

    def action_next_mode(self) -> None:
        self._mode = self._mode.next
        self._search_again()

    def _search_again(self) -> None:
        self._stop.set()
        self._stop = threading.Event()
        # A function rather than a coroutine: it may be cancelled before it begins.
        looking: Any = partial(self._find, self.typed, self._mode, self._stop)
        self.run_worker(looking, exclusive=True)

    async def _find(self, words: str, mode: SearchMode, stop: threading.Event) -> None:
        if not self._search.is_ready(mode):
            self.say("making the index …")
        problem = ""
        try:
            hits = await asyncio.to_thread(self._search.find, words, mode, stopped=stop.is_set)
        except SearchCancelled:
            return
        except GistreadError as error:
            hits, problem = SearchHits(words, mode), error.message
        if not stop.is_set():
            self._hits = hits
            self.note = problem or self._count()
            self.show_rows(None)

    def _count(self) -> str:
        """How many hits there are, and the way of searching."""
        hits = self._hits
        count = f"{len(hits):,} {'hit' if len(hits) == 1 else 'hits'}"
        if not hits.words.strip():
            count = ""
        elif not len(hits):
            count = "not in the book"
        elif len(hits) > MOST:
            count += f", the first {MOST:,} are listed"
        elif hits.mode is SearchMode.RANKED:
            count += ", the best first"
        return " · ".join(filter(None, (count, f"{self._mode} search, next: {self._mode.next}")))


def hit_row(book: Book, hits: SearchHits, index: int) -> Row[ChosenHit]:
    """A hit with the words around it."""
    start, end = hits.span(index)
    text, spans = quote_around(book.text, 0, (start, end), hits.marked(index))
    chapter = book.chapter_title(start)
    place = f"{start / max(1, len(book.text)):.0%}"
    tail = f"{chapter[:40]} · {place}" if chapter else place
    return Row(ChosenHit(hits, index), text, tail=tail, spans=spans)


def quote_around(
    text: str, offset: int, hit: tuple[int, int], marked: Iterable[tuple[int, int]]
) -> tuple[str, tuple[Span, ...]]:
    """A hit with the words around it, and its marks. `offset`: where `text` begins in the book of hit and marks."""
    start, end = hit[0] - offset, hit[1] - offset
    left, right = max(0, start - _BEFORE), min(len(text), end + _AFTER)
    # Cut at spaces, where there are any.
    if left > 0 and (space := text.find(" ", left, start)) >= 0:
        left = space + 1
    if right < len(text) and (space := text.rfind(" ", end, right)) >= 0:
        right = space
    opening = "… " if left > 0 else ""
    closing = " …" if right < len(text) else ""
    shift = len(opening) - left
    spans = tuple(
        Span(max(left, first - offset) + shift, min(right, last - offset) + shift, "hit")
        for first, last in marked
        if first - offset < right and last - offset > left
    )
    return opening + text[left:right].replace("\n\n", " ¶").replace("\n", " ") + closing, spans
