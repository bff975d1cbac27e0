"""The sample story "The Ferry Bell" (CC0 1.0) and questions about it with the places of their answers."""

from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Any

import orjson

from gistread.errors import StorageError

_FOLDER = Path(__file__).parent


class QuestionKind(StrEnum):
    """How much of the book an answer needs."""

    SINGLE = "single"  # One passage
    TWO_PLACES = "two places"  # Two passages in distant chapters
    NOT_SAID = "not said"  # The book gives no answer


@dataclass(frozen=True, slots=True)
class AnswerSpan:
    """Location of an answer: `quote` is the book's `text[start:end]`."""

    start: int
    end: int
    quote: str


@dataclass(frozen=True, slots=True)
class SampleQuestion:
    question: str
    answer: str  # Short and complete
    also: tuple[str, ...]  # Other correct answers
    kind: QuestionKind
    places: tuple[AnswerSpan, ...]  # Evidence in text order; empty if the book does not say


def story_path() -> Path:
    """Path of the story: UTF-8 text, one line a paragraph."""
    return _FOLDER / "story.txt"


@cache
def questions() -> tuple[SampleQuestion, ...]:
    """The questions. Raises StorageError if the installed file is missing or damaged."""
    path = _FOLDER / "questions.json"
    try:
        return tuple(_question(entry) for entry in orjson.loads(path.read_bytes()))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise StorageError(
            f"The questions of the sample story cannot be read: {path}.", "Reinstall gistread."
        ) from error


def _question(entry: dict[str, Any]) -> SampleQuestion:
    return SampleQuestion(
        question=entry["question"],
        answer=entry["answer"],
        also=tuple(entry["also"]),
        kind=QuestionKind(entry["kind"]),
        places=tuple(AnswerSpan(**place) for place in entry["places"]),
    )
