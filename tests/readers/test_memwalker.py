"""A walk down the tree: triage, leaf, back up, and always an end."""

from collections.abc import Callable, Sequence

import pytest

from gistread.memory import tree
from gistread.readers import memwalker
from gistread.readers.answering import Asking, ReaderOptions
from gistread.readers.events import (
    Answered,
    Expanded,
    Noted,
    Prepared,
    Proposed,
    ReaderEvent,
    Stopped,
    StopReason,
    TurnedBack,
    Unfit,
    Walked,
)
from gistread.readers.model_class import BASIC
from gistread.readers.steering import Decision, Steering, Steps
from tests.fake_engine import FakeEngine
from tests.readers.memories import FACTS, make_memory

QUESTION = "Who stole the brass key?"
ANSWER = "Ferrand stole the key to find the ledger that would hang him."


def says(text: str) -> str:
    return ANSWER if "Question:" in text else " ".join(text.split()[2:22]) + "."


def walking(
    *turns: str, tells: Callable[[str], bool] = lambda _: True
) -> Callable[[str, Sequence[str]], str]:
    """Triage as told, then the first that is offered; a page tells when `tells` says so."""
    left = list(turns)

    def choose(text: str, options: Sequence[str]) -> str:
        if list(options) == ["yes", "part", "no"]:
            return "yes" if tells(text) else "no"
        return left.pop(0) if left else options[0]

    return choose


async def ask(
    fake: FakeEngine, pages: int = 20, steering: Steering | None = None
) -> list[ReaderEvent]:
    events = memwalker.memwalker(
        Asking(
            QUESTION,
            make_memory(pages, pages),
            fake,
            steering or Steering(),
            ReaderOptions(),
        )
    )
    return [event async for event in events]


def answered(events: list[ReaderEvent]) -> Answered:
    assert isinstance(events[-1], Answered)
    return events[-1]


def stopped(events: list[ReaderEvent]) -> StopReason:
    (event,) = [event for event in events if isinstance(event, Stopped)]
    return event.reason


async def test_the_walk_leads_down_to_a_page_with_the_answer() -> None:
    fake = FakeEngine(says=says, chooses=walking("2", "1"))
    events = await ask(fake)
    assert [event for event in events if isinstance(event, Walked)] == [
        Walked(1, 8, 14),
        Walked(0, 8, 8),
    ]
    assert FACTS[7] in fake.calls[-1].text
    assert (stopped(events), answered(events).expanded, answered(events).lookups) == (
        StopReason.ENOUGH,
        (8,),
        (8,),
    )


async def test_a_page_without_the_answer_is_not_offered_again() -> None:
    fake = FakeEngine(
        says=says, chooses=walking("1", "1", tells=lambda text: FACTS[1] in text)
    )
    events = await ask(fake)
    assert answered(events).lookups == (1, 2)
    triages = [
        call.options
        for call in fake.calls
        if call.kind == "choose" and "part" not in call.options
    ]
    assert (len(triages[1]), len(triages[2])) == (9, 8)


async def test_turning_back_is_possible_everywhere_but_at_the_top() -> None:
    fake = FakeEngine(says=says, chooses=walking("1", "none", "2", "1"))
    events = await ask(fake)
    triages = [
        call.options
        for call in fake.calls
        if call.kind == "choose" and "part" not in call.options
    ]
    assert "none" not in triages[0]
    assert "none" in triages[1]
    assert len(triages[2]) == len(triages[0]) - 1
    assert answered(events).lookups == (15,)


@pytest.mark.parametrize(
    ("pages", "reason", "visited"),
    [
        (1, StopReason.NOTHING_LEFT, 1),
        (5, StopReason.NOTHING_LEFT, 5),
        (9, StopReason.NOTHING_LEFT, 9),
        (20, StopReason.LIMIT, 19),
    ],
)
async def test_a_walk_past_every_page_ends_with_an_answer_from_the_summaries(
    pages: int, reason: StopReason, visited: int
) -> None:
    fake = FakeEngine(says=says, chooses=walking(tells=lambda _: False))
    events = await ask(fake, pages)
    assert stopped(events) is reason
    assert len(answered(events).lookups) == visited
    assert set(answered(events).lookups) <= set(range(1, pages + 1))
    assert len(set(answered(events).lookups)) == len(answered(events).lookups)
    assert answered(events).answer == ANSWER
    assert answered(events).gists == tuple(range(1, pages + 1))
    assert sum(call.kind == "choose" for call in fake.calls) <= memwalker.CALLS + 1


async def test_what_pages_tell_is_noted_and_completes_the_answer() -> None:
    def choose(text: str, options: Sequence[str]) -> str:
        if list(options) == ["yes", "part", "no"]:
            return "yes" if "- Page 1: Ferrand stole it" in text else "part"
        return "1"

    def say(text: str) -> str:
        if "in JSON" in text:
            return "Ferrand stole it."
        return "Ferrand did. [1] He fled. [2][3]"

    fake = FakeEngine(says=say, chooses=choose)
    events = await ask(fake)
    assert [
        (event.text, event.path) for event in events if isinstance(event, Noted)
    ] == [("Ferrand stole it", 0)]
    assert TurnedBack(0, 1, 1, told=True) in events
    assert "- Page 1: Ferrand stole it" in fake.calls[-1].text
    assert answered(events).lookups == (1, 2)
    memory = make_memory(20, 20)
    places = tuple((entry.page.start, entry.page.end) for entry in memory.entries[:2])
    assert answered(events).noted == places[:1]
    assert (answered(events).answer, answered(events).cited) == (
        "Ferrand did. [1] He fled. [2]",
        places,
    )


async def test_a_part_with_a_noted_page_is_left_as_one_that_told() -> None:
    def choose(text: str, options: Sequence[str]) -> str:
        if list(options) == ["yes", "part", "no"]:
            return "part"
        return next(walk)

    walk = iter(["1", "1", "none", "ANSWER"])
    fake = FakeEngine(
        says=lambda text: "Ferrand stole it." if "in JSON" in text else says(text),
        chooses=choose,
    )
    assert TurnedBack(1, 1, 7, told=True) in await ask(fake)


async def test_at_the_top_the_model_may_stop_if_no_part_helps() -> None:
    fake = FakeEngine(
        says=says, chooses=lambda _, options: "ANSWER" if "ANSWER" in options else "no"
    )
    await ask(fake)
    (triage,) = [call.text for call in fake.calls if "be read next" in call.text]
    assert triage.endswith(
        "tell the whole answer already, or if none of them would help."
    )


async def test_refused_pages_are_not_entered_and_stop_ends_the_walk() -> None:
    fake = FakeEngine(says=says, chooses=walking("2", "1"))
    events = await ask(fake, steering=Steering(refused={8}))
    assert 8 not in [event.page for event in events if isinstance(event, Expanded)]
    assert 8 not in answered(events).lookups
    assert (
        stopped(await ask(FakeEngine(says=says), steering=Steering(stop=True)))
        is StopReason.PERSON
    )


async def test_a_page_that_the_user_chooses_in_another_part_is_walked_to() -> None:
    fake, steering = (
        FakeEngine(says=says, chooses=walking("1", "1")),
        Steering(steps=Steps.ASK),
    )
    decisions = [Decision(), Decision(refuses=True, pages=(15,))]
    events: list[ReaderEvent] = []
    asking = Asking(QUESTION, make_memory(20, 20), fake, steering, ReaderOptions())
    async for event in memwalker.memwalker(asking):
        events.append(event)
        if isinstance(event, Proposed):
            steering.decide(decisions.pop(0))
    assert answered(events).lookups == (15,)


async def test_stop_while_the_tree_is_built_keeps_finished_summaries() -> None:
    memory, steering = make_memory(60, 60), Steering()
    fake = FakeEngine(says=says)
    events: list[ReaderEvent] = []
    async for event in memwalker.memwalker(
        Asking(QUESTION, memory, fake, steering, ReaderOptions())
    ):
        events.append(event)
        steering.stop = (
            steering.stop
            or len([event for event in events if isinstance(event, Prepared)]) == 2
        )
    assert (stopped(events), answered(events).found) == (StopReason.PERSON, False)
    first, prepared = [event for event in events if isinstance(event, Prepared)]
    assert first.done <= prepared.done < prepared.total == first.total
    assert tree.remaining(memory).done >= prepared.done


async def test_the_second_question_reuses_the_tree() -> None:
    memory = make_memory(40, 40)
    for made in (5, 0):
        fake = FakeEngine(says=says, chooses=walking("2", "1"))
        events = memwalker.memwalker(
            Asking(QUESTION, memory, fake, Steering(), ReaderOptions())
        )
        assert isinstance([event async for event in events][-1], Answered)
        assert sum("Passage:" in call.text for call in fake.calls) == made


async def test_events_report_the_nodes_chosen_and_rejected() -> None:
    fake = FakeEngine(says=says, chooses=walking("1", "none", "2", "1"))
    events = await ask(fake)
    steps = [event for event in events if isinstance(event, Walked | TurnedBack)]
    assert steps[:2] == [Walked(1, 1, 7), TurnedBack(1, 1, 7)]


async def test_the_beginning_of_a_page_that_does_not_fit_is_read_and_reported() -> None:
    memory, options = make_memory(20, 20), ReaderOptions(answer_tokens=150)
    fake = FakeEngine(says=says, chooses=walking("2", "1"), context_tokens=400)
    events = [
        event
        async for event in memwalker.memwalker(
            Asking(QUESTION, memory, fake, Steering(), options)
        )
    ]
    (cut,) = [event for event in events if isinstance(event, Unfit)]
    assert (cut.page, 0.0 < cut.shown < 1.0) == (8, True)
    assert (stopped(events), answered(events).answer) == (StopReason.ENOUGH, ANSWER)
    assert (answered(events).lookups, answered(events).expanded) == ((8,), ())
    ((start, end),) = answered(events).seen
    page = memory.entry(8).page
    assert (start, end < page.end) == (page.start, True)
    assert memory.book.text[start:end].strip() in fake.calls[-1].text


async def test_a_model_that_failed_its_check_writes_an_option_out_of_a_page_without_a_list() -> (
    None
):
    question = f"{QUESTION}\n\n(A) Ferrand\n(B) Ada"
    fake = FakeEngine(says=says, chooses=walking("2", "1"))
    options = ReaderOptions(choices=("Ferrand", "Ada"), model=BASIC)
    events = [
        event
        async for event in memwalker.memwalker(
            Asking(question, make_memory(20, 20), fake, Steering(), options)
        )
    ]
    assert isinstance(events[-1], Answered)
    assert QUESTION in fake.calls[-1].text
    assert "(B) Ada" not in fake.calls[-1].text
