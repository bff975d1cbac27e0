"""Ranks texts by how well they match a question: BM25 over stems, by the package rank-bm25.

Knows texts and positions; knows nothing of books, pages or gists.
"""

from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Any

from gistread.search.tokens import Terms

_KEPT = 3
"""Rankers: a book in passages, in its pages, and in the passages of its pages. War and Peace takes some 60 MB."""


@lru_cache(_KEPT)
def ranker_of(documents: tuple[str, ...], language: str) -> "Ranker":
    """One for what is asked about again and again, a book cut in some way: the latest are kept. From any thread."""
    return Ranker(documents, language)


class Ranker:
    """An index over `documents`. War and Peace by paragraphs takes about 2 s."""

    def __init__(self, documents: Sequence[str], language: str = "") -> None:
        """`language` in BCP 47, as `Book.language` gives it; empty is English."""
        self._terms = Terms(language)
        self._stem = cache(self._terms.stem)
        self._size = len(documents)
        self._index = _index([self._words(document) for document in documents])

    def scores(self, query: str) -> list[float]:
        """The score of each document, in order; 0.0 where it has no word of the query."""
        words = [word for word in self._words(query) if self._index and word in self._index.idf]
        if not words:
            return [0.0] * self._size
        # BM25+ has a floor under each match. The package puts it under every document, matching or not: that much
        # is taken off again, so that nothing scores for words it lacks.
        floor = sum(self._index.delta * self._index.idf[word] for word in words)
        return [max(0.0, score) for score in (self._index.get_scores(words) - floor).round(9).tolist()]

    def top(self, query: str, n: int) -> list[int]:
        """Positions of up to `n` documents that match, the best first; of equals the earlier first."""
        scores = self.scores(query)
        best = sorted((i for i, score in enumerate(scores) if score > 0), key=lambda i: (-scores[i], i))
        return best[: max(0, n)]

    def places(self, text: str, query: str) -> list[tuple[int, int, str]]:
        """(start, end, stem) of each word of `text` that the query asks for, in order."""
        wanted = set(self._words(query))
        stemmed = ((start, end, self._stem(word)) for start, end, word in self._terms.places(text))
        return [(start, end, stem) for start, end, stem in stemmed if stem in wanted]

    def _words(self, text: str) -> list[str]:
        return [self._stem(word) for word in self._terms.words(text)]


def _index(documents: list[list[str]]) -> Any:
    """The package's index; None where there is not a word, since it divides by their mean number."""
    if not any(documents):
        return None
    from rank_bm25 import BM25Plus  # imported here: it brings numpy, and only a ranked search needs it

    return BM25Plus(documents)
