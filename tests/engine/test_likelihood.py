"""How likely a text is after a prompt: what llama.cpp says token by token, however requests are batched."""

import asyncio
import random
from pathlib import Path

import pytest

from gistread.engine.llama.client import LlamaEngine
from gistread.engine.protocol import Message, Priority, Prompt, Sampling
from gistread.errors import PromptTooLongError
from tests.engine.conftest import StartEngine, TinyModel
from tests.engine.fresh_model import passage

NEAR = 0.02
"""Batches move single logits by at most 0.05; over the tokens of a question most of that evens out."""


def about(dice: random.Random, words: int = 20) -> Prompt:
    return (Message("user", passage(dice, words)),)


async def check(engine: LlamaEngine, model: TinyModel, prompt: Prompt, question: str, priority: Priority) -> None:
    found = await engine.likelihood(prompt, question, priority)
    assert found is not None
    assert found.mean == pytest.approx(model.fresh.likelihood(prompt, question.encode()), abs=NEAR)
    assert found.tokens == len(question)
    assert found.usage.generated == 0


async def test_it_is_that_of_a_fresh_context(model: TinyModel, start: StartEngine) -> None:
    dice, engine = random.Random(1), await start(model.path)
    for question in ("w", "who came", "where did a mule stand in snow"):
        await check(engine, model, about(dice), question, Priority.INTERACTIVE)


async def test_many_at_once_are_what_each_is_alone(model: TinyModel, start: StartEngine) -> None:
    dice, engine = random.Random(2), await start(model.path)
    prompts = [about(dice, dice.randrange(3, 80)) for _ in range(16)]
    prompts.append(prompts[0])
    await asyncio.gather(*(check(engine, model, prompt, "who came", Priority.INTERACTIVE) for prompt in prompts))


async def test_what_is_interrupted_ends_the_same(model: TinyModel, start: StartEngine) -> None:
    dice, engine = random.Random(3), await start(model.path)
    prompts = [about(dice, 150) for _ in range(6)]
    asked = [
        asyncio.create_task(check(engine, model, prompt, passage(dice, 12), Priority.BACKGROUND)) for prompt in prompts
    ]
    for _ in range(8):
        await asyncio.sleep(0.01)
        await engine.complete(about(dice), Sampling(max_tokens=2))
    await asyncio.gather(*asked)


async def test_it_leaves_what_others_will_use(model: TinyModel, start: StartEngine) -> None:
    if not model.can_roll_back:
        pytest.skip("what this model keeps is found by whole prompts alone")
    dice, engine = random.Random(4), await start(model.path)
    memory = about(dice, 100)
    first = await engine.complete(memory, Sampling(max_tokens=1))
    await asyncio.gather(*(engine.likelihood(about(dice), "who came") for _ in range(40)))
    again = await engine.complete(memory, Sampling(max_tokens=1))
    assert again.usage.reused == first.usage.prefilled - 1


async def test_what_does_not_fit_is_said(tiny: Path, start: StartEngine) -> None:
    engine, prompt = await start(tiny), about(random.Random(5), 10)
    room = engine.info.context_tokens - await engine.measure(prompt)
    assert await engine.likelihood(prompt, "w" * room) is not None
    with pytest.raises(PromptTooLongError):
        await engine.likelihood(prompt, "w" * (room + 2))
    with pytest.raises(ValueError, match="empty"):
        await engine.likelihood(prompt, "")
