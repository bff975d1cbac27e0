"""Ranks texts by how well they match a question: BM25+ over stems.

BM25+ (Lv and Zhai, "Lower-bounding term frequency normalization", CIKM 2011) is BM25 with a floor under each match, so
that a long page that holds a word is never worth less than one that lacks it. Knows texts and positions; knows nothing
of books, pages or gists.
"""

import math
from collections import Counter
from collections.abc import Sequence
from itertools import chain

from gistread.search.tokens import Terms, folded

# Term frequency saturation, length normalisation and floor: the values of the paper, section 5.
_K1 = 1.2
_B = 0.75
_DELTA = 1.0


class Ranker:
    """An index over `documents`. Building it is linear in their length; War and Peace by paragraphs takes 0.5 s."""

    def __init__(self, documents: Sequence[str], language: str = "") -> None:
        """`language` in BCP 47, as `Book.language` gives it; empty is English."""
        self._terms = Terms(language)
        self._size = len(documents)
        self._postings: dict[str, list[tuple[int, int]]] = {}
        lengths: list[int] = []
        for number, document in enumerate(documents):
            words = self._terms.words(document)
            lengths.append(len(words))
            for word, count in Counter(words).items():
                self._postings.setdefault(word, []).append((number, count))
        mean = sum(lengths) / len(lengths) if any(lengths) else 1.0
        self._norms = [_K1 * (1 - _B + _B * length / mean) for length in lengths]
        # Stemming every word of a long book takes longer than all else, and most of its words nobody asks for: words
        # are stemmed when a question has one that begins like them.
        self._unstemmed: dict[str, list[str]] = {}
        for word in self._postings:
            self._unstemmed.setdefault(self._beginning(word), []).append(word)
        self._forms: dict[str, list[str]] = {}

    def scores(self, query: str) -> list[float]:
        """The score of each document, in order; 0.0 where it has no word of the query."""
        scores = [0.0] * self._size
        for stem, weight in Counter(map(self._stem, self._terms.words(query))).items():
            counts: Counter[int] = Counter()
            for number, count in chain.from_iterable(self._postings[form] for form in self._forms.get(stem, ())):
                counts[number] += count
            if not counts:
                continue
            rarity = weight * math.log((self._size + 1) / len(counts))
            for number, count in counts.items():
                scores[number] += rarity * (_DELTA + count * (_K1 + 1) / (count + self._norms[number]))
        return scores

    def top(self, query: str, n: int) -> list[int]:
        """Positions of up to `n` documents that match, the best first; of equals the earlier first."""
        scores = self.scores(query)
        best = sorted((i for i, score in enumerate(scores) if score > 0), key=lambda i: (-scores[i], i))
        return best[: max(0, n)]

    def _stem(self, word: str) -> str:
        """The stem of a word of the query; the words of the documents that may share it are stemmed with it."""
        for form in self._unstemmed.pop(self._beginning(word), ()):
            self._forms.setdefault(self._terms.stem(form), []).append(form)
        return self._terms.stem(word)

    def _beginning(self, word: str) -> str:
        """What words of one stem have in common before they are stemmed."""
        return folded(word[0]) if self._terms.keeps_beginnings else ""
