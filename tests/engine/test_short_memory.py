"""Loading with less memory than expected, in real workers under a limit.

Much of what llama.cpp cannot allocate ends the process. So what is promised, the engine promises,
not one worker.
"""

import os
import resource
import signal
import sys
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest
import pytest_asyncio

from gistread.engine.llama.client import LlamaEngine
from gistread.engine.llama.messages import Load, Loaded
from gistread.engine.llama.worker_process import WorkerProcess
from gistread.engine.protocol import EngineState, Message, Phase, Sampling
from gistread.errors import EngineError
from tests.engine.conftest import StartEngine
from tests.tiny_gguf import write_tiny_gguf

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="limits on address space hold on Linux alone"
)

LAYERS = 96
"""So many that a window of 8192 tokens takes this much of an F16 KV cache:"""
WINDOW_MIB = 192
MIB = 2**20


@pytest.fixture(scope="module", autouse=True)
def one_arena() -> Iterator[None]:
    """Each thread of the C library may otherwise reserve 64 MiB of address space, or not."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setenv("MALLOC_ARENA_MAX", "1")
        yield


@pytest.fixture(scope="module")
def deep(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("models") / "deep.gguf"
    # Numbers of a cache are made smaller in blocks of 32, as large as a head then has to be.
    heads: dict[str, Any] = {
        "llama__attention__head_count": 2,
        "llama__attention__head_count_kv": 2,
        "llama__rope__dimension_count": 32,
    }
    return write_tiny_gguf(path, layers=LAYERS, llama__context_length=16_384, **heads)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def whole(deep: Path) -> AsyncIterator[int]:
    """Address space in MiB of a worker with the model, room for two windows, and no streams."""
    load_in = WorkerProcess.load
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(
            WorkerProcess,
            "load",
            lambda worker, load: load_in(worker, replace(load, layout=1)),
        )
        engine = LlamaEngine(deep)
        info = await engine.start()
    assert info.placement
    assert (info.context_tokens, info.placement.cells, info.placement.kv_type) == (
        8192,
        8192,
        "f16",
    )
    assert not info.placement.streams
    assert engine.worker_pid
    yield psutil.Process(engine.worker_pid).memory_info().vms // MIB + WINDOW_MIB
    await engine.close()


@pytest.fixture
def limit(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Sets what every worker's address space may grow to, in MiB."""

    def set_limit(mib: int) -> None:
        async def load(worker: WorkerProcess, message: Load) -> Loaded:
            assert worker.pid
            resource.prlimit(worker.pid, resource.RLIMIT_AS, (mib * MIB, mib * MIB))
            return await load_in(worker, message)

        monkeypatch.setattr(WorkerProcess, "load", load)

    load_in = WorkerProcess.load
    return set_limit


async def test_the_cache_is_quantized_next_with_a_notice(
    deep: Path, whole: int, limit: Any, start: StartEngine
) -> None:
    limit(whole - WINDOW_MIB - 30)
    engine = await start(deep)
    assert engine.info.placement
    assert (engine.info.context_tokens, engine.info.placement.kv_type) == (8192, "q8_0")
    assert (
        engine.info.placement.notice
        == "Memory is short: the model has a KV cache of q8_0."
    )
    completion = await engine.complete(
        (Message("user", "abc"),), Sampling(max_tokens=2)
    )
    assert completion.usage.generated == 2


@pytest.mark.slow
async def test_too_little_memory_for_any_layout_is_an_error(
    deep: Path, whole: int, limit: Any, start: StartEngine
) -> None:
    limit(whole - 2 * WINDOW_MIB - 60)
    with pytest.raises(EngineError, match=r"memory"):
        await start(deep)


@pytest.mark.slow
async def test_each_reduction_is_reported_during_the_load(
    deep: Path, whole: int, limit: Any, tmp_path: Path
) -> None:
    limit(whole - 2 * WINDOW_MIB + 70)
    engine = LlamaEngine(deep, log=tmp_path / "worker.log")
    notices: list[str] = []

    def note(state: EngineState) -> None:
        if (
            state.phase is Phase.LOADING
            and state.notice
            and state.notice not in notices
        ):
            notices.append(state.notice)

    engine.watch(note)
    try:
        await engine.start()
        assert engine.info.placement
        assert notices[0] == "Memory is short: the model has a KV cache of q8_0."
        assert notices[-1] == engine.info.placement.notice
    finally:
        await engine.close()


async def test_a_worker_killed_while_loading_restarts_with_a_smaller_layout(
    deep: Path,
) -> None:
    engine = LlamaEngine(deep)
    killed: list[int] = []

    def kill(state: EngineState) -> None:
        if (
            state.phase is Phase.LOADING
            and state.fraction
            and engine.worker_pid
            and not killed
        ):
            killed.append(engine.worker_pid)
            os.kill(engine.worker_pid, signal.SIGKILL)

    engine.watch(kill)
    try:
        info = await engine.start()
        assert killed
        assert info.placement
        assert not info.placement.streams
    finally:
        await engine.close()
