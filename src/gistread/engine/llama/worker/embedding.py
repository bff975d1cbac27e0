"""Texts become vectors: many short ones in a batch, a person's before background work.

Stands in the loop of `__main__.py` where the scheduler stands for a model that writes: `submit`, `cancel` and `step`
from the loop, only `interrupt_for` from the reader thread. Nothing is kept between batches: a text's vector depends
on the text alone.
"""

import base64
import re
import threading
import time
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from gistread.engine.llama.messages import encode
from gistread.engine.llama.worker.context import BatchToken, Outcome
from gistread.engine.llama.worker.loading import LoadedModel
from gistread.engine.llama.worker.status import StatusReporter
from gistread.engine.llama.worker.weights import Weights
from gistread.engine.protocol import Priority, Usage

_NOTHING = "."
"""Stands for a text without a token."""
_LONGEST_TOKEN = 64
"""Characters: what is behind so many for each token that is taken is not looked at."""
_SENTENCE_END = re.compile(r"[.!?…]+[\"'”’»)\]]*(?=\s)|[。！？]|\n")


@dataclass(eq=False, slots=True)
class EmbeddingRequest:
    """Texts on their way to vectors."""

    id: int
    priority: Priority
    texts: list[list[int]]
    """Their tokens; each fits the window."""
    cut: int
    """How many of them are beginnings of longer ones."""
    vectors: list[npt.NDArray[np.float32]] = field(default_factory=list)
    worked_s: float = 0.0
    cancelled: bool = False


def embedding_request(model: LoadedModel, request_id: int, texts: list[str], priority: Priority) -> EmbeddingRequest:
    """The request of these texts, each cut to the window where it is longer."""
    fitted = [_fitted(text, model.weights, model.context_tokens) for text in texts]
    return EmbeddingRequest(request_id, priority, [tokens for tokens, _ in fitted], sum(cut for _, cut in fitted))


def _fitted(text: str, weights: Weights, most: int) -> tuple[list[int], bool]:
    """The tokens of a text, or of as many whole sentences of it as `most` tokens take; whether it was cut."""
    beginning = text.strip()[: most * _LONGEST_TOKEN]
    tokens = weights.text_tokens(beginning or _NOTHING) or weights.text_tokens(_NOTHING)
    if len(tokens) <= most:
        return tokens, len(beginning) < len(text.strip())

    def length(end: int) -> int:
        return len(weights.text_tokens(beginning[:end]))

    ends = [found.end() for found in _SENTENCE_END.finditer(beginning)]
    sentences = bisect_right(ends, most, key=length)
    end = ends[sentences - 1] if sentences else bisect_right(range(len(beginning)), most, key=length) - 1
    return weights.text_tokens(beginning[:end])[:most], True


class Embedding:
    """Requests in, vectors out (`send`), one `step` at a time."""

    def __init__(
        self, model: LoadedModel, send: Callable[[bytes], None], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._context = model.context
        self._send = send
        self._clock = clock
        self._requests: list[EmbeddingRequest] = []
        """In the order of arrival."""
        self._evaluating: EmbeddingRequest | None = None
        self._telling = StatusReporter(send, clock)
        self.settled = threading.Event()
        """Nothing is to be written to disk: there never is."""
        self.settled.set()

    @property
    def idle(self) -> bool:
        """Nothing to do, and all of it told."""
        return not self._requests and self._telling.rests

    @property
    def requested(self) -> bool:
        return bool(self._requests)

    def submit(self, request: EmbeddingRequest) -> None:
        self._requests.append(request)

    def cancel(self, request_id: int) -> None:
        for request in self._requests:
            if request.id == request_id:
                request.cancelled = True

    def interrupt_for(self, priority: Priority | None, request_id: int | None = None) -> None:
        """From the reader thread: stop the running batch if it makes this priority wait or is for this request."""
        running = self._evaluating
        if running is not None and (running.id == request_id or (priority is not None and running.priority > priority)):
            self._context.interrupt()

    def step(self) -> None:
        """Evaluate one batch and tell what came of it."""
        for request in [request for request in self._requests if request.cancelled]:
            self._finish(request, encode("cancelled", id=request.id))
        if not self._requests:
            self._telling.idle()
            return
        request = min(self._requests, key=lambda request: request.priority)
        texts, batch = self._fill_batch(request)
        began = self._clock()
        self._context.clear()
        self._evaluating = request
        outcome = self._context.evaluate(batch) if batch else Outcome.DONE
        self._evaluating = None
        self._context.allow()
        elapsed = self._clock() - began
        request.worked_s += elapsed
        if outcome is Outcome.FULL:
            self._finish(request, encode("error", id=request.id, message="there is no room for a text"))
        elif outcome is Outcome.DONE:
            self._advance(request, texts, len(batch), elapsed)

    def _fill_batch(self, request: EmbeddingRequest) -> tuple[int, list[BatchToken]]:
        """The next texts of a request, as many as a batch takes: how many, and their tokens."""
        batch: list[BatchToken] = []
        texts = 0
        for text in request.texts[len(request.vectors) :]:
            if len(batch) + len(text) > self._context.batch_tokens or texts == self._context.sequences:
                break
            batch += [BatchToken(token, position, texts, True) for position, token in enumerate(text)]
            texts += 1
        return texts, batch

    def _advance(self, request: EmbeddingRequest, texts: int, tokens: int, elapsed: float) -> None:
        request.vectors += [_normal(self._context.vector(sequence)) for sequence in range(texts)]
        if len(request.vectors) < len(request.texts):
            rate = tokens / elapsed if elapsed > 0 else 0.0
            self._telling.busy("prefill", request.priority, rate, len(request.vectors) / len(request.texts))
            return
        vectors = np.stack(request.vectors) if request.vectors else np.empty((0, 0), np.float32)
        if not np.isfinite(vectors).all():
            self._finish(request, encode("error", id=request.id, message="its vectors hold what is no number"))
            return
        prefilled = sum(map(len, request.texts))
        answer = encode(
            "embedded",
            id=request.id,
            vectors=base64.b64encode(vectors.astype("<f4").tobytes()).decode(),
            cut=request.cut,
            usage=Usage(prefilled=prefilled, seconds=request.worked_s),
        )
        self._finish(request, answer)

    def _finish(self, request: EmbeddingRequest, message: bytes) -> None:
        self._requests.remove(request)
        self._send(message)


def _normal(vector: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Of length 1, unless it has none."""
    length = float(np.linalg.norm(vector))
    return vector / np.float32(length) if length else vector
