"""Ranks the passages of a book for a question, and the pages of its memory."""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import cycle

from gistread.book.model import Book
from gistread.memory.front_matter import back_matter_start, front_matter_end
from gistread.memory.model import GistMemory
from gistread.memory.passages import Passage, overlaps, split_into_passages
from gistread.readers.book_text import share_of
from gistread.readers.introductions import Introductions, introductions
from gistread.readers.kinds import quantity_asked_for
from gistread.readers.phrases import pattern
from gistread.readers.thread import Thread, retrieval_context
from gistread.search.ranked import Relevance

# Nearest passages that the last prompt must show to be used again
# (`tests/benchmarks/follow_ups.py`)
_NEAREST = 3
_PART = 0.2  # Share of a book that its beginning or its end takes
_PART_WEIGHT = 1.0  # Added to the weight of a passage at the very beginning or end
# Added to the weight of a passage with a number of the kind that is asked for
_QUANTITY_WEIGHT = 0.5


@dataclass(frozen=True, slots=True)
class Ranked:
    """The book's passages, ranked for a question."""

    # Nearest first; all of them, but for unrelated front and back matter
    passages: tuple[Passage, ...]
    # Numbers of the pages that share something with the question, nearest first
    pages: tuple[int, ...]
    has_matches: bool  # Whether the book has any of the question's search terms
    # Of the name that the question asks about, if any
    introductions: Introductions | None = None


def rank(
    question: str, memory: GistMemory, choices: Sequence[str] = (), thread: Thread = ()
) -> Ranked:
    """Rank passages and pages by relevance to a question, its options and its thread.

    A question about the end or the beginning prefers passages there, one for a quantity those with
    a number of its kind. As slow as `Relevance`.
    """
    book = memory.book
    passages = _passages_of(memory)
    relevance = Relevance(
        [book.text[start:end] for start, end in passages], book.language
    )
    context = retrieval_context(thread)
    weights = _weights(question, passages, book)
    scores = relevance.scores(question, choices, context, weights)
    # Of a title page or an imprint only what shares a word with the question.
    story = range(front_matter_end(book), back_matter_start(book))
    fitting = [
        index
        for index in scores.order
        if scores.alone[index] or passages[index][0] in story
    ]
    ordered = [passages[index] for index in fitting or scores.order]
    introduced = None if choices else introductions(question, memory)
    if introduced:
        ordered.sort(key=lambda place: not overlaps(introduced.sentences, place))
    by_surroundings = sorted(
        range(len(passages)), key=lambda index: -scores.around[index]
    )
    near = [passages[index] for index in by_surroundings if scores.around[index] > 0]
    pages = (memory.page_at(start) for start, _ in near)
    numbers = tuple(dict.fromkeys(page.number for page in pages if page))
    return Ranked(tuple(ordered), numbers, scores.has_matches, introduced)


def reusable_passages(
    ranked: Ranked, thread: Thread, refused: Sequence[Passage] = ()
) -> list[Passage]:
    """The passages of the last answer, if they contain those nearest to the follow-up.

    Its prompt is reused.
    """
    seen = thread[-1].seen if thread else ()
    for place in ranked.passages[:_NEAREST]:
        if share_of(place, seen) != 1.0 or overlaps(refused, place):
            return []
    return list(seen)


def _passages_of(memory: GistMemory) -> list[Passage]:
    """The passages of the book. None crosses the end of a page: a page ranks with its best."""
    book = memory.book
    pages = (entry.page for entry in memory.entries)
    read = [
        place
        for page in pages
        for place in split_into_passages(book, page.start, page.end)
    ]
    return read + split_into_passages(book, memory.read_until)


def _weights(question: str, passages: Sequence[Passage], book: Book) -> list[float]:
    """A weight for each passage, by its place and by what it can tell."""
    by_place = _part_weights(question, passages, book)
    by_quantity = _quantity_weights(question, passages, book)
    return [
        place * quantity for place, quantity in zip(by_place, by_quantity, strict=True)
    ]


def _part_weights(
    question: str, passages: Sequence[Passage], book: Book
) -> list[float]:
    """More for the part of the book that is asked about, if one is."""
    length = max(1, len(book.text)) * _PART
    if pattern("asks_how_it_ends").search(question):
        away = [len(book.text) - start for start, _ in passages]
    elif pattern("asks_how_it_begins").search(question):
        away = [start for start, _ in passages]
    else:
        return [1.0] * len(passages)
    return [1 + _PART_WEIGHT * max(0.0, 1 - distance / length) for distance in away]


def _quantity_weights(
    question: str, passages: Sequence[Passage], book: Book
) -> list[float]:
    """More for the passages that tell a quantity of the kind asked for, if one is."""
    quantity = quantity_asked_for(question)
    if quantity is None:
        return [1.0] * len(passages)
    return [
        1 + _QUANTITY_WEIGHT * quantity.is_told_in(book.text[start:end])
        for start, end in passages
    ]


_SPREAD_TURN = ("last", "first", "between", "between")  # In which order parts are shown
_ENDING_TURN = ("last", "last", "last", "first", "between")


def spread_over(memory: GistMemory, *, to_the_end: bool = False) -> list[Passage]:
    """The passages of a book, ordered so that the first ones tell of all of it.

    By turns from the end (where the reader is or the book closes), the beginning, and places evenly
    spread between. `to_the_end`: mostly from the end.
    """
    book = memory.book
    story = range(front_matter_end(book), back_matter_start(book))
    passages = split_into_passages(book, story.start, story.stop)
    half = len(passages) // 2
    last = passages[:half:-1]
    first = passages[: half + 1]
    ordered = {
        "last": last,
        "first": first,
        "between": [passages[index] for index in _evenly(len(passages))],
    }
    turns = cycle(_ENDING_TURN if to_the_end else _SPREAD_TURN)
    remaining = {part: deque(places) for part, places in ordered.items()}
    chosen: dict[Passage, None] = {}
    while any(remaining.values()):
        part = remaining[next(turns)]
        while part and part[0] in chosen:
            part.popleft()
        if part:
            chosen[part.popleft()] = None
    return list(chosen)


def _evenly(count: int) -> list[int]:
    """The numbers below `count`, so that the first ones are evenly spread: 4, 2, 6, 1, 3 …"""
    spread: dict[int, None] = {}
    step = float(count)
    while step > 1:
        half = step / 2
        steps = round(count / step)
        for index in range(steps):
            spread[min(count - 1, int(index * step + half))] = None
        step = half
    spread.update(dict.fromkeys(range(count)))
    return list(spread)
