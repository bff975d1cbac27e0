"""What speaks for an answer, and against it: the places in the book that tell it, and words that the text lacks."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import zip_longest


@dataclass(frozen=True, slots=True)
class Citation:
    """A place in the book that tells the answer (D9)."""

    page: int
    start: int
    end: int
    quote: str  # `book.text[start:end]`; empty if another version of the text lacks it


class AnswerMarkKind(StrEnum):
    NAME = "name"
    NUMBER = "number"
    QUOTATION = "quotation"
    STATEMENT = "statement"  # A statement of a weak model that shares too few words with the text


@dataclass(frozen=True, slots=True)
class AnswerMark:
    """A doubt about `answer[start:end]`."""

    start: int
    end: int
    kind: AnswerMarkKind
    message: str  # For people, such as "not in the text"


@dataclass(frozen=True, slots=True)
class MarkedText:
    """An answer with the messages of its marks in brackets."""

    text: str
    words: tuple[tuple[int, int], ...]  # Start and end of each marked place
    messages: tuple[tuple[int, int], ...]


def with_messages(answer: str, marks: Sequence[AnswerMark]) -> MarkedText:
    """The answer with a message after each mark; neighbours with the same message get it once."""
    text, last = "", 0
    words: list[tuple[int, int]] = []
    messages: list[tuple[int, int]] = []
    for mark, following in zip_longest(marks, marks[1:]):
        text += answer[last : mark.start]
        words.append((len(text), len(text) + mark.end - mark.start))
        text += answer[mark.start : mark.end]
        last = mark.end
        if not following or following.message != mark.message or answer[last : following.start].strip():
            message = f"[{mark.message}]"
            text += f" {message}"
            messages.append((len(text) - len(message), len(text)))
    return MarkedText(text + answer[last:], tuple(words), tuple(messages))
