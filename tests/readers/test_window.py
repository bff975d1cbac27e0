"""A memory larger than the window."""

import pytest

from gistread.readers.events import Expanded, Started, Steering, Who
from gistread.readers.options import ReaderOptions
from gistread.readers.window import render
from tests.fake_engine import FakeEngine
from tests.readers.memories import make_memory
from tests.readers.test_readagent_s import answered, ask, says

SMALL = 1500


def test_gaps_are_marked() -> None:
    text = render(make_memory(8), [2, 5, 6], [5])
    lines = [line for line in text.splitlines() if line.startswith("(Page")]
    assert lines == [
        "(Page 1 not shown)",
        "(Page 2)",
        "(Pages 3-4 not shown)",
        "(Page 5, in full)",
        "(Page 6)",
        "(Pages 7-8 not shown)",
    ]


async def test_a_memory_that_fits_is_shown_whole() -> None:
    engine = FakeEngine(says=says, chooses=["STOP"])
    events = await ask(engine)
    assert isinstance(events[0], Started)
    assert events[0].shown is None
    assert "not shown" not in engine.calls[0].text


async def test_the_gists_nearest_to_the_question_are_shown_in_the_order_of_the_book() -> None:
    engine = FakeEngine(says=says, chooses=["STOP"], context_tokens=SMALL)
    events = await ask(engine, make_memory(160, 160), question="Who confessed to have stolen the ledger?")
    assert isinstance(events[0], Started)
    shown = events[0].shown
    assert shown is not None
    assert list(shown) == sorted(shown)
    nearest = {number for number in shown if number % 8 in (0, 7)}  # pages 8, 16 … tell of it, 7, 15 … nearly
    assert len(nearest) >= 0.8 * len(shown)
    assert "not shown)" in engine.calls[0].text
    assert set(engine.calls[0].options) == {f"Page {number}" for number in shown} | {"STOP"}


async def test_there_is_room_for_pages_and_the_answer() -> None:
    engine = FakeEngine(says=says, context_tokens=SMALL)
    events = await ask(engine, make_memory(160, 160), options=ReaderOptions(answer_tokens=64))
    assert len(answered(events).expanded) >= 2


async def test_a_pinned_page_is_shown_however_far_it_is_from_the_question() -> None:
    engine = FakeEngine(says=says, chooses=["STOP"], context_tokens=SMALL)
    events = await ask(engine, make_memory(160, 160), steering=Steering(pinned={4}))
    assert Expanded(4, Who.PERSON) in events
    assert "(Page 4, in full)" in engine.calls[0].text


async def test_a_page_pinned_out_of_nowhere_is_shown_from_then_on() -> None:
    steering = Steering()
    engine = FakeEngine(says=says, chooses=["STOP"], context_tokens=SMALL)
    memory = make_memory(160, 160)

    def pin(event: object) -> None:
        if isinstance(event, Started):
            steering.pinned.add(4)

    events = await ask(engine, memory, steering=steering, on=pin)
    assert Expanded(4, Who.PERSON) in events


@pytest.mark.parametrize("pages", [1000])
async def test_a_long_memory_is_not_measured_again_for_every_page(pages: int) -> None:
    engine = FakeEngine(says=says, context_tokens=8192)
    await ask(engine, make_memory(pages, pages))
    assert engine.counted < 300


async def test_no_prompt_is_ever_larger_than_the_window() -> None:
    # The fake refuses such a prompt: that nothing is raised is the promise.
    for context in range(500, 1600, 100):
        engine = FakeEngine(says=says, context_tokens=context)
        events = await ask(engine, make_memory(40, 40), options=ReaderOptions(answer_tokens=64))
        assert answered(events).found
