"""A worker process is kept alive through cancellations and kills, and ends when it should."""

import asyncio
import contextlib
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from gistread.engine.llama.client import LlamaEngine
from gistread.engine.protocol import (
    Completion,
    EngineState,
    Message,
    Phase,
    Prompt,
    Sampling,
    StreamRestarted,
    TextDelta,
)
from gistread.errors import EngineError
from tests.engine.conftest import StartEngine


def prompt_of(text: str) -> Prompt:
    return (Message("user", text),)


async def test_closing_stops_the_load(starter: Path, tmp_path: Path) -> None:
    engine = LlamaEngine(starter)
    loading = asyncio.Event()
    engine.watch(lambda state: loading.set() if engine.worker_pid else None)
    task = asyncio.create_task(engine.start())
    await loading.wait()
    worker = engine.worker_pid
    assert worker is not None
    await engine.close()
    with pytest.raises(EngineError, match="closed"):
        await task
    assert engine.state.phase is Phase.STOPPED
    assert not psutil.pid_exists(worker)


async def test_a_killed_worker_is_started_again_and_the_question_asked_again(
    tiny: Path, start: StartEngine
) -> None:
    engine = await start(tiny)
    states: list[EngineState] = []
    engine.watch(states.append)
    sampling = Sampling(max_tokens=1500)
    undisturbed = await engine.complete(prompt_of("abc"), sampling)
    events = []
    async for event in engine.stream(prompt_of("abc"), sampling):
        events.append(event)
        if len(events) == 3 and engine.worker_pid:
            os.kill(engine.worker_pid, signal.SIGKILL)
    restarts = [event for event in events if isinstance(event, StreamRestarted)]
    assert len(restarts) == 1
    assert "SIGKILL" in restarts[0].reason
    assert {state.notice for state in states if state.is_fault} == {restarts[0].reason}
    assert isinstance(events[-1], Completion)
    assert events[-1].text == undisturbed.text


async def test_a_request_that_crashes_two_workers_fails_and_the_engine_stays_usable(
    tiny: Path, start: StartEngine
) -> None:
    engine = await start(tiny)

    async def ask_and_kill() -> None:
        async for event in engine.stream(
            prompt_of("abc"), Sampling(max_tokens=3000, temperature=2.0, seed=3)
        ):
            if isinstance(event, TextDelta) and engine.worker_pid:
                # Text may arrive after its worker has died.
                with contextlib.suppress(ProcessLookupError):
                    os.kill(engine.worker_pid, signal.SIGKILL)

    with pytest.raises(EngineError, match="twice"):
        await ask_and_kill()
    assert (
        await engine.complete(prompt_of("abc"), Sampling(max_tokens=3))
    ).usage.generated == 3


async def test_an_idle_worker_that_dies_is_replaced_for_the_next_request_and_logs_no_question(
    tiny: Path, start: StartEngine, tmp_path: Path
) -> None:
    engine = await start(tiny)
    stopped = asyncio.Event()
    engine.watch(lambda state: stopped.set() if state.phase is Phase.STOPPED else None)
    assert engine.worker_pid
    os.kill(engine.worker_pid, signal.SIGKILL)
    await asyncio.wait_for(stopped.wait(), 60)
    assert "SIGKILL" in engine.state.notice
    assert engine.worker_pid is None
    assert (
        await engine.complete(prompt_of("Zwiebelfisch"), Sampling(max_tokens=3))
    ).usage.generated == 3
    log = (tmp_path / "worker.log").read_text(errors="replace")
    assert tiny.name in log
    assert "Zwiebelfisch" not in log


def test_a_worker_ends_when_its_client_dies_in_the_middle_of_a_message(
    deep: Path,
) -> None:
    """Also in the middle of a computation."""
    code = f"""
import asyncio, os, pathlib, signal
from gistread.engine.llama.client import LlamaEngine
from gistread.engine.protocol import Message, Phase
async def main():
    engine = LlamaEngine(pathlib.Path({str(deep)!r}))
    await engine.start()
    print(engine.worker_pid, flush=True)
    busy = asyncio.Event()
    engine.watch(lambda state: state.phase is Phase.PREFILL and busy.set())
    asyncio.create_task(engine.complete((Message("user", "word " * 700),)))
    await busy.wait()
    engine._worker._outgoing.write(b'{{"kind": "Canc')
    await asyncio.sleep(0)
    os.kill(os.getpid(), signal.SIGKILL)
asyncio.run(main())
"""
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True
    ) as client:
        assert client.stdout is not None
        worker = psutil.Process(int(client.stdout.readline()))
        client.wait(60)
    worker.wait(timeout=60)


async def test_a_model_file_deleted_before_a_restart_is_an_error(
    tiny: Path, start: StartEngine, tmp_path: Path
) -> None:
    path = Path(shutil.copy(tiny, tmp_path / "gone.gguf"))
    engine = await start(path)
    path.unlink()
    assert engine.worker_pid
    os.kill(engine.worker_pid, signal.SIGKILL)
    with pytest.raises(EngineError, match="No such model file"):
        await engine.complete(prompt_of("abc"))
    assert engine.state.phase is Phase.FAILED


async def test_closing_ends_the_worker_even_while_it_works(deep: Path) -> None:
    engine = LlamaEngine(deep)
    await engine.start()
    worker = engine.worker_pid
    prefilling = asyncio.Event()
    engine.watch(
        lambda state: prefilling.set() if state.phase is Phase.PREFILL else None
    )
    task = asyncio.create_task(engine.complete(prompt_of("word " * 700)))
    await prefilling.wait()
    await asyncio.wait_for(engine.close(), 30)
    assert worker is not None
    assert not psutil.pid_exists(worker)
    with pytest.raises(EngineError, match="closed"):
        await task


def test_the_worker_ends_with_a_killed_client(tiny: Path) -> None:
    code = f"""
import asyncio, pathlib, sys
from gistread.engine.llama.client import LlamaEngine
async def main():
    engine = LlamaEngine(pathlib.Path({str(tiny)!r}))
    await engine.start()
    print(engine.worker_pid, flush=True)
    await asyncio.sleep(60)
asyncio.run(main())
"""
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True
    ) as client:
        assert client.stdout is not None
        worker = psutil.Process(int(client.stdout.readline()))
        client.kill()
    worker.wait(timeout=60)
