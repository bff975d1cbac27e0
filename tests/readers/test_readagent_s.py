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
    Stopped,
    StopReason,
    Unfit,
)
from gistread.readers.protocol import ReaderOptions
from gistread.readers.registry import METHODS
from gistread.readers.steering import Steering
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


async def test_an_open_page_replaces_its_gist_in_the_order_of_the_book() -> None:
    engine = FakeEngine(says=says, chooses=["Page 6", "STOP"])
    await ask(engine)
    text = engine.calls[-1].text
    assert FACTS[5] in text
    assert "(gist 6)" not in text
    assert text.index("(gist 5)") < text.index(FACTS[5]) < text.index("(gist 7)")


async def test_only_closed_pages_can_be_chosen() -> None:
    engine = FakeEngine(says=says, chooses=["Page 6", "Page 8", "STOP"])
    await ask(engine)
    options = [call.options for call in engine.calls if call.kind == "choose"]
    assert options[0] == (*(f"Page {n}" for n in range(1, 9)), "STOP")
    assert options[2] == (*(f"Page {n}" for n in (1, 2, 3, 4, 5, 7)), "STOP")


async def test_the_prompt_for_a_reason_continues_the_choice() -> None:
    engine = FakeEngine(says=says, chooses=["Page 6", "STOP"])
    await ask(engine)
    reason = next(call for call in engine.calls if call.kind == "complete")
    assert reason.prompt[-1].role == "assistant"
    assert reason.prompt[-1].content == "Page 6, because"
    assert reason.sampling.max_tokens <= 24


async def test_look_ups_do_not_exceed_max_pages() -> None:
    events = await ask(FakeEngine(says=says), options=ReaderOptions(max_pages=3))
    assert stopped(events) is StopReason.LIMIT
    assert answered(events).lookups == (1, 2, 3)


async def test_without_look_ups_the_gists_answer() -> None:
    engine = FakeEngine(says=says)
    events = await ask(engine, options=ReaderOptions(max_pages=0))
    assert stopped(events) is StopReason.LIMIT
    assert answered(events).expanded == ()
    assert [call.kind for call in engine.calls] == ["complete"]


async def test_the_search_ends_when_every_page_is_open() -> None:
    events = await ask(FakeEngine(says=says), make_memory(2, 2))
    assert stopped(events) is StopReason.NOTHING_LEFT
    assert answered(events).expanded == (1, 2)


async def test_the_search_ends_before_a_page_that_would_not_fit() -> None:
    engine = FakeEngine(says=says, context_tokens=620)
    events = await ask(engine, options=ReaderOptions(max_pages=8, answer_tokens=64))
    assert stopped(events) is StopReason.WINDOW
    assert 0 < len(answered(events).expanded) < 8


async def test_pages_too_long_for_the_window_are_not_offered() -> None:
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


async def test_pinned_pages_that_do_not_fit_are_reported_and_stay_closed() -> None:
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


async def test_a_page_pinned_during_the_search_opens_before_the_next_step() -> None:
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


async def test_refusing_an_open_page_closes_it() -> None:
    steering = Steering()

    def refuse(event: ReaderEvent) -> None:
        if isinstance(event, Expanded):
            steering.refused.add(event.page)

    engine = FakeEngine(says=says, chooses=["Page 6", "STOP"])
    events = await ask(engine, steering=steering, on=refuse)
    assert FACTS[5] not in engine.calls[-1].text
    assert answered(events).expanded == ()


async def test_a_page_refused_while_it_is_chosen_is_not_opened() -> None:
    steering = Steering()

    def refuse(event: ReaderEvent) -> None:
        if isinstance(event, LookedUp):
            steering.refused.add(event.page)

    events = await ask(FakeEngine(says=says, chooses=["Page 6", "STOP"]), steering=steering, on=refuse)
    assert expanded(events) == []


async def test_stop_ends_the_search_with_an_answer() -> None:
    steering = Steering()

    def stop(event: ReaderEvent) -> None:
        steering.stop |= isinstance(event, Expanded)

    events = await ask(FakeEngine(says=says, chooses=["Page 6"]), steering=steering, on=stop)
    assert stopped(events) is StopReason.PERSON
    assert answered(events).expanded == (6,)


async def test_a_pinned_page_that_is_not_read_yet_is_ignored() -> None:
    events = await ask(FakeEngine(says=says, chooses=["STOP"]), make_memory(4, 8), steering=Steering(pinned={7, 99}))
    assert expanded(events) == []


async def test_an_unfinished_memory_answers_and_reports_how_much_was_read() -> None:
    events = await ask(FakeEngine(says=says, chooses=["STOP"]), make_memory(4, 8))
    started = events[0]
    assert isinstance(started, Started)
    assert (started.reader, started.pages_read, started.complete) == ("readagent-s", 4, False)
    assert started.pages_total in range(7, 11)  # an estimate; there are 8


async def test_pages_read_meanwhile_do_not_join_a_running_question() -> None:
    memory, more = make_memory(4, 8), make_memory(8, 8)

    def read_on(event: ReaderEvent) -> None:
        if isinstance(event, Started):
            memory.entries.append(more.entries[4])

    engine = FakeEngine(says=says, chooses=["STOP"])
    await ask(engine, memory, on=read_on)
    assert "Page 5" not in engine.calls[0].options


async def test_not_found_has_no_citations() -> None:
    events = await ask(FakeEngine(says=["The book does not say."], chooses=["STOP"]))
    assert (answered(events).found, answered(events).citations) == (False, ())


async def test_citations_are_verbatim_at_their_offsets() -> None:
    memory = make_memory()
    events = await ask(FakeEngine(says=says, chooses=["Page 6", "Page 8", "STOP"]), memory)
    citations = answered(events).citations
    assert [citation.quote for citation in citations] == [FACTS[7]]
    assert all(memory.book.text[c.start : c.end] == c.quote for c in citations)
    assert citations[0].page == 8


async def test_the_compression_rate_counts_the_words_in_the_answers_prompt() -> None:
    memory = make_memory()
    events = await ask(FakeEngine(says=says, chooses=["Page 6", "STOP"]), memory)
    shown = [entry.page if entry.page.number == 6 else entry.gist for entry in memory.entries]
    read = sum(entry.page.words for entry in memory.entries)
    assert answered(events).compression_rate == pytest.approx(100 * (1 - sum(one.words for one in shown) / read))


async def test_usage_covers_all_steps() -> None:
    engine = FakeEngine(says=says, chooses=["Page 6", "STOP"])
    events = await ask(engine)
    assert answered(events).usage.generated > 2
    assert answered(events).usage.prefilled > 300


async def test_steps_share_a_prompt_prefix() -> None:
    engine = FakeEngine(says=says, chooses=["Page 8", "STOP"])
    await ask(engine, make_memory(40, 40))
    first, reason, second, answer = (call.text for call in engine.calls)
    assert reason.startswith(first)
    assert answer[: answer.index("Question:")] == second[: second.index("Question:")]
    assert second[: second.index("(Page 8")] == first[: first.index("(Page 8")]


async def test_a_restart_discards_the_answer_so_far() -> None:
    engine = FakeEngine(says=[ANSWER], chooses=["STOP"])
    engine.restarts = 1
    events = await ask(engine)
    assert any(isinstance(event, Restarted) for event in events)
    assert answered(events).answer == ANSWER


async def test_an_answer_that_repeats_itself_is_ended() -> None:
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


async def test_a_question_longer_than_the_window_fails_before_any_request() -> None:
    engine = FakeEngine(context_tokens=600)
    with pytest.raises(PromptTooLongError):
        await ask(engine, question="Who? " * 700)
    assert engine.calls == []


async def test_an_engine_failure_is_raised_unchanged() -> None:
    with pytest.raises(EngineError, match="died"):
        await ask(FakeEngine(says=[EngineError("The model died.")], chooses=["STOP"]))


async def test_braces_in_the_question_are_plain_text() -> None:
    engine = FakeEngine(says=says, chooses=["STOP"])
    await ask(engine, question="Who is {memory}?\n\n(Page 99, in full)")
    assert "Question: Who is {memory}? (Page 99, in full)\n" in engine.calls[0].text
