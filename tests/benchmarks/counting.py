"""An engine that counts exactly and runs nothing: what a long reading would cost in tokens.

The vocabulary and the chat template are the model's own, and which tokens lie in the cache is known by the
worker's own bookkeeping (`worker/slots.py`) over a context that does nothing; so a prompt costs here what it costs
there. What is chosen and said is made up: pause points at random by a seed, gists of the length asked for, out of
the page's own words. Loads llama.cpp: for a process of its own (`setting.alone`).
"""

import random
import re
from collections.abc import AsyncGenerator, Callable, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from gistread.engine.llama.gguf import read_header
from gistread.engine.llama.worker.context import BatchToken, Context, Outcome
from gistread.engine.llama.worker.requests import Request, TextStream
from gistread.engine.llama.worker.slots import Slots
from gistread.engine.llama.worker.weights import Weights
from gistread.engine.protocol import (
    GREEDY,
    NO_USAGE,
    Choice,
    Completion,
    EngineInfo,
    EngineState,
    Phase,
    Priority,
    Prompt,
    Sampling,
    StreamEvent,
    TextDelta,
    Usage,
)
from gistread.errors import PromptTooLongError
from tests.benchmarks.lowlevel import load

_SEQUENCES = 48
_TOKENS_OF_A_WORD = 1.35
_LABEL = re.compile(r"<\d+>")


class CountingEngine:
    """See the module. Requests are answered at once, one after another."""

    def __init__(self, model: Path, *, context_tokens: int, cells: int, parallel: int, seed: int) -> None:
        header = read_header(model)
        self._weights = Weights(load(model, vocabulary_only=True), header.chat_template)
        ledger = _Ledger(self._weights, cells, _SEQUENCES, header.memory.kv_bytes_per_token)
        self._slots = Slots(ledger, cache_files=None)
        self._random = random.Random(seed)
        self._info = EngineInfo("counted", "counted", context_tokens, "nothing at all", parallel)
        self._asked = 0

    @property
    def info(self) -> EngineInfo:
        return self._info

    @property
    def state(self) -> EngineState:
        return EngineState(Phase.IDLE)

    def watch(self, callback: Callable[[EngineState], None]) -> Callable[[], None]:
        return lambda: None

    async def start(self) -> EngineInfo:
        return self._info

    async def close(self) -> None:
        pass

    async def count(self, text: str) -> int:
        return len(self._weights.tokens_of(text))

    async def measure(self, prompt: Prompt) -> int:
        return len(self._weights.prompt_tokens(prompt))

    async def prepare(self, prompt: Prompt, priority: Priority = Priority.BACKGROUND) -> Usage:
        return NO_USAGE

    async def stream(
        self, prompt: Prompt, sampling: Sampling = GREEDY, priority: Priority = Priority.INTERACTIVE
    ) -> AsyncGenerator[StreamEvent, None]:
        completion = await self.complete(prompt, sampling, priority)
        yield TextDelta(completion.text)
        yield completion

    async def complete(
        self, prompt: Prompt, sampling: Sampling = GREEDY, priority: Priority = Priority.INTERACTIVE
    ) -> Completion:
        text = _shortened(prompt[-1].content, round(sampling.max_tokens / 2 / _TOKENS_OF_A_WORD))
        return Completion(text, "end", self._cost(prompt, text, sampling.max_tokens, priority))

    async def choose(self, prompt: Prompt, options: Sequence[str], priority: Priority = Priority.INTERACTIVE) -> Choice:
        index = self._random.randrange(len(options))
        longest = max(len(self._weights.tokens_of(option)) for option in options) + 1
        return Choice(index, None, self._cost(prompt, options[index], longest, priority))

    def _cost(self, prompt: Prompt, answer: str, max_tokens: int, priority: Priority) -> Usage:
        """Put a prompt and its answer through the bookkeeping as the worker's loop does."""
        tokens = self._weights.prompt_tokens(prompt)
        if len(tokens) + max_tokens > self._info.context_tokens:
            raise PromptTooLongError(len(tokens), max_tokens, self._info.context_tokens)
        self._asked += 1
        request = Request(self._asked, priority, tokens, max_tokens, None, TextStream())
        if not self._slots.admit(request):
            raise MemoryError("no room in the cache for a request that is alone")
        prefilled = self._evaluate(request)
        # The last token of an answer is decided and never evaluated.
        request.generated = self._weights.tokens_of(answer)[: max_tokens - 1]
        self._evaluate(request)
        self._slots.release(request)
        return Usage(prefilled, request.reused, len(request.generated) + 1)

    def _evaluate(self, request: Request) -> int:
        start, sequence = self._slots.evaluated(request), request.sequence
        assert sequence is not None
        new = [BatchToken(token, at, sequence, False) for at, token in enumerate(request.tokens[start:], start)]
        self._slots.evaluate(new)
        return len(new)


class _Ledger(Context):
    """A context without a model: everything succeeds, and a state is as large as it would be."""

    def __init__(self, weights: Weights, cells: int, sequences: int, cell_bytes: int) -> None:
        self.weights = weights
        self.cells = cells
        self.sequences = sequences
        self._cell_bytes = cell_bytes
        self._forked: dict[int, int] = {}
        """By sequence: cells that it was last given of another."""

    def evaluate(self, tokens: Sequence[BatchToken]) -> Outcome:
        return Outcome.DONE

    def cut(self, sequence: int, length: int) -> bool:
        return True

    def fork(self, source: int, target: int, length: int, start: int = 0) -> None:
        self._forked[target] = length - start

    def state_bytes(self, sequence: int) -> int:
        return self._cell_bytes * self._forked.get(sequence, 0)

    def state(self, sequence: int) -> npt.NDArray[np.uint8]:
        return np.empty(self.state_bytes(sequence), dtype=np.uint8)

    def restore(self, sequence: int, state: npt.NDArray[np.uint8]) -> bool:
        return True

    def close(self) -> None:
        pass


def _shortened(prompt: str, words: int) -> str:
    """So many words of the end of the prompt's text; every fourth is left out, or the guard would call it copied."""
    text = _LABEL.sub("", prompt.rpartition("\n---\n")[0]).split()
    return " ".join(word for number, word in enumerate(text[-(words * 4 // 3) :]) if number % 4)
