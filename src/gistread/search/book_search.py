"""Searches one book in each of three ways, and keeps what makes the next search quick.

It knows the book's text and paragraphs. It may be used from several threads at once; what is being made is made once.
"""

import threading
from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from gistread.book.model import Book
from gistread.book.sentences import sentence_spans
from gistread.search.exact import FoldedText
from gistread.search.pattern import find_pattern
from gistread.search.ranked import Ranker

RANKED_MOST = 100
"""Passages that a ranked search gives: nobody reads more of them."""
_ASK_EVERY = 2048


class SearchMode(StrEnum):
    EXACT = "exact"
    REGEX = "regular expression"
    RANKED = "ranked"

    @property
    def next(self) -> "SearchMode":
        modes = list(SearchMode)
        return modes[(modes.index(self) + 1) % len(modes)]


class SearchCancelled(Exception):  # noqa: N818  (nothing went wrong)
    """Nobody waits for this search any more."""


@dataclass(frozen=True, slots=True)
class SearchHits:
    """What was found, as bounds in the book's text: in the order of the book, or (ranked) the best first."""

    words: str = ""
    mode: SearchMode = SearchMode.EXACT
    starts: Sequence[int] = ()
    ends: Sequence[int] = ()
    parts: dict[int, tuple[tuple[int, int], ...]] = field(default_factory=dict)
    """Ranked: of each hit, by its index, the bounds of the words that were meant."""

    def __len__(self) -> int:
        return len(self.starts)

    def span(self, index: int) -> tuple[int, int]:
        return self.starts[index], self.ends[index]

    def marked(self, index: int) -> tuple[tuple[int, int], ...]:
        """What to show of a hit: its words, or all of it."""
        return self.parts.get(index) or (self.span(index),)

    def index_at(self, offset: int) -> int:
        """Index of the first hit at or behind `offset`; their number where there is none. Not of ranked hits."""
        return bisect_left(self.starts, offset)

    def between(self, start: int, end: int) -> Iterable[int]:
        """Indices of the hits that begin in `[start, end)`."""
        if self.mode is SearchMode.RANKED:
            return [index for index, at in enumerate(self.starts) if start <= at < end]
        return range(bisect_left(self.starts, start), bisect_left(self.starts, end))


def _never() -> bool:
    return False


class BookSearch:
    """Of one book."""

    def __init__(self, book: Book) -> None:
        self._book = book
        self._lock = threading.Lock()
        self._ranking = threading.Lock()
        self._folded: FoldedText | None = None
        self._ranker: Ranker | None = None

    def prepare(self, mode: SearchMode) -> None:
        """Make what the first search of this mode needs. War and Peace: 0.2 s; ranked 2 s."""
        if mode is SearchMode.EXACT:
            with self._lock:
                if self._folded is None:
                    self._folded = FoldedText(self._book.text)
        elif mode is SearchMode.RANKED:
            with self._ranking:
                if self._ranker is None:
                    text = self._book.text
                    self._ranker = Ranker([text[p.start : p.end] for p in self._book.paragraphs], self._book.language)

    def is_ready(self, mode: SearchMode) -> bool:
        """Whether a search of this mode begins at once."""
        return mode is SearchMode.REGEX or (self._folded if mode is SearchMode.EXACT else self._ranker) is not None

    def find(
        self, words: str, mode: SearchMode, *, whole_words: bool = False, stopped: Callable[[], bool] = _never
    ) -> SearchHits:
        """All hits; none for nothing but white space.

        Args:
            whole_words: of an exact search alone.
            stopped: asked now and then; once it says True, nobody wants the hits.

        Raises:
            PatternError: a regular expression that cannot be used.
            Stopped: `stopped` said so.
        """
        if not words.strip():
            return SearchHits(words, mode)
        self.prepare(mode)
        if mode is SearchMode.RANKED:
            return self._ranked(words, stopped)
        if mode is SearchMode.REGEX:
            places = find_pattern(self._book.text, words)
        else:
            assert self._folded is not None
            places = self._folded.find(words, whole_words=whole_words)
        starts, ends = array("q"), array("q")
        for number, (start, end) in enumerate(places):
            if not number % _ASK_EVERY and stopped():
                raise SearchCancelled
            starts.append(start)
            ends.append(end)
        return SearchHits(words, mode, starts, ends)

    def _ranked(self, words: str, stopped: Callable[[], bool]) -> SearchHits:
        """Of each paragraph that matches, the sentence that has most of the words."""
        assert self._ranker is not None
        book, ranker = self._book, self._ranker
        starts, ends = array("q"), array("q")
        parts: dict[int, tuple[tuple[int, int], ...]] = {}
        for number, index in enumerate(ranker.top(words, RANKED_MOST)):
            if stopped():
                raise SearchCancelled
            paragraph = book.paragraphs[index]
            text = book.text[paragraph.start : paragraph.end]
            found = ranker.places(text, words)
            start, end = _richest(text, found)
            starts.append(paragraph.start + start)
            ends.append(paragraph.start + end)
            parts[number] = tuple((paragraph.start + first, paragraph.start + last) for first, last, _ in found)
        return SearchHits(words, SearchMode.RANKED, starts, ends, parts)


def _richest(text: str, places: Sequence[tuple[int, int, str]]) -> tuple[int, int]:
    """Bounds of the sentence with the most different terms, of equals the first. `places`: (start, end, term)."""
    firsts = [first for first, _, _ in places]
    best, most = (0, len(text)), 0
    for start, end in sentence_spans(text):
        inside = places[bisect_left(firsts, start) : bisect_left(firsts, end)]
        terms = {term for _, _, term in inside}
        if len(terms) > most:
            best, most = (start, end), len(terms)
    start, end = best
    piece = text[start:end]
    return start + len(piece) - len(piece.lstrip()), start + len(piece.rstrip())
