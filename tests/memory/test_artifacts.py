"""Artifacts of readers: built once, with the remaining work estimated first."""

import pytest

from gistread.memory.artifacts import ARTIFACTS, Artifact
from gistread.memory.derived import ArtifactProgress
from gistread.memory.model import GistMemory
from gistread.memory.tree import current_tree
from tests.fake_engine import FakeEngine
from tests.readers.memories import make_memory

PAGES = 40
LONG = "summaries of a long memory"
ALWAYS = [need for need in ARTIFACTS.values() if need.name != LONG]
"""What a memory of any length is to have, and what is kept with it (`test_parts.py` has the other).
"""


def models() -> FakeEngine:
    return FakeEngine(says=lambda text: " ".join(text.split()[2:22]) + ".")


async def made(
    need: Artifact, memory: GistMemory, engine: FakeEngine
) -> list[ArtifactProgress]:
    return [grown async for grown in need.build(memory, engine)]


@pytest.mark.parametrize("need", ALWAYS, ids=lambda need: need.name)
async def test_everything_remains_then_nothing_and_a_second_build_does_nothing(
    need: Artifact,
) -> None:
    memory, at_hand = make_memory(PAGES, PAGES), models()
    before = await need.remaining(memory, at_hand)
    assert (before.done, before.complete) == (0, False)
    assert before.prefilled > before.total
    growth = await made(need, memory, at_hand)
    assert {grown.total for grown in growth} == {before.total}
    after = await need.remaining(memory, at_hand)
    assert (after.done, after.total, after.prefilled, after.generated) == (
        before.total,
        before.total,
        0,
        0,
    )
    again = models()
    await made(need, memory, again)
    assert again.calls == []


@pytest.mark.parametrize("name", ["summaries", "facts"])
async def test_a_stopped_build_counts_what_it_finished(name: str) -> None:
    need = ARTIFACTS[name]
    memory = make_memory(PAGES, PAGES)
    at_hand = models()
    growing = need.build(memory, at_hand)
    for _ in range(3):
        await anext(growing)
    await growing.aclose()
    left = await need.remaining(memory, at_hand)
    assert 3 <= left.done < left.total


@pytest.mark.parametrize("need", ALWAYS, ids=lambda need: need.name)
async def test_unread_pages_count_as_remaining(need: Artifact) -> None:
    half, whole = make_memory(PAGES // 2, PAGES), make_memory(PAGES, PAGES)
    expected = await need.remaining(whole, models())
    remaining = await need.remaining(half, models())
    assert remaining.total == pytest.approx(expected.total, rel=0.4)
    assert remaining.prefilled == pytest.approx(expected.prefilled, rel=0.5)
    nothing = await need.remaining(make_memory(0, PAGES), models())
    assert nothing.total > 1


@pytest.mark.parametrize(("context", "needed"), [(8192, False), (1000, True)])
async def test_summaries_are_needed_when_the_gists_outgrow_the_window(
    context: int, needed: bool
) -> None:
    memory = make_memory(160, 160) if needed else make_memory(20, 20)
    engine = FakeEngine(
        says=lambda text: " ".join(text.split()[2:22]) + ".", context_tokens=context
    )
    need = ARTIFACTS[LONG]
    left = await need.remaining(memory, engine)
    assert (left.needless, left.complete) == (not needed, not needed)
    grown = [grown async for grown in need.build(memory, engine)]
    assert bool(grown) == needed
    assert (await need.remaining(memory, engine)).complete
    assert current_tree(memory).made == needed
