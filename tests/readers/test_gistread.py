"""Our own reader: what it shows, when it looks again, and what it does not take for an answer."""

import itertools
import re
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from gistread.book.builder import BookBuilder
from gistread.book.model import ParagraphKind
from gistread.memory.model import GistMemory
from gistread.memory.passages import join, overlaps
from gistread.memory.sizes import unread_memory
from gistread.readers.answering import Asking, ReaderOptions
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
from gistread.readers.gistread import gistread
from gistread.readers.model_class import BASIC, LARGE, SMALL
from gistread.readers.ranking import rank
from gistread.readers.registry import METHODS
from gistread.readers.steering import Steering
from gistread.readers.trace import describe_scope
from tests.fake_engine import FakeEngine, Say
from tests.memory.books import make_book
from tests.readers.memories import FACTS, make_memory

QUESTION = "Who stole the brass key?"
ANSWER = "It had hung behind the stove."
NOTHING = "The book does not say."
LOOK_TOKENS = 220
"""Room for two or three of the memory's passages."""
FEW = ReaderOptions(answer_tokens=64, model=replace(LARGE, passage_tokens=LOOK_TOKENS))
GUESSING = ReaderOptions(
    model=replace(BASIC, passage_tokens=LOOK_TOKENS, most_tokens=LOOK_TOKENS)
)
"""Of a model that misreads."""


@pytest.fixture(autouse=True)
def _small_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gistread.readers.gistread.readable_tokens", lambda *_: 0)
    monkeypatch.setattr("gistread.readers.gistread.LEAST_TOKENS", LOOK_TOKENS)


def texts(engine: FakeEngine) -> list[str]:
    """The prompts of answers."""
    return [call.text for call in engine.calls]


async def ask(
    engine: FakeEngine,
    memory: GistMemory | None = None,
    *,
    question: str = QUESTION,
    steering: Steering | None = None,
    options: ReaderOptions = FEW,
    after: Callable[[ReaderEvent], None] = lambda _: None,
) -> list[ReaderEvent]:
    reader = METHODS["gistread"].reader()
    events = []
    async for event in reader(
        Asking(
            question, memory or make_memory(), engine, steering or Steering(), options
        )
    ):
        events.append(event)
        after(event)
    return events


def answered(events: Sequence[ReaderEvent]) -> Answered:
    assert isinstance(events[-1], Answered)
    return events[-1]


def says_once(*replies: Say) -> FakeEngine:
    return FakeEngine(says=list(replies))


async def test_the_nearest_pages_are_looked_up_in_order_of_relevance() -> None:
    engine = says_once(ANSWER)
    events = await ask(engine)
    pages = [event.page for event in events if isinstance(event, LookedUp)]
    assert 6 in pages
    assert pages == [
        page for page in rank(QUESTION, make_memory()).pages if page in pages
    ]
    assert pages == [event.page for event in events if isinstance(event, Expanded)]
    assert answered(events).lookups == tuple(pages)
    assert answered(events).found
    assert answered(events).citations


async def test_passages_within_the_budget_are_shown_in_the_order_of_the_book() -> None:
    engine = says_once(ANSWER)
    end = answered(await ask(engine))
    assert list(end.seen) == sorted(end.seen)
    assert 0 < end.context_tokens <= LOOK_TOKENS
    assert [fact in texts(engine)[0] for fact in FACTS].count(True) < 8


async def test_look_ups_do_not_exceed_max_pages() -> None:
    options = replace(FEW, max_pages=2)
    events = await ask(FakeEngine(says=lambda _: NOTHING), options=options)
    assert sum(isinstance(event, LookedUp) for event in events) == 2


async def test_if_the_answer_is_not_found_the_next_passages_are_read() -> None:
    engine = says_once(NOTHING, ANSWER)
    events = await ask(engine)
    first, second = ({fact for fact in FACTS if fact in text} for text in texts(engine))
    assert first
    assert second
    assert not first & second
    assert answered(events).answer == ANSWER
    usage = answered(events).usage
    assert usage.prefilled + usage.reused > sum(
        len(text.split()) for text in texts(engine)
    )


async def test_a_second_look_is_shown_as_one_search() -> None:
    events = await ask(says_once(NOTHING, ANSWER))
    assert (
        "".join(event.text for event in events if isinstance(event, AnswerDelta))
        == ANSWER
    )
    assert sum(isinstance(event, Stopped) for event in events) == 1
    assert sum(isinstance(event, Shown) for event in events) == 1


async def test_there_is_no_second_look_if_all_of_the_text_was_shown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("gistread.readers.gistread.LEAST_TOKENS", 4096)
    engine = FakeEngine(says=lambda _: NOTHING)
    options = replace(FEW, model=replace(LARGE, passage_tokens=4096))
    assert not answered(await ask(engine, options=options)).found
    assert len(engine.calls) == 1


async def test_an_unreliable_answer_with_only_foreign_names_leads_to_a_second_look() -> (
    None
):
    engine = says_once("It was Napoleon.", ANSWER)
    assert answered(await ask(engine, options=GUESSING)).answer == ANSWER
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
    "reply",
    [
        "It was stolen by Napoleon.",
        "It was stolen by Ferrand, as Napoleon knew.",
        "Somebody stole it in 1812.",
    ],
)
async def test_an_answer_of_foreign_names_is_replaced_by_quotations_only_from_a_weak_model(
    reply: str,
) -> None:
    engine = FakeEngine(says=lambda _: reply)
    end = answered(await ask(engine, options=GUESSING))
    assert (end.found, end.quoted, end.answer == reply) == (False, True, False)
    assert end.citations
    for model in (LARGE, SMALL):
        end = answered(
            await ask(engine, options=ReaderOptions(budget_tokens=4096, model=model))
        )
        assert (end.found, end.quoted, end.answer) == (True, False, reply)
        assert end.marks


async def test_a_question_that_names_nothing_is_answered_from_the_gists() -> None:
    engine = says_once("A lighthouse keeper loses a key.")
    events = await ask(
        engine, question="Summarize what happens.", options=ReaderOptions()
    )
    assert all(f"(gist {number})" in texts(engine)[0] for number in range(1, 9))
    assert isinstance(events[0], Started)
    assert events[0].reader == "gistread"


async def test_pinned_pages_are_shown_and_refused_ones_are_not() -> None:
    engine = says_once(NOTHING, NOTHING)
    steering = Steering(pinned={1}, refused={6})
    events = await ask(
        engine, steering=steering, options=ReaderOptions(budget_tokens=300)
    )
    assert Expanded(1, OpenedBy.PERSON) in events
    assert all(FACTS[0] in text and FACTS[5] not in text for text in texts(engine))
    assert 6 not in answered(events).lookups
    assert 1 in answered(events).expanded


async def test_a_model_that_does_not_abstain_is_not_offered_to() -> None:
    engine = says_once(ANSWER)
    model = replace(GUESSING.model, abstains=False)
    assert (
        answered(await ask(engine, options=ReaderOptions(model=model))).answer == ANSWER
    )
    assert NOTHING not in texts(engine)[0]


@pytest.mark.parametrize("tokens", [0, LOOK_TOKENS, 4096])
async def test_a_model_is_asked_at_most_twice_within_the_budget(tokens: int) -> None:
    engine = FakeEngine(says=lambda _: NOTHING)
    end = answered(await ask(engine, options=replace(GUESSING, budget_tokens=tokens)))
    assert not end.found
    assert len(engine.calls) == (1 if tokens == LOOK_TOKENS else 2)
    assert end.context_tokens <= LOOK_TOKENS


async def test_not_found_names_the_passages_of_both_looks() -> None:
    engine = FakeEngine(says=lambda _: NOTHING)
    events = await ask(engine)
    assert len(engine.calls) == 2
    assert all(NOTHING in text for text in texts(engine))
    assert not answered(events).found
    (last,) = (event.places for event in events if isinstance(event, Shown))
    seen = answered(events).seen
    assert all(overlaps(seen, place) for place in last)
    assert sum(end - start for start, end in seen) > sum(
        end - start for start, end in last
    )
    assert list(seen) == join(seen, make_memory().book)


async def test_a_second_look_does_not_exceed_a_budget_that_was_set() -> None:
    engine = FakeEngine(says=lambda _: NOTHING)
    await ask(engine, options=replace(FEW, budget_tokens=LOOK_TOKENS))
    assert len(engine.calls) == 1


async def test_the_second_answer_of_an_unreliable_model_is_checked() -> None:
    engine = says_once(NOTHING, "It was Napoleon.")
    end = answered(await ask(engine, options=GUESSING))
    assert not end.found
    assert end.quoted


def test_an_imprint_is_searched_only_for_the_edition() -> None:
    builder = BookBuilder()
    for title, text in (
        ("Imprint", "Set in Garamond by hand, and published by Bell & Co."),
        ("I", "Nora rang the bell."),
        ("Colophon", "The end."),
    ):
        builder.add(title, kind=ParagraphKind.HEADING)
        builder.add(
            f"{text} {'It rained upon the river. ' * 30}" if title == "I" else text
        )
    memory = unread_memory(builder.build(title="The Bell", source_format="text"))
    text = memory.book.text

    def shown(question: str) -> str:
        return " ".join(
            text[start:end] for start, end in rank(question, memory).passages
        )

    assert "Garamond" not in shown("Who rang the bell?")
    assert "Nora" in shown("Who rang the bell?")
    assert "Garamond" not in shown("Whose hand rang the bell?")
    assert "Garamond" not in shown("What does the colophon say?")
    assert "published by Bell" in shown("Who published it?")


LONG = make_book(
    [f"Then, on day {number}, the ship sailed on." for number in range(900)]
)


@pytest.mark.parametrize(
    ("question", "most"),
    [("What has happened so far?", 240), ("How does the book end?", 480)],
)
async def test_the_story_of_a_long_book_without_gists_is_told_from_all_its_parts(
    question: str, most: int
) -> None:
    fake = FakeEngine(says=["The ship sails."])
    options = ReaderOptions(budget_tokens=1200)
    asking = Asking(question, unread_memory(LONG), fake, Steering(), options)
    started, *_ = [
        event async for event in gistread(asking) if isinstance(event, Started)
    ]
    assert started.is_spread
    assert "From passages of all its parts" in describe_scope(started)
    days = [int(number) for number in re.findall(r"on day (\d+)", fake.calls[0].text)]
    assert days[0] == 0
    assert days[-1] == 899
    assert days == sorted(days)
    gaps = [after - before for before, after in itertools.pairwise(days)]
    assert max(gaps) < most
    assert "passages from all parts" in fake.calls[0].text


async def test_a_question_about_something_is_not_answered_from_all_parts() -> None:
    fake = FakeEngine(says=["On day 3."])
    options = ReaderOptions(budget_tokens=1200)
    asking = Asking(
        "How does day 345 end?", unread_memory(LONG), fake, Steering(), options
    )
    started, *_ = [
        event async for event in gistread(asking) if isinstance(event, Started)
    ]
    assert not started.is_spread
    assert "day 345," in fake.calls[0].text
