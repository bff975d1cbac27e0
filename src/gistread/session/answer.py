"""One question and the state of its answer, and the answer for callers and for the user's data."""

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
    """How a question is asked; every key may be left out."""

    pinned: Iterable[int]  # Pages to open first
    here: int  # The reading position
    # End of the text that the model may see, an offset or as `--upto` takes it; None or left out: the whole book
    upto: int | str | None
    choices: tuple[str, ...]  # The answers to choose from
    thread: Iterable[QuestionAnswer]  # What it goes on from; see `Answer.thread`
    passage: tuple[int, int]  # Start and end of the text of the book that it is about
    steps: Steps  # Who decides which pages are looked up; left out: the model
    reader: str  # Name of the reader, if another one than the session's


@dataclass(frozen=True, slots=True)
class Answer:
    text: str
    found: bool  # False: not found in what was looked at
    # Places that support the answer: `page`, `start` and `end` in the book's text, and the `quote` there.
    citations: tuple[Citation, ...]
    # What the reader did, in order: `LookedUp`, `Expanded`, `Noted` …; see `gistread.readers.events`.
    steps: tuple[ReaderEvent, ...]
    # The sentences of the text, each `supported` by what the model read or not, with the best `quote`.
    statements: tuple[Statement, ...]
    quoted: bool  # The citations are the answer, in the book's own words
    thread: Thread  # This question and answer, after those it went on from: the `thread` of a follow-up
    lookups: tuple[int, ...]  # Pages that the reader opened, in that order
    choice: int | None  # Index of the option chosen, of a question with `choices`
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
    """Saved questions as a thread to go on from; without those that were not answered."""
    return tuple(QuestionAnswer(one.question, one.answer, one.upto) for one in questions if one.answer)


@dataclass(slots=True)
class Question:
    """A question about a book or its beginning, and the state of the answer."""

    text: str
    reader: str
    steering: Steering = field(default_factory=Steering)
    upto: int | None = None  # Offset in the book; the model sees no text after it
    choices: tuple[str, ...] = ()
    thread: Thread = ()  # What it goes on from
    passage: tuple[int, int] | None = None  # What of the book it is about
    state: AskingState = AskingState.WAITING
    admitted: bool = False  # Its model and memory are ready, or being loaded for it
    apart: bool = False  # A model other than the reading one answers

    @property
    def needs_memory(self) -> bool:
        return METHODS[self.reader].needs_memory and self.passage is None

    def shown(self, book: Book) -> str:
        """The question as it is shown and saved, with its passage."""
        return question_about(self.passage, self.text, book) if self.passage else self.text

    def enter(self, state: AskingState, tell: Callable[[SessionEvent], None]) -> None:
        if state is not self.state:
            self.state = state
            tell(ActivityChanged())

    async def run(
        self, memory: GistMemory, engine: Engine, options: ReaderOptions, tell: Callable[[SessionEvent], None]
    ) -> None:
        """Run the reader. Raises EngineError, UsageError."""
        self.enter(AskingState.PAGE, tell)
        events: AsyncGenerator[steps.ReaderEvent, None]
        events = METHODS[self.reader].reader()(self.text, memory, engine, self.steering, options)
        async for event in events:
            self.enter(_state_from(event, self.state), tell)
            tell(QuestionProgress(event))


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
