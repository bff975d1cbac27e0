"""A local engine that records the cost of each request while a book is read.

What it was for, tokens, and moments.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from unittest import mock

from gistread.engine.llama.client import LlamaEngine
from gistread.engine.protocol import (
    GREEDY,
    NO_USAGE,
    Choice,
    Completion,
    Priority,
    Prompt,
    Sampling,
    StreamEvent,
    TextDelta,
    Usage,
)
from gistread.memory import gisting


class Purpose(StrEnum):
    PAUSE = "pauses"
    FIRST = "first attempts, kept"
    FIRST_REJECTED = "first attempts, rejected"
    SECOND = "second attempts, kept"
    SECOND_REJECTED = "second attempts, rejected"


_REJECTED = {
    Purpose.FIRST: Purpose.FIRST_REJECTED,
    Purpose.SECOND: Purpose.SECOND_REJECTED,
}


@dataclass(eq=False, slots=True)
class Cost:
    """One request."""

    purpose: Purpose
    started_s: float = field(default_factory=time.perf_counter)
    decoding_s: float = 0.0  # Moment of the first text
    ended_s: float = 0.0
    prompt_s: float = 0.0  # The engine's time for the prompt
    usage: Usage = NO_USAGE


class MeteredEngine(LlamaEngine):
    """Attempts at gists are told apart by their sampling.

    `reject` takes what `read_book` tells `on_draft`.
    """

    def __init__(
        self,
        model: Path,
        *,
        gist_tokens: int,
        adapter: Path | None,
        cache: Path | None,
        snapshots: Path,
    ) -> None:
        """`gist_tokens`: exact length of each gist; 0: as the model ends it."""
        super().__init__(model, adapter=adapter, cache=cache, snapshots=snapshots)
        self._gist_tokens = gist_tokens
        # The guard would reject what such a model writes.
        self._unguarded = mock.patch.multiple(
            gisting, find_fault=lambda _: None, find_final_fault=lambda _: None
        )
        if gist_tokens:
            self._unguarded.start()
        self.costs: list[Cost] = []
        self._latest: dict[asyncio.Task[object] | None, Cost] = {}

    async def close(self) -> None:
        self._unguarded.stop()
        await super().close()

    def reject(self, start: int, draft: str) -> None:
        """Called in the task that makes the gist; an empty draft means a rejected attempt."""
        if not draft:
            cost = self._latest[asyncio.current_task()]
            cost.purpose = _REJECTED[cost.purpose]

    async def choose(
        self,
        prompt: Prompt,
        options: Sequence[str],
        priority: Priority = Priority.INTERACTIVE,
    ) -> Choice:
        cost = self._begin(Purpose.PAUSE)
        choice = await super().choose(prompt, options, priority)
        cost.usage, cost.prompt_s = choice.usage, choice.usage.seconds
        cost.decoding_s = cost.ended_s = time.perf_counter()
        # Random weights choose at random: with the middle, pages are as many as the naive loop's.
        return replace(choice, index=len(options) // 2) if self._gist_tokens else choice

    async def stream(
        self,
        prompt: Prompt,
        sampling: Sampling = GREEDY,
        priority: Priority = Priority.INTERACTIVE,
    ) -> AsyncGenerator[StreamEvent]:
        cost = self._begin(Purpose.SECOND if sampling.temperature else Purpose.FIRST)
        if self._gist_tokens:
            sampling = replace(sampling, max_tokens=self._gist_tokens, stop=())
        async with aclosing(super().stream(prompt, sampling, priority)) as events:
            async for event in events:
                if isinstance(event, TextDelta | Completion):
                    if not cost.decoding_s:
                        cost.decoding_s, cost.prompt_s = (
                            time.perf_counter(),
                            event.usage.seconds,
                        )
                    cost.usage, cost.ended_s = event.usage, time.perf_counter()
                yield event

    def _begin(self, purpose: Purpose) -> Cost:
        cost = Cost(purpose)
        self.costs.append(cost)
        self._latest[asyncio.current_task()] = cost
        return cost


def decoded_beside(cost: Cost, costs: Sequence[Cost]) -> float:
    """How many requests decoded together while this one did, itself included, on average."""
    length = cost.ended_s - cost.decoding_s
    if length <= 0:
        return 1.0
    shared = (
        min(cost.ended_s, other.ended_s) - max(cost.decoding_s, other.decoding_s)
        for other in costs
    )
    return max(1.0, sum(max(0.0, overlap) for overlap in shared) / length)
