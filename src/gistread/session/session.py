"""One open book with its memory and its models. Listeners are called in the event loop and must be quick."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from contextlib import aclosing, contextmanager
from functools import partial
from typing import Self, Unpack

from gistread.book.model import Book
from gistread.config import Config, load_config
from gistread.engine.protocol import Embedder, Engine, EngineInfo
from gistread.errors import GistreadError, NotReadyError, UsageError
from gistread.memory.artifacts import ARTIFACTS
from gistread.memory.check_results import CheckResult
from gistread.memory.estimate import RemainingWork, expected_pace, pace_of, seconds_to_read
from gistread.memory.focus import GistFocus
from gistread.memory.model import DEFAULT_READING_MODE, GistMemory, MemoryEntry, ReadingMode
from gistread.memory.sizes import unread_memory
from gistread.memory.writer import MemoryHeader
from gistread.paths import Paths, default_paths
from gistread.presets import Preset, read_presets
from gistread.readers.bound import offset_of
from gistread.readers.events import Answered, ReaderEvent
from gistread.readers.passage import extend_bound
from gistread.readers.registry import DEFAULT_READER, METHODS
from gistread.readers.steering import Steering, Steps, objection_time
from gistread.session import events
from gistread.session.answer import Answer, AskOptions, Question, answer_of
from gistread.session.core import Core, Listener
from gistread.session.events import Activity, AskingState, Obstacle, ReadingEvent, ReadingState, SessionEvent
from gistread.session.machine import Job
from gistread.session.models import UNLOADED, MakeEngine, engine_maker, lazy_embedder
from gistread.user_data import UserData

_NOT_READY = {
    Obstacle.NO_MODEL: "No model is chosen.",
    Obstacle.NO_READING_MODEL: "Nothing of this book has been read yet, and no model is chosen to read it.",
    Obstacle.NOTHING_READ: "Nothing of this book has been read yet.",
    Obstacle.BUSY: "Another question is running.",
}


class Session:
    """Nothing is loaded before it is needed. Use with `async with`, or call `close`."""

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
        embedder: Embedder | None = None,
        place: Callable[[], int] = lambda: 0,
        objection: Callable[[], Awaitable[None]] = objection_time,
    ) -> None:
        """`model`, `asking_model`: as for `--model`; empty: by the settings, or the only one there is.

        `task`: what the gists look for; None: as in the furthest memory. `background`: read, the chapter at offset
        `place()` next, and build artifacts as soon as there is a model. `config`, `paths`: default to the user's.
        `objection`: awaited before an announced look-up. The session closes `embedder`. Raises UsageError for an
        unknown reader or invalid settings.
        """
        if reader and reader not in METHODS:
            raise UsageError(f"Unknown reader {reader!r}.", f"Choose one of {', '.join(METHODS)}.")
        self.book = book
        self._paths = paths or default_paths()
        self._paths.make_private()
        self._config = config or load_config(self._paths.config_file)
        self._chosen = (model, asking_model)
        self._objection = objection
        usual = self._config.reader if self._config.reader in METHODS else DEFAULT_READER
        self._core = Core(
            book,
            self._config,
            self._paths,
            reader or usual,
            task,
            make_engine or engine_maker(self._config, self._paths),
            embedder or lazy_embedder(self._config, self._paths),
            background,
            place,
        )
        if listener is not None:
            self._core.listeners.append(listener)

    async def __aenter__(self) -> Self:
        """Choose the models and show the saved memory. Raises EngineError for an unknown model."""
        try:
            await self._core.actor.do(partial(self._core.choose_models, *self._chosen))
            await self.show_saved_memory()
        except BaseException:
            await self.close()
            raise
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self.close()

    async def read(self) -> GistMemory:
        """Read the book to its end and return its memory. Returns early if reading is paused. Raises GistreadError."""
        async with aclosing(self.stream_reading()) as stream:
            async for _ in stream:
                pass
        if self.memory is None:
            raise NotReadyError(_NOT_READY[Obstacle.NOTHING_READ])
        return self.memory

    async def stream_reading(self) -> AsyncGenerator[ReadingEvent, None]:
        """Read the book to its end, yielding events. Leaving the stream pauses reading. Raises GistreadError."""
        if not self.has_model:
            raise NotReadyError(_NOT_READY[Obstacle.NO_MODEL])
        with self._event_queue() as queue:
            self.resume()
            try:
                while True:
                    match await queue.get():
                        case events.Crashed(error=crash):
                            raise crash
                        case events.ReadingEnded(state=ReadingState.OFFERED):
                            self.resume()  # Continue the model's own memory even if another is shown.
                        case events.ReadingEnded(error=error):
                            if error is not None:
                                raise error
                            return
                        case event if isinstance(event, ReadingEvent):
                            yield event
            finally:
                await self.pause()

    async def ask(self, question: str, **options: Unpack[AskOptions]) -> Answer:
        """Answer from the pages read so far. Raises GistreadError."""
        async with aclosing(self.stream_answer(question, **options)) as stream:
            steps = [event async for event in stream]
        answered, info = steps[-1], self.asking_info
        assert isinstance(answered, Answered), "a reader ends with Answered"
        assert info is not None
        return answer_of(answered, steps, info, self._core.asked, self.book)

    async def stream_answer(self, question: str, **options: Unpack[AskOptions]) -> AsyncGenerator[ReaderEvent, None]:
        """Yield the reader's events; the last is `Answered`. Leaving the stream cancels. Raises GistreadError."""
        if obstacle := self.question_obstacle(about_passage="passage" in options):
            raise NotReadyError(_NOT_READY[obstacle])
        with self._event_queue() as queue:
            self.start_question(question, **options)
            try:
                while True:
                    match await queue.get():
                        case events.Crashed(error=crash):
                            raise crash
                        case events.QuestionProgress(event=event):
                            yield event
                        case events.QuestionEnded(error=error):
                            if error is not None:
                                raise error
                            return
            finally:
                await self.cancel_question()

    @contextmanager
    def _event_queue(self) -> Iterator[asyncio.Queue[SessionEvent]]:
        queue: asyncio.Queue[SessionEvent] = asyncio.Queue()
        self._core.listeners.append(queue.put_nowait)
        try:
            yield queue
        finally:
            self._core.listeners.remove(queue.put_nowait)

    @property
    def memory(self) -> GistMemory | None:
        """The memory shown, which questions are answered from."""
        return self._core.memory

    @property
    def reader(self) -> str:
        """Name of the reader that answers the next question."""
        return self._core.reader

    @property
    def steering(self) -> Steering:
        """Steering of the running or last question: change it to pin or refuse pages, to stop or decide look-ups."""
        return self._core.asked.steering

    @property
    def has_model(self) -> bool:
        return bool(self.reading_model)

    @property
    def reading_model(self) -> str:
        """Path, name or address of the reading model; empty if none is chosen."""
        return self._core.models.reading.spec

    @property
    def answering(self) -> bool:
        return self._core.question is not None

    @property
    def building(self) -> bool:
        return self._core.actor.runs(Job.BUILD)

    @property
    def busy(self) -> bool:
        """Whether loading, reading or building can be paused."""
        return self._core.state in (ReadingState.LOADING, ReadingState.RUNNING) or self.building

    @property
    def saves_pages(self) -> bool:
        return self._core.writer is not None and self._core.writer.is_saved

    @property
    def pages_ahead(self) -> tuple[MemoryEntry, ...]:
        """Finished pages of the memory shown whose earlier pages are not read yet, by place."""
        writer = self._core.writer
        return writer.pages_ahead if writer is not None and writer.memory is self.memory else ()

    @property
    def draft(self) -> str:
        """The unfinished gist of `activity.page`; empty between two attempts."""
        return self._core.progress.draft

    @property
    def engine(self) -> Engine | None:
        """The engine of the reading model; None while it is not loaded."""
        return self._core.models.reading.engine

    @property
    def embedder(self) -> Embedder:
        """The embedding model, loaded when first needed."""
        return self._core.embedder

    @property
    def info(self) -> EngineInfo | None:
        """The reading model; None before it is loaded."""
        return self._core.models.reading.info

    @property
    def asking_info(self) -> EngineInfo | None:
        """The answering model; None before it is loaded."""
        return self._core.models.answering.info

    @property
    def read_by(self) -> str:
        """Name of the model that made the memory shown; empty if it is the only model in use."""
        models, memory = self._core.models, self.memory
        maker = memory.model_name if memory and memory.entries else ""
        return maker if models.apart or maker != models.reading.name else ""

    @property
    def activity(self) -> Activity:
        """A snapshot for a status line."""
        core, question, memory = self._core, self._core.question, self.memory
        asks = core.models.apart and question is not None and question.apart
        model = core.models.asking if asks else core.models.reading
        return Activity(
            model=model.name,
            asking_model="" if asks else core.models.asking.name,
            device=model.info.device if model.loaded and model.info else "",
            engine=model.state,
            reading=core.state,
            page=core.progress.page,
            read_by=self.read_by,
            pages_read=len(memory.entries) + len(self.pages_ahead) if memory else 0,
            pages_total=memory.estimated_pages if memory else 0,
            seconds_left=core.progress.seconds_left,
            asking=question.state if question else AskingState.IDLE,
            artifact=core.artifacts.progress,
            problem=core.failure.message if core.failure else "",
        )

    def question_obstacle(self, *, about_passage: bool = False) -> Obstacle | None:
        """Why a question cannot be asked now; None if it can."""
        obstacle = self._core.obstacle(needs_memory=METHODS[self.reader].needs_memory and not about_passage)
        return Obstacle.BUSY if obstacle is None and self.answering else obstacle

    def presets(self) -> tuple[dict[str, Preset], list[str]]:
        """Presets by name, and a message for each invalid preset file. Reads the disk."""
        return read_presets(self._paths.presets)

    def memories(self) -> list[MemoryHeader]:
        """Memories of this book with at least one page. Reads the disk."""
        return self._core.choice.memories()

    def seconds_to_read(self) -> float | None:
        """Estimated time to read the whole book with this model; None if its speed is unknown."""
        if (info := self.info) is None:
            return None
        empty = unread_memory(self.book, info.name)
        mode = ReadingMode(self._config.reading or DEFAULT_READING_MODE)
        expected = expected_pace(info, mode, self._core.progress.tokens_per_word)
        return seconds_to_read(empty, pace_of((self.memory or empty).entries, expected))

    async def artifacts_left(self, *names: str) -> dict[str, RemainingWork]:
        """The work left for these artifacts (default: all used), by name. Empty without a loaded model."""
        core, memory = self._core, self.memory
        embedder = core.embedder if core.embedder.state.phase not in UNLOADED else None
        models = core.models.for_artifacts(embedder)
        if models is None or memory is None or core.state is ReadingState.LOADING:
            return {}
        try:
            wanted = names or [name for method in METHODS.values() for name in method.artifacts]
            return {name: await ARTIFACTS[name].remaining(memory, models) for name in dict.fromkeys(wanted)}
        except GistreadError:
            return {}

    async def seconds_to_build(self, name: str) -> float | None:
        left = (await self.artifacts_left(name)).get(name)
        return left.seconds(self.info) if left is not None and self.info is not None else None

    async def check_result(self, info: EngineInfo | None = None) -> CheckResult | None:
        """The result of a model's check, by default the answering model's; None if not checked or not loaded."""
        info = info or self.asking_info
        return await self._core.checks.stored(info) if info else None

    async def use_model(self, model: str, *, read: bool = True) -> None:
        """Use this model from now on, or none if empty; with `read`, begin. Returns before it is loaded."""
        await self._do(self._core.use_model, model, read)

    async def use_asking_model(self, model: str) -> None:
        """Answer with this model, loaded for the next question, or with the reading model if empty."""
        await self._do(self._core.use_asking_model, model)

    async def use_embedder(self, embedder: Embedder) -> None:
        """Search by meaning with this model."""
        await self._do(self._core.use_embedder, embedder)

    async def use_reader(self, reader: str) -> None:
        """Answer the next question with this reader, and build what it needs."""
        await self._do(self._core.use_reader, reader)

    async def use_memory(self, wanted: GistFocus | MemoryHeader) -> None:
        """Read with this focus, keeping other memories; or show a memory, and continue it if this model made it."""
        await self._do(self._core.use_memory, wanted)

    async def show_saved_memory(self) -> None:
        """Show the furthest memory of this book if none is shown."""
        await self._do(self._core.show_saved_memory)

    async def load_model(self) -> Engine:
        """Load the reading model, if it is not loaded. Raises GistreadError."""
        return await self._core.models.load_reading()

    async def unload_model(self) -> None:
        """Unload the reading model until it is needed again."""
        await self._do(self._core.models.reading.unload)

    async def pause(self) -> None:
        """Stop loading, reading and building artifacts until `resume`."""
        await self._do(self._core.pause)

    def resume(self) -> None:
        """Continue reading, also after an error; the model's own memory replaces another model's."""
        self._core.actor.post(self._core.resume)

    def read_here(self, *, alone: bool = False) -> None:
        """Like `resume`, but begin with the chapter at `place`, or read only that with `alone`."""
        self._core.actor.post(partial(self._core.read_here, alone))

    def build_artifacts(self, *names: str) -> Obstacle | None:
        """Build these artifacts (`memory/artifacts.py`) in the background. Returns the obstacle, if any."""
        if not self.has_model:
            return Obstacle.NO_MODEL
        if self._core.state is ReadingState.LOADING:
            return Obstacle.LOADING
        if not self._core.has_pages:
            return Obstacle.NOTHING_READ
        self._core.actor.post(partial(self._core.build, *names))
        return None

    async def drop_artifacts(self) -> None:
        """Stop building artifacts and clear the queue."""
        await self._do(self._core.artifacts.forget)

    def start_question(self, question: str, **options: Unpack[AskOptions]) -> None:
        """Start a question; events report the answer. Call only when `question_obstacle` is None. Raises UsageError."""
        steering = Steering(
            pinned=set(options.get("pinned", ())),
            here=options.get("here"),
            steps=options.get("steps", Steps.ALONE),
            objection=self._objection,
        )
        upto = options.get("upto")
        if isinstance(upto, str):
            memory = self.memory or unread_memory(self.book)
            upto = offset_of(upto, memory, UserData(self._paths.books).reading_place(self.book.sha256).furthest)
        passage = options.get("passage")
        upto = extend_bound(passage, upto, self.book)
        choices, thread = options.get("choices", ()), tuple(options.get("thread", ()))
        reader = options.get("reader", self.reader)
        asked = Question(question, reader, steering, upto, choices, thread, passage)
        self._core.actor.post(partial(self._core.ask, asked))

    async def cancel_question(self) -> None:
        """Stop the running question, if any; the partial answer is kept."""
        await self._do(self._core.cancel_question)

    async def close(self) -> None:
        """Stop all jobs and unload the models. Finished pages are already on disk. Idempotent."""
        await self._do(self._core.close)
        await self._core.actor.close()

    async def _do(self, command: Callable[..., Awaitable[None] | None], *arguments: object) -> None:
        await self._core.actor.do(partial(command, *arguments))
