"""Parallel look-up: all pages named in one step, before any is opened."""

import pytest

from gistread.engine.protocol import (
    GREEDY,
    NO_USAGE,
    Completion,
    Priority,
    Prompt,
    Sampling,
)
from gistread.readers.answering import ReaderOptions
from gistread.readers.events import Expanded, LookedUp, OpenedBy, Stopped, StopReason
from gistread.readers.steering import Steering
from tests.fake_engine import FakeEngine
from tests.readers.memories import FACTS
from tests.research.evaluation.test_baselines import ANSWER, answered, ask


def engine(*chooses: str, context_tokens: int = 8192) -> FakeEngine:
    return FakeEngine(
        says=lambda _: ANSWER, chooses=list(chooses), context_tokens=context_tokens
    )


async def test_pages_are_named_by_importance_then_opened_before_the_answer() -> None:
    fake = engine("Page 8", "Page 6", "STOP")
    events = await ask("readagent-p", fake)
    assert [
        event for event in events if isinstance(event, LookedUp | Expanded | Stopped)
    ] == [
        LookedUp(8, 1, "because it has “key”"),
        LookedUp(6, 2, "because it has “brass”, “key”"),
        Stopped(StopReason.ENOUGH),
        Expanded(8, OpenedBy.AGENT),
        Expanded(6, OpenedBy.AGENT),
    ]
    assert answered(events).lookups == (8, 6)
    assert answered(events).expanded == (6, 8)
    assert FACTS[7] in fake.calls[-1].text
    assert FACTS[5] in fake.calls[-1].text


@pytest.mark.parametrize(
    ("reply", "pages"),
    [
        ("Page 8, Page 6, Page 8, Page 99, STOP", (8, 6)),
        ("Page 8\nPage 6", (8, 6)),
        ("STOP", ()),
        ("I would open page 8.", (6,)),
    ],
)
async def test_a_server_may_name_pages_in_another_form(
    reply: str, pages: tuple[int, ...]
) -> None:
    class Server(FakeEngine):
        """Does not know of grammars."""

        async def complete(
            self,
            prompt: Prompt,
            sampling: Sampling = GREEDY,
            priority: Priority = Priority.INTERACTIVE,
        ) -> Completion:
            if sampling.grammar:
                return Completion(reply, "end", NO_USAGE)
            return await super().complete(prompt, sampling)

    events = await ask("readagent-p", Server(says=lambda _: ANSWER, chooses=["Page 6"]))
    assert answered(events).lookups == pages


async def test_named_pages_keep_the_limit_and_fit_the_window() -> None:
    events = await ask(
        "readagent-p",
        FakeEngine(says=lambda _: ANSWER),
        options=ReaderOptions(max_pages=3),
    )
    assert (Stopped(StopReason.LIMIT) in events, answered(events).lookups) == (
        True,
        (1, 2, 3),
    )
    small = FakeEngine(says=lambda _: ANSWER, context_tokens=620)
    events = await ask(
        "readagent-p", small, options=ReaderOptions(max_pages=8, answer_tokens=64)
    )
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
