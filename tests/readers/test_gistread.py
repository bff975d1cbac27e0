"""Our own reader: what it shows, when it looks again, and what it does not take for an answer."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from gistread.book.builder import BookBuilder
from gistread.book.model import ParagraphKind
from gistread.engine.protocol import Trust
from gistread.memory.model import GistMemory
from gistread.memory.passages import join
from gistread.memory.sizes import unread_memory
from gistread.readers.answering import Asking, ReaderOptions
from gistread.readers.book_text import overlaps
from gistread.readers.events import (
    AnswerDelta,
    Answered,
    Expanded,
    LookedUp,
    OpenedBy,
    ReaderEvent,
    Shown,
    Started,
    Stopped,
)
from gistread.readers.gistread import rank
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
    monkeypatch.setattr("gistread.readers.gistread.PASSAGE_TOKENS", SMALL_TOKENS)
    monkeypatch.setattr("gistread.readers.gistread.readable_tokens", lambda *_: 0)


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
    async for event in reader(
        Asking(question, memory or make_memory(), engine, steering or Steering(), options)
    ):
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


async def test_there_is_no_second_look_if_the_window_is_full() -> None:
    engine = FakeEngine(
        says=lambda _: NOTHING, context_tokens=SMALL.answer_tokens + SMALL_TOKENS + 60
    )
    assert not answered(await ask(engine)).found
    assert len(engine.calls) == 1


async def test_an_unreliable_answer_with_only_foreign_names_leads_to_a_second_look() -> None:
    engine = says_once("It was Napoleon.", ANSWER)
    assert answered(await ask(engine, options=ReaderOptions(trust=Trust.FAILED))).answer == ANSWER
    assert len(engine.calls) == 2
    trusted = says_once("It was Napoleon.", ANSWER)
    await ask(trusted)
    assert len(trusted.calls) == 1


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


@pytest.mark.parametrize(
    "said",
    [
        "It was stolen by Napoleon.",
        "It was stolen by Ferrand, as Napoleon knew.",
        "Somebody stole it in 1812.",
    ],
)
async def test_an_answer_of_foreign_names_is_replaced_by_quotations_only_from_a_weak_model(
    said: str,
) -> None:
    engine = FakeEngine(says=lambda _: said)
    end = answered(await ask(engine, options=ReaderOptions(trust=Trust.FAILED)))
    assert (end.found, end.quoted, end.answer == said) == (False, True, False)
    assert end.citations
    for grade in (Trust.UNKNOWN, Trust.PASSED):
        end = answered(await ask(engine, options=ReaderOptions(budget_tokens=4096, trust=grade)))
        assert (end.found, end.quoted, end.answer) == (True, False, said)
        assert end.marks


async def test_a_question_that_names_nothing_is_answered_from_the_gists() -> None:
    engine = says_once("A lighthouse keeper loses a key.")
    events = await ask(engine, question="Summarize what happens.", options=ReaderOptions())
    assert all(f"(gist {number})" in texts(engine)[0] for number in range(1, 9))
    assert isinstance(events[0], Started)
    assert events[0].reader == "gistread"


async def test_pinned_pages_are_shown_and_refused_ones_are_not() -> None:
    engine = says_once(NOTHING, NOTHING)
    steering = Steering(pinned={1}, refused={6})
    events = await ask(engine, steering=steering, options=ReaderOptions(budget_tokens=300))
    assert Expanded(1, OpenedBy.PERSON) in events
    assert all(FACTS[0] in text and FACTS[5] not in text for text in texts(engine))
    assert 6 not in answered(events).lookups
    assert 1 in answered(events).expanded


GUESSING = ReaderOptions(trust=Trust.FAILED)
"""Of a model that chooses by chance."""


async def test_an_unreliable_model_that_finds_nothing_is_asked_again() -> None:
    engine = says_once(NOTHING, ANSWER)
    events = await ask(engine, options=GUESSING)
    first, second = texts(engine)
    assert first.partition("Question:")[0] == second.partition("Question:")[0], (
        "the same passages, evaluated once"
    )
    assert (NOTHING in first, NOTHING in second) == (True, False)
    assert answered(events).answer == ANSWER
    assert answered(events).found
    assert "".join(event.text for event in events if isinstance(event, AnswerDelta)) == ANSWER
    assert sum(isinstance(event, Stopped | Shown) for event in events) == 2
    assert answered(events).usage.generated == sum(map(tokens_in, (NOTHING, ANSWER)))


@pytest.mark.parametrize("tokens", [0, SMALL_TOKENS, 4096])
async def test_an_unreliable_model_is_asked_at_most_twice_within_the_budget(tokens: int) -> None:
    engine = FakeEngine(says=lambda _: NOTHING)
    end = answered(
        await ask(engine, options=ReaderOptions(trust=Trust.FAILED, budget_tokens=tokens))
    )
    assert not end.found
    assert len(engine.calls) == 2
    assert end.context_tokens <= (tokens or SMALL_TOKENS)


async def test_an_unreliable_model_whose_not_found_counts_is_shown_the_next_passages(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("gistread.readers.gistread.UNRELIABLE_TOKENS", 100)
    engine = FakeEngine(says=lambda _: NOTHING)
    options = ReaderOptions(trust=Trust.FAILED, abstains_reliably=True)
    events = await ask(engine, options=options)
    first, second = ({fact for fact in FACTS if fact in text} for text in texts(engine))
    assert first
    assert second
    assert not first & second
    assert all(NOTHING in text for text in texts(engine))
    assert not answered(events).found
    (last,) = (event.places for event in events if isinstance(event, Shown))
    seen = answered(events).seen
    assert all(overlaps(seen, place) for place in last)
    assert sum(end - start for start, end in seen) > sum(end - start for start, end in last), (
        "what was looked at"
    )
    beside = await ask(
        FakeEngine(says=lambda _: NOTHING), question="What hung on a nail?", options=options
    )
    seen = answered(beside).seen
    assert list(seen) == join(seen, make_memory().book), "the passages of both looks, joined"
    within = FakeEngine(says=lambda _: NOTHING)
    await ask(within, options=replace(options, budget_tokens=150))
    assert len(within.calls) == 1, "a second look would exceed the budget"
    assert answered(await ask(says_once(NOTHING, ANSWER), options=options)).answer == ANSWER


async def test_pages_asked_one_by_one_are_reported_in_the_order_of_the_book(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("gistread.readers.gistread.LONG_BOOK_PASSAGES", 5)
    end = answered(await ask(FakeEngine(says=lambda _: ANSWER), options=GUESSING))
    assert end.expanded == tuple(sorted(end.lookups)) != end.lookups


async def test_the_second_answer_of_an_unreliable_model_is_checked() -> None:
    engine = says_once(NOTHING, "It was Napoleon.")
    end = answered(await ask(engine, options=GUESSING))
    assert not end.found
    assert end.quoted


@pytest.mark.parametrize(
    "question", ["What has happened so far?", "what is this story about", "Summarise the book."]
)
async def test_an_unreliable_model_is_not_asked_for_the_story(question: str) -> None:
    engine = FakeEngine()
    end = answered(await ask(engine, question=question, options=GUESSING))
    assert engine.calls == []
    assert (end.answer, end.quoted) == ("The story so far, in the book's own sentences:", True)
    assert end.citations
    assert all(make_memory().book.text[one.start : one.end] == one.quote for one in end.citations)
    await ask(engine, question=question, options=replace(GUESSING, trust=Trust.PASSED))
    assert engine.calls


async def test_an_unreliable_model_is_not_asked_who_somebody_is() -> None:
    engine = FakeEngine()
    said = await ask(engine, question="Who is Ferrand?", options=GUESSING)
    end = answered(said)
    assert engine.calls == []
    assert (end.answer, end.found, end.quoted) == (FACTS[2], True, True)
    assert [event.text for event in said if isinstance(event, AnswerDelta)] == [end.answer]
    assert [one.quote for one in end.citations] == [FACTS[2]]
    assert end.expanded == (3,)
    thread = (QuestionAnswer("Who kept the lighthouse?", "Martha Quill."),)
    options = replace(GUESSING, thread=thread)
    assert (
        answered(await ask(engine, question="And who is Ferrand?", options=options)).answer
        == end.answer
    )


async def test_an_unreliable_model_is_not_asked_about_a_name_that_the_text_lacks() -> None:
    engine = FakeEngine()
    said = await ask(engine, question="Who is Napoleon?", options=GUESSING)
    end = answered(said)
    assert engine.calls == []
    assert not any(isinstance(event, AnswerDelta) for event in said), (
        "the check replaces the answer"
    )
    assert (end.found, end.quoted, end.citations) == (False, False, ())
    assert end.answer == "The book does not name Napoleon."


def test_of_an_imprint_only_what_shares_a_word_with_the_question_is_shown() -> None:
    builder = BookBuilder()
    for title, text in (
        ("Imprint", "Set in Garamond by hand."),
        ("I", "Nora rang the bell."),
        ("Colophon", "The end."),
    ):
        builder.add(title, kind=ParagraphKind.HEADING)
        builder.add(f"{text} {'It rained upon the river. ' * 30}" if title == "I" else text)
    memory = unread_memory(builder.build(title="The Bell", source_format="text"))
    text = memory.book.text

    def shown(question: str) -> str:
        return " ".join(text[start:end] for start, end in rank(question, memory).passages)

    assert "Garamond" not in shown("Who rang the bell?")
    assert "Nora" in shown("Who rang the bell?")
    assert "Set in Garamond" in shown("Which hand was it set in?")
    assert "Garamond" not in shown("What does the colophon say?")
