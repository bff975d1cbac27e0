"""The scheduler: which tokens share a batch, and which request goes first."""

from collections.abc import Sequence
from itertools import pairwise

import pytest

from gistread.engine.llama.fit import LoadOptions
from gistread.engine.llama.messages import Done, Event, Load
from gistread.engine.llama.worker.context import BatchToken, Outcome
from gistread.engine.llama.worker.loading import load
from gistread.engine.llama.worker.requests import Request, TextStream
from gistread.engine.llama.worker.sampling import FreeSampler
from gistread.engine.llama.worker.scheduler import Scheduler
from gistread.engine.protocol import Priority, Sampling
from tests.engine.conftest import TinyModel, on_models

GIST_TOKENS = 40
PAGES_TOKENS = 1400


class Watched:
    """A scheduler whose batches take a second and a hundredth more for each token."""

    def __init__(self, model: TinyModel, *, on_gpu: bool) -> None:
        self._model = load(
            Load(str(model.path), LoadOptions(context_tokens=4096, batch_tokens=256)), progress=lambda share: None
        )
        self._model.on_gpu = on_gpu
        if on_gpu:
            self._model.streams = None
        context = self._model.streams or self._model.context
        self._evaluate = context.evaluate
        context.evaluate = self._timed  # type: ignore[method-assign]
        self._clock_s = 0.0
        self.scheduler = Scheduler(self._model, self._take, clock=lambda: self._clock_s)
        self.batches: list[dict[int, int]] = []  # Tokens of each sequence
        self.done: dict[int, Done] = {}

    def ask(self, number: int, prompt_tokens: int, max_tokens: int) -> None:
        prompt = [2 + (number + at) % 50 for at in range(prompt_tokens)]
        sampler = FreeSampler(self._model.weights, Sampling(max_tokens))
        self.scheduler.submit(Request(number, Priority.BACKGROUND, prompt, max_tokens, sampler, TextStream()))

    def settle(self) -> None:
        while not self.scheduler.idle:
            self.scheduler.step()
        self._model.context.close()

    def _timed(self, tokens: Sequence[BatchToken]) -> Outcome:
        sequences = [item.sequence for item in tokens]
        self.batches.append({sequence: sequences.count(sequence) for sequence in sorted(set(sequences))})
        self._clock_s += 1 + len(tokens) / 100
        return self._evaluate(tokens)

    def _take(self, event: Event) -> None:
        if isinstance(event, Done):
            self.done[event.id] = event


@pytest.fixture
def watched(model: TinyModel, request: pytest.FixtureRequest) -> Watched:
    """A gist is being decoded when the next pages are submitted."""
    watched = Watched(model, on_gpu=getattr(request, "param", False))
    watched.ask(1, 20, GIST_TOKENS)
    for _ in range(3):
        watched.scheduler.step()
    watched.batches.clear()
    watched.ask(2, PAGES_TOKENS, 1)
    return watched


@on_models("attention")
def test_on_a_processor_a_gist_is_decoded_while_the_pages_after_it_are_evaluated(watched: Watched) -> None:
    watched.settle()
    assert all(len(batch) == 1 for batch in watched.batches), "decoding and prompts share no batch"
    is_prompt = [max(batch.values()) > 1 for batch in watched.batches]
    assert is_prompt[0] is False
    assert is_prompt.count(True) > 3
    assert not any(before and after for before, after in pairwise(is_prompt)), "prompts never take two turns"
    assert is_prompt.index(True) < 3, "prompts are not kept waiting either"


@on_models("attention")
@pytest.mark.parametrize("watched", [True], indirect=True)
def test_on_a_graphics_card_they_share_each_batch(watched: Watched) -> None:
    watched.settle()
    assert all(len(batch) == 2 for batch in watched.batches[: PAGES_TOKENS // 512])


@on_models("attention")
def test_the_time_of_a_batch_is_shared_by_tokens(model: TinyModel) -> None:
    watched = Watched(model, on_gpu=True)
    watched.ask(1, 20, 1)
    watched.ask(2, 60, 1)
    watched.settle()
    assert watched.batches == [{0: 20, 1: 60}]
    assert watched.done[2].usage.seconds == pytest.approx(3 * watched.done[1].usage.seconds)
