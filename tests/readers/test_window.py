"""A memory larger than the window: told at several levels, and every page of it told."""

import re
from collections.abc import Sequence
from dataclasses import replace

import pytest

from gistread.memory.levels import page_by_page
from gistread.memory.model import Gist, GistSource
from gistread.memory.tree import build
from gistread.readers.events import Expanded, OpenedBy, ReaderEvent, SegmentLevel, Started
from gistread.readers.protocol import ReaderOptions
from gistread.readers.steering import Steering
from gistread.readers.text import describe_segments
from gistread.readers.window import render
from tests.fake_engine import FakeEngine
from tests.readers.memories import make_memory
from tests.readers.test_readagent_s import answered, ask, says

SMALL = 1500
QUESTION = "Who confessed to have stolen the ledger?"


def told(events: Sequence[ReaderEvent]) -> tuple[SegmentLevel, ...]:
    assert isinstance(events[0], Started)
    return events[0].told


def pages_told(text: str) -> list[int]:
    """The pages that the tags of a memory's text name, in the order in which they stand there."""
    pages: list[int] = []
    for first, last in re.findall(r"^\(Pages? (\d+)(?:-(\d+))?[,)]", text, re.MULTILINE):
        pages += range(int(first), int(last or first) + 1)
    return pages


def test_an_open_page_replaces_its_gist() -> None:
    memory = make_memory(3)
    text = render(memory, page_by_page(memory), [2])
    lines = [line for line in text.splitlines() if line.startswith("(Page")]
    assert lines == ["(Page 1)", "(Page 2, in full)", "(Page 3)"]
    assert memory.entry(2).gist.text not in text


async def test_a_memory_that_fits_is_shown_page_by_page() -> None:
    engine = FakeEngine(says=says, chooses=["STOP"])
    events = await ask(engine)
    assert told(events) == ()
    assert "together" not in engine.calls[0].text


@pytest.mark.parametrize("context", [600, 1000, SMALL, 3000])
async def test_every_page_is_shown_once_in_order_for_any_window(context: int) -> None:
    engine = FakeEngine(says=says, chooses=["STOP"], context_tokens=context)
    events = await ask(engine, make_memory(160, 160), options=ReaderOptions(answer_tokens=64))
    assert pages_told(engine.calls[0].text) == list(range(1, 161))
    assert [page for one in told(events) for page in range(one.first, one.last + 1)] == list(range(1, 161))


async def test_chapters_near_the_question_are_shown_page_by_page() -> None:
    engine = FakeEngine(says=says, chooses=["STOP"], context_tokens=SMALL)
    memory = make_memory(160, 160)
    memory.entries[49] = replace(memory.entry(50), gist=Gist("The zeppelin landed at Skerry.", 5, GistSource.MODEL))
    events = await ask(engine, memory, question="Where did the zeppelin land?")
    levels = {page: (one.level, one.line) for one in told(events) for page in range(one.first, one.last + 1)}
    assert levels[50] == (0, False)
    assert levels[160] > levels[50]


async def test_chapters_near_the_reading_position_are_shown_in_more_detail() -> None:
    async def levels(here: int | None) -> dict[int, int]:
        engine = FakeEngine(says=says, chooses=["STOP"], context_tokens=SMALL)
        memory = make_memory(160, 160)
        offset = None if here is None else memory.entry(here).page.start
        events = await ask(engine, memory, question="What happened?", steering=Steering(here=offset))
        return {page: one.level for one in told(events) for page in range(one.first, one.last + 1)}

    assert (await levels(20))[20] == 0
    assert (await levels(140))[140] == 0
    assert (await levels(20))[140] > 0


async def test_the_oldest_pages_of_a_growing_memory_are_coarsest() -> None:
    engine = FakeEngine(says=says, chooses=["STOP"], context_tokens=SMALL)
    events = await ask(engine, make_memory(160, 400), question="What happened?")
    levels = {page: (one.level, one.line) for one in told(events) for page in range(one.first, one.last + 1)}
    assert levels[160] == (0, False)
    assert levels[1] > levels[160]


async def test_a_page_inside_a_summary_can_be_opened() -> None:
    def choose(_: str, options: Sequence[str]) -> str:
        return "Page 3" if "Page 3" in options else "STOP"

    engine = FakeEngine(says=says, chooses=choose, context_tokens=SMALL)
    events = await ask(engine, make_memory(160, 160), question=QUESTION, options=ReaderOptions(answer_tokens=64))
    assert any(one.first <= 3 <= one.last and one.level for one in told(events))
    assert answered(events).expanded == (3,)
    text = engine.calls[-1].text
    assert text.index("(Page 3, in full)") > text.index(", shortened together)")


async def test_the_number_of_pages_at_each_level_is_reported() -> None:
    pieces = (
        SegmentLevel(1, 8, 1),
        SegmentLevel(9, 9, 0),
        SegmentLevel(10, 10, 0),
        SegmentLevel(11, 30, 2, made=False, line=True),
    )
    assert describe_segments(pieces) == (
        "The memory is larger than the model's window: 2 pages by their own gist, 8 pages in 1 summary, "
        "20 pages in 1 line. 1 of these are sentences of the gists, until the model makes them."
    )


async def test_summaries_are_used_as_soon_as_they_exist() -> None:
    memory = make_memory(160, 160)
    engine = FakeEngine(says=says, chooses=lambda _, options: "STOP", context_tokens=SMALL)
    before = told(await ask(engine, memory))
    assert not all(one.made for one in before)
    maker = FakeEngine(says=lambda text: "Then " + " ".join(text.split()[12:30]) + ".")
    async for _ in build(memory, maker, whole=True):
        pass
    engine.calls.clear()
    after = told(await ask(engine, memory))
    assert all(one.made for one in after)
    assert "together)\nThen" in engine.calls[0].text


async def test_the_same_question_over_the_same_memory_gives_the_same_prompt() -> None:
    prompts = []
    for _ in range(2):
        engine = FakeEngine(says=says, chooses=["STOP"], context_tokens=SMALL)
        await ask(engine, make_memory(160, 160), question=QUESTION)
        prompts.append(engine.calls[0].text)
    assert prompts[0] == prompts[1]


async def test_room_is_left_for_pages_and_the_answer() -> None:
    engine = FakeEngine(says=says, context_tokens=SMALL)
    events = await ask(engine, make_memory(160, 160), options=ReaderOptions(answer_tokens=64))
    assert len(answered(events).expanded) >= 2


async def test_a_pinned_page_far_from_the_question_is_open() -> None:
    engine = FakeEngine(says=says, chooses=["STOP"], context_tokens=SMALL)
    events = await ask(engine, make_memory(160, 160), steering=Steering(pinned={4}))
    assert Expanded(4, OpenedBy.PERSON) in events
    assert "(Page 4, in full)" in engine.calls[0].text


async def test_a_page_pinned_during_the_search_stays_open() -> None:
    steering = Steering()
    engine = FakeEngine(says=says, chooses=["STOP"], context_tokens=SMALL)
    memory = make_memory(160, 160)

    def pin(event: object) -> None:
        if isinstance(event, Started):
            steering.pinned.add(4)

    events = await ask(engine, memory, steering=steering, on=pin)
    assert Expanded(4, OpenedBy.PERSON) in events


@pytest.mark.parametrize("context", [2000, 8192])
async def test_a_long_memory_is_not_remeasured_for_every_page(context: int) -> None:
    engine = FakeEngine(says=says, context_tokens=context)
    await ask(engine, make_memory(1000, 1000))
    assert engine.counted < 300


async def test_no_prompt_is_longer_than_the_window() -> None:
    # The fake refuses such a prompt: that nothing is raised is the promise.
    for context in range(500, 1600, 100):
        engine = FakeEngine(says=says, context_tokens=context)
        events = await ask(engine, make_memory(40, 40), options=ReaderOptions(answer_tokens=64))
        assert answered(events).found
