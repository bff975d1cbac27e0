"""What readers need of a memory beside its gists, by name: how it is made, and how much of it is left to make.

One description for all who make it: a reader when it is first asked, the command line ahead of questions, the screen
while nobody asks. What is made is kept by what it was made of (`derived.py`), so it makes no difference who began; but
for what an engine has read, which only those have a use for who ask the same engine (`chunks.py`).
Which reader needs what, this does not know.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping
from contextlib import aclosing
from dataclasses import dataclass, replace
from types import MappingProxyType

from gistread.engine.protocol import Embedder, Engine, Priority
from gistread.memory import chunks, facts, tree, vectors
from gistread.memory.derived import ArtifactProgress
from gistread.memory.estimate import RemainingWork
from gistread.memory.model import GistMemory
from gistread.memory.sizes import ANSWER_TOKENS, PAGES_OPEN, PROMPT_TOKENS, TOKENS_PER_WORD

ALL_SUMMARIES = "coarser gists"
"""The summaries, that of the whole book with them: what a person sees who looks at the memory from further away."""

VECTORS = "vectors"


@dataclass(frozen=True, slots=True)
class ArtifactModels:
    """Those at hand."""

    engine: Engine
    embedder: Embedder | None = None
    answers: bool = False
    """Questions are put to this very engine, later in this process."""


@dataclass(frozen=True, slots=True)
class Artifact:
    """One thing that is made of a memory."""

    name: str
    """For people: what is made, in the plural."""
    make: Callable[[GistMemory, ArtifactModels, Priority], AsyncGenerator[ArtifactProgress, None]]
    """Make what is not there yet of the pages that have been read, at least one. Raises EngineError."""
    left: Callable[[GistMemory, ArtifactModels], Awaitable[RemainingWork]]
    """What is left to make, of pages that have not been read too as far as can be told. Asks no model that writes."""


async def _summaries(
    memory: GistMemory, models: ArtifactModels, priority: Priority
) -> AsyncGenerator[ArtifactProgress, None]:
    async with aclosing(tree.build(memory, models.engine, priority)) as growing:
        async for grown in growing:
            if isinstance(grown, ArtifactProgress):
                yield grown


async def _summaries_left(memory: GistMemory, models: ArtifactModels) -> RemainingWork:
    return await asyncio.to_thread(tree.remaining, memory)


async def _coarser(
    memory: GistMemory, models: ArtifactModels, priority: Priority
) -> AsyncGenerator[ArtifactProgress, None]:
    async with aclosing(tree.build(memory, models.engine, priority, whole=True)) as growing:
        async for grown in growing:
            if isinstance(grown, ArtifactProgress):
                yield grown


async def _coarser_left(memory: GistMemory, models: ArtifactModels) -> RemainingWork:
    return await asyncio.to_thread(tree.remaining, memory, whole=True)


async def _long(
    memory: GistMemory, models: ArtifactModels, priority: Priority
) -> AsyncGenerator[ArtifactProgress, None]:
    if await _outgrows(memory, models.engine):
        async with aclosing(_coarser(memory, models, priority)) as growing:
            async for grown in growing:
                yield grown


async def _long_left(memory: GistMemory, models: ArtifactModels) -> RemainingWork:
    outgrows = memory.entries and await _outgrows(memory, models.engine)
    return await _coarser_left(memory, models) if outgrows else RemainingWork(0, 0, needless=True)


async def _outgrows(memory: GistMemory, engine: Engine) -> bool:
    """Whether the gists leave no room in the engine's window for open pages and an answer."""
    page_words = sum(entry.page.words for entry in memory.entries) / len(memory.entries)
    open_pages = PAGES_OPEN * page_words * TOKENS_PER_WORD
    room = engine.info.context_tokens - PROMPT_TOKENS - ANSWER_TOKENS - open_pages
    # Two words a token is more than any vocabulary does: a long memory need not be counted to be known as long.
    if memory.gist_words / 2 > room:
        return True
    return await engine.count("\n\n".join(entry.gist.text for entry in memory.entries)) > room


async def _facts(
    memory: GistMemory, models: ArtifactModels, priority: Priority
) -> AsyncGenerator[ArtifactProgress, None]:
    async with aclosing(facts.build(memory, models.engine, priority)) as growing:
        async for grown in growing:
            if isinstance(grown, ArtifactProgress):
                yield grown


async def _facts_left(memory: GistMemory, models: ArtifactModels) -> RemainingWork:
    return await asyncio.to_thread(facts.remaining, memory)


async def _vectors(
    memory: GistMemory, models: ArtifactModels, priority: Priority
) -> AsyncGenerator[ArtifactProgress, None]:
    if models.embedder is None:
        return
    async with aclosing(vectors.build(memory, models.embedder, priority=priority)) as growing:
        async for grown in growing:
            if isinstance(grown, ArtifactProgress):
                yield grown


async def _vectors_left(memory: GistMemory, models: ArtifactModels) -> RemainingWork:
    """Nothing where there is no embedding model: then nothing can be made. Loads it, and tries how fast it is; raises
    EngineError."""
    if models.embedder is None:
        return RemainingWork(0, 0)
    info = await models.embedder.start()
    left = await asyncio.to_thread(vectors.remaining, memory, info)
    if left.complete or not (pace := await vectors.tokens_per_second(memory, models.embedder)):
        return left
    return replace(left, elsewhere_s=left.prefilled / pace)


async def _members(
    memory: GistMemory, models: ArtifactModels, priority: Priority
) -> AsyncGenerator[ArtifactProgress, None]:
    if models.answers:
        async with aclosing(chunks.prefetch(memory.book, models.engine, priority)) as reading:
            async for grown in reading:
                yield grown


async def _members_left(memory: GistMemory, models: ArtifactModels) -> RemainingWork:
    return await chunks.remaining(memory.book, models.engine) if models.answers else RemainingWork(0, 0, needless=True)


ARTIFACTS: Mapping[str, Artifact] = MappingProxyType(
    {
        need.name: need
        for need in (
            Artifact("summaries", _summaries, _summaries_left),
            Artifact(ALL_SUMMARIES, _coarser, _coarser_left),
            Artifact("summaries of a long memory", _long, _long_left),
            Artifact("facts", _facts, _facts_left),
            Artifact(VECTORS, _vectors, _vectors_left),
            Artifact("members", _members, _members_left),
        )
    }
)
"""Everything that a reader may name as its need."""


async def build_artifacts(
    names: Iterable[str], memory: GistMemory, models: ArtifactModels, priority: Priority = Priority.BACKGROUND
) -> AsyncGenerator[tuple[Artifact, ArtifactProgress], None]:
    """Make these things one after the other. There must be a page. Raises EngineError, KeyError for unknown names."""
    for need in [ARTIFACTS[name] for name in names]:
        async with aclosing(need.make(memory, models, priority)) as growing:
            async for grown in growing:
                yield need, grown
