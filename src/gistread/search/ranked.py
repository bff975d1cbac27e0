"""Ranks texts by relevance to a query: BM25 over stems, with the package rank-bm25, and the help of their neighbours.

A passage gains from its neighbours, since a topic continues for pages while its subject is named once. Isolated facts
rank higher without that gain, so two rankings are interleaved. Measured in `tests/benchmarks/recall.py`.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import accumulate, chain, zip_longest
from typing import Any

from gistread.book.normalise import count_words
from gistread.search.tokens import Terms, stop_words

_CACHE_SIZE = 3  # Cached rankers; War and Peace takes about 60 MB


@lru_cache(_CACHE_SIZE)
def cached_ranker(documents: tuple[str, ...], language: str) -> "Ranker":
    return Ranker(documents, language)


class Ranker:
    """An index over `documents`. War and Peace by paragraph takes about 2 s."""

    def __init__(self, documents: Sequence[str], language: str = "") -> None:
        """`language`: BCP 47; empty means English."""
        self._terms = Terms(language)
        self._stem = cache(self._terms.stem)
        self._size = len(documents)
        self._index = _index([self._words(document) for document in documents])

    def scores(self, query: str) -> list[float]:
        """The score of each document, 0.0 without a word of the query."""
        words = [word for word in self._words(query) if self._index and word in self._index.idf]
        if not words:
            return [0.0] * self._size
        # BM25+ adds a floor to every document, matching or not; subtract it so that documents without a word score 0.
        floor = sum(self._index.delta * self._index.idf[word] for word in words)
        return [max(0.0, score) for score in (self._index.get_scores(words) - floor).round(9).tolist()]

    def top(self, query: str, n: int) -> list[int]:
        """Indices of up to `n` matching documents, the best first, of equals the earlier first."""
        scores = self.scores(query)
        best = sorted((i for i, score in enumerate(scores) if score > 0), key=lambda i: (-scores[i], i))
        return best[: max(0, n)]

    def places(self, text: str, query: str) -> list[tuple[int, int, str]]:
        """(start, end, stem) of each word of `text` that the query contains, in order."""
        wanted = set(self._words(query))
        stemmed = ((start, end, self._stem(word)) for start, end, word in self._terms.places(text))
        return [(start, end, stem) for start, end, stem in stemmed if stem in wanted]

    def _words(self, text: str) -> list[str]:
        return [self._stem(word) for word in self._terms.words(text)]


def _index(documents: list[list[str]]) -> Any:
    """The index; None without words, where the package would divide by zero."""
    if not any(documents):
        return None
    from rank_bm25 import BM25Plus  # imported here: it brings numpy, and only a ranked search needs it

    return BM25Plus(documents)


NEAR_WORDS = 300  # Standard deviation, in words, of the weight of neighbouring passages
CONTEXT_WEIGHT = 0.5  # Weight of the words of earlier questions and answers (`tests/benchmarks/follow_ups.py`)
CHOICE_WEIGHT = 0.25  # Weight of words of answer choices: one is right, the others mislead
_REACH = 3.0  # Standard deviations after which neighbours no longer count


@dataclass(frozen=True, slots=True)
class Scores:
    """By passage, in text order; 0.0 without a word of the question."""

    alone: tuple[float, ...]  # By its own words
    around: tuple[float, ...]  # Including neighbours

    @property
    def has_matches(self) -> bool:
        """Whether the text has any word of the question besides stop words."""
        return any(self.alone)

    @property
    def order(self) -> list[int]:
        """All passages by relevance: the best with and without neighbours in turn, unrelated ones last."""
        by_turns = chain.from_iterable(zip_longest(_best(self.around), _best(self.alone)))
        return list(dict.fromkeys(index for index in chain(by_turns, range(len(self.alone))) if index is not None))


class Relevance:
    """Ranks the passages of one text; builds a `Ranker` first."""

    def __init__(self, passages: Sequence[str], language: str = "") -> None:
        """`language`: BCP 47; empty means English."""
        code = language.replace("_", "-").partition("-")[0].lower() or "en"
        self._asking = stop_words().get(code, frozenset())
        self._terms = Terms(language)
        texts = tuple(passages)
        self._ranker = cached_ranker(texts, language)
        self._middles = _middles(texts)

    def scores(self, question: str, choices: Sequence[str] = (), context: str = "") -> Scores:
        """Scores for a question and, with less weight, the `choices` of answers and what was said before."""
        alone = [0.0] * len(self._middles)
        for words, weight in ((question, 1.0), (" ".join(choices), CHOICE_WEIGHT), (context, CONTEXT_WEIGHT)):
            if words:
                alone = [score + weight * more for score, more in zip(alone, self._ranked(words), strict=True)]
        return Scores(tuple(alone), tuple(spread(alone, self._middles)))

    def _ranked(self, words: str) -> list[float]:
        return self._ranker.scores(" ".join(word for word in self._terms.words(words) if word not in self._asking))


@lru_cache(1)
def _middles(passages: tuple[str, ...]) -> tuple[float, ...]:
    sizes = [count_words(passage) for passage in passages]
    return tuple(end - size / 2 for end, size in zip(accumulate(sizes), sizes, strict=True))


def spread(scores: Sequence[float], middles: Sequence[float]) -> list[float]:
    """Add to each score those around it, weighted by distance; `middles` in words, ascending."""
    found = list(scores)
    reach = _REACH * NEAR_WORDS
    for index, score in enumerate(scores):
        if not score:
            continue
        for step in (-1, 1):
            at = index + step
            while 0 <= at < len(found) and abs(middles[at] - middles[index]) <= reach:
                found[at] += score * math.exp(-(((middles[at] - middles[index]) / NEAR_WORDS) ** 2) / 2)
                at += step
        found[index] += score
    return found


def _best(scores: Sequence[float]) -> list[int]:
    """Indices with a score, best first; ties in the order of the text."""
    return sorted((index for index, score in enumerate(scores) if score), key=lambda index: -scores[index])
