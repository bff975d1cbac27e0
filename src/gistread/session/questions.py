"""The questions of a session, answered one after another.

What is asked, when it can be answered, and its events.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import takewhile
from typing import TypedDict

from gistread.book.model import Book
from gistread.config import Config
from gistread.engine.protocol import Engine, EngineInfo, Finish, Usage
from gistread.engine.remote.address import is_address
from gistread.errors import GistreadError, NotReadyError, UsageError
from gistread.memory.check_results import CheckResult
from gistread.memory.model import GistMemory
from gistread.memory.sizes import unread_memory
from gistread.readers import events as reader_events
from gistread.readers.answering import Asking, ReaderOptions
from gistread.readers.anticipating import anticipate
from gistread.readers.bound import offset_of
from gistread.readers.cost import FIRST_WORD_S
from gistread.readers.events import (
    AnswerDelta,
    Answered,
    ReaderEvent,
    ReaderEvents,
    Started,
)
from gistread.readers.model_class import class_of
from gistread.readers.registry import METHODS, find_method
from gistread.readers.selection import extend_bound, question_about
from gistread.readers.steering import Steering, Steps
from gistread.readers.thread import QuestionAnswer, Thread
from gistread.readers.trace import describe_effort
from gistread.session import events
from gistread.session.events import AskingState, Obstacle, ReadingState, SessionEvent
from gistread.session.machine import UNDER_WAY, Actor, Job
from gistread.session.reading import Reading
from gistread.store.model import AnswerMark, AskingChoice, Citation, SavedQuestion
from gistread.store.user_data import UserData
from gistread.system import free_unused_memory
from gistread.units import counted

# About a thousand tokens: longer ones are ranked for minutes
MAX_QUESTION_CHARACTERS = 4_000
_TYPING_PAUSE_S = 0.4  # Without a key: then the words typed so far are worth ranking


class AskOptions(TypedDict, total=False):
    """How a question is asked. Every key is optional."""

    pinned: Iterable[int]  # Pages to open first
    here: int  # The reading position
    # End of the text that the model may see: an offset, or a value of `--upto`; None: the whole
    # book
    upto: int | str | None
    choices: tuple[str, ...]  # The answers to choose from
    # The questions and answers before it; see `Answer.thread`
    thread: Iterable[QuestionAnswer]
    passage: tuple[int, int]  # Start and end of the book's text that it is about
    steps: Steps  # Who decides which pages are looked up; default: the model
    reader: str  # Name of the reader; default: the session's


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to a question, with the places of the book that support it."""

    text: str
    found: bool  # False if the model found no answer in what it read
    # Places that support the answer: `page`, `start` and `end` in the book's text, and the `quote`
    # there.
    citations: tuple[Citation, ...]
    # The steps of the reader, in order: `LookedUp`, `Expanded`, `Noted` …; see
    # `gistread.readers.events`.
    steps: tuple[ReaderEvent, ...]
    # Doubts about `text[start:end]`, each with `kind` and `message`: what the book lacks.
    marks: tuple[AnswerMark, ...]
    quoted: bool  # The citations are the answer, in the book's own words
    # `length` or `filter` if the answer is cut off; ask "Go on." in its thread
    finish: Finish
    # The earlier questions and answers, then this one; pass it as `thread` of a follow-up
    thread: Thread
    lookups: tuple[int, ...]  # Pages that the reader opened, in that order
    choice: int | None  # Index of the chosen option of `choices`
    compression_rate: float  # 100 · (1 − words in context ÷ words in book)
    usage: Usage  # Tokens prefilled, reused and generated, and seconds
    reader: str  # Name of the reader that answered
    model: EngineInfo  # The model that answered


def with_answer(
    question: SavedQuestion, answered: Answered, *, model: str, memory: str
) -> SavedQuestion:
    """The record of a question, answered by `model`.

    `memory` names the model that read the book.
    """
    return replace(
        question,
        answer=answered.answer,
        begun="",
        found=answered.found,
        citations=answered.citations,
        lookups=answered.lookups,
        marks=answered.marks,
        cost=describe_effort(answered.usage),
        cut="" if answered.finish == "end" else answered.finish,
        model=model,
        memory=memory,
    )


def thread_of(questions: Iterable[SavedQuestion]) -> Thread:
    """Saved questions with their answers, or what came of these, as a thread to continue.

    A question asked again (`beside`) takes the place of the first.
    """
    thread: list[QuestionAnswer] = []
    place_of: dict[float, int] = {}  # By the time when a question was asked
    for question in questions:
        answer = question.answer or question.begun
        if not answer:
            continue
        exchange = QuestionAnswer(question.question, answer, question.upto)
        if question.beside and question.beside in place_of:
            place = place_of[question.beside]
            thread[place] = exchange
        else:
            place = len(thread)
            thread.append(exchange)
        place_of[question.asked_at] = place
    return tuple(thread)


def thread_before(
    questions: Sequence[SavedQuestion], question: SavedQuestion
) -> Thread:
    """The part of a saved thread that a question continues.

    A question asked again (`beside`) continues the same part as the first.
    """
    by_time = {saved.asked_at: saved for saved in questions}
    first = question
    while first.beside and first.beside in by_time:
        first = by_time[first.beside]
    earlier = takewhile(lambda saved: saved.asked_at != first.asked_at, questions)
    return thread_of(earlier)


@dataclass(slots=True, eq=False)
class Question:
    """A question about a book or its beginning, and the state of the answer."""

    text: str
    reader: str
    steering: Steering
    upto: int | None  # Offset in the book; the model sees no text after it
    options: ReaderOptions
    state: AskingState = AskingState.WAITING
    admitted: bool = False  # Its model and memory are ready, or being loaded for it
    apart: bool = False  # A model other than the reading one answers
    answered: bool = False  # Its answer has been sent, and is whole
    ended: bool = False
    model: EngineInfo | None = None  # The model that answers, once it is loaded
    memory: GistMemory | None = None  # The memory that it may use, once it has begun
    # Its own events, for one consumer
    events: asyncio.Queue[SessionEvent] = field(default_factory=asyncio.Queue)

    @property
    def needs_memory(self) -> bool:
        return METHODS[self.reader].needs_memory and self.options.selection is None

    def shown(self, book: Book) -> str:
        """The question as it is shown and saved, with its passage."""
        selection = self.options.selection
        if not selection:
            return self.text
        return question_about(selection, self.text, book)

    def answer(self, trace: list[ReaderEvent], book: Book) -> Answer:
        """The answer. `trace`: all events of `Questions.stream`."""
        answered = trace[-1]
        assert isinstance(answered, Answered), "a reader ends with Answered"
        assert self.model is not None
        exchange = QuestionAnswer(
            self.shown(book), answered.answer, self.upto, answered.seen
        )
        steps = tuple(
            event for event in trace if not isinstance(event, AnswerDelta | Answered)
        )
        reader = next(event.reader for event in trace if isinstance(event, Started))
        return Answer(
            text=answered.answer,
            found=answered.found,
            citations=answered.citations,
            steps=steps,
            marks=answered.marks,
            quoted=answered.quoted,
            finish=answered.finish,
            thread=(*self.options.thread, exchange),
            lookups=answered.lookups,
            choice=answered.choice,
            compression_rate=answered.compression_rate,
            usage=answered.usage,
            reader=reader,
            model=self.model,
        )


def question_of(
    text: str,
    options: AskOptions,
    memory: GistMemory,
    *,
    reader: str,
    user_data: UserData,
    config: Config,
) -> Question:
    """The question with these options about the book of `memory`.

    `reader`: the method unless the options name one. `user_data`: for how far the user has read.
    Raises UsageError for a question or option that is not valid.
    """
    book = memory.book
    _check_names(options)
    if not text.strip():
        raise UsageError("The question is empty.", "Ask for example “Who is Justine?”.")
    check_length(text)
    reader = find_method(options.get("reader") or reader).name
    pinned = set(options.get("pinned", ()))
    _check_pinned(pinned, len(memory.entries))
    passage = options.get("passage")
    if passage:
        _check_passage(passage, len(book.text))
    bound = _bound_of(options, memory, user_data)
    bound = extend_bound(passage, bound, book)  # The passage itself may be read.
    steps = options.get("steps", Steps.ALONE)
    if steps not in list(Steps):
        raise UsageError(f"Unknown steps {steps!r}.", f"Use {', '.join(Steps)}.")
    steering = Steering(pinned=pinned, here=options.get("here"), steps=Steps(steps))
    reader_options = ReaderOptions(
        max_pages=config.max_pages,
        first_word_s=FIRST_WORD_S,
        choices=options.get("choices", ()),
        thread=tuple(options.get("thread", ())),
        selection=passage,
    )
    return Question(text, reader, steering, bound, reader_options)


def _bound_of(
    options: AskOptions, memory: GistMemory, user_data: UserData
) -> int | None:
    """The offset of the option `upto`; None for the whole book. Raises UsageError."""
    bound = options.get("upto")
    if isinstance(bound, str):
        furthest = user_data.reading_place(memory.book.sha256).furthest
        bound = offset_of(bound, memory, furthest)
    if bound is not None:
        _check_bound(bound)
    return bound


def _check_names(options: AskOptions) -> None:
    """Raises UsageError for an option that does not exist."""
    known = AskOptions.__annotations__
    unknown = sorted(options.keys() - known.keys())
    if unknown:
        raise UsageError(f"Unknown option {unknown[0]!r}.", f"Use {', '.join(known)}.")


def _check_pinned(pinned: Iterable[int], sections_read: int) -> None:
    """Raises UsageError for a section that the model has not read."""
    beyond = [page for page in sorted(pinned) if not 1 <= page <= sections_read]
    if beyond:
        extent = counted(sections_read, "section")
        raise UsageError(
            f"There is no section {beyond[0]}: the model has read {extent}.",
            "`gistread pages BOOK` shows them.",
        )


def _check_passage(passage: tuple[int, int], length: int) -> None:
    """Raises UsageError for a passage that is not in a text of this length."""
    start, end = passage
    if not 0 <= start < end <= length:
        raise UsageError(
            f"The passage {start} to {end} is not in the book, which has {length} characters."
        )


def _check_bound(upto: object) -> None:
    """Raises UsageError unless the bound is an offset."""
    if not isinstance(upto, int) or upto < 0:
        raise UsageError(
            f"The bound {upto} is not an offset in the book.",
            "Give a whole number, or text such as 40%.",
        )


def settings_of_book(config: Config, choice: AskingChoice) -> Config:
    """The settings, overridden by the choices made for a book.

    A method that no longer exists counts as not chosen.

    >>> settings_of_book(Config(reader="auto"), AskingChoice(reader="notes")).reader
    'notes'
    """
    if choice.reader in METHODS:
        config = replace(config, reader=choice.reader)
    if choice.steps:
        config = replace(config, steps=choice.steps)
    if choice.max_pages is not None:
        config = replace(config, max_pages=choice.max_pages)
    return config


def check_length(question: str) -> None:
    """Raises UsageError for a question so long that it leaves no room for the book."""
    if len(question) > MAX_QUESTION_CHARACTERS:
        raise UsageError(
            f"The question has {len(question):,} characters; "
            f"the limit is {MAX_QUESTION_CHARACTERS:,}.",
            "Shorten it. To ask about a passage of the book, select it on the screen.",
        )


# What a question waits for after an event of its reader
_WAITS_FOR: Mapping[type[ReaderEvent], AskingState] = {
    reader_events.Proposed: AskingState.PERSON,
    reader_events.Prepared: AskingState.ARTIFACTS,
    reader_events.TeamFormed: AskingState.TEXT,
    reader_events.PartRead: AskingState.TEXT,
    reader_events.Shown: AskingState.ANSWER,
    reader_events.Stopped: AskingState.ANSWER,
    reader_events.AnswerDelta: AskingState.ANSWER,
    reader_events.Written: AskingState.SOURCES,
    reader_events.Restarted: AskingState.ANSWER,
    reader_events.Walked: AskingState.PAGE,
    reader_events.Planned: AskingState.PAGE,
}


def _state_after(event: ReaderEvent, state: AskingState) -> AskingState:
    """What a question waits for after an event, having waited for `state`."""
    if type(event) in _WAITS_FOR:
        return _WAITS_FOR[type(event)]
    # Any event that follows shows that the user has decided.
    return AskingState.PAGE if state is AskingState.PERSON else state


def _free_memory() -> None:
    """Free memory that an answer used. Call it in a thread."""
    # Imported here, because opening a book does not need it.
    from gistread.people.telling import free_marked_text

    free_marked_text()
    free_unused_memory()


@dataclass(eq=False, repr=False)
class Questions:
    """The queue of questions about one book. Its first question is being answered."""

    _reading: Reading
    _actor: Actor
    _emit: Callable[[SessionEvent], None]
    _book: Book
    # The first is being answered, or waits for model or memory
    _queue: list[Question] = field(default_factory=list)
    draft: Question | None = None  # The question being typed
    # Of the running or last question: pin or refuse pages, stop, decide look-ups
    steering: Steering = field(default_factory=Steering)

    @property
    def current(self) -> Question | None:
        """The question that is being answered, or waits for its model or memory."""
        if not self._queue:
            return None
        return self._queue[0]

    @property
    def is_typed(self) -> bool:
        """Whether a question is being typed while none is answered."""
        return self.draft is not None and not self._queue

    @property
    def state(self) -> AskingState:
        return self._queue[0].state if self._queue else AskingState.IDLE

    @property
    def answered_apart(self) -> bool:
        """Whether a model other than the reading one is answering."""
        return bool(self._queue and self._queue[0].apart)

    def obstacle(
        self, reader: str, *, about_selection: bool = False
    ) -> Obstacle | None:
        """Why no question to this reader can be answered; None if one can, now or later."""
        models = self._reading.models
        if not models.reading.spec and not models.apart:
            return Obstacle.NO_MODEL
        needs_memory = METHODS[reader].needs_memory and not about_selection
        will_have_pages = self._reading.has_pages or self._reading.state in UNDER_WAY
        if not needs_memory or will_have_pages:
            return None
        if models.reading.spec:
            return Obstacle.NOTHING_READ
        return Obstacle.NO_READING_MODEL

    def _obstacle_of(self, question: Question) -> Obstacle | None:
        about_selection = question.options.selection is not None
        return self.obstacle(question.reader, about_selection=about_selection)

    def start(self, question: Question) -> None:
        """Answer this question after those asked before; listeners get its events."""

        def add() -> None:
            self._queue.append(question)
            if len(self._queue) == 1:
                self._begin()

        self._actor.post(add)

    async def stream(self, question: Question) -> ReaderEvents:
        """Answer this question, yielding the reader's events.

        Leaving the stream cancels it. Raises GistreadError.
        """
        self._actor.check_open()
        if obstacle := self._obstacle_of(question):
            raise NotReadyError(obstacle.value)
        self.start(question)
        try:
            while True:
                match await question.events.get():
                    case events.QuestionProgress(event=event):
                        yield event
                    case events.QuestionEnded(error=None):
                        return
                    case (
                        events.QuestionEnded(error=Exception() as error)
                        | events.Crashed(error=error)
                    ):
                        raise error
        finally:
            if not question.ended:
                await self._actor.do(lambda: self.cancel(question))

    async def cancel(self, question: Question | None = None) -> None:
        """End this question, or the first one. Call from commands only.

        An answer that is whole is not cancelled any more.
        """
        question = question or self.current
        if question is not None and question is self.current:
            await self._actor.stop(Job.ANSWER)
        if question in self._queue:
            error = None if question.answered else GistreadError("Cancelled.")
            self._end(question, error)

    def ended(self, error: Exception | None) -> None:
        """The job that answers has ended."""
        question = self._queue[0]
        if error is not None and not isinstance(error, GistreadError):
            question.events.put_nowait(events.Crashed(error))
            error = GistreadError("Internal error; see the log.")
        self._end(question, error)

    def admit(self) -> None:
        """Let the first question begin once its model and memory are ready.

        End it if they never will be.
        """
        while self._queue and not self._queue[0].admitted:
            question = self._queue[0]
            if self._obstacle_of(question):
                nothing_read = NotReadyError(Obstacle.NOTHING_READ.value)
                self._end(question, self._reading.failure or nothing_read)
                continue
            has_memory = self._reading.has_pages or not question.needs_memory
            if has_memory:
                is_loading = self._reading.state is ReadingState.LOADING
                question.apart = self._reading.models.apart
                # A model apart need not wait until the reading model is loaded.
                question.admitted = question.apart or not is_loading
            return

    async def answer(self) -> None:
        """The job: answer the first question. Raises GistreadError."""
        question = self._queue[0]
        engine = await self._reading.models.load_asking()
        memory = self.memory_for(question)
        question.model = engine.info
        question.memory = memory
        read_by = memory.model_name if memory.entries else ""
        self._tell(question, events.QuestionStarted(engine.info.name, read_by))
        result = await self._reading.checks.for_answer(
            engine, lambda: self._set_state(question, AskingState.CHECK)
        )
        self._set_state(question, AskingState.PAGE)
        reader = METHODS[question.reader].reader()
        has_text = False  # Whether parts of the answer have been sent
        async for event in reader(self._asking(question, engine, result)):
            match event:
                case AnswerDelta():
                    has_text = True
                case reader_events.Restarted():
                    has_text = False
                case Answered(answer=answer) if not has_text:
                    # Not every reader sends its answer in parts.
                    self._tell(question, events.QuestionProgress(AnswerDelta(answer)))
            question.answered = isinstance(event, Answered)
            self._set_state(question, _state_after(event, question.state))
            self._tell(question, events.QuestionProgress(event))

    async def anticipate(self) -> None:
        """The job: evaluate the text for the question being typed, once typing pauses.

        Not on a server: it would work, perhaps for money, on a question that is not asked.
        """
        try:
            is_on_server = is_address(self._reading.models.answering.spec)
            if self.draft is not None and not is_on_server:
                await asyncio.sleep(_TYPING_PAUSE_S)
                await self._anticipate(self.draft)
        finally:
            self.draft = None

    async def _anticipate(self, draft: Question) -> None:
        """Evaluate the text that the answer to this draft would be read from."""
        # If it fails, the answer only takes longer.
        with suppress(GistreadError):
            engine = await self._reading.models.load_asking()
            result = await self._reading.checks.stored(engine.info)
            await anticipate(self._asking(draft, engine, result), draft.reader)

    def _asking(
        self, question: Question, engine: Engine, result: CheckResult | None
    ) -> Asking:
        memory = question.memory or self.memory_for(question)
        options = replace(question.options, model=class_of(engine.info, result))
        return Asking(question.text, memory, engine, question.steering, options)

    def memory_for(self, question: Question) -> GistMemory:
        """The part of the memory, perhaps without pages, that the question may use."""
        memory = self._reading.memory or unread_memory(self._book)
        if question.upto is not None:
            return memory.upto(question.upto)
        # With a list of its own: the model reads on meanwhile.
        return replace(memory, entries=list(memory.entries))

    def _begin(self) -> None:
        """Announce the first question, which `admit` lets begin."""
        question = self._queue[0]
        self.draft = None
        self.steering = question.steering
        self._tell(question, events.QuestionAsked(question.shown(self._book)))
        self._emit(events.ActivityChanged())

    def _end(self, question: Question, error: GistreadError | None) -> None:
        """Remove a question from the queue, and begin the next. `error`: why it has no answer."""
        was_first = question is self._queue[0]
        self._queue.remove(question)
        question.ended = True
        asyncio.get_running_loop().run_in_executor(None, _free_memory)
        if was_first:
            self._emit(events.ActivityChanged())
            self._tell(question, events.QuestionEnded(error))
            if self._queue:
                self._begin()
        else:  # Listeners have not heard of it.
            question.events.put_nowait(events.QuestionEnded(error))

    def _tell(self, question: Question, event: SessionEvent) -> None:
        """Send an event to the consumer of the question and to the session's listeners."""
        question.events.put_nowait(event)
        self._emit(event)

    def _set_state(self, question: Question, state: AskingState) -> None:
        if state is not question.state:
            question.state = state
            self._emit(events.ActivityChanged())
