"""The models of a session: one reads, and it or another one answers.

If memory is short, they take turns.
"""

import asyncio
import contextlib
import contextvars
from collections.abc import Awaitable, Callable
from pathlib import Path

from gistread.config import Config
from gistread.engine.llama.library import installed_version
from gistread.engine.models import (
    default_spec,
    find_source,
    fits_in_memory,
    naming_setting,
    new_engine,
    same_model,
)
from gistread.engine.protocol import Engine, EngineInfo, EngineState, Phase
from gistread.engine.remote.address import is_address
from gistread.errors import EngineError, GistreadError
from gistread.memory.check_results import CheckResult, CheckResults
from gistread.memory.model_check import check_answering, check_model
from gistread.paths import Paths
from gistread.session.events import ActivityChanged, ModelLoaded, Notice, SessionEvent

# Returns an unloaded engine for a model's path or name. Called in a thread; raises GistreadError.
MakeEngine = Callable[[str], Engine]

# Time without work after which models are unloaded; they are loaded again when needed
IDLE_S = 900.0
UNLOADED = (Phase.STOPPED, Phase.LOADING, Phase.FAILED)


def _both_local(model: "ChosenModel", other: "ChosenModel") -> bool:
    """Whether both run on this machine."""
    return not is_address(model.spec) and not is_address(other.spec)


def engine_maker(config: Config, paths: Paths) -> MakeEngine:
    return lambda spec: new_engine(find_source(spec), config, paths)


class ChosenModel:
    """A chosen model and, while it is loaded, its engine. Await `clear` at the end."""

    def __init__(
        self, make_engine: MakeEngine, watch: Callable[[EngineState], None]
    ) -> None:
        self._make_engine = make_engine
        self._watch = watch
        self._unwatch: Callable[[], None] = lambda: None
        self.spec = ""  # The path, name or address chosen; empty if none
        self.name = ""  # The name to show
        self.engine: Engine | None = None  # None also while the model is unloaded

    async def choose(self, spec: str) -> None:
        """Choose this model without loading it. Raises GistreadError."""
        await self.clear()
        self.name = spec if is_address(spec) else Path(spec).stem
        await self._make(spec)
        self.spec = spec

    async def start(self) -> Engine:
        """Load the model if necessary and return its engine. Raises GistreadError."""
        engine = self.engine or await self._make(self.spec)
        self.name = (await engine.start()).name
        return engine

    async def unload(self) -> None:
        """Close the engine; the model stays chosen."""
        self._unwatch()
        self._unwatch = lambda: None
        engine = self.engine
        self.engine = None
        if engine is not None:
            await engine.close()

    async def clear(self) -> None:
        await self.unload()
        self.spec = ""
        self.name = ""

    @property
    def loaded(self) -> bool:
        return self.engine is not None and self.engine.state.phase not in UNLOADED

    @property
    def info(self) -> EngineInfo | None:
        """None while the model is not loaded."""
        if self.engine is None:
            return None
        try:
            return self.engine.info
        except EngineError:
            return None

    @property
    def state(self) -> EngineState | None:
        """None without a model.

        An unloaded model counts as idle, since it is reloaded automatically.
        """
        if self.engine is not None:
            return self.engine.state
        if not self.spec:
            return None
        return EngineState(Phase.IDLE)

    async def _make(self, spec: str) -> Engine:
        engine = await asyncio.to_thread(self._make_engine, spec)
        self._unwatch = engine.watch(self._watch)
        self.engine = engine
        return engine


class ModelChecks:
    """The results of model checks, stored or obtained when needed.

    Remote models are not checked.
    """

    def __init__(self, paths: Paths) -> None:
        self._results = CheckResults(paths, installed_version())
        # Of brief checks, by fingerprint; None: too slow to check
        self._brief: dict[str, CheckResult | None] = {}

    async def check(self, model: ChosenModel) -> CheckResult | None:
        """Check a model that was not checked before; None if there is nothing to check.

        Raises EngineError.
        """
        engine = model.engine
        if engine is None or engine.info.placement is None:
            return None
        if await self.stored(engine.info) is not None:
            return None
        result = await check_model(engine)
        # The list of models finds the result by the file.
        file: Path | None = None
        with contextlib.suppress(EngineError):
            source = await asyncio.to_thread(find_source, model.spec)
            file = source.path
        fingerprint = engine.info.fingerprint
        await asyncio.to_thread(self._results.save, fingerprint, file, result)
        return result

    async def for_answer(
        self, engine: Engine, begin: Callable[[], None]
    ) -> CheckResult | None:
        """The result that a reader needs: stored, or of a brief check now, which `begin` announces.

        None if the model is remote, or too slow to check.
        """
        stored = await self.stored(engine.info)
        if stored is not None:
            return stored
        fingerprint = engine.info.fingerprint
        is_local = engine.info.placement is not None
        if is_local and fingerprint not in self._brief:
            begin()
            self._brief[fingerprint] = await check_answering(engine)
        return self._brief.get(fingerprint)

    async def stored(self, info: EngineInfo) -> CheckResult | None:
        return await asyncio.to_thread(self._results.get, info.fingerprint)


class ModelPair:
    """The model that reads and the one that answers, often the same."""

    def __init__(
        self,
        make_engine: MakeEngine,
        config: Config,
        emit: Callable[[SessionEvent], None],
    ) -> None:
        self._config = config
        self._emit = emit
        # As chosen, also if it is the reading model, so that `asking` has none
        self._asking_spec = ""
        self._falls_back = True  # See `choose_asking`
        self._fault = ""  # Of the last state
        self._unloading: asyncio.TimerHandle | None = None
        self.reading = ChosenModel(make_engine, self._on_state)
        # Not chosen if the reading model also answers
        self.asking = ChosenModel(make_engine, self._on_state)

    @property
    def apart(self) -> bool:
        """Whether questions have a model of their own."""
        return bool(self.asking.spec)

    @property
    def answering(self) -> ChosenModel:
        return self.asking if self.apart else self.reading

    @property
    def share_cores(self) -> bool:
        """Whether two models work on this machine."""
        return self.apart and _both_local(self.reading, self.asking)

    async def choose(self, model: str, asking_model: str) -> None:
        """Choose both by name; empty: by the settings, or the only model.

        With only `model`, it reads and answers.
        """
        asking = asking_model
        if not asking and not model:
            asking = self._config.asking_model
        no_reading_model: EngineError | None = None
        try:
            if model:
                await self.choose_reading(model)
            else:
                await self._choose_usual_reading()
        except EngineError as error:
            # A model to answer is enough, unless one to read was named.
            if model or not asking:
                raise
            no_reading_model = error
        await self.choose_asking(asking, falls_back=not asking_model)
        if no_reading_model and not self.apart:
            raise no_reading_model

    async def _choose_usual_reading(self) -> None:
        """Choose the reading model of the settings, or the only one. Raises GistreadError."""
        with naming_setting(self._config.model):
            spec = self._config.model or await asyncio.to_thread(default_spec)
            await self.choose_reading(spec)

    async def choose_reading(self, spec: str) -> None:
        """Choose the reading model.

        Raises GistreadError, leaving none chosen, if it does not exist.
        """
        await self.reading.clear()
        asking_spec = self._asking_spec
        if not asking_spec or await asyncio.to_thread(same_model, asking_spec, spec):
            await self.asking.clear()
        elif not self.apart:
            # So far the reading model was the one chosen to answer.
            await self.choose_asking(asking_spec, falls_back=self._falls_back)
        await self.reading.choose(spec)

    async def choose_asking(self, spec: str, *, falls_back: bool = True) -> None:
        """Choose the answering model; empty: the reading model.

        `falls_back`: if it cannot be used, the reading model answers; otherwise raises
        GistreadError.
        """
        self._asking_spec = spec
        self._falls_back = falls_back
        await self.asking.clear()
        if not spec:
            return
        if self.reading.spec:
            is_same = await asyncio.to_thread(same_model, spec, self.reading.spec)
            if is_same:
                return
        try:
            await self.asking.choose(spec)
        except GistreadError as error:
            await self._fall_back(error)

    async def load_reading(self) -> Engine:
        """Load the reading model. Raises GistreadError."""
        return await self._load(self.reading, self.asking)

    async def load_asking(self) -> Engine:
        """Load the answering model or its fallback.

        Raises GistreadError if neither can be loaded.
        """
        if self.apart:
            try:
                return await self._load(self.asking, self.reading)
            except GistreadError as error:
                if not self.reading.spec:
                    raise
                await self._fall_back(error)
        return await self._load(self.reading, self.asking)

    def unload_later(
        self, post: Callable[[Callable[[], Awaitable[None]]], None], *, in_use: bool
    ) -> None:
        """Post `unload_idle` as a command after `IDLE_S`, unless a model is in use now.

        `post` queues a command. Call it whenever the use may have changed.
        """
        self.unload_never()
        if in_use:
            return
        # A cancelled timer keeps its context until its time, and with the present one a whole
        # screen.
        context = contextvars.Context()
        loop = asyncio.get_running_loop()
        self._unloading = loop.call_later(
            IDLE_S, post, self.unload_idle, context=context
        )

    def unload_never(self) -> None:
        """Cancel `unload_later`."""
        if self._unloading is not None:
            self._unloading.cancel()
            self._unloading = None

    async def unload_idle(self) -> None:
        """Unload the idle models on this machine."""
        for model in (self.reading, self.asking):
            if model.engine is None or is_address(model.spec):
                continue
            # A model may still be loading.
            if model.engine.state.phase is Phase.IDLE:
                await model.unload()
        self._emit(ActivityChanged())

    async def close(self) -> None:
        await asyncio.gather(self.reading.clear(), self.asking.clear())

    async def _load(self, model: ChosenModel, other: ChosenModel) -> Engine:
        """Load `model`; unload `other` if memory is short. Raises GistreadError."""
        was_loaded = model.loaded
        shares_memory = other.loaded and _both_local(model, other)
        if shares_memory and not was_loaded:
            fits = await asyncio.to_thread(fits_in_memory, model.spec)
            if not fits:
                await self._make_room(model, other)
        try:
            engine = await model.start()
        except EngineError:
            # The memory needed is only an estimate.
            if not shares_memory or not other.loaded:
                raise
            await self._make_room(model, other)
            engine = await model.start()
        if not was_loaded:
            self._emit(ModelLoaded(engine.info, engine.state))
        return engine

    async def _make_room(self, model: ChosenModel, other: ChosenModel) -> None:
        """Unload the other model, and tell the user."""
        problem = f"{model.name} and {other.name} do not fit into memory together"
        notice = (
            f"{problem}: {other.name} is unloaded for now. Use smaller models to keep both "
            "loaded."
        )
        self._emit(Notice(notice))
        await other.unload()

    async def _fall_back(self, error: GistreadError) -> None:
        """Let the reading model answer, or raise the error if no fallback is wanted."""
        if not self._falls_back:
            raise error
        name = self.asking.name
        substitute = self.reading.name
        await self.asking.clear()
        result = f"{substitute} answers instead" if substitute else "no model answers"
        problem = f"{name} cannot be used for questions, {result}: {error.message}"
        self._emit(Notice(problem))

    def _on_state(self, state: EngineState) -> None:
        # The seconds until the next attempt change, but not what failed.
        if state.fault and state.fault != self._fault:
            self._emit(Notice(state.notice))
        self._fault = state.fault
        self._emit(ActivityChanged())
