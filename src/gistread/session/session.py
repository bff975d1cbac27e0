"""One open book with its memory and its models."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import aclosing
from dataclasses import replace
from functools import partial
from typing import Any, Self, Unpack

from gistread.book.model import Book
from gistread.config import Config, load_config
from gistread.engine.models import same_model
from gistread.engine.protocol import Phase
from gistread.errors import GistreadError, NotReadyError, UsageError, traceback_text
from gistread.memory.model import GistFocus, GistMemory
from gistread.memory.sizes import unread_memory
from gistread.memory.store import MemoryHeader, MemoryStore
from gistread.paths import Paths, default_paths
from gistread.readers.events import ReaderEvents
from gistread.readers.registry import DEFAULT_READER, METHODS, find_method
from gistread.readers.steering import Steering
from gistread.session import events
from gistread.session.artifacts import Artifacts
from gistread.session.events import (
    Activity,
    Obstacle,
    ReadingEvent,
    ReadingState,
    SessionEvent,
)
from gistread.session.machine import UNDER_WAY, Actor, Job, Signal, command
from gistread.session.models import MakeEngine, ModelChecks, ModelPair, engine_maker
from gistread.session.questions import (
    Answer,
    AskOptions,
    Question,
    Questions,
    question_of,
)
from gistread.session.reading import MemoryChoice, Reading
from gistread.store.pace import ModelPaces
from gistread.store.user_data import UserData

Listener = Callable[[SessionEvent], None]
log = logging.getLogger("gistread.session")


class Session:
    """One open book with its memory and its models. Use with `async with`, or call `close`.

    Nothing is loaded before it is needed. Listeners are called in the event loop and must be quick.
    """

    def __init__(
        self,
        book: Book,
        model: str = "",
        *,
        asking_model: str = "",
        reader: str = "",
        task: str | None = None,
        config: Config | None = None,
        paths: Paths | None = None,
        listener: Listener | None = None,
        background: bool = False,
        make_engine: MakeEngine | None = None,
        place: Callable[[], int] = lambda: 0,
    ) -> None:
        """`model`, `asking_model`: as for `--model`; empty: by the settings, or the only one.

        `reader`: of questions that name none. `task`: what the gists look for; None: as in the
        furthest memory. `background`: read, the chapter at offset `place()` next, and build
        artifacts as soon as there is a model. `config`, `paths`: default to the user's. Raises
        UsageError for an unknown reader or invalid settings.
        """
        if not isinstance(book, Book):
            raise UsageError(
                f"A session reads a Book, not {book!r}.", "`open_book(path)` opens one."
            )
        self.book = book
        paths = paths or default_paths()
        paths.make_private()
        config = config or load_config(paths.config_file)
        self._paths = paths
        self.config = config
        usual = config.reader if config.reader in METHODS else DEFAULT_READER
        self.reader = find_method(reader).name if reader else usual
        self._model = model
        self._asking_model = asking_model
        self._listeners = [listener] if listener is not None else []
        make_engine = make_engine or engine_maker(config, paths)
        self.models = ModelPair(make_engine, config, self._emit)
        store = MemoryStore(paths.memories)
        self.reading = Reading(
            choice=MemoryChoice(book, store, config, paths.presets, task),
            models=self.models,
            checks=ModelChecks(paths),
            _paces=ModelPaces(paths),
            _emit=self._emit,
            _place=place,
            _background=background,
        )
        builds_by_itself = background and config.prepare == "auto"
        self.artifacts = Artifacts(self.reading, self._emit, builds_by_itself)
        jobs: dict[Job, Callable[[], Coroutine[Any, Any, None]]] = {
            Job.LOAD: self.reading.load,
            Job.READ: self.reading.read,
            Job.RETRY: self.reading.wait_to_retry,
            Job.PREPARE: self.reading.prepare,
            Job.CHECK: self.reading.check,
            Job.BUILD: self.artifacts.run,
            # `questions`, which needs the actor, does not exist yet.
            Job.ANTICIPATE: lambda: self.questions.anticipate(),
            Job.ANSWER: lambda: self.questions.answer(),
        }
        self._actor = Actor(jobs, self._decide, self._ended, self._crashed)
        self.questions = Questions(self.reading, self._actor, self._emit, book)

    async def __aenter__(self) -> Self:
        """Choose the models and show the saved memory. Raises EngineError for an unknown model."""
        try:
            choose = partial(self.models.choose, self._model, self._asking_model)
            await self._actor.do(choose)
            if self.has_model:
                await self._actor.do(self.reading.model_chosen)
            await self.show_saved_memory()
        except BaseException:
            await self.close()
            raise
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Stop all jobs and unload the models. Finished pages are already on disk. Idempotent."""
        if self._actor.closed:
            return
        await self._actor.do(self._close)
        await self._actor.close()
        # The timer would keep the session, and its book, in memory.
        self.models.unload_never()

    # Questions

    async def ask(self, question: str, **options: Unpack[AskOptions]) -> Answer:
        """Answer from the pages read so far, after the questions asked before.

        Raises GistreadError.
        """
        queued = self.question(question, **options)
        async with aclosing(self.questions.stream(queued)) as stream:
            trace = [event async for event in stream]
        return queued.answer(trace, self.book)

    def stream_answer(
        self, question: str, **options: Unpack[AskOptions]
    ) -> ReaderEvents:
        """Yield the reader's events; the last is `Answered`.

        Leaving the stream cancels. Raises GistreadError.
        """
        return self.questions.stream(self.question(question, **options))

    def question(self, text: str, **options: Unpack[AskOptions]) -> Question:
        """A question for `questions.start`. Raises UsageError if it is not valid."""
        memory = self.memory or unread_memory(self.book)
        return question_of(
            text,
            options,
            memory,
            reader=self.reader,
            user_data=UserData(self._paths),
            config=self.config,
        )

    def anticipate(self, draft: Question | None) -> None:
        """Evaluate the text for this question in advance, while it is being typed.

        Each call replaces the previous draft; None: nothing is being typed. Asking ends it.
        """

        async def begin() -> None:
            await self._actor.stop(Job.ANTICIPATE)
            self.questions.draft = draft

        self._actor.post(begin)

    @command
    async def cancel_question(self) -> None:
        """Stop the running question, if any; the partial answer is kept."""
        await self.questions.cancel()

    @property
    def steering(self) -> Steering:
        """Steering of the running or last question.

        Change it to pin or refuse pages, to stop or decide look-ups.
        """
        return self.questions.steering

    @property
    def answering(self) -> bool:
        return self.questions.current is not None

    # Reading

    @property
    def memory(self) -> GistMemory | None:
        """The memory shown, which questions are answered from."""
        return self.reading.memory

    async def read(self) -> GistMemory:
        """Read the book to its end and return its memory.

        Returns early if reading is paused. Raises GistreadError.
        """
        async with aclosing(self.stream_reading()) as stream:
            async for _ in stream:
                pass
        if self.memory is None:
            raise NotReadyError(Obstacle.NOTHING_READ.value)
        return self.memory

    async def stream_reading(self) -> AsyncGenerator[ReadingEvent, None]:
        """Read the book to its end, yielding events.

        Leaving the stream pauses reading. Raises GistreadError.
        """
        self._actor.check_open()
        if not self.has_model:
            raise NotReadyError(Obstacle.NO_MODEL.value)
        queue: asyncio.Queue[SessionEvent] = asyncio.Queue()
        self._listeners.append(queue.put_nowait)
        self.resume()
        try:
            while True:
                match await queue.get():
                    case events.Crashed(error=crash):
                        raise crash
                    case events.ReadingEnded(state=ReadingState.OFFERED):
                        # Continue the model's own memory even if another is shown.
                        self.resume()
                    case events.ReadingEnded(error=error):
                        if error is not None:
                            raise error
                        return
                    case event if isinstance(event, ReadingEvent):
                        yield event
        finally:
            self._listeners.remove(queue.put_nowait)
            if not self._actor.closed:
                await self.pause()

    @property
    def busy(self) -> bool:
        """Whether loading, reading or building can be paused."""
        return self.reading.state in UNDER_WAY or self.building

    @command
    async def pause(self) -> None:
        """Stop loading, reading and building artifacts until `resume`."""
        self.reading.pause()
        self.artifacts.pause()

    def resume(self) -> None:
        """Continue reading, also after an error.

        The model's own memory replaces another model's.
        """
        self._actor.post(self.reading.resume)
        self._actor.post(self.artifacts.resume)

    @property
    def waits_for_server(self) -> bool:
        """Whether reading waits for a server that does not answer, and tries again by itself."""
        if self.reading.waits_to_retry:
            return True
        engine = self.models.reading.state
        if engine is None or self.reading.state is not ReadingState.RUNNING:
            return False
        return engine.is_fault and engine.phase is Phase.IDLE

    def retry_now(self) -> None:
        """Try a server that does not answer at once."""

        async def retry() -> None:
            # A job that is still due begins anew.
            await self._actor.stop(Job.READ)
            self.reading.retry()

        self._actor.post(retry)

    def read_here(self) -> None:
        """Like `resume`, but begin with the chapter at `place`."""
        self._actor.post(partial(self.reading.signal, Signal.PAUSE))
        self.resume()

    @command
    async def use_memory(self, chosen: GistFocus | MemoryHeader) -> None:
        """Read with this focus, keeping other memories.

        Or show a memory, and continue it if this model made it.
        """
        await self.questions.cancel()
        await self._stop_reading()
        await self.reading.use_memory(chosen)

    @command
    async def show_saved_memory(self) -> None:
        """Show the furthest memory of this book if none is shown."""
        await self.reading.show_saved_memory()

    @property
    def building(self) -> bool:
        return self._actor.runs(Job.BUILD)

    # Models

    @property
    def has_model(self) -> bool:
        return bool(self.models.reading.spec)

    @command
    async def use_model(self, model: str, *, read: bool = True) -> None:
        """Use this model from now on, or none if empty; with `read`, begin.

        Returns before it is loaded.
        """
        await self._drop_model(model)
        # It keeps a memory that another model has made: rereading may take hours.
        self.reading.choice.continues_own = False
        if model:
            with self.reading.reported():
                await self.models.choose_reading(model)
                self.reading.model_chosen(read=read)

    @command
    async def use_asking_model(self, model: str) -> None:
        """Answer with this model, loaded for the next question; empty: with the reading model."""
        await self.questions.cancel()
        # Building may be loading its model beside the one replaced here. It goes on afterwards.
        await self._actor.stop(Job.BUILD)
        await self.models.choose_asking(model)
        # What could not be built before is tried again, unless the user has paused building.
        if not self.artifacts.paused:
            self.artifacts.want_for(self.reader)
        self._emit(events.ActivityChanged())

    @command
    async def use_reader(self, reader: str) -> None:
        """Answer questions that name no reader with this one, and build what it needs.

        Raises UsageError.
        """
        self.reader = find_method(reader).name
        await self._actor.stop(Job.BUILD)
        self.artifacts.forget()
        self.artifacts.want_for(self.reader)

    def use_max_pages(self, most: int) -> None:
        """Limit the sections that later questions may look up."""
        self.config = replace(self.config, max_pages=most)

    @command
    async def unload_model(self) -> None:
        """Unload the reading model until it is needed again."""
        await self.models.reading.unload()

    @property
    def activity(self) -> Activity:
        """A snapshot for a status line."""
        reading = self.reading
        models = self.models
        memory = self.memory
        answered_apart = models.apart and self.questions.answered_apart
        model = models.asking if answered_apart else models.reading
        read_by = memory.model_name if memory and memory.entries else ""
        # Not worth a word if the only model has made it.
        if not models.apart and read_by == models.reading.name:
            read_by = ""
        return Activity(
            model=model.name,
            asking_model="" if answered_apart else models.asking.name,
            engine=model.state,
            reading=reading.state,
            page=reading.page,
            read_by=read_by,
            pages_read=len(memory.read_entries) if memory else 0,
            pages_total=memory.estimated_pages if memory else 0,
            seconds_left=reading.seconds_left,
            asking=self.questions.state,
            artifact=self.artifacts.progress,
            problem=reading.failure.message if reading.failure else "",
            paused_by_user=reading.paused_by_user,
            waits_for_server=self.waits_for_server,
            retry_in_s=reading.retry_in_s if reading.waits_to_retry else None,
        )

    # The session's loop

    def _decide(self) -> frozenset[Job]:
        """Settle what the last command changed, and return the jobs that should run now."""
        self.questions.admit()
        # Two models on this machine would slow each other down: while one answers, reading waits.
        if not self.questions.answered_apart:
            self.reading.signal(Signal.REGAIN)
        elif self.models.share_cores:
            self.reading.signal(Signal.YIELD)
        question = self.questions.current
        state = self.reading.state
        preparing = state is ReadingState.DONE and self.reading.prompt_due
        # While a question is answered, nothing else uses the model but reading.
        due = {
            Job.LOAD: state is ReadingState.LOADING,
            Job.READ: state is ReadingState.RUNNING,
            Job.RETRY: self.reading.waits_to_retry,
            Job.ANSWER: question is not None and question.admitted,
            Job.ANTICIPATE: self.questions.is_typed,
            Job.PREPARE: preparing,
            Job.CHECK: question is None and self._may_check(),
            Job.BUILD: question is None and not preparing and self._may_build(),
        }
        jobs = frozenset(job for job, is_due in due.items() if is_due)
        self.reading.report_end(preparing=preparing)
        self.models.unload_later(self._actor.post, in_use=bool(jobs))
        return jobs

    def _may_check(self) -> bool:
        """Whether the model is to be checked, and is loaded."""
        is_loaded = self.reading.state in (ReadingState.RUNNING, ReadingState.DONE)
        return self.reading.check_due and is_loaded

    def _may_build(self) -> bool:
        """Whether artifacts are to be built, and no model is being loaded or waits for its turn."""
        is_settled = self.reading.state not in (
            ReadingState.NO_MODEL,
            ReadingState.LOADING,
            ReadingState.WAITING,
        )
        return is_settled and self.artifacts.due and self.reading.has_pages

    def _ended(self, job: Job, error: Exception | None) -> None:
        """Go on after a job that was not stopped; `error`: why it failed."""
        if job is Job.ANSWER:
            self.questions.ended(error)
        if error is not None and not isinstance(error, GistreadError):
            self._crashed(error)
            error = GistreadError("Internal error; see the log.")
        match job:
            case Job.LOAD | Job.READ if error is not None:
                self.reading.fail(error)
            case Job.LOAD:
                self.reading.model_loaded(answering_apart=self.questions.answered_apart)
            case Job.READ:
                self.reading.end_reached()
            case Job.PREPARE:
                self.reading.prompt_due = False
            case Job.CHECK:
                self.reading.check_ended(error)
            case Job.BUILD:
                if error is not None:
                    self.artifacts.forget()
                    self._emit(events.Notice(str(error), is_problem=True))
                self._emit(events.ActivityChanged())
        if job in (Job.LOAD, Job.READ, Job.PREPARE):
            self.artifacts.want_for(self.reader)

    async def _close(self) -> None:
        while self.answering:
            await self.questions.cancel()
        await self._drop_model()
        await self.models.close()

    async def _drop_model(self, successor: str = "") -> None:
        """Stop reading, and the answer too unless another model goes on with it.

        `successor`: the model that is to read next; empty for none.
        """
        answer_goes_on = self.questions.answered_apart
        if answer_goes_on and successor:
            # The successor also answers then, and the model apart is dropped.
            asking_spec = self.models.asking.spec
            is_same = await asyncio.to_thread(same_model, successor, asking_spec)
            answer_goes_on = not is_same
        if not answer_goes_on:
            await self.questions.cancel()
        await self._stop_reading()
        self.reading.model_dropped()
        await self.models.reading.clear()

    async def _stop_reading(self) -> None:
        await self._actor.stop(
            Job.LOAD, Job.READ, Job.RETRY, Job.PREPARE, Job.CHECK, Job.BUILD
        )
        self.artifacts.forget()
        self.reading.stop()

    def _emit(self, event: SessionEvent) -> None:
        for listener in tuple(self._listeners):
            listener(event)
        if isinstance(event, events.PageRead):
            self._actor.post(lambda: None)  # It may let a question or a check begin.

    def _crashed(self, error: Exception) -> None:
        if not self._listeners:
            log.error("Internal error\n%s", traceback_text(error))
        self._emit(events.Crashed(error))
