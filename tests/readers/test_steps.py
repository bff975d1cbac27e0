"""A say in every step: look-ups accepted, refused, replaced, announced, and decided once more."""

import asyncio
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import pytest

from gistread.engine.llama.client import LlamaEngine
from gistread.engine.llama.fit import LoadOptions
from gistread.engine.protocol import Engine
from gistread.memory.model import GistMemory
from gistread.memory.sizes import unread_memory
from gistread.readers.book_text import overlaps
from gistread.readers.events import (
    AnswerDelta,
    Answered,
    Expanded,
    LookedUp,
    OpenedBy,
    Proposed,
    ReaderEvent,
    Refused,
    Started,
    SteppedBack,
    Stopped,
    StopReason,
)
from gistread.readers.protocol import ReaderOptions
from gistread.readers.steering import Decision, Steering, Steps, parse_decision
from tests.fake_engine import FakeEngine
from tests.readers.all_readers import METHODS
from tests.readers.memories import make_memory
from tests.readers.test_graphreader import choosing
from tests.readers.test_graphreader import says as says_facts

QUESTION = "Who stole the brass key?"
NO, BACK, YES = Decision(refuses=True), Decision(goes_back=True), Decision()


def first_pages(prompt: str, options: Sequence[str]) -> int:
    """Up to three pages in their order, then enough."""
    opened = prompt.count(", in full)")
    return 0 if opened < 3 else len(options) - 1


async def ask(
    reader: str,
    *decisions: Decision | str,
    engine: Engine | None = None,
    steering: Steering | None = None,
    memory: GistMemory | None = None,
    options: ReaderOptions | None = None,
) -> list[ReaderEvent]:
    """The events, with a decision for each proposal; the rest is accepted. A text names a method of the steering."""
    left, events = list(decisions), []
    steering = steering or Steering(steps=Steps.ASK)
    engine = engine or FakeEngine(chooses=first_pages)
    stream = METHODS[reader].reader()(QUESTION, memory or make_memory(), engine, steering, options or ReaderOptions())
    async for event in stream:
        events.append(event)
        if isinstance(event, Proposed):
            assert steering.proposal == event
            match left.pop(0) if left else YES:
                case str(method):
                    getattr(steering, method)()
                case decision:
                    steering.decide(decision)
    assert isinstance(events[-1], Answered)
    assert steering.proposal is None
    return events


def proposed(events: list[ReaderEvent]) -> list[tuple[int, ...]]:
    return [event.pages for event in events if isinstance(event, Proposed)]


def opened(events: list[ReaderEvent]) -> list[tuple[int, OpenedBy]]:
    return [(event.page, event.by) for event in events if isinstance(event, Expanded)]


async def test_every_page_and_the_answer_are_proposed_and_accepted() -> None:
    events = await ask("readagent-s")
    assert proposed(events) == [(1,), (2,), (3,), ()]
    assert opened(events) == [(page, OpenedBy.AGENT) for page in (1, 2, 3)]
    assert [event for event in events if isinstance(event, Stopped)] == [Stopped(StopReason.ENOUGH)]
    assert all(event.waits for event in events if isinstance(event, Proposed))


async def test_a_refused_page_stays_closed_and_another_one_is_opened_instead() -> None:
    events = await ask("readagent-s", NO, Decision(refuses=True, pages=(7,)))
    assert [event for event in events if isinstance(event, Refused)] == [Refused((1,)), Refused((2,), (7,))]
    assert opened(events)[0] == (7, OpenedBy.PERSON)
    answered = events[-1]
    assert isinstance(answered, Answered)
    assert not {1, 2} & {*answered.expanded}
    assert 7 not in answered.lookups


@pytest.mark.parametrize(
    "reader", ["readagent-s", "readagent-p", "memwalker", "graphreader", "gistread", "bm25", "dos"]
)
async def test_the_last_step_can_be_decided_again_in_every_reader_that_has_one(reader: str) -> None:
    walks = FakeEngine(chooses=lambda _, options: "yes" if "yes" in options else 0)
    paths = FakeEngine(says=says_facts, chooses=choosing())
    engine = {"graphreader": paths, "memwalker": walks}.get(reader, FakeEngine(chooses=first_pages))
    steering = Steering(steps=Steps.ASK)
    options = ReaderOptions(budget_tokens=300 if reader in ("gistread", "dos") else 0)
    events = await ask(reader, NO, BACK, YES, engine=engine, steering=steering, options=options)
    first, second, third = [event for event in events if isinstance(event, Proposed)][:3]
    assert (first.pages, first.places) == (third.pages, third.places)
    assert not first.may_go_back
    assert second.may_go_back
    (back,) = (event for event in events if isinstance(event, SteppedBack))
    assert back.pages == first.pages
    assert not {*first.pages} & steering.refused
    opened_pages = {event.page for event in events[events.index(back) :] if isinstance(event, LookedUp | Expanded)}
    assert reader == "dos" or opened_pages & {*first.pages}
    started = [event for event in events if isinstance(event, Started)]
    assert len(started) == 1
    if reader in ("readagent-s", "memwalker"):
        asked = [(call.text, call.options) for call in engine.calls if call.kind == "choose"]
        assert len(asked) == len({*asked})


@pytest.mark.parametrize("reader", ["readagent-s", "gistread"])
async def test_the_last_step_can_be_taken_back_while_the_answer_is_written(reader: str) -> None:
    steering, events = Steering(), []
    stream = METHODS[reader].reader()(
        QUESTION, make_memory(), FakeEngine(chooses=first_pages), steering, ReaderOptions()
    )
    async for event in stream:
        if isinstance(event, AnswerDelta) and not any(isinstance(one, SteppedBack) for one in events):
            assert steering.go_back()
        elif isinstance(event, Proposed):
            steering.decide(YES)
        events.append(event)
    (waited,) = (event for event in events if isinstance(event, Proposed))
    assert waited.waits
    assert sum(isinstance(event, Answered) for event in events) == 1


@pytest.mark.parametrize("reader", ["gistread", "dos"])
async def test_where_no_page_has_been_read_places_of_the_text_are_proposed(reader: str) -> None:
    memory = unread_memory(make_memory().book)
    options, end = ReaderOptions(budget_tokens=60), len(memory.book.text)
    places = [
        event.places
        for event in await ask(reader, NO, NO, memory=memory, options=options)
        if isinstance(event, Proposed) and event.text_end == end
    ]
    assert len(places) == 3
    assert not any(overlaps(first, place) for first, second in pairwise(places) for place in second)
    at = end * 9 // 10
    events = await ask(reader, Decision(refuses=True, offsets=(at,)), memory=memory, options=options)
    answered = events[-1]
    assert isinstance(answered, Answered)
    ((start, last),) = answered.seen
    assert start <= at < last
    options = ReaderOptions(budget_tokens=200)
    more = (await ask(reader, Decision(offsets=(at,)), memory=memory, options=options))[-1]
    assert isinstance(more, Answered)
    assert overlaps(more.seen, (at, at + 1))
    assert sum(end - start for start, end in more.seen) > last - start


@pytest.mark.parametrize("reader", ["readagent-s", "readagent-p", "memwalker", "gistread", "bm25", "dos"])
async def test_answering_now_ends_the_search(reader: str) -> None:
    events = await ask(reader, "answer_now")
    assert len(proposed(events)) == 1


async def test_an_announced_page_is_opened_unless_somebody_objects() -> None:
    objected, waited = asyncio.Event(), 0

    async def objection() -> None:
        nonlocal waited
        waited += 1
        if waited > 1:
            await objected.wait()

    steering = Steering(steps=Steps.ANNOUNCE, objection=objection)
    memory, seen = make_memory(), []
    async for event in METHODS["readagent-s"].reader()(
        QUESTION, memory, FakeEngine(chooses=first_pages), steering, ReaderOptions()
    ):
        seen.append(event)
        if isinstance(event, Proposed) and event.pages == (2,):
            assert not event.waits
            steering.hold()
            assert steering.proposal is not None
            assert steering.proposal.waits
            objected.set()  # held: time passing opens nothing
            asyncio.get_running_loop().call_soon(steering.decide, NO)
    assert opened(seen)[0] == (1, OpenedBy.AGENT)
    assert Refused((2,)) in seen


async def test_the_manner_can_be_switched_and_a_step_taken_back_while_a_reader_works_alone() -> None:
    steering = Steering()
    seen: list[ReaderEvent] = []
    async for event in METHODS["readagent-s"].reader()(
        QUESTION, make_memory(), FakeEngine(chooses=first_pages), steering, ReaderOptions()
    ):
        seen.append(event)
        if event == Expanded(1, OpenedBy.AGENT) and not proposed(seen):
            steering.go_back()
        elif isinstance(event, Proposed):
            steering.set_steps(Steps.ASK)
            steering.set_steps(Steps.ALONE)  # accepts what is proposed
    assert proposed(seen) == [(1,)]
    assert SteppedBack((1,)) in seen


@pytest.mark.parametrize("reader", ["gistread", "bm25", "dos", "readagent-p"])
async def test_pages_chosen_at_once_are_proposed_together(reader: str) -> None:
    engine = FakeEngine(chooses=lambda _, options: 0 if len(options) > 6 else len(options) - 1)
    events = await ask(reader, Decision(refuses=True, pages=(2, 6)), engine=engine)
    assert len(proposed(events)) == 1
    page = make_memory().entry(2).page, make_memory().entry(6).page
    answered = events[-1]
    assert isinstance(answered, Answered)
    assert {*answered.expanded} <= {2, 6}
    assert all(any(one.start <= start < end <= one.end for one in page) for start, end in answered.seen)
    assert answered.seen
    options = ReaderOptions(budget_tokens=0 if reader == "readagent-p" else 300)
    first, second = proposed(await ask(reader, NO, engine=engine, options=options))[:2]
    assert first
    assert not {*first} & {*second}


def test_a_typed_decision() -> None:
    wants, ranked = Proposed((3,), 1, 20), Proposed((3,), 1, 20, text_end=500)
    assert [parse_decision(text, wants, 1000) for text in ("", "no", "Back", "answer")] == [YES, NO, BACK, None]
    assert parse_decision("3, 5", wants, 1000) == Decision(refuses=True, pages=(3, 5))
    assert parse_decision("+12", wants, 1000) == Decision(pages=(12,))
    assert parse_decision("12 40%", ranked, 1000) == Decision(refuses=True, pages=(12,), offsets=(400,))
    for text, proposal, message in (
        ("maybe", wants, "Enter a section's number, no"),
        ("40%", wants, "Enter a section's number, no"),
        ("40", ranked, "no section 40"),
        ("50%", ranked, "ahead of your place"),
    ):
        with pytest.raises(ValueError, match=message):
            parse_decision(text, proposal, 1000)


async def test_a_real_model_proposes_only_pages_that_were_not_refused(tiny: Path) -> None:
    engine = LlamaEngine(tiny, options=LoadOptions(context_tokens=8192))
    await engine.start()
    try:
        events = await ask("readagent-s", NO, YES, BACK, NO, "answer_now", engine=engine)
    finally:
        await engine.close()
    answered = events[-1]
    assert isinstance(answered, Answered)
    refused = [page for event in events if isinstance(event, Refused) for page in event.pages]
    assert not {*refused} & {*answered.expanded}
    first, second, third, fourth, *_ = proposed(events)
    assert first != second
    assert third != second or not second  # another choice, unless the model has enough
    assert fourth == second
