"""Plan, initial nodes, five independent paths, all six actions, a vote: and always an end."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from gistread.engine.protocol import Choice, Priority, Prompt
from gistread.errors import EngineError
from gistread.memory.facts import Fact, elements_in
from gistread.memory.graph import build_graph
from gistread.readers import graph_path, graphreader
from gistread.readers.events import (
    Agreed,
    Answered,
    LookedUp,
    Noted,
    PathEnded,
    Planned,
    Prepared,
    ReaderEvent,
    Stopped,
    StopReason,
    Unfit,
    Visited,
)
from gistread.readers.protocol import ReaderOptions
from gistread.readers.steering import Steering
from tests.fake_engine import FakeEngine, tokens_in
from tests.readers.memories import FACTS, make_memory

QUESTION = "Who stole the brass key?"
ANSWER = "Ferrand stole the key to find the ledger that would hang him."


def says(text: str) -> str:
    if "atomic facts" in text:
        fact = next(fact for fact in FACTS if fact in text)
        return f"- {fact} | {'; '.join(elements_in(fact))}\n"
    if "Write a plan" in text:
        return "Find the brass key.\nFind who had it."
    if "Write down, in one or two" in text:
        body = text.partition("\n---")[0]
        return f"Noted: {FACTS[7]}" if FACTS[7] in body else "Nothing new."
    if "as few words as possible" in text:
        return "Ferrand" if FACTS[7] in text else "The book does not say."
    return ANSWER


Choose = Callable[[str, Sequence[str]], str]


def choosing(starts: int = 5, pages: int = 1, action: str = "search more", neighbour: bool = False) -> Choose:
    """So many initial nodes, so many pages of each node's facts, this action after each page, and on or not."""

    def choose(text: str, options: Sequence[str]) -> str:
        if "best places to begin" in text:
            begun = text.rpartition('as in "4, 2, STOP".')[2].count(", ")
            return options[0] if begun < starts else "STOP"
        if "Which pages should be read" in text:
            named = text.rpartition("none is needed.")[2].count("Page ")
            return options[0] if named < pages else "STOP"
        if "What should be done next" in text:
            return action if action in options else "search more"
        return options[0] if neighbour else "STOP"

    return choose


async def ask(fake: FakeEngine, pages: int = 8, steering: Steering | None = None) -> list[ReaderEvent]:
    reader = graphreader.graphreader(QUESTION, make_memory(pages, pages), fake, steering or Steering(), ReaderOptions())
    return [event async for event in reader]


def answered(events: list[ReaderEvent]) -> Answered:
    assert isinstance(events[-1], Answered)
    return events[-1]


def texts(fake: FakeEngine, words: str) -> list[str]:
    return [call.text for call in fake.calls if words in call.text]


async def test_facts_plan_paths_and_answer_follow_in_this_order() -> None:
    fake = FakeEngine(says=says, chooses=choosing())
    events = await ask(fake)
    assert [event.done for event in events if isinstance(event, Prepared)] == list(range(9))
    (planned,) = [event for event in events if isinstance(event, Planned)]
    assert planned.plan == "Find the brass key.\nFind who had it."
    assert planned.starts
    assert answered(events).answer == ANSWER
    assert answered(events).citations[0].quote == FACTS[7]
    assert [event.reason for event in events if isinstance(event, Stopped)] == [StopReason.ENOUGH]


async def test_five_paths_with_five_notebooks() -> None:
    fake = FakeEngine(says=says, chooses=choosing())
    events = await ask(fake)
    (planned,) = [event for event in events if isinstance(event, Planned)]
    assert len(planned.starts) == 5
    assert sorted(event.path for event in events if isinstance(event, PathEnded)) == [1, 2, 3, 4, 5]
    noting = {event.path for event in events if isinstance(event, Noted)}
    assert noting <= {1, 2, 3, 4, 5}
    (agreed,) = [event for event in events if isinstance(event, Agreed)]
    assert (agreed.answer, set(agreed.by)) == ("Ferrand", noting)
    last = fake.calls[-1].text
    assert 1 <= last.count("Notebook ") <= 5
    assert "would answer: Ferrand" in last


async def test_a_path_reports_what_it_reads_and_its_notebook() -> None:
    events = await ask(FakeEngine(says=says, chooses=choosing()))
    for event in events:
        match event:
            case Visited(path=path, facts=facts, pages=pages):
                assert (1 <= path <= 5, facts >= len(pages) >= 1) == (True, True)
            case LookedUp(path=path) | Noted(path=path):
                assert 1 <= path <= 5


async def test_the_initial_nodes_are_relevant_to_the_question() -> None:
    fake = FakeEngine(says=says, chooses=choosing())
    await ask(fake)
    listed = texts(fake, "best places to begin")[0].partition("\n---")[0].splitlines()
    assert listed[0] == "1. brass"  # named on two pages, and in question and plan


@pytest.mark.parametrize(
    ("action", "read"),
    [
        ("search more", [2, 6]),
        ("next page", [2, 3, 4, 5, 6, 7, 8]),
        ("previous page", [2, 1, 6, 5, 4, 3]),
        ("enough", [2]),
    ],
)
async def test_after_a_page_the_path_reads_on_or_moves_or_ends(action: str, read: list[int]) -> None:
    """At "brass", which pages 2 and 6 tell of; both are put into the queue."""
    fake = FakeEngine(says=says, chooses=choosing(starts=1, pages=2, action=action))
    assert [event.page for event in await ask(fake) if isinstance(event, LookedUp)] == read


async def test_only_neighbours_that_are_neither_read_nor_queued_are_offered() -> None:
    fake = FakeEngine(says=says, chooses=choosing(starts=1, pages=2, action="next page"))
    assert [event.page for event in await ask(fake) if isinstance(event, LookedUp)] == [2, 3, 4, 5, 6, 7, 8]
    both, behind, none = ("previous page", "next page"), ("next page",), ()
    beside = [both, behind, behind, none, behind, behind, none]  # 6 is in the queue when 5 is read; 8 is the last
    assert actions_offered(fake) == [("search more", *actions, "enough") for actions in beside]
    fake = FakeEngine(says=says, chooses=choosing(starts=1, pages=1, action="previous page"))
    assert [event.page for event in await ask(fake) if isinstance(event, LookedUp)] == [2, 1]
    assert actions_offered(fake)[-1] == ("search more", "enough")


def actions_offered(fake: FakeEngine) -> list[tuple[str, ...]]:
    return [call.options for call in fake.calls if "enough" in call.options]


async def test_every_call_counts_and_a_path_ends_after_ten() -> None:
    fake = FakeEngine(says=says, chooses=choosing(starts=1, pages=2, action="next page", neighbour=True))
    events = await ask(fake)
    # The facts of an element, seven pages, the choice of a neighbour, its facts.
    steps = [event for event in events if isinstance(event, Visited | LookedUp)]
    assert [type(step) for step in steps] == [Visited, *[LookedUp] * 7, Visited]
    assert len(texts(fake, "should be looked at next")) == 1
    assert graph_path.STEPS == 10


async def test_of_many_neighbours_the_relevant_ones_are_shown() -> None:
    names = [f"thing{number}" for number in range(60)]
    facts = [Fact(1, f"The harbour had {name} in it.", ("harbour", name)) for name in names[:59]]
    facts.append(Fact(1, "The harbour had the brass key that was stolen.", ("harbour", names[59])))
    graph = build_graph(tuple(facts))
    fake = FakeEngine(chooses=lambda _, options: options[0])
    search = graph_path.Search(QUESTION, make_memory(), fake, graph)
    path = graph_path.Path(1, next(element for element in graph.values() if element.name == "harbour"))
    events = [event async for event in graph_path.walk(search, path, Steering())]
    assert isinstance(events[-1], PathEnded)
    listed = texts(fake, "should be looked at next")[0].partition("\n---")[0].splitlines()
    assert listed[0] == "1. thing59"
    assert len(listed) == 30


async def test_a_page_too_long_for_the_window_is_skipped() -> None:
    def count(text: str) -> int:
        return 5000 if "(huge)" in text else tokens_in(text)

    memory = make_memory()
    huge = memory.entries[1].page
    text = memory.book.text[: huge.start + 10] + "(huge)" + memory.book.text[huge.start + 16 :]
    memory = replace(memory, book=replace(memory.book, text=text))
    fake = FakeEngine(says=says, chooses=choosing(pages=2), count=count, context_tokens=4000)
    graph = build_graph((Fact(2, FACTS[1], ("key",)), Fact(6, FACTS[5], ("key",))))
    search = graph_path.Search(QUESTION, memory, fake, graph)
    path = graph_path.Path(1, next(iter(search.graph.values())))
    events = [event async for event in graph_path.walk(search, path, Steering())]
    assert [event.page for event in events if isinstance(event, LookedUp)] == [2, 6]
    assert [event.page for event in events if isinstance(event, Unfit)] == [2]


async def test_no_page_or_element_occurs_twice_on_a_path() -> None:
    fake = FakeEngine(says=says, chooses=choosing(starts=1, pages=3, action="next page", neighbour=True))
    events = await ask(fake)
    looked = [event.page for event in events if isinstance(event, LookedUp)]
    assert len(looked) == len(set(looked))
    elements = [text.partition('tell about "')[2].partition('"')[0] for text in texts(fake, "tell about")]
    visits = [element for index, element in enumerate(elements) if index == 0 or element != elements[index - 1]]
    assert len(visits) == len(set(visits))


async def test_a_path_has_at_most_ten_steps() -> None:
    fake = FakeEngine(says=says, chooses=choosing(starts=1, pages=3, action="next page", neighbour=True))
    events = await ask(fake, 40)
    steps = sum(isinstance(event, Visited | LookedUp) for event in events)
    assert steps + len(texts(fake, "should be looked at next")) == graph_path.STEPS


async def test_no_prompt_is_longer_than_a_small_window() -> None:
    fake = FakeEngine(says=says, chooses=choosing(pages=2, neighbour=True), context_tokens=900)
    await ask(fake, 160)
    assert max([await fake.measure(call.prompt) for call in fake.calls]) <= 900


async def test_the_second_question_reuses_the_facts() -> None:
    memory = make_memory()
    for made in (8, 0):
        fake = FakeEngine(says=says, chooses=choosing())
        reader = graphreader.graphreader(QUESTION, memory, fake, Steering(), ReaderOptions())
        assert isinstance([event async for event in reader][-1], Answered)
        assert len(texts(fake, "atomic facts")) == made


async def test_empty_notebooks_mean_not_found() -> None:
    def nothing(text: str) -> str:
        return "Nothing new." if "Write down" in text else says(text)

    assert not answered(await ask(FakeEngine(says=nothing, chooses=choosing()))).found


async def test_stop_ends_the_search_and_refused_pages_are_not_read() -> None:
    events = await ask(FakeEngine(says=says, chooses=choosing()), steering=Steering(stop=True))
    assert Stopped(StopReason.PERSON) in events
    assert not any(isinstance(event, LookedUp) for event in events)
    fake = FakeEngine(says=says, chooses=choosing(pages=3))
    refusing = await ask(fake, steering=Steering(refused={8}))
    assert 8 not in [event.page for event in refusing if isinstance(event, LookedUp)]


@pytest.mark.parametrize("made_before", [0, 8])
async def test_stop_before_the_first_notebook_answers_from_the_facts(made_before: int) -> None:
    memory = make_memory(8, 8)
    if made_before:
        reader = graphreader.graphreader(QUESTION, memory, FakeEngine(says=says), Steering(), ReaderOptions())
        assert [event async for event in reader]
    fake = FakeEngine(says=says, chooses=choosing())
    reader = graphreader.graphreader(QUESTION, memory, fake, Steering(stop=True), ReaderOptions())
    assert isinstance([event async for event in reader][-1], Answered)
    (asked,) = texts(fake, "Notebook 1:")
    assert any(fact in asked for fact in FACTS), "what is known by then stands in the notebook"
    assert not texts(fake, "Write a plan"), "and nothing else is begun"


class Failing(FakeEngine):
    async def choose(self, prompt: Prompt, options: Sequence[str], priority: Priority = Priority.INTERACTIVE) -> Choice:
        if "tell about" in prompt[0].content:
            raise EngineError("The model died.")
        return await super().choose(prompt, options, priority)


async def test_an_engine_failure_on_a_path_fails_the_question() -> None:
    with pytest.raises(EngineError, match="died"):
        await ask(Failing(says=says, chooses=choosing()))
