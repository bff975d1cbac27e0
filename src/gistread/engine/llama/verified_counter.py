"""Counts tokens in this process, once verified against llama.cpp.

The counter is built in a thread when a text is first counted. With a loaded model it is compared with llama.cpp on
sample texts before it is trusted; until then, or if they differ, the worker counts.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from gistread.engine.llama.token_counter import TokenCounter, counter_of
from gistread.engine.llama.vocabulary import read_vocabulary
from gistread.errors import GistreadError

Tokenize = Callable[[Sequence[str]], Awaitable[list[list[int]]]]
"""Tokenizes texts with llama.cpp. Raises EngineError."""

_IN_THREAD_FROM = 2000
"""Characters. Longer texts are counted in a thread."""


class VerifiedCounter:
    """Cheap to create; await `close`."""

    def __init__(self, path: Path, tokenize: Tokenize) -> None:
        """`path`: the model file. `tokenize` is called only while the model is loaded."""
        self._path = path
        self._tokenize = tokenize
        self._building: asyncio.Task[TokenCounter | None] | None = None
        self._checking: asyncio.Task[bool] | None = None

    async def count(self, text: str, *, loaded: bool) -> int | None:
        """Count tokens; None if llama.cpp must count them because the counter is unverified or wrong.

        Without a loaded model the counter is used unverified.
        """
        counter = await self._verified() if loaded else await self._built()
        if counter is None:
            return None
        return counter.count(text) if len(text) <= _IN_THREAD_FROM else await asyncio.to_thread(counter.count, text)

    async def close(self) -> None:
        for task in (self._checking, self._building):
            if task is not None:
                task.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await task

    async def _built(self) -> TokenCounter | None:
        if self._building is None:
            self._building = asyncio.create_task(asyncio.to_thread(_build, self._path), name="token-counter")
        return await asyncio.shield(self._building)

    async def _verified(self) -> TokenCounter | None:
        """The counter once verified. Does not wait for the verification."""
        if self._checking is None:
            self._checking = asyncio.create_task(self._agrees(), name="token-counter-check")
        return await self._built() if self._checking.done() and self._checking.result() else None

    async def _agrees(self) -> bool:
        counter = await self._built()
        if counter is None:
            return False
        samples = counter.samples()
        try:
            return await self._tokenize(samples) == [counter.tokens(sample) for sample in samples]
        except GistreadError:  # Requests that need the model report it.
            return False


def _build(path: Path) -> TokenCounter | None:
    try:
        return counter_of(read_vocabulary(path))
    except GistreadError:
        return None
