"""Follow-ups: what counts as one, what the model sees of its thread, and what it costs."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from gistread.book.open import open_book
from gistread.engine.llama.client import LlamaEngine
from gistread.engine.protocol import Engine
from gistread.memory.model import GistMemory
from gistread.memory.sizes import unread_memory
from gistread.prompts import TRAINED
from gistread.readers.answering import Asking, ReaderOptions
from gistread.readers.events import Answered, ReaderEvent
from gistread.readers.model_class import BASIC
from gistread.readers.steering import Steering
from gistread.readers.thread import (
    QuestionAnswer,
    is_follow_up,
    with_options,
    with_thread,
    without_options,
)
from gistread.sample import story_path
from gistread.search.ranked import Relevance
from tests.fake_engine import FakeEngine
from tests.models import starter_path
from tests.readers.all_readers import METHODS
from tests.readers.memories import FACTS, make_memory
from tests.tiny_gguf import write_tiny_gguf
from tests.vocabularies import LlamaVocabulary

FIRST = QuestionAnswer("Who stole the brass key?", "Ferrand stole it.", upto=None)
FOLLOW_UP = "And why did he do that?"


@pytest.mark.parametrize(
    ("question", "follows"),
    [
        (FOLLOW_UP, True),
        ("Why?", True),
        ("What about the key?", True),
        ("Where did he hide it?", True),
        ("What does that mean?", True),
        ("Und warum?", True),
        ("Who is Martha Quill?", False),
        ("Why did Victor leave his family?", False),
        ("What does the stranger want when he comes ashore?", False),
        ("What is that book about?", False),
        ("Are there women in this story?", False),
        ("Was there nobody to help him?", True),
        ("Who was there?", True),
        ("", False),
    ],
)
def test_a_question_follows_if_it_goes_on_or_leaves_somebody_unnamed(
    question: str, *, follows: bool
) -> None:
    assert is_follow_up(question) is follows


def test_as_many_of_the_last_exchanges_are_shown_as_fit() -> None:
    thread = [
        QuestionAnswer(f"question {n}", f"answer {n} " + "word " * 60) for n in range(8)
    ]
    question = with_thread(
        with_options("And?", ("yes", "no")), thread, 8192, short=False
    )
    assert question.startswith("question 5\nAnswer: answer 5 word")
    assert without_options(question) == "And?"
    assert question.endswith("Question: And?\nA. yes\nB. no")
    short = with_thread("And?", thread, 8192, short=True)
    assert short.count("Answer:") == 1
    assert len(short.split()) < 60
    assert short.startswith("question 7\n")
    assert with_thread("And?", thread, 100, short=False).count("\n") <= 2
    assert with_thread("And?", thread, 20, short=False) == "And?"


def test_names_of_the_thread_help_to_find_the_passage_less_than_the_question_itself() -> (
    None
):
    passages = [
        "Ferrand sold the watch.",
        "Martha sold the lamp.",
        "The wind went round.",
    ]
    relevance = Relevance(passages)
    assert relevance.scores("Why did he do that?").has_matches is False
    helped = relevance.scores("Who sold it?", context="Who is Ferrand? A stranger.")
    assert helped.of_own_words[0] > helped.of_own_words[1] > helped.of_own_words[2]
    own = relevance.scores("What about Martha?", context="Who is Ferrand? A stranger.")
    assert own.of_own_words[1] > own.of_own_words[0]


async def events_of(
    name: str,
    engine: Engine,
    question: str,
    options: ReaderOptions,
    memory: GistMemory | None = None,
) -> list[ReaderEvent]:
    reader = METHODS[name].reader()
    return [
        event
        async for event in reader(
            Asking(question, memory or make_memory(), engine, Steering(), options)
        )
    ]


@pytest.mark.parametrize("name", [name for name in METHODS if name != "quoting"])
async def test_every_reader_shows_the_exchange_after_the_text(name: str) -> None:
    fake = FakeEngine(says=lambda _: "Ferrand lost a watch.")
    options = ReaderOptions(max_pages=2, answer_tokens=24, thread=(FIRST,))
    await events_of(name, fake, FOLLOW_UP, options)
    answer = [call.text for call in fake.calls if FOLLOW_UP in call.text][-1]
    shown = f"{FIRST.question}\nAnswer: {FIRST.answer}\nQuestion: {FOLLOW_UP}"
    assert shown in answer
    text = [fact for fact in FACTS if fact in answer]
    assert all(answer.index(fact) < answer.index(shown) for fact in text)


@pytest.mark.parametrize("name", METHODS)
async def test_no_reader_shows_an_exchange_from_behind_the_bound(name: str) -> None:
    memory = make_memory()
    bound = memory.entry(5).page.start
    thread = (
        QuestionAnswer("What about Rosebud?", "It burns.", upto=None),
        QuestionAnswer("And Rosebud?", "So.", bound + 1),
    )
    fake = FakeEngine()
    options = ReaderOptions(max_pages=2, answer_tokens=24, thread=thread)
    await events_of(name, fake, FOLLOW_UP, options, memory.upto(bound))
    assert not any("Rosebud" in call.text for call in fake.calls)


async def test_a_follow_up_in_the_starters_window_evaluates_little_that_is_new() -> (
    None
):
    if (starter := starter_path()) is None:
        pytest.skip("the starter is not installed")
    prize = "What prize did Arthur Setchell win at the skating match?"
    vocabulary = LlamaVocabulary(starter)
    engine = FakeEngine(
        count=lambda text: len(vocabulary.tokens(text)),
        says=lambda _: "He won a leg of mutton.",
    )
    engine._info = replace(engine.info, wording=TRAINED)
    memory, options = (
        unread_memory(open_book(story_path())),
        ReaderOptions(model=BASIC),
    )
    first = (await events_of("gistread", engine, prize, options, memory))[-1]
    assert isinstance(first, Answered)
    thread = (
        QuestionAnswer(
            prize, "Arthur Setchell won the skating match. " * 10, seen=first.seen
        ),
    )
    second = (
        await events_of(
            "gistread", engine, FOLLOW_UP, replace(options, thread=thread), memory
        )
    )[-1]
    assert isinstance(second, Answered)
    assert second.seen == first.seen
    assert second.usage.prefilled <= 0.15 * first.usage.prefilled


@pytest.fixture
async def tiny(tmp_path: Path) -> AsyncIterator[LlamaEngine]:
    engine = LlamaEngine(
        write_tiny_gguf(tmp_path / "tiny.gguf"), log=tmp_path / "worker.log"
    )
    await engine.start()
    yield engine
    await engine.close()


@pytest.mark.parametrize(
    "name",
    ["gistread", *(pytest.param(n, marks=pytest.mark.slow) for n in ("gists", "full"))],
)
async def test_a_follow_up_on_the_same_pages_evaluates_little_that_is_new(
    name: str, tiny: LlamaEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    # It would be asked for the source as well.
    monkeypatch.setattr("gistread.readers.citations._MOST", 1)
    monkeypatch.setattr("gistread.readers.citations._LEAST_SHARED", 0.0)
    memory = make_memory(24, 24)
    options = ReaderOptions(max_pages=2, answer_tokens=8, budget_tokens=3800)
    first = (await events_of(name, tiny, FIRST.question, options, memory))[-1]
    assert isinstance(first, Answered)
    thread = (replace(FIRST, seen=first.seen),)
    second = (
        await events_of(name, tiny, FOLLOW_UP, replace(options, thread=thread), memory)
    )[-1]
    assert isinstance(second, Answered)
    assert second.seen == first.seen
    assert second.usage.prefilled <= 0.25 * first.usage.prefilled


def test_no_reference_of_an_earlier_answer_and_no_space_before_it_is_left() -> None:
    thread = (QuestionAnswer("Who is he?", "He is a mason [1]. He drinks. [2][3]"),)
    question = with_thread("Why?", thread, 8192, short=False)
    assert "Answer: He is a mason. He drinks.\n" in question
