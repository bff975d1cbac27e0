"""Pinned prefixes stay in memory for later prompts, and end with the process."""

import asyncio
import os
import random
import signal
from pathlib import Path

import pytest

from gistread.engine.llama.client import LlamaEngine
from gistread.engine.llama.fit import LoadOptions
from gistread.engine.protocol import EngineState, Message, Phase, Priority, Prompt, Sampling, Usage
from tests.engine.conftest import StartEngine
from tests.engine.fresh_model import passage
from tests.tiny_architectures import WRITERS

OPTIONS = LoadOptions(context_tokens=1024, batch_tokens=64)
SAMPLING = Sampling(max_tokens=4)
PARTS = 8
PART_WORDS = 110


@pytest.fixture
def parts() -> list[str]:
    dice = random.Random(4)
    return [passage(dice, PART_WORDS) for _ in range(PARTS)]


def asked(part: str, question: str = "") -> Prompt:
    """As a whole, more than fit the cache together."""
    return (Message("user", f"{part}\n---\n{question}", stable=len(part)),)


def passing(prompt: Prompt) -> Prompt:
    """The same, without a word about what will come again: what is stable is kept on disk."""
    return tuple(Message(message.role, message.content) for message in prompt)


async def hold_all(engine: LlamaEngine, parts: list[str]) -> list[Usage]:
    usages = [usage for part in parts if (usage := await engine.pin(asked(part)))]
    assert len(usages) == len(parts)
    return usages


async def test_a_pinned_prefix_is_reused_by_the_first_question(
    tiny: Path, start: StartEngine, tmp_path: Path, parts: list[str]
) -> None:
    fresh = await start(tiny, options=OPTIONS)
    expected = [await fresh.complete(passing(asked(part, "Who?")), SAMPLING) for part in parts]
    engine = await start(tiny, options=OPTIONS, snapshots=tmp_path / "snapshots")
    prompts = [asked(part) for part in parts]
    assert await engine.pinned(prompts) == [False] * PARTS
    held = await hold_all(engine, parts)
    assert sum(usage.prefilled for usage in held) > 2 * 2 * 1024
    assert await engine.pinned(prompts) == [True] * PARTS
    for part, known, before in zip(parts, expected, held, strict=True):
        answer = await engine.complete(passing(asked(part, "Who?")), SAMPLING)
        assert answer.text == known.text
        assert answer.usage.reused == before.prefilled + before.reused
        assert answer.usage.prefilled + answer.usage.reused == known.usage.prefilled + known.usage.reused
    assert not (tmp_path / "snapshots").exists()


async def test_pinning_an_evaluated_prefix_evaluates_nothing(tiny: Path, start: StartEngine, parts: list[str]) -> None:
    engine = await start(tiny, options=OPTIONS)
    await engine.complete(passing(asked(parts[0], "Who?")), SAMPLING)
    await engine.complete(passing(asked(parts[1], "Who?")), SAMPLING)
    await engine.complete(passing(asked(parts[2], "Who?")), SAMPLING)
    assert await engine.pinned([asked(part) for part in parts]) == [True] * 3 + [False] * 5
    assert [usage.prefilled for usage in (await hold_all(engine, parts))[:3]] == [1, 1, 1]


@pytest.mark.parametrize("kind", WRITERS)
async def test_the_pin_capacity_is_reported_and_0_for_models_without_rollback(
    kind: str, start: StartEngine, tmp_path: Path, parts: list[str]
) -> None:
    engine = await start(WRITERS[kind](tmp_path / "tiny.gguf", 1), options=OPTIONS)
    if kind == "attention":
        assert engine.info.pinnable_tokens > 10_000
    else:
        assert engine.info.pinnable_tokens == 0
        assert await engine.pin(asked(parts[0])) is None


async def test_a_restarted_process_has_nothing_pinned(tiny: Path, start: StartEngine, parts: list[str]) -> None:
    engine = await start(tiny, options=OPTIONS)
    await hold_all(engine, parts[:2])
    assert engine.worker_pid is not None
    os.kill(engine.worker_pid, signal.SIGKILL)
    await engine.complete((Message("user", "Who?"),), SAMPLING)
    assert await engine.pinned([asked(part) for part in parts[:2]]) == [False, False]


async def test_a_cancelled_pin_resumes_where_it_stopped(deep: Path, start: StartEngine, parts: list[str]) -> None:
    engine = await start(deep, options=OPTIONS)
    holding = asyncio.create_task(engine.pin(asked(parts[0])))

    def stop(state: EngineState) -> None:
        if state.phase is Phase.PREFILL and (state.fraction or 0) > 0:
            holding.cancel()

    unwatch = engine.watch(stop)
    with pytest.raises(asyncio.CancelledError):
        await holding
    unwatch()
    assert await engine.pinned([asked(parts[0])]) == [False]
    await engine.complete((Message("user", "Who?"),), SAMPLING)
    usage = await engine.pin(asked(parts[0]))
    assert usage is not None
    assert usage.reused >= OPTIONS.batch_tokens
    assert await engine.pinned([asked(parts[0])]) == [True]


async def test_a_question_goes_before_pinning(tiny: Path, start: StartEngine, parts: list[str]) -> None:
    engine = await start(tiny, options=OPTIONS)
    done: list[str] = []

    async def hold(part: str) -> None:
        await engine.pin(asked(part))
        done.append("part")

    holding = [asyncio.create_task(hold(part)) for part in parts]
    await asyncio.sleep(0)
    await engine.complete((Message("user", "Who?"),), SAMPLING, Priority.INTERACTIVE)
    done.append("question")
    await asyncio.gather(*holding)
    assert done.index("question") < PARTS
    assert await engine.pinned([asked(part) for part in parts]) == [True] * PARTS
