"""Searches the book in a thread as the user types.

Hits are marked on the page, stepped through, and listed.
"""

import asyncio
import threading
from functools import partial

from gistread.errors import GistreadError
from gistread.search.book_search import (
    BookSearch,
    SearchCancelled,
    SearchHits,
    SearchMode,
)
from gistread.tui.jobs import run_job
from gistread.tui.reading.context import ReadingContext
from gistread.tui.reading.layers import Layer
from gistread.tui.reading.pane_switcher import Pane
from gistread.tui.screens.hits import HitsScreen
from gistread.tui.text import Mark
from gistread.tui.widgets.input_line import InputLineClient

_GROUP = "search"  # Name of a group of workers, and of a series of jumps
# Characters around the view whose hits are marked: one letter can have 300,000 hits
_AROUND = 20_000
_WITH_NEXT_MODE = 70  # Columns of a screen that names what Tab switches to
_LONG_PROBLEM = 30  # Characters of a problem that leaves no room for the mode
_HIT_TOP = 0.3  # Where a hit from outside the view is shown, from 0 (top) to 1


class SearchController(InputLineClient):
    """The search in the book: its input line, its hits and their marks."""

    def __init__(self, context: ReadingContext) -> None:
        self._context = context
        self.hits = SearchHits()
        self._current = 0  # Index of the current hit, if there are hits
        self._mode = SearchMode.EXACT
        # What Escape brings back: the place, the hits and the current one before the input line
        self._place_before = 0
        self._hits_before = SearchHits()
        self._current_before = 0
        self._search = BookSearch(context.book)
        self._stop = threading.Event()
        # The part of the book whose hits are marked; None if the marks are out of date
        self._marked: tuple[int, int] | None = None
        # The last search and its hits for the status line; empty once cleared
        self.note = ""

    def find(self) -> None:
        """Open the input line for a search."""
        context = self._context
        context.panes.show(Pane.BOOK)
        self._place_before = context.place
        self._hits_before = self.hits
        self._current_before = self._current
        hint = "words of the book; Enter alone repeats the last search"
        context.input_line.ask(self, "/", hint)
        self._say("")
        # The search is prepared while the first key is being typed.
        prepare = asyncio.to_thread(self._search.prepare, self._mode)
        context.screen.run_worker(prepare, group="prepare a search")

    def switched(self) -> None:
        """Search the same words in the next mode."""
        self._mode = self._mode.next
        self._say("")
        self.typed(self._context.input_line.words)

    def cancelled(self) -> None:
        """Bring back what was shown before the input line was opened."""
        self._cancel()
        self._set_hits(self._hits_before, self._current_before)
        self._context.navigation.show(self._place_before)

    def accepted(self, words: str, choice: int | None) -> None:
        """Stay at the hit; without words, repeat the last search."""
        if not words.strip():
            self._context.input_line.close()
            # The words that were deleted may have had other hits.
            self._set_hits(self._hits_before, self._current_before)
            self.step(1)
            return
        is_found = self.hits.words == words and self.hits.mode is self._mode
        if is_found and not self._busy:
            self._stay()
        else:
            self.typed(words, stay=True)

    def _stay(self) -> None:
        """Close the input line at the current hit."""
        if not len(self.hits):
            return  # The input line says so and stays open.
        self._context.input_line.close()
        before = self._place_before
        self._context.screen.call_after_refresh(lambda: self._arrived(before))

    def _say(self, words: str, *, problem: bool = False) -> None:
        """Say this at the end of the input line, with the mode if there is room."""
        mode = str(self._mode)
        if self._context.screen.size.width >= _WITH_NEXT_MODE:
            mode = f"{mode}, Tab: {self._mode.next}"
        note = words
        if not problem or len(words) <= _LONG_PROBLEM:
            note = " · ".join(filter(None, (words, mode)))
        self._context.input_line.say(note, problem=problem)

    @property
    def _busy(self) -> bool:
        """Whether a search is running."""
        for worker in self._context.screen.workers:
            if worker.group == _GROUP and not worker.is_finished:
                return True
        return False

    def _cancel(self) -> None:
        self._stop.set()
        self._context.screen.workers.cancel_group(self._context.screen, _GROUP)

    def typed(self, words: str, *, stay: bool = False) -> None:
        """Search these words; with `stay`, close the input line once they are found."""
        self._cancel()
        self._stop = threading.Event()
        job = partial(self._find, words, self._mode, self._stop, stay=stay)
        run_job(self._context.screen, job, group=_GROUP, exclusive=False)

    async def _find(
        self, words: str, mode: SearchMode, stop: threading.Event, *, stay: bool
    ) -> None:
        """Find the words in a thread, mark the hits and show one. `stay`: as for `typed`."""
        if not self._search.is_ready(mode):
            self._say("building the index …")
        problem = "not in the book" if words.strip() else ""
        try:
            hits = await asyncio.to_thread(
                self._search.find, words, mode, stopped=stop.is_set
            )
        except SearchCancelled:
            return
        except GistreadError as error:
            hits, problem = SearchHits(words, mode), error.message
        if stop.is_set():
            return
        if not len(hits):
            self._set_hits(hits)
            self._context.navigation.show(self._place_before)
            self._say(problem, problem=bool(problem))
            return
        index = 0  # The best one of ranked hits
        if mode is not SearchMode.RANKED:
            index = hits.index_at(self._place_before) % len(hits)
        self._set_hits(hits, index)
        self._bring_into_view(index)
        self._say(self._position())
        if stay:
            self._stay()

    def _position(self) -> str:
        return f"{self._current + 1:,} of {len(self.hits):,}"

    def step(self, step: int) -> None:
        """Move `step` hits further."""
        hits, context = self.hits, self._context
        if not len(hits):
            self._warn_of_no_hits()
            return
        target = self._current + step
        top, end = context.book_pane.visible_range or (0, 0)
        in_view = top <= hits.starts[self._current] < end
        if hits.mode is not SearchMode.RANKED and not in_view:
            # The user has moved on: count from the view, whose first hit is the next one.
            target = hits.index_at(top) + step
            if step > 0:
                target -= 1
        wrapped = ""
        if target < 0:
            wrapped = " · from the end again"
        elif target >= len(hits):
            wrapped = " · from the beginning again"
        self._go(hits, target % len(hits), wrapped)

    def _go(self, hits: SearchHits, index: int, note: str = "") -> None:
        """Make this hit the current one, and show it. `note`: added to the status."""
        place = self._context.place
        self._set_hits(hits, index, note)
        self._bring_into_view(index)
        self._context.screen.call_after_refresh(lambda: self._arrived(place))

    def _arrived(self, before: int) -> None:
        """Record the jump from the place before."""
        self._context.navigation.jumps.record(before, self._context.place, _GROUP)

    def _bring_into_view(self, index: int) -> None:
        """Show the first part of a hit, unless it is in view."""
        start, end = self.hits.marked(index)[0]
        pane = self._context.book_pane
        pane.pointed_at = start
        top, bottom = pane.visible_range or (0, 0)
        is_in_view = top <= start and end <= bottom
        if not is_in_view:
            self._context.navigation.show(start, top=_HIT_TOP)

    def look(self, words: str, place: tuple[int, int]) -> None:
        """Look at a hit that was found in the library."""
        start, end = place
        hits = SearchHits(words, SearchMode.RANKED, starts=(start,), ends=(end,))
        self._go(hits, 0)

    def list_hits(self) -> None:
        """Show all hits in a list."""
        hits = self.hits
        if not len(hits):
            self._warn_of_no_hits()
            return

        def go(index: int) -> None:
            self._go(hits, index)
            self._context.panes.show(Pane.BOOK)

        self._context.push(HitsScreen(self._context.book, hits, self._current), go)

    def _warn_of_no_hits(self) -> None:
        words = self.hits.words
        if words:
            self._context.warn(f"{words!r} is not in the book.")
            return
        key = self._context.key_hint("find")
        self._context.warn(f"No search yet. Press {key} to search.")

    def clear(self) -> bool:
        """Remove the marks of the last search, which can still be repeated.

        Returns whether there were any.
        """
        was_shown = bool(self.note)
        self.note = ""
        self._marked = (0, 0)  # Up to date: no part of the book has marks.
        self._context.layers.set(Layer.HITS)
        self._context.layers.set(Layer.CURRENT_HIT)
        self._context.refresh()
        return was_shown

    def _set_hits(self, hits: SearchHits, current: int = 0, note: str = "") -> None:
        """Mark these hits. `current`: index of the current one; `note`: added to the status."""
        self.hits = hits
        self._current = current
        self._marked = None
        self.note = ""
        if len(hits):
            self.note = f"/{hits.words}  {self._position()}{note}"
        self.mark_hits()
        self._context.refresh()

    def mark_hits(self) -> None:
        """Mark the hits in and around the view, unless they are marked already."""
        view = self._context.book_pane.visible_range
        if view is None:
            return
        top, bottom = view
        if self._has_marked(top, bottom):
            return
        start, end = max(0, top - _AROUND), bottom + _AROUND
        self._marked = start, end
        hits = self.hits
        marks = [
            Mark(*part, "hit")
            for index in hits.between(start, end)
            for part in hits.marked(index)
        ]
        self._context.layers.set(Layer.HITS, marks)
        current: list[Mark] = []
        if len(hits):
            parts = hits.marked(self._current)
            current = [Mark(*part, "current-hit") for part in parts]
        self._context.layers.set(Layer.CURRENT_HIT, current)

    def _has_marked(self, top: int, bottom: int) -> bool:
        """Whether the hits between two offsets are marked, or none are to be."""
        if self._marked is None:
            return False
        # After `clear`, nothing is marked until the next search.
        is_cleared = not self.note
        first, last = self._marked
        return is_cleared or (first <= top and bottom <= last)
