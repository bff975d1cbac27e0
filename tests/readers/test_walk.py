"""The steps behind an answer, one section each."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from gistread.memory.model import GistMemory
from gistread.memory.sections import Sections
from gistread.readers import registry
from gistread.readers.answering import ReaderOptions
from gistread.readers.events import (
    Answered,
    Expanded,
    LookedUp,
    Noted,
    OpenedBy,
    Proposed,
    Refused,
    Shown,
    Written,
)
from gistread.readers.model_class import BASIC
from gistread.readers.steering import Decision, Steering
from gistread.readers.walk import WalkStep, saved_walk, walk_of, with_steps
from gistread.store.model import Citation, SavedQuestion, SteeringChoice
from tests.fake_engine import FakeEngine
from tests.readers.memories import make_memory
from tests.readers.test_steps import (
    PASSAGE_METHODS,
    QUESTION,
    ask,
    first_pages,
    proposed,
    says_key,
)


def check_places(steps: Sequence[WalkStep], memory: GistMemory) -> None:
    """Each step is another section of the memory, and has text."""
    numbers = [step.number for step in steps]
    assert set(numbers) <= set(range(1, len(memory.entries) + 1))
    assert len(set(numbers)) == len(numbers)
    assert all(memory.book.text[slice(*step.place)].strip() for step in steps)


@pytest.mark.parametrize("reader", sorted(registry.METHODS))
async def test_the_steps_of_every_method_have_places_and_reasons(reader: str) -> None:
    memory = make_memory()
    engine = FakeEngine(says=says_key, chooses=first_pages)
    events = await ask(reader, engine=engine, memory=memory)
    answered = events[-1]
    assert isinstance(answered, Answered)
    steps = walk_of(events, answered.citations, memory, question=QUESTION)
    assert steps
    check_places(steps, memory)
    shown = [step for step in steps if not step.cited]
    assert all(step.reason for step in shown)
    assert any(step.reason for step in steps)
    cited = {place for step in steps for place in step.cited}
    assert {(source.start, source.end) for source in answered.citations} == cited


def test_the_steps_come_in_the_order_in_which_they_were_asked_about() -> None:
    memory = make_memory()
    trace = [
        Proposed((3, 2), 1, 5),
        Proposed((1,), 2, 5),
        *(LookedUp(n, n, "") for n in (1, 2, 3)),
    ]
    assert [step.number for step in walk_of(trace, (), memory)] == [3, 2, 1]


def test_passages_are_walked_the_nearest_first() -> None:
    memory = make_memory()
    first, second = (entry.page for entry in memory.entries[:2])
    places = (first.start, first.end), (second.start, second.end)
    shown = Shown(places, ("because it has “leg”", "because it has “arm”"), (1, 0))
    assert [step.number for step in walk_of([shown], (), memory)] == [2, 1]


@pytest.mark.parametrize("reader", PASSAGE_METHODS)
async def test_a_refused_section_is_a_step_that_was_left_out(reader: str) -> None:
    memory = make_memory(0, 40)
    options = ReaderOptions(budget_tokens=400, model=BASIC)
    engine = FakeEngine(says=says_key)
    (first, *_) = proposed(
        await ask(reader, memory=memory, options=options, engine=engine)
    )
    decision = Decision(refused=first[:1])
    events = await ask(reader, decision, memory=memory, options=options, engine=engine)
    answered = events[-1]
    assert isinstance(answered, Answered)
    steps = walk_of(events, answered.citations, memory, first[:1])
    left_out = [step.number for step in steps if step.is_left_out]
    assert left_out == [first[0]]
    assert steps[-1].is_left_out
    assert len(steps) > 1


def test_sources_alone_are_walked_without_a_trace() -> None:
    memory = make_memory()
    page = memory.entry(6).page
    (step,) = walk_of((), [Citation(6, page.start, page.start + 20, "")], memory)
    assert step.number == 6
    assert step.place == (page.start, page.start + 20)


def test_what_was_noted_is_the_reason() -> None:
    memory = make_memory()
    page = memory.entry(3).page
    noted = Noted("Ferrand has a wooden leg.", page.start, page.end)
    shown = Shown(((page.start, page.end),), ("because it has “leg”",))
    (step,) = walk_of((noted, shown), (), memory)
    assert step.reason == "Ferrand has a wooden leg."


def test_a_saved_answer_is_walked_as_it_was_when_it_was_new() -> None:
    memory = make_memory()
    first, second, third = (memory.entry(number).page for number in (3, 5, 6))
    shown = Shown(
        ((first.start, first.end), (third.start, third.end)),
        ("because it has “leg”", "to end"),
    )
    source = Citation(3, first.start, first.start + 20, "")
    record = SavedQuestion(QUESTION, "A wooden one.", True, (source,))
    steering = Steering(pinned={6}, refused={5})
    record = with_steps(record, [shown], steering, memory)
    assert record.steered == SteeringChoice((third.start,), (second.start,))
    steps = saved_walk(record, Sections(memory), memory)
    assert steps == walk_of([shown], record.citations, memory, {5}, QUESTION)
    assert [(step.number, step.is_left_out) for step in steps] == [
        (3, False),
        (6, False),
        (5, True),
    ]
    assert steps[0].cited == ((first.start, first.start + 20),)


def test_what_a_stopped_answer_had_read_is_not_left_out() -> None:
    memory = make_memory()
    third, fifth = memory.entry(3).page, memory.entry(5).page
    trace = [
        Expanded(2, OpenedBy.AGENT),
        Expanded(4, OpenedBy.AGENT),
        Refused((4,)),  # In time
        Shown(((fifth.start, fifth.end),)),
        Shown(((third.start, third.end),)),
        Written(),
    ]
    record = SavedQuestion(QUESTION, "A wooden one.", True)
    steering = Steering(refused={2, 3, 4, 5})
    record = with_steps(record, trace, steering, memory)
    left_out = [step.start for step in record.steps if step.is_left_out]
    assert left_out == [memory.entry(4).page.start, fifth.start]


def test_the_steps_of_a_saved_answer_are_numbered_by_the_memory_of_today() -> None:
    memory = make_memory()
    page = memory.entry(6).page
    record = SavedQuestion(QUESTION, "A wooden one.", True)
    record = with_steps(
        record, [Shown(((page.start, page.end),), ("to end",))], Steering(), memory
    )
    later = make_memory()
    del later.entries[:2]
    for number, entry in enumerate(later.entries, start=1):
        later.entries[number - 1] = replace(
            entry, page=replace(entry.page, number=number)
        )
    (step,) = saved_walk(record, Sections(later), later)
    assert (step.number, step.place) == (4, (page.start, page.end))
