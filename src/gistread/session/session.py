"""One open book and the model that reads it: everything that goes on behind the screen.

Owns the models, the memory that is kept, the reading task and the asking task, and tells a listener what
happens. Where another model answers than the one that reads, and both are on this machine, the reading waits for the
answer. Knows no widgets. All in one event loop: the listener is called at once and must be quick.
"""

import asyncio
from collections.abc import Callable
from pathlib import Path

from gistread.book.model import Book
from gistread.config import Config
from gistread.engine.model_source import same_model
from gistread.engine.protocol import Embedder, Engine, EngineInfo, EngineState, Phase
from gistread.errors import EngineError, GistreadError
from gistread.memory.artifacts import ARTIFACTS
from gistread.memory.estimate import RemainingWork, estimate, expected_pace, pace_of
from gistread.memory.focus import GistFocus
from gistread.memory.model import DEFAULT_READING_MODE, GistMemory, PageSize
from gistread.memory.model import ReadingMode as ReadingMode
from gistread.memory.sizes import PAGE_SIZES
from gistread.memory.store import MemoryStore
from gistread.memory.writer import MemoryHeader, MemoryWriter
from gistread.presets import Preset, read_presets
from gistread.readers.events import Steering
from gistread.readers.registry import METHODS
from gistread.session.artifact_task import ArtifactTask
from gistread.session.asking_task import AskingTask
from gistread.session.events import (
    Activity,
    ActivityChanged,
    Crashed,
    MemoryOpened,
    Notice,
    Obstacle,
    PageRead,
    QuestionEnded,
    ReadingState,
    SessionEvent,
)
from gistread.session.memory_choice import MemoryChoice
from gistread.session.model_pair import MakeEngine, ModelPair
from gistread.session.reading_task import ReadingTask


class Session:
    """Made cheap; `use_model` begins."""

    def __init__(
        self,
        book: Book,
        store: MemoryStore,
        config: Config,
        make_engine: MakeEngine,
        tell: Callable[[SessionEvent], None],
        embedder: Embedder | None = None,
        *,
        presets: Path,
        make_asking_engine: MakeEngine | None = None,
        is_reliable: Callable[[str], bool] = lambda _: True,
    ) -> None:
        """`embedder`: for readers that search by meaning; it is loaded when one first does, and closed with this.
        `presets`: the folder of the person's own. `make_asking_engine`: of the model that answers, if not the same.
        `is_reliable`: see `AskingTask`."""
        self.book = book
        self._config = config
        self._presets = presets
        self._choice = MemoryChoice(book, store, config, presets)
        self._listener = tell
        makers = (make_engine, make_asking_engine or make_engine)
        self._models = ModelPair(makers, config, self._on_engine_state, lambda text: self._tell(Notice(text)))
        self._embedder = embedder
        self._starting: asyncio.Task[None] | None = None
        self._switching = asyncio.Lock()
        self._kept: MemoryWriter | None = None
        self._memory: GistMemory | None = None
        self._problem = ""
        self._engine_notice = ""
        self._grown = asyncio.Event()
        self._unasked = asyncio.Event()
        """No question is being answered by another model than the one that reads."""
        self._unasked.set()
        self._waits = False
        """The model that reads was being loaded when that question came."""
        self.reading = ReadingTask(self._tell)
        self.asking = AskingTask(self._tell, config.max_pages, config.reader, embedder, is_reliable)
        self.making = ArtifactTask(self._tell)

    @property
    def memory(self) -> GistMemory | None:
        """The memory to show: the open one, or one found on disk from another time."""
        return self._memory

    @property
    def has_model(self) -> bool:
        """Whether there is one that reads."""
        return bool(self._models.reading.spec)

    @property
    def loading(self) -> bool:
        return self._starting is not None and not self._starting.done()

    @property
    def busy(self) -> bool:
        """Whether there is something in the background that the person can pause."""
        return self.loading or self.reading.state is ReadingState.RUNNING or self.making.running

    @property
    def activity(self) -> Activity:
        """What goes on at this moment."""
        asked = self._models.apart and self._asked_apart
        model = self._models.asking if asked else self._models.reading
        return Activity(
            model=model.name,
            asking_model="" if asked else self._models.asking.name,
            device=model.info.device if model.loaded and model.info else "",
            engine=model.state,
            reading=self.reading.state,
            read_by=self.read_by,
            pages_read=len(self._memory.entries) if self._memory else 0,
            pages_total=self._memory.estimated_pages if self._memory else 0,
            seconds_left=self.reading.seconds_left,
            asking=self.asking.state,
            artifact=self.making.making,
            page=self.reading.page,
            problem=self._problem or self.reading.problem,
        )

    @property
    def read_by(self) -> str:
        """Who made the memory that is shown; empty where there is one model for everything, and it did."""
        maker = self._memory.model_name if self._memory and self._memory.entries else ""
        return maker if self._models.apart or maker != self._models.reading.name else ""

    async def show_saved_memory(self) -> None:
        """Without a model: show what was read of this book at another time, if anything was."""
        try:
            memory = await asyncio.to_thread(self._choice.latest)
        except GistreadError as error:
            self._tell(Notice(str(error), is_problem=True))
            return
        if memory is not None and self._memory is None:
            self._memory = memory
            self._tell(MemoryOpened(memory))

    async def use_model(self, model: str) -> None:
        """Load this model in place of the one in use, and read the book with it. Returns before it is loaded."""
        async with self._switching:
            await self._drop_model(model)
            self._choice.model_changed()
            try:
                await self._models.choose_reading(model)
            except GistreadError as error:
                self._fail(error)
                return
            self._begin()

    async def use_asking_model(self, model: str) -> None:
        """Let this model answer from now on, loaded for the next question; the one that reads where it is empty."""
        async with self._switching:
            await self.asking.cancel()
            await self.making.hold()
            await self._models.choose_asking(model)
        if not self.making.paused:
            self._make_needs()
        self._tell(ActivityChanged())

    async def use_embedder(self, embedder: Embedder) -> None:
        """Search by meaning with this model from now on."""
        await self.asking.cancel()
        await self.making.hold()
        before, self._embedder = self._embedder, embedder
        self.asking.use_embedder(embedder)
        if before is not None:
            await before.close()
        self._make_on()

    async def use_no_model(self) -> None:
        """Read without a model. The memory stays on screen."""
        async with self._switching:
            await self._drop_model()
        self._tell(ActivityChanged())

    def presets(self) -> tuple[dict[str, Preset], list[str]]:
        """By name, and one line for each file of the person's that is none. Reads the disk."""
        return read_presets(self._presets)

    def memories(self) -> list[MemoryHeader]:
        """Of this book, those with a page at least. Reads the disk."""
        return self._choice.memories()

    async def use_focus(self, focus: GistFocus) -> None:
        """Read the book for this, beside the memories that there are."""
        await self._want(focus)

    async def use_memory(self, header: MemoryHeader) -> None:
        """Show this memory of the book, and read on in it where it is the model's own."""
        await self._want(header)

    async def _want(self, wanted: GistFocus | MemoryHeader) -> None:
        async with self._switching:
            await self.asking.cancel()
            await self._stop_starting()
            await self.making.forget()
            await self.reading.stop()
            if self._kept is not None:
                self._kept.close()
                self._kept = None
            self._choice.want(wanted)
            if isinstance(wanted, MemoryHeader):
                try:
                    self._memory = await asyncio.to_thread(self._choice.load, wanted)
                except GistreadError as error:
                    self._fail(error)
                    return
                self._tell(MemoryOpened(self._memory))
            if self.has_model:
                self._begin()

    def seconds_to_read(self) -> float | None:
        """How long it takes the model in use to read the whole book; None where nothing is known of its pace."""
        if (info := self.info) is None:
            return None
        empty = GistMemory(self.book, PageSize(1, 1), info.name)
        reading = ReadingMode(self._config.reading or DEFAULT_READING_MODE)
        expected = expected_pace(info, reading, self.reading.tokens_per_word)
        return estimate(empty, pace_of(self._memory or empty, expected)).seconds_left

    async def pause(self) -> None:
        """Stop the reading, the loading of the model, or what is made in the background."""
        if self.loading:
            await self._stop_starting()
            self._problem = "Loading was stopped."
        await self.reading.stop()
        await self.making.pause()
        self._tell(ActivityChanged())

    def resume(self) -> None:
        """Go on after a pause or an error; a model that is gone is loaded again."""
        if not self.has_model or self.loading or self._asked_apart or self.reading.state is ReadingState.RUNNING:
            return
        if self.making.paused:
            self._make_on()
        if self.reading.state is ReadingState.DONE:
            return
        if self.reading.state is ReadingState.OFFERED and self._kept is not None:
            self._choice.want(self._kept.memory.focus)
        self._begin()

    def question_obstacle(self) -> Obstacle | None:
        """Why a question cannot be asked now; None if it can."""
        if not self.has_model and not self._models.apart:
            return Obstacle.NO_MODEL
        if self.answering:
            return Obstacle.BUSY
        return self._memory_obstacle()

    def _memory_obstacle(self) -> Obstacle | None:
        nothing_read = self.asking.needs_memory and not (self._memory and self._memory.entries)
        if not self.loading and nothing_read and self.reading.state is not ReadingState.RUNNING:
            return Obstacle.NOTHING_READ if self.has_model else Obstacle.NO_READING_MODEL
        return None

    @property
    def answering(self) -> bool:
        """Whether a question is running."""
        return self.asking.running

    @property
    def steering(self) -> Steering:
        """Of the running or last question: change it to pin or refuse pages, or to stop look-ups."""
        return self.asking.steering

    @property
    def reader(self) -> str:
        """Name of the reader that answers the next question."""
        return self.asking.reader

    @property
    def building(self) -> bool:
        """Whether an artifact is being built."""
        return self.making.running

    async def cancel_question(self) -> None:
        """Stop the running question, if any; the answer so far stays."""
        await self.asking.cancel()

    async def drop_artifacts(self) -> None:
        """Stop building artifacts and forget which were wanted; what is built stays."""
        await self.making.forget()

    def start_question(self, question: str, pinned: set[int], here: int | None = None) -> None:
        """Ask over the pages read so far, at offset `here` of the book. Only when `question_obstacle` is None."""
        self.asking.start(question, pinned, self._ready, here)

    def build_artifacts(self, *names: str) -> Obstacle | None:
        """Build these artifacts in the background (names in `memory/artifacts.py`); why not, where that cannot be."""
        if not self.has_model:
            return Obstacle.NO_MODEL
        if self.loading:
            return Obstacle.LOADING
        if self._memory is None or not self._memory.entries:
            return Obstacle.NOTHING_READ
        self.making.want(*names)
        if not self.asking.running:
            self._make_on()
        return None

    async def use_reader(self, reader: str) -> None:
        """It answers the next question; what it needs is made instead of what the one before did."""
        self.asking.reader = reader
        await self.making.forget()
        if self.reading.state in (ReadingState.DONE, ReadingState.OFFERED) and not self.asking.running:
            self._make_needs()

    async def artifacts_left(self, *names: str) -> dict[str, RemainingWork]:
        """How much of these artifacts (by default of all that readers use) is still missing, by name.

        Empty where that cannot be known, without a model. An embedding model is not loaded for this.
        """
        unloaded = (Phase.STOPPED, Phase.LOADING, Phase.FAILED)
        loaded = self._embedder is not None and self._embedder.state.phase not in unloaded
        memory, models = self._memory, self._models.at_hand(self._embedder if loaded else None)
        if models is None or self.loading or memory is None:
            return {}
        try:
            wanted = names or [name for method in METHODS.values() for name in method.artifacts]
            return {name: await ARTIFACTS[name].remaining(memory, models) for name in dict.fromkeys(wanted)}
        except GistreadError:
            return {}

    @property
    def info(self) -> EngineInfo | None:
        """What is known of the model that reads; None before it is loaded."""
        return self._models.reading.info

    @property
    def _asked_apart(self) -> bool:
        """Whether a question is being answered by another model than the one that reads."""
        return not self._unasked.is_set()

    def _make_needs(self) -> None:
        """Begin with what the chosen reader needs, unless that is to wait for a question."""
        if self._config.prepare == "auto" and self._memory is not None and self._memory.complete:
            self.making.want(*METHODS[self.asking.reader].artifacts)
        if not self.asking.running:
            self._make_on()

    def _make_on(self) -> None:
        if self._memory is None or not self._memory.entries:
            return
        if (models := self._models.at_hand(self._embedder)) is not None:
            self.making.go_on(self._memory, models)
        elif self.making.wants and self.has_model and not self.loading:
            self._begin()  # It made room for the model that answers.

    async def seconds_to_build(self, name: str) -> float | None:
        """How long `make` of this will take; None where that cannot be told."""
        left = (await self.artifacts_left(name)).get(name)
        return left.seconds(self.info) if left is not None and self.info is not None else None

    async def close(self) -> None:
        """End everything. What was read is on disk already."""
        async with self._switching:
            await self.asking.cancel()
            await self._drop_model()
            await self._models.close()
            if self._embedder is not None:
                await self._embedder.close()

    def _begin(self) -> None:
        self._problem, self._waits = "", False
        self._starting = asyncio.create_task(self._start(), name="start model")
        self._tell(ActivityChanged())

    async def _start(self) -> None:
        try:
            await self._unasked.wait()
            engine = await self._models.load_reading()
            await self._unasked.wait()  # The memory that an answer rests on stays until it is whole.
            info = engine.info
            if self._kept is None:
                self._kept = await asyncio.to_thread(self._choice.open, info)
                if self._kept.notice:
                    self._tell(Notice(self._kept.notice))
            if self._choice.stays(self._memory, self._kept.memory):
                self.reading.offer()
                if offer := self._choice.offer(self._memory, info):
                    self._tell(Notice(offer))
                self._make_needs()
            else:
                self._read_on(engine)
        except GistreadError as error:
            self._fail(error)
        except Exception as error:
            self._tell(Crashed(error))
        self._tell(ActivityChanged())

    def _on_engine_state(self, state: EngineState) -> None:
        if state.phase is Phase.LOADING and state.notice and state.notice != self._engine_notice:
            self._tell(Notice(state.notice))  # the model's process was lost; a small model is back in no time
        self._engine_notice = state.notice
        self._tell(ActivityChanged())

    def _read_on(self, engine: Engine) -> None:
        """Show this model's own memory and let it read."""
        assert self._kept is not None
        if self._memory is not self._kept.memory:
            self._memory = self._kept.memory
            self._tell(MemoryOpened(self._memory))
        self.reading.start(self._kept, engine, self._make_needs, prepare_questions=not self._models.apart)

    def _fail(self, error: GistreadError) -> None:
        self._problem = error.message
        self._tell(Notice(str(error), is_problem=True))
        self._tell(ActivityChanged())

    async def _ready(self) -> tuple[GistMemory, Engine]:
        """A model and a memory with at least one page, waited for. Raises EngineError when they will not come."""
        while True:
            self._grown.clear()
            if self._memory_obstacle() or not (self.has_model or self._models.apart):
                raise EngineError(self._problem or self.reading.problem or "Nothing of this book has been read yet.")
            apart = self._models.apart
            memory = self._memory or (GistMemory(self.book, PAGE_SIZES["quality"], "") if apart else None)
            if memory is not None and (memory.entries or not self.asking.needs_memory):
                if apart:
                    return memory, await self._other_engine()
                if not self.loading:
                    # The reader makes what it needs itself, and sooner: nothing is to be made twice.
                    await self.making.hold()
                    return memory, await self._models.load_asking()
            await self._grown.wait()

    async def _other_engine(self) -> Engine:
        """That of the model for questions. What would take its cores waits until the question has ended."""
        self._unasked.clear()
        await self.making.hold()
        if self._models.share_cores:
            if self.loading:
                self._waits = True
                await self._stop_starting()
            await self.reading.hold()
        return await self._models.load_asking()

    def _go_on(self) -> None:
        """With what waited for the answer to a question."""
        self._unasked.set()
        if self._waits or self.reading.state is ReadingState.WAITING:
            self._begin()
        elif not self.making.paused:
            self._make_on()

    async def _drop_model(self, instead: str = "") -> None:
        """Let go of the model that reads. A question that another one answers, which stays, goes on."""
        asked = self._models.asking.spec if self._asked_apart else ""
        if not asked or await asyncio.to_thread(same_model, instead, asked):
            await self.asking.cancel()
        await self._stop_starting()
        await self.making.forget()
        await self.reading.stop(ReadingState.NO_MODEL)
        await self._models.reading.let_go()
        if self._kept is not None:
            self._kept.close()
            self._kept = None
        self._problem, self._waits = "", False

    async def _stop_starting(self) -> None:
        task, self._starting = self._starting, None
        if task is not None and not task.done():
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    def _tell(self, news: SessionEvent) -> None:
        if isinstance(news, PageRead | ActivityChanged):
            self._grown.set()
        self._listener(news)
        if isinstance(news, QuestionEnded):
            self._go_on()
