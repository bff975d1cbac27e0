"""The answer to a question, for callers and for the user's data."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TypedDict

from gistread.engine.protocol import EngineInfo, Usage
from gistread.readers.events import Answered, ReaderEvent
from gistread.readers.steering import Steps
from gistread.readers.thread import QuestionAnswer, Thread
from gistread.store.evidence import AnswerMark, Citation
from gistread.store.model import SavedQuestion


class AskOptions(TypedDict, total=False):
    """How a question is asked. Every key is optional."""

    pinned: Iterable[int]  # Pages to open first
    here: int  # The reading position
    # End of the text that the model may see: an offset, or a value of `--upto`; None: the whole book
    upto: int | str | None
    choices: tuple[str, ...]  # The answers to choose from
    thread: Iterable[QuestionAnswer]  # The questions and answers before it; see `Answer.thread`
    passage: tuple[int, int]  # Start and end of the book's text that it is about
    steps: Steps  # Who decides which pages are looked up; default: the model
    reader: str  # Name of the reader; default: the session's


@dataclass(frozen=True, slots=True)
class Answer:
    text: str
    found: bool  # False if the model found no answer in what it read
    # Places that support the answer: `page`, `start` and `end` in the book's text, and the `quote` there.
    citations: tuple[Citation, ...]
    # The steps of the reader, in order: `LookedUp`, `Expanded`, `Noted` …; see `gistread.readers.events`.
    steps: tuple[ReaderEvent, ...]
    # Doubts about `text[start:end]`, each with `kind` and `message`: what the book lacks.
    marks: tuple[AnswerMark, ...]
    quoted: bool  # The citations are the answer, in the book's own words
    thread: Thread  # The earlier questions and answers, then this one; pass it as `thread` of a follow-up
    lookups: tuple[int, ...]  # Pages that the reader opened, in that order
    choice: int | None  # Index of the chosen option of `choices`
    compression_rate: float  # 100 · (1 − words in context ÷ words in book)
    usage: Usage  # Tokens prefilled, reused and generated, and seconds
    reader: str  # Name of the reader that answered
    model: EngineInfo  # The model that answered


def with_answer(asked: SavedQuestion, answered: Answered, *, model: str, memory: str) -> SavedQuestion:
    """The record of a question, answered by `model`; `memory` names the model that read the book."""
    return replace(
        asked,
        answer=answered.answer,
        found=answered.found,
        citations=answered.citations,
        lookups=answered.lookups,
        model=model,
        memory=memory,
        marks=answered.marks,
    )


def thread_of(questions: Iterable[SavedQuestion]) -> Thread:
    """The answered ones of saved questions, as a thread to continue."""
    return tuple(QuestionAnswer(one.question, one.answer, one.upto) for one in questions if one.answer)
