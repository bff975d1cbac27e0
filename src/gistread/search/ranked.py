"""Ranks texts by relevance to a query: BM25 over stems, with the package rank-bm25."""

from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Any

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
