"""The models of a session: the one that reads, and the one that answers where that is another.

Each is loaded when it is first needed. Two on this machine share its memory: where both do not fit, the one that rests
is unloaded, and made anew when it is needed. What they are used for, and which goes first, is the session's affair.
"""

import asyncio
import contextlib
from collections.abc import Callable
from pathlib import Path

from gistread.config import Config
from gistread.engine.model_source import fits_in_memory, is_local, same_model
from gistread.engine.protocol import Embedder, Engine, EngineInfo, EngineState, Phase
from gistread.engine.remote.address import is_address
from gistread.errors import EngineError, GistreadError
from gistread.memory.artifacts import ArtifactModels

MakeEngine = Callable[[str], Engine]
"""A model's path or name becomes an engine that is not loaded yet. Called in a thread; raises GistreadError."""

_UNLOADED = (Phase.STOPPED, Phase.LOADING, Phase.FAILED)


def _nothing() -> None:
    pass


class ChosenModel:
    """A model by its name, and its engine while it has one. `let_go` has to be awaited."""

    def __init__(self, make_engine: MakeEngine, watch: Callable[[EngineState], None]) -> None:
        self._make_engine = make_engine
        self._watch = watch
        self._unwatch: Callable[[], None] = _nothing
        self.spec = ""
        """As it was chosen; empty: none is."""
        self.name = ""
        """For people."""
        self.engine: Engine | None = None
        """None as well while the model rests unloaded."""

    async def choose(self, spec: str) -> None:
        """This one from now on, in place of the one before. It is not loaded. Raises GistreadError."""
        await self.let_go()
        self.name = spec if is_address(spec) else Path(spec).stem
        await self._make(spec)
        self.spec = spec

    async def start(self) -> Engine:
        """Its engine, loaded. Raises GistreadError."""
        engine = self.engine or await self._make(self.spec)
        self.name = (await engine.start()).name
        return engine

    async def unload(self) -> None:
        """Free its memory; it stays chosen."""
        self._unwatch()
        self._unwatch = _nothing
        engine, self.engine = self.engine, None
        if engine is not None:
            await engine.close()

    async def let_go(self) -> None:
        """Of the model: none is chosen."""
        await self.unload()
        self.spec = self.name = ""

    @property
    def loaded(self) -> bool:
        return self.engine is not None and self.engine.state.phase not in _UNLOADED

    @property
    def info(self) -> EngineInfo | None:
        """None before it is loaded."""
        with contextlib.suppress(EngineError):
            return self.engine.info if self.engine else None
        return None

    @property
    def state(self) -> EngineState | None:
        """None: no model. One that was unloaded to make room is idle: it comes back by itself."""
        if self.engine is not None:
            return self.engine.state
        return EngineState(Phase.IDLE) if self.spec else None

    async def _make(self, spec: str) -> Engine:
        engine = await asyncio.to_thread(self._make_engine, spec)
        self.engine, self._unwatch = engine, engine.watch(self._watch)
        return engine


class ModelPair:
    """`makers`: of the engine that reads, and of the one that answers. `changed` is called with every state of either
    engine, `tell` with a line for the person."""

    def __init__(
        self,
        makers: tuple[MakeEngine, MakeEngine],
        config: Config,
        changed: Callable[[EngineState], None],
        tell: Callable[[str], None],
    ) -> None:
        self._config = config
        self._tell = tell
        self._wanted = ""
        self.reading = ChosenModel(makers[0], changed)
        self.asking = ChosenModel(makers[1], changed)
        """None is chosen where the one that reads answers, too."""

    @property
    def apart(self) -> bool:
        """Whether another model answers than the one that reads."""
        return bool(self.asking.spec)

    @property
    def share_cores(self) -> bool:
        """Whether one of two would slow the other down. Only those on this machine do."""
        return self.apart and is_local(self.reading.spec) and is_local(self.asking.spec)

    def at_hand(self, embedder: Embedder | None) -> ArtifactModels | None:
        """What is made of a memory with. None while the model that reads has no engine."""
        engine = self.reading.engine
        return ArtifactModels(engine, embedder, answers=not self.apart) if engine is not None else None

    async def choose_reading(self, spec: str) -> None:
        """Raises GistreadError when there is none of this name: none is chosen then."""
        await self.reading.let_go()
        wanted = self._wanted
        same = await asyncio.to_thread(same_model, wanted, spec) if wanted else True
        if same:
            await self.asking.let_go()
        elif not self.apart:
            await self.choose_asking(wanted)
        await self.reading.choose(spec)

    async def choose_asking(self, spec: str) -> None:
        """Empty: the one that reads. One that is not there is told of, and the one that reads answers."""
        self._wanted = spec
        await self.asking.let_go()
        if not spec or (self.reading.spec and await asyncio.to_thread(same_model, spec, self.reading.spec)):
            return
        try:
            await self.asking.choose(spec)
        except GistreadError as error:
            await self._answer_with_reading(error)

    async def load_reading(self) -> Engine:
        """Raises GistreadError."""
        return await self._load(self.reading, self.asking)

    async def load_asking(self) -> Engine:
        """The engine that answers: where the model for it cannot be loaded, that of the one that reads, which is told.

        Raises GistreadError.
        """
        if self.apart:
            try:
                return await self._load(self.asking, self.reading)
            except GistreadError as error:
                if not self.reading.spec:
                    raise
                await self._answer_with_reading(error)
        return await self.reading.start()

    async def close(self) -> None:
        await asyncio.gather(self.reading.let_go(), self.asking.let_go())

    async def _load(self, model: ChosenModel, other: ChosenModel) -> Engine:
        beside = other.loaded and is_local(model.spec) and is_local(other.spec)
        if beside and not model.loaded and not await asyncio.to_thread(fits_in_memory, model.spec, self._config):
            await self._make_room(model, other)
        try:
            return await model.start()
        except EngineError:
            # Room can only be estimated.
            if not (beside and other.loaded):
                raise
            await self._make_room(model, other)
            return await model.start()

    async def _make_room(self, model: ChosenModel, other: ChosenModel) -> None:
        self._tell(f"There is no room for both models: {other.name} is unloaded while {model.name} is at work.")
        await other.unload()

    async def _answer_with_reading(self, error: GistreadError) -> None:
        name, instead = self.asking.name, self.reading.name
        await self.asking.let_go()
        who = f"{instead} answers instead" if instead else "no model answers"
        self._tell(f"{name} cannot be used for questions, {who}: {error.message}")
