"""How far probabilities and answers differ between a busy engine and a fresh one.

The fresh one has just started; the busy one does other work meanwhile.
"""

import asyncio
import math
from collections.abc import AsyncIterator
from dataclasses import dataclass

from gistread.engine.protocol import Choice, Priority, Prompt, Sampling
from tests.benchmarks import texts
from tests.benchmarks.figures import Finding, Table, Target
from tests.benchmarks.metering import MeteredEngine
from tests.benchmarks.setting import Setting, engine_over

_PROMPTS = 9
_PROMPT_TOKENS = 400
_ANSWER_TOKENS = 24
_OPTIONS = ("yes", "no", "perhaps")
_AIM = 0.1
_TASK = "Is this a happy scene? Answer with one word."


@dataclass(frozen=True, slots=True)
class _Replies:
    choice: Choice
    answer: str


async def measure(setting: Setting) -> AsyncIterator[Finding]:
    async with engine_over(setting) as engine:
        count = 3 if setting.quick else _PROMPTS
        prompts = [
            await texts.prompt_of(_PROMPT_TOKENS, variant, engine, _TASK)
            for variant in range(count)
        ]
    fresh = []
    for prompt in prompts:
        async with engine_over(setting) as engine:
            fresh.append(await _replies(engine, prompt))
    async with engine_over(setting) as engine:
        background = [asyncio.create_task(_read(engine, prompt)) for prompt in prompts]
        shared = await asyncio.gather(*(_replies(engine, prompt) for prompt in prompts))
        await asyncio.gather(*background)
    pairs = list(zip(fresh, shared, strict=True))
    differences = [
        abs(math.log(alone.choice.probability) - math.log(beside.choice.probability))
        for alone, beside in pairs
        if alone.choice.index == beside.choice.index
        and alone.choice.probability
        and beside.choice.probability
    ]
    choices = sum(alone.choice.index != beside.choice.index for alone, beside in pairs)
    answers = sum(alone.answer != beside.answer for alone, beside in pairs)
    yield Table(
        "A shared engine beside a fresh one",
        (
            "prompts",
            "other choices",
            f"other answers of {_ANSWER_TOKENS} tokens",
            "largest difference in log-probability",
        ),
        ((str(count), str(choices), str(answers), max(differences)),),
    )
    yield Target(
        "difference in log-probability, shared engine and fresh one",
        max(differences),
        at_most=_AIM,
    )


async def _replies(engine: MeteredEngine, prompt: Prompt) -> _Replies:
    choice = await engine.choose(prompt, _OPTIONS)
    completion = await engine.complete(prompt, Sampling(max_tokens=_ANSWER_TOKENS))
    return _Replies(choice, completion.text)


async def _read(engine: MeteredEngine, prompt: Prompt) -> None:
    await engine.complete(prompt, Sampling(max_tokens=64), Priority.BACKGROUND)
