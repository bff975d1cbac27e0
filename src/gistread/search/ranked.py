"""Ranks texts by relevance to a query.

By BM25 over stems (rank-bm25), and by the nearness of the query's words.

Two scores rank the passages of a book. Nearness measures how close each word of the question is to
the passage: the subject of an answer is often named a little before it. BM25 includes neighbouring
passages: a topic continues for pages. Measured in `tests/benchmarks/recall.py`.
"""

import hashlib
import math
import re
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from types import MappingProxyType
from typing import Any

from gistread.search.related import related_stems
from gistread.search.tokens import Terms, WordPlace
from gistread.words import count_words

NEAR_WORDS = 300  # Standard deviation, in words, of the weight of neighbouring passages
# Weight of the words of earlier questions and answers (`tests/benchmarks/follow_ups.py`)
CONTEXT_WEIGHT = 0.5
# Weight of words of answer choices: one is right, the others mislead
CHOICE_WEIGHT = 0.25
_REACH = 3.0  # Standard deviations after which neighbours no longer count
# Weight of BM25 with neighbours relative to nearness, both as shares of the best
_AROUND_WEIGHT = 0.65
_OUTSIDE = 0.7  # Weight of a word just outside a passage, relative to one inside
_FADING_WORDS = 120.0  # Distance after which that weight has fallen to a third
_TOGETHER = 0.3  # Weight of two words of the question that stand together
_TOGETHER_WORDS = 3  # Largest distance of words that stand together
_NOWHERE = 2**40  # Position of a word that does not occur
RELATED_WEIGHT = 0.8  # Of a related word, relative to the word of the question itself
_CACHED_INDEXES = 2  # War and Peace takes about 4 MB
_FIRST_TEXTS = 8  # If these are the same, texts are of the same book

Related = Mapping[str, frozenset[str]]  # Stems that mean about the same, by stem
NOTHING_RELATED: Related = MappingProxyType({})


class Ranker:
    """An index over `documents`: the positions of each stem.

    War and Peace by paragraph takes about 2 s.
    """

    def __init__(self, documents: Iterable[str], language: str = "") -> None:
        """`language`: BCP 47; empty means English."""
        import numpy as np  # imported here: only a ranked search needs it

        self.terms = Terms(language)
        self._numbers: dict[str, int] = {}  # By stem
        all_numbers, starts = array("i"), array("i", [0])
        stems_of_documents = [self.stems(document) for document in documents]
        self._bm25 = _bm25(stems_of_documents)
        for stems in stems_of_documents:
            all_numbers.extend(
                self._numbers.setdefault(stem, len(self._numbers)) for stem in stems
            )
            starts.append(len(all_numbers))
        numbers = np.array(all_numbers, np.int32)
        self._starts = np.array(starts, np.int64)
        # The positions of all words, sorted by stem. Those of stem number n are
        # `_by_stem[_bounds[n] : _bounds[n + 1]]`.
        self._by_stem = np.argsort(numbers, kind="stable").astype(np.int32)
        sorted_numbers = numbers[self._by_stem]
        self._bounds = np.searchsorted(
            sorted_numbers, np.arange(len(self._numbers) + 1)
        )

    def scores(self, query: str, related: Related = NOTHING_RELATED) -> list[float]:
        """BM25 of each document; 0.0 if it has no word of the query, or one `related` to it."""
        import numpy as np

        total = np.zeros(len(self._starts) - 1)
        for stem in self.stems(query):
            total += self._strongest(stem, related, self._bm25_of)
        # Rounded, so that equal texts tie in spite of the order of additions
        return list(map(float, np.round(total, 9)))

    def nearness(self, query: str, related: Related = NOTHING_RELATED) -> list[float]:
        """For each document, the sum of the words' weights.

        A weight is higher for rare words, and falls with distance. Two successive words of the
        query that stand together in a document add to the sum.
        """
        import numpy as np

        total = np.zeros(len(self._starts) - 1)
        stems = self.stems(query)
        for stem in dict.fromkeys(stems):
            total += self._strongest(stem, related, self._nearness_of)
        for first, second in pairwise(stems):
            if first != second:
                self._add_together(first, second, total)
        return total.tolist()

    def _strongest(
        self, stem: str, related: Related, score: Callable[[str], Any]
    ) -> Any:
        """By document, the score of a word or, if that is higher, of a related one."""
        import numpy as np

        best = score(stem)
        for other in related.get(stem, ()):
            if other in self._numbers:
                best = np.maximum(best, RELATED_WEIGHT * score(other))
        return best

    def _bm25_of(self, stem: str) -> Any:
        """BM25 of one word by document, without BM25+'s floor, which all documents would get."""
        import numpy as np

        documents = len(self._starts) - 1
        if stem not in self._numbers:
            return np.zeros(documents)
        bm25 = self._bm25
        occurrences = self._documents_of(self._places_of(stem))
        counts = np.bincount(occurrences, minlength=documents)
        relative_lengths = np.array(bm25.doc_len) / bm25.avgdl
        damping = bm25.k1 * (1 - bm25.b + bm25.b * relative_lengths)
        return bm25.idf[stem] * counts * (bm25.k1 + 1) / (damping + counts)

    def _nearness_of(self, stem: str) -> Any:
        """The weight of one word by document: full inside, fading with distance outside."""
        import numpy as np

        if stem not in self._numbers:
            return np.zeros(len(self._starts) - 1)
        starts, ends = self._starts[:-1], self._starts[1:]
        before, after = _around(self._places_of(stem), starts)
        inside = after < ends
        distance = np.minimum(after - ends + 1, starts - before)
        fading = _OUTSIDE * np.exp(-distance / _FADING_WORDS)
        return self._rarity(inside.sum()) * np.where(inside, 1.0, fading)

    def _rarity(self, documents: int) -> float:
        """The weight of a word that this many documents have."""
        return math.log(len(self._starts) / documents)

    def _add_together(self, first: str, second: str, total: Any) -> None:
        """Add to `total` in each document where two words stand together."""
        import numpy as np

        if first not in self._numbers or second not in self._numbers:
            return
        first_places, second_places = self._places_of(first), self._places_of(second)
        before, after = _around(second_places, first_places)
        distance = np.minimum(after - first_places, first_places - before)
        together = first_places[distance <= _TOGETHER_WORDS]
        documents_with_first = np.unique(self._documents_of(first_places))
        documents_with_second = np.unique(self._documents_of(second_places))
        # The two count as much as the commoner word alone.
        documents_of_commoner = max(
            len(documents_with_first), len(documents_with_second)
        )
        documents_with_both = np.unique(self._documents_of(together))
        weight = _TOGETHER * self._rarity(documents_of_commoner)
        total[documents_with_both] += weight

    def has_word(self, query: str) -> bool:
        """Whether any document has a word of the query."""
        return any(stem in self._numbers for stem in self.stems(query))

    def top(self, query: str, n: int) -> list[int]:
        """Indices of up to `n` matching documents, the best first; ties in order."""
        scores = self.scores(query)
        matching = [i for i, score in enumerate(scores) if score > 0]
        best_first = sorted(matching, key=lambda i: (-scores[i], i))
        return best_first[: max(0, n)]

    def places(self, text: str, query: str) -> list[WordPlace]:
        """Where the words of `query` stand in `text`, in order; `word` is the stem."""
        stems = set(self.stems(query))
        places: list[WordPlace] = []
        for place in self.terms.places(text):
            stem = self.terms.stem(place.word)
            if stem in stems:
                places.append(place._replace(word=stem))
        return places

    def stems(self, text: str) -> list[str]:
        """The stem of each word, in order."""
        return [self.terms.stem(word) for word in self.terms.words(text)]

    def _places_of(self, stem: str) -> Any:
        """The positions of a word that occurs, ascending."""
        number = self._numbers[stem]
        first, past_last = self._bounds[number], self._bounds[number + 1]
        return self._by_stem[first:past_last].astype("int64")

    def _documents_of(self, places: Any) -> Any:
        """The index of the document of each place."""
        import numpy as np

        return np.searchsorted(self._starts[1:], places, side="right")


def _bm25(documents: list[list[str]]) -> Any:
    """The package's index of the documents; None without words, where it would divide by zero.

    Its count of each word in each document is dropped: the positions of `Ranker` say the same in a
    tenth of the memory.
    """
    if not any(documents):
        return None
    # Imported here: it brings numpy, and only a ranked search needs it
    from rank_bm25 import BM25Plus

    index = BM25Plus(documents)
    index.doc_freqs.clear()
    return index


def _around(positions: Any, places: Any) -> tuple[Any, Any]:
    """For each of `places`, the last of `positions` before it and the first at or after it.

    Both inputs ascend.
    """
    import numpy as np

    following = np.searchsorted(positions, places)
    before = np.insert(positions, 0, -_NOWHERE)[following]
    after = np.append(positions, _NOWHERE)[following]
    return before, after


@dataclass(frozen=True, slots=True)
class Scores:
    """Scores of each passage for a question, in text order."""

    # BM25 of the passage's own words; 0.0 without a word of the question
    of_own_words: tuple[float, ...]
    # BM25 including its neighbours; 0.0 without a word of the question in reach
    with_neighbours: tuple[float, ...]
    near: tuple[float, ...]  # Nearness of the words of the question
    # Whether the text has any word of the question besides stop words
    has_matches: bool = False

    @property
    def order(self) -> list[int]:
        """All passages by relevance, unrelated ones last; ties in the order of the text."""
        # 1.0 instead of a best score of zero: all shares are then zero.
        most_near = max(self.near, default=0.0) or 1.0
        most_around = max(self.with_neighbours, default=0.0) or 1.0
        relevance: list[float] = []
        for near, around in zip(self.near, self.with_neighbours, strict=True):
            share_near = near / most_near
            share_around = _AROUND_WEIGHT * around / most_around
            # Without a word of the question in reach, nearness has faded but is not zero.
            relevance.append(share_near + share_around if around else 0.0)
        return sorted(range(len(relevance)), key=lambda index: -relevance[index])


@dataclass(frozen=True, slots=True)
class _WeightedWords:
    """Words of a query, and how much they count."""

    words: str
    weight: float
    related: Related


class Relevance:
    """Ranks the passages of one text; builds a `Ranker` first."""

    def __init__(self, passages: Sequence[str], language: str = "") -> None:
        """`language`: BCP 47; empty means English."""
        self._ranker, self._middles = _indexed(passages, language)
        self._language = language

    def scores(
        self,
        question: str,
        choices: Sequence[str] = (),
        context: str = "",
        weights: Sequence[float] = (),
    ) -> Scores:
        """Scores for a question.

        The `choices` of answers and the earlier conversation (`context`) count too, with less
        weight, and so do words related to those of the question, except for its names. `weights`:
        by passage, for the place or the kind of number that the question asks for.
        """
        import numpy as np

        names = _names_in(question) | _names_in(context)
        related = related_stems(self._language, leave_out=names)
        choice_words = self._content_words(" ".join(choices))
        query = (
            _WeightedWords(self._content_words(question), 1.0, related),
            _WeightedWords(choice_words, CHOICE_WEIGHT, NOTHING_RELATED),
            _WeightedWords(self._content_words(context), CONTEXT_WEIGHT, related),
        )
        alone = np.zeros(len(self._middles))
        near = np.zeros(len(self._middles))
        for part in query:
            if not part.words:
                continue
            bm25 = self._ranker.scores(part.words, part.related)
            alone += part.weight * np.array(bm25)
            nearness = self._ranker.nearness(part.words, part.related)
            near += part.weight * np.array(nearness)
        if weights:
            alone *= np.array(weights)
            near *= np.array(weights)
        around = spread(alone.tolist(), self._middles)
        has_matches = any(self._ranker.has_word(part.words) for part in query)
        return Scores(
            tuple(alone.tolist()), tuple(around), tuple(near.tolist()), has_matches
        )

    def _content_words(self, text: str) -> str:
        terms = self._ranker.terms
        return " ".join(
            word for word in terms.words(text) if word not in terms.stop_words
        )


def _names_in(question: str) -> frozenset[str]:
    """The words with a capital that do not begin the question, in lower case."""
    words = re.findall(r"[^\W\d_]+", question)
    return frozenset(word.lower() for word in words[1:] if word[0].isupper())


@dataclass(frozen=True, slots=True)
class _Texts:
    """The key of an index: hashes of its texts, which would take more memory than the index."""

    language: str
    first: bytes  # Hash of the first few texts; empty if there are fewer
    all: bytes

    @classmethod
    def of(cls, texts: Sequence[str], language: str) -> "_Texts":
        digest = hashlib.sha256()
        first = b""
        for number, text in enumerate(texts, start=1):
            # With its length: other texts may join to the same characters.
            digest.update(b"%d " % len(text))
            digest.update(text.encode("utf-8", "surrogatepass"))
            if number == _FIRST_TEXTS:
                first = digest.digest()
        return cls(language, first, digest.digest())


_indexes: dict[_Texts, tuple[Ranker, "array[float]"]] = {}  # The last ones used


def _indexed(texts: Sequence[str], language: str) -> tuple[Ranker, "array[float]"]:
    """The ranker of these texts, and the position of the middle of each in words."""
    key = _Texts.of(texts, language)
    # Taken out, so that it becomes the newest entry of the dict below
    index = _indexes.pop(key, None)
    if index is None:
        _forget_other_ends(key)
        sizes = [count_words(text) for text in texts]
        index = (Ranker(texts, language), array("d", _middles(sizes)))
    _indexes[key] = index
    oldest_first = list(_indexes)
    for old_key in oldest_first[:-_CACHED_INDEXES]:
        _indexes.pop(old_key, None)
    return index


def _middles(sizes: Sequence[int]) -> Iterator[float]:
    """The position of the middle of each text, from the sizes of all texts in words."""
    for end, size in zip(accumulate(sizes), sizes, strict=True):
        yield end - size / 2


def _forget_other_ends(key: _Texts) -> None:
    """Drop the index of texts that begin alike: of the same book up to another place."""
    if not key.first:  # Too few texts to tell whether the book is the same
        return
    for other in list(_indexes):
        if other.language == key.language and other.first == key.first:
            _indexes.pop(other, None)


def spread(scores: Sequence[float], middles: Sequence[float]) -> list[float]:
    """Add to each score those around it, weighted by distance.

    `middles`: positions in words, ascending.
    """
    totals = list(scores)
    reach = _REACH * NEAR_WORDS
    for index, score in enumerate(scores):
        if not score:
            continue
        for step in (-1, 1):
            other = index + step
            while 0 <= other < len(totals):
                words_between = abs(middles[other] - middles[index])
                if words_between > reach:
                    break
                deviations = words_between / NEAR_WORDS
                totals[other] += score * math.exp(-(deviations**2) / 2)
                other += step
        totals[index] += score  # Its own counts twice.
    return totals
