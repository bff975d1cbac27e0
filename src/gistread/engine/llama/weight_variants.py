"""Which form of a model's weights is loaded: the file as it is, or a faster copy, whichever reads a book faster here.

Nothing is assumed: each form is measured once on each machine, and what was found is kept. Knows what a worker can
be asked (`WorkerActions`), not how.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from gistread.config import FastWeights
from gistread.engine.llama.gguf import GgufHeader
from gistread.engine.llama.measurements import MeasuredSetup, Measurement, Measurements
from gistread.engine.llama.requantized_copy import FAST, find_copy, may_pay, obstacle, remove_copy
from gistread.engine.protocol import Placement
from gistread.engine.reading_cost import seconds_per_token
from gistread.errors import EngineError
from gistread.paths import MEASUREMENTS, WEIGHTS

_ORIGINAL = ""


@dataclass(frozen=True, slots=True)
class Loaded:
    """What the worker says of a model that it has loaded."""

    context_tokens: int
    device: str
    on_gpu: bool
    threads: int
    library: str
    parallel: int
    """A guess, as long as nothing was measured."""
    placement: Placement | None = None
    pinnable_tokens: int = 0
    """See `EngineInfo`."""


@dataclass(frozen=True, slots=True)
class WorkerActions:
    """What is done in a worker or by one."""

    load: Callable[[Path], Awaitable[Loaded]]
    """Load this file in place of what is loaded. Raises EngineError."""
    measure: Callable[[], Awaitable[Measurement]]
    """Measure what is loaded. Raises EngineError when the worker is lost over it."""
    make_copy: Callable[[GgufHeader, Path], Awaitable[Path | None]]
    """Make a copy in this folder: whole, or None. Nothing is loaded afterwards."""


@dataclass(frozen=True, slots=True)
class LoadedVariant:
    """The form that is loaded now."""

    loaded: Loaded
    measured: Measurement
    weights: str
    """For people: `Q8_0 copy of Q4_1`, `Q4_1`."""


async def load_fastest(
    steps: WorkerActions, header: GgufHeader, cache: Path, fast_weights: FastWeights
) -> LoadedVariant:
    """Load the form of this model that reads a book fastest here, measuring what is not known yet.

    `cache`: the directory of measurements and copies. Raises EngineError when not even the file itself can be used.
    """
    return await _Choice(steps, header, cache, fast_weights).make()


def best_form(original: Measurement, copy: Measurement) -> str:
    """The form with which reading a book takes less time: empty for the file as it is."""
    return FAST if _cost(copy) < _cost(original) else _ORIGINAL


def _cost(measured: Measurement) -> float:
    return seconds_per_token(measured.rates, measured.parallel) if measured.rates else float("inf")


class _Choice:
    """The state of one choice: what is loaded at the moment, and what is known."""

    def __init__(self, steps: WorkerActions, header: GgufHeader, cache: Path, fast_weights: FastWeights) -> None:
        self._steps = steps
        self._header = header
        self._folder = cache / WEIGHTS
        self._kept = Measurements(cache / MEASUREMENTS)
        self._leave = fast_weights == "always"
        self._copies = fast_weights != "never" and may_pay(header)
        self._loaded: Loaded | None = None
        self._form = _ORIGINAL
        self._machine: Loaded
        """What the worker said last of where it runs; known once anything was loaded."""

    async def make(self) -> LoadedVariant:
        loaded = await self._load_likely()
        original = self._known(_ORIGINAL) or await self._measure_original()
        best, measured = _ORIGINAL, original
        # Where nothing could be measured there is nothing to compare.
        if self._copies and not loaded.on_gpu and original.rates:
            copy = await self._copy(original)
            if copy is not None:
                best = best_form(original, copy)
                measured = copy if best else original
                if not best:
                    await asyncio.to_thread(remove_copy, self._header, self._folder)
        try:
            loaded = await self._load(best)
        except EngineError:
            if not best:
                raise
            best, measured, loaded = _ORIGINAL, original, await self._give_up_copy()
        return LoadedVariant(loaded, measured, self._weights(best))

    async def _load_likely(self) -> Loaded:
        """Load what was used last. Which machine this is, only a worker that has loaded a model can say."""
        latest: dict[str, Measurement] = {}
        for subject, measured in self._kept.of_model(self._header.fingerprint).items():
            latest[subject.form] = measured
        if self._copies and {_ORIGINAL, FAST} <= latest.keys() and best_form(latest[_ORIGINAL], latest[FAST]):
            try:
                return await self._load(FAST)
            except EngineError:
                await asyncio.to_thread(remove_copy, self._header, self._folder)
        return await self._load(_ORIGINAL)

    async def _copy(self, original: Measurement) -> Measurement | None:
        """What is to be had from a copy, made and measured if need be. None: nothing, for now."""
        known = self._known(FAST)
        if known is not None and not best_form(original, known):
            return known
        if not await asyncio.to_thread(find_copy, self._header, self._folder):
            if await asyncio.to_thread(obstacle, self._header, self._folder, leave=self._leave):
                return None
            self._loaded = None  # Two at work at once would take longer: ggml's threads spin.
            if not await self._steps.make_copy(self._header, self._folder):
                return self._keep(FAST, Measurement(None, 1))
        if known is not None:
            return known
        try:
            await self._load(FAST)
            measured = await self._steps.measure()
        except EngineError:
            self._loaded = None
            return self._keep(FAST, Measurement(None, 1))
        return self._keep(FAST, measured) if measured.rates else None

    async def _measure_original(self) -> Measurement:
        loaded = await self._load(_ORIGINAL)
        try:
            measured = await self._steps.measure()
        except EngineError:  # The measurement was too much for it; the model may still do its work.
            self._loaded = None
            return self._keep(_ORIGINAL, Measurement(None, loaded.parallel))
        return self._keep(_ORIGINAL, measured) if measured.rates else measured

    async def _give_up_copy(self) -> Loaded:
        self._keep(FAST, Measurement(None, 1))
        await asyncio.to_thread(remove_copy, self._header, self._folder)
        return await self._load(_ORIGINAL)

    async def _load(self, form: str) -> Loaded:
        if self._loaded is None or self._form != form:
            path = self._header.path
            if form:
                found = await asyncio.to_thread(find_copy, self._header, self._folder)
                if found is None:
                    raise EngineError(f"The copy of {path.name} has gone.")
                path = found
            self._loaded = None
            self._loaded = self._machine = await self._steps.load(path)
            self._form = form
        return self._loaded

    def _known(self, form: str) -> Measurement | None:
        return self._kept.of(self._subject(form))

    def _keep(self, form: str, measured: Measurement) -> Measurement:
        self._kept.keep(self._subject(form), measured)
        return measured

    def _subject(self, form: str) -> MeasuredSetup:
        machine = self._machine
        return MeasuredSetup(self._header.fingerprint, form, machine.device, machine.threads, machine.library)

    def _weights(self, form: str) -> str:
        return f"{form} copy of {self._header.quantization}" if form else self._header.quantization
