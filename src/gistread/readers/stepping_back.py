"""Takes steps back: a reader runs again with the decisions before the step and what the model said then."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Any, cast

from gistread.engine.protocol import GREEDY, Choice, Completion, Engine, Priority, Prompt, Sampling
from gistread.memory.model import GistMemory
from gistread.readers.events import AnswerDelta, Answered, Proposed, ReaderEvent, SteppedBack
from gistread.readers.protocol import Reader, ReaderOptions
from gistread.readers.steering import Steering


class _CachingEngine:
    """Returns cached results for prompts seen before."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._completions: dict[tuple[Prompt, Sampling], Completion] = {}
        self._choices: dict[tuple[Prompt, tuple[str, ...]], Choice] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    async def complete(
        self, prompt: Prompt, sampling: Sampling = GREEDY, priority: Priority = Priority.INTERACTIVE
    ) -> Completion:
        key = prompt, sampling
        if key not in self._completions:
            self._completions[key] = await self._engine.complete(prompt, sampling, priority)
        return self._completions[key]

    async def choose(self, prompt: Prompt, options: Sequence[str], priority: Priority = Priority.INTERACTIVE) -> Choice:
        key = prompt, tuple(options)
        if key not in self._choices:
            self._choices[key] = await self._engine.choose(prompt, options, priority)
        return self._choices[key]


async def with_steps_back(
    reader: Reader, question: str, memory: GistMemory, engine: Engine, steering: Steering, options: ReaderOptions
) -> AsyncGenerator[ReaderEvent, None]:
    """The events of a reader, which runs again after `Steering.go_back`; repeated events are left out."""
    memory = replace(memory, entries=list(memory.entries))  # Reading may go on meanwhile.
    caching = cast("Engine", _CachingEngine(engine))
    told: list[ReaderEvent] = []
    while True:
        before, told = told, []
        undone, steering.undone = steering.undone, None
        is_back = undone is None  # Whether the step to decide again is reached
        async with aclosing(reader(question, memory, caching, steering, options)) as events:
            while steering.undone is None:
                steering.waiting = asyncio.current_task()
                try:
                    event = await anext(events)
                except asyncio.CancelledError:
                    if steering.undone is None or steering.waiting is None or steering.waiting.uncancel():
                        raise
                    break
                finally:
                    steering.waiting = None
                other_path = undone is not None and getattr(event, "path", 0) not in (0, undone[0].path)
                repeated = event in before and (not is_back or other_path)
                if repeated:
                    before.remove(event)
                elif not is_back and undone is not None:
                    is_back = True
                    pages = {*undone[0].pages, *undone[1].pages}
                    yield SteppedBack(tuple(sorted(pages)))
                if not isinstance(event, AnswerDelta | Proposed):
                    told.append(event)
                if not repeated:
                    yield event
                if isinstance(event, Answered):
                    return
