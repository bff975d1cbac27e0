"""Embeds texts in batches, interactive requests first; replaces the scheduler for embedding models."""

import base64
import re
import time
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from gistread.engine.llama.messages import Cancelled, Embed, Event, Failed, Reply, TextsEmbedded
from gistread.engine.llama.worker.context import BatchToken, Outcome
from gistread.engine.llama.worker.loading import LoadedModel
from gistread.engine.llama.worker.scheduler import StatusReporter
from gistread.engine.llama.worker.weights import Weights
from gistread.engine.protocol import Phase, Priority, Usage

_EMPTY_TEXT = "."  # Embedded in place of a text without tokens
_LONGEST_TOKEN = 64  # In characters; limits how much of a text is tokenized
_SENTENCE_END = re.compile(r"[.!?…]+[\"'”’»)\]]*(?=\s)|[。！？]|\n")


@dataclass(eq=False, slots=True)
class EmbeddingRequest:
    id: int
    priority: Priority
    texts: list[list[int]]  # Tokens of each text; each fits the window
    truncated: int  # How many texts were longer
    vectors: list[npt.NDArray[np.float32]] = field(default_factory=list)
    worked_s: float = 0.0
    cancelled: bool = False


def embedding_request(model: LoadedModel, message: Embed) -> EmbeddingRequest:
    fitted = [_fit_to_window(text, model.weights, model.context_tokens) for text in message.texts]
    truncated = sum(cut for _, cut in fitted)
    return EmbeddingRequest(message.id, message.priority, [tokens for tokens, _ in fitted], truncated)


def _fit_to_window(text: str, weights: Weights, most: int) -> tuple[list[int], bool]:
    """The tokens of a text, cut after the last sentence that fits `most` tokens, and whether it was cut."""
    beginning = text.strip()[: most * _LONGEST_TOKEN]
    tokens = weights.text_tokens(beginning or _EMPTY_TEXT) or weights.text_tokens(_EMPTY_TEXT)
    if len(tokens) <= most:
        return tokens, len(beginning) < len(text.strip())

    def length(end: int) -> int:
        return len(weights.text_tokens(beginning[:end]))

    ends = [found.end() for found in _SENTENCE_END.finditer(beginning)]
    sentences = bisect_right(ends, most, key=length)
    end = ends[sentences - 1] if sentences else bisect_right(range(len(beginning)), most, key=length) - 1
    return weights.text_tokens(beginning[:end])[:most], True


class Embedding:
    """Takes requests and sends events, one `step` at a time."""

    def __init__(self, model: LoadedModel, send: Callable[[Event], None]) -> None:
        self._context = model.context
        self._send = send
        self._requests: list[EmbeddingRequest] = []
        self._evaluating: EmbeddingRequest | None = None
        self._status = StatusReporter(send, time.monotonic)

    @property
    def idle(self) -> bool:
        return not self._requests and self._status.is_idle

    def submit(self, request: EmbeddingRequest) -> None:
        self._requests.append(request)

    def cancel(self, request_id: int) -> None:
        for request in self._requests:
            if request.id == request_id:
                request.cancelled = True

    def interrupt_for(self, priority: Priority | None, request_id: int | None = None) -> None:
        """Stop the running batch if it delays this priority or is for this request. Called by the reader thread."""
        running = self._evaluating
        if running is not None and (running.id == request_id or (priority is not None and running.priority > priority)):
            self._context.interrupt()

    def step(self) -> None:
        """Evaluate one batch and send the events that result."""
        for request in [request for request in self._requests if request.cancelled]:
            self._finish(request, Cancelled(request.id))
        if not self._requests:
            self._status.idle()
            return
        request = min(self._requests, key=lambda request: request.priority)
        texts, batch = self._fill_batch(request)
        began = time.monotonic()
        self._context.clear()
        self._evaluating = request
        outcome = self._context.evaluate(batch) if batch else Outcome.DONE
        self._evaluating = None
        self._context.clear_interrupt()
        elapsed = time.monotonic() - began
        request.worked_s += elapsed
        if outcome is Outcome.FULL:
            self._finish(request, Failed("there is no room for a text", request.id))
        elif outcome is Outcome.DONE:
            self._advance(request, texts, len(batch), elapsed)

    def _fill_batch(self, request: EmbeddingRequest) -> tuple[int, list[BatchToken]]:
        batch: list[BatchToken] = []
        texts = 0
        for text in request.texts[len(request.vectors) :]:
            if len(batch) + len(text) > self._context.batch_tokens or texts == self._context.sequences:
                break
            batch += [BatchToken(token, position, texts, True) for position, token in enumerate(text)]
            texts += 1
        return texts, batch

    def _advance(self, request: EmbeddingRequest, texts: int, tokens: int, elapsed: float) -> None:
        request.vectors += [_normalize(self._context.vector(sequence)) for sequence in range(texts)]
        if len(request.vectors) < len(request.texts):
            rate = tokens / elapsed if elapsed > 0 else 0.0
            self._status.busy(Phase.PREFILL, request.priority, rate, len(request.vectors) / len(request.texts))
            return
        vectors = np.stack(request.vectors) if request.vectors else np.empty((0, 0), np.float32)
        if not np.isfinite(vectors).all():
            self._finish(request, Failed("its vectors are not finite", request.id))
            return
        encoded = base64.b64encode(vectors.astype("<f4").tobytes()).decode()
        usage = Usage(prefilled=sum(map(len, request.texts)), seconds=request.worked_s)
        self._finish(request, TextsEmbedded(encoded, request.truncated, usage, request.id))

    def _finish(self, request: EmbeddingRequest, reply: Reply) -> None:
        self._requests.remove(request)
        self._send(reply)


def _normalize(vector: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    length = float(np.linalg.norm(vector))
    return vector / np.float32(length) if length else vector
