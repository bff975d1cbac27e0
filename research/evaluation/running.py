"""Runs every reader over every sampled question, document by document, and resumes a killed run."""

import asyncio
import hashlib
from collections.abc import (
    AsyncGenerator,
    Awaitable,
    Callable,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import aclosing, suppress
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import TypeVar

from gistread.engine.protocol import Engine
from gistread.errors import EngineError, GistreadError
from gistread.memory.artifacts import ARTIFACTS
from gistread.memory.model import (
    DEFAULT_READING_MODE,
    GistFocus,
    GistMemory,
    PageSize,
    ReadingMode,
)
from gistread.memory.reading import read_book
from gistread.memory.sizes import (
    PAGE_SIZES,
    PROMPT_TOKENS,
    TOKENS_PER_WORD,
    choose_size,
)
from gistread.memory.store import MemoryRequest, MemoryStore
from gistread.presets import FICTION, Preset, built_in_presets
from gistread.readers.answering import ReaderOptions
from gistread.readers.lookups import prepare
from research.evaluation.asking import ask
from research.evaluation.metrics import COSTS, Case, scores
from research.evaluation.model import Document, Outcome, Place, Question
from research.evaluation.outcomes import AnsweredQuestion, Key, OutcomeFile
from research.evaluation.readers import METHODS, uses_memory
from research.evaluation.tasks.registry import Task

Event = TypeVar("Event")

Emit = Callable[[Event], Awaitable[None]]

FAILURES_IN_A_ROW = 5  # Engine failures in a row that end a run

_TAG_TOKENS = 16  # Upper bound for the tag of a gist


@dataclass(frozen=True, slots=True)
class RunConfig:
    mode: ReadingMode = DEFAULT_READING_MODE
    size: PageSize | None = None  # None: by the length of the text and the window
    preset: Preset | None = None  # None: the one that suits each document
    # What the gists look for (ReadAgent, Appendix F.1); empty for any question
    task: str = ""

    def focus(self, document: Document) -> GistFocus:
        preset = self.preset or built_in_presets().get(document.preset, FICTION)
        return GistFocus(preset, self.task)


@dataclass(frozen=True, slots=True)
class Todo:
    """Questions about a document that one reader has yet to answer."""

    document: Document
    reader: str
    questions: tuple[Question, ...]


@dataclass(frozen=True, slots=True)
class Plan:
    task: Task
    documents: Sequence[Document]  # With the sampled questions only
    readers: Sequence[str]
    options: ReaderOptions = field(default_factory=ReaderOptions)
    config: RunConfig = field(default_factory=RunConfig)
    timeout_s: float = 0.0  # For each question; 0: no limit
    retry: bool = False  # Ask failed questions again
    # Most concurrent questions; 0: one, or on a server as many as it can run
    at_once: int = 0

    @property
    def questions(self) -> int:
        """How many answers the run will have."""
        questions = sum(len(document.questions) for document in self.documents)
        return len(self.readers) * questions

    def todo(self, known: Mapping[Key, AnsweredQuestion]) -> list[Todo]:
        """Questions without an outcome, in the order asked: readers without a memory first."""
        readers = sorted(self.readers, key=uses_memory)
        done = {
            key
            for key, answered in known.items()
            if answered.outcome.ended or not self.retry
        }
        todos: list[Todo] = []
        for document in self.documents:
            for reader in readers:
                questions = tuple(
                    question
                    for question in document.questions
                    if (document.id, question.id, reader) not in done
                )
                if questions:
                    todos.append(Todo(document, reader, questions))
        return todos


@dataclass(frozen=True, slots=True)
class MemoryProgress:
    document: Document
    memory: GistMemory
    notice: str = ""  # A new notice about its file, or empty


@dataclass(frozen=True, slots=True)
class ArtifactBuilt:
    document: Document
    reader: str
    artifact: str
    done: int
    total: int


@dataclass(frozen=True, slots=True)
class QuestionStarted:
    document: Document
    reader: str
    question: Question


@dataclass(frozen=True, slots=True)
class QuestionMeasured:
    answered: AnsweredQuestion


RunEvent = MemoryProgress | ArtifactBuilt | QuestionStarted | QuestionMeasured


async def run(
    plan: Plan,
    engine: Engine,
    store: MemoryStore,
    outcomes: OutcomeFile,
    asking: Engine | None = None,
) -> AsyncGenerator[RunEvent, None]:
    """Ask all questions without an outcome; may be killed at any time.

    `engine` builds memories, `asking` answers. Raises EngineError, StorageError.
    """
    work = _Run(plan, engine, asking or engine, store, outcomes).work
    async with aclosing(stream_events(work)) as events:
        async for event in events:
            yield event


class _Run:
    """A run under way: several texts at once, and of each one reader after another."""

    def __init__(
        self,
        plan: Plan,
        engine: Engine,
        asking: Engine,
        store: MemoryStore,
        outcomes: OutcomeFile,
    ) -> None:
        self._plan = plan
        self._engine = engine
        self._asking = asking
        self._store = store
        self._outcomes = outcomes
        parallel = asking.info.parallel
        # By default one question at a time on this machine, since their time is measured.
        usual = parallel if asking.info.is_remote else 1
        self._at_once = max(1, min(plan.at_once or usual, parallel))
        self._limit = asyncio.Semaphore(self._at_once)
        self._texts = 0  # Tasks that ask about texts
        self._failures = 0  # Engine failures in a row

    async def work(self, emit: Emit[RunEvent]) -> None:
        """Ask all open questions. Raises EngineError, StorageError."""
        todos = self._plan.todo(self._outcomes.known)
        by_document = groupby(todos, key=lambda todo: todo.document.id)
        waiting = iter([list(todos_of_text) for _, todos_of_text in by_document])
        async with asyncio.TaskGroup() as tasks:
            self._begin_texts(waiting, emit, tasks)

    def _begin_texts(
        self,
        waiting: Iterator[list[Todo]],
        emit: Emit[RunEvent],
        tasks: asyncio.TaskGroup,
    ) -> None:
        """Begin as many texts as questions can be asked at once."""
        while self._texts < self._at_once:
            self._texts += 1
            tasks.create_task(self._ask_texts(waiting, emit, tasks))

    async def _ask_texts(
        self,
        waiting: Iterator[list[Todo]],
        emit: Emit[RunEvent],
        tasks: asyncio.TaskGroup,
    ) -> None:
        """Ask about one waiting text after another.

        After the first reader of the first text, others begin beside it.
        """
        for todos in waiting:
            document = todos[0].document
            text = _Text(document, self._plan, self._engine, self._asking, self._store)
            for todo in todos:
                async with aclosing(text.prepare_for(todo.reader)) as preparing:
                    async for event in preparing:
                        await emit(event)
                self._failures += todo.reader in text.unready
                async with asyncio.TaskGroup() as questions:
                    for question in todo.questions:
                        await self._limit.acquire()
                        questions.create_task(self._ask(text, todo, question, emit))
                if self._failures >= FAILURES_IN_A_ROW and todo.reader in text.unready:
                    raise text.unready[todo.reader]
                self._begin_texts(waiting, emit, tasks)

    async def _ask(
        self, text: "_Text", todo: Todo, question: Question, emit: Emit[RunEvent]
    ) -> None:
        """Ask one question. Raises EngineError after too many failures of the engine in a row."""
        try:
            await emit(QuestionStarted(todo.document, todo.reader, question))
            outcome, lost = await text.ask(question, todo.reader)
            answered = AnsweredQuestion(question, outcome)
            self._outcomes.append(answered)
            await emit(QuestionMeasured(answered))
            if outcome.ended:
                self._failures = 0
            elif lost is not None:
                self._failures += 1
            if lost is not None and self._failures >= FAILURES_IN_A_ROW:
                raise lost
        finally:
            self._limit.release()


class _Text:
    """A document with its memory, once that is needed."""

    def __init__(
        self,
        document: Document,
        plan: Plan,
        engine: Engine,
        asking: Engine,
        store: MemoryStore,
    ) -> None:
        """`engine` builds memory and artifacts, `asking` answers."""
        self._document = document
        self._plan = plan
        self._engine = engine
        self._asking = asking
        self._store = store
        self._memory = GistMemory(
            document.book, PAGE_SIZES["quality"], engine.info.name
        )
        self._unread: EngineError | None = None  # Why the memory could not be built
        # Why a reader cannot be asked, by reader
        self.unready: dict[str, EngineError] = {}

    async def prepare_for(
        self, reader: str
    ) -> AsyncGenerator[MemoryProgress | ArtifactBuilt, None]:
        """Build the memory and the artifacts that a reader uses; failures go to `unready`."""
        if not uses_memory(reader):
            return
        async with aclosing(self._read_once()) as reading:
            async for memory_progress in reading:
                yield memory_progress
        if self._unread is not None:
            if METHODS[reader].needs_memory:
                self.unready[reader] = self._unread
            return
        try:
            async with aclosing(self._build_artifacts(reader)) as building:
                async for artifact_built in building:
                    yield artifact_built
        except EngineError as error:
            self.unready[reader] = error

    async def _read_once(self) -> AsyncGenerator[MemoryProgress, None]:
        """Build the memory, unless that was tried before; a failure goes to `_unread`."""
        if self._memory.complete or self._unread is not None:
            return
        try:
            async with aclosing(self._read()) as reading:
                async for progress in reading:
                    yield progress
        except EngineError as error:
            self._unread = error

    async def _build_artifacts(
        self, reader: str
    ) -> AsyncGenerator[ArtifactBuilt, None]:
        """Build the artifacts that a reader uses. Raises EngineError."""
        names = list(METHODS[reader].artifacts)
        # All readers must see the same summaries, whichever built them first.
        if await self._outgrows():
            names.insert(0, "summaries")
        document = self._document
        for name in names:
            building = ARTIFACTS[name].build(self._memory, self._engine)
            async with aclosing(building) as steps:
                async for step in steps:
                    yield ArtifactBuilt(document, reader, name, step.done, step.total)

    async def ask(
        self, question: Question, reader: str
    ) -> tuple[Outcome, EngineError | None]:
        """The outcome with its scores, and an error of the engine."""
        plan = self._plan
        outcome = Outcome(
            plan.task.name, self._document.id, question.id, reader, question.text
        )
        lost: EngineError | None = None
        if reader in self.unready:
            outcome = replace(outcome, ended=False, error=self.unready[reader].message)
        else:
            outcome, lost = await ask(
                question,
                outcome,
                self._memory,
                self._asking,
                plan.options,
                plan.timeout_s,
            )
        return _add_scores(plan.task, question, outcome, self._memory), lost

    async def _outgrows(self) -> bool:
        """Whether all gists and the pages looked up do not fit a prompt together."""
        entries = self._memory.entries
        options = self._plan.options
        window = self._asking.info.context_tokens
        if not entries:
            return False
        gists = "\n\n".join(entry.gist.text for entry in entries)
        gist_tokens = await self._asking.count(gists) + _TAG_TOKENS * len(entries)
        words = sum(entry.page.words for entry in entries)
        page_tokens = TOKENS_PER_WORD * words / len(entries)
        needed_tokens = gist_tokens + options.max_pages * page_tokens
        room = window - PROMPT_TOKENS - options.answer_tokens
        return needed_tokens > min(room, options.budget_tokens or window)

    async def _read(self) -> AsyncGenerator[MemoryProgress, None]:
        document = self._document
        config = self._plan.config
        info = self._engine.info
        bounds: tuple[int | None, int | None] = (None, None)
        if config.size:
            bounds = (config.size.min_words, config.size.max_words)
        size = choose_size(document.book.words, info.context_tokens, *bounds)
        focus = replace(config.focus(document), wording=info.wording)
        request = MemoryRequest(info.name, info.fingerprint, size, config.mode, focus)
        writer = await asyncio.to_thread(self._store.open, document.book, request)
        with writer:
            self._memory = writer.memory
            notice = writer.notice
            yield MemoryProgress(document, writer.memory, notice)
            async with aclosing(read_book(writer, self._engine)) as reading:
                async for _ in reading:
                    new_notice = writer.notice if writer.notice != notice else ""
                    notice = writer.notice
                    yield MemoryProgress(document, writer.memory, new_notice)
        # If it fails, the first question only takes longer.
        with suppress(GistreadError):
            await prepare(writer.memory, self._asking)


def _add_scores(
    task: Task, question: Question, outcome: Outcome, memory: GistMemory
) -> Outcome:
    pages: tuple[Place, ...] = ()
    if uses_memory(outcome.reader):
        pages = tuple((entry.page.start, entry.page.end) for entry in memory.entries)
    case = Case(question, outcome, pages)
    return replace(outcome, scores=scores(case, (*task.metrics, *COSTS)))


def sample(
    documents: Iterable[Document], limit: int, seed: int, most_documents: int = 0
) -> list[Document]:
    """At most `limit` questions, taken in turn from at most `most_documents`. Either 0: all."""
    with_questions = [document for document in documents if document.questions]
    shuffled = sorted(with_questions, key=lambda document: _draw_key(seed, document.id))
    drawn = _draw_questions(shuffled[: most_documents or None], limit, seed)
    sampled: list[Document] = []
    for document in with_questions:
        drawn_ids = drawn.get(document.id, set())
        questions = tuple(
            question for question in document.questions if question.id in drawn_ids
        )
        if questions:
            sampled.append(replace(document, questions=questions))
    return sampled


def _draw_questions(
    documents: Sequence[Document], limit: int, seed: int
) -> dict[str, set[str]]:
    """The ids of the questions drawn, by the id of their document.

    The first question of each document, then the second of each, and so on.
    """
    turns: list[tuple[int, int, str]] = []
    for place, document in enumerate(documents):
        ids = [question.id for question in document.questions]
        ids.sort(key=lambda id_: _draw_key(seed, document.id, id_))
        turns += [(turn, place, id_) for turn, id_ in enumerate(ids)]
    drawn: dict[str, set[str]] = {}
    for _, place, question_id in sorted(turns)[: limit or None]:
        drawn.setdefault(documents[place].id, set()).add(question_id)
    return drawn


def _draw_key(seed: int, *names: str) -> str:
    """A key by which names are in random order, the same for equal seeds."""
    return hashlib.sha256("\0".join((str(seed), *names)).encode()).hexdigest()


async def stream_events(
    work: Callable[[Emit[Event]], Awaitable[None]],
) -> AsyncGenerator[Event]:
    """Yield the events that `work` emits.

    Raises its first error; closing the stream cancels `work`.
    """
    queue: asyncio.Queue[tuple[Event, asyncio.Future[None]] | None] = asyncio.Queue()

    async def emit(event: Event) -> None:
        """Wait until the event has been consumed."""
        consumed = asyncio.get_running_loop().create_future()
        queue.put_nowait((event, consumed))
        await consumed

    task = asyncio.ensure_future(work(emit))
    task.add_done_callback(lambda _: queue.put_nowait(None))
    try:
        while (item := await queue.get()) is not None:
            event, consumed = item
            yield event
            if not consumed.done():
                consumed.set_result(None)
        await task
    except BaseExceptionGroup as group:
        raise _first_of(group) from None
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def _first_of(error: BaseException) -> BaseException:
    """The first error in a group, and in the groups within."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
