"""Questions about a selected passage: what the model is shown, and what becomes of its answer."""

import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gistread.engine.llama.client import LlamaEngine
from gistread.engine.protocol import Engine
from gistread.memory.model import GistMemory
from gistread.memory.sizes import unread_memory
from gistread.readers.answering import Asking, ReaderOptions
from gistread.readers.events import AnswerDelta, Answered
from gistread.readers.model_class import BASIC
from gistread.readers.registry import METHODS
from gistread.readers.selection import CHOICES, extend_bound
from gistread.readers.steering import Steering
from tests.fake_engine import FakeEngine
from tests.memory.books import make_book
from tests.readers.memories import FACTS, make_memory
from tests.tiny_gguf import write_tiny_gguf

EXPLAIN, WHO, *_ = (question for _, question in CHOICES)


async def ask(
    engine: Engine,
    words: str,
    question: str = EXPLAIN,
    memory: GistMemory | None = None,
    **options: Any,
) -> Answered:
    memory = memory or replace(make_memory(), entries=[])
    start = make_memory().book.text.index(words) if words else 0
    all_options = replace(
        ReaderOptions(), selection=(start, start + len(words)), **options
    )
    reader = METHODS["readagent-s"].reader()  # needs a memory, but not for a passage
    asking = Asking(question, memory, engine, Steering(), all_options)
    events = [event async for event in reader(asking)]
    assert isinstance(events[-1], Answered)
    return events[-1]


async def test_the_model_sees_the_passage_with_the_text_around_it() -> None:
    engine = FakeEngine(says=["It hung on a nail behind the stove."])
    answer = await ask(engine, "nobody was allowed")
    (call,) = engine.calls
    assert FACTS[1].replace("nobody was allowed", "«nobody was allowed»") in call.text
    assert "language of the question" not in call.text
    assert f"Question: About “nobody was allowed”: {EXPLAIN}" in call.text
    assert answer.found
    assert FACTS[1] in answer.citations[0].quote


async def test_a_name_is_explained_by_what_introduces_it() -> None:
    engine = FakeEngine(says=["A stranger with a wooden leg."])
    answer = await ask(engine, "Ferrand confessed"[:7], WHO, model=BASIC)
    assert not engine.calls
    assert answer.quoted
    assert FACTS[2] in answer.citations[0].quote
    await ask(engine, "Ferrand", WHO)
    assert FACTS[2].replace("Ferrand", "«Ferrand»") in engine.calls[0].text
    answer = await ask(FakeEngine(), "Ferrand", "Who met Ferrand?", model=BASIC)
    assert not answer.quoted, "it asks for somebody else"


async def test_a_name_is_looked_for_outside_the_event_loop(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    threads: list[threading.Thread] = []
    monkeypatch.setattr(
        "gistread.readers.selection.introductions",
        lambda *_: threads.append(threading.current_thread()),
    )
    await ask(FakeEngine(), "Ferrand", WHO)
    assert threads
    assert threading.main_thread() not in threads


async def test_nothing_behind_the_bound_is_shown() -> None:
    engine = FakeEngine(says=["A key."])
    memory = make_memory()
    await ask(engine, "brass key hung", memory=memory.upto(memory.entry(2).page.end))
    assert "Ferrand" not in engine.calls[0].text


def test_the_bound_includes_the_sentence_that_is_asked_about() -> None:
    book = make_book(["He came. He saw it, and left. Nobody knew.", "Then it rained."])
    saw, left = book.text.index("saw"), book.text.index(" Nobody")
    for passage, bound, reached in (
        ((saw, saw + 3), 4, left),
        ((saw, saw + 3), None, None),
        ((saw, saw + 3), 20, 20),
        (None, 4, 4),
        ((0, saw), 2, left),
    ):
        assert extend_bound(passage, bound, book) == reached


async def test_a_translation_is_of_the_passage_alone_and_is_not_checked() -> None:
    engine = FakeEngine(says=["Der Schlüssel aus Messing hing an einem Nagel."])
    answer = await ask(
        engine,
        "The brass key hung on a nail",
        "Translate this into German.",
        model=BASIC,
    )
    assert FACTS[2] not in engine.calls[0].text
    assert answer.answer == "Der Schlüssel aus Messing hing an einem Nagel."
    assert not answer.marks
    answer = await ask(
        FakeEngine(says=["The brass key hung on a nail."]),
        "The brass key hung on a nail",
        "Translate this.",
    )
    assert "cannot translate" in answer.answer
    assert not answer.found


async def test_an_answer_that_the_text_does_not_have_is_marked_above_what_stands_near() -> (
    None
):
    answer = await ask(
        FakeEngine(says=lambda _: "He ate marmalade."), "Ferrand drank rum", model=BASIC
    )
    assert answer.marks
    assert answer.citations
    assert not any(
        "Ferrand drank rum" in citation.quote for citation in answer.citations
    )


async def test_a_real_model_explains_words_of_a_book_without_a_memory(
    tmp_path: Path,
) -> None:
    engine = LlamaEngine(
        write_tiny_gguf(tmp_path / "tiny.gguf"), log=tmp_path / "worker.log"
    )
    await engine.start()
    try:
        options = ReaderOptions(
            selection=(0, 40), model=BASIC, answer_tokens=8, budget_tokens=60
        )
        memory = replace(make_memory(2, 2), entries=[])
        events = [
            event
            async for event in METHODS["auto"].reader()(
                Asking(EXPLAIN, memory, engine, Steering(), options)
            )
        ]
    finally:
        await engine.close()
    assert any(isinstance(event, AnswerDelta) for event in events)
    assert isinstance(events[-1], Answered)
    assert 0 < events[-1].context_tokens <= 60


async def test_the_selection_is_marked_in_the_passage() -> None:
    engine = FakeEngine(says=["Permitted."])
    await ask(engine, "allowed", "What does this word mean here?")
    (call,) = engine.calls
    marked = FACTS[1].replace("allowed", "«allowed»")
    assert marked in call.text
    assert "stand between « and »" in call.text
    assert "what you know of its language" in call.text
    assert "The book does not say" not in call.text


async def test_a_selection_among_guillemets_gets_other_signs() -> None:
    book = make_book(["« Il vint », dit-elle. Il partit."])
    engine = FakeEngine(says=["Un homme."])
    start = book.text.index("Il partit")
    options = ReaderOptions(selection=(start, start + 2))
    asking = Asking("Who is this?", unread_memory(book), engine, Steering(), options)
    _ = [event async for event in METHODS["gistread"].reader()(asking)]
    assert "⟦Il⟧ partit" in engine.calls[0].text
    assert "The book does not say" in engine.calls[0].text
