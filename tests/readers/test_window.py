"""A memory larger than the window: told at several levels, and every page of it told."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

import pytest

from gistread.memory.model import Gist, GistSource
from gistread.memory.tree import page_by_page
from gistread.readers.answering import ReaderOptions
from gistread.readers.events import ReaderEvent, SegmentLevel, Started
from gistread.readers.lookups import render
from gistread.readers.steering import Steering
from tests.fake_engine import FakeEngine
from tests.readers.memories import make_memory
from tests.readers.test_readagent_s import answered, ask, says

SMALL = 1500
QUESTION = "Who confessed to have stolen the ledger?"


def pages_of(events: Sequence[ReaderEvent]) -> list[int]:
    """The pages told, in the order in which they stand there."""
    return [page for page, _ in pages_and_segments(events)]


def levels_of(events: Sequence[ReaderEvent]) -> dict[int, int]:
    """The level at which each page is told."""
    return {page: segment.level for page, segment in pages_and_segments(events)}


def pages_and_segments(
    events: Sequence[ReaderEvent],
) -> Iterator[tuple[int, SegmentLevel]]:
    for segment in segments_in(events):
        for page in range(segment.first, segment.last + 1):
            yield page, segment


def segments_in(events: Sequence[ReaderEvent]) -> tuple[SegmentLevel, ...]:
    assert isinstance(events[0], Started)
    return events[0].told


def pages_told(text: str) -> list[int]:
    """The pages that the tags of a memory's text name, in the order in which they stand there."""
    pages: list[int] = []
    for first, last in re.findall(
        r"^\(Pages? (\d+)(?:-(\d+))?[,)]", text, re.MULTILINE
    ):
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
    assert segments_in(events) == ()
    assert "together" not in engine.calls[0].text


@pytest.mark.parametrize("context", [600, 1000, SMALL, 3000])
async def test_every_page_is_shown_once_in_order_for_any_window(context: int) -> None:
    engine = FakeEngine(says=says, chooses=["STOP"], context_tokens=context)
    events = await ask(
        engine, make_memory(160, 160), options=ReaderOptions(answer_tokens=64)
    )
    assert pages_told(engine.calls[0].text) == list(range(1, 161))
    assert pages_of(events) == list(range(1, 161))


async def test_chapters_near_the_question_are_shown_page_by_page() -> None:
    engine = FakeEngine(says=says, chooses=["STOP"], context_tokens=SMALL)
    memory = make_memory(160, 160)
    memory.entries[49] = replace(
        memory.entry(50),
        gist=Gist("The zeppelin landed at Skerry.", 5, GistSource.MODEL),
    )
    events = await ask(engine, memory, question="Where did the zeppelin land?")
    levels = levels_of(events)
    assert levels[50] == 0
    assert levels[160] > levels[50]


async def test_chapters_near_the_reading_position_are_shown_in_more_detail() -> None:
    async def levels(here: int | None) -> dict[int, int]:
        engine = FakeEngine(says=says, chooses=["STOP"], context_tokens=SMALL)
        memory = make_memory(160, 160)
        offset = None if here is None else memory.entry(here).page.start
        events = await ask(
            engine, memory, question="What happened?", steering=Steering(here=offset)
        )
        return levels_of(events)

    assert (await levels(20))[20] == 0
    assert (await levels(140))[140] == 0
    assert (await levels(20))[140] > 0


async def test_the_oldest_pages_of_a_growing_memory_are_coarsest() -> None:
    engine = FakeEngine(says=says, chooses=["STOP"], context_tokens=SMALL)
    events = await ask(engine, make_memory(160, 400), question="What happened?")
    levels = levels_of(events)
    assert levels[160] == 0
    assert levels[1] > levels[160]


async def test_no_prompt_is_longer_than_the_window() -> None:
    # The fake refuses such a prompt: that nothing is raised is the promise.
    for context in range(500, 1600, 100):
        engine = FakeEngine(says=says, context_tokens=context)
        events = await ask(
            engine, make_memory(40, 40), options=ReaderOptions(answer_tokens=64)
        )
        assert answered(events).found
