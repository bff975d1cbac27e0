"""What the worker process takes of the machine's memory, after few questions and after many: it must not grow."""

from collections.abc import AsyncIterator

import psutil

from gistread.engine.llama.client import LlamaEngine
from gistread.engine.protocol import Message, Sampling
from tests.benchmarks.figures import Finding, Table, Target
from tests.benchmarks.setting import Setting, engine_over

_QUESTIONS = (0, 20, 200)


async def measure(setting: Setting) -> AsyncIterator[Finding]:
    marks = (0, 4, 12) if setting.quick else _QUESTIONS
    resident: dict[int, float] = {}
    asked = 0
    async with engine_over(setting) as engine:
        for mark in marks:
            while asked < mark:
                asked += 1
                await _ask(asked, engine)
            resident[mark] = _resident_mib(engine)
    yield Table(
        "Resident memory of the worker",
        ("after questions", "resident [MiB]"),
        tuple((f"{mark}", size) for mark, size in resident.items()),
    )
    _, few, many = marks
    what = f"memory after {many} questions against after {few}"
    yield Target(what, resident[many] / resident[few], at_most=1.05)


async def _ask(number: int, engine: LlamaEngine) -> None:
    """A short question, unlike the ones before."""
    text = f"There were {number} ships and {7 * number} sailors in the harbour. How many ships were there?"
    await engine.complete((Message("user", text),), Sampling(max_tokens=12, repeat_penalty=1.1))


def _resident_mib(engine: LlamaEngine) -> float:
    pid = engine.worker_pid
    if pid is None:
        raise RuntimeError("the worker is gone")
    return float(psutil.Process(pid).memory_info().rss) / 2**20
