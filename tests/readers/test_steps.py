"""A say in every step: look-ups accepted, refused and replaced."""

import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from gistread.engine.llama.client import LlamaEngine
from gistread.engine.llama.fit import LoadOptions
from gistread.engine.protocol import Engine
from gistread.memory.model import GistMemory
from gistread.memory.passages import overlaps
from gistread.memory.sections import Sections
from gistread.readers import registry
from gistread.readers.answering import Asking, ReaderOptions
from gistread.readers.events import (
    Answered,
    Expanded,
    LookedUp,
    Noted,
    OpenedBy,
    PartRead,
    Proposed,
    ReaderEvent,
    Refused,
    Reported,
    Stopped,
    StopReason,
)
from gistread.readers.model_class import BASIC
from gistread.readers.steering import Decision, Steering, Steps, parse_decision
from tests.fake_engine import FakeEngine
from tests.readers.all_readers import METHODS
from tests.readers.memories import FACTS, make_memory

QUESTION = "Who stole the brass key?"
QUOTED_WORD = re.compile("“([^”]+)”")
READS_ALL = {"longagent", "notes"}
"""Methods that choose nothing: they read the whole text."""
PASSAGE_METHODS = ["gistread", "one-by-one", "auto", "quoting"]
NO, YES = Decision(refuses=True), Decision()


def first_pages(prompt: str, options: Sequence[str]) -> int:
    """Up to three pages in their order, then enough."""
    opened = prompt.count(", in full)")
    return 0 if opened < 3 else len(options) - 1


def says_key(prompt: str) -> str:
    return "Ferrand stole the key."


async def ask(
    reader: str,
    *decisions: Decision | str,
    engine: Engine | None = None,
    steering: Steering | None = None,
    memory: GistMemory | None = None,
    options: ReaderOptions | None = None,
) -> list[ReaderEvent]:
    """The events, with a decision for each proposal; the rest is accepted.

    A text names a method of the steering.
    """
    left = list(decisions)
    events = []
    steering = steering or Steering(steps=Steps.ASK)
    engine = engine or FakeEngine(chooses=first_pages)
    stream = METHODS[reader].reader()(
        Asking(
            QUESTION,
            memory or make_memory(),
            engine,
            steering,
            options or ReaderOptions(),
        )
    )
    async for event in stream:
        events.append(event)
        if isinstance(event, Proposed):
            assert steering.proposal == event
            decide(left.pop(0) if left else YES, steering)
    assert isinstance(events[-1], Answered)
    assert steering.proposal is None
    return events


def decide(decision: Decision | str, steering: Steering) -> None:
    match decision:
        case str(method):
            getattr(steering, method)()
        case _:
            steering.decide(decision)


def proposed(events: list[ReaderEvent]) -> list[tuple[int, ...]]:
    return [event.pages for event in events if isinstance(event, Proposed)]


def opened(events: list[ReaderEvent]) -> list[tuple[int, OpenedBy]]:
    return [(event.page, event.by) for event in events if isinstance(event, Expanded)]


async def test_every_page_and_the_answer_are_proposed_and_accepted() -> None:
    events = await ask("readagent-s")
    assert proposed(events) == [(1,), (2,), (3,), ()]
    assert opened(events) == [(page, OpenedBy.AGENT) for page in (1, 2, 3)]
    assert [event for event in events if isinstance(event, Stopped)] == [
        Stopped(StopReason.ENOUGH)
    ]


async def test_a_refused_page_stays_closed_and_another_one_is_opened_instead() -> None:
    events = await ask("readagent-s", NO, Decision(refuses=True, pages=(7,)))
    assert [event for event in events if isinstance(event, Refused)] == [
        Refused((1,)),
        Refused((2,), (7,)),
    ]
    assert opened(events)[0] == (7, OpenedBy.PERSON)
    answered = events[-1]
    assert isinstance(answered, Answered)
    assert not {1, 2} & {*answered.expanded}
    assert 7 not in answered.lookups


async def test_who_decides_can_be_switched_while_a_page_is_proposed() -> None:
    steering = Steering(steps=Steps.ASK)
    seen: list[ReaderEvent] = []
    reader = METHODS["readagent-s"].reader()
    async for event in reader(
        Asking(
            QUESTION,
            make_memory(),
            FakeEngine(chooses=first_pages),
            steering,
            ReaderOptions(),
        )
    ):
        seen.append(event)
        if isinstance(event, Proposed):
            steering.set_steps(Steps.ALONE)  # accepts what is proposed
    assert proposed(seen) == [(1,)]
    assert opened(seen)[0] == (1, OpenedBy.AGENT)


@pytest.mark.parametrize(
    "reader", ["readagent-s", "readagent-p", "memwalker", "gistread", "bm25", "dos"]
)
async def test_answering_now_ends_the_search(reader: str) -> None:
    events = await ask(reader, "answer_now")
    assert len(proposed(events)) == 1


@pytest.mark.parametrize("reader", ["gistread", "bm25", "dos", "readagent-p"])
async def test_pages_chosen_at_once_are_proposed_together(reader: str) -> None:
    engine = FakeEngine(
        chooses=lambda _, options: 0 if len(options) > 6 else len(options) - 1
    )
    events = await ask(reader, Decision(refuses=True, pages=(2, 6)), engine=engine)
    assert len(proposed(events)) == 1
    page = make_memory().entry(2).page, make_memory().entry(6).page
    answered = events[-1]
    assert isinstance(answered, Answered)
    assert {*answered.expanded} <= {2, 6}
    assert all(
        any(paragraph.start <= start < end <= paragraph.end for paragraph in page)
        for start, end in answered.seen
    )
    assert answered.seen
    options = ReaderOptions(budget_tokens=0 if reader == "readagent-p" else 300)
    first, second = proposed(await ask(reader, NO, engine=engine, options=options))[:2]
    assert first
    assert not {*first} & {*second}


@pytest.mark.parametrize("reader", sorted(registry.METHODS.keys() - READS_ALL))
async def test_every_method_asks_and_says_where_and_why(reader: str) -> None:
    memory = make_memory()
    events = await ask(reader, engine=FakeEngine(says=says_key, chooses=first_pages))
    proposals = [event for event in events if isinstance(event, Proposed)]
    items = [item for event in proposals for item in event.sections]
    assert items
    for item in items:
        sections = {memory.page_at(item.start), memory.page_at(item.end - 1)}
        assert {page.number for page in sections if page} <= set(item.pages)
        assert item.reason
        for word in QUOTED_WORD.findall(item.reason):
            assert word in memory.book.text


@pytest.mark.parametrize("reader", PASSAGE_METHODS)
@pytest.mark.parametrize("read", [0, 3])
async def test_sections_without_gists_are_asked_about_too(
    reader: str, read: int
) -> None:
    memory = make_memory(read, 40)
    options = ReaderOptions(budget_tokens=400, model=BASIC)
    engine = FakeEngine(says=says_key)
    events = await ask(reader, memory=memory, options=options, engine=engine)
    (first, *_) = proposed(events)
    assert first
    again = await ask(
        reader,
        Decision(refused=first[:1]),
        memory=memory,
        options=options,
        engine=engine,
    )
    second = proposed(again)[1]
    assert not set(first) & set(second), "what was accepted is not asked about again"
    (closed,) = Sections(memory).places_of(first[:1])
    answered = again[-1]
    assert isinstance(answered, Answered)
    assert not overlaps(answered.seen, closed)
    assert all(not overlaps([(c.start, c.end)], closed) for c in answered.citations)


@pytest.mark.parametrize("reader", PASSAGE_METHODS)
async def test_a_section_replaces_a_refused_one(reader: str) -> None:
    memory = make_memory(0, 40)
    options = ReaderOptions(budget_tokens=400, model=BASIC)
    engine = FakeEngine(says=says_key)
    (first, *_) = proposed(
        await ask(reader, memory=memory, options=options, engine=engine)
    )
    sections = Sections(memory)
    other = next(
        number
        for number in range(1, sections.last)
        for start, end in sections.places_of([number])
        if number not in first and "the key" in memory.book.text[start:end]
    )
    decision = Decision(refused=first[:1], pages=(other,))
    events = await ask(reader, decision, memory=memory, options=options, engine=engine)
    assert len(proposed(events)) == 1
    answered = events[-1]
    assert isinstance(answered, Answered)
    kept = sections.places_of({*first[1:], other})
    assert answered.seen
    assert all(overlaps(kept, place) for place in answered.seen)
    assert overlaps(answered.seen, sections.places_of([other])[0])


async def test_some_pages_named_at_once_are_refused() -> None:
    engine = FakeEngine(
        chooses=lambda _, options: 0 if len(options) > 6 else len(options) - 1
    )
    (first, *_) = proposed(await ask("readagent-p", engine=engine))
    events = await ask("readagent-p", Decision(refused=first[:1]), engine=engine)
    looked_up = [event.page for event in events if isinstance(event, LookedUp)]
    assert first[0] not in looked_up
    answered = events[-1]
    assert isinstance(answered, Answered)
    assert first[0] not in answered.expanded
    assert {*first[1:]} <= {*answered.expanded}


async def test_accepting_all_asks_no_more() -> None:
    steering = Steering(steps=Steps.ASK)
    options = ReaderOptions(budget_tokens=400)
    proposals: list[Proposed] = []
    stream = METHODS["gistread"].reader()(
        Asking(QUESTION, make_memory(0, 40), FakeEngine(), steering, options)
    )
    async for event in stream:
        if isinstance(event, Proposed):
            proposals.append(event)
            steering.accept_all(Decision(refused=event.pages[:1]))
    assert len(proposals) == 1
    assert steering.refused == set(proposals[0].pages[:1])


@pytest.mark.parametrize("reader", ["gistread", "one-by-one", "quoting"])
async def test_what_was_refused_before_answering_now_stays_closed(reader: str) -> None:
    memory = make_memory(0, 40)
    steering = Steering(steps=Steps.ASK)
    options = ReaderOptions(budget_tokens=900, model=BASIC)
    stream = METHODS[reader].reader()(
        Asking(QUESTION, memory, FakeEngine(says=says_key), steering, options)
    )
    proposals: list[Proposed] = []
    events: list[ReaderEvent] = []
    async for event in stream:
        events.append(event)
        if isinstance(event, Proposed):
            proposals.append(event)
            steering.answer_now(Decision(refused=event.pages[:1]))
    (proposal,) = proposals
    answered = events[-1]
    assert isinstance(answered, Answered)
    sections = Sections(memory)
    kept = sections.places_of(proposal.pages[1:])
    assert answered.seen
    assert all(overlaps(kept, place) for place in answered.seen)
    assert not overlaps(answered.seen, sections.places_of(proposal.pages[:1])[0])


@pytest.mark.parametrize("reader", sorted(READS_ALL))
async def test_methods_that_read_everything_leave_refused_sections_out(
    reader: str,
) -> None:
    memory = make_memory(0, 40)
    steering = Steering(steps=Steps.ASK, refused={2, 3})
    engine = FakeEngine(says=says_key)
    events = await ask(reader, memory=memory, steering=steering, engine=engine)
    assert not proposed(events), "nothing is chosen, so nothing is asked"
    closed = Sections(memory).places_of({2, 3})
    places = [
        (e.start, e.end) for e in events if isinstance(e, Noted | Reported | PartRead)
    ]
    assert places
    assert not any(overlaps(places, place) for place in closed)
    everything = set(range(1, Sections(memory).last + 1))
    nothing = Steering(steps=Steps.ASK, refused=everything)
    (*_, answered) = await ask(reader, memory=memory, steering=nothing, engine=engine)
    assert isinstance(answered, Answered)
    assert not answered.seen


async def test_a_page_added_to_the_passages_asked_one_by_one_is_asked_too() -> None:
    engine = FakeEngine(says=lambda _: "Ferrand.")
    options = ReaderOptions(model=BASIC)
    added = Decision(pages=(3,))
    await ask(
        "gistread", added, engine=engine, memory=make_memory(200, 200), options=options
    )
    assert any(FACTS[2] in call.text for call in engine.calls)


def test_a_typed_decision() -> None:
    wants = Proposed((3,), 1, 20)
    assert [parse_decision(text, wants) for text in ("", "no", "answer")] == [
        YES,
        NO,
        None,
    ]
    assert parse_decision("3, 5", wants) == Decision(refuses=True, pages=(3, 5))
    assert parse_decision("+12", wants) == Decision(pages=(12,))
    for text, message in (
        ("maybe", "Enter a section’s number, no"),
        ("40", "Only sections 1 to"),
    ):
        with pytest.raises(ValueError, match=message):
            parse_decision(text, wants)


async def test_a_real_model_proposes_only_pages_that_were_not_refused(
    tiny: Path,
) -> None:
    engine = LlamaEngine(tiny, options=LoadOptions(context_tokens=8192))
    await engine.start()
    try:
        events = await ask("readagent-s", NO, YES, "answer_now", engine=engine)
    finally:
        await engine.close()
    answered = events[-1]
    assert isinstance(answered, Answered)
    refused = [
        page for event in events if isinstance(event, Refused) for page in event.pages
    ]
    assert not {*refused} & {*answered.expanded}
    first, second, *_ = proposed(events)
    assert first != second
