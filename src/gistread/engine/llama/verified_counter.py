"""Whether the tokens of one model are counted in this process, and the counter once that is known.

The counter is made in a thread when first a text is to be counted. Beside a loaded model it is compared with llama.cpp
before it is trusted: on texts where rules differ, and on the vocabulary's own words. Until then, and where it does not
agree or there can be none, llama.cpp counts, a round trip to the worker.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from gistread.engine.llama.token_counter import TokenCounter, counter_of
from gistread.engine.llama.vocabulary import read_vocabulary
from gistread.errors import GistreadError

Tokenise = Callable[[Sequence[str]], Awaitable[list[list[int]]]]
"""How llama.cpp divides each of these texts. Raises EngineError."""

_AT_ONCE = 2000
"""Characters. A longer text is counted in a thread; a shorter one takes less than that does."""


class VerifiedCounter:
    """Made cheap. `close` has to be awaited."""

    def __init__(self, path: Path, tokenise: Tokenise) -> None:
        """`path`: of the model file. `tokenise`: only asked beside a loaded model."""
        self._path = path
        self._tokenise = tokenise
        self._building: asyncio.Task[TokenCounter | None] | None = None
        self._checking: asyncio.Task[bool] | None = None

    async def count(self, text: str, *, loaded: bool) -> int | None:
        """Tokens in `text`; None: llama.cpp has to count them, since it is not yet known that it agrees, or does not.

        `loaded`: the model is, so that it can be asked. Where it is not, a counter that has not been compared is used.
        """
        counter = await self._trusted() if loaded else await self._built()
        if counter is None:
            return None
        return counter.count(text) if len(text) <= _AT_ONCE else await asyncio.to_thread(counter.count, text)

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

    async def _trusted(self) -> TokenCounter | None:
        """Nobody waits for a comparison: the worker counts meanwhile."""
        if self._checking is None:
            self._checking = asyncio.create_task(self._agrees(), name="token-counter-check")
        return await self._built() if self._checking.done() and self._checking.result() else None

    async def _agrees(self) -> bool:
        counter = await self._built()
        if counter is None:
            return False
        samples = counter.samples()
        try:
            return await self._tokenise(samples) == [counter.tokens(sample) for sample in samples]
        except GistreadError:  # The requests that need the model say so.
            return False


def _build(path: Path) -> TokenCounter | None:
    try:
        return counter_of(read_vocabulary(path))
    except GistreadError:
        return None
