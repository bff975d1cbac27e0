"""Ranks the passages of a text by relevance to a question, using BM25 and the scores of neighbouring passages.

Stop words of questions are ignored. A passage gains from its neighbours, since a topic continues for pages while its
subject is named once. Isolated facts rank higher without that gain, so two rankings are interleaved. Measured in
`tests/benchmarks/recall.py` and docs/readers.md.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, chain, zip_longest

from gistread.book.normalise import count_words
from gistread.search.ranked import cached_ranker
from gistread.search.tokens import Terms, stop_words

NEAR_WORDS = 300  # Standard deviation, in words, of the weight of neighbouring passages
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

    def scores(self, question: str, choices: Sequence[str] = ()) -> Scores:
        """Scores for a question and, with less weight, the `choices` of answers."""
        asked, offered = self._ranked(question), self._ranked(" ".join(choices))
        alone = [one + CHOICE_WEIGHT * other for one, other in zip(asked, offered, strict=True)]
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
