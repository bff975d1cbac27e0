"""Searches a book in three modes with cached indexes; limits regular expressions. Thread-safe.

An exact search finds text as typed in a folded text (`folding.py`).
"""

import re
import threading
import unicodedata
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from gistread.book.model import Book
from gistread.book.sentences import sentence_spans
from gistread.errors import UsageError
from gistread.search.folding import fold, folded_text, parts
from gistread.search.ranked import Ranker
from gistread.search.tokens import WordPlace
from gistread.units import stripped_range
from gistread.word_patterns import ACCENTS

MAX_RANKED_HITS = 100
_POLL_EVERY = 2048
LIMIT_S = 1.5
LONGEST = 500
_MOST_COUNTED = 10_000
# {3}, {2,}, {,5} or {2,5}: the least and the most repetitions
_COUNTED = re.compile(r"\{\s*(\d*)\s*,?\s*(\d*)\s*\}")
_COUNTED_DIGITS = 9  # Enough to exceed `_MOST_COUNTED`
_ESCAPED = re.compile(r"\\.", re.DOTALL)

# White space, a dash or another character. In a hit, white space has any length, and a dash is one
# or two hyphens.
_TOKEN = re.compile(r"\s+|--|-|.", re.DOTALL)
_DASH, _SPACE = "-{1,2}", r"\s+"
_VOICED = "(?![\u3099\u309a])"  # か is not the beginning of が
_ACCENT_CLASS = "".join(sorted(ACCENTS))
# A token and the accents that follow it
_WITH_ACCENTS = re.compile(rf"(\s+|--|.)([{_ACCENT_CLASS}]*)", re.DOTALL)
# In these scripts a hit must have the accents that a reader types; in others it need not.
_ACCENTS_COUNT = re.compile("[a-zа-яіј]", re.IGNORECASE)


class FoldedText:
    """A text prepared for repeated searches. War and Peace takes about 0.2 s.

    >>> list(FoldedText("Die Straße").find("strasse"))
    [(4, 10)]
    """

    def __init__(self, text: str) -> None:
        self._text = text
        forms = {character: fold(character) for character in set(text)}
        forms_by_code = {ord(character): form for character, form in forms.items()}
        self._folded = text.translate(forms_by_code)
        uneven = "".join(
            character for character, form in forms.items() if len(form) != 1
        )
        self._offsets = _Offsets(text, uneven)

    def find(self, words: str) -> Iterator[tuple[int, int]]:
        """Ranges of `words`, in order, without overlap; none for empty `words`.

        White space, quotes, dashes and ellipses match in all their forms, letters in all forms
        that `folding` has for them. A letter with an accent matches only itself. Case counts if
        `words` has a capital.
        """
        words = unicodedata.normalize("NFC", words).strip()
        typed = folded_text(words)
        if not typed.strip():
            return
        tokens = map(_pattern, _TOKEN.findall(typed))
        pattern = re.compile("".join(tokens) + _VOICED)
        precise = _precise_pattern(words)
        for match in pattern.finditer(self._folded):
            start = self._offsets.start(match.start())
            end = self._offsets.end(match.end())
            hit = self._text[start:end]
            if precise is None or precise.fullmatch(_in_parts(hit)):
                yield start, end


class _Offsets:
    """Maps offsets in a folded text to offsets in the text.

    They differ behind an uneven character: one that folds to no letter or to several ("ß" to "ss").
    """

    def __init__(self, text: str, uneven: str) -> None:
        """`uneven`: all uneven characters of `text`."""
        # For each uneven character: its range in the folded text, and its offset in the text
        self._starts = array("q")
        self._ends = array("q")
        self._originals = array("q")
        if not uneven:
            return
        shift = 0
        for match in re.finditer(f"[{re.escape(uneven)}]", text):
            original = match.start()
            length = len(fold(match[0]))
            self._starts.append(original + shift)
            self._ends.append(original + shift + length)
            self._originals.append(original)
            shift += length - 1

    def start(self, folded: int) -> int:
        """Offset in the text of the character at `folded`."""
        last_uneven = bisect_right(self._starts, folded) - 1
        if last_uneven < 0:
            return folded
        original = self._originals[last_uneven]
        if folded < self._ends[last_uneven]:
            return original
        behind = folded - self._ends[last_uneven]
        return original + 1 + behind

    def end(self, folded: int) -> int:
        """Offset in the text of the end of a hit, which is at `folded`.

        It includes all of an uneven character, and the points of the last letter.
        """
        last_uneven = bisect_right(self._starts, folded) - 1
        if last_uneven < 0:
            return folded
        if self._starts[last_uneven] < folded < self._ends[last_uneven]:
            return self._originals[last_uneven] + 1
        return self.start(folded)


def _pattern(token: str) -> str:
    if token.isspace():
        return _SPACE
    if token in ("-", "--"):
        return _DASH
    return re.escape(token)


def _in_parts(text: str) -> str:
    return "".join(map(parts, text))


def _precise_pattern(words: str) -> re.Pattern[str] | None:
    """What a hit must match after `_in_parts`; None if neither case nor accents count."""
    case_counts = words != words.lower()
    accents_count = False
    pattern = ""
    for token, accents in _WITH_ACCENTS.findall(_in_parts(words)):
        pattern += _pattern(token)
        if accents and _ACCENTS_COUNT.match(token):
            accents_count = True
            pattern += f"{accents}(?![{_ACCENT_CLASS}])"
        else:
            pattern += f"[{_ACCENT_CLASS}]*"
    if not case_counts and not accents_count:
        return None
    return re.compile(pattern, 0 if case_counts else re.IGNORECASE)


class SearchMode(StrEnum):
    EXACT = "exact"
    REGEX = "regular expression"
    RANKED = "ranked"

    @property
    def next(self) -> "SearchMode":
        modes = list(SearchMode)
        following = modes.index(self) + 1
        return modes[following % len(modes)]


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
        """Index of the first hit at or after `offset`, or the number of hits.

        Not for ranked hits.
        """
        return bisect_left(self.starts, offset)

    def between(self, start: int, end: int) -> Iterable[int]:
        """Indices of the hits that begin in this range of the text."""
        if self.mode is SearchMode.RANKED:  # They are not in text order.
            return [
                index
                for index, hit_start in enumerate(self.starts)
                if start <= hit_start < end
            ]
        return range(bisect_left(self.starts, start), bisect_left(self.starts, end))


class BookSearch:
    """Searches one book. Builds the index of a mode when it is first needed."""

    def __init__(self, book: Book) -> None:
        self._book = book
        self._lock = threading.Lock()
        self._folded: FoldedText | None = None
        self._ranker: Ranker | None = None

    def prepare(self, mode: SearchMode) -> None:
        """Build the index of a mode. War and Peace takes 0.2 s, ranked 2 s."""
        if self.is_ready(mode):
            return  # Without waiting for the index of another mode
        text = self._book.text
        with self._lock:
            if mode is SearchMode.EXACT and self._folded is None:
                self._folded = FoldedText(text)
            elif mode is SearchMode.RANKED and self._ranker is None:
                paragraphs = [
                    text[paragraph.start : paragraph.end]
                    for paragraph in self._book.paragraphs
                ]
                self._ranker = Ranker(paragraphs, self._book.language)

    def is_ready(self, mode: SearchMode) -> bool:
        if mode is SearchMode.EXACT:
            return self._folded is not None
        if mode is SearchMode.RANKED:
            return self._ranker is not None
        return True

    def find(
        self,
        words: str,
        mode: SearchMode,
        *,
        stopped: Callable[[], bool] = lambda: False,
    ) -> SearchHits:
        """All hits; none for white space.

        Raises PatternError, SearchCancelled if `stopped` returned True.
        """
        if not words.strip():
            return SearchHits(words, mode)
        self.prepare(mode)
        if mode is SearchMode.RANKED:
            return self._find_ranked(words, stopped)
        if mode is SearchMode.REGEX:
            ranges = find_pattern(self._book.text, words)
        else:
            assert self._folded is not None
            ranges = self._folded.find(words)
        starts, ends = array("q"), array("q")
        for number, (start, end) in enumerate(ranges):
            if number % _POLL_EVERY == 0 and stopped():
                raise SearchCancelled
            starts.append(start)
            ends.append(end)
        return SearchHits(words, mode, starts, ends)

    def _find_ranked(self, words: str, stopped: Callable[[], bool]) -> SearchHits:
        """In each matching paragraph, the sentence with the most words of the query."""
        assert self._ranker is not None
        starts, ends = array("q"), array("q")
        parts: dict[int, tuple[tuple[int, int], ...]] = {}
        for number, index in enumerate(self._ranker.top(words, MAX_RANKED_HITS)):
            if stopped():
                raise SearchCancelled
            paragraph = self._book.paragraphs[index]
            text = self._book.text[paragraph.start : paragraph.end]
            places = self._ranker.places(text, words)
            parts[number] = tuple(
                (paragraph.start + place.start, paragraph.start + place.end)
                for place in places
            )
            start, end = best_sentence(text, places)
            starts.append(paragraph.start + start)
            ends.append(paragraph.start + end)
        return SearchHits(words, SearchMode.RANKED, starts, ends, parts)


def best_sentence(
    text: str,
    places: Sequence[WordPlace],
    weight: Callable[[str], float] = lambda word: 1.0,
) -> tuple[int, int]:
    """The sentence whose different words have the most weight; all of `text` if none has any.

    `places`: the words that count, from `Ranker.places`.
    """
    place_starts = [place.start for place in places]
    best = (0, len(text))
    best_weight = 0.0
    for start, end in sentence_spans(text):
        first = bisect_left(place_starts, start)
        past_last = bisect_left(place_starts, end)
        words = {place.word for place in places[first:past_last]}
        total = sum(map(weight, words))
        if total > best_weight:
            best = (start, end)
            best_weight = total
    return stripped_range(text, *best)


class PatternError(UsageError):
    """An invalid regular expression, or one that takes too long."""


def find_pattern(
    text: str, expression: str, *, seconds: float = LIMIT_S
) -> Iterator[tuple[int, int]]:
    """Ranges of non-empty matches; a capital makes case count.

    Raises PatternError, also past `seconds`.
    """
    if not expression:
        return
    import regex  # imported here: only a search for an expression needs it

    _check_size(expression)
    without_escapes = _ESCAPED.sub("", expression)  # "\\W" has no capital.
    case_counts = without_escapes != without_escapes.lower()
    flags = regex.MULTILINE
    if not case_counts:
        flags |= regex.IGNORECASE
    try:
        pattern = regex.compile(expression, flags)
    except regex.error as error:
        where = "" if error.pos is None else f", at character {error.pos + 1}"
        raise PatternError(f"Not a regular expression: {error.msg}{where}.") from None
    except (RecursionError, MemoryError, OverflowError, ValueError) as error:
        raise PatternError(
            f"Unusable regular expression: {error or type(error).__name__}."
        ) from None
    try:
        for match in pattern.finditer(text, timeout=seconds, concurrent=True):
            start, end = match.span()
            if end > start:
                yield start, end
    except TimeoutError:
        raise PatternError(
            f"This expression takes longer than {seconds:g} s; try a simpler one."
        ) from None
    except (MemoryError, RecursionError):
        raise PatternError("This expression needs too much memory.") from None


def _check_size(expression: str) -> None:
    """Raise PatternError for an expression that is too long or repeats too much."""
    if len(expression) > LONGEST:
        raise PatternError(
            f"Regular expressions may have at most {LONGEST} characters."
        )
    repetitions = 1
    without_escapes = _ESCAPED.sub("", expression)
    for bounds in _COUNTED.findall(without_escapes):
        counts = [int(bound[:_COUNTED_DIGITS]) for bound in bounds if bound]
        repetitions *= max([1, *counts])
    if repetitions > _MOST_COUNTED:
        raise PatternError(
            f"The repetitions of this expression multiply to more than {_MOST_COUNTED:,}."
        )
