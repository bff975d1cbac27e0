"""Artifacts derived from a memory (summaries, facts, vectors): how each is built and how much remains."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping
from contextlib import aclosing
from dataclasses import dataclass, replace
from types import MappingProxyType

from gistread.engine.protocol import Embedder, Engine, Priority
from gistread.memory import chunks, facts, tree
from gistread.memory.derived import ArtifactProgress
from gistread.memory.estimate import RemainingWork
from gistread.memory.model import GistMemory
from gistread.memory.sizes import ANSWER_TOKENS, PAGES_OPEN, PROMPT_TOKENS, TOKENS_PER_WORD

ALL_SUMMARIES = "chapter summaries"  # Every summary, also that of the whole book, for zooming

VECTORS = "vectors"


@dataclass(frozen=True, slots=True)
class ArtifactModels:
    engine: Engine
    embedder: Embedder | None = None
    answers: bool = False  # This engine also answers questions, later in this process


async def _always(memory: GistMemory, models: ArtifactModels) -> bool:
    return True


async def _engine_answers(memory: GistMemory, models: ArtifactModels) -> bool:
    return models.answers


@dataclass(frozen=True, slots=True)
class Artifact:
    name: str  # For people, in the plural
    _build: Callable[[GistMemory, ArtifactModels, Priority], AsyncGenerator[ArtifactProgress, None]]
    _remaining: Callable[[GistMemory, ArtifactModels], Awaitable[RemainingWork]]
    _is_needed: Callable[[GistMemory, ArtifactModels], Awaitable[bool]] = _always

    async def build(
        self, memory: GistMemory, models: ArtifactModels, priority: Priority = Priority.BACKGROUND
    ) -> AsyncGenerator[ArtifactProgress, None]:
        """Build what is missing for the pages read so far, at least one. Raises EngineError."""
        if await self._is_needed(memory, models):
            async with aclosing(self._build(memory, models, priority)) as building:
                async for progress in building:
                    yield progress

    async def remaining(self, memory: GistMemory, models: ArtifactModels) -> RemainingWork:
        """Estimate the work left, unread pages included. Generates no text. Raises EngineError."""
        if await self._is_needed(memory, models):
            return await self._remaining(memory, models)
        return RemainingWork(0, 0, needless=True)


async def _outgrows_window(memory: GistMemory, models: ArtifactModels) -> bool:
    if not memory.entries:
        return False
    engine = models.engine
    page_words = sum(entry.page.words for entry in memory.entries) / len(memory.entries)
    open_pages = PAGES_OPEN * page_words * TOKENS_PER_WORD
    room = engine.info.context_tokens - PROMPT_TOKENS - ANSWER_TOKENS - open_pages
    # No vocabulary reaches two words a token, so a very long memory need not be counted.
    if memory.gist_words / 2 > room:
        return True
    return await engine.count("\n\n".join(entry.gist.text for entry in memory.entries)) > room


async def _build_vectors(
    memory: GistMemory, models: ArtifactModels, priority: Priority
) -> AsyncGenerator[ArtifactProgress, None]:
    if models.embedder is not None:
        from gistread.memory import vectors  # imports NumPy

        async with aclosing(vectors.build(memory, models.embedder, priority)) as building:
            async for progress in building:
                yield progress


async def _remaining_vectors(memory: GistMemory, models: ArtifactModels) -> RemainingWork:
    """Loads the embedding model to measure its speed; without one, no work remains."""
    if models.embedder is None:
        return RemainingWork(0, 0)
    from gistread.memory import vectors  # imports NumPy

    info = await models.embedder.start()
    work = await asyncio.to_thread(vectors.remaining, memory, info)
    if work.complete or not (speed := await vectors.tokens_per_second(memory, models.embedder)):
        return work
    return replace(work, elsewhere_s=work.prefilled / speed)


_SUMMARIES = Artifact(
    "summaries",
    lambda memory, models, priority: tree.build(memory, models.engine, priority),
    lambda memory, models: asyncio.to_thread(tree.remaining, memory),
)
_WITH_BOOK = Artifact(
    ALL_SUMMARIES,
    lambda memory, models, priority: tree.build(memory, models.engine, priority, whole=True),
    lambda memory, models: asyncio.to_thread(tree.remaining, memory, whole=True),
)
_FACTS = Artifact(
    "facts",
    lambda memory, models, priority: facts.build(memory, models.engine, priority),
    lambda memory, models: asyncio.to_thread(facts.remaining, memory),
)
_MEMBERS = Artifact(
    "members",
    lambda memory, models, priority: chunks.prefetch(memory.book, models.engine, priority),
    lambda memory, models: chunks.remaining(memory.book, models.engine),
    _engine_answers,
)
_ALL = (
    _SUMMARIES,
    _WITH_BOOK,
    replace(_WITH_BOOK, name="summaries of a long memory", _is_needed=_outgrows_window),
    _FACTS,
    Artifact(VECTORS, _build_vectors, _remaining_vectors),
    _MEMBERS,
)
# Every artifact by the name that readers use (`readers/registry.py`).
ARTIFACTS: Mapping[str, Artifact] = MappingProxyType({artifact.name: artifact for artifact in _ALL})


async def build_artifacts(
    names: Iterable[str], memory: GistMemory, models: ArtifactModels
) -> AsyncGenerator[tuple[Artifact, ArtifactProgress], None]:
    """Build these artifacts one after the other. Raises EngineError, KeyError for unknown names."""
    for artifact in [ARTIFACTS[name] for name in names]:
        async with aclosing(artifact.build(memory, models)) as building:
            async for progress in building:
                yield artifact, progress
