"""A worker process is kept alive through cancellations and kills, and ends when it should."""

import asyncio
import contextlib
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest

from gistread.engine.llama.client import LlamaEngine
from gistread.engine.llama.worker_process import WorkerProcess
from gistread.engine.protocol import Completion, EngineState, Message, Phase, Prompt, Restarted, Sampling, TextDelta
from gistread.errors import EngineError
from tests.engine.conftest import StartEngine


def asked(text: str) -> Prompt:
    return (Message("user", text),)


async def test_cancelling_stops_the_load(starter: Path, tmp_path: Path) -> None:
    engine = LlamaEngine(starter)
    loading = asyncio.Event()
    engine.watch(lambda state: loading.set() if engine.worker_pid else None)
    task = asyncio.create_task(engine.start())
    await loading.wait()
    worker = engine.worker_pid
    assert worker is not None
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert engine.state.phase is Phase.STOPPED
    assert not psutil.pid_exists(worker)
    assert (await engine.start()).context_tokens == 8192
    await engine.close()


async def test_a_killed_worker_is_started_again_and_the_question_asked_again(tiny: Path, start: StartEngine) -> None:
    engine = await start(tiny)
    told: list[EngineState] = []
    engine.watch(told.append)
    sampling = Sampling(max_tokens=300)
    undisturbed = await engine.complete(asked("abc"), sampling)
    events = []
    async for event in engine.stream(asked("abc"), sampling):
        events.append(event)
        if len(events) == 3 and engine.worker_pid:
            os.kill(engine.worker_pid, signal.SIGKILL)
    restarts = [event for event in events if isinstance(event, Restarted)]
    assert len(restarts) == 1
    assert "SIGKILL" in restarts[0].reason
    assert {state.notice for state in told if state.is_fault} == {restarts[0].reason}
    assert isinstance(events[-1], Completion)
    assert events[-1].text == undisturbed.text


async def test_a_suspended_worker_is_reported_and_resumes_after_a_signal(
    tiny: Path, start: StartEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gistread.engine.llama.worker_process._OBSERVE_EVERY_S", 0.05)
    engine = await start(tiny)
    assert engine.worker_pid
    told: asyncio.Queue[EngineState] = asyncio.Queue()
    os.kill(engine.worker_pid, signal.SIGSTOP)
    engine.watch(told.put_nowait)
    asking = asyncio.create_task(engine.complete(asked("abc"), Sampling(max_tokens=3)))
    while not (state := await told.get()).is_fault:
        pass
    assert state.phase is Phase.SUSPENDED
    assert f"kill -CONT {engine.worker_pid}" in state.notice
    os.kill(engine.worker_pid, signal.SIGCONT)
    assert (await asking).usage.generated == 3


async def test_a_request_that_crashes_two_workers_fails_and_the_engine_stays_usable(
    tiny: Path, start: StartEngine
) -> None:
    engine = await start(tiny)

    async def ask_and_kill() -> None:
        async for event in engine.stream(asked("abc"), Sampling(max_tokens=3000, temperature=2.0, seed=3)):
            if isinstance(event, TextDelta) and engine.worker_pid:
                with contextlib.suppress(ProcessLookupError):  # Text may arrive after its worker has died.
                    os.kill(engine.worker_pid, signal.SIGKILL)

    with pytest.raises(EngineError, match="twice"):
        await ask_and_kill()
    assert (await engine.complete(asked("abc"), Sampling(max_tokens=3))).usage.generated == 3


async def test_an_idle_worker_that_dies_is_replaced_and_logs_no_question(
    tiny: Path, start: StartEngine, tmp_path: Path
) -> None:
    engine = await start(tiny)
    assert engine.worker_pid
    os.kill(engine.worker_pid, signal.SIGKILL)
    assert (await engine.complete(asked("Zwiebelfisch"), Sampling(max_tokens=3))).usage.generated == 3
    log = (tmp_path / "worker.log").read_text(errors="replace")
    assert tiny.name in log
    assert "Zwiebelfisch" not in log


async def test_a_model_file_deleted_before_a_restart_is_an_error(
    tiny: Path, start: StartEngine, tmp_path: Path
) -> None:
    path = Path(shutil.copy(tiny, tmp_path / "gone.gguf"))
    engine = await start(path)
    path.unlink()
    failed = asyncio.Event()
    engine.watch(lambda state: failed.set() if state.phase is Phase.FAILED else None)
    assert engine.worker_pid
    os.kill(engine.worker_pid, signal.SIGKILL)
    await asyncio.wait_for(failed.wait(), 10)
    assert "No such model file" in engine.state.notice
    with pytest.raises(EngineError, match="No such model file"):
        await engine.complete(asked("abc"))


async def test_closing_ends_the_worker_even_while_it_works(deep: Path) -> None:
    engine = LlamaEngine(deep)
    await engine.start()
    worker = engine.worker_pid
    prefilling = asyncio.Event()
    engine.watch(lambda state: prefilling.set() if state.phase is Phase.PREFILL else None)
    task = asyncio.create_task(engine.complete(asked("word " * 700)))
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
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as client:
        assert client.stdout is not None
        worker = psutil.Process(int(client.stdout.readline()))
        client.kill()
    worker.wait(timeout=5)


async def test_a_load_with_two_callers_survives_one_cancellation(tiny: Path, start: StartEngine) -> None:
    engine = LlamaEngine(tiny)
    loading = asyncio.Event()
    engine.watch(lambda state: loading.set() if engine.worker_pid else None)
    question, reading = (asyncio.create_task(engine.complete(asked("abc"), Sampling(max_tokens=3))) for _ in range(2))
    await loading.wait()
    worker = engine.worker_pid
    question.cancel()
    with pytest.raises(asyncio.CancelledError):
        await question
    assert (await reading).usage.generated == 3
    assert engine.worker_pid == worker
    await engine.close()


async def test_cancelling_a_request_during_a_restart_cancels_no_other(tiny: Path, start: StartEngine) -> None:
    engine = await start(tiny)
    lost = asyncio.Event()
    engine.watch(lambda state: lost.set() if state.phase is Phase.LOADING else None)
    running = asyncio.create_task(engine.complete(asked("abc"), Sampling(max_tokens=300)))
    await asyncio.sleep(0)
    assert engine.worker_pid
    os.kill(engine.worker_pid, signal.SIGKILL)
    await lost.wait()
    question = asyncio.create_task(engine.complete(asked("abcd"), Sampling(max_tokens=3)))
    await asyncio.sleep(0)
    question.cancel()
    assert (await asyncio.wait_for(running, 30)).usage.generated == 300


async def test_closing_during_a_load_fails_the_waiting_callers(tiny: Path) -> None:
    engine = LlamaEngine(tiny)
    waiting = asyncio.create_task(engine.complete(asked("abc")))
    await asyncio.sleep(0)
    await engine.close()
    with pytest.raises(EngineError, match="closed"):
        await waiting
    assert engine.state.phase is Phase.STOPPED


@pytest.mark.parametrize("when", ["loaded", "measured"])
async def test_a_worker_that_dies_between_two_steps_of_its_start_is_an_error(
    tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    """It neither hangs nor starts a second worker."""

    async def killing(self: WorkerProcess, *args: Any, **kwargs: Any) -> Any:
        answer = await real(self, *args, **kwargs)
        self._process.kill()
        await self._process.wait()
        return answer

    name = "load" if when == "loaded" else "measure_rates"
    real = getattr(WorkerProcess, name)
    monkeypatch.setattr(WorkerProcess, name, killing)
    engine = LlamaEngine(tiny, cache=tmp_path, measure=True)
    with pytest.raises(EngineError, match="process ended"):
        await asyncio.wait_for(engine.start(), 30)
    assert engine.state.phase is Phase.FAILED
    monkeypatch.undo()
    assert (await engine.complete(asked("abc"), Sampling(max_tokens=3))).usage.generated == 3
    await engine.close()
