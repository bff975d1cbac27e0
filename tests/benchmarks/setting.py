"""What all parts are given: the model, a folder for their files, and whether to be quick.

Also an engine, copies of the model in other forms, and a process of their own.
"""

import asyncio
import functools
import os
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ProcessPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Literal, ParamSpec, TypeVar

import psutil

from gistread.engine.protocol import Engine, EngineState, Phase
from tests.benchmarks.metering import MeteredEngine

Form = Literal["Q8_0", "F16"]

_IDLE_WITHIN_S = 60.0

P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Setting:
    model: Path
    folder: Path
    """Temporary; it is removed in the end."""
    quick: bool = False
    """Fewer and shorter runs.

    Enough to see that a part works, not enough to lean on its figures.
    """
    adapter: Path | None = None  # LoRA adapter of the model
    words: int = 4000  # Length of the text that is read
    gist_tokens: int = (
        # Exact length of each gist, for models that say nothing; 0: as the model ends it
        0
    )

    @property
    def cache(self) -> Path:
        """What gistread measures of a model and converts lies there."""
        return self.folder / "cache"

    @property
    def snapshots(self) -> Path:
        """And there, the KV cache of what may be asked again."""
        return self.folder / "snapshots"

    def copy(self, form: Form) -> Path:
        """The model with its weights in another form, made when it is first asked for."""
        path = self.folder / f"{self.model.stem}.{form}.gguf"
        if not path.exists():
            alone(_convert, self.model, path, form)
        return path


@asynccontextmanager
async def engine_over(
    setting: Setting, model: Path | None = None, *, measured: bool = True
) -> AsyncIterator[MeteredEngine]:
    """A loaded engine as in the program, over the setting's model or another; closes it at the end.

    What it measures and converts lies in the setting's folder, so it is done once in a run. Not
    `measured`: it takes the file as it is, and runs eight requests at once whether they pay or not.
    One at a time.
    """
    engine = MeteredEngine(
        model or setting.model,
        gist_tokens=setting.gist_tokens,
        adapter=None if model else setting.adapter,
        cache=setting.cache if measured else None,
        snapshots=setting.snapshots,
    )
    try:
        await engine.start()
        yield engine
    finally:
        await engine.close()


async def idle(engine: Engine) -> None:
    """Wait until the worker has said that it has nothing more to do.

    Raises TimeoutError when it does not.
    """
    async with asyncio.timeout(_IDLE_WITHIN_S):
        while engine.state.phase is not Phase.IDLE:
            await state_reached(engine, lambda state: state.phase is Phase.IDLE)


def state_reached(
    engine: Engine, is_awaited: Callable[[EngineState], bool]
) -> asyncio.Future[None]:
    """Done when the engine next tells such a state."""
    future: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def heard(state: EngineState) -> None:
        if not future.done() and is_awaited(state):
            future.set_result(None)

    unwatch = engine.watch(heard)
    future.add_done_callback(lambda _: unwatch())
    return future


def alone(function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Call a module's function in a process of its own, which may load llama.cpp and then ends."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as processes:
        return processes.submit(functools.partial(function, *args, **kwargs)).result()


def threads() -> int:
    """Physical cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        allowed = len(os.sched_getaffinity(0))
    else:
        allowed = os.cpu_count() or 1
    return max(1, min(psutil.cpu_count(logical=False) or 1, allowed))


def _convert(source: Path, target: Path, form: Form) -> None:
    from tests.benchmarks import lowlevel

    lowlevel.convert(source, target, form)
