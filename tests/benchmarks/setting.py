"""What all parts are given: the model, a folder for what they make, and whether a short look is enough.

Also how they get at an engine, at copies of the model in other forms, and at a process of their own.
"""

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

from gistread.engine.llama.client import LlamaEngine

Form = Literal["Q8_0", "F16"]

P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Setting:
    model: Path
    folder: Path
    """Temporary; it is removed in the end."""
    quick: bool = False
    """Fewer and shorter runs: enough to see that a part works, not enough to lean on its figures."""

    def copy(self, form: Form) -> Path:
        """The model with its weights in another form, made when it is first asked for."""
        path = self.folder / f"{self.model.stem}.{form}.gguf"
        if not path.exists():
            alone(_convert, self.model, path, form)
        return path


@asynccontextmanager
async def engine_over(model: Path) -> AsyncIterator[LlamaEngine]:
    """A loaded engine in its ordinary state, closed in the end. One at a time: ggml's threads spin."""
    engine = LlamaEngine(model)
    try:
        await engine.start()
        yield engine
    finally:
        await engine.close()


def alone(function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Call a module's function in a process of its own, which may load llama.cpp and is gone afterwards."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as processes:
        return processes.submit(functools.partial(function, *args, **kwargs)).result()


def threads() -> int:
    """Physical cores that this process may use."""
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(psutil.cpu_count(logical=False) or 1, allowed))


def _convert(source: Path, target: Path, form: Form) -> None:
    from tests.benchmarks import lowlevel

    lowlevel.convert(source, target, form)
