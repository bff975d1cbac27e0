"""A model whose words cannot be trusted is not asked: the book's own sentences answer."""

from dataclasses import replace

import pytest

from gistread.memory.sizes import unread_memory
from gistread.readers.answering import Asking, ReaderOptions
from gistread.readers.events import AnswerDelta, Answered, ReaderEvent
from gistread.readers.model_class import BASIC
from gistread.readers.registry import METHODS
from gistread.readers.steering import Steering
from gistread.readers.thread import QuestionAnswer
from tests.fake_engine import FakeEngine
from tests.memory.books import make_book, prose
from tests.readers.memories import FACTS, make_memory

OPTIONS = ReaderOptions(model=BASIC)


async def ask(
    question: str,
    engine: FakeEngine,
    options: ReaderOptions = OPTIONS,
    reader: str = "auto",
) -> list[ReaderEvent]:
    asking = Asking(question, make_memory(), engine, Steering(), options)
    return [event async for event in METHODS[reader].reader()(asking)]


def answered(events: list[ReaderEvent]) -> Answered:
    assert isinstance(events[-1], Answered)
    return events[-1]


@pytest.mark.parametrize(
    "question",
    ["What has happened so far?", "what is this story about", "Summarise the book."],
)
async def test_the_story_is_told_in_the_books_own_sentences(question: str) -> None:
    engine = FakeEngine()
    end = answered(await ask(question, engine))
    assert engine.calls == []
    assert (end.answer, end.quoted) == (
        "The story so far, in the book's own sentences:",
        True,
    )
    assert end.citations
    assert all(
        make_memory().book.text[citation.start : citation.end] == citation.quote
        for citation in end.citations
    )


async def test_without_gists_the_story_is_told_from_all_of_the_book() -> None:
    chapters = [
        [
            f"# Chapter {number}",
            *(prose(80, seed=100 * number + part) for part in range(6)),
        ]
        for number in range(20)
    ]
    book = make_book(*chapters)
    asking = Asking(
        "What has happened so far?",
        unread_memory(book),
        FakeEngine(),
        Steering(),
        OPTIONS,
    )
    events = [event async for event in METHODS["quoting"].reader()(asking)]
    places = [
        citation.start / len(book.text) for citation in answered(events).citations
    ]
    assert places == sorted(places)
    assert places[0] < 0.15
    assert places[-1] > 0.9
    assert len({int(8 * place) for place in places}) >= 7


async def test_who_somebody_is_is_told_by_the_sentence_that_introduces_them() -> None:
    engine = FakeEngine()
    events = await ask("Who is Ferrand?", engine)
    end = answered(events)
    assert engine.calls == []
    assert (end.answer, end.found, end.quoted) == (FACTS[2], True, True)
    assert [event.text for event in events if isinstance(event, AnswerDelta)] == [
        end.answer
    ]
    assert [citation.quote for citation in end.citations] == [FACTS[2]]
    assert end.expanded == (3,)
    thread = (QuestionAnswer("Who kept the lighthouse?", "Martha Quill."),)
    options = replace(OPTIONS, thread=thread)
    again = answered(await ask("And who is Ferrand?", engine, options))
    assert again.answer == end.answer


async def test_a_quoted_speech_that_goes_on_gets_its_closing_mark() -> None:
    book = make_book(
        ["“And where is old Walton now? He owes me a hat,” said the clerk."]
    )
    asking = Asking(
        "Who is Walton?", unread_memory(book), FakeEngine(), Steering(), OPTIONS
    )
    events = [event async for event in METHODS["quoting"].reader()(asking)]
    assert answered(events).answer == (
        "No sentence says plainly who or what Walton is. "
        "The nearest: “And where is old Walton now?”"
    )


async def test_a_name_that_the_text_lacks_is_said_to_be_missing() -> None:
    engine = FakeEngine()
    events = await ask("Who is Napoleon?", engine)
    end = answered(events)
    assert engine.calls == []
    assert not any(isinstance(event, AnswerDelta) for event in events), (
        "the check replaces the answer"
    )
    assert (end.found, end.quoted, end.citations) == (False, False, ())
    assert end.answer == "The book does not name Napoleon."


async def test_other_questions_get_the_closest_sentences() -> None:
    engine = FakeEngine()
    end = answered(await ask("Who stole the brass key?", engine, reader="quoting"))
    assert engine.calls == []
    assert (end.found, end.quoted) == (True, True)
    assert any("key" in citation.quote for citation in end.citations)
