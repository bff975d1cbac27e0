"""Random histories of the scheduler, one step at a time: no interruption makes an answer wrong.

Here it is known where each interruption falls. In the moment before a batch is evaluated the reader
thread's part is played: a person's request comes in, or a running one is cancelled. The rest is as
in the worker.
"""

import random
from collections.abc import Sequence

import pytest

from gistread.engine.llama.fit import LoadOptions
from gistread.engine.llama.messages import Event, Load
from gistread.engine.llama.worker.context import BatchToken, Outcome
from gistread.engine.llama.worker.loading import load
from gistread.engine.llama.worker.requests import ScheduledRequest, TextStream
from gistread.engine.llama.worker.sampling import FreeSampler
from gistread.engine.llama.worker.scheduler import Scheduler
from gistread.engine.protocol import (
    Completion,
    EngineState,
    Priority,
    Sampling,
    TextDelta,
)
from tests.engine.conftest import TinyModel, on_models
from tests.engine.fresh_model import ANSWER_TOKENS, Question, passage

SAMPLING = Sampling(max_tokens=ANSWER_TOKENS)


class History:
    """A scheduler over a model, and its requests."""

    def __init__(self, model: TinyModel, window: int) -> None:
        self._model = load(
            Load(str(model.path), LoadOptions(context_tokens=window)),
            lambda event: None,
        )
        self._evaluate = self._model.context.evaluate
        self._model.context.evaluate = self._interruptible
        self._scheduler = Scheduler(self._model, self._take, clock=lambda: 0.0)
        self._interruption: Priority | int | None = None
        self.open: dict[int, tuple[Question, Priority]] = {}
        """By number, until it is answered or cancelled."""
        self.answered = self.cancelled = self.interrupted = 0

    def ask(self, question: Question, priority: Priority) -> None:
        number = self.answered + self.cancelled + len(self.open) + 1
        sampler, stream = FreeSampler(self._model.weights, SAMPLING), TextStream()
        prompt = list(question.tokens)
        self._scheduler.submit(
            ScheduledRequest(number, priority, prompt, ANSWER_TOKENS, sampler, stream)
        )
        self.open[number] = question, priority

    def step(self) -> None:
        self._scheduler.step()

    def step_until_a_person_comes(self, question: Question) -> None:
        self._interruption = Priority.INTERACTIVE
        self._scheduler.step()
        self.ask(question, Priority.INTERACTIVE)

    def step_until_cancelled(self, number: int) -> None:
        self._interruption = number
        self._scheduler.step()
        if number in self.open:
            self._scheduler.cancel(number)
            self._scheduler.step()
            del self.open[number]
            self.cancelled += 1

    def settle(self, priority: Priority = Priority.BACKGROUND) -> None:
        """Step until everything of this priority or more urgent is answered."""
        for _ in range(2000):
            if all(other > priority for _, other in self.open.values()):
                return
            self._scheduler.step()
        pytest.fail(f"{len(self.open)} requests are never answered")

    def close(self) -> None:
        self._model.context.close()

    def _interruptible(self, tokens: Sequence[BatchToken]) -> Outcome:
        interruption, self._interruption = self._interruption, None
        if isinstance(interruption, Priority):
            self._scheduler.interrupt_for(interruption)
        elif interruption is not None:
            self._scheduler.interrupt_for(None, interruption)
        outcome = self._evaluate(tokens)
        self.interrupted += outcome is Outcome.INTERRUPTED
        return outcome

    def _take(self, event: Event, number: int) -> None:
        match event:
            case Completion():
                question, _ = self.open.pop(number)
                assert event.text == question.answer
                self.answered += 1
            case _:
                assert isinstance(event, TextDelta | EngineState), event


@on_models("attention", "hybrid")
@pytest.mark.parametrize("window", [512, pytest.param(2048, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 3))]
)
def test_interruptions_change_no_other_answer(
    model: TinyModel, seed: int, window: int
) -> None:
    dice, history = random.Random(seed), History(model, window)
    beginnings = [""] + [passage(dice, words) + " " for words in (5, 20, 40, 60)]
    questions = [
        model.fresh.clear_question(dice, dice.choice(beginnings)) for _ in range(10)
    ]
    continuations = [model.fresh.clear_continuation(question) for question in questions]
    questions += filter(None, continuations)

    for _ in range(40):
        history.ask(dice.choice(questions), dice.choice(list(Priority)))
        for _ in range(dice.randrange(5)):
            any_step(history, questions, dice)
    history.settle()
    history.close()
    assert history.answered > 25
    assert history.cancelled
    # A model without rollback finishes what it has begun.
    assert bool(history.interrupted) is model.can_roll_back


def any_step(history: History, questions: list[Question], dice: random.Random) -> None:
    match dice.randrange(8):
        case 0 if history.open:
            history.step_until_cancelled(dice.choice(list(history.open)))
        case 1:
            history.step_until_a_person_comes(dice.choice(questions))
        case _:
            history.step()


@on_models("attention", "hybrid")
@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 3))]
)
def test_interrupted_batches_leave_the_cache_as_it_was(
    model: TinyModel, seed: int
) -> None:
    """llama.cpp moves states of sequences between those of a batch while it evaluates the batch."""
    dice, history = random.Random(seed), History(model, 2048)
    work = [model.fresh.clear_question(dice, words=words) for words in (3, 10, 40)]
    talks: list[tuple[Question, Question]] = []
    while len(talks) < 4:
        first = model.fresh.clear_question(dice)
        if second := model.fresh.clear_continuation(first):
            talks.append((first, second))
    for _ in range(8):
        dice.shuffle(talks)
        history.ask(dice.choice(work), Priority.BACKGROUND)
        for _ in range(dice.randint(1, 2)):
            history.step()
        for first, _ in talks[:3]:
            history.ask(first, Priority.INTERACTIVE)
            if dice.randrange(2):
                history.settle(Priority.INTERACTIVE)
        history.settle(Priority.INTERACTIVE)
        history.ask(dice.choice(work), Priority.BACKGROUND)
        history.step_until_a_person_comes(talks[0][1])
        for _, second in talks[1:3]:
            history.ask(second, Priority.INTERACTIVE)
        history.settle()
    history.close()
