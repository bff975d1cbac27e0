"""Ranks texts by relevance to a query: BM25 over stems (rank-bm25), and the nearness of the query's words.

Two scores rank the passages of a book. Nearness measures how close each word of the question is to the passage: the
subject of an answer is often named a little before it. BM25 includes neighbouring passages: a topic continues for
pages. Measured in `tests/benchmarks/recall.py`.
"""

import math
from array import array
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import accumulate, chain, pairwise
from typing import Any

from gistread.book.normalise import count_words
from gistread.search.tokens import Terms

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
        stems = [self.stems(document) for document in documents]
        self._index = _index(stems)
        self._positions = Positions(stems)

    def scores(self, query: str) -> list[float]:
        """The score of each document; 0.0 if it has no word of the query."""
        words = [word for word in self.stems(query) if self._index and word in self._index.idf]
        if not words:
            return [0.0] * self._size
        # BM25+ adds a floor to every document, matching or not; subtract it so that documents without a word score 0.
        floor = sum(self._index.delta * self._index.idf[word] for word in words)
        return [max(0.0, score) for score in (self._index.get_scores(words) - floor).round(9).tolist()]

    def nearness(self, query: str) -> list[float]:
        """How near the words of the query are to each document; see `Positions.nearness`."""
        return self._positions.nearness(self.stems(query))

    def top(self, query: str, n: int) -> list[int]:
        """Indices of up to `n` matching documents, the best first; ties in order."""
        scores = self.scores(query)
        best = sorted((i for i, score in enumerate(scores) if score > 0), key=lambda i: (-scores[i], i))
        return best[: max(0, n)]

    def places(self, text: str, query: str) -> list[tuple[int, int, str]]:
        """(start, end, stem) of each word of `text` that the query contains, in order."""
        wanted = set(self.stems(query))
        stemmed = ((start, end, self._stem(word)) for start, end, word in self._terms.places(text))
        return [(start, end, stem) for start, end, stem in stemmed if stem in wanted]

    def stems(self, text: str) -> list[str]:
        """The stem of each word, in order."""
        return [self._stem(word) for word in self._terms.words(text)]


def _index(documents: list[list[str]]) -> Any:
    """The index; None without words, where the package would divide by zero."""
    if not any(documents):
        return None
    from rank_bm25 import BM25Plus  # imported here: it brings numpy, and only a ranked search needs it

    return BM25Plus(documents)


class Positions:
    """The positions of each word in consecutive documents."""

    def __init__(self, documents: Sequence[Sequence[str]]) -> None:
        """`documents`: the words of each, in order."""
        self._starts = [0, *accumulate(len(words) for words in documents)]
        self._at: defaultdict[str, array[int]] = defaultdict(lambda: array("q"))
        for at, word in enumerate(chain.from_iterable(documents)):
            self._at[word].append(at)

    def nearness(self, words: Sequence[str]) -> list[float]:
        """For each document, the sum of the words' weights: higher for rare words, lower with distance.

        Two successive words of the question that stand together in a document add to it.
        """
        import numpy as np  # imported here: only a ranked search needs it

        starts, ends = np.array(self._starts[:-1]), np.array(self._starts[1:])
        total = np.zeros(len(ends))
        weights: dict[str, float] = {}
        places = {word: np.frombuffer(self._at[word], np.int64) for word in words if word in self._at}
        for word, at in places.items():
            before, after = _around(at, starts)
            inside = after < ends
            away = np.minimum(after - ends + 1, starts - before)
            weights[word] = math.log((len(ends) + 1) / inside.sum())
            total += weights[word] * np.where(inside, 1.0, _OUTSIDE * np.exp(-away / _FADING_WORDS))
        for first, second in pairwise(words):
            if first != second and first in places and second in places:
                one, other = places[first], places[second]
                before, after = _around(other, one)
                away = np.minimum(after - one, one - before)
                together = np.unique(np.searchsorted(starts, one[away <= _TOGETHER_WORDS], side="right") - 1)
                total[together] += _TOGETHER * min(weights[first], weights[second])
        return [float(score) for score in total]


def _around(at: Any, places: Any) -> tuple[Any, Any]:
    """For each of `places`, the last position before it and the first at or after it. Both inputs ascend."""
    import numpy as np

    following = np.searchsorted(at, places)
    return np.insert(at, 0, -_NOWHERE)[following], np.append(at, _NOWHERE)[following]


NEAR_WORDS = 300  # Standard deviation, in words, of the weight of neighbouring passages
CONTEXT_WEIGHT = 0.5  # Weight of the words of earlier questions and answers (`tests/benchmarks/follow_ups.py`)
CHOICE_WEIGHT = 0.25  # Weight of words of answer choices: one is right, the others mislead
_REACH = 3.0  # Standard deviations after which neighbours no longer count
_AROUND_WEIGHT = 0.65  # Weight of BM25 with neighbours relative to nearness, both as shares of the best
_OUTSIDE = 0.7  # Weight of a word just outside a passage, relative to one inside
_FADING_WORDS = 120.0  # Distance after which that weight has fallen to a third
_TOGETHER = 0.3  # Weight of two words of the question that stand together
_TOGETHER_WORDS = 3  # Largest distance of words that stand together
_NOWHERE = 2**40  # Position of a word that does not occur


@dataclass(frozen=True, slots=True)
class Scores:
    """By passage, in text order."""

    alone: tuple[float, ...]  # BM25 of its own words; 0.0 without a word of the question
    around: tuple[float, ...]  # BM25 including neighbours; 0.0 without a word of the question in reach
    near: tuple[float, ...]  # Nearness of the words of the question

    @property
    def has_matches(self) -> bool:
        """Whether the text has any word of the question besides stop words."""
        return any(self.alone)

    @property
    def order(self) -> list[int]:
        """All passages by relevance, unrelated ones last; ties in the order of the text."""
        most_near, most_around = max(self.near, default=0.0) or 1.0, max(self.around, default=0.0) or 1.0
        both = [
            bool(around) * (near / most_near + _AROUND_WEIGHT * around / most_around)
            for near, around in zip(self.near, self.around, strict=True)
        ]
        return sorted(range(len(both)), key=lambda index: -both[index])


class Relevance:
    """Ranks the passages of one text; builds a `Ranker` first."""

    def __init__(self, passages: Sequence[str], language: str = "") -> None:
        """`language`: BCP 47; empty means English."""
        self._terms = Terms(language)
        texts = tuple(passages)
        self._ranker = cached_ranker(texts, language)
        self._middles = _middles(texts)

    def scores(self, question: str, choices: Sequence[str] = (), context: str = "") -> Scores:
        """Scores for a question and, with less weight, the `choices` of answers and the earlier conversation."""
        alone, near = ([0.0] * len(self._middles) for _ in range(2))
        for words, weight in ((question, 1.0), (" ".join(choices), CHOICE_WEIGHT), (context, CONTEXT_WEIGHT)):
            if wanted := " ".join(word for word in self._terms.words(words) if word not in self._terms.stop_words):
                alone = _added(alone, weight, self._ranker.scores(wanted))
                near = _added(near, weight, self._ranker.nearness(wanted))
        return Scores(tuple(alone), tuple(spread(alone, self._middles)), tuple(near))


def _added(scores: Sequence[float], weight: float, more: Sequence[float]) -> list[float]:
    return [score + weight * other for score, other in zip(scores, more, strict=True)]


@lru_cache(1)
def _middles(passages: tuple[str, ...]) -> tuple[float, ...]:
    sizes = [count_words(passage) for passage in passages]
    return tuple(end - size / 2 for end, size in zip(accumulate(sizes), sizes, strict=True))


def spread(scores: Sequence[float], middles: Sequence[float]) -> list[float]:
    """Add to each score those around it, weighted by distance. `middles`: positions in words, ascending."""
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
