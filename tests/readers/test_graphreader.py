"""Plan, initial nodes, five independent paths, all six actions, a vote: and always an end."""

from collections.abc import Callable, Sequence

import pytest

from gistread.engine.protocol import Choice, Priority, Prompt
from gistread.errors import EngineError
from gistread.memory.facts import elements_in
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
    Steering,
    Stopped,
    StopReason,
    Visited,
)
from gistread.readers.options import ReaderOptions
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


async def test_facts_are_made_once_then_the_plan_then_the_paths_then_the_answer() -> None:
    fake = FakeEngine(says=says, chooses=choosing())
    events = await ask(fake)
    assert [event.done for event in events if isinstance(event, Prepared)] == list(range(1, 9))
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


async def test_a_path_tells_what_it_reads_and_in_whose_notebook_it_writes() -> None:
    events = await ask(FakeEngine(says=says, chooses=choosing()))
    for event in events:
        match event:
            case Visited(path=path, facts=facts, pages=pages):
                assert (1 <= path <= 5, facts >= len(pages) >= 1) == (True, True)
            case LookedUp(path=path) | Noted(path=path):
                assert 1 <= path <= 5


async def test_the_initial_nodes_are_those_that_have_to_do_with_the_question() -> None:
    fake = FakeEngine(says=says, chooses=choosing())
    await ask(fake)
    first = texts(fake, "best places to begin")[0].partition("\n---")[0]
    assert "Martha" in first or "brass" in first.casefold()


@pytest.mark.parametrize(("action", "expected"), [("search more", [1, 2]), ("next page", [1, 2]), ("enough", [1])])
async def test_what_is_done_after_a_page(action: str, expected: list[int]) -> None:
    fake = FakeEngine(says=says, chooses=choosing(starts=1, pages=2, action=action))
    events = await ask(fake, 2)
    looked = [event.page for event in events if isinstance(event, LookedUp)]
    assert looked[: len(expected)] == expected or set(looked) <= {1, 2}
    if action == "enough":
        assert len(looked) <= 1


async def test_the_page_before_and_behind_are_read_next_and_only_where_there_is_one() -> None:
    fake = FakeEngine(says=says, chooses=choosing(starts=1, pages=1, action="previous page"))
    looked = [event.page for event in await ask(fake) if isinstance(event, LookedUp)]
    assert looked == list(range(looked[0], looked[-1] - 1, -1))
    assert len(looked) > 1
    offered = {call.options for call in fake.calls if "enough" in call.options}
    assert any("previous page" not in options for options in offered) or looked[-1] > 1


async def test_no_page_and_no_element_twice_on_a_path() -> None:
    fake = FakeEngine(says=says, chooses=choosing(starts=1, pages=3, action="next page", neighbour=True))
    events = await ask(fake)
    looked = [event.page for event in events if isinstance(event, LookedUp)]
    assert len(looked) == len(set(looked))
    elements = [text.partition('tell about "')[2].partition('"')[0] for text in texts(fake, "tell about")]
    visits = [element for index, element in enumerate(elements) if index == 0 or element != elements[index - 1]]
    assert len(visits) == len(set(visits))


async def test_a_path_has_ten_steps_at_most() -> None:
    fake = FakeEngine(says=says, chooses=choosing(starts=1, pages=3, action="next page", neighbour=True))
    await ask(fake, 40)
    notes_asked = len(texts(fake, "Write down, in one or two"))
    assert 3 <= notes_asked <= graph_path.STEPS


async def test_no_prompt_is_longer_than_a_small_window() -> None:
    fake = FakeEngine(says=says, chooses=choosing(pages=2, neighbour=True), context_tokens=900)
    await ask(fake, 160)
    assert max([await fake.measure(call.prompt) for call in fake.calls]) <= 900


async def test_the_second_question_finds_the_facts_made() -> None:
    memory = make_memory()
    for made in (8, 0):
        fake = FakeEngine(says=says, chooses=choosing())
        reader = graphreader.graphreader(QUESTION, memory, fake, Steering(), ReaderOptions())
        assert isinstance([event async for event in reader][-1], Answered)
        assert len(texts(fake, "atomic facts")) == made


async def test_empty_notebooks_are_nothing_found() -> None:
    def nothing(text: str) -> str:
        return "Nothing new." if "Write down" in text else says(text)

    assert not answered(await ask(FakeEngine(says=nothing, chooses=choosing()))).found


async def test_stop_means_answer_now_and_refused_pages_are_not_read() -> None:
    events = await ask(FakeEngine(says=says, chooses=choosing()), steering=Steering(stop=True))
    assert Stopped(StopReason.PERSON) in events
    assert not any(isinstance(event, LookedUp) for event in events)
    fake = FakeEngine(says=says, chooses=choosing(pages=3))
    refusing = await ask(fake, steering=Steering(refused={8}))
    assert 8 not in [event.page for event in refusing if isinstance(event, LookedUp)]


class Failing(FakeEngine):
    async def choose(self, prompt: Prompt, options: Sequence[str], priority: Priority = Priority.PERSON) -> Choice:
        if "tell about" in prompt[0].content:
            raise EngineError("The model died.")
        return await super().choose(prompt, options, priority)


async def test_an_engine_that_fails_on_a_path_is_the_error_of_the_question() -> None:
    with pytest.raises(EngineError, match="died"):
        await ask(Failing(says=says, chooses=choosing()))
