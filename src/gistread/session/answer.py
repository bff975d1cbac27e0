"""A question and the state of its answer; the answer for callers and for the user's data."""

from collections.abc import AsyncGenerator, Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import TypedDict

from gistread.book.model import Book
from gistread.engine.protocol import Engine, EngineInfo, Usage
from gistread.memory.model import GistMemory
from gistread.readers import events as steps
from gistread.readers.events import AnswerDelta, Answered, Citation, ReaderEvent, Started, Statement
from gistread.readers.passage import question_about
from gistread.readers.protocol import ReaderOptions
from gistread.readers.registry import METHODS
from gistread.readers.steering import Steering, Steps
from gistread.readers.text import unsupported_spans
from gistread.readers.thread import QuestionAnswer, Thread
from gistread.session.events import ActivityChanged, AskingState, QuestionProgress, SessionEvent
from gistread.user_data import SavedCitation, SavedQuestion


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
    # The sentences of the text, whether what the model read supports each (`supported`), and the best `quote`.
    statements: tuple[Statement, ...]
    quoted: bool  # The citations are the answer, in the book's own words
    thread: Thread  # The earlier questions and answers, then this one; pass it as `thread` of a follow-up
    lookups: tuple[int, ...]  # Pages that the reader opened, in that order
    choice: int | None  # Index of the chosen option of `choices`
    compression_rate: float  # 100 · (1 − words in context ÷ words in book)
    usage: Usage  # Tokens prefilled, reused and generated, and seconds
    reader: str  # Name of the reader that answered
    model: EngineInfo  # The model that answered


def answer_of(
    answered: Answered, events: list[ReaderEvent], model: EngineInfo, asked: "Question", book: Book
) -> Answer:
    exchange = QuestionAnswer(asked.shown(book), answered.answer, asked.upto, answered.seen)
    return Answer(
        text=answered.answer,
        found=answered.found,
        citations=answered.citations,
        steps=tuple(event for event in events if not isinstance(event, AnswerDelta | Answered)),
        statements=answered.statements,
        quoted=answered.quoted,
        thread=(*asked.thread, exchange),
        lookups=answered.lookups,
        choice=answered.choice,
        compression_rate=answered.compression_rate,
        usage=answered.usage,
        reader=next(event.reader for event in events if isinstance(event, Started)),
        model=model,
    )


def with_answer(asked: SavedQuestion, answered: Answered, *, model: str, memory: str) -> SavedQuestion:
    """The record of a question, answered by `model`; `memory` names the model that read the book."""
    return replace(
        asked,
        answer=answered.answer,
        found=answered.found,
        citations=tuple(SavedCitation(c.page, c.start, c.end, c.quote) for c in answered.citations),
        lookups=answered.lookups,
        model=model,
        memory=memory,
        unsupported=unsupported_spans(answered.statements),
    )


def thread_of(questions: Iterable[SavedQuestion]) -> Thread:
    """The answered ones of saved questions, as a thread to continue."""
    return tuple(QuestionAnswer(one.question, one.answer, one.upto) for one in questions if one.answer)


@dataclass(slots=True)
class Question:
    """A question about a book or its beginning, and the state of the answer."""

    text: str
    reader: str
    steering: Steering = field(default_factory=Steering)
    upto: int | None = None  # Offset in the book; the model sees no text after it
    choices: tuple[str, ...] = ()
    thread: Thread = ()  # The questions and answers before it
    passage: tuple[int, int] | None = None  # Start and end of the book's text that it is about
    state: AskingState = AskingState.WAITING
    admitted: bool = False  # Its model and memory are ready, or being loaded for it
    apart: bool = False  # A model other than the reading one answers

    @property
    def needs_memory(self) -> bool:
        return METHODS[self.reader].needs_memory and self.passage is None

    def shown(self, book: Book) -> str:
        """The question as it is shown and saved, with its passage."""
        return question_about(self.passage, self.text, book) if self.passage else self.text

    def set_state(self, state: AskingState, emit: Callable[[SessionEvent], None]) -> None:
        if state is not self.state:
            self.state = state
            emit(ActivityChanged())

    async def run(
        self, memory: GistMemory, engine: Engine, options: ReaderOptions, emit: Callable[[SessionEvent], None]
    ) -> None:
        """Run the reader. Raises EngineError, UsageError."""
        self.set_state(AskingState.PAGE, emit)
        events: AsyncGenerator[steps.ReaderEvent, None]
        events = METHODS[self.reader].reader()(self.text, memory, engine, self.steering, options)
        async for event in events:
            self.set_state(_state_from(event, self.state), emit)
            emit(QuestionProgress(event))


def _state_from(event: steps.ReaderEvent, before: AskingState) -> AskingState:
    match event:
        case steps.Proposed():
            return AskingState.PERSON
        case steps.Prepared():
            return AskingState.ARTIFACTS
        case steps.TeamFormed() | steps.PartRead():
            return AskingState.TEXT
        case steps.Stopped() | steps.AnswerDelta():
            return AskingState.ANSWER
        case steps.Branched() | steps.Planned():
            return AskingState.PAGE
    return AskingState.PAGE if before is AskingState.PERSON else before
