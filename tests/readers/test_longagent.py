"""A team that has the book between it.

Mention first, conflicts resolved by sharing parts, rounds bounded.
"""

import asyncio
from collections.abc import Callable, Sequence

import pytest

from gistread.engine.protocol import Choice, Priority, Prompt
from gistread.errors import PromptTooLongError
from gistread.memory.model import GistMemory
from gistread.memory.passages import split_into_chunks
from gistread.readers import longagent
from gistread.readers.answering import Asking, ReaderOptions
from gistread.readers.events import (
    Agreed,
    Answered,
    MembersAsked,
    ReaderEvent,
    Reported,
    Shared,
    Stopped,
    StopReason,
)
from gistread.readers.steering import Steering
from tests.fake_engine import FakeEngine
from tests.readers.memories import FACTS, make_memory

QUESTION = "Who stole the brass key?"


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """A chapter a part."""
    monkeypatch.setattr(longagent, "MAX_CHUNK_TOKENS", 120)


def choosing(
    *mention: str, ask: Sequence[bool] = (), conflicts: Sequence[str] = ()
) -> Callable[[str, Sequence[str]], str]:
    """Members whose part has one of these words say yes.

    The leader asks on and sees conflicts as told.
    """
    asks, pairs = list(ask), list(conflicts)

    def choose(text: str, options: Sequence[str]) -> str:
        if list(options) == ["yes", "no"]:
            if any(word in text.partition("\n---")[0] for word in mention):
                return "yes"
            return "no"
        if "none" in options:
            return pairs.pop(0) if pairs else "none"
        return "ASK" if asks and asks.pop(0) else "ANSWER"

    return choose


def saying(
    answers: dict[str, str], final: str = "Ferrand stole it."
) -> Callable[[str], str]:
    """Of a member: the answer of the first of these words that its text has; of the leader.

    The end.
    """

    def say(text: str) -> str:
        if "readers of a book" in text:
            return answers.get("ASK", "") if "one short question" in text else final
        body = text.partition("\n---")[0]
        return next(
            (answer for word, answer in answers.items() if word in body),
            "The book does not say.",
        )

    return say


async def ask(
    fake: FakeEngine, memory: GistMemory | None = None, steering: Steering | None = None
) -> list[ReaderEvent]:
    memory = memory or make_memory()
    events = longagent.longagent(
        Asking(QUESTION, memory, fake, steering or Steering(), ReaderOptions())
    )
    return [event async for event in events]


def answered(events: list[ReaderEvent]) -> Answered:
    assert isinstance(events[-1], Answered)
    return events[-1]


def reports(events: list[ReaderEvent]) -> list[Reported]:
    """Of members whose part tells."""
    return [event for event in events if isinstance(event, Reported) and event.answer]


async def test_every_member_is_asked_and_those_whose_chunk_mentions_the_question_answer() -> (
    None
):
    fake = FakeEngine(
        says=saying({"confessed": "Ferrand"}), chooses=choosing("confessed")
    )
    events = await ask(fake)
    choices = [call for call in fake.calls if call.options == ("yes", "no")]
    assert all(sum(fact in call.text for call in choices) == 1 for fact in FACTS)
    assert [report.answer for report in reports(events)] == ["Ferrand"]
    assert answered(events).answer == "Ferrand stole it."


async def test_the_answer_cites_members_by_the_number_of_their_part() -> None:
    replies = {
        "confessed": "Ferrand",
        "found the brass key missing": "Martha missed it",
    }
    fake = FakeEngine(
        says=saying(replies, "Martha missed it. [11] Ferrand had it. [15][2]"),
        chooses=choosing(*replies),
    )
    end, memory = answered(await ask(fake)), make_memory()
    assert "Part 11: Martha missed it\nPart 15: Ferrand" in fake.calls[-1].text
    assert end.answer == "Martha missed it. [1] Ferrand had it. [2]"
    for fact, (start, until) in zip((FACTS[5], FACTS[7]), end.cited, strict=True):
        assert fact in memory.book.text[start:until]


async def test_after_a_contradiction_the_answer_from_both_chunks_counts() -> None:
    answers = {"confessed": "Ferrand", "found the brass key missing": "Martha"}

    def say(text: str) -> str:
        if all(word in text for word in answers):
            return "Ferrand stole it"
        return saying(answers)(text)

    fake = FakeEngine(says=say, chooses=choosing(*answers, conflicts=["1 and 2"]))
    events = await ask(fake)
    assert (
        sum(FACTS[5] in call.text and FACTS[7] in call.text for call in fake.calls) == 1
    )
    last = fake.calls[-1].text
    assert "Parts 11 and 15: Ferrand stole it" in last
    assert "Martha" not in last
    check_shared(events, "Martha", "Ferrand", "Ferrand stole it")


def check_shared(
    events: list[ReaderEvent], first: str, second: str, answer: str
) -> None:
    """Members with these answers agreed on one over both their chunks."""
    assert [event.answer for event in events if isinstance(event, Agreed)] == [
        first,
        second,
    ]
    members = {report.answer: report.member for report in reports(events)}
    shared = Shared((members[first], members[second]), members[first], answer)
    assert [event for event in events if isinstance(event, Shared)] == [shared]


async def test_the_leader_asks_further_questions_with_the_reports_so_far() -> None:
    answers = {
        "confessed": "Ferrand",
        "wooden leg": "a wooden leg",
        "ASK": "What is odd about Ferrand?",
    }
    fake = FakeEngine(
        says=saying(answers), chooses=choosing("confessed", "wooden leg", ask=[True])
    )
    events = await ask(fake)
    rounds = [event for event in events if isinstance(event, MembersAsked)]
    assert rounds == [
        MembersAsked(1, QUESTION),
        MembersAsked(2, "What is odd about Ferrand?"),
    ]
    assert any(
        "Question: What is odd about Ferrand?" in call.text for call in fake.calls
    )
    assert "Asked: What is odd about Ferrand?" in fake.calls[-1].text
    assert Stopped(StopReason.ENOUGH) in events


async def test_no_question_is_asked_twice_and_rounds_are_bounded() -> None:
    again = {"confessed": "Ferrand", "ASK": "who stole the Brass Key"}
    fake = FakeEngine(says=saying(again), chooses=choosing("confessed", ask=[True] * 9))
    await ask(fake)
    members = len(
        await split_into_chunks(
            make_memory().book, longagent.MAX_CHUNK_TOKENS, fake.count
        )
    )
    assert sum(call.options == ("yes", "no") for call in fake.calls) == members
    numbers = iter(range(100))

    def reply(text: str) -> str:
        if "one short question" in text:
            return f"Query number {next(numbers)}?"
        return "Ferrand"

    endless = FakeEngine(
        says=reply,
        chooses=choosing("confessed", ask=[True] * 9),
    )
    events = await ask(endless)
    assert Stopped(StopReason.LIMIT) in events
    assert (
        sum(call.options == ("yes", "no") for call in endless.calls)
        == members * longagent.ROUNDS
    )


async def test_no_prompt_is_longer_than_the_window_however_many_members_answer() -> (
    None
):
    fake = FakeEngine(
        says=lambda text: f"answer {hash(text) % 999}",
        chooses=choosing("the", ask=[True] * 9, conflicts=["1 and 2"] * 9),
        context_tokens=1100,
    )
    events = await ask(fake, make_memory(20, 20))
    assert answered(events).answer
    assert max([await fake.measure(call.prompt) for call in fake.calls]) <= 1100


async def test_a_window_that_is_too_small_is_told_how_large_it_must_be() -> None:
    with pytest.raises(PromptTooLongError) as raised:
        await ask(FakeEngine(context_tokens=600))
    needed = raised.value.prompt_tokens + raised.value.answer_tokens
    assert answered(await ask(FakeEngine(context_tokens=needed))).answer
    with pytest.raises(PromptTooLongError):
        await ask(FakeEngine(context_tokens=needed - 2))


async def test_stop_ends_the_rounds_with_an_answer() -> None:
    steering = Steering(stop=True)
    fake = FakeEngine(says=saying({}, final="Nothing."), chooses=choosing("confessed"))
    events = await ask(fake, steering=steering)
    assert Stopped(StopReason.PERSON) in events
    assert [call.kind for call in fake.calls] == ["complete"]


class Crowded(FakeEngine):
    """Counts how many choices are under way at once."""

    at_once = most = 0

    async def choose(
        self,
        prompt: Prompt,
        options: Sequence[str],
        priority: Priority = Priority.INTERACTIVE,
    ) -> Choice:
        self.at_once += 1
        self.most = max(self.most, self.at_once)
        try:
            await asyncio.sleep(0.001)
            return await super().choose(prompt, options, priority)
        finally:
            self.at_once -= 1


async def test_closing_the_generator_cancels_every_member() -> None:
    fake = Crowded(
        says=saying({"confessed": "Ferrand", "wooden": "A stranger"}),
        chooses=choosing("confessed"),
        parallel=4,
    )
    events = longagent.longagent(
        Asking(QUESTION, make_memory(), fake, Steering(), ReaderOptions())
    )
    async for event in events:
        if isinstance(event, Reported):
            break
    await events.aclose()
    assert fake.at_once == 0


@pytest.mark.parametrize(
    ("first", "other"),
    [
        ("The Wall Street Journal", "the Wall Street Journal."),
        ("Ferrand", "It was Ferrand"),
        ("Élodie", "elodie"),
        ("1809", "in 1809"),
    ],
)
def test_equal_answers_agree(first: str, other: str) -> None:
    assert longagent.agree(first, other)
    assert longagent.agree(other, first)


@pytest.mark.parametrize(
    ("first", "other"),
    [("Ferrand", "Martha"), ("1809", "1890"), ("", "Ferrand"), ("李", "王")],
)
def test_different_answers_disagree(first: str, other: str) -> None:
    assert not longagent.agree(first, other)
