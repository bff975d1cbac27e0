"""Artifacts derived from a memory (summaries, facts): how each is built and how much remains."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType

from gistread.engine.protocol import Engine
from gistread.memory import facts, tree
from gistread.memory.derived import ArtifactProgress
from gistread.memory.model import GistMemory
from gistread.memory.sizes import (
    ANSWER_TOKENS,
    PAGES_OPEN,
    PROMPT_TOKENS,
    TOKENS_PER_WORD,
    RemainingWork,
)


@dataclass(frozen=True, slots=True)
class Artifact:
    """Something derived from a memory that makes answers faster or better."""

    name: str  # For people, in the plural
    short_name: str  # The same in one word, where it need not be told from others
    _build: Callable[[GistMemory, Engine], AsyncGenerator[ArtifactProgress, None]]
    _remaining: Callable[[GistMemory], RemainingWork]
    # Whether it is needed only if the gists outgrow the model's window
    only_long: bool = False

    async def build(
        self, memory: GistMemory, engine: Engine
    ) -> AsyncGenerator[ArtifactProgress, None]:
        """Build what is missing for the pages read so far. Raises EngineError."""
        if not await self._is_needed(memory, engine):
            return
        async with aclosing(self._build(memory, engine)) as building:
            async for progress in building:
                yield progress

    async def remaining(self, memory: GistMemory, engine: Engine) -> RemainingWork:
        """Estimate the work left, unread pages included. Generates no text. Raises EngineError."""
        if await self._is_needed(memory, engine):
            return await asyncio.to_thread(self._remaining, memory)
        return RemainingWork(0, 0, needless=True)

    async def _is_needed(self, memory: GistMemory, engine: Engine) -> bool:
        return not self.only_long or await _outgrows_window(memory, engine)


async def _outgrows_window(memory: GistMemory, engine: Engine) -> bool:
    """Whether the gists leave no room for a question and the pages opened for it."""
    if not memory.entries:
        return False
    words = sum(entry.page.words for entry in memory.entries)
    page_words = words / len(memory.entries)
    open_pages = PAGES_OPEN * page_words * TOKENS_PER_WORD
    room = engine.info.context_tokens - PROMPT_TOKENS - ANSWER_TOKENS - open_pages
    # A token has less than two words, so a very long memory need not be counted.
    if memory.gist_words / 2 > room:
        return True
    gists = "\n\n".join(entry.gist.text for entry in memory.entries)
    return await engine.count(gists) > room


_ALL = (
    Artifact("summaries", "summaries", tree.build, tree.remaining),
    Artifact(
        "summaries of a long memory",  # Including the summary of the whole book
        "summaries",
        partial(tree.build, whole=True),
        partial(tree.remaining, whole=True),
        only_long=True,
    ),
    Artifact("facts", "facts", facts.build, facts.remaining),
)
# Every artifact by the name that readers use (`readers/registry.py`).
ARTIFACTS: Mapping[str, Artifact] = MappingProxyType(
    {artifact.name: artifact for artifact in _ALL}
)
