"""Ranks the passages of a book for a question, and the pages of its memory."""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import cycle

from gistread.book.model import Book
from gistread.memory.front_matter import (
    back_matter_start,
    front_matter_end,
    without_imprint_of,
)
from gistread.memory.model import GistMemory
from gistread.memory.passages import Passage, Span, overlaps, split_into_passages
from gistread.readers.book_text import share_of
from gistread.readers.introductions import Introductions, introductions
from gistread.readers.kinds import asks_about_edition, quantity_asked_for
from gistread.readers.phrases import pattern
from gistread.readers.thread import Thread, retrieval_context
from gistread.search.ranked import Relevance

# The last prompt is used again if it shows this many of the nearest passages
# (`tests/benchmarks/follow_ups.py`).
_NEAREST = 3
_PART = 0.2  # Share of a book that its beginning or its end takes
_PART_WEIGHT = 1.0  # Added to the weight of a passage at the very beginning or end
# Added to the weight of a passage with a number of the kind that is asked for
_QUANTITY_WEIGHT = 0.5


@dataclass(frozen=True, slots=True)
class Ranked:
    """The book's passages, ranked for a question."""

    # Nearest first; without imprint and unrelated notes
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

    A question about the end or the beginning prefers passages there, and a question for a quantity
    those with a number of its kind. As slow as `Relevance`.
    """
    book = memory.book
    passages = _passages_of(memory, searched_part(question, book))
    texts = [book.text[start:end] for start, end in passages]
    scores = Relevance(texts, book.language).scores(
        question,
        choices,
        context=retrieval_context(thread),
        weights=_weights(question, passages, book),
    )
    # Notes, and an imprint that is searched, count only if they share a word with the question.
    story = range(front_matter_end(book), back_matter_start(book))
    fitting: list[int] = []
    for index in scores.order:
        start, _ = passages[index]
        if start in story or scores.of_own_words[index]:
            fitting.append(index)
    # A book may be all front matter.
    ordered = [passages[index] for index in fitting or scores.order]
    introduced = None if choices else introductions(question, memory)
    if introduced:
        # The passages with the introducing sentence first; the sort keeps the order of others.
        ordered.sort(key=lambda place: not overlaps(introduced.sentences, place))
    pages = _pages_near(passages, scores.with_neighbours, memory)
    return Ranked(tuple(ordered), pages, scores.has_matches, introduced)


def _pages_near(
    passages: Sequence[Passage], scores: Sequence[float], memory: GistMemory
) -> tuple[int, ...]:
    """The numbers of the pages with related passages, by the scores of these, best first."""
    numbers: dict[int, None] = {}
    best_first = sorted(range(len(passages)), key=lambda index: -scores[index])
    for index in best_first:
        start, _ = passages[index]
        page = memory.page_at(start)
        if page and scores[index] > 0:
            numbers[page.number] = None
    return tuple(numbers)


def reusable_passages(
    ranked: Ranked, thread: Thread, refused: Sequence[Passage] = ()
) -> list[Passage]:
    """The passages of the last answer, if they contain those nearest to the follow-up.

    With the same passages, the evaluated prompt can be reused.
    """
    seen = thread[-1].seen if thread else ()
    for place in ranked.passages[:_NEAREST]:
        if share_of(place, seen) != 1.0 or overlaps(refused, place):
            return []
    return list(seen)


def searched_part(question: str, book: Book) -> Span:
    """The part of the book that may answer a question: an imprint tells only of the edition."""
    if asks_about_edition(question):
        return 0, len(book.text)
    return without_imprint_of(book)


def _passages_of(memory: GistMemory, part: Span) -> list[Passage]:
    """The passages of a part of the book.

    None crosses the end of a page, so that pages can be ranked.
    """
    book = memory.book
    part_start, part_end = part
    pages = [(entry.page.start, entry.page.end) for entry in memory.entries]
    pages.append((memory.read_until, len(book.text)))
    passages: list[Passage] = []
    for page_start, page_end in pages:
        start, end = max(page_start, part_start), min(page_end, part_end)
        if start < end:
            passages += split_into_passages(book, start, end)
    return passages


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
    """Higher weights for the end or the beginning of the book, if the question is about it."""
    part_length = max(1, len(book.text)) * _PART
    if pattern("asks_how_it_ends").search(question):
        distances = [len(book.text) - start for start, _ in passages]
    elif pattern("asks_how_it_begins").search(question):
        distances = [start for start, _ in passages]
    else:
        return [1.0] * len(passages)
    # The weight falls with the distance, to the usual one where the part ends.
    nearness = [max(0.0, 1 - distance / part_length) for distance in distances]
    return [1 + _PART_WEIGHT * share for share in nearness]


def _quantity_weights(
    question: str, passages: Sequence[Passage], book: Book
) -> list[float]:
    """Higher weights for passages with a quantity of the kind that is asked for, if any is."""
    quantity = quantity_asked_for(question)
    if quantity is None:
        return [1.0] * len(passages)
    return [
        1 + _QUANTITY_WEIGHT * quantity.is_told_in(book.text[start:end])
        for start, end in passages
    ]


# The order in which parts of the book are shown, again and again
_SPREAD_TURN = ("last", "first", "between", "between")
_ENDING_TURN = ("last", "last", "last", "first", "between")


def spread_over(memory: GistMemory, *, to_the_end: bool = False) -> list[Passage]:
    """The passages of a book, ordered so that the first ones tell of all of it.

    They are taken in turn from the end (of what was read), the beginning, and places evenly spread
    between. `to_the_end`: mostly from the end.
    """
    book = memory.book
    passages = split_into_passages(
        book, front_matter_end(book), back_matter_start(book)
    )
    half = len(passages) // 2
    second_half_backwards = passages[:half:-1]
    remaining = {
        "last": deque(second_half_backwards),
        "first": deque(passages[: half + 1]),
        "between": deque(passages[index] for index in _evenly(len(passages))),
    }
    turns = cycle(_ENDING_TURN if to_the_end else _SPREAD_TURN)
    chosen: dict[Passage, None] = {}
    while any(remaining.values()):
        part = remaining[next(turns)]
        while part and part[0] in chosen:
            part.popleft()
        if part:
            chosen[part.popleft()] = None
    return list(chosen)


def _evenly(count: int) -> list[int]:
    """The numbers below `count`, so that the first ones are evenly spread.

    >>> _evenly(8)
    [4, 2, 6, 1, 3, 5, 7, 0]
    """
    spread: dict[int, None] = {}
    step = float(count)
    while step > 1:
        half = step / 2
        steps = round(count / step)
        for index in range(steps):
            middle = int(index * step + half)
            spread[min(count - 1, middle)] = None
        step = half
    spread.update(dict.fromkeys(range(count)))
    return list(spread)
