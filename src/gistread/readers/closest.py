"""Finds the sentences of the book that are closest to a question."""

from collections.abc import Sequence

from gistread.memory.model import GistMemory
from gistread.memory.passages import Passage, overlaps, sentences_of
from gistread.readers.evidence import citation_of
from gistread.search.ranked import Relevance
from gistread.store.model import Citation

_MOST = 3
_NEAR_THE_BEST = 0.6  # Least score of a further sentence, as a share of the best
# Weight of the two neighbours' scores: an answer is often next to the words of the question
_NEIGHBOUR_WEIGHT = 0.5


def closest_sentences(
    question: str,
    memory: GistMemory,
    places: Sequence[Passage],
    passage: Passage | None = None,
) -> tuple[Citation, ...]:
    """Up to three sentences of these places, in the order of the book.

    For a question about a `passage`, the sentences outside it that are closest to it.
    """
    book = memory.book
    spans = [span for start, end in places for span in sentences_of(book, start, end)]
    query = question
    if passage is not None:
        start, end = passage
        query = book.text[start:end]
        spans = [span for span in spans if not overlaps([passage], span)]
    sentences = [book.text[start:end] for start, end in spans]
    alone = Relevance(sentences, book.language).scores(query).of_own_words
    padded = [0.0, *alone, 0.0]  # The first and the last lack a neighbour.
    before, after = padded[:-2], padded[2:]
    scores = [
        own + _NEIGHBOUR_WEIGHT * (previous + following)
        for own, previous, following in zip(alone, before, after, strict=True)
    ]
    best_first = sorted(range(len(spans)), key=lambda index: -scores[index])
    least = _NEAR_THE_BEST * max(scores, default=0.0)
    chosen = [
        index
        for index in best_first[:_MOST]
        if scores[index] > 0 and scores[index] >= least
    ]
    return tuple(citation_of(spans[index], memory) for index in sorted(chosen))
