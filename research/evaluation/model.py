"""Data of an evaluation.

Documents with questions whose answers are known, and the outcome of a question.
"""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum

from gistread.book.model import Book
from gistread.engine.protocol import NO_USAGE, Usage


@dataclass(frozen=True, slots=True)
class Question:
    """A question about a document. Without `references` and `choices` no answer can be matched."""

    id: str  # Stable between runs and unique in the document
    text: str
    references: tuple[str, ...] = ()  # Right answers, given by people
    # The options of a multiple-choice question, in the order shown
    choices: tuple[str, ...] = ()
    gold_choice: int | None = None  # Index of the right option
    # Where `Document.book.text` has the answer, if the task says so: start and end, in order.
    gold_places: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Document:
    id: str  # Stable between runs and unique in the task
    book: Book
    questions: tuple[Question, ...]
    preset: str = "fiction"  # Name of the gisting preset that suits it


class Rating(IntEnum):
    """A judge's rating of an answer against the references."""

    NONE = 0
    PARTIAL = 1
    EXACT = 2


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a question put to a reader, with everything needed to check it by hand."""

    task: str
    document: str
    question: str  # Its id
    reader: str
    text: str  # The question as asked
    answer: str = ""  # Empty if it failed
    # False: the reader found no answer. A quotation instead of an answer counts as an answer.
    has_answer: bool = False
    choice: int | None = None  # Index of the chosen option
    lookups: tuple[int, ...] = ()  # Pages the reader asked for, in order
    # The book's text in the prompt of the answer: start and end, in order
    seen: tuple[tuple[int, int], ...] = ()
    citations: tuple[tuple[int, int], ...] = ()
    # Whether every quote shown is in the book word for word; None without quotes
    quotes_hold: bool | None = None
    # Whether a statement was marked as not supported, or a quotation replaced the answer; None if
    # not checked.
    unsupported: bool | None = None
    context_tokens: int = 0  # Tokens of book and gists in the prompt of the answer
    compression_rate: float = 0.0
    usage: Usage = NO_USAGE
    seconds: float = 0.0
    ended: bool = True
    error: str = ""  # Why it failed, in one line
    events: tuple[str, ...] = ()  # The steps, as the command line shows them
    scores: tuple[tuple[str, float], ...] = ()  # Applicable metrics with their values


Place = tuple[int, int]
BETWEEN_PARAGRAPHS = 2  # Characters between two paragraphs of a book (`book/model.py`)


def pages_with(gold: Iterable[Place], pages: Sequence[Place]) -> frozenset[int]:
    """Numbers (from 1) of the pages that share at least one character with one of the places."""
    starts = [start for start, _ in pages]
    numbers: set[int] = set()
    for start, end in gold:
        first = max(0, bisect_right(starts, start) - 1)
        for number, (page_start, page_end) in enumerate(pages[first:], first + 1):
            if page_start >= end:
                break
            if page_end > start:
                numbers.add(number)
    return frozenset(numbers)


def covered_share(gold: Iterable[Place], seen: Iterable[Place]) -> float:
    """Share of the characters of `gold` inside `seen`, from 0 to 1; 0 if `gold` is empty."""
    sought = merge_places(gold)
    shown = merge_places(seen)
    length = sum(end - start for start, end in sought)
    if not length:
        return 0.0
    shared = 0
    for start, end in sought:
        for shown_start, shown_end in shown:
            overlap = min(end, shown_end) - max(start, shown_start)
            shared += max(0, overlap)
    return shared / length


def merge_places(places: Iterable[Place], gap: int = 0) -> tuple[Place, ...]:
    """Sort places and merge those at most `gap` apart, without empty ones."""
    merged: list[Place] = []
    for start, end in sorted(places):
        if start >= end:
            continue
        if merged and start <= merged[-1][1] + gap:
            last_start, last_end = merged[-1]
            merged[-1] = (last_start, max(end, last_end))
        else:
            merged.append((start, end))
    return tuple(merged)
