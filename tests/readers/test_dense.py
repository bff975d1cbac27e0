"""Retrieval by meaning: the nearest pages by their vectors, opened as `bm25` opens its own."""

from collections.abc import Sequence

import pytest

from gistread.engine.protocol import Priority, TextKind
from gistread.errors import NoEmbeddingModelError
from gistread.memory.model import GistMemory
from gistread.readers.events import Answered, Expanded, LookedUp, OpenedBy, Prepared, ReaderEvent, Started
from gistread.readers.protocol import ReaderOptions
from gistread.readers.registry import METHODS
from gistread.readers.steering import Steering
from tests.fake_embedder import FakeEmbedder
from tests.fake_engine import FakeEngine
from tests.readers.memories import FACTS, make_memory

ANSWER = "Ferrand stole the key to find the ledger that would hang him."
MEANS = {"watchwoman": "martha", "beacon": "lighthouse", "held": "kept", "sibling": "brother", "mentioned": "spoke"}
"""A question in other words than the book's."""
QUESTION = "Which watchwoman held the beacon, and mentioned no sibling?"


async def ask(
    fake: FakeEmbedder,
    *,
    memory: GistMemory | None = None,
    engine: FakeEngine | None = None,
    steering: Steering | None = None,
    question: str = QUESTION,
    max_pages: int = 2,
    budget_tokens: int = 0,
) -> list[ReaderEvent]:
    options = ReaderOptions(max_pages=max_pages, budget_tokens=budget_tokens, embedder=fake, answer_tokens=64)
    engine = engine or FakeEngine(says=lambda _: ANSWER)
    reader = METHODS["dense"].reader()
    return [event async for event in reader(question, memory or make_memory(), engine, steering or Steering(), options)]


def answered(events: Sequence[ReaderEvent]) -> Answered:
    assert isinstance(events[-1], Answered)
    return events[-1]


async def test_a_page_without_words_of_the_question_is_found() -> None:
    assert answered(await ask(FakeEmbedder(means=MEANS))).lookups[0] == 1


async def test_every_question_finds_its_page() -> None:
    for number, fact in enumerate(FACTS, start=1):
        assert answered(await ask(FakeEmbedder(), question=fact)).lookups[0] == number


async def test_pages_are_opened_with_their_events_and_cited() -> None:
    events = await ask(FakeEmbedder(), question=FACTS[7], max_pages=3)
    assert isinstance(events[0], Started)
    opened = [event.page for event in events if isinstance(event, LookedUp)]
    assert len(opened) == 3
    assert [event.page for event in events if isinstance(event, Expanded)] == opened
    assert answered(events).lookups == tuple(opened)
    assert 8 in {citation.page for citation in answered(events).citations}


async def test_missing_vectors_are_built_reported_and_stored() -> None:
    memory, first, second = make_memory(), FakeEmbedder(), FakeEmbedder()
    prepared = [event for event in await ask(first, memory=memory) if isinstance(event, Prepared)]
    assert prepared[-1] == Prepared("vectors", 8, 8)
    assert {priority for _, _, priority in first.asked} == {Priority.INTERACTIVE}
    events = await ask(second, memory=memory)
    assert not any(isinstance(event, Prepared) for event in events)
    assert [kind for _, kind, _ in second.asked] == [TextKind.QUERY]


async def test_refused_pages_stay_closed_and_pinned_pages_open() -> None:
    events = await ask(FakeEmbedder(), question=FACTS[7], steering=Steering(pinned={2}, refused={8}))
    assert Expanded(2, OpenedBy.PERSON) in events
    assert 8 not in answered(events).expanded
    assert 2 not in answered(events).lookups
    assert len(answered(events).lookups) == 2


async def test_the_budget_is_never_exceeded() -> None:
    engine = FakeEngine(says=lambda _: ANSWER)
    events = await ask(FakeEmbedder(), engine=engine, max_pages=8, budget_tokens=450)
    assert 0 < answered(events).context_tokens <= 450
    assert len(answered(events).lookups) < 8


async def test_without_an_embedding_model_an_error_says_what_to_do() -> None:
    engine = FakeEngine()
    with pytest.raises(NoEmbeddingModelError) as caught:
        METHODS["dense"].reader()(QUESTION, make_memory(), engine, Steering(), ReaderOptions())
    assert str(caught.value).count("\n") == 1
    assert "--embedding-model" in caught.value.hint
    assert engine.calls == []
