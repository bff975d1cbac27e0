"""By how much probabilities and answers differ between an engine that does other work and one that
has just started.
"""

import asyncio
import math
from collections.abc import AsyncIterator

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
            fresh.append(await _asked(engine, prompt))
    async with engine_over(setting) as engine:
        background = [asyncio.create_task(_read(engine, prompt)) for prompt in prompts]
        shared = await asyncio.gather(*(_asked(engine, prompt) for prompt in prompts))
        await asyncio.gather(*background)
    differences = [
        abs(math.log(one.probability) - math.log(other.probability))
        for (one, _), (other, _) in zip(fresh, shared, strict=True)
        if one.index == other.index and one.probability and other.probability
    ]
    choices = sum(one[0].index != other[0].index for one, other in zip(fresh, shared, strict=True))
    answers = sum(one[1] != other[1] for one, other in zip(fresh, shared, strict=True))
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
        "difference in log-probability, shared engine and fresh one", max(differences), at_most=_AIM
    )


async def _asked(engine: MeteredEngine, prompt: Prompt) -> tuple[Choice, str]:
    choice = await engine.choose(prompt, _OPTIONS)
    return choice, (await engine.complete(prompt, Sampling(max_tokens=_ANSWER_TOKENS))).text


async def _read(engine: MeteredEngine, prompt: Prompt) -> None:
    await engine.complete(prompt, Sampling(max_tokens=64), Priority.BACKGROUND)
