"""A say in every step: look-ups accepted, refused, replaced, announced, and decided once more."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from gistread.engine.llama.client import LlamaEngine
from gistread.engine.llama.fit import LoadOptions
from gistread.engine.protocol import Engine
from gistread.readers.events import (
    Answered,
    Expanded,
    LookedUp,
    OpenedBy,
    Proposed,
    ReaderEvent,
    Refused,
    SteppedBack,
    Stopped,
    StopReason,
    Walked,
)
from gistread.readers.protocol import ReaderOptions
from gistread.readers.registry import METHODS
from gistread.readers.steering import Decision, Steering, Steps, parse_decision
from tests.fake_engine import FakeEngine
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
    reader: str, *decisions: Decision | str, engine: Engine | None = None, steering: Steering | None = None
) -> list[ReaderEvent]:
    """The events, with a decision for each proposal; the rest is accepted. A text names a method of the steering."""
    left, events = list(decisions), []
    steering = steering or Steering(steps=Steps.ASK)
    engine = engine or FakeEngine(chooses=first_pages)
    stream = METHODS[reader].reader()(QUESTION, make_memory(), engine, steering, ReaderOptions())
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


async def test_more_pages_can_be_opened_and_the_answer_put_off() -> None:
    events = await ask("readagent-s", Decision(pages=(8,)), YES, NO, YES, YES)
    assert opened(events)[:2] == [(1, OpenedBy.AGENT), (8, OpenedBy.PERSON)]
    assert proposed(events) == [(1,), (2,), (), (7,), ()]  # with the answer refused, a page is proposed in its place


async def test_the_last_step_can_be_decided_again() -> None:
    events = await ask("readagent-s", YES, BACK, NO, YES, BACK, YES)
    assert proposed(events)[:4] == [(1,), (2,), (1,), (2,)]
    assert SteppedBack((1,)) in events
    assert Refused((1,)) in events
    assert 1 not in events[-1].expanded  # type: ignore[union-attr]


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
    if reader != "dos":  # it shows everything
        first, second = proposed(await ask(reader, NO, engine=engine))[:2]
        assert first
        assert not {*first} & {*second}


async def test_memwalker_goes_down_to_a_page_that_the_person_names() -> None:
    engine = FakeEngine(chooses=lambda _, options: "yes" if "yes" in options else 0)
    events = await ask("memwalker", Decision(refuses=True, pages=(6,)), engine=engine)
    assert Walked(0, 6, 6) in events
    assert events[-1].lookups == (6,)  # type: ignore[union-attr]
    first, second, *_ = proposed(await ask("memwalker", NO, engine=engine))
    assert not {*first} & {*second}


async def test_paths_of_graphreader_propose_one_page_after_another() -> None:
    engine = FakeEngine(says=says_facts, chooses=choosing(), parallel=4)
    events = await ask("graphreader", NO, Decision(refuses=True, pages=(5,)), engine=engine)
    refused = [event for event in events if isinstance(event, Refused)]
    assert refused[1].instead == (5,)
    assert all(event.path for event in refused)
    looked = [event.page for event in events if isinstance(event, LookedUp)]
    assert 5 in looked
    assert not {refused[0].pages[0]} & {*looked}


def test_a_typed_decision() -> None:
    assert [parse_decision(text, 20) for text in ("", "no", "Back", "answer")] == [YES, NO, BACK, None]
    assert parse_decision("3, 5", 20) == Decision(refuses=True, pages=(3, 5))
    assert parse_decision("+12", 20) == Decision(pages=(12,))
    with pytest.raises(ValueError, match="Enter a page number"):
        parse_decision("maybe", 20)
    with pytest.raises(ValueError, match="no page 21"):
        parse_decision("21", 20)


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
