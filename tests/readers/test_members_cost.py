"""What the members of a team have read is not evaluated again: not for the first question where it was read before,
not for a second one, not for another round.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest

from gistread.engine.llama.client import LlamaEngine
from gistread.engine.llama.fit import LoadOptions
from gistread.engine.llama.worker.prefix_tree import common_prefix
from gistread.engine.protocol import (
    GREEDY,
    Choice,
    Completion,
    Engine,
    EngineInfo,
    Priority,
    Prompt,
    Sampling,
    Usage,
)
from gistread.memory import chunks
from gistread.readers import longagent
from gistread.readers.events import Answered, MembersAsked, TeamFormed
from gistread.readers.protocol import ReaderOptions
from gistread.readers.steering import Steering
from tests.readers.memories import make_memory
from tests.tiny_gguf import write_tiny_gguf

WINDOW = 2600
PART_TOKENS = 900


class Accounted:
    """An engine whose members find something and whose leader asks on, and what each request has cost."""

    def __init__(self, engine: LlamaEngine) -> None:
        self._engine = engine
        self._finished: list[str] = []
        self.count, self.measure, self.stream, self.pinned = engine.count, engine.measure, engine.stream, engine.pinned
        self.twice: list[int] = []
        """Of each request, tokens that were evaluated although an earlier one had begun with them."""
        self.mentions: list[tuple[Prompt, Usage]] = []
        """What members were asked first, and what that has cost."""

    @property
    def info(self) -> EngineInfo:
        return replace(self._engine.info, parallel=8)

    async def choose(self, prompt: Prompt, options: Sequence[str], priority: Priority = Priority.INTERACTIVE) -> Choice:
        known = list(self._finished)
        choice = await self._engine.choose(prompt, options, priority)
        await self._account(prompt, known, choice.usage)
        if "yes" in options:
            self.mentions.append((prompt, choice.usage))
        return replace(choice, index=0 if "yes" in options else 1)

    async def complete(
        self, prompt: Prompt, sampling: Sampling = GREEDY, priority: Priority = Priority.INTERACTIVE
    ) -> Completion:
        known = list(self._finished)
        said = await self._engine.complete(prompt, replace(sampling, max_tokens=4), priority)
        await self._account(prompt, known, said.usage)
        return replace(said, text=f"answer {len(self.twice)}?")

    async def _account(self, prompt: Prompt, known: Sequence[str], usage: Usage) -> None:
        text = prompt[0].content
        common = max((common_prefix(list(text.encode()), list(other.encode())) for other in known), default=0)
        self.twice.append(max(0, await self._engine.count(text[:common]) - usage.reused))
        self._finished.append(text)


@pytest.mark.slow
async def test_no_chunk_is_evaluated_twice_though_few_fit_the_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chunks, "MAX_CHUNK_TOKENS", PART_TOKENS)
    engine = LlamaEngine(write_tiny_gguf(tmp_path / "tiny.gguf"), options=LoadOptions(context_tokens=WINDOW))
    await engine.start()
    try:
        accounted = Accounted(engine)
        reading = longagent.longagent(
            "Who stole it?", make_memory(20, 20), cast(Engine, accounted), Steering(), ReaderOptions(answer_tokens=16)
        )
        events = [event async for event in reading]
    finally:
        await engine.close()
    (team,) = [event for event in events if isinstance(event, TeamFormed)]
    assert len(team.parts) * PART_TOKENS > 2 * 2 * WINDOW
    assert sum(isinstance(event, MembersAsked) for event in events) == longagent.ROUNDS
    assert isinstance(events[-1], Answered)
    assert len(accounted.twice) >= 2 * len(team.parts) * longagent.ROUNDS
    assert max(accounted.twice) <= 8  # where tokens end is not always where the text that is common does


@pytest.mark.slow
async def test_the_first_question_over_prefetched_chunks_evaluates_only_its_own_tokens(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chunks, "MAX_CHUNK_TOKENS", PART_TOKENS)
    wishes = LoadOptions(context_tokens=WINDOW)
    engine = LlamaEngine(write_tiny_gguf(tmp_path / "tiny.gguf"), options=wishes, snapshots=tmp_path / "snapshots")
    memory = make_memory(20, 20)
    await engine.start()
    try:
        read = [grown async for grown in chunks.prefetch(memory.book, engine, Priority.BACKGROUND)]
        assert len(read) * PART_TOKENS > 2 * 2 * WINDOW
        accounted = Accounted(engine)
        asking = longagent.longagent(
            "Who stole it?", memory, cast(Engine, accounted), Steering(), ReaderOptions(answer_tokens=16)
        )
        async for event in asking:
            if isinstance(event, Answered):
                break
        first = accounted.mentions[: len(read)]
        prompt = first[0][0][0]
        asked = replace(prompt, content=prompt.content[prompt.content.index("\n---\n") - 1 :])
        assert max(usage.prefilled for _, usage in first) <= await engine.measure((asked,))
        assert (await chunks.remaining(memory.book, engine)).complete
        assert not (tmp_path / "snapshots").exists()
    finally:
        await engine.close()
