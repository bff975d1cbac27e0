"""Chooses between a model file and its requantized copy by their speed on this machine, measured once."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from gistread.config import FastWeights
from gistread.engine.llama.gguf import GgufHeader
from gistread.engine.llama.machine import gpu_maker
from gistread.engine.llama.measurements import MeasuredSetup, Measurement, Measurements
from gistread.engine.llama.messages import Loaded
from gistread.engine.llama.requantized_copy import (
    FAST,
    copy_obstacle,
    find_copy,
    is_small,
    may_lack_kernels,
    pop_interruption,
    remove_copy,
)
from gistread.engine.reading_cost import seconds_per_token
from gistread.errors import EngineError
from gistread.paths import MEASUREMENTS, WEIGHTS

_ORIGINAL = ""


@dataclass(frozen=True, slots=True)
class WorkerActions:
    load: Callable[[Path], Awaitable[Loaded]]  # Load a file, replacing the loaded model. Raises EngineError.
    measure: Callable[[], Awaitable[Measurement]]  # Measure the loaded model. Raises EngineError if the worker is lost.
    # Make a requantized copy in a folder, or None. Unloads the model.
    make_copy: Callable[[GgufHeader, Path], Awaitable[Path | None]]


@dataclass(frozen=True, slots=True)
class LoadedVariant:
    loaded: Loaded
    measured: Measurement  # A guess, without rates, if it was not measured
    weights: str  # For people: `Q4_1`, `Q8_0 copy of Q4_1`
    setup: MeasuredSetup | None = None  # To be measured; None if it has been


async def load_fastest(
    actions: WorkerActions, header: GgufHeader, cache: Path, fast_weights: FastWeights, *, measure: bool = False
) -> LoadedVariant:
    """Load the variant that reads a book fastest. Raises EngineError if none can be used.

    `measure`: measure unknown rates even if the choice does not depend on them.
    """
    return await _Selection(actions, header, cache, fast_weights, measure).run()


def faster_variant(original: Measurement, copy: Measurement) -> str:
    """The variant that reads a book faster: `FAST`, or empty for the original."""
    return FAST if _cost(copy) < _cost(original) else _ORIGINAL


def _cost(measured: Measurement) -> float:
    return seconds_per_token(measured.rates, measured.parallel) if measured.rates else float("inf")


class _Selection:
    def __init__(
        self, actions: WorkerActions, header: GgufHeader, cache: Path, fast_weights: FastWeights, measure: bool
    ) -> None:
        self._actions = actions
        self._header = header
        self._folder = cache / WEIGHTS
        self._measurements = Measurements(cache / MEASUREMENTS)
        self._allow_large = fast_weights == "always"
        self._may_copy = fast_weights != "never" and may_lack_kernels(header)
        self._measures = measure
        self._loaded: Loaded | None = None
        self._variant = _ORIGINAL
        self._stored: dict[str, Measurement] = {}  # By variant; also kept if the cache cannot be written
        self._machine: Loaded  # The last `Loaded`, which describes the machine; unset before the first load

    async def run(self) -> LoadedVariant:
        small = is_small(self._header)
        if self._may_copy and small and not self._measures and (adopted := await self._adopt_copy()):
            return self._chosen(adopted)
        loaded = await self._load_likely()
        may_copy = self._may_copy and not loaded.on_gpu
        compares = may_copy and not small and (self._allow_large or await self._has_copy())
        # On a graphics card measuring takes no time.
        measures = self._measures or compares or loaded.on_gpu
        original = self._known(_ORIGINAL) or (await self._measure_original() if measures else None)
        if original is None:
            return self._chosen(loaded)
        best = _ORIGINAL
        # Without a measurement the copy cannot be compared.
        if may_copy and original.rates:
            copy = await self._copy(original)
            if copy is not None:
                best = faster_variant(original, copy)
                if not best:
                    await asyncio.to_thread(remove_copy, self._header, self._folder)
        try:
            loaded = await self._load(best)
        except EngineError:
            if not best:
                raise
            await self._reject_copy()
            loaded = await self._load(_ORIGINAL)
        return self._chosen(loaded)

    async def _adopt_copy(self) -> Loaded | None:
        """Load the copy, made if needed; None if it is slower or cannot be made."""
        latest = self._latest()
        useless = FAST in latest and not faster_variant(latest.get(_ORIGINAL, Measurement(None, 1)), latest[FAST])
        if useless or gpu_maker():
            loaded = await self._load(_ORIGINAL)
            if loaded.on_gpu or (useless and self._known(FAST)):
                return None
        if not await self._has_copy() and await self._obstacle():
            return None
        with contextlib.suppress(EngineError):
            if await self._has_copy() or await self._make_copy():
                return await self._load(FAST)
        await self._reject_copy()
        return None

    async def _has_copy(self) -> bool:
        return await asyncio.to_thread(find_copy, self._header, self._folder) is not None

    async def _obstacle(self) -> str:
        # A run that is killed again and again must not spend all its time on copies.
        if await asyncio.to_thread(pop_interruption, self._header, self._folder):
            return "the last attempt was interrupted"
        return await asyncio.to_thread(copy_obstacle, self._header, self._folder, allow_large=self._allow_large)

    def _chosen(self, loaded: Loaded) -> LoadedVariant:
        known = self._known(self._variant)
        quantization = self._header.quantization
        weights = f"{self._variant} copy of {quantization}" if self._variant else quantization
        setup = None if known or self._measures else self._setup(self._variant)
        return LoadedVariant(loaded, known or Measurement(None, loaded.parallel), weights, setup)

    async def _make_copy(self) -> bool:
        self._loaded = None  # Unload the model, whose spinning threads would slow down the conversion.
        return await self._actions.make_copy(self._header, self._folder) is not None

    async def _reject_copy(self) -> None:
        """Remove the copy and do not make it again on this machine, which only a loaded model identifies."""
        await self._load(_ORIGINAL)
        self._store(FAST, Measurement(None, 1))
        await asyncio.to_thread(remove_copy, self._header, self._folder)

    async def _load_likely(self) -> Loaded:
        """Load the variant used last."""
        latest = self._latest()
        if self._may_copy and {_ORIGINAL, FAST} <= latest.keys() and faster_variant(latest[_ORIGINAL], latest[FAST]):
            try:
                return await self._load(FAST)
            except EngineError:
                await asyncio.to_thread(remove_copy, self._header, self._folder)
        return await self._load(_ORIGINAL)

    async def _copy(self, original: Measurement) -> Measurement | None:
        """Make and measure the copy if needed and return its measurement; None if that is impossible now."""
        known = self._known(FAST)
        if known is not None and not faster_variant(original, known):
            return known
        if not await self._has_copy():
            if await self._obstacle():
                return None
            if not await self._make_copy():
                return self._store(FAST, Measurement(None, 1))
        if known is not None:
            return known
        try:
            await self._load(FAST)
            measured = await self._actions.measure()
        except EngineError:
            self._loaded = None
            return self._store(FAST, Measurement(None, 1))
        return self._store(FAST, measured) if measured.rates else None

    async def _measure_original(self) -> Measurement:
        loaded = await self._load(_ORIGINAL)
        try:
            measured = await self._actions.measure()
        except EngineError:  # The worker died while measuring; the model may still be usable.
            self._loaded = None
            return self._store(_ORIGINAL, Measurement(None, loaded.parallel))
        return self._store(_ORIGINAL, measured) if measured.rates else measured

    async def _load(self, variant: str) -> Loaded:
        if self._loaded is None or self._variant != variant:
            path = self._header.path
            if variant:
                found = await asyncio.to_thread(find_copy, self._header, self._folder)
                if found is None:
                    raise EngineError(f"The copy of {path.name} was removed.")
                path = found
            self._loaded = None
            self._loaded = self._machine = await self._actions.load(path)
            self._variant = variant
        return self._loaded

    def _latest(self) -> dict[str, Measurement]:
        """The latest measurement of each variant in any setup."""
        known = self._measurements.of_model(self._header.fingerprint)
        return {setup.variant: measured for setup, measured in known.items()}

    def _known(self, variant: str) -> Measurement | None:
        return self._measurements.of(self._setup(variant)) or self._stored.get(variant)

    def _store(self, variant: str, measured: Measurement) -> Measurement:
        self._stored[variant] = measured
        self._measurements.store(self._setup(variant), measured)
        return measured

    def _setup(self, variant: str) -> MeasuredSetup:
        machine = self._machine
        return MeasuredSetup(self._header.fingerprint, variant, machine.device, machine.threads, machine.library)
