"""Searches a book in three modes with cached indexes; limits regular expressions. Thread-safe."""

import re
import threading
from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from gistread.book.model import Book
from gistread.book.sentences import sentence_spans
from gistread.errors import UsageError
from gistread.search.exact import FoldedText
from gistread.search.ranked import Ranker

MAX_RANKED_HITS = 100
_POLL_EVERY = 2048


class SearchMode(StrEnum):
    EXACT = "exact"
    REGEX = "regular expression"
    RANKED = "ranked"

    @property
    def next(self) -> "SearchMode":
        modes = list(SearchMode)
        return modes[(modes.index(self) + 1) % len(modes)]


class SearchCancelled(Exception):  # noqa: N818  (nothing went wrong)
    """The search was cancelled."""


@dataclass(frozen=True, slots=True)
class SearchHits:
    """Hits as text ranges, in text order or, if ranked, the best first."""

    words: str = ""
    mode: SearchMode = SearchMode.EXACT
    starts: Sequence[int] = ()
    ends: Sequence[int] = ()
    # Ranked only: the ranges of matching words, by index of the hit.
    parts: dict[int, tuple[tuple[int, int], ...]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.starts)

    def span(self, index: int) -> tuple[int, int]:
        return self.starts[index], self.ends[index]

    def marked(self, index: int) -> tuple[tuple[int, int], ...]:
        """Ranges to highlight in a hit: its matching words, or all of it."""
        return self.parts.get(index) or (self.span(index),)

    def index_at(self, offset: int) -> int:
        """Index of the first hit at or after `offset`, or the number of hits. Not for ranked hits."""
        return bisect_left(self.starts, offset)

    def between(self, start: int, end: int) -> Iterable[int]:
        if self.mode is SearchMode.RANKED:
            return [index for index, at in enumerate(self.starts) if start <= at < end]
        return range(bisect_left(self.starts, start), bisect_left(self.starts, end))


class BookSearch:
    def __init__(self, book: Book) -> None:
        self._book = book
        self._lock = threading.Lock()
        self._ranking = threading.Lock()
        self._folded: FoldedText | None = None
        self._ranker: Ranker | None = None

    def prepare(self, mode: SearchMode) -> None:
        """Build the index of a mode. War and Peace takes 0.2 s, ranked 2 s."""
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
        return mode is SearchMode.REGEX or (self._folded if mode is SearchMode.EXACT else self._ranker) is not None

    def find(self, words: str, mode: SearchMode, *, stopped: Callable[[], bool] = lambda: False) -> SearchHits:
        """All hits; none for white space. Raises PatternError, SearchCancelled if `stopped` returned True."""
        if not words.strip():
            return SearchHits(words, mode)
        self.prepare(mode)
        if mode is SearchMode.RANKED:
            return self._ranked(words, stopped)
        if mode is SearchMode.REGEX:
            places = find_pattern(self._book.text, words)
        else:
            assert self._folded is not None
            places = self._folded.find(words)
        starts, ends = array("q"), array("q")
        for number, (start, end) in enumerate(places):
            if not number % _POLL_EVERY and stopped():
                raise SearchCancelled
            starts.append(start)
            ends.append(end)
        return SearchHits(words, mode, starts, ends)

    def _ranked(self, words: str, stopped: Callable[[], bool]) -> SearchHits:
        """For each matching paragraph, the sentence with the most words of the query."""
        assert self._ranker is not None
        book, ranker = self._book, self._ranker
        starts, ends = array("q"), array("q")
        parts: dict[int, tuple[tuple[int, int], ...]] = {}
        for number, index in enumerate(ranker.top(words, MAX_RANKED_HITS)):
            if stopped():
                raise SearchCancelled
            paragraph = book.paragraphs[index]
            text = book.text[paragraph.start : paragraph.end]
            found = ranker.places(text, words)
            start, end = best_sentence(text, found)
            starts.append(paragraph.start + start)
            ends.append(paragraph.start + end)
            parts[number] = tuple((paragraph.start + first, paragraph.start + last) for first, last, _ in found)
        return SearchHits(words, SearchMode.RANKED, starts, ends, parts)


def best_sentence(
    text: str, places: Sequence[tuple[int, int, str]], weight: Callable[[str], float] = lambda word: 1.0
) -> tuple[int, int]:
    """The sentence with most different words, or those of most weight; `places`: as of `Ranker.places`."""
    firsts = [first for first, _, _ in places]
    best, most = (0, len(text)), 0.0
    for start, end in sentence_spans(text):
        inside = places[bisect_left(firsts, start) : bisect_left(firsts, end)]
        total = sum(map(weight, {term for _, _, term in inside}))
        if total > most:
            best, most = (start, end), total
    start, end = best
    piece = text[start:end]
    return start + len(piece) - len(piece.lstrip()), start + len(piece.rstrip())


LIMIT_S = 1.5
LONGEST = 500
_MOST_COUNTED = 10_000
_ESCAPED = re.compile(r"\\.", re.DOTALL)
_COUNTED = re.compile(r"\{\s*(\d*)\s*,?\s*(\d*)\s*\}")


class PatternError(UsageError):
    """An invalid regular expression, or one that takes too long."""


def find_pattern(text: str, expression: str, *, seconds: float = LIMIT_S) -> Iterator[tuple[int, int]]:
    """Ranges of non-empty matches; a capital makes case count. Raises PatternError, also past `seconds`."""
    if not expression:
        return
    import regex  # imported here: only a search for an expression needs it

    _check_size(expression)
    plain = _ESCAPED.sub("", expression)
    flags = regex.MULTILINE | (0 if plain != plain.lower() else regex.IGNORECASE)
    try:
        pattern = regex.compile(expression, flags)
    except regex.error as error:
        where = "" if error.pos is None else f", at character {error.pos + 1}"
        raise PatternError(f"Not a regular expression: {error.msg}{where}.") from None
    except (RecursionError, MemoryError, OverflowError, ValueError) as error:
        raise PatternError(f"Unusable regular expression: {error or type(error).__name__}.") from None
    try:
        for match in pattern.finditer(text, timeout=seconds, concurrent=True):
            start, end = match.span()
            if end > start:
                yield start, end
    except TimeoutError:
        raise PatternError(f"This expression takes longer than {seconds:g} s; try a simpler one.") from None
    except (MemoryError, RecursionError):
        raise PatternError("This expression needs too much memory.") from None


def _check_size(expression: str) -> None:
    if len(expression) > LONGEST:
        raise PatternError(f"Regular expressions may have at most {LONGEST} characters.")
    counted = 1
    for least, most in _COUNTED.findall(_ESCAPED.sub("", expression)):
        counted *= max(1, *(int(number[:9]) for number in (least, most) if number), 1)
    if counted > _MOST_COUNTED:
        raise PatternError(f"The repetitions of this expression multiply to more than {_MOST_COUNTED:,}.")
