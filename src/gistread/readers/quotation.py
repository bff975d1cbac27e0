"""The book's own sentences closest to a question, for an answer that the model did not give."""

from collections.abc import Sequence

from gistread.memory.model import GistMemory
from gistread.readers.events import Citation
from gistread.readers.support import sentences_of
from gistread.search.relevance import Relevance

_MOST = 3
_NEAR_THE_BEST = 0.6  # Share of the best sentence's score that a further one needs
_HELP = 0.5  # Weight of the scores of the two neighbours: the answer often stands beside the words of the question


def closest_sentences(question: str, memory: GistMemory, places: Sequence[tuple[int, int]]) -> tuple[Citation, ...]:
    """Up to three sentences of these places, in the order of the book; none that lies far from the question's words."""
    book = memory.book
    spans = [span for start, end in places for span in sentences_of(memory, start, end)]
    alone = Relevance([book.text[start:end] for start, end in spans], book.language).scores(question).alone
    padded = [0.0, *alone, 0.0]
    scores = [own + _HELP * (padded[at] + padded[at + 2]) for at, own in enumerate(alone)]
    ranked = sorted(range(len(spans)), key=lambda at: -scores[at])[:_MOST]
    near = sorted(at for at in ranked if scores[at] > 0 and scores[at] >= _NEAR_THE_BEST * scores[ranked[0]])
    pages = [memory.page_at(spans[at][0]) for at in near]
    return tuple(
        Citation(page.number if page else 0, *spans[at], book.text[spans[at][0] : spans[at][1]])
        for at, page in zip(near, pages, strict=True)
    )
