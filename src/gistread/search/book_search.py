"""Searches a book in three modes with cached indexes; limits regular expressions. Thread-safe.

An exact search finds text as typed in a folded text: it ignores case, line ends, typography and
diacritics.
"""

import re
import threading
import unicodedata
from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache

from gistread.book.model import Book
from gistread.book.sentences import sentence_spans
from gistread.errors import UsageError
from gistread.search.ranked import Ranker

MAX_RANKED_HITS = 100
_POLL_EVERY = 2048
LIMIT_S = 1.5
LONGEST = 500
_MOST_COUNTED = 10_000
_COUNTED = re.compile(r"\{\s*(\d*)\s*,?\s*(\d*)\s*\}")
_ESCAPED = re.compile(r"\\.", re.DOTALL)

# Typed and typeset forms, matched in both directions.
_SINGLE_QUOTES = "'‘’‚‛′`´"
_DOUBLE_QUOTES = '"“”„‟″«»'
_DASHES = "-‐‑‒–—―−"
_PLAIN = (
    dict.fromkeys(_SINGLE_QUOTES, "'")
    | dict.fromkeys(_DOUBLE_QUOTES, '"')
    | dict.fromkeys(_DASHES, "-")
)
_TOKEN = re.compile(r"\s+|--|\.\.\.|.", re.DOTALL)

# Single letters that stand for two, in either case; matching by character misses them.
_LIGATURES = {"ß": "(?i:ß|ss)", "ẞ": "(?i:ß|ss)", "æ": "(?i:æ|ae)", "œ": "(?i:œ|oe)"}


class FoldedText:
    """A text prepared for repeated searches. War and Peace takes about 0.2 s."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._characters = set(text)
        self._folded = text.translate(
            {ord(character): _fold(character) for character in self._characters}
        )

    def find(self, words: str) -> Iterator[tuple[int, int]]:
        """Ranges of `words`, in order, without overlap; none for empty `words`.

        White space, quotes, dashes and ellipses match in all their forms. A plain letter matches
        any diacritic; a letter with a diacritic only itself. Case counts if `words` has a capital.
        """
        words = unicodedata.normalize("NFC", words).strip()
        if not words:
            return iter(())
        tokens: list[str] = _TOKEN.findall(words)
        folded = re.compile(
            "".join(_variable(token) or re.escape(_fold(token)) for token in tokens)
        )
        places = (match.span() for match in folded.finditer(self._folded))
        match_case = words != words.lower()
        if not match_case and not any(map(_has_diacritic, tokens)):
            return places
        precise = re.compile(
            "".join(
                _variable(token, _DASHES) or self._as_typed(token, match_case) for token in tokens
            )
        )
        return (place for place in places if precise.match(self._text, place[0]))

    def _as_typed(self, typed: str, match_case: bool) -> str:
        """Pattern of the text's characters that match one as typed."""
        found = [character for character in self._characters if _fold(character) == _fold(typed)]
        if match_case:
            found = [character for character in found if character.isupper() == typed.isupper()]
        if _has_diacritic(typed):
            found = [character for character in found if character.lower() == typed.lower()]
        return f"(?:{'|'.join(map(re.escape, found)) or '(?!)'})"


def _has_diacritic(token: str) -> bool:
    return len(token) == 1 and token.isalpha() and _fold(token) != token.lower()


def _variable(token: str, dashes: str = "-") -> str | None:
    """Pattern of a token that varies in length, in a text with these dashes.

    None for all others.
    """
    if token.isspace():
        return r"\s+"
    if token == "--" or token in _DASHES:
        return f"(?:--|[{dashes}])"
    if token in ("...", "…"):
        return r"(?:\.\.\.|…)"
    return _LIGATURES.get(token.lower())


@cache
def _fold(character: str) -> str:
    """The plain form of a character; always a single character."""
    if plain := _PLAIN.get(character):
        return plain
    if character.isspace():
        return " "
    lower = character.lower()
    if len(lower) != 1 or lower.isascii():
        return lower if len(lower) == 1 else character
    base = unicodedata.normalize("NFD", lower)[0]
    return base if base.isascii() and base.isalpha() else lower


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
        """Index of the first hit at or after `offset`, or the number of hits.

        Not for ranked hits.
        """
        return bisect_left(self.starts, offset)

    def between(self, start: int, end: int) -> Iterable[int]:
        if self.mode is SearchMode.RANKED:
            return [index for index, at in enumerate(self.starts) if start <= at < end]
        return range(bisect_left(self.starts, start), bisect_left(self.starts, end))


class BookSearch:
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
                self._ranker = Ranker(
                    [text[p.start : p.end] for p in self._book.paragraphs], self._book.language
                )

    def is_ready(self, mode: SearchMode) -> bool:
        return (
            mode is SearchMode.REGEX
            or (self._folded if mode is SearchMode.EXACT else self._ranker) is not None
        )

    def find(
        self, words: str, mode: SearchMode, *, stopped: Callable[[], bool] = lambda: False
    ) -> SearchHits:
        """All hits; none for white space.

        Raises PatternError, SearchCancelled if `stopped` returned True.
        """
        if not words.strip():
            return SearchHits(words, mode)
        self.prepare(mode)
        starts, ends = array("q"), array("q")
        parts: dict[int, tuple[tuple[int, int], ...]] = {}
        if mode is SearchMode.RANKED:
            places = self._ranked(words, parts)
        elif mode is SearchMode.REGEX:
            places = find_pattern(self._book.text, words)
        else:
            assert self._folded is not None
            places = self._folded.find(words)
        for number, (start, end) in enumerate(places):
            if (mode is SearchMode.RANKED or not number % _POLL_EVERY) and stopped():
                raise SearchCancelled
            starts.append(start)
            ends.append(end)
        return SearchHits(words, mode, starts, ends, parts)

    def _ranked(
        self, words: str, parts: dict[int, tuple[tuple[int, int], ...]]
    ) -> Iterator[tuple[int, int]]:
        """For each matching paragraph, the sentence with the most words of the query.

        `parts` gets these words.
        """
        assert self._ranker is not None
        for number, index in enumerate(self._ranker.top(words, MAX_RANKED_HITS)):
            at = self._book.paragraphs[index].start
            text = self._book.text[at : self._book.paragraphs[index].end]
            found = self._ranker.places(text, words)
            start, end = best_sentence(text, found)
            parts[number] = tuple((at + first, at + last) for first, last, _ in found)
            yield at + start, at + end


def best_sentence(
    text: str,
    places: Sequence[tuple[int, int, str]],
    weight: Callable[[str], float] = lambda word: 1.0,
) -> tuple[int, int]:
    """The sentence with most different words, or those of most weight; `places`.

    As of `Ranker.places`.
    """
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
    plain = _ESCAPED.sub("", expression)
    flags = regex.MULTILINE | (0 if plain != plain.lower() else regex.IGNORECASE)
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
    if len(expression) > LONGEST:
        raise PatternError(f"Regular expressions may have at most {LONGEST} characters.")
    counted = 1
    for least, most in _COUNTED.findall(_ESCAPED.sub("", expression)):
        counted *= max(1, *(int(number[:9]) for number in (least, most) if number), 1)
    if counted > _MOST_COUNTED:
        raise PatternError(
            f"The repetitions of this expression multiply to more than {_MOST_COUNTED:,}."
        )
