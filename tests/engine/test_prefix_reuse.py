"""Reuse of prefixes never changes an answer.

On attention, sliding-window, recurrent and hybrid models. Every answer is compared with that of a
fresh context (`fresh_model.py`). Each question has a clear answer: its tokens lead by more than
llama.cpp's batch arithmetic can move them.
"""

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
import pytest_asyncio

from gistread.engine.llama.client import LlamaEngine
from gistread.engine.protocol import Message, Priority, Sampling, Usage
from tests.engine.conftest import StartEngine, TinyModel, on_models, starting
from tests.engine.fresh_model import ANSWER_TOKENS, CLEAR, FreshModel, Question, passage

pytestmark = pytest.mark.asyncio(loop_scope="module")
on_attention = on_models("attention")
on_attention_and_hybrid = on_models("attention", "hybrid")

SAMPLING = Sampling(max_tokens=ANSWER_TOKENS)
LETTERS = "ABCDE"


async def ask(
    engine: LlamaEngine, question: Question, priority: Priority = Priority.INTERACTIVE
) -> Usage:
    """Ask, and compare the answer with that of a fresh context."""
    completion = await engine.complete(question.prompt, SAMPLING, priority)
    assert completion.text == question.answer
    assert completion.usage.generated == ANSWER_TOKENS
    return completion.usage


class Expected:
    """The tokens that an engine may reuse, given what it evaluated before."""

    def __init__(self, model: TinyModel) -> None:
        self._model = model
        self._held: list[tuple[int, ...]] = []

    def check(self, question: Question, usage: Usage) -> None:
        assert usage.prefilled + usage.reused == len(question.tokens)
        # the last one is always evaluated: its logits decide
        evaluated = question.tokens[:-1]
        if self._model.can_roll_back:
            assert usage.reused == max(
                (common_beginning(held, evaluated) for held in self._held), default=0
            )
        else:
            whole = {len(held) for held in self._held if evaluated[: len(held)] == held}
            assert usage.reused in {0} | whole
        self._held.append(question.held)


def common_beginning(first: tuple[int, ...], other: tuple[int, ...]) -> int:
    return next(
        (i for i, (a, b) in enumerate(zip(first, other, strict=False)) if a != b),
        min(len(first), len(other)),
    )


def continued(
    fresh: FreshModel, dice: random.Random, begin: str = ""
) -> tuple[Question, Question]:
    """A question and the one that continues its answer."""
    while True:
        first = fresh.clear_question(dice, begin)
        if second := fresh.clear_continuation(first):
            return first, second


@pytest_asyncio.fixture(loop_scope="module")
async def start(tmp_path: Path) -> AsyncIterator[StartEngine]:
    """Starts engines and closes them after the test."""
    async with starting(tmp_path) as start_engine:
        yield start_engine


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def engine(
    model: TinyModel, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[LlamaEngine]:
    """An engine for all tests of a model that hold whatever it evaluated before."""
    async with starting(tmp_path_factory.mktemp("engine")) as start_engine:
        yield await start_engine(model.path)


@on_attention_and_hybrid
async def test_answers_depend_on_the_whole_prompt(model: TinyModel) -> None:
    dice = random.Random(1)
    common = passage(dice, 30)
    answers = {
        model.fresh.question((Message("user", f"{passage(dice, 20)} {common}"),)).answer
        for _ in range(10)
    }
    assert len(answers) > 3


@on_attention_and_hybrid
async def test_repeated_prompts_are_reused(
    model: TinyModel, start: StartEngine
) -> None:
    dice = random.Random(2)
    engine = await start(model.path)
    expected = Expected(model)
    question, other = (
        model.fresh.clear_question(dice, words=60),
        model.fresh.clear_question(dice, words=60),
    )
    for each in (question, question, other, question, other, question):
        expected.check(each, await ask(engine, each))


@on_attention
async def test_extended_prompts_reuse_what_they_extend(
    model: TinyModel, start: StartEngine
) -> None:
    dice = random.Random(3)
    engine = await start(model.path)
    expected = Expected(model)
    text = ""
    for _ in range(4):
        question = model.fresh.clear_question(dice, begin=text)
        expected.check(question, await ask(engine, question))
        text = f"{question.prompt[0].content} "


async def test_continued_answers_reuse_the_whole_state(
    model: TinyModel, start: StartEngine
) -> None:
    dice = random.Random(5)
    engine = await start(model.path)
    expected = Expected(model)
    for _ in range(2):
        first, second = continued(model.fresh, dice, passage(dice, 40))
        expected.check(first, await ask(engine, first))
        usage = await ask(engine, second)
        assert usage.reused == len(first.held)
        expected.check(second, usage)
        expected.check(first, await ask(engine, first))


async def test_only_the_common_beginning_of_questions_is_prepared(
    model: TinyModel, start: StartEngine
) -> None:
    dice, engine = random.Random(6), await start(model.path)
    common = passage(dice, 60) + " "
    question = model.fresh.clear_question(dice, begin=common)
    prepared = await engine.prepare(
        (replace(question.prompt[0], cacheable_prefix=len(common)),)
    )
    usage = await ask(engine, question)
    assert 0 < usage.reused == prepared.prefilled < len(question.tokens)
    assert usage.prefilled == len(question.tokens) - usage.reused


@on_attention
async def test_concurrent_requests_share_a_prefix(
    model: TinyModel, engine: LlamaEngine
) -> None:
    dice = random.Random(7)
    common = passage(dice, 60) + " "
    questions = [model.fresh.clear_question(dice, begin=common) for _ in range(6)]
    await asyncio.gather(*(ask(engine, question) for question in questions))
    await asyncio.gather(*(ask(engine, question) for question in reversed(questions)))


@on_attention
async def test_cancelled_requests_can_be_asked_again(
    model: TinyModel, engine: LlamaEngine
) -> None:
    dice = random.Random(9)
    common = passage(dice, 40) + " "
    bystanders = [continued(model.fresh, dice, common) for _ in range(2)]
    for first, _ in bystanders:
        await ask(engine, first)
    for _ in range(3):
        question = model.fresh.clear_question(dice, begin=common, words=60)
        running = asyncio.create_task(ask(engine, question))
        await asyncio.sleep(dice.uniform(0.0, 0.03))
        running.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await running
        await ask(engine, question)
        first, second = dice.choice(bystanders)
        await ask(engine, second)
        await ask(engine, first)


@on_attention
async def test_interactive_requests_interrupt_background_work(
    model: TinyModel, engine: LlamaEngine
) -> None:
    dice = random.Random(10)
    common = passage(dice, 40) + " "
    bystanders = [continued(model.fresh, dice, common) for _ in range(2)]
    for first, _ in bystanders:
        await ask(engine, first)
    work = [model.fresh.clear_question(dice, begin=common, words=100) for _ in range(4)]
    running = [
        asyncio.create_task(ask(engine, question, Priority.BACKGROUND))
        for question in work
    ]
    for _ in range(6):
        await asyncio.sleep(dice.uniform(0.0, 0.03))
        await ask(engine, dice.choice(dice.choice(bystanders)))
    await asyncio.gather(*running)
    for _, second in bystanders:
        await ask(engine, second)


@on_attention
async def test_choices_equal_those_of_a_fresh_context(
    model: TinyModel, engine: LlamaEngine
) -> None:
    dice = random.Random(11)
    common = passage(dice, 40) + " "
    questions = 0
    while questions < 4:
        question = model.fresh.clear_question(dice, begin=common)
        index, lead = model.fresh.choice(question.prompt, LETTERS)
        if lead < CLEAR:
            continue
        questions += 1
        choice, _ = await asyncio.gather(
            engine.choose(question.prompt, list(LETTERS)), ask(engine, question)
        )
        assert choice.index == index
        assert (
            await engine.choose(question.prompt, list(LETTERS), Priority.BACKGROUND)
        ).index == index
