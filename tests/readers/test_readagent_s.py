"""Sequential look-up, step by step."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from gistread.errors import EngineError, PromptTooLongError
from gistread.memory.model import GistMemory
from gistread.readers.events import (
    AnswerDelta,
    Answered,
    Expanded,
    LookedUp,
    OpenedBy,
    ReaderEvent,
    Restarted,
    Started,
    Steering,
    Stopped,
    StopReason,
    Unfit,
)
from gistread.readers.options import ReaderOptions
from gistread.readers.registry import METHODS
from tests.fake_engine import FakeEngine
from tests.readers.memories import FACTS, make_memory

QUESTION = "Who stole the brass key?"
ANSWER = "Ferrand stole the key to find the ledger that would hang him."


def says(prompt: str) -> str:
    return " it tells of the key.\n" if prompt.endswith("because") else ANSWER


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
        question,
        make_memory() if memory is None else memory,
        engine,
        Steering() if steering is None else steering,
        ReaderOptions() if options is None else options,
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
    ]
    end = answered(events)
    assert (end.answer, end.found, end.lookups, end.expanded) == (ANSWER, True, (6, 8), (6, 8))
    assert "".join(event.text for event in events if isinstance(event, AnswerDelta)) == ANSWER


async def test_an_expanded_page_stands_in_place_of_its_gist_in_the_order_of_the_book() -> None:
    engine = FakeEngine(says=says, chooses=["Page 6", "STOP"])
    await ask(engine)
    text = engine.calls[-1].text
    assert FACTS[5] in text
    assert "(gist 6)" not in text
    assert text.index("(gist 5)") < text.index(FACTS[5]) < text.index("(gist 7)")


async def test_only_pages_not_open_yet_can_be_chosen() -> None:
    engine = FakeEngine(says=says, chooses=["Page 6", "Page 8", "STOP"])
    await ask(engine)
    options = [call.options for call in engine.calls if call.kind == "choose"]
    assert options[0] == (*(f"Page {n}" for n in range(1, 9)), "STOP")
    assert options[2] == (*(f"Page {n}" for n in (1, 2, 3, 4, 5, 7)), "STOP")


async def test_a_reason_goes_on_with_the_models_own_choice() -> None:
    engine = FakeEngine(says=says, chooses=["Page 6", "STOP"])
    await ask(engine)
    reason = next(call for call in engine.calls if call.kind == "complete")
    assert reason.prompt[-1].role == "assistant"
    assert reason.prompt[-1].content == "Page 6, because"
    assert reason.sampling.max_tokens <= 24


async def test_no_more_pages_than_allowed() -> None:
    events = await ask(FakeEngine(says=says), options=ReaderOptions(max_pages=3))
    assert stopped(events) is StopReason.LIMIT
    assert answered(events).lookups == (1, 2, 3)


async def test_no_look_ups_at_all_answer_from_the_gists() -> None:
    engine = FakeEngine(says=says)
    events = await ask(engine, options=ReaderOptions(max_pages=0))
    assert stopped(events) is StopReason.LIMIT
    assert answered(events).expanded == ()
    assert [call.kind for call in engine.calls] == ["complete"]


async def test_when_every_page_is_open_nothing_is_left() -> None:
    events = await ask(FakeEngine(says=says), make_memory(2, 2))
    assert stopped(events) is StopReason.NOTHING_LEFT
    assert answered(events).expanded == (1, 2)


async def test_the_search_ends_before_a_page_that_would_not_fit() -> None:
    engine = FakeEngine(says=says, context_tokens=620)
    events = await ask(engine, options=ReaderOptions(max_pages=8, answer_tokens=64))
    assert stopped(events) is StopReason.WINDOW
    assert 0 < len(answered(events).expanded) < 8


async def test_pages_that_cannot_fit_are_not_offered() -> None:
    memory = make_memory()
    long = memory.entries[3]
    words = 20 * long.page.words
    filler = " filling" * words
    book = replace(
        memory.book, text=memory.book.text[: long.page.end].rstrip() + filler + memory.book.text[long.page.end :]
    )
    shift = len(book.text) - len(memory.book.text)
    memory.book = book
    memory.entries[3] = replace(long, page=replace(long.page, end=long.page.end + shift, words=long.page.words + words))
    for index in range(4, 8):
        page = memory.entries[index].page
        memory.entries[index] = replace(
            memory.entries[index], page=replace(page, start=page.start + shift, end=page.end + shift)
        )
    engine = FakeEngine(says=says, chooses=["STOP"], context_tokens=1200)
    await ask(engine, memory)
    assert "Page 3" in engine.calls[0].options
    assert "Page 4" not in engine.calls[0].options


async def test_pinned_pages_that_do_not_fit_are_named_and_stay_closed() -> None:
    engine = FakeEngine(says=says, context_tokens=620)
    options = ReaderOptions(max_pages=0, answer_tokens=64)
    events = await ask(engine, steering=Steering(pinned=set(range(1, 9))), options=options)
    unfit = [event.page for event in events if isinstance(event, Unfit)]
    opened = [page for page, _ in expanded(events)]
    assert unfit
    assert sorted(opened + unfit) == list(range(1, 9))
    assert answered(events).expanded == tuple(opened)


async def test_a_pinned_page_is_open_from_the_start() -> None:
    engine = FakeEngine(says=says, chooses=["STOP"])
    events = await ask(engine, steering=Steering(pinned={3}))
    assert expanded(events) == [(3, OpenedBy.PERSON)]
    assert FACTS[2] in engine.calls[0].text
    assert answered(events).lookups == ()


async def test_a_page_pinned_on_the_way_opens_before_the_next_step() -> None:
    steering = Steering()

    def pin(event: ReaderEvent) -> None:
        if isinstance(event, LookedUp):
            steering.pinned.add(3)

    events = await ask(FakeEngine(says=says, chooses=["Page 6", "STOP"]), steering=steering, on=pin)
    assert expanded(events) == [(6, OpenedBy.AGENT), (3, OpenedBy.PERSON)]


async def test_a_refused_page_is_never_offered() -> None:
    engine = FakeEngine(says=says, chooses=["STOP"])
    await ask(engine, steering=Steering(refused={6}))
    assert "Page 6" not in engine.calls[0].options


async def test_an_open_page_that_is_refused_is_closed_again() -> None:
    steering = Steering()

    def refuse(event: ReaderEvent) -> None:
        if isinstance(event, Expanded):
            steering.refused.add(event.page)

    engine = FakeEngine(says=says, chooses=["Page 6", "STOP"])
    events = await ask(engine, steering=steering, on=refuse)
    assert FACTS[5] not in engine.calls[-1].text
    assert answered(events).expanded == ()


async def test_a_page_refused_as_it_is_asked_for_is_not_opened() -> None:
    steering = Steering()

    def refuse(event: ReaderEvent) -> None:
        if isinstance(event, LookedUp):
            steering.refused.add(event.page)

    events = await ask(FakeEngine(says=says, chooses=["Page 6", "STOP"]), steering=steering, on=refuse)
    assert expanded(events) == []


async def test_stop_means_answer_now() -> None:
    steering = Steering()

    def stop(event: ReaderEvent) -> None:
        steering.stop |= isinstance(event, Expanded)

    events = await ask(FakeEngine(says=says, chooses=["Page 6"]), steering=steering, on=stop)
    assert stopped(events) is StopReason.PERSON
    assert answered(events).expanded == (6,)


async def test_a_pinned_page_that_was_not_read_yet_is_left_alone() -> None:
    events = await ask(FakeEngine(says=says, chooses=["STOP"]), make_memory(4, 8), steering=Steering(pinned={7, 99}))
    assert expanded(events) == []


async def test_an_unfinished_memory_is_asked_as_far_as_it_goes_and_says_so() -> None:
    events = await ask(FakeEngine(says=says, chooses=["STOP"]), make_memory(4, 8))
    started = events[0]
    assert isinstance(started, Started)
    assert (started.reader, started.pages_read, started.complete) == ("readagent-s", 4, False)
    assert started.pages_total in range(7, 11)  # an estimate; there are 8


async def test_pages_read_meanwhile_do_not_enter_a_running_question() -> None:
    memory, more = make_memory(4, 8), make_memory(8, 8)

    def read_on(event: ReaderEvent) -> None:
        if isinstance(event, Started):
            memory.entries.append(more.entries[4])

    engine = FakeEngine(says=says, chooses=["STOP"])
    await ask(engine, memory, on=read_on)
    assert "Page 5" not in engine.calls[0].options


async def test_the_book_does_not_say_is_an_answer_without_citations() -> None:
    events = await ask(FakeEngine(says=["The book does not say."], chooses=["STOP"]))
    assert (answered(events).found, answered(events).citations) == (False, ())


async def test_citations_stand_in_the_book_where_they_say() -> None:
    memory = make_memory()
    events = await ask(FakeEngine(says=says, chooses=["Page 6", "Page 8", "STOP"]), memory)
    citations = answered(events).citations
    assert [citation.quote for citation in citations] == [FACTS[7]]
    assert all(memory.book.text[c.start : c.end] == c.quote for c in citations)
    assert citations[0].page == 8


async def test_the_compression_rate_is_that_of_the_answer() -> None:
    memory = make_memory()
    events = await ask(FakeEngine(says=says, chooses=["Page 6", "STOP"]), memory)
    assert answered(events).compression_rate == pytest.approx(memory.compression_rate([6]))


async def test_usage_is_that_of_all_steps() -> None:
    engine = FakeEngine(says=says, chooses=["Page 6", "STOP"])
    events = await ask(engine)
    assert answered(events).usage.generated > 2
    assert answered(events).usage.prefilled > 300


async def test_steps_share_their_beginning() -> None:
    engine = FakeEngine(says=says, chooses=["Page 8", "STOP"])
    await ask(engine, make_memory(40, 40))
    first, reason, second, answer = (call.text for call in engine.calls)
    assert reason.startswith(first)
    assert answer[: answer.index("Question:")] == second[: second.index("Question:")]
    assert second[: second.index("(Page 8")] == first[: first.index("(Page 8")]


async def test_a_restart_makes_the_answer_so_far_void() -> None:
    engine = FakeEngine(says=[ANSWER], chooses=["STOP"])
    engine.restarts = 1
    events = await ask(engine)
    assert any(isinstance(event, Restarted) for event in events)
    assert answered(events).answer == ANSWER


async def test_an_answer_that_turns_in_circles_is_ended() -> None:
    engine = FakeEngine(says=["Ferrand stole it. " + "It was the key of the key. " * 200], chooses=["STOP"])
    events = await ask(engine)
    assert len([event for event in events if isinstance(event, AnswerDelta)]) < 60
    assert answered(events).answer == "Ferrand stole it. It was the key of the key."
    assert answered(events).usage.generated > 0


async def test_page_numbers_that_were_not_shown_are_removed_from_the_answer() -> None:
    engine = FakeEngine(
        says=["it tells", "Ferrand stole the key [8], as he confessed [99]."], chooses=["Page 8", "STOP"]
    )
    events = await ask(engine)
    assert answered(events).answer == "Ferrand stole the key [8], as he confessed."
    assert {citation.page for citation in answered(events).citations} == {8}


async def test_a_question_longer_than_the_window_is_an_error_before_anything_is_sent() -> None:
    engine = FakeEngine(context_tokens=600)
    with pytest.raises(PromptTooLongError):
        await ask(engine, question="Who? " * 700)
    assert engine.calls == []


async def test_an_engine_that_fails_is_its_own_error() -> None:
    with pytest.raises(EngineError, match="died"):
        await ask(FakeEngine(says=[EngineError("The model died.")], chooses=["STOP"]))


async def test_braces_in_the_question_are_text() -> None:
    engine = FakeEngine(says=says, chooses=["STOP"])
    await ask(engine, question="Who is {memory}?\n\n(Page 99, in full)")
    assert "Question: Who is {memory}? (Page 99, in full)\n" in engine.calls[0].text
