"""The state of a session, the commands that change it, and its jobs. Everything runs in the actor's loop."""

import asyncio
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from gistread.book.model import Book
from gistread.config import Config
from gistread.engine.llama.library import installed_version
from gistread.engine.model_source import same_model
from gistread.engine.protocol import Embedder
from gistread.errors import GistreadError, NotReadyError
from gistread.memory.artifacts import ArtifactModels
from gistread.memory.check_results import CheckResults
from gistread.memory.focus import GistFocus
from gistread.memory.model import GistMemory
from gistread.memory.reading import ReadingPlan
from gistread.memory.sizes import unread_memory
from gistread.memory.store import MemoryStore
from gistread.memory.writer import MemoryHeader, MemoryWriter
from gistread.paths import Paths
from gistread.readers.lookups import prepare
from gistread.readers.protocol import ReaderOptions
from gistread.readers.registry import METHODS
from gistread.session import events
from gistread.session.actor import Actor
from gistread.session.answer import Question
from gistread.session.events import Obstacle, ReadingState, SessionEvent
from gistread.session.jobs import Artifacts, BookReading
from gistread.session.machine import UNDER_WAY, Job, Signal, Situation, jobs_for, next_state
from gistread.session.memory_choice import MemoryChoice
from gistread.session.models import MakeEngine, ModelChecks, ModelPair

Listener = Callable[[SessionEvent], None]
log = logging.getLogger("gistread.session")

IDLE_S = 900.0  # Time without work after which models are unloaded; they are loaded again when needed

_DAMAGED = "A memory of this book is damaged. The model reads its lost pages again when it reads along."


class Core:
    def __init__(
        self,
        book: Book,
        config: Config,
        paths: Paths,
        reader: str,
        task: str | None,
        make_engine: MakeEngine,
        embedder: Embedder,
        background: bool,
        place: Callable[[], int],
    ) -> None:
        self.book, self.config = book, config
        self.reader, self.embedder = reader, embedder
        self.background = background
        self.listeners: list[Listener] = []
        self.choice = MemoryChoice(book, MemoryStore(paths.memories), config, paths.presets, task)
        self.checks = ModelChecks(CheckResults(paths.check_results, installed_version()))
        self.models = ModelPair(make_engine, config, self.emit)
        self.memory: GistMemory | None = None  # The memory shown, which questions are answered from
        self.writer: MemoryWriter | None = None  # Writer of the memory that the model continues
        self.state = ReadingState.NO_MODEL
        self.failure: GistreadError | None = None
        self.question: Question | None = None
        self.asked = Question("", reader)  # The running or last question
        self.progress = BookReading(self._on_reading, place)
        self.artifacts = Artifacts(self.emit)
        self._place, self._alone = place, False  # Where the model begins; whether it reads only that chapter
        self._prompt_due = self._check_due = self._checked = False
        self._end_reported = True
        self._unloading: asyncio.TimerHandle | None = None
        jobs = (self._load, self._read, self._prepare, self._check, self._build, self._answer)  # in the order of Job
        self.actor = Actor(dict(zip(Job, jobs, strict=True)), self._decide, self._ended, self._crashed)

    def emit(self, event: SessionEvent) -> None:
        for listener in tuple(self.listeners):
            listener(event)

    @property
    def has_pages(self) -> bool:
        return bool(self.memory and self.memory.entries)

    def obstacle(self, *, needs_memory: bool) -> Obstacle | None:
        """Why no question can be answered; None if one can, now or later."""
        reads = bool(self.models.reading.spec)
        if not (reads or self.models.apart):
            return Obstacle.NO_MODEL
        if not needs_memory or self.has_pages or self.state in UNDER_WAY:
            return None
        return Obstacle.NOTHING_READ if reads else Obstacle.NO_READING_MODEL

    async def choose_models(self, model: str, asking_model: str) -> None:
        """Choose the models by name or by the settings. Raises EngineError for an unusable one."""
        await self.models.choose(model, asking_model)
        if self.models.reading.spec:
            self._signal(Signal.MODEL_CHOSEN)
            if self.background:
                self._signal(Signal.READ)

    async def use_model(self, model: str, read: bool) -> None:
        await self._drop_model(model)
        self.choice.model_changed()
        if model:
            with self._reported():
                await self.models.choose_reading(model)
                self._signal(Signal.MODEL_CHOSEN)
                if read and self.background:
                    self._signal(Signal.READ)

    async def use_asking_model(self, model: str) -> None:
        await self.cancel_question()
        await self.actor.stop(Job.BUILD)
        await self.models.choose_asking(model)
        if not self.artifacts.paused:
            self._want_artifacts()
        self.emit(events.ActivityChanged())

    async def use_embedder(self, embedder: Embedder) -> None:
        await self.cancel_question()
        await self.actor.stop(Job.BUILD)
        await self.embedder.close()
        self.embedder = embedder

    async def use_reader(self, reader: str) -> None:
        await self.actor.stop(Job.BUILD)
        self.reader = reader
        self.artifacts.forget()
        if self.state in (ReadingState.DONE, ReadingState.OFFERED):
            self._want_artifacts()

    async def use_memory(self, wanted: GistFocus | MemoryHeader) -> None:
        await self.cancel_question()
        await self._stop_reading()
        self.choice.want(wanted)
        self._signal(Signal.MEMORY_CHOSEN)
        with self._reported():
            if isinstance(wanted, MemoryHeader):
                self._show(await asyncio.to_thread(self.choice.load, wanted))
            if self.background:
                self._signal(Signal.READ)

    async def show_saved_memory(self) -> None:
        try:
            memory = await asyncio.to_thread(self.choice.latest)
            if memory is not None and self.memory is None:
                self._show(memory)
            if self.background and await asyncio.to_thread(self.choice.is_damaged):
                self.emit(events.Notice(_DAMAGED, is_problem=True))
        except GistreadError as error:
            self.emit(events.Notice(str(error), is_problem=True))

    def pause(self) -> None:
        self._signal(Signal.PAUSE)
        self.artifacts.pause()

    def read_here(self, alone: bool) -> None:
        self._signal(Signal.PAUSE)
        self.resume(alone)

    def resume(self, alone: bool = False) -> None:
        self._end_reported, self._alone = False, alone
        if self.question and self.question.apart:
            return
        self.artifacts.resume()
        if self.state is ReadingState.OFFERED and self.writer is not None:
            self.choice.want(self.writer.memory.focus)
        elif self.state is ReadingState.IDLE:
            self.choice.want_own()
        self.failure = None
        self._signal(Signal.READ)

    def build(self, *names: str) -> None:
        self.artifacts.resume()
        self.artifacts.want(*names)

    def ask(self, question: Question) -> None:
        if self.question is None:
            self.question = self.asked = question
            self.emit(events.QuestionAsked(question.shown(self.book)))
            self.emit(events.ActivityChanged())

    async def cancel_question(self) -> None:
        await self.actor.stop(Job.ANSWER)
        if self.question is not None:
            self._end_question(GistreadError("Cancelled."))

    async def close(self) -> None:
        await self.cancel_question()
        await self._drop_model()
        await self.models.close()
        await self.embedder.close()

    def _signal(self, signal: Signal) -> None:
        if (state := next_state(self.state, signal)) is not self.state:
            self.state = state
            self.emit(events.ActivityChanged())

    def _decide(self) -> frozenset[Job]:
        self._admit_question()
        question = self.question
        if question and question.apart and self.models.share_cores:
            self._signal(Signal.YIELD)
        jobs = jobs_for(
            Situation(
                self.state,
                has_pages=self.has_pages,
                question=question is not None,
                answering=question is not None and question.admitted,
                prompt_due=self._prompt_due,
                check_due=self._check_due,
                artifacts_due=self.artifacts.due,
            )
        )
        has_ended = self.state not in UNDER_WAY and Job.PREPARE not in jobs
        if has_ended and not self._end_reported:
            self.emit(events.ReadingEnded(self.state, self.failure))
        self._end_reported = has_ended
        self._unload_later(in_use=bool(jobs))
        return jobs

    def _unload_later(self, *, in_use: bool) -> None:
        if self._unloading is not None:
            self._unloading.cancel()
            self._unloading = None
        if not in_use and self.models.loaded:
            loop = asyncio.get_running_loop()
            self._unloading = loop.call_later(IDLE_S, self.actor.post, self.models.unload_idle)

    def _admit_question(self) -> None:
        """Start the waiting question once its model and memory are ready; end it if they never will be."""
        question = self.question
        if question is None or question.admitted:
            return
        if self.obstacle(needs_memory=question.needs_memory):
            self._end_question(self.failure or NotReadyError("Nothing of this book has been read yet."))
        elif self.has_pages or not question.needs_memory:
            question.apart = self.models.apart
            question.admitted = question.apart or self.state is not ReadingState.LOADING

    def _ended(self, job: Job, error: Exception | None) -> None:
        if error is not None and not isinstance(error, GistreadError):
            self._crashed(error)
            error = GistreadError("Internal error; see the log.")
        match job:
            case Job.LOAD | Job.READ if error is not None:
                self._fail(error)
            case Job.LOAD:
                self._opened()
            case Job.READ:
                self._plan_read()
            case Job.PREPARE:
                self._prompt_due = False
                self._want_artifacts()
            case Job.CHECK:
                self._checked, self._check_due = error is None, False
            case Job.BUILD:
                if error is not None:
                    self.artifacts.forget()
                    self.emit(events.Notice(str(error), is_problem=True))
                self.emit(events.ActivityChanged())
            case Job.ANSWER:
                self._end_question(error)

    def _opened(self) -> None:
        """Continue the memory just opened, or keep the one shown."""
        assert self.writer is not None
        own = self.writer.memory
        if self.choice.keeps_shown(self.memory, own):
            self._signal(Signal.OPENED_OTHER)
            if note := self.choice.note(self.memory, own.model_name):
                self.emit(events.Notice(note))
            self._want_artifacts()
        elif self.question and self.question.apart:
            self._signal(Signal.YIELD)  # Keep the memory shown until the answer is complete.
        else:
            if self.memory is not own:
                self._show(own)
            self.emit(events.ReadingStarted(self.writer.pages, self.progress.seconds_left))
            if own.complete:
                self._complete()
            else:
                self._signal(Signal.OPENED)

    def _plan_read(self) -> None:
        if self.writer is None or not self.writer.memory.complete:
            self._signal(Signal.PAUSE)
            self.emit(events.Notice("The chapter has been read."))
        else:
            self._complete()
            self.emit(events.MemoryComplete())

    def _complete(self) -> None:
        self._signal(Signal.COMPLETE)
        self._prompt_due = not self.models.apart
        if self.models.apart:
            self._want_artifacts()

    def _fail(self, error: GistreadError) -> None:
        self.failure = error
        self._signal(Signal.FAIL)
        if self.background:  # Without a screen, whoever awaits the job gets the error.
            self.emit(events.Notice(str(error), is_problem=True))
        self.emit(events.ActivityChanged())

    @contextmanager
    def _reported(self) -> Iterator[None]:
        """Report errors as notices; without a screen, raise them as well."""
        try:
            yield
        except GistreadError as error:
            self._fail(error)
            if not self.background:
                raise

    def _crashed(self, error: Exception) -> None:
        if not self.listeners:
            log.error("Internal error", exc_info=error)
        self.emit(events.Crashed(error))

    def _end_question(self, error: GistreadError | None) -> None:
        self.question = None
        self.emit(events.ActivityChanged())
        self.emit(events.QuestionEnded(error))
        self._signal(Signal.REGAIN)

    async def _stop_reading(self) -> None:
        await self.actor.stop(Job.LOAD, Job.READ, Job.PREPARE, Job.CHECK, Job.BUILD)
        self.artifacts.forget()
        self.failure, self._prompt_due = None, False
        if self.writer is not None:
            self.writer.close()
        self.writer = None

    async def _drop_model(self, instead: str = "") -> None:
        apart = self.question is not None and self.question.apart
        if not apart or (instead and await asyncio.to_thread(same_model, instead, self.models.asking.spec)):
            await self.cancel_question()
        await self._stop_reading()
        self._check_due = self._checked = False
        self._signal(Signal.MODEL_DROPPED)
        await self.models.reading.clear()

    def _want_artifacts(self) -> None:
        """Queue the artifacts of the reader unless they should wait for a question."""
        prepares = self.background and self.config.prepare == "auto"
        if prepares and self.memory is not None and self.memory.complete:
            self.artifacts.want(*METHODS[self.reader].artifacts)

    def _show(self, memory: GistMemory) -> None:
        self.memory = memory
        self.emit(events.MemoryOpened(memory))

    def _on_reading(self, event: SessionEvent) -> None:
        self.emit(event)
        if isinstance(event, events.PageRead | events.PageAhead):
            self._check_due = not self._checked
            self.actor.wake()

    async def _load(self) -> None:
        engine = await self.models.load_reading()
        if self.writer is None:
            self.writer = await asyncio.to_thread(self.choice.open, engine.info)
            if self.writer.notice:
                self.emit(events.Notice(self.writer.notice))
        self.progress.plan = ReadingPlan(self._place(), self._alone)
        past = await asyncio.to_thread(self.choice.past_pace, engine.info, self.writer.memory.method)
        await self.progress.expect(self.writer, engine, past)

    async def _read(self) -> None:
        assert self.writer is not None
        await self.progress.run(self.writer, await self.models.load_reading())

    async def _prepare(self) -> None:
        assert self.memory is not None
        with suppress(GistreadError):  # Without it the first question only takes longer.
            await prepare(self.memory, await self.models.load_reading())

    async def _check(self) -> None:
        if result := await self.checks.check(self.models.reading):
            self.emit(events.Notice(f"{self.models.reading.name}: {result.line}."))

    async def _build(self) -> None:
        assert self.memory is not None
        models = ArtifactModels(await self.models.load_reading(), self.embedder, answers=not self.models.apart)
        await self.artifacts.run(self.memory, models)

    async def _answer(self) -> None:
        question, memory = self.question, self.memory or unread_memory(self.book)
        assert question is not None
        if question.upto is not None:
            memory = memory.upto(question.upto)
        engine = await self.models.load_asking()
        self.emit(events.QuestionStarted(engine.info.name, memory.model_name if memory.entries else ""))
        result = await self.checks.for_answer(engine, lambda: question.set_state(events.AskingState.CHECK, self.emit))
        options = ReaderOptions(
            max_pages=self.config.max_pages,
            choices=question.choices,
            thread=question.thread,
            passage=question.passage,
            is_reliable=result.is_reliable if result else None,
            knows_absence=bool(result and result.knows_absence),
            embedder=self.embedder,
        )
        await question.run(memory, engine, options, self.emit)
