"""The baselines: what stands before the model, and nothing else."""

from collections.abc import Sequence
from typing import Any

import pytest

from gistread.memory.model import GistMemory
from gistread.memory.passages import GAP
from gistread.readers.answering import Asking, ReaderOptions
from gistread.readers.events import (
    Answered,
    Expanded,
    ReaderEvent,
    Started,
    Stopped,
    StopReason,
)
from gistread.readers.steering import Steering
from tests.fake_engine import FakeEngine
from tests.readers.all_readers import METHODS
from tests.readers.memories import FACTS, make_memory

QUESTION = "Who stole the brass key?"
ANSWER = "Ferrand stole the key to find the ledger that would hang him."
OVER_TEXT = ("dos", "full", "closed-book")


def engine(**changes: Any) -> FakeEngine:
    return FakeEngine(says=lambda _: ANSWER, **changes)


async def ask(
    name: str,
    fake: FakeEngine,
    memory: GistMemory | None = None,
    *,
    steering: Steering | None = None,
    options: ReaderOptions | None = None,
    question: str = QUESTION,
) -> list[ReaderEvent]:
    reader = METHODS[name].reader()
    options = options or ReaderOptions()
    events = reader(
        Asking(question, memory or make_memory(), fake, steering or Steering(), options)
    )
    return [event async for event in events]


def answered(events: Sequence[ReaderEvent]) -> Answered:
    assert isinstance(events[-1], Answered)
    return events[-1]


@pytest.mark.parametrize("name", METHODS)
async def test_every_reader_begins_with_started_and_ends_with_answered(
    name: str,
) -> None:
    events = await ask(name, engine())
    assert isinstance(events[0], Started)
    assert events[0].reader == ("gistread" if name == "auto" else name)
    assert sum(isinstance(event, Stopped) for event in events) == 1
    if name != "quoting":  # It asks no model.
        assert (answered(events).answer == ANSWER) is answered(events).found
        assert answered(events).usage.prefilled > 0


@pytest.mark.parametrize("name", [*OVER_TEXT, "bm25"])
async def test_no_prompt_is_longer_than_the_window(name: str) -> None:
    for context_tokens in (400, 500, 900):
        fake = engine(context_tokens=context_tokens)
        options = ReaderOptions(answer_tokens=64)
        await ask(name, fake, make_memory(40, 40), options=options)
        assert await fake.measure(fake.calls[-1].prompt) + 64 <= context_tokens


async def test_bm25_shows_whole_pages_and_no_gist() -> None:
    fake = engine()
    events = await ask("bm25", fake, options=ReaderOptions(max_pages=3))
    assert len(answered(events).lookups) == 3
    text = fake.calls[-1].text
    assert all(
        (FACTS[number - 1] in text) is (number in answered(events).lookups)
        for number in range(1, 9)
    )
    assert "(gist" not in text
    assert [event.page for event in events if isinstance(event, Expanded)] == list(
        answered(events).lookups
    )


async def test_dos_shows_passages_in_the_order_of_the_book_within_the_budget() -> None:
    fake = engine()
    await ask("dos", fake, options=ReaderOptions(budget_tokens=450))
    text = fake.calls[-1].text
    places = [text.index(fact) for fact in FACTS if fact in text]
    assert FACTS[7] in text
    assert places == sorted(places)
    assert GAP in text
    assert 300 < await fake.count(text.partition("\n---")[0]) <= 450


async def test_full_shows_a_short_book_whole_and_reports_the_share_of_a_long_one() -> (
    None
):
    memory = make_memory()
    fake = engine()
    events = await ask("full", fake, memory)
    assert isinstance(events[0], Started)
    assert events[0].share_shown == 1.0
    assert Stopped(StopReason.NOTHING_LEFT) in events
    assert all(fact in fake.calls[-1].text for fact in FACTS)
    fake = engine(context_tokens=700)
    events = await ask("full", fake, memory)
    assert isinstance(events[0], Started)
    assert events[0].share_shown is not None
    assert 0 < events[0].share_shown < 1
    assert Stopped(StopReason.WINDOW) in events
    assert FACTS[0] in fake.calls[-1].text
    assert FACTS[7] not in fake.calls[-1].text


async def test_closed_book_shows_no_word_of_the_book() -> None:
    fake = engine()
    memory = make_memory()
    await ask("closed-book", fake, memory)
    text = fake.calls[-1].text
    assert QUESTION in text
    assert not any(fact in text for fact in FACTS)
    assert memory.book.title not in text
    fake = FakeEngine(says=lambda _: "I do not know.")
    assert not answered(await ask("closed-book", fake)).found


@pytest.mark.parametrize("name", ["bm25", "dos", "full"])
async def test_citations_are_verbatim_and_on_their_page(name: str) -> None:
    memory = make_memory()
    citations = answered(await ask(name, engine(), memory)).citations
    assert FACTS[7] in [citation.quote for citation in citations]
    assert all(memory.book.text[c.start : c.end] == c.quote for c in citations)
    assert all(
        memory.entry(c.page).page.start <= c.start < memory.entry(c.page).page.end
        for c in citations
    )


async def test_nothing_past_the_spoiler_bound_reaches_the_model() -> None:
    memory = make_memory()
    bound = memory.entry(5).page.start
    for name in METHODS:
        fake = engine()
        await ask(name, fake, memory.upto(bound))
        assert not any(
            fact in call.text for fact in FACTS[4:] for call in fake.calls
        ), name
