"""Artifacts of readers: built once, with the remaining work estimated first."""

from dataclasses import replace

import pytest

from gistread.engine.protocol import EngineInfo, Priority, Rates
from gistread.memory.artifacts import ARTIFACTS, Artifact, ArtifactModels, build_artifacts
from gistread.memory.derived import ArtifactProgress
from gistread.memory.estimate import RemainingWork
from gistread.memory.model import GistMemory
from gistread.memory.tree import current_tree
from gistread.readers.registry import METHODS
from tests.fake_embedder import FakeEmbedder
from tests.fake_engine import FakeEngine
from tests.readers.memories import make_memory

PAGES = 40
LONG = "summaries of a long memory"
ALWAYS = [need for need in ARTIFACTS.values() if need.name not in (LONG, "members")]
"""What a memory of any length is to have, and what is kept with it (`test_parts.py` has the other)."""


def models() -> ArtifactModels:
    return ArtifactModels(FakeEngine(says=lambda text: " ".join(text.split()[2:22]) + "."), FakeEmbedder())


async def made(need: Artifact, memory: GistMemory, with_models: ArtifactModels) -> list[ArtifactProgress]:
    return [grown async for _, grown in build_artifacts([need.name], memory, with_models)]


def test_readers_name_only_known_artifacts() -> None:
    assert {name for method in METHODS.values() for name in method.artifacts} <= set(ARTIFACTS)
    assert METHODS["memwalker"].artifacts == ("summaries",)
    assert METHODS["graphreader"].artifacts == ("facts",)


@pytest.mark.parametrize("need", ALWAYS, ids=lambda need: need.name)
async def test_everything_remains_then_nothing_and_a_second_build_does_nothing(need: Artifact) -> None:
    memory, at_hand = make_memory(PAGES, PAGES), models()
    before = await need.remaining(memory, at_hand)
    assert (before.done, before.complete) == (0, False)
    assert before.prefilled > before.total
    growth = await made(need, memory, at_hand)
    assert {grown.total for grown in growth} == {before.total}
    after = await need.remaining(memory, at_hand)
    assert (after.done, after.total, after.prefilled, after.generated) == (before.total, before.total, 0, 0)
    again = models()
    await made(need, memory, again)
    assert isinstance(again.engine, FakeEngine)
    assert again.engine.calls == []


@pytest.mark.parametrize("name", ["summaries", "facts"])
async def test_a_stopped_build_counts_what_it_finished(name: str) -> None:
    need, memory, at_hand = ARTIFACTS[name], make_memory(PAGES, PAGES), models()
    growing = build_artifacts([name], memory, at_hand)
    for _ in range(3):
        await anext(growing)
    await growing.aclose()
    left = await need.remaining(memory, at_hand)
    assert 3 <= left.done < left.total


@pytest.mark.parametrize("need", ALWAYS, ids=lambda need: need.name)
async def test_unread_pages_count_as_remaining(need: Artifact) -> None:
    half, whole = make_memory(PAGES // 2, PAGES), make_memory(PAGES, PAGES)
    expected = await need.remaining(whole, models())
    told = await need.remaining(half, models())
    assert told.total == pytest.approx(expected.total, rel=0.4)
    assert told.prefilled == pytest.approx(expected.prefilled, rel=0.5)
    nothing = await need.remaining(make_memory(0, PAGES), models())
    assert nothing.total > 1


async def test_artifacts_are_built_in_the_background() -> None:
    at_hand = models()
    await made(ARTIFACTS["facts"], make_memory(), at_hand)
    assert isinstance(at_hand.engine, FakeEngine)
    assert {call.priority for call in at_hand.engine.calls} == {Priority.BACKGROUND}


async def test_without_an_embedding_model_no_vectors_remain() -> None:
    alone = replace(models(), embedder=None)
    memory = make_memory()
    assert (await ARTIFACTS["vectors"].remaining(memory, alone)).complete
    assert await made(ARTIFACTS["vectors"], memory, alone) == []


def test_seconds_follow_from_the_rates_of_the_engine() -> None:
    left = RemainingWork(2, 10, prefilled=1000, generated=200)
    measured = EngineInfo("m", "f", 8192, "CPU", parallel=4, rates=Rates(100.0, ((1, 10.0), (4, 20.0))))
    assert left.seconds(measured) == pytest.approx(1000 / 100 + 200 / 20)
    assert left.seconds(EngineInfo("m", "f", 8192, "CPU")) is None
    assert RemainingWork(10, 10).seconds(EngineInfo("m", "f", 8192, "CPU")) == 0.0


@pytest.mark.parametrize(("context", "needed"), [(8192, False), (1000, True)])
async def test_summaries_are_needed_when_the_gists_outgrow_the_window(context: int, needed: bool) -> None:
    memory = make_memory(160, 160) if needed else make_memory(20, 20)
    engine = FakeEngine(says=lambda text: " ".join(text.split()[2:22]) + ".", context_tokens=context)
    at_hand = ArtifactModels(engine)
    need = ARTIFACTS[LONG]
    left = await need.remaining(memory, at_hand)
    assert (left.needless, left.complete) == (not needed, not needed)
    grown = [grown async for grown in need.build(memory, at_hand, Priority.BACKGROUND)]
    assert bool(grown) == needed
    assert (await need.remaining(memory, at_hand)).complete
    assert current_tree(memory).made == needed


async def test_the_speed_of_embedding_is_measured_on_the_first_passages() -> None:
    embedder = FakeEmbedder(tokens_per_s=50.0)
    at_hand = replace(models(), embedder=embedder)
    memory = make_memory()
    left = await ARTIFACTS["vectors"].remaining(memory, at_hand)
    assert left.seconds(at_hand.engine.info) == pytest.approx(left.prefilled / 50.0)
    assert {text in memory.book.text for text in embedder.documents} == {True}
    tried = len(embedder.asked)
    await ARTIFACTS["vectors"].remaining(memory, at_hand)
    assert len(embedder.asked) == tried, "once"
    await made(ARTIFACTS["vectors"], memory, at_hand)
    assert (await ARTIFACTS["vectors"].remaining(memory, at_hand)).seconds(at_hand.engine.info) == 0.0


async def test_an_unknown_embedding_speed_gives_no_estimate() -> None:
    at_hand = replace(models(), embedder=FakeEmbedder())
    assert (await ARTIFACTS["vectors"].remaining(make_memory(), at_hand)).seconds(at_hand.engine.info) is None
