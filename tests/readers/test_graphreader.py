"""Plan, initial nodes, five independent paths, all six actions, a vote: and always an end."""

from collections.abc import Callable, Sequence

import pytest

from gistread.engine.protocol import GREEDY, Completion, Priority, Prompt, Sampling
from gistread.errors import EngineError
from gistread.memory.facts import elements_in
from gistread.readers import graphreader
from gistread.readers.answering import Asking, ReaderOptions
from gistread.readers.events import (
    Answered,
    LookedUp,
    Noted,
    Planned,
    Prepared,
    ReaderEvent,
    Stopped,
    StopReason,
    Unfit,
    Visited,
)
from gistread.readers.steering import Steering
from tests.fake_engine import FakeEngine
from tests.readers.memories import FACTS, make_memory

QUESTION = "Who stole the brass key?"
ANSWER = "Ferrand stole the key to find the ledger that would hang him."


def says(text: str) -> str:
    if "atomic facts" in text:
        fact = next(fact for fact in FACTS if fact in text)
        return f"- {fact} | {'; '.join(elements_in(fact))}\n"
    if "Write a plan" in text:
        return "Find the brass key.\nFind who had it."
    if "Write it down in one or two" in text:
        body = text.partition("\n---")[0]
        return f"Noted: {FACTS[7]}" if FACTS[7] in body else "Nothing new."
    if "as few words as possible" in text:
        return "Ferrand" if FACTS[7] in text else "The book does not say."
    return ANSWER


Choose = Callable[[str, Sequence[str]], str]


def choosing(
    starts: int = 5,
    pages: int = 1,
    action: str = "search more",
    neighbour: bool = False,
) -> Choose:
    """So many initial nodes, so many pages of each node's facts, and this action after each page.

    `neighbour`: whether the search goes on to the next node.
    """

    def choose(text: str, options: Sequence[str]) -> str:
        if "should the search begin" in text:
            begun = text.rpartition('as in "4, 2, STOP".')[2].count(", ")
            return options[0] if begun < starts else "STOP"
        if "pages should be read in full" in text:
            named = text.rpartition("tells enough.")[2].count("Page ")
            return options[0] if named < pages else "STOP"
        if "What should be done next" in text:
            return action if action in options else "search more"
        return options[0] if neighbour else "STOP"

    return choose


async def ask(
    fake: FakeEngine, pages: int = 8, steering: Steering | None = None
) -> list[ReaderEvent]:
    reader = graphreader.graphreader(
        Asking(
            QUESTION,
            make_memory(pages, pages),
            fake,
            steering or Steering(),
            ReaderOptions(),
        )
    )
    return [event async for event in reader]


def answered(events: list[ReaderEvent]) -> Answered:
    assert isinstance(events[-1], Answered)
    return events[-1]


def texts(fake: FakeEngine, words: str) -> list[str]:
    return [call.text for call in fake.calls if words in call.text]


async def test_facts_plan_paths_and_answer_follow_in_this_order() -> None:
    fake = FakeEngine(says=says, chooses=choosing())
    events = await ask(fake)
    assert [event.done for event in events if isinstance(event, Prepared)] == list(
        range(9)
    )
    (planned,) = [event for event in events if isinstance(event, Planned)]
    assert planned.plan == "Find the brass key.\nFind who had it."
    assert planned.starts
    assert answered(events).answer == ANSWER
    assert [event.reason for event in events if isinstance(event, Stopped)] == [
        StopReason.ENOUGH
    ]


async def test_a_path_reports_what_it_reads_and_its_notebook() -> None:
    events = await ask(FakeEngine(says=says, chooses=choosing()))
    for event in events:
        match event:
            case Visited(path=path, facts=facts, pages=pages):
                assert (1 <= path <= 5, facts >= len(pages) >= 1) == (True, True)
            case LookedUp(path=path) | Noted(path=path):
                assert 1 <= path <= 5


async def test_a_note_on_facts_has_the_place_of_the_nearest_fact_and_is_cited_by_number() -> (
    None
):
    def say(text: str) -> str:
        if "Write it down in one or two" in text:
            if "Above is what the pages" in text and FACTS[7] in text:
                return f"Noted: {FACTS[7]}"
            return "Nothing new."
        return "Ferrand stole it. [1]" if "searchers" in text else says(text)

    events = await ask(FakeEngine(says=say, chooses=choosing()))
    place = make_memory().entry(8).page.start, make_memory().entry(8).page.end
    assert {
        (event.start, event.end) for event in events if isinstance(event, Noted)
    } == {place}
    assert answered(events).cited == (place,)


@pytest.mark.parametrize(
    ("action", "read"),
    [
        ("search more", [2, 6]),
        ("next page", [2, 3, 4, 5, 6, 7, 8]),
        ("previous page", [2, 1, 6, 5, 4, 3]),
        ("enough", [2]),
    ],
)
async def test_after_a_page_the_path_reads_on_or_moves_or_ends(
    action: str, read: list[int]
) -> None:
    """At "brass", which pages 2 and 6 tell of; both are put into the queue."""
    fake = FakeEngine(says=says, chooses=choosing(starts=1, pages=2, action=action))
    assert [
        event.page for event in await ask(fake) if isinstance(event, LookedUp)
    ] == read


async def test_a_page_that_does_not_fit_the_window_is_no_page_that_was_opened() -> None:
    fake = FakeEngine(says=says, chooses=choosing(pages=3), context_tokens=360)
    asking = Asking(
        QUESTION, make_memory(), fake, Steering(), ReaderOptions(answer_tokens=20)
    )
    events = [event async for event in graphreader.graphreader(asking)]
    assert [event.page for event in events if isinstance(event, Unfit)] == [2]
    assert (answered(events).lookups, answered(events).expanded) == ((6, 8), (6, 8))


async def test_every_call_counts_and_a_path_ends_after_ten() -> None:
    fake = FakeEngine(
        says=says,
        chooses=choosing(starts=1, pages=2, action="next page", neighbour=True),
    )
    events = await ask(fake)
    # The facts of an element, seven pages, the choice of a neighbour, its facts.
    steps = [event for event in events if isinstance(event, Visited | LookedUp)]
    assert [type(step) for step in steps] == [Visited, *[LookedUp] * 7, Visited]
    assert len(texts(fake, "should be looked at next")) == 1
    assert graphreader.STEPS == 10


async def test_a_path_has_at_most_ten_steps() -> None:
    fake = FakeEngine(
        says=says,
        chooses=choosing(starts=1, pages=3, action="next page", neighbour=True),
    )
    events = await ask(fake, 40)
    steps = sum(isinstance(event, Visited | LookedUp) for event in events)
    assert steps + len(texts(fake, "should be looked at next")) == graphreader.STEPS


async def test_the_second_question_reuses_the_facts() -> None:
    memory = make_memory()
    for made in (8, 0):
        fake = FakeEngine(says=says, chooses=choosing())
        reader = graphreader.graphreader(
            Asking(QUESTION, memory, fake, Steering(), ReaderOptions())
        )
        assert isinstance([event async for event in reader][-1], Answered)
        assert len(texts(fake, "atomic facts")) == made


@pytest.mark.parametrize("starts", [0, 5])
async def test_without_a_note_the_nearest_facts_answer(starts: int) -> None:
    """The model stops at the first choice, or finds nothing on any path."""

    def nothing(text: str) -> str:
        return "Nothing new." if "Write it down" in text else says(text)

    fake = FakeEngine(says=nothing, chooses=choosing(starts))
    events = await ask(fake)
    (planned,) = [event for event in events if isinstance(event, Planned)]
    assert len(planned.starts) == starts
    assert f"] {FACTS[7]}" in fake.calls[-1].text
    assert answered(events).found


async def test_stop_ends_the_search_and_refused_pages_are_not_read() -> None:
    events = await ask(
        FakeEngine(says=says, chooses=choosing()), steering=Steering(stop=True)
    )
    assert Stopped(StopReason.PERSON) in events
    assert not any(isinstance(event, LookedUp) for event in events)
    fake = FakeEngine(says=says, chooses=choosing(pages=3))
    refusing = await ask(fake, steering=Steering(refused={8}))
    assert 8 not in [event.page for event in refusing if isinstance(event, LookedUp)]


@pytest.mark.parametrize("made_before", [0, 8])
async def test_stop_before_the_first_notebook_answers_from_the_facts(
    made_before: int,
) -> None:
    memory = make_memory(8, 8)
    if made_before:
        reader = graphreader.graphreader(
            Asking(QUESTION, memory, FakeEngine(says=says), Steering(), ReaderOptions())
        )
        assert [event async for event in reader]
    fake = FakeEngine(says=says, chooses=choosing())
    reader = graphreader.graphreader(
        Asking(QUESTION, memory, fake, Steering(stop=True), ReaderOptions())
    )
    assert isinstance([event async for event in reader][-1], Answered)
    (prompt,) = texts(fake, "Searcher 1:")
    assert any(fact in prompt for fact in FACTS), (
        "what is known by then stands in the notebook"
    )
    assert not texts(fake, "Write a plan"), "and nothing else is begun"


class Failing(FakeEngine):
    async def complete(
        self,
        prompt: Prompt,
        sampling: Sampling = GREEDY,
        priority: Priority = Priority.INTERACTIVE,
    ) -> Completion:
        if "tell about" in prompt[0].content:
            raise EngineError("The model died.")
        return await super().complete(prompt, sampling, priority)


async def test_an_engine_failure_on_a_path_fails_the_question() -> None:
    with pytest.raises(EngineError, match="died"):
        await ask(Failing(says=says, chooses=choosing()))


async def test_only_the_actions_on_offer_are_described() -> None:
    fake = FakeEngine(says=says, chooses=choosing())
    await ask(fake)
    calls = [call for call in fake.calls if "What should be done next?" in call.text]
    assert calls
    for call in calls:
        described = call.text.rpartition("What should be done next?")[2]
        for action in ("next page", "previous page", "search more", "enough"):
            assert (f'"{action}"' in described) == (action in call.options)
