"""Sequential look-up, step by step."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from gistread.engine.protocol import (
    GREEDY,
    NO_USAGE,
    Completion,
    Priority,
    Prompt,
    Sampling,
)
from gistread.memory.model import GistMemory
from gistread.readers.answering import Asking, ReaderOptions
from gistread.readers.events import (
    AnswerDelta,
    Answered,
    Expanded,
    LookedUp,
    OpenedBy,
    ReaderEvent,
    Started,
    Stopped,
    StopReason,
    Written,
)
from gistread.readers.model_class import BASIC
from gistread.readers.registry import METHODS
from gistread.readers.steering import Steering
from tests.fake_engine import FakeEngine
from tests.readers.memories import FACTS, make_memory

QUESTION = "Who stole the brass key?"
ANSWER = "Ferrand stole the key to find the ledger that would hang him."


def says(prompt: str) -> str:
    return "it tells of the key" if "in JSON" in prompt else ANSWER


async def ask(
    engine: FakeEngine,
    memory: GistMemory | None = None,
    *,
    steering: Steering | None = None,
    options: ReaderOptions | None = None,
    question: str = QUESTION,
    on: Callable[[ReaderEvent], None] = lambda _: None,
) -> list[ReaderEvent]:
    events: list[ReaderEvent] = []
    reader = METHODS["readagent-s"].reader()
    async for event in reader(
        Asking(
            question,
            make_memory() if memory is None else memory,
            engine,
            Steering() if steering is None else steering,
            ReaderOptions() if options is None else options,
        )
    ):
        on(event)
        events.append(event)
    return events


def answered(events: list[ReaderEvent]) -> Answered:
    assert isinstance(events[-1], Answered)
    return events[-1]


def stopped(events: list[ReaderEvent]) -> StopReason:
    (reason,) = [event.reason for event in events if isinstance(event, Stopped)]
    return reason


def expanded(events: list[ReaderEvent]) -> list[tuple[int, OpenedBy]]:
    return [(event.page, event.by) for event in events if isinstance(event, Expanded)]


async def test_pages_are_looked_up_one_by_one_until_the_model_stops() -> None:
    engine = FakeEngine(says=says, chooses=["Page 6", "Page 8", "STOP"])
    events = await ask(engine)
    assert [event for event in events if not isinstance(event, AnswerDelta)][:-1] == [
        Started("readagent-s", 8, 8, complete=True),
        LookedUp(6, 1, "it tells of the key"),
        Expanded(6, OpenedBy.AGENT),
        LookedUp(8, 2, "it tells of the key"),
        Expanded(8, OpenedBy.AGENT),
        Stopped(StopReason.ENOUGH),
        Written(),
    ]
    end = answered(events)
    assert (end.answer, end.found, end.lookups, end.expanded) == (
        ANSWER,
        True,
        (6, 8),
        (6, 8),
    )
    assert (
        "".join(event.text for event in events if isinstance(event, AnswerDelta))
        == ANSWER
    )


async def test_an_open_page_replaces_its_gist_in_the_order_of_the_book() -> None:
    engine = FakeEngine(says=says, chooses=["Page 6", "STOP"])
    await ask(engine)
    text = engine.calls[-1].text
    assert FACTS[5] in text
    assert "(gist 6)" not in text
    assert text.index("(gist 5)") < text.index(FACTS[5]) < text.index("(gist 7)")


async def test_the_reason_comes_with_the_choice() -> None:
    engine = FakeEngine(says=says, chooses=["Page 6", "STOP"])
    events = await ask(engine)
    assert [event.reason for event in events if isinstance(event, LookedUp)] == [
        "it tells of the key"
    ]
    assert len(engine.calls) == 3


@pytest.mark.parametrize(
    ("reply", "reason", "asked_again"),
    [
        (
            '```json\n{"choice": "Page 6", "reason": "of the \\"key\\", and"}\n```',
            "of the ”key”, and",
            False,
        ),
        ('{"choice": "Page 6", "reason": "it tells wh', "it tells wh…", False),
        ("Page 6, because it tells of the key.", "", True),
        ('{"choice": "Page 66", "reason": "it tells"}', "", True),
    ],
)
async def test_a_server_may_reply_otherwise(
    reply: str, reason: str, asked_again: bool
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

    shared = "because it has “brass”, “key”"
    engine = Server(says=says, chooses=["Page 6"])
    (event,) = [
        event
        for event in await ask(engine, options=ReaderOptions(max_pages=1))
        if isinstance(event, LookedUp)
    ]
    assert (event.page, event.reason) == (6, reason or shared)
    assert any(call.kind == "choose" for call in engine.calls) == asked_again


async def test_the_search_ends_before_a_page_that_would_not_fit() -> None:
    engine = FakeEngine(says=says, context_tokens=720)
    events = await ask(engine, options=ReaderOptions(max_pages=8, answer_tokens=64))
    assert stopped(events) is StopReason.WINDOW
    assert 0 < len(answered(events).expanded) < 8


async def test_pages_too_long_for_the_window_are_not_offered() -> None:
    memory = make_memory()
    long = memory.entries[3]
    words = 20 * long.page.words
    filler = " filling" * words
    book = replace(
        memory.book,
        text=memory.book.text[: long.page.end].rstrip()
        + filler
        + memory.book.text[long.page.end :],
    )
    shift = len(book.text) - len(memory.book.text)
    memory.book = book
    memory.entries[3] = replace(
        long,
        page=replace(
            long.page, end=long.page.end + shift, words=long.page.words + words
        ),
    )
    for index in range(4, 8):
        page = memory.entries[index].page
        memory.entries[index] = replace(
            memory.entries[index],
            page=replace(page, start=page.start + shift, end=page.end + shift),
        )
    engine = FakeEngine(says=says, chooses=["STOP"], context_tokens=1200)
    await ask(engine, memory)
    assert "Page 3" in engine.calls[0].options
    assert "Page 4" not in engine.calls[0].options


async def test_a_pinned_page_is_open_from_the_start() -> None:
    engine = FakeEngine(says=says, chooses=["STOP"])
    events = await ask(engine, steering=Steering(pinned={3}))
    assert expanded(events) == [(3, OpenedBy.PERSON)]
    assert FACTS[2] in engine.calls[0].text
    assert answered(events).lookups == ()


async def test_a_page_pinned_during_the_search_opens_before_the_next_step() -> None:
    steering = Steering()

    def pin(event: ReaderEvent) -> None:
        if isinstance(event, LookedUp):
            steering.pinned.add(3)

    events = await ask(
        FakeEngine(says=says, chooses=["Page 6", "STOP"]), steering=steering, on=pin
    )
    assert expanded(events) == [(6, OpenedBy.AGENT), (3, OpenedBy.PERSON)]


async def test_a_refused_page_is_never_offered() -> None:
    engine = FakeEngine(says=says, chooses=["STOP"])
    await ask(engine, steering=Steering(refused={6}))
    assert "Page 6" not in engine.calls[0].options


async def test_stop_ends_the_search_with_an_answer() -> None:
    steering = Steering()

    def stop(event: ReaderEvent) -> None:
        steering.stop |= isinstance(event, Expanded)

    events = await ask(
        FakeEngine(says=says, chooses=["Page 6"]), steering=steering, on=stop
    )
    assert stopped(events) is StopReason.PERSON
    assert answered(events).expanded == (6,)


async def test_an_unfinished_memory_answers_and_reports_how_much_was_read() -> None:
    events = await ask(FakeEngine(says=says, chooses=["STOP"]), make_memory(4, 8))
    started = events[0]
    assert isinstance(started, Started)
    assert (started.reader, started.pages_read, started.complete) == (
        "readagent-s",
        4,
        False,
    )
    assert started.pages_total in range(7, 11)  # an estimate; there are 8


async def test_a_number_in_brackets_is_no_citation_of_a_model_that_was_not_asked_to_cite() -> (
    None
):
    engine = FakeEngine(
        says=lambda _: "Ferrand stole the key. [7]",
        chooses=lambda _, options: len(options) - 1,
    )
    end = answered(await ask(engine, options=ReaderOptions(model=BASIC)))
    assert (end.answer, end.cited) == ("Ferrand stole the key. [7]", ())


async def test_citations_are_verbatim_at_their_offsets() -> None:
    memory = make_memory()
    events = await ask(
        FakeEngine(says=says, chooses=["Page 6", "Page 8", "STOP"]), memory
    )
    citations = answered(events).citations
    assert [citation.quote for citation in citations] == [FACTS[7]]
    assert all(memory.book.text[c.start : c.end] == c.quote for c in citations)
    assert citations[0].page == 8
