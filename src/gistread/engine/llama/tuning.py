"""Finds the engine settings with which this machine is fastest at reading a page and answering a question about it."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from gistread.config import Config
from gistread.engine.protocol import Engine, Message, Placement, Prompt, Sampling

TUNED = ("threads", "flash_attention", "batch_tokens")  # The settings that are tried
TIME_LIMIT_S = 60.0  # No further trial begins after it
_KEPT_SHARE = 0.9  # A change is kept if a trial takes at most this share of the best time
_PILOT_WORDS = 64
_PROMPT_S = 4.0  # Aimed duration of the prompt of a trial
_WORDS = 200, 900  # Limits of its length; attention at the depth of a page counts too
_GISTS, _ANSWER = (48, 48), (24,)  # Tokens decoded


@dataclass(frozen=True, slots=True)
class Trial:
    change: Mapping[str, int | str]  # Setting and value; empty for the settings as they were
    seconds: float
    kept: bool


# Loads a model with these settings. Returns its placement and the seconds for the work of a trial. Raises EngineError.
RunTrial = Callable[[Config], Awaitable[tuple[Placement, float]]]


async def tune(run_trial: RunTrial, config: Config, cores: tuple[int, int]) -> AsyncIterator[Trial]:
    """Try changes one by one, on top of those already kept. `cores`: physical and logical. Raises EngineError."""
    began = time.monotonic()
    placement, best = await run_trial(config)
    yield Trial({}, best, kept=True)
    for change in _changes(placement, cores):
        if time.monotonic() - began > TIME_LIMIT_S:
            return
        changed = replace(config, **change)  # type: ignore[arg-type]  # `save_setting` checks it
        _, seconds = await run_trial(changed)
        kept = seconds <= _KEPT_SHARE * best
        yield Trial(change, seconds, kept)
        if kept:
            config, best = changed, seconds


def _changes(placement: Placement, cores: tuple[int, int]) -> Iterator[Mapping[str, int | str]]:
    physical, logical = cores
    yield {"flash_attention": "off" if placement.flash_attention else "on"}
    if not placement.gpu_layers:
        yield from ({"threads": count} for count in (logical, physical - 1) if 0 < count != placement.threads)
    batch = placement.batch_tokens
    yield from ({"batch_tokens": tokens} for tokens in (2 * batch, batch // 2) if tokens >= 64)


class Work:
    """The work of every trial: a prompt, two gists decoded together, and an answer decoded alone."""

    def __init__(self, text: str) -> None:
        self._text = text.split()
        self._words = 0

    async def seconds(self, engine: Engine) -> float:
        """Raises EngineError."""
        if not self._words:
            pilot_s = await _timed(engine, _prompt(self._text[-_PILOT_WORDS:], ""), (1,))
            self._words = min(max(_WORDS[0], int(_PILOT_WORDS * _PROMPT_S / pilot_s)), _WORDS[1])
        page = self._text[: self._words]
        seconds = await _timed(engine, _prompt(page, ""), (1,))
        seconds += await _timed(engine, _prompt(page, "Shorten this text."), _GISTS)
        return seconds + await _timed(engine, _prompt(page, "What happens in this text?"), _ANSWER)


def _prompt(words: list[str], task: str) -> Prompt:
    return (Message("user", f"{' '.join(words)}\n\n{task}"),)


async def _timed(engine: Engine, prompt: Prompt, lengths: tuple[int, ...]) -> float:
    """Seconds for concurrent answers of these lengths in tokens; scaled up if an answer ends early."""
    began = time.perf_counter()
    answers = await asyncio.gather(*(engine.complete(prompt, Sampling(length)) for length in lengths))
    seconds = time.perf_counter() - began
    return seconds * sum(lengths) / max(1, sum(answer.usage.generated for answer in answers))
