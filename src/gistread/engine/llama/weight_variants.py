"""Chooses between a model file and its requantized copy by their speed on this machine, measured once."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from gistread.config import FastWeights
from gistread.engine.llama.gguf import GgufHeader
from gistread.engine.llama.measurements import MeasuredSetup, Measurement, Measurements
from gistread.engine.llama.messages import Loaded
from gistread.engine.llama.requantized_copy import FAST, find_copy, may_pay, obstacle, remove_copy
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
    measured: Measurement
    weights: str  # For people: `Q4_1`, `Q8_0 copy of Q4_1`


async def load_fastest(
    actions: WorkerActions, header: GgufHeader, cache: Path, fast_weights: FastWeights
) -> LoadedVariant:
    """Load the variant that reads a book fastest, measuring what is unknown. Raises EngineError if none can be used."""
    return await _Selection(actions, header, cache, fast_weights).run()


def faster_variant(original: Measurement, copy: Measurement) -> str:
    """The variant that reads a book faster: `FAST`, or empty for the original."""
    return FAST if _cost(copy) < _cost(original) else _ORIGINAL


def _cost(measured: Measurement) -> float:
    return seconds_per_token(measured.rates, measured.parallel) if measured.rates else float("inf")


class _Selection:
    def __init__(self, actions: WorkerActions, header: GgufHeader, cache: Path, fast_weights: FastWeights) -> None:
        self._actions = actions
        self._header = header
        self._folder = cache / WEIGHTS
        self._measurements = Measurements(cache / MEASUREMENTS)
        self._allow_large = fast_weights == "always"
        self._may_copy = fast_weights != "never" and may_pay(header)
        self._loaded: Loaded | None = None
        self._variant = _ORIGINAL
        self._machine: Loaded  # The last `Loaded`, which describes the machine; set once anything was loaded

    async def run(self) -> LoadedVariant:
        loaded = await self._load_likely()
        original = self._known(_ORIGINAL) or await self._measure_original()
        best, measured = _ORIGINAL, original
        # Without a measurement there is nothing to compare.
        if self._may_copy and not loaded.on_gpu and original.rates:
            copy = await self._copy(original)
            if copy is not None:
                best = faster_variant(original, copy)
                measured = copy if best else original
                if not best:
                    await asyncio.to_thread(remove_copy, self._header, self._folder)
        try:
            loaded = await self._load(best)
        except EngineError:
            if not best:
                raise
            self._store(FAST, Measurement(None, 1))
            await asyncio.to_thread(remove_copy, self._header, self._folder)
            best, measured, loaded = _ORIGINAL, original, await self._load(_ORIGINAL)
        quantization = self._header.quantization
        return LoadedVariant(loaded, measured, f"{best} copy of {quantization}" if best else quantization)

    async def _load_likely(self) -> Loaded:
        """Load the variant used last. Only a worker that has loaded a model can identify the machine."""
        known = self._measurements.of_model(self._header.fingerprint)
        latest = {setup.variant: measured for setup, measured in known.items()}
        if self._may_copy and {_ORIGINAL, FAST} <= latest.keys() and faster_variant(latest[_ORIGINAL], latest[FAST]):
            try:
                return await self._load(FAST)
            except EngineError:
                await asyncio.to_thread(remove_copy, self._header, self._folder)
        return await self._load(_ORIGINAL)

    async def _copy(self, original: Measurement) -> Measurement | None:
        """Measurement of the copy, which is made and measured if needed. None if it cannot be had now."""
        known = self._known(FAST)
        if known is not None and not faster_variant(original, known):
            return known
        if not await asyncio.to_thread(find_copy, self._header, self._folder):
            if await asyncio.to_thread(obstacle, self._header, self._folder, allow_large=self._allow_large):
                return None
            self._loaded = None  # Converting beside a loaded model would take longer: ggml's threads spin.
            if not await self._actions.make_copy(self._header, self._folder):
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
        except EngineError:  # The measurement lost the worker; the model may still be usable.
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

    def _known(self, variant: str) -> Measurement | None:
        return self._measurements.of(self._setup(variant))

    def _store(self, variant: str, measured: Measurement) -> Measurement:
        self._measurements.store(self._setup(variant), measured)
        return measured

    def _setup(self, variant: str) -> MeasuredSetup:
        machine = self._machine
        return MeasuredSetup(self._header.fingerprint, variant, machine.device, machine.threads, machine.library)
