"""One open book and the model that reads it: everything that goes on behind the screen.

Owns the engine, the memory that is kept, the reading task and the asking task, and tells a listener what
happens. Knows no widgets; a test or another front can drive it. All in one event loop: the listener is called
at once and must be quick.
"""

import asyncio
import contextlib
from collections.abc import Callable
from pathlib import Path

from gistread.book.model import Book
from gistread.config import Config
from gistread.engine.protocol import Embedder, Engine, EngineInfo, EngineState, Phase
from gistread.errors import EngineError, GistreadError
from gistread.memory.aim import Aim
from gistread.memory.choosing import aim_to_go_on_with
from gistread.memory.estimate import Left, estimate, expected_pace, pace_of
from gistread.memory.kept import KeptMemory, MemoryHeader
from gistread.memory.model import DEFAULT_READING, GistMemory, PageSize
from gistread.memory.model import Reading as ReadingMode
from gistread.memory.needs import NEEDS, Models
from gistread.memory.sizes import choose_sizes
from gistread.memory.store import MemoryStore
from gistread.presets import Preset, read_presets
from gistread.readers.registry import METHODS
from gistread.tui.asking_task import AskingTask
from gistread.tui.making_task import MakingTask
from gistread.tui.news import (
    Activity,
    ActivityChanged,
    Crashed,
    MemoryOpened,
    News,
    Notice,
    PageRead,
    QuestionEnded,
    Reading,
)
from gistread.tui.reading_task import ReadingTask

MakeEngine = Callable[[str], Engine]
"""A model's path or name becomes an engine that is not loaded yet. Called in a thread; raises GistreadError."""


class Session:
    """Made cheap; `use_model` begins."""

    def __init__(
        self,
        book: Book,
        store: MemoryStore,
        config: Config,
        make_engine: MakeEngine,
        tell: Callable[[News], None],
        embedder: Embedder | None = None,
        *,
        presets: Path,
    ) -> None:
        """`embedder`: for readers that search by meaning; it is loaded when one first does, and closed with this.
        `presets`: the folder of the person's own."""
        self.book = book
        self._store = store
        self._config = config
        self._presets = presets
        self._wanted: Aim | MemoryHeader | None = None
        """What the person chose to read the book for, or which memory to see."""
        self._insists = False
        """They chose it for the model in use."""
        self._make_engine = make_engine
        self._listener = tell
        self._engine: Engine | None = None
        self._embedder = embedder
        self._unwatch: Callable[[], None] = lambda: None
        self._starting: asyncio.Task[None] | None = None
        self._switching = asyncio.Lock()
        self._kept: KeptMemory | None = None
        self._memory: GistMemory | None = None
        self._model_name = ""
        self._problem = ""
        self._engine_notice = ""
        self._grown = asyncio.Event()
        self.reading = ReadingTask(self._tell)
        self.asking = AskingTask(self._tell, config.max_pages, config.reader, embedder)
        self.making = MakingTask(self._tell)

    @property
    def memory(self) -> GistMemory | None:
        """The memory to show: the open one, or one found on disk from another time."""
        return self._memory

    @property
    def has_model(self) -> bool:
        return self._engine is not None

    @property
    def loading(self) -> bool:
        return self._starting is not None and not self._starting.done()

    @property
    def busy(self) -> bool:
        """Whether there is something in the background that the person can pause."""
        return self.loading or self.reading.state is Reading.RUNNING or self.making.running

    @property
    def activity(self) -> Activity:
        """What goes on at this moment."""
        state: EngineState | None = self._engine.state if self._engine else None
        device = ""
        if self._engine and state and state.phase not in (Phase.LOADING, Phase.STOPPED, Phase.FAILED):
            with contextlib.suppress(EngineError):
                device = self._engine.info.device
        return Activity(
            model=self._model_name,
            device=device,
            engine=state,
            reading=self.reading.state,
            pages_read=len(self._memory.entries) if self._memory else 0,
            pages_total=self._memory.estimated_pages if self._memory else 0,
            seconds_left=self.reading.seconds_left,
            asking=self.asking.state,
            making=self.making.making,
            problem=self._problem or self.reading.problem,
        )

    async def show_kept_memory(self) -> None:
        """Without a model: show what was read of this book at another time, if anything was."""
        try:
            memory = await asyncio.to_thread(_latest, self._store, self.book)
        except GistreadError as error:
            self._tell(Notice(str(error), is_problem=True))
            return
        if memory is not None and self._memory is None:
            self._memory = memory
            self._tell(MemoryOpened(memory))

    async def use_model(self, model: str) -> None:
        """Load this model in place of the one in use, and read the book with it. Returns before it is loaded."""
        async with self._switching:
            await self._drop_model()
            self._model_name, self._insists = Path(model).stem, False
            try:
                self._engine = await asyncio.to_thread(self._make_engine, model)
            except GistreadError as error:
                self._fail(error)
                return
            self._unwatch = self._engine.watch(self._on_engine_state)
            self._begin()

    async def use_no_model(self) -> None:
        """Read without a model. The memory stays on screen."""
        async with self._switching:
            await self._drop_model()
        self._tell(ActivityChanged())

    def presets(self) -> tuple[dict[str, Preset], list[str]]:
        """Those that there are, by name, and one line for each file of the person's that is none. Reads the disk."""
        return read_presets(self._presets)

    def memories(self) -> list[MemoryHeader]:
        """Of this book, those with a page at least. Reads the disk."""
        return [header for header in self._store.find(self.book) if header.pages]

    async def use_aim(self, aim: Aim) -> None:
        """Read the book for this, beside the memories that there are."""
        await self._want(aim)

    async def use_memory(self, header: MemoryHeader) -> None:
        """Show this memory of the book, and read on in it where it is the model's own."""
        await self._want(header)

    async def _want(self, wanted: Aim | MemoryHeader) -> None:
        async with self._switching:
            await self._stop_starting()
            await self.asking.cancel()
            await self.making.forget()
            await self.reading.stop()
            if self._kept is not None:
                self._kept.close()
                self._kept = None
            self._wanted, self._insists = wanted, True
            if isinstance(wanted, MemoryHeader):
                try:
                    self._memory = await asyncio.to_thread(self._store.load, self.book, wanted)
                except GistreadError as error:
                    self._fail(error)
                    return
                self._tell(MemoryOpened(self._memory))
            if self._engine is not None:
                self._begin()

    def seconds_to_read(self) -> float | None:
        """How long it takes the model in use to read the whole book; None where nothing is known of its pace."""
        if (info := self.info) is None:
            return None
        empty = GistMemory(self.book, PageSize(1, 1), info.name)
        expected = expected_pace(info, ReadingMode(self._config.reading or DEFAULT_READING))
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
        if self._engine is None or self.loading or self.reading.state is Reading.RUNNING:
            return
        if self.making.paused:
            self._make_on()
        if self.reading.state is Reading.DONE:
            return
        if self.reading.state is Reading.OFFERED and self._kept is not None:
            self._wanted = self._kept.memory.aim
            self._read_on()
        else:
            self._begin()

    def why_not_ask(self) -> str:
        """What the person has to do before they can ask; empty when they can."""
        if self._engine is None:
            return "There is no model yet: press m to choose one."
        nothing_read = self.asking.needs_memory and not (self._memory and self._memory.entries)
        if not self.loading and nothing_read and self.reading.state is not Reading.RUNNING:
            return "No page has been read yet: press r to let the model read."
        return ""

    def ask(self, question: str, pinned: set[int], here: int | None = None) -> None:
        """Ask over what has been read so far, at this offset. Only when `why_not_ask` is empty and none is running."""
        self.asking.start(question, pinned, self._ready, here)

    def make(self, *names: str) -> str:
        """Make these things of the memory in the background, by their names in `memory/needs.py`; what the person has
        to do before that can begin, empty where it has begun."""
        if self._engine is None:
            return "There is no model yet: press m to choose one."
        if self.loading:
            return "The model is still being loaded."
        if self._memory is None or not self._memory.entries:
            return "No page has been read yet: press r to let the model read."
        self.making.want(*names)
        if not self.asking.running:
            self._make_on()
        return ""

    async def use_reader(self, reader: str) -> None:
        """It answers the next question; what it needs is made instead of what the one before did."""
        self.asking.reader = reader
        await self.making.forget()
        if self._idle:
            self._make_needs()

    async def left_to_make(self) -> dict[str, Left]:
        """Of everything that a reader may need how much is missing, by the names of `memory/needs.py`.

        Empty where that cannot be known, without a model. An embedding model is not loaded for this.
        """
        if self._engine is None or self.loading or self._memory is None:
            return {}
        unloaded = (Phase.STOPPED, Phase.LOADING, Phase.FAILED)
        loaded = self._embedder is not None and self._embedder.state.phase not in unloaded
        memory, models = self._memory, Models(self._engine, self._embedder if loaded else None)
        try:
            names = dict.fromkeys(name for method in METHODS.values() for name in method.needs)
            return {name: await NEEDS[name].left(memory, models) for name in names}
        except GistreadError:
            return {}

    @property
    def info(self) -> EngineInfo | None:
        """What is known of the model in use; None before it is loaded."""
        with contextlib.suppress(EngineError):
            return self._engine.info if self._engine else None
        return None

    @property
    def _idle(self) -> bool:
        """Whether all that can be read has been read, and nobody waits."""
        return self.reading.state in (Reading.DONE, Reading.OFFERED) and not self.asking.running

    def _make_needs(self) -> None:
        """Begin with what the chosen reader needs, unless that is to wait for a question."""
        if self._config.prepare == "auto" and self._memory is not None and self._memory.complete:
            self.making.want(*METHODS[self.asking.reader].needs)
            if not self.asking.running:
                self._make_on()

    def _make_on(self) -> None:
        if self._engine is not None and self._memory is not None and self._memory.entries:
            self.making.go_on(self._memory, Models(self._engine, self._embedder))

    async def seconds_to_make(self, name: str) -> float | None:
        """How long `make` of this will take; None where that cannot be told."""
        if self._engine is None or self._memory is None or self.loading or (info := self.info) is None:
            return None
        try:
            return (await NEEDS[name].left(self._memory, Models(self._engine))).seconds(info)
        except GistreadError:
            return None

    async def close(self) -> None:
        """End everything. What was read is on disk already."""
        async with self._switching:
            await self._drop_model()
            if self._embedder is not None:
                await self._embedder.close()

    def _begin(self) -> None:
        assert self._engine is not None
        self._problem = ""
        self._starting = asyncio.create_task(self._start(self._engine), name="start model")
        self._tell(ActivityChanged())

    async def _start(self, engine: Engine) -> None:
        try:
            info = await engine.start()
            self._model_name = info.name
            if self._kept is None:
                self._kept = await asyncio.to_thread(self._open_memory, info)
                if self._kept.notice:
                    self._tell(Notice(self._kept.notice))
            if self._is_shown_for_itself(self._kept.memory):
                # Any model can be asked over a memory (design D5); reading the book anew may take hours.
                self.reading.offer()
                self._make_needs()
            else:
                self._read_on()
        except GistreadError as error:
            self._fail(error)
        except Exception as error:
            self._tell(Crashed(error))
        self._tell(ActivityChanged())

    def _is_shown_for_itself(self, own: GistMemory) -> bool:
        """Whether a memory is on screen that is not this model's own (or not that of these settings) and is to stay."""
        shown = self._memory
        match self._wanted:
            case MemoryHeader() as header:
                return not header.describes(own)
            case Aim() if self._insists:
                return False
        return shown is not None and shown.complete and not own.entries

    def _on_engine_state(self, state: EngineState) -> None:
        if state.phase is Phase.LOADING and state.notice and state.notice != self._engine_notice:
            self._tell(Notice(state.notice))  # the model's process was lost; a small model is back in no time
        self._engine_notice = state.notice
        self._tell(ActivityChanged())

    def _read_on(self) -> None:
        """Show this model's own memory and let it read."""
        assert self._kept is not None
        assert self._engine is not None
        if self._memory is not self._kept.memory:
            self._memory = self._kept.memory
            self._tell(MemoryOpened(self._memory))
        self.reading.start(self._kept, self._engine, self._make_needs)

    def _fail(self, error: GistreadError) -> None:
        self._problem = error.message
        self._tell(Notice(str(error), is_problem=True))
        self._tell(ActivityChanged())

    def _open_memory(self, info: EngineInfo) -> KeptMemory:
        sizes = choose_sizes(
            self.book, info.context_tokens, min_words=self._config.min_words, max_words=self._config.max_words
        )
        match self._wanted:
            case MemoryHeader(fingerprint=info.fingerprint) as header:
                if (kept := self._store.reopen(self.book, header, sizes)) is not None:
                    return kept
                aim = header.aim
            case MemoryHeader(aim=aim) | (Aim() as aim):
                pass
            case None:
                aim = aim_to_go_on_with(self._config.preset, self._presets, self.book, self._store, info.fingerprint)
        reading = ReadingMode(self._config.reading or DEFAULT_READING)
        return self._store.open(self.book, info.name, info.fingerprint, sizes, reading, aim=aim)

    async def _ready(self) -> tuple[GistMemory, Engine]:
        """A model and a memory with at least one page, waited for. Raises EngineError when they will not come."""
        while True:
            self._grown.clear()
            if reason := self.why_not_ask():
                raise EngineError(self._problem or self.reading.problem or reason)
            enough = self._memory and (self._memory.entries or not self.asking.needs_memory)
            if enough and not self.loading and self._memory and self._engine:
                # The reader makes what it needs itself, and sooner: nothing is to be made twice.
                await self.making.hold()
                return self._memory, self._engine
            await self._grown.wait()

    async def _drop_model(self) -> None:
        await self._stop_starting()
        await self.asking.cancel()
        await self.making.forget()
        await self.reading.stop(Reading.NONE)
        self._unwatch()
        engine, self._engine = self._engine, None
        if engine is not None:
            await engine.close()
        if self._kept is not None:
            self._kept.close()
            self._kept = None
        self._model_name = self._problem = ""

    async def _stop_starting(self) -> None:
        task, self._starting = self._starting, None
        if task is not None and not task.done():
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    def _tell(self, news: News) -> None:
        if isinstance(news, PageRead | ActivityChanged):
            self._grown.set()
        self._listener(news)
        if isinstance(news, QuestionEnded) and not self.making.paused:
            self._make_on()


def _latest(store: MemoryStore, book: Book) -> GistMemory | None:
    """The memory of this book that got furthest."""
    found = store.find(book)
    return store.load(book, found[0]) if found and found[0].pages else None
