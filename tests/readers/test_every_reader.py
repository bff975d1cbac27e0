"""What every reader promises, whatever the model says.

A real engine runs them with a tiny model of random weights; where a prompt has to be looked at, a
fake one does.
"""

import asyncio
import re
import threading
from collections.abc import AsyncIterator, Collection, Iterable
from contextlib import aclosing
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from gistread.book.model import Book
from gistread.engine.llama.client import LlamaEngine
from gistread.engine.protocol import Engine, EngineState, Phase
from gistread.errors import BudgetTooSmallError, PromptTooLongError
from gistread.memory import setting
from gistread.memory.model import GistMemory
from gistread.memory.narrator import Narration, narration_of
from gistread.readers import graphreader, registry
from gistread.readers.answering import Asking, ReaderOptions
from gistread.readers.events import Answered, ReaderEvent, Started, Stopped, StopReason
from gistread.readers.steering import Steering
from tests.fake_engine import FakeEngine
from tests.readers.all_readers import METHODS
from tests.readers.memories import make_memory
from tests.tiny_gguf import write_tiny_gguf

QUESTION = "Who stole the brass key?"
CHOICES = ("Martha Quill", "Ferrand", "the  fishermen", "nobody")
OPTIONS = ReaderOptions(max_pages=2, answer_tokens=24)

STEP_BY_STEP = {
    "readagent-s",
    "readagent-p",
    "memwalker",
    "graphreader",
    "longagent",
    "notes",
}
WITHOUT_TEXT = {"gists", "closed-book"}
BASELINES = METHODS.keys() - registry.METHODS.keys()
WITHOUT_MODEL = {"quoting"}
"""Readers that ask no model."""
PASSAGE_BY_PASSAGE = {"one-by-one"}
FROM_NOTES = {"longagent", "notes", "graphreader"}
"""Readers whose last prompt has notes in it and none of the book's own words."""
ANSWER_TOKENS = {"memwalker": 64, "longagent": 96, "notes": 87}
"""Room for what the first prompt asks for, where that is not the answer."""
LEAST_WINDOW = {
    **dict.fromkeys(
        ("closed-book", "gistread", "bm25", "dos", "full", *WITHOUT_MODEL), 150
    ),
    "notes": 900,
    "longagent": 1500,
}
"""Of the windows tried, the smallest that is enough; 400 for others."""

pytestmark = pytest.mark.asyncio(loop_scope="module")
every_reader = pytest.mark.parametrize("name", METHODS)
every_reader_of_a_model = pytest.mark.parametrize(
    "name", [name for name in METHODS if name not in WITHOUT_MODEL]
)
SLOW = BASELINES | {"graphreader"}
with_model = [name for name in METHODS if name not in {"auto", *WITHOUT_MODEL}]
every_reader_for_real = pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.slow if name in SLOW else ())
        for name in with_model
    ],
)
"""GraphReader asks even a tiny model some hundred times; `auto` is one of the others."""


def sweep(values: Iterable[int], usual: Collection[int]) -> list[Any]:
    """All values, of which only the usual ones are tried by default."""
    return [
        value if value in usual else pytest.param(value, marks=pytest.mark.slow)
        for value in values
    ]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def tiny(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[LlamaEngine]:
    folder: Path = tmp_path_factory.mktemp("tiny")
    engine = LlamaEngine(
        write_tiny_gguf(folder / "tiny.gguf"), log=folder / "worker.log"
    )
    await engine.start()
    yield engine
    await engine.close()


@pytest.fixture(scope="module")
def memory() -> GistMemory:
    """One for all questions to the tiny model, so that facts are made once."""
    return make_memory(3, 3)


async def events_of(
    name: str,
    engine: Engine,
    memory: GistMemory,
    options: ReaderOptions = OPTIONS,
    *,
    question: str = QUESTION,
    steering: Steering | None = None,
) -> list[ReaderEvent]:
    events = METHODS[name].reader()(
        Asking(question, memory, engine, steering or Steering(), options)
    )
    return [event async for event in events]


def answered(events: list[ReaderEvent]) -> Answered:
    assert isinstance(events[-1], Answered)
    return events[-1]


@pytest.fixture(autouse=True)
def short_paths(monkeypatch: pytest.MonkeyPatch) -> None:
    """GraphReader's paths end after three steps.

    What they promise is the same, and a tiny model is slow too.
    """
    monkeypatch.setattr(graphreader, "STEPS", 3)


@every_reader_for_real
async def test_every_question_ends_with_an_answer(
    name: str, tiny: LlamaEngine, memory: GistMemory
) -> None:
    events = await events_of(name, tiny, memory)
    assert [
        type(event)
        for event in events
        if isinstance(event, Started | Stopped | Answered)
    ] == [
        Started,
        Stopped,
        Answered,
    ]
    answer = answered(events)
    assert answer.choice is None
    quotes = answer.citations
    assert all(
        memory.book.text[quote.start : quote.end] == quote.quote for quote in quotes
    )
    assert all(answer.answer[mark.start : mark.end].strip() for mark in answer.marks)
    assert answer.found or answer.quoted or answer.answer.startswith("Not found")


@pytest.mark.parametrize("name", ["graphreader", "longagent", "memwalker", "notes"])
async def test_the_narrator_is_looked_for_off_the_event_loop(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: list[threading.Thread] = []

    def narration(book: Book) -> Narration:
        threads.append(threading.current_thread())
        return narration_of(book)

    monkeypatch.setattr(setting, "narration_of", narration)
    await events_of(name, FakeEngine(), make_memory())
    assert threads
    assert threading.current_thread() not in threads


@every_reader
async def test_stop_ends_the_question_at_once(name: str) -> None:
    events = await events_of(
        name, FakeEngine(), make_memory(), steering=Steering(stop=True)
    )
    assert answered(events)


@pytest.mark.parametrize("name", sorted(STEP_BY_STEP))
async def test_stop_keeps_a_reader_from_its_next_step(name: str) -> None:
    events = await events_of(
        name, FakeEngine(), make_memory(), steering=Steering(stop=True)
    )
    assert not answered(events).lookups
    assert Stopped(StopReason.PERSON) in events


@every_reader_for_real
async def test_a_question_with_options_is_answered_with_an_option(
    name: str, tiny: LlamaEngine, memory: GistMemory
) -> None:
    answer = answered(
        await events_of(name, tiny, memory, replace(OPTIONS, choices=CHOICES))
    )
    assert answer.choice in range(4)
    assert answer.answer == " ".join(CHOICES[answer.choice].split())


def words_alone(text: str) -> str:
    """Without numbers of passages and white space."""
    return "".join(re.sub(r"\[\d+\] ", "", text).split())


def says(text: str) -> str:
    if "Write down" in text:
        return (
            "Ferrand lost a watch." if "Above is page" in text else "Ferrand took it."
        )
    return "Ferrand did it, and lost his watch."


@every_reader_of_a_model
async def test_the_answer_reports_the_text_that_the_model_saw(name: str) -> None:
    fake = FakeEngine(says=says)
    memory = make_memory()
    answer = answered(await events_of(name, fake, memory))
    text = memory.book.text
    assert all(0 <= start < end <= len(text) for start, end in answer.seen)
    gaps = [text[earlier[1] : later[0]] for earlier, later in pairwise(answer.seen)]
    assert all(gap.strip() for gap in gaps)
    assert bool(answer.seen or answer.noted) == (name not in WITHOUT_TEXT)
    quotes = answer.citations
    assert all(text[quote.start : quote.end] == quote.quote for quote in quotes)


@pytest.mark.parametrize(
    "name", [name for name in METHODS if name not in PASSAGE_BY_PASSAGE | WITHOUT_MODEL]
)
async def test_the_answer_counts_the_tokens_of_text_in_its_prompt(name: str) -> None:
    fake = FakeEngine(says=says)
    answer = answered(await events_of(name, fake, make_memory()))
    of_task = await fake.measure(fake.calls[-1].prompt) - answer.context_tokens
    assert 20 < of_task < 160
    assert bool(answer.context_tokens) == (name != "closed-book")


@pytest.mark.parametrize(
    "name", [name for name in METHODS if name not in FROM_NOTES | WITHOUT_MODEL]
)
async def test_the_text_that_the_model_saw_is_in_its_prompts(name: str) -> None:
    fake, memory = FakeEngine(says=says), make_memory()
    seen = answered(await events_of(name, fake, memory)).seen
    text = memory.book.text
    shown = [
        text[paragraph.start : paragraph.end]
        for paragraph in memory.book.paragraphs
        if any(start <= paragraph.start and paragraph.end <= end for start, end in seen)
    ]
    assert bool(shown) == (name not in WITHOUT_TEXT)
    calls = fake.calls if name in PASSAGE_BY_PASSAGE else fake.calls[-1:]
    prompt = words_alone(" ".join(call.text for call in calls))
    assert [words for words in shown if words_alone(words) not in prompt] == []


@pytest.mark.parametrize("name", ["gistread", "dos", "full"])
@pytest.mark.parametrize("budget", sweep((60, 400, 1500), usual=(60, 1500)))
async def test_the_budget_is_never_exceeded(
    name: str, budget: int, tiny: LlamaEngine, memory: GistMemory
) -> None:
    options = replace(OPTIONS, budget_tokens=budget)
    context_tokens = answered(
        await events_of(name, tiny, memory, options)
    ).context_tokens
    assert budget / 2 < context_tokens <= budget


@pytest.mark.parametrize("name", ["gistread", "dos", "full"])
async def test_a_budget_for_hardly_any_text_is_refused_with_both_numbers(
    name: str,
) -> None:
    with pytest.raises(BudgetTooSmallError, match="budget is 5 tokens") as caught:
        await events_of(
            name, FakeEngine(), make_memory(), replace(OPTIONS, budget_tokens=5)
        )
    assert caught.value.needed_tokens > 5
    assert str(caught.value.needed_tokens) in caught.value.message


@every_reader_of_a_model
async def test_a_question_larger_than_the_window_is_refused_with_both_numbers(
    name: str,
) -> None:
    fake = FakeEngine(context_tokens=700)
    with pytest.raises(PromptTooLongError) as caught:
        await events_of(name, fake, make_memory(), question="Who was it? " * 400)
    assert caught.value.prompt_tokens > 700
    # Of the first prompt: a choice, a report or a note where the answer comes later.
    assert caught.value.answer_tokens == ANSWER_TOKENS.get(name, OPTIONS.answer_tokens)
    assert str(caught.value.prompt_tokens) in caught.value.message
    assert "700" in caught.value.message
    assert not fake.calls


@every_reader
@pytest.mark.parametrize(
    "window", sweep((150, 400, 600, 900, 1500), usual=(150, 600, 1500))
)
async def test_a_small_window_is_enough_or_refused_with_both_numbers(
    name: str, window: int
) -> None:
    fake = FakeEngine(context_tokens=window)
    if window >= LEAST_WINDOW.get(name, 400):
        assert answered(await events_of(name, fake, make_memory(40, 40)))
    else:
        with pytest.raises(PromptTooLongError) as caught:
            await events_of(name, fake, make_memory(40, 40))
        assert caught.value.prompt_tokens + caught.value.answer_tokens > window
        assert caught.value.context_tokens == window
    assert all([await fake.measure(call.prompt) <= window for call in fake.calls])


@every_reader_for_real
async def test_closing_the_stream_frees_the_engine(
    name: str, tiny: LlamaEngine, memory: GistMemory
) -> None:
    reader = METHODS[name].reader()(Asking(QUESTION, memory, tiny, Steering(), OPTIONS))
    async with aclosing(reader):
        async for _ in reader:
            break
    idle, busy = asyncio.Event(), asyncio.Event()

    def watched(state: EngineState) -> None:
        if state.phase is Phase.IDLE:
            idle.set()
        else:
            idle.clear()
            busy.set()

    unwatch = tiny.watch(watched)
    # An answer so long that it is not over before it is taken away, on a busy machine either.
    task = asyncio.create_task(
        events_of(name, tiny, memory, replace(OPTIONS, answer_tokens=800))
    )
    await asyncio.wait_for(busy.wait(), 30)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    if tiny.state.phase is not Phase.IDLE:
        await asyncio.wait_for(idle.wait(), 30)
    unwatch()
