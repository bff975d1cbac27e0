"""How much each passage of a text has to do with a question, as far as words can tell.

Two things beside BM25 over stems (`ranked.py`), both measured (`tests/benchmarks/recall.py`, docs/readers.md): words
that only ask (`asking.py`) are left out of the question, since in a story they point anywhere; and a passage is helped
by those around it, since what a question is about goes on for some pages, names its subject once and calls it "he"
from then on. Facts that stand alone are found without that help: so there are two orders, and what is to be shown is
taken from both in turn.

Knows texts and their order; knows nothing of books, pages or gists.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, chain, zip_longest

from gistread.book.normalise import count_words
from gistread.search.ranked import ranker_of
from gistread.search.stop_words import STOP_WORDS
from gistread.search.tokens import Terms

NEAR_WORDS = 300
"""Standard deviation of the bell curve by which a passage is helped from so many words away."""
CHOICES_COUNT = 0.25
"""What a word of a choice is worth: one choice is right, and the others lead astray."""
_REACH = 3.0
"""Standard deviations behind which nothing of it is left."""


@dataclass(frozen=True, slots=True)
class Scores:
    """Of each passage, in the order of the text; 0.0 where it has no word of the question."""

    alone: tuple[float, ...]
    """By its own words."""
    around: tuple[float, ...]
    """With the help of the passages around it."""

    @property
    def telling(self) -> bool:
        """Whether the question has a word that is in the text, and says more than that something is asked."""
        return any(self.alone)

    @property
    def order(self) -> list[int]:
        """Positions of all passages: the best by their surroundings and the best by themselves in turn, those that
        share nothing with the question last."""
        by_turns = chain.from_iterable(zip_longest(_best(self.around), _best(self.alone)))
        return list(dict.fromkeys(index for index in chain(by_turns, range(len(self.alone))) if index is not None))


class Relevance:
    """Over the passages of one text, in their order. A novel takes as long as a `Ranker` over it, the first time."""

    def __init__(self, passages: Sequence[str], language: str = "") -> None:
        """`language` in BCP 47, as `Book.language` gives it; empty is English."""
        code = language.replace("_", "-").partition("-")[0].lower() or "en"
        self._asking = STOP_WORDS.get(code, frozenset())
        self._terms = Terms(language)
        texts = tuple(passages)
        self._ranker = ranker_of(texts, language)
        self._middles = _middles(texts)

    def scores(self, question: str, choices: Sequence[str] = ()) -> Scores:
        """How much the passages have to do with this question, and a little with the `choices` of answers to it."""
        asked, offered = self._ranked(question), self._ranked(" ".join(choices))
        alone = [one + CHOICES_COUNT * other for one, other in zip(asked, offered, strict=True)]
        return Scores(tuple(alone), tuple(spread(alone, self._middles)))

    def _ranked(self, words: str) -> list[float]:
        """By the words that do more than ask."""
        return self._ranker.scores(" ".join(word for word in self._terms.words(words) if word not in self._asking))


@lru_cache(1)
def _middles(passages: tuple[str, ...]) -> tuple[float, ...]:
    """Of each passage, in words from the beginning."""
    sizes = [count_words(passage) for passage in passages]
    return tuple(end - size / 2 for end, size in zip(accumulate(sizes), sizes, strict=True))


def spread(scores: Sequence[float], middles: Sequence[float]) -> list[float]:
    """Each score, and beside it those around it, the less the farther away; `middles` in words, ascending."""
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
    """Positions of those that have a score, the best first, of equals the earlier first."""
    return sorted((index for index, score in enumerate(scores) if score), key=lambda index: -scores[index])
