"""An engine that counts exactly and runs nothing: what a long reading would cost in tokens.

The vocabulary and the chat template are the model's own, and which tokens lie in the cache is known
by the worker's own bookkeeping (`worker/slots.py`, `worker/streams.py`) over contexts that do
nothing; so a prompt costs here what it costs there. What is chosen and said is made up: pause
points at random by a seed, gists of the length asked for, out of the page's own words. Loads
llama.cpp: for a process of its own (`setting.alone`).
"""

import asyncio
import random
import re
from collections.abc import AsyncGenerator, Callable, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from gistread.engine.llama.gguf import read_header
from gistread.engine.llama.worker.chat_template import ChatTemplate
from gistread.engine.llama.worker.context import BatchToken, Context, Outcome
from gistread.engine.llama.worker.requests import ScheduledRequest, TextStream
from gistread.engine.llama.worker.sampling import FreeSampler
from gistread.engine.llama.worker.slots import Slots
from gistread.engine.llama.worker.streams import Streams
from gistread.engine.llama.worker.weights import Weights
from gistread.engine.protocol import (
    GREEDY,
    NO_USAGE,
    STREAM_TOKENS,
    Choice,
    Completion,
    EngineInfo,
    EngineState,
    Phase,
    Placement,
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
# Turns of the event loop before a choice: as in the worker, gists asked for before it are begun
_TURNS = 20
_LABEL = re.compile(r"<\d+>")


class CountingEngine:
    """See the module. Requests are answered one after another."""

    def __init__(
        self,
        model: Path,
        *,
        context_tokens: int,
        cells: int,
        streams: int,
        parallel: int,
        seed: int,
    ) -> None:
        header = read_header(model)
        self._weights = Weights(
            load(model, vocabulary_only=True), ChatTemplate(header.chat_template)
        )
        self._slots = Slots(_Ledger(self._weights, cells, _SEQUENCES), cache_files=None)
        divided = _Ledger(self._weights, streams * STREAM_TOKENS, streams)
        self._streams = Streams(divided) if streams else None
        self._random = random.Random(seed)
        placement = Placement(0, 1, cells, "f16", 1, 1, streams=streams)
        device = "nothing at all"
        self._info = EngineInfo(
            "counted", "counted", context_tokens, device, parallel, placement=placement
        )
        self._sampler = FreeSampler(self._weights, GREEDY)
        self._calls = 0

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

    async def prepare(
        self, prompt: Prompt, priority: Priority = Priority.BACKGROUND
    ) -> Usage:
        return NO_USAGE

    async def stream(
        self,
        prompt: Prompt,
        sampling: Sampling = GREEDY,
        priority: Priority = Priority.INTERACTIVE,
    ) -> AsyncGenerator[StreamEvent, None]:
        completion = await self.complete(prompt, sampling, priority)
        yield TextDelta(completion.text)
        yield completion

    async def complete(
        self,
        prompt: Prompt,
        sampling: Sampling = GREEDY,
        priority: Priority = Priority.INTERACTIVE,
    ) -> Completion:
        text = _shortened(
            prompt[-1].content, round(sampling.max_tokens / 2 / _TOKENS_OF_A_WORD)
        )
        return Completion(
            text,
            "end",
            self._cost(prompt, text, sampling.max_tokens, priority, self._sampler),
        )

    async def choose(
        self,
        prompt: Prompt,
        options: Sequence[str],
        priority: Priority = Priority.INTERACTIVE,
    ) -> Choice:
        for _ in range(_TURNS):
            await asyncio.sleep(0)
        index = self._random.randrange(len(options))
        longest = max(len(self._weights.tokens_of(option)) for option in options) + 1
        return Choice(
            index, None, self._cost(prompt, options[index], longest, priority)
        )

    def _cost(
        self,
        prompt: Prompt,
        answer: str,
        max_tokens: int,
        priority: Priority,
        sampler: FreeSampler | None = None,
    ) -> Usage:
        """Put a prompt and its answer through the bookkeeping as the worker's loop does."""
        tokens = self._weights.prompt_tokens(prompt)
        if len(tokens) + max_tokens > self._info.context_tokens:
            raise PromptTooLongError(len(tokens), max_tokens, self._info.context_tokens)
        self._calls += 1
        allow_kv_shift = prompt[-1].allow_kv_shift
        request = ScheduledRequest(
            self._calls,
            priority,
            tokens,
            max_tokens,
            sampler,  # type: ignore[arg-type]  # None: nothing is sampled
            TextStream(),
            allow_kv_shift=allow_kv_shift,
        )
        in_stream = self._streams is not None and self._streams.has_room_for(request)
        home = self._streams if in_stream and self._streams is not None else self._slots
        if not home.admit(request):
            raise MemoryError("no room in the cache for a request that is alone")
        prefilled = _evaluate(home, request)
        # The last token of an answer is decided and never evaluated.
        request.generated = self._weights.tokens_of(answer)[: max_tokens - 1]
        _evaluate(home, request)
        home.release(request)
        return Usage(prefilled, request.reused, len(request.generated) + 1)


def _evaluate(home: Slots | Streams, request: ScheduledRequest) -> int:
    start, sequence = home.evaluated(request), request.sequence
    assert sequence is not None
    new = [
        BatchToken(token, at, sequence, False)
        for at, token in enumerate(request.tokens[start:], start)
    ]
    home.evaluate(new)
    return len(new)


class _Ledger(Context):
    """A context without a model: everything succeeds."""

    def __init__(self, weights: Weights, cells: int, sequences: int) -> None:
        self.weights = weights
        self.cells = cells
        self.sequences = sequences

    def evaluate(self, tokens: Sequence[BatchToken]) -> Outcome:
        return Outcome.DONE

    def cut(self, sequence: int, length: int) -> bool:
        return True

    def fork(self, source: int, target: int, length: int = -1) -> None:
        pass

    def remove(self, sequence: int, start: int, length: int) -> None:
        pass

    def state(self, sequence: int) -> npt.NDArray[np.uint8]:
        return np.empty(0, dtype=np.uint8)

    def restore(self, sequence: int, state: npt.NDArray[np.uint8]) -> bool:
        return True

    def close(self) -> None:
        pass


def _shortened(prompt: str, words: int) -> str:
    """So many words of the end of the prompt's text.

    Every fourth is left out, or the guard would call it copied.
    """
    text = _LABEL.sub("", prompt.rpartition("\n---\n")[0]).split()
    return " ".join(
        word for number, word in enumerate(text[-(words * 4 // 3) :]) if number % 4
    )
