"""Chunks of a book are prefetched once, up to the engine's capacity."""

import pytest

from gistread.engine.protocol import Priority, Prompt, Usage
from gistread.memory import chunks
from gistread.memory.artifacts import ARTIFACTS, ArtifactModels
from gistread.memory.derived import ArtifactProgress
from gistread.memory.model import GistMemory, PageSize
from gistread.readers import longagent
from gistread.readers.protocol import ReaderOptions
from gistread.readers.steering import Steering
from tests.fake_engine import FakeEngine
from tests.memory.books import make_book

MEMBERS = ARTIFACTS["members"]
EACH = 120


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunks, "MAX_CHUNK_TOKENS", EACH)


def make_memory() -> GistMemory:
    days = [
        [f"On day {day} at hour {hour} the ferry crossed the river again." for hour in range(20)] for day in range(8)
    ]
    return GistMemory(make_book(*([" ".join(day)] for day in days)), PageSize(50, 150), "fake")


async def read_ahead(memory: GistMemory, models: ArtifactModels) -> list[ArtifactProgress]:
    return [grown async for grown in MEMBERS.build(memory, models, Priority.BACKGROUND)]


def holding(tokens: int) -> FakeEngine:
    return FakeEngine(pinnable_tokens=tokens)


def held_of(engine: FakeEngine) -> list[str]:
    return [call.text for call in engine.calls if call.kind == "hold"]


async def asked_of(engine: FakeEngine, memory: GistMemory) -> list[str]:
    """The chunks of the members, in the order asked."""
    events = longagent.longagent("Who stole it?", memory, engine, Steering(), ReaderOptions())
    async for _ in events:
        pass
    return [call.text.partition("\n\n---\n")[0] for call in engine.calls if call.options == ("yes", "no")]


async def test_each_chunk_is_pinned_once_in_the_background_as_the_beginning_of_its_members_prompt() -> None:
    engine, memory = holding(100_000), make_memory()
    models = ArtifactModels(engine, answers=True)
    before = await MEMBERS.remaining(memory, models)
    assert (before.done, before.complete, before.needless) == (0, False, False)
    growth = await read_ahead(memory, models)
    assert [grown.done for grown in growth] == list(range(1, before.total + 1))
    assert {call.priority for call in engine.calls} == {Priority.BACKGROUND}
    left = await MEMBERS.remaining(memory, models)
    assert (left.done, left.total, left.prefilled) == (before.total, before.total, 0)
    assert await read_ahead(memory, models) == []
    assert await asked_of(engine, memory) == held_of(engine)


async def test_chunks_are_pinned_up_to_the_engines_capacity() -> None:
    memory = make_memory()
    every = (await MEMBERS.remaining(memory, ArtifactModels(holding(100_000), answers=True))).total
    engine = holding(3 * EACH + 50)
    models = ArtifactModels(engine, answers=True)
    left = await MEMBERS.remaining(memory, models)
    assert (left.total, left.prefilled) == (3, 3 * EACH)
    assert every > 6
    await read_ahead(memory, models)
    assert len(engine.holding) == 3
    assert (await asked_of(engine, memory))[:3] == engine.holding


async def test_prefetching_ends_when_the_engine_has_no_more_memory() -> None:
    class Shrunk(FakeEngine):
        async def pin(self, prompt: Prompt, priority: Priority = Priority.BACKGROUND) -> Usage | None:
            return await super().pin(prompt, priority) if len(self.holding) < 2 else None

    engine = Shrunk(pinnable_tokens=100_000)
    assert [grown.done for grown in await read_ahead(make_memory(), ArtifactModels(engine, answers=True))] == [1, 2]


async def test_members_with_pinned_chunks_are_asked_first() -> None:
    memory = make_memory()
    engine = holding(100_000)
    await read_ahead(memory, ArtifactModels(engine, answers=True))
    every = list(engine.holding)
    del engine.holding[:4]
    assert await asked_of(engine, memory) == every[4:] + every[:4]


async def test_prefetching_resumes_and_repeats_lost_chunks_once() -> None:
    engine, memory = holding(100_000), make_memory()
    models = ArtifactModels(engine, answers=True)
    reading = MEMBERS.build(memory, models, Priority.BACKGROUND)
    for _ in range(3):
        await anext(reading)
    await reading.aclose()
    assert (await MEMBERS.remaining(memory, models)).done == 3
    reading = MEMBERS.build(memory, models, Priority.BACKGROUND)
    await anext(reading)
    engine.holding.clear()
    async for _ in reading:
        pass
    left = await MEMBERS.remaining(memory, models)
    assert left.complete
    assert len(held_of(engine)) == left.total + 4


async def test_nothing_is_prefetched_without_pinning() -> None:
    memory = make_memory()
    for models in (
        ArtifactModels(holding(100_000)),  # nobody will ask this engine
        ArtifactModels(holding(0), answers=True),  # it holds nothing
        ArtifactModels(holding(EACH - 1), answers=True),
        ArtifactModels(
            FakeEngine(pinnable_tokens=100_000, context_tokens=500), answers=True
        ),  # no team can be asked in it
    ):
        assert (await MEMBERS.remaining(memory, models)).needless
        assert await read_ahead(memory, models) == []


def test_chunks_are_the_same_for_every_usual_question(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunks, "MAX_CHUNK_TOKENS", 2000)
    for window in (2048, 2600, 8192):
        assert len({chunks.chunk_tokens(window, question) for question in (0, 5, 20, 60)}) == 1
    assert chunks.chunk_tokens(2048, 400) < chunks.chunk_tokens(2048)
