"""Parallel look-up: all pages named in one step, before any is opened."""

from gistread.readers.events import Expanded, LookedUp, OpenedBy, Stopped, StopReason
from gistread.readers.protocol import ReaderOptions
from gistread.readers.steering import Steering
from tests.fake_engine import FakeEngine
from tests.readers.memories import FACTS
from tests.readers.test_text_readers import ANSWER, answered, ask


def engine(*chooses: str, context_tokens: int = 8192) -> FakeEngine:
    return FakeEngine(says=lambda _: ANSWER, chooses=list(chooses), context_tokens=context_tokens)


async def test_pages_are_named_by_importance_then_opened_before_the_answer() -> None:
    fake = engine("Page 8", "Page 6", "STOP")
    events = await ask("readagent-p", fake)
    assert [event for event in events if isinstance(event, LookedUp | Expanded | Stopped)] == [
        LookedUp(8, 1, ""),
        LookedUp(6, 2, ""),
        Stopped(StopReason.ENOUGH),
        Expanded(8, OpenedBy.AGENT),
        Expanded(6, OpenedBy.AGENT),
    ]
    assert answered(events).lookups == (8, 6)
    assert answered(events).expanded == (6, 8)
    assert FACTS[7] in fake.calls[-1].text
    assert FACTS[5] in fake.calls[-1].text


async def test_pages_are_named_in_one_growing_reply_before_any_is_open() -> None:
    fake = engine("Page 8", "Page 6", "STOP")
    await ask("readagent-p", fake)
    choices = [call for call in fake.calls if call.kind == "choose"]
    assert all(FACTS[7] not in call.text for call in choices)
    assert [call.prompt[1].content for call in choices[1:]] == ["Page 8, ", "Page 8, Page 6, "]
    assert len({call.prompt[0] for call in choices}) == 1


async def test_no_page_is_named_twice() -> None:
    fake = engine("Page 8", "Page 6", "STOP")
    await ask("readagent-p", fake)
    last = [call.options for call in fake.calls if call.kind == "choose"][-1]
    assert last == (*(f"Page {n}" for n in (1, 2, 3, 4, 5, 7)), "STOP")


async def test_named_pages_keep_the_limit_and_fit_the_window() -> None:
    events = await ask("readagent-p", FakeEngine(says=lambda _: ANSWER), options=ReaderOptions(max_pages=3))
    assert (Stopped(StopReason.LIMIT) in events, answered(events).lookups) == (True, (1, 2, 3))
    small = FakeEngine(says=lambda _: ANSWER, context_tokens=620)
    events = await ask("readagent-p", small, options=ReaderOptions(max_pages=8, answer_tokens=64))
    assert Stopped(StopReason.WINDOW) in events
    assert 0 < len(answered(events).expanded) < 8


async def test_steering_pins_refuses_and_ends_the_naming() -> None:
    fake = engine("Page 8", "STOP")
    events = await ask("readagent-p", fake, steering=Steering(pinned={3}, refused={6}))
    assert Expanded(3, OpenedBy.PERSON) in events
    assert not {"Page 3", "Page 6"} & set(fake.calls[0].options)
    assert answered(events).expanded == (3, 8)
    stopped = await ask("readagent-p", engine(), steering=Steering(stop=True))
    assert Stopped(StopReason.PERSON) in stopped
