"""From cancelling a request to the engine being free again: in a prompt, in an answer, in a load.

The clock starts when the task that waits for the request is cancelled, and stops when the worker
has said that it has nothing to do; for a load, when the worker process is gone.
"""

import asyncio
import random
import time
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

from gistread.engine.llama.client import LlamaEngine
from gistread.engine.protocol import EngineState, Phase, Sampling
from tests.benchmarks import texts
from tests.benchmarks.figures import Finding, Spread, Table, Target
from tests.benchmarks.setting import Setting, engine_over, state_reached

_PROMPT_TOKENS = 4000
_ROUNDS = 7
_WITHIN_S = 60.0
"""An engine that is not free by then hangs, and the benchmark fails."""


async def measure(setting: Setting) -> AsyncIterator[Finding]:
    rounds = 2 if setting.quick else _ROUNDS
    tokens = 1500 if setting.quick else _PROMPT_TOKENS
    moments = random.Random(1)
    prefill, decode = [], []
    async with engine_over(setting) as engine:
        for variant in range(rounds):
            share = moments.uniform(0.0, 0.25)
            prefill.append(
                await _cancelled(engine, tokens, 2 * variant, _in_prefill(share))
            )
            decode.append(
                await _cancelled(
                    engine, 64, 2 * variant + 1, _in_decode, moments.uniform(0.0, 0.3)
                )
            )
    load = [
        await _load_cancelled(setting, moments.uniform(0.1, 0.5)) for _ in range(rounds)
    ]
    stages = {
        f"in the prefill of {tokens:,} tokens": prefill,
        "while decoding": decode,
        "while loading": load,
    }
    rows = tuple(
        (stage, _spread(times), sum(time is not None for time in times))
        for stage, times in stages.items()
    )
    yield Table(
        "From cancelling to a free engine",
        ("cancelled", "median (range) [s]", "times"),
        rows,
    )
    if caught := [time for time in prefill if time is not None]:
        yield Target(
            f"longest time [s] to cancel in the prefill of {tokens:,} tokens",
            max(caught),
            at_most=0.3,
        )


def _in_prefill(share: float) -> Callable[[EngineState], bool]:
    return lambda state: (
        state.phase is Phase.PREFILL and (state.fraction or 0.0) >= share
    )


def _in_decode(state: EngineState) -> bool:
    return state.phase is Phase.DECODE


def _is_idle(state: EngineState) -> bool:
    return state.phase is Phase.IDLE


async def _cancelled(
    engine: LlamaEngine,
    tokens: int,
    variant: int,
    ripe: Callable[[EngineState], bool],
    after_s: float = 0.0,
) -> float | None:
    """Cancel a request so long after a state was told; seconds until the engine is idle.

    None: it was quicker.
    """
    prompt = await texts.prompt_of(
        tokens, variant, engine, task="Count from one to a thousand."
    )
    reached = state_reached(engine, ripe)
    request = asyncio.create_task(engine.complete(prompt, Sampling(max_tokens=400)))
    waited: set[asyncio.Future[Any]] = {reached, request}
    await asyncio.wait(waited, timeout=_WITHIN_S, return_when=asyncio.FIRST_COMPLETED)
    await asyncio.sleep(after_s)
    if request.done():
        reached.cancel()
        return None
    idle = state_reached(engine, _is_idle)
    started = time.perf_counter()
    request.cancel()
    await asyncio.wait_for(idle, _WITHIN_S)
    return time.perf_counter() - started


async def _load_cancelled(setting: Setting, after_s: float) -> float | None:
    """Cancel a load so long after it was begun; seconds until its process is gone.

    None: it was quicker.
    """
    engine = LlamaEngine(setting.model)
    load = asyncio.create_task(engine.start())
    await asyncio.sleep(after_s)
    if load.done():
        await engine.close()
        return None
    started = time.perf_counter()
    await engine.close()
    await asyncio.wait({load}, timeout=_WITHIN_S)
    return time.perf_counter() - started


def _spread(times: Sequence[float | None]) -> Spread | None:
    caught = [time for time in times if time is not None]
    return Spread.of(caught) if caught else None
