"""The story that ships with gistread, and twenty questions about it with the places where their answers stand.

"Fourteen Inches" was written for this project and is dedicated to the public domain (CC0 1.0), its questions too.
Tests and the tour of a first start lean on it. It does not know how a book is opened: the offsets point into the
normalised text that `gistread.book.open.open_book(story_path())` gives, and the tests hold the two together.
"""

from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Any

import orjson

from gistread.errors import StorageError

_FOLDER = Path(__file__).parent


class QuestionKind(StrEnum):
    """How much of the book an answer takes."""

    SINGLE = "single"
    """One passage is enough."""
    TWO_PLACES = "two places"
    """Two passages in chapters far apart have to be put together."""
    NOT_SAID = "not said"
    """The book gives no answer."""


@dataclass(frozen=True, slots=True)
class AnswerSpan:
    """Where an answer stands: `quote` is the book's `text[start:end]`, in characters."""

    start: int
    end: int
    quote: str


@dataclass(frozen=True, slots=True)
class SampleQuestion:
    """A question about the story, with what may be answered."""

    question: str
    answer: str
    """The reference: short, and complete."""
    also: tuple[str, ...]
    """Other answers that are right."""
    kind: QuestionKind
    places: tuple[AnswerSpan, ...]
    """What the answer rests on, in the order of the book; none where the book does not say."""


def story_path() -> Path:
    """The story's file: plain text, UTF-8, a line for each paragraph."""
    return _FOLDER / "story.txt"


@cache
def questions() -> tuple[SampleQuestion, ...]:
    """The twenty questions. Raises StorageError where the installed file is missing or damaged."""
    path = _FOLDER / "questions.json"
    try:
        return tuple(_question(entry) for entry in orjson.loads(path.read_bytes()))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise StorageError(
            f"The questions of the sample story cannot be read: {path}.", "Install gistread again."
        ) from error


def _question(entry: dict[str, Any]) -> SampleQuestion:
    return SampleQuestion(
        question=entry["question"],
        answer=entry["answer"],
        also=tuple(entry["also"]),
        kind=QuestionKind(entry["kind"]),
        places=tuple(AnswerSpan(**place) for place in entry["places"]),
    )
