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
from research.evaluation.model import Document, Outcome, Question
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
        return GistFocus(
            self.preset or built_in_presets().get(document.preset, FICTION), self.task
        )


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
        return len(self.readers) * sum(
            len(document.questions) for document in self.documents
        )

    def todo(self, known: Mapping[Key, AnsweredQuestion]) -> list[Todo]:
        """Questions without an outcome, in the order asked: readers without a memory first."""
        readers = sorted(self.readers, key=lambda name: uses_memory(name))
        done = {
            key
            for key, answered in known.items()
            if answered.outcome.ended or not self.retry
        }
        all_todos = [
            Todo(
                document,
                reader,
                tuple(
                    q
                    for q in document.questions
                    if (document.id, q.id, reader) not in done
                ),
            )
            for document in self.documents
            for reader in readers
        ]
        return [todo for todo in all_todos if todo.questions]


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

    Raises EngineError, StorageError.
    """
    async with aclosing(
        stream_events(_Run(plan, engine, asking or engine, store, outcomes).work)
    ) as events:
        async for event in events:
            yield event


class _Run:
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
        # By default one question at a time on this machine, since their time is measured.
        parallel = asking.info.parallel
        self._at_once = max(
            1, min(plan.at_once or (parallel if asking.info.is_remote else 1), parallel)
        )
        self._limit = asyncio.Semaphore(self._at_once)
        self._texts = 0
        self._failures = 0  # Engine failures in a row

    async def work(self, emit: Emit[RunEvent]) -> None:
        todo = self._plan.todo(self._outcomes.known)
        waiting = iter(
            [
                list(todos)
                for _, todos in groupby(todo, key=lambda each: each.document.id)
            ]
        )
        async with asyncio.TaskGroup() as tasks:
            self._begin_texts(waiting, emit, tasks)

    def _begin_texts(
        self,
        waiting: Iterator[list[Todo]],
        emit: Emit[RunEvent],
        tasks: asyncio.TaskGroup,
    ) -> None:
        while self._texts < self._at_once:
            self._texts += 1
            tasks.create_task(self._ask_texts(waiting, emit, tasks))

    async def _ask_texts(
        self,
        waiting: Iterator[list[Todo]],
        emit: Emit[RunEvent],
        tasks: asyncio.TaskGroup,
    ) -> None:
        for todos in waiting:
            text = _Text(
                todos[0].document, self._plan, self._engine, self._asking, self._store
            )
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
        try:
            await emit(QuestionStarted(todo.document, todo.reader, question))
            outcome, lost = await text.ask(question, todo.reader)
            answered = AnsweredQuestion(question, outcome)
            self._outcomes.append(answered)
            await emit(QuestionMeasured(answered))
            self._failures = 0 if outcome.ended else self._failures + (lost is not None)
            if lost is not None and self._failures >= FAILURES_IN_A_ROW:
                raise lost
        finally:
            self._limit.release()


class _Text:
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
        if not uses_memory(reader):
            return
        try:
            if not self._memory.complete and self._unread is None:
                async with aclosing(self._read()) as reading:
                    async for grown in reading:
                        yield grown
        except EngineError as error:
            self._unread = error
        if self._unread is not None:
            if METHODS[reader].needs_memory:
                self.unready[reader] = self._unread
            return
        try:
            # All readers must see the same summaries, whichever built them first.
            names = (("summaries",) if await self._outgrows() else ()) + METHODS[
                reader
            ].artifacts
            for name in names:
                async with aclosing(
                    ARTIFACTS[name].build(self._memory, self._engine)
                ) as making:
                    async for progress in making:
                        yield ArtifactBuilt(
                            self._document, reader, name, progress.done, progress.total
                        )
        except EngineError as error:
            self.unready[reader] = error

    async def ask(
        self, question: Question, reader: str
    ) -> tuple[Outcome, EngineError | None]:
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
        entries = self._memory.entries
        options = self._plan.options
        window = self._asking.info.context_tokens
        if not entries:
            return False
        gists = await self._asking.count(
            "\n\n".join(entry.gist.text for entry in entries)
        )
        page = (
            TOKENS_PER_WORD * sum(entry.page.words for entry in entries) / len(entries)
        )
        room = min(
            window - PROMPT_TOKENS - options.answer_tokens,
            options.budget_tokens or window,
        )
        return gists + _TAG_TOKENS * len(entries) + options.max_pages * page > room

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
        kept = await asyncio.to_thread(self._store.open, document.book, request)
        with kept:
            self._memory, notice = kept.memory, kept.notice
            yield MemoryProgress(document, kept.memory, notice)
            async with aclosing(read_book(kept, self._engine)) as reading:
                async for _ in reading:
                    news, notice = (
                        kept.notice if kept.notice != notice else "",
                        kept.notice,
                    )
                    yield MemoryProgress(document, kept.memory, news)
        with suppress(GistreadError):  # only makes the first question faster
            await prepare(kept.memory, self._asking)


def _add_scores(
    task: Task, question: Question, outcome: Outcome, memory: GistMemory
) -> Outcome:
    opens = uses_memory(outcome.reader)
    if opens:
        pages = tuple((entry.page.start, entry.page.end) for entry in memory.entries)
    else:
        pages = ()
    return replace(
        outcome, scores=scores(Case(question, outcome, pages), (*task.metrics, *COSTS))
    )


def sample(
    documents: Iterable[Document], limit: int, seed: int, most_documents: int = 0
) -> list[Document]:
    """At most `limit` questions, taken in turn from at most `most_documents`. Either 0: all."""
    with_questions = [document for document in documents if document.questions]
    drawn = sorted(with_questions, key=lambda document: _draw_key(seed, document.id))[
        : most_documents or None
    ]
    turns = [
        (turn, place, question.id)
        for place, document in enumerate(drawn)
        for turn, question in enumerate(
            sorted(document.questions, key=lambda q: _draw_key(seed, document.id, q.id))
        )
    ]
    chosen: dict[str, set[str]] = {}
    for _, place, question_id in sorted(turns)[: limit or None]:
        chosen.setdefault(drawn[place].id, set()).add(question_id)
    return [
        replace(
            document,
            questions=tuple(
                q for q in document.questions if q.id in chosen[document.id]
            ),
        )
        for document in with_questions
        if document.id in chosen
    ]


def _draw_key(seed: int, *names: str) -> str:
    return hashlib.sha256("\0".join((str(seed), *names)).encode()).hexdigest()


async def stream_events(
    work: Callable[[Emit[Event]], Awaitable[None]],
) -> AsyncGenerator[Event]:
    """Yield the events that `work` emits.

    Raises its first error; closing the stream cancels `work`.
    """
    queue: asyncio.Queue[tuple[Event, asyncio.Future[None]] | None] = asyncio.Queue()

    async def emit(event: Event) -> None:
        taken = asyncio.get_running_loop().create_future()
        queue.put_nowait((event, taken))
        await taken

    task = asyncio.ensure_future(work(emit))
    task.add_done_callback(lambda _: queue.put_nowait(None))
    try:
        while (next_event := await queue.get()) is not None:
            event, taken = next_event
            yield event
            if not taken.done():
                taken.set_result(None)
        await task
    except BaseExceptionGroup as group:
        first: BaseException = group
        while isinstance(first, BaseExceptionGroup):
            first = first.exceptions[0]
        raise first from None
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
