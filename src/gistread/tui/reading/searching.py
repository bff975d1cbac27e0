"""Searching in the book as one types: the line of `/` and `?`, hits on the page, `n` and `N`, the list of all hits.

A part of the reading screen. What is found is known by `search/in_book.py`. A search runs in a thread; the next key
makes it end and takes its place, so a slow one holds up neither the keys nor what comes after it.
"""

import asyncio
import threading
from dataclasses import dataclass
from functools import partial
from typing import Any

from textual import on

from gistread.errors import GistreadError
from gistread.search.book_search import BookSearch, SearchCancelled, SearchHits, SearchMode
from gistread.tui.layout import Pane
from gistread.tui.marking.layers import Layer, Layers
from gistread.tui.reading.moving import Moving
from gistread.tui.text.marks import Mark
from gistread.tui.text.messages import OffsetChanged
from gistread.tui.widgets.prompt import Prompt

SEARCH = "search"
_AROUND = 20_000
"""Characters before and behind the screen whose hits are marked: a letter can have 300,000 hits."""
_HIT_TOP = 0.3
"""Where on the screen a hit is shown that was not on it, from 0 to 1."""


@dataclass(frozen=True, slots=True)
class _Before:
    """What there was before the line was opened, to come back to."""

    place: int
    hits: SearchHits
    current: int | None


class Searching(Moving):
    """What a screen with a book pane, marks in layers and a `Prompt` needs to search."""

    mark_layers: Layers

    def __init__(self) -> None:
        super().__init__()
        self.hits = SearchHits()
        self._current: int | None = None
        self._mode = SearchMode.EXACT
        self._backward = False
        self._before = _Before(0, SearchHits(), None)
        self._search: BookSearch | None = None
        self._stop = threading.Event()
        self._marked: tuple[int, int] | None = None
        """The part of the book whose hits are marked; None where marks are out of date."""
        self.search_note = ""
        """What the status line says of the search."""

    def show_search_note(self) -> None:
        """The status line, anew."""
        raise NotImplementedError

    # Beginning and ending

    def action_find(self) -> None:
        self._ask_for_words(backward=False)

    def action_find_backward(self) -> None:
        self._ask_for_words(backward=True)

    def _ask_for_words(self, *, backward: bool) -> None:
        if self.book is None:
            return
        self.book_pane.count.drop()
        self.to_pane(Pane.BOOK)
        self._before = _Before(self.book_pane.place, self.hits, self._current)
        self._backward = backward
        self.prompt.begin(SEARCH, self._sign, "words of the book; Enter alone repeats the last search")
        self._say("")
        self.run_worker(self._prepare(), group="prepare a search")

    async def _prepare(self) -> None:
        """What the first search needs is made while the first key is being typed."""
        await asyncio.to_thread(self._searcher().prepare, self._mode)

    def _searcher(self) -> BookSearch:
        assert self.book is not None
        if self._search is None:
            self._search = BookSearch(self.book)
        return self._search

    @property
    def _sign(self) -> str:
        return "?" if self._backward else "/"

    @on(Prompt.Typed)
    def _typed_words(self, event: Prompt.Typed) -> None:
        if event.kind == SEARCH:
            self._look_for(event.words)

    @on(Prompt.Switched)
    def _switched(self, event: Prompt.Switched) -> None:
        """Tab: the same words in the next way."""
        if event.kind == SEARCH:
            self._mode = self._mode.next
            self._say("")
            self._look_for(self.prompt.words)

    @on(Prompt.Left)
    def _left_search(self, event: Prompt.Left) -> None:
        """Escape: as if nothing had been searched."""
        if event.kind == SEARCH:
            self._cancel()
            self.close_prompt()
            self._set_hits(self._before.hits, self._before.current)
            self._show(self._before.place)

    @on(Prompt.Accepted)
    def _accepted_search(self, event: Prompt.Accepted) -> None:
        """Enter: stay at the hit. With nothing typed, the last words again."""
        if event.kind != SEARCH:
            return
        if not event.words.strip():
            self.close_prompt()
            self._set_hits(self._before.hits, self._before.current)
            self._step(1)
        elif self._searched(event.words):
            self._stay()
        else:
            self._look_for(event.words, stay=True)

    def _searched(self, words: str) -> bool:
        return (self.hits.words, self.hits.mode) == (words, self._mode) and not self._busy

    def _stay(self) -> None:
        if not len(self.hits):
            return  # the line says so, and stays to be mended
        self.close_prompt()
        before = self._before.place
        self.call_after_refresh(lambda: self._stepped(before))

    # Looking

    @property
    def _busy(self) -> bool:
        return any(worker.group == SEARCH and not worker.is_finished for worker in self.workers)

    def _cancel(self) -> None:
        self._stop.set()
        self.workers.cancel_group(self, SEARCH)

    def _look_for(self, words: str, *, stay: bool = False) -> None:
        self._cancel()
        self._stop = threading.Event()
        stop, mode = self._stop, self._mode
        looking: Any = partial(
            self._look, words, mode, stop, stay
        )  # no coroutine: it may be cancelled before it begins
        self.run_worker(looking, group=SEARCH)

    async def _look(self, words: str, mode: SearchMode, stop: threading.Event, stay: bool) -> None:
        searcher = self._searcher()
        if not searcher.is_ready(mode):
            self._say("making the index …")
        try:
            hits = await asyncio.to_thread(searcher.find, words, mode, stopped=stop.is_set)
        except SearchCancelled:
            return
        except GistreadError as error:
            self._set_hits(SearchHits(words, mode), None)
            self._show(self._before.place)
            self._say(error.message, problem=True)
            return
        if stop.is_set():
            return
        self._show_found(hits)
        if stay:
            self._stay()

    def _show_found(self, hits: SearchHits) -> None:
        """The hit next to where the search began, or where it began if there is none."""
        before = self._before.place
        if not len(hits):
            self._set_hits(hits, None)
            self._show(before)
            self._say("not in the book" if hits.words.strip() else "", problem=bool(hits.words.strip()))
            return
        at = 0
        if hits.mode is not SearchMode.RANKED:
            at = (hits.index_at(before) - (1 if self._backward else 0)) % len(hits)
        self._set_hits(hits, at)
        self._bring(at)
        self._say(self._position())

    def _position(self) -> str:
        """Such as "3 of 41"."""
        count = f"{len(self.hits):,}"
        if self._current is None:
            return f"{count} hits" if len(self.hits) else "no hits"
        return f"{self._current + 1:,} of {count}"

    def _say(self, words: str, *, problem: bool = False) -> None:
        """In the prompt: what came of it, the way of searching, and how to change it."""
        way = f"{self._mode}, Tab: {self._mode.next}" if self.size.width >= 70 else f"{self._mode}"
        self.prompt.say(words if problem and len(words) > 30 else f"{words} · {way}" if words else way, problem=problem)

    # Going from hit to hit

    def action_next_hit(self) -> None:
        self._step(-self._count() if self._backward else self._count())

    def action_previous_hit(self) -> None:
        self._step(self._count() if self._backward else -self._count())

    def _step(self, step: int) -> None:
        """So many hits on from the current one or, where the person has gone elsewhere, from what is on screen."""
        hits = self.hits
        if not len(hits):
            self.warn(f"{hits.words!r} is not in the book." if hits.words else "Nothing has been searched: / searches.")
            return
        at = self._current
        view = self.book_pane.visible_range or (0, 0)
        if hits.mode is not SearchMode.RANKED and (at is None or not view[0] <= hits.starts[at] < view[1]):
            target = hits.index_at(view[0]) + (step - 1 if step > 0 else step)
        else:
            target = (-1 if at is None else at) + step
        there = target % len(hits)
        wrapped = "" if target == there else f" · from the {'beginning' if step > 0 else 'end'} again"
        place = self.book_pane.place
        self._set_hits(hits, there, wrapped)
        self._bring(there)
        self.call_after_refresh(lambda: self._stepped(place))

    def _stepped(self, before: int) -> None:
        self.jumps.leave(before, self.book_pane.place, SEARCH)

    def _bring(self, index: int) -> None:
        """Show this hit, where it is not on the screen already."""
        start, end = self.hits.marked(index)[0]
        view = self.book_pane.visible_range
        if view is None or not (view[0] <= start and end <= view[1]):
            self.book_pane.scroll_to_offset(start, top=_HIT_TOP)

    def action_all_hits(self) -> None:
        """The list of all hits."""
        if self.book is None:
            return
        from gistread.tui.screens.hits import Chosen, HitsScreen

        def go(chosen: Chosen | None) -> None:
            if chosen is not None:
                before = self.book_pane.place
                self._mode = chosen.hits.mode
                self._set_hits(chosen.hits, chosen.index)
                self._bring(chosen.index)
                self.call_after_refresh(lambda: self._stepped(before))
                self.to_pane(Pane.BOOK)

        self.app.push_screen(HitsScreen(self.book, self._searcher(), self.hits, self._mode, self._current), go)

    # Marks

    def drop_hits(self) -> bool:
        """Take the marks of the last search away. Whether there were any; `n` still finds the next."""
        shown = bool(self.search_note)
        self.search_note, self._marked = "", (0, 0)
        self.mark_layers.set(Layer.HITS)
        self.mark_layers.set(Layer.CURRENT_HIT)
        self.show_search_note()
        return shown

    def _set_hits(self, hits: SearchHits, current: int | None, said: str = "") -> None:
        self.hits, self._current, self._marked = hits, current, None
        self.search_note = f"{self._sign}{hits.words}  {self._position()}{said}" if len(hits) else ""
        self._mark_hits()
        self.show_search_note()

    @on(OffsetChanged, "#book")
    def _mark_hits(self) -> None:
        """Mark the hits around the screen."""
        view = self.book_pane.visible_range
        if view is None or (self._marked is not None and not self.search_note):
            return
        around = max(0, view[0] - _AROUND), view[1] + _AROUND
        if self._marked is None or not (self._marked[0] <= view[0] and view[1] <= self._marked[1]):
            hits = self.hits
            self._marked = around
            marks = [Mark(*part, "hit") for index in hits.between(*around) for part in hits.marked(index)]
            self.mark_layers.set(Layer.HITS, marks)
            current = () if self._current is None else hits.marked(self._current)
            self.mark_layers.set(Layer.CURRENT_HIT, [Mark(*part, "current-hit") for part in current])
