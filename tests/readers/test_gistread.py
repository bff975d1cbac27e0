"""Our own reader: what it shows, when it looks again, and what it does not take for an answer."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from gistread.memory.model import GistMemory
from gistread.readers.events import (
    AnswerDelta,
    Answered,
    Expanded,
    LookedUp,
    OpenedBy,
    ReaderEvent,
    Restarted,
    Shown,
    Started,
    Stopped,
    StopReason,
)
from gistread.readers.gistread import rank
from gistread.readers.protocol import ReaderOptions
from gistread.readers.registry import METHODS
from gistread.readers.steering import Steering
from gistread.readers.thread import QuestionAnswer
from tests.fake_engine import FakeEngine, Say, tokens_in
from tests.readers.memories import FACTS, make_memory

QUESTION = "Who stole the brass key?"
ANSWER = "It had hung behind the stove."
NOTHING = "The book does not say."
SMALL_TOKENS = 220
"""Room for two or three of the memory's passages."""
SMALL = ReaderOptions()


@pytest.fixture(autouse=True)
def _small_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gistread.readers.gistread.DOS_TOKENS", SMALL_TOKENS)


def texts(engine: FakeEngine) -> list[str]:
    """The prompts of answers."""
    return [call.text for call in engine.calls]


async def ask(
    engine: FakeEngine,
    memory: GistMemory | None = None,
    *,
    question: str = QUESTION,
    steering: Steering | None = None,
    options: ReaderOptions = SMALL,
    after: Callable[[ReaderEvent], None] = lambda _: None,
) -> list[ReaderEvent]:
    reader = METHODS["gistread"].reader()
    events = []
    async for event in reader(question, memory or make_memory(), engine, steering or Steering(), options):
        events.append(event)
        after(event)
    return events


def answered(events: Sequence[ReaderEvent]) -> Answered:
    assert isinstance(events[-1], Answered)
    return events[-1]


def says_once(*said: Say) -> FakeEngine:
    return FakeEngine(says=list(said))


async def test_the_nearest_pages_are_looked_up_in_order_of_relevance() -> None:
    engine = says_once(ANSWER)
    events = await ask(engine)
    asked = [event.page for event in events if isinstance(event, LookedUp)]
    assert 6 in asked
    assert asked == [page for page in rank(QUESTION, make_memory()).pages if page in asked]
    assert asked == [event.page for event in events if isinstance(event, Expanded)]
    assert answered(events).lookups == tuple(asked)
    assert answered(events).found
    assert answered(events).citations


async def test_passages_within_the_budget_are_shown_in_the_order_of_the_book() -> None:
    engine = says_once(ANSWER)
    end = answered(await ask(engine))
    assert list(end.seen) == sorted(end.seen)
    assert 0 < end.context_tokens <= SMALL_TOKENS
    assert [fact in texts(engine)[0] for fact in FACTS].count(True) < 8


async def test_look_ups_do_not_exceed_max_pages() -> None:
    options = ReaderOptions(max_pages=2)
    events = await ask(FakeEngine(says=lambda _: NOTHING), options=options)
    assert sum(isinstance(event, LookedUp) for event in events) == 2


async def test_if_the_answer_is_not_found_twice_as_much_text_is_read() -> None:
    engine = says_once(NOTHING, ANSWER)
    events = await ask(engine)
    first, second = texts(engine)
    assert {fact for fact in FACTS if fact in first} <= {fact for fact in FACTS if fact in second}
    assert len(second) > 1.5 * len(first)
    assert SMALL_TOKENS < answered(events).context_tokens <= 2 * SMALL_TOKENS
    assert answered(events).answer == ANSWER
    assert "".join(event.text for event in events if isinstance(event, AnswerDelta)) == ANSWER
    assert sum(isinstance(event, Stopped) for event in events) == 1
    assert sum(isinstance(event, Shown) for event in events) == 1
    usage = answered(events).usage
    assert usage.prefilled + usage.reused > sum(len(text.split()) for text in (first, second))


async def test_a_set_budget_is_kept_if_the_answer_is_not_found() -> None:
    engine = FakeEngine(says=lambda _: NOTHING)
    end = answered(await ask(engine, options=ReaderOptions(budget_tokens=SMALL_TOKENS)))
    assert len(engine.calls) == 1
    assert not end.found
    assert end.context_tokens <= SMALL_TOKENS


async def test_there_is_no_second_look_if_the_window_is_full() -> None:
    engine = FakeEngine(says=lambda _: NOTHING, context_tokens=SMALL.answer_tokens + SMALL_TOKENS + 60)
    assert not answered(await ask(engine)).found
    assert len(engine.calls) == 1


async def test_an_answer_with_only_foreign_names_leads_to_a_second_look() -> None:
    engine = says_once("It was Napoleon.", ANSWER)
    assert answered(await ask(engine)).answer == ANSWER


async def test_after_the_second_look_the_answer_is_not_found() -> None:
    engine = FakeEngine(says=lambda _: NOTHING)
    events = await ask(engine)
    assert len(engine.calls) == 2
    assert not answered(events).found
    assert answered(events).citations == ()


async def test_there_is_no_second_look_if_the_whole_book_was_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gistread.readers.gistread.DOS_TOKENS", 4096)
    engine = FakeEngine(says=lambda _: NOTHING)
    events = await ask(engine)
    assert len(engine.calls) == 1
    assert Stopped(StopReason.NOTHING_LEFT) in events


async def test_stop_yields_the_answer_of_the_first_look() -> None:
    steering = Steering()

    def stop(event: ReaderEvent) -> None:
        steering.stop = True

    engine = FakeEngine(says=lambda _: NOTHING)
    events = await ask(engine, steering=steering, after=stop)
    assert len(engine.calls) == 1
    assert not answered(events).found


async def test_a_question_with_options_has_no_second_look() -> None:
    engine = FakeEngine(chooses=[1])
    options = ReaderOptions(budget_tokens=300, choices=("Martha", "Ferrand"))
    end = answered(await ask(engine, options=options))
    assert end.choice == 1
    assert len(engine.calls) == 1


async def test_passages_are_ranked_by_question_and_options() -> None:
    memory, choices = make_memory(), ("Martha Quill", "Ferrand")
    end = answered(await ask(FakeEngine(), memory, options=ReaderOptions(budget_tokens=300, choices=choices)))
    wanted = rank(QUESTION, memory, choices).passages[:2]
    assert all(any(start <= first and last <= stop for start, stop in end.seen) for first, last in wanted)


async def test_a_long_answer_is_streamed_before_it_ends() -> None:
    long = "Ferrand confessed that he had stolen the brass key from its nail behind the stove to find the ledger there."
    events = await ask(says_once(long))
    assert sum(isinstance(event, AnswerDelta) for event in events) > 10


async def test_a_draft_lost_with_the_engine_is_discarded() -> None:
    engine = says_once(ANSWER)
    engine.restarts = 1
    events = await ask(engine)
    told = [event for event in events if isinstance(event, AnswerDelta | Restarted)]
    last = max(index for index, event in enumerate(told) if isinstance(event, Restarted))
    assert "".join(event.text for event in told[last:] if isinstance(event, AnswerDelta)) == ANSWER


@pytest.mark.parametrize(
    ("said", "found"),
    [
        ("It was stolen by Napoleon.", False),
        ("It was stolen by Ferrand.", True),
        ("It was stolen by Ferrand, as Napoleon knew.", False),
        ("It was stolen by Ferrand. Napoleon himself knew Napoleon.", True),
        ("Somebody stole it in 1812.", False),
        ("Somebody stole it.", True),
    ],
)
async def test_an_answer_of_foreign_names_is_replaced_by_quotations(said: str, found: bool) -> None:
    end = answered(await ask(FakeEngine(says=lambda _: said), options=ReaderOptions(budget_tokens=4096)))
    assert (end.found, end.quoted) == (found, not found)
    assert (end.answer == said) is found
    assert end.citations


async def test_the_answer_may_use_names_of_the_question() -> None:
    engine = FakeEngine(says=lambda _: "No, it was not Napoleon.")
    assert answered(await ask(engine, question="Was it Napoleon, with the brass key?")).found
    assert not answered(await ask(engine, question="Who took the brass key?")).found


async def test_a_question_that_names_nothing_is_answered_from_the_gists() -> None:
    engine = says_once("A lighthouse keeper loses a key.")
    events = await ask(engine, question="Summarize what happens.", options=ReaderOptions())
    assert all(f"(gist {number})" in texts(engine)[0] for number in range(1, 9))
    assert isinstance(events[0], Started)
    assert events[0].reader == "gistread"


async def test_a_question_that_names_nothing_is_answered_from_the_beginning_without_gists() -> None:
    engine = says_once("A lighthouse keeper loses a key.")
    await ask(engine, make_memory(0), question="Summarize what happens.")
    assert FACTS[0] in texts(engine)[0]


async def test_the_unread_part_of_the_book_is_searched_too() -> None:
    engine = says_once(ANSWER)
    end = answered(await ask(engine, make_memory(3), question="Who confessed to the ledger?"))
    assert FACTS[7] in texts(engine)[0]
    assert set(end.lookups) <= {1, 2, 3}


async def test_pinned_pages_are_shown_and_refused_ones_are_not() -> None:
    engine = says_once(NOTHING, NOTHING)
    steering = Steering(pinned={1}, refused={6})
    events = await ask(engine, steering=steering, options=ReaderOptions(budget_tokens=300))
    assert Expanded(1, OpenedBy.PERSON) in events
    assert all(FACTS[0] in text and FACTS[5] not in text for text in texts(engine))
    assert 6 not in answered(events).lookups
    assert 1 in answered(events).expanded


GUESSING = ReaderOptions(is_reliable=False)
"""Of a model that chooses by chance."""


async def test_an_unreliable_model_that_finds_nothing_is_asked_again() -> None:
    engine = says_once(NOTHING, ANSWER)
    events = await ask(engine, options=GUESSING)
    first, second = texts(engine)
    assert first.partition("Question:")[0] == second.partition("Question:")[0], "the same passages, evaluated once"
    assert (NOTHING in first, NOTHING in second) == (True, False)
    assert answered(events).answer == ANSWER
    assert answered(events).found
    assert "".join(event.text for event in events if isinstance(event, AnswerDelta)) == ANSWER
    assert sum(isinstance(event, Stopped | Shown) for event in events) == 2
    assert answered(events).usage.generated == sum(map(tokens_in, (NOTHING, ANSWER)))


async def test_an_unreliable_model_that_answers_is_asked_once() -> None:
    engine = says_once(ANSWER)
    assert answered(await ask(engine, options=GUESSING)).answer == ANSWER


@pytest.mark.parametrize("tokens", [0, SMALL_TOKENS, 4096])
async def test_an_unreliable_model_is_asked_at_most_twice_within_the_budget(tokens: int) -> None:
    engine = FakeEngine(says=lambda _: NOTHING)
    end = answered(await ask(engine, options=ReaderOptions(is_reliable=False, budget_tokens=tokens)))
    assert not end.found
    assert len(engine.calls) == 2
    assert end.context_tokens <= (tokens or SMALL_TOKENS)


async def test_an_unreliable_model_is_shown_fewer_passages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gistread.readers.gistread.UNRELIABLE_TOKENS", 100)
    assert 0 < answered(await ask(says_once(ANSWER), options=GUESSING)).context_tokens <= 100
    assert answered(await ask(says_once(ANSWER))).context_tokens > 100
    steering = Steering(pinned={1, 2})
    pinned = answered(await ask(says_once(ANSWER), options=GUESSING, steering=steering))
    assert set(pinned.expanded) >= {1, 2}


async def test_an_unreliable_model_whose_not_found_counts_is_shown_the_next_passages(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("gistread.readers.gistread.UNRELIABLE_TOKENS", 100)
    engine = FakeEngine(says=lambda _: NOTHING)
    options = ReaderOptions(is_reliable=False, knows_absence=True)
    events = await ask(engine, options=options)
    first, second = ({fact for fact in FACTS if fact in text} for text in texts(engine))
    assert first
    assert second
    assert not first & second
    assert all(NOTHING in text for text in texts(engine))
    assert not answered(events).found
    (last,) = (event.places for event in events if isinstance(event, Shown))
    assert set(last) < set(answered(events).seen), "the message says how much was looked at"
    within = FakeEngine(says=lambda _: NOTHING)
    await ask(within, options=replace(options, budget_tokens=150))
    assert len(within.calls) == 1, "a second look would exceed the budget"
    assert answered(await ask(says_once(NOTHING, ANSWER), options=options)).answer == ANSWER


async def test_the_second_answer_of_an_unreliable_model_is_checked() -> None:
    engine = says_once(NOTHING, "It was Napoleon.")
    end = answered(await ask(engine, options=GUESSING))
    assert not end.found
    assert end.quoted


async def test_an_unreliable_model_that_finds_nothing_in_the_gists_is_asked_again() -> None:
    engine = says_once(NOTHING, ANSWER)
    events = await ask(engine, question="Summarise it.", options=GUESSING)
    assert answered(events).answer == ANSWER
    assert [NOTHING in text for text in texts(engine)] == [True, False]
    believed = says_once(NOTHING)
    assert not answered(await ask(believed, question="Summarise it.")).found


async def test_an_unreliable_model_chooses_the_option_that_it_would_rather_write() -> None:
    engine = FakeEngine(chooses=[1])
    options = ReaderOptions(is_reliable=False, choices=("the miller", "Ferrand"))
    said = answered(await ask(engine, options=options))
    assert (said.choice, said.answer) == (1, "Ferrand")
    (call,) = engine.calls
    assert (call.kind, call.options) == ("choose_likeliest", ("The miller.", "Ferrand."))
    assert "A. the miller" not in call.text
    reliable = FakeEngine(chooses=[1])
    assert answered(await ask(reliable, options=replace(options, is_reliable=True))).choice == 1
    assert [(call.kind, call.options) for call in reliable.calls] == [("choose", ("A", "B"))]


@pytest.mark.parametrize("question", ["What has happened so far?", "what is this story about", "Summarise the book."])
async def test_an_unreliable_model_is_not_asked_for_the_story(question: str) -> None:
    engine = FakeEngine()
    end = answered(await ask(engine, question=question, options=GUESSING))
    assert engine.calls == []
    assert (end.answer, end.quoted) == ("The story so far, in the book's own sentences:", True)
    assert end.citations
    assert all(make_memory().book.text[one.start : one.end] == one.quote for one in end.citations)
    await ask(engine, question=question, options=replace(GUESSING, is_reliable=True))
    assert engine.calls


async def test_an_unreliable_model_is_not_asked_who_somebody_is() -> None:
    engine = FakeEngine()
    end = answered(await ask(engine, question="Who is Ferrand?", options=GUESSING))
    assert engine.calls == []
    assert (end.answer, end.found, end.quoted) == ("What the book says of Ferrand:", True, True)
    assert [one.quote for one in end.citations] == [FACTS[2]]
    assert end.expanded == (3,)
    thread = (QuestionAnswer("Who kept the lighthouse?", "Martha Quill."),)
    options = replace(GUESSING, thread=thread)
    assert answered(await ask(engine, question="And who is Ferrand?", options=options)).answer == end.answer


async def test_an_unreliable_model_is_not_asked_about_a_name_that_the_text_lacks() -> None:
    engine = FakeEngine()
    end = answered(await ask(engine, question="Who is Napoleon?", options=GUESSING))
    assert engine.calls == []
    assert (end.found, end.quoted, end.citations) == (False, False, ())
    assert end.answer == "The book does not name Napoleon."


async def test_a_model_is_shown_first_what_introduces_a_name() -> None:
    engine = says_once("A stranger with a wooden leg.")
    answered(await ask(engine, question="Who is Ferrand?", options=ReaderOptions(budget_tokens=60)))
    assert FACTS[2] in texts(engine)[0]


async def test_a_refused_page_is_not_quoted() -> None:
    engine = says_once("A thief.")
    end = answered(await ask(engine, question="Who is Ferrand?", options=GUESSING, steering=Steering(refused={3})))
    assert FACTS[2] not in [one.quote for one in end.citations]
