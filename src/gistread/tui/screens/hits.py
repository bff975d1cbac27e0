"""The list of all search hits, with context, chapter and place."""

import asyncio
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widgets import Input, Static

from gistread.book.model import Book
from gistread.errors import GistreadError
from gistread.search.book_search import BookSearch, SearchCancelled, SearchHits, SearchMode
from gistread.tui.commands import own_keys
from gistread.tui.screens.listing import RowsPanel
from gistread.tui.text import Block, Clicked, LongText, Span
from gistread.tui.widgets.lines import Actions

MOST = 1000  # maximum hits in the list
_BEFORE, _AFTER = 70, 110  # characters of context: two rows of a list 88 cells wide


@dataclass(frozen=True, slots=True)
class Chosen:
    hits: SearchHits
    index: int


class HitsScreen(RowsPanel[Chosen | None]):
    """Dismissed with the chosen hit."""

    BINDINGS = own_keys(("escape", "dismiss(None)", "Close"), ("tab", "next_mode", "Search otherwise"), priority=True)

    def __init__(self, book: Book, search: BookSearch, hits: SearchHits, mode: SearchMode, current: int | None) -> None:
        super().__init__()
        self._book = book
        self._search = search
        self._hits = hits
        self._mode = mode
        self._current = current
        self._stop = threading.Event()

    def compose(self) -> ComposeResult:
        with Vertical(classes="panel", id="hits-panel"):
            yield Static("All hits", classes="panel-title", markup=False)
            yield Input(self._hits.words, placeholder="words of the book", compact=True, id="hits-words")
            yield Actions(id="hits-note")
            yield LongText(cursor=True, side_margin=0, id="rows")

    def on_mount(self) -> None:
        self._show(self._hits)
        if self._hits.words and self._hits.mode is not self._mode:
            self._search_again()
        elif self._current is not None and self._current < MOST:
            self.rows.set_cursor(self._current)

    @on(Input.Changed, "#hits-words")
    def _typed(self, event: Input.Changed) -> None:
        if event.value != self._hits.words:
            self._search_again()

    def action_next_mode(self) -> None:
        self._mode = self._mode.next
        self._search_again()

    def _search_again(self) -> None:
        self._stop.set()
        self._stop = threading.Event()
        # A function rather than a coroutine: it may be cancelled before it begins.
        looking: Any = partial(self._find, self.wanted, self._mode, self._stop)
        self.run_worker(looking, exclusive=True)

    async def _find(self, words: str, mode: SearchMode, stop: threading.Event) -> None:
        if not self._search.is_ready(mode):
            self._say("making the index …")
        try:
            hits = await asyncio.to_thread(self._search.find, words, mode, stopped=stop.is_set)
        except SearchCancelled:
            return
        except GistreadError as error:
            self._show(SearchHits(words, mode))
            self._say(error.message)
            return
        if not stop.is_set():
            self._show(hits)

    def _show(self, hits: SearchHits) -> None:
        self._hits = hits
        self.rows.show(HitBlocks(self._book, hits), keep_position=False)
        self.rows.action_top()
        count = f"{len(hits):,} {'hit' if len(hits) == 1 else 'hits'}"
        if not hits.words.strip():
            self._say("")
        elif not len(hits):
            self._say("not in the book")
        elif len(hits) > MOST:
            self._say(f"{count}, the first {MOST:,} are listed")
        else:
            self._say(f"{count}, the best first" if hits.mode is SearchMode.RANKED else count)

    def _say(self, words: str) -> None:
        mode = "Tab", f"{self._mode}, next: {self._mode.next}", "next_mode"
        self.query_one("#hits-note", Actions).show_actions(*([("", words, "")] if words else []), mode)

    @on(Input.Submitted, "#hits-words")
    def _entered(self) -> None:
        key = self.rows.cursor_key
        if isinstance(key, int):
            self.dismiss(Chosen(self._hits, key))

    @on(Clicked, "#rows")
    def _clicked(self, event: Clicked) -> None:
        if isinstance(event.block_key, int):
            self.dismiss(Chosen(self._hits, event.block_key))


class HitBlocks(Sequence[Block]):
    """One block per hit, created when drawn."""

    def __init__(self, book: Book, hits: SearchHits) -> None:
        self._book = book
        self._hits = hits

    def __len__(self) -> int:
        return min(MOST, len(self._hits))

    def __getitem__(self, index: int) -> Block:  # type: ignore[override]  # slices are never asked for
        book, (start, end) = self._book, self._hits.span(index)
        left, right = max(0, start - _BEFORE), min(len(book.text), end + _AFTER)
        # Cut at spaces, where there are any.
        if left > 0 and (space := book.text.find(" ", left, start)) >= 0:
            left = space + 1
        if right < len(book.text) and (space := book.text.rfind(" ", end, right)) >= 0:
            right = space
        opening = "… " if left > 0 else ""
        closing = " …" if right < len(book.text) else ""
        text = opening + book.text[left:right].replace("\n\n", " ¶").replace("\n", " ") + closing
        shift = len(opening) - left
        spans = tuple(
            Span(max(left, first) + shift, min(right, last) + shift, "hit")
            for first, last in self._hits.marked(index)
            if first < right and last > left
        )
        chapter = book.chapter_title(start)
        place = f"{start / max(1, len(book.text)):.0%}"
        return Block(
            text,
            key=index,
            spans=spans,
            tail=f"{chapter[:40]} · {place}" if chapter else place,
            blank_before=0 if index == 0 else 1,
        )
