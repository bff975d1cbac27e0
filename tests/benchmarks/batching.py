"""How much faster several answers are decoded together than one alone, through gistread's engine.

On the F16 copy of the model: there the rate of one sequence is bound by reading the weights, which
a batch reads once for all. Only the time counts in which all answers are being decoded, so neither
prompts nor ends do.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Sequence

from gistread.engine.llama.client import LlamaEngine
from gistread.engine.protocol import Prompt, Sampling, TextDelta
from tests.benchmarks import texts
from tests.benchmarks.figures import Finding, Skipped, Spread, Table, Target
from tests.benchmarks.setting import Setting, engine_over

_SEQUENCES = (1, 2, 4, 8)
_ROUNDS = 3
_PROMPT_TOKENS = 100
_ANSWER_TOKENS = 96
_AIM = 2.3


async def measure(setting: Setting) -> AsyncIterator[Finding]:
    rounds, tokens = (1, 24) if setting.quick else (_ROUNDS, _ANSWER_TOKENS)
    rates: dict[int, list[float]] = {count: [] for count in _SEQUENCES}
    async with engine_over(setting, setting.copy("F16"), measured=False) as engine:
        task = "Tell all of this again in other words."
        prompts = [
            await texts.prompt_of(_PROMPT_TOKENS, variant, engine, task)
            for variant in range(_SEQUENCES[-1])
        ]
        for _ in range(rounds):
            for count, rates_of_count in rates.items():
                if rate := await _rate(prompts[:count], tokens, engine):
                    rates_of_count.append(rate)
    if not all(rates.values()):
        yield Skipped(
            "decode in batches",
            "the engine did not decode all answers at the same time",
        )
        return
    spreads = [Spread.of(rates_of_count) for rates_of_count in rates.values()]
    alone = spreads[0]
    yield Table(
        "Decode by answers at once, F16 copy",
        ("answers", "of all [tok/s]", "against one"),
        tuple(
            (str(n), spread, spread.median / alone.median)
            for n, spread in zip(rates, spreads, strict=True)
        ),
    )
    what = f"decode rate with {_SEQUENCES[-1]} sequences against 1, F16 copy"
    yield Target(what, spreads[-1].median / alone.median, at_least=_AIM)


async def _rate(
    prompts: Sequence[Prompt], max_tokens: int, engine: LlamaEngine
) -> float | None:
    """Tokens a second of all answers, while all are decoded. None: there was no such time."""
    times = await asyncio.gather(
        *(_arrivals(prompt, max_tokens, engine) for prompt in prompts)
    )
    begin, end = max(answer[0] for answer in times), min(answer[-1] for answer in times)
    tokens = sum(begin < arrival <= end for answer in times for arrival in answer)
    return tokens / (end - begin) if end > begin and tokens > len(prompts) else None


async def _arrivals(
    prompt: Prompt, max_tokens: int, engine: LlamaEngine
) -> list[float]:
    """When each piece of the answer came.

    A token is a piece, but for characters that take several tokens.
    """
    return [
        time.perf_counter()
        async for event in engine.stream(prompt, Sampling(max_tokens=max_tokens))
        if isinstance(event, TextDelta)
    ]
