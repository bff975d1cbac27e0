"""Which tokens are evaluated next, and for whom.

One step is one batch. People go before background work: as long as a person's request runs, nothing else is
evaluated, and one that arrives interrupts a batch of background work at once. What was interrupted keeps its place
in the cache, unless the person's request needs it. Running sequences decode together, and what room is left in
the batch is filled with the prompts of those that have just come; requests join and leave at every step. A token
decoded in a batch with a prompt in it costs next to nothing, and eight decoded together cost little more than one: so
prompts never wait for decoding, and whoever wants the first answer soon does not send the others before it.

The loop of `__main__.py` calls `submit`, `cancel` and `step`; the reader thread only `interrupt_for`.
"""

import threading
import time
from collections import Counter
from collections.abc import Callable

from gistread.engine.llama.messages import encode
from gistread.engine.llama.worker.context import BatchToken, Outcome
from gistread.engine.llama.worker.likelihood import Scorer
from gistread.engine.llama.worker.loading import LoadedModel
from gistread.engine.llama.worker.offload import State
from gistread.engine.llama.worker.requests import Request
from gistread.engine.llama.worker.sampling import OptionSampler
from gistread.engine.llama.worker.slots import Slots
from gistread.engine.llama.worker.status import StatusReporter
from gistread.engine.protocol import Priority

_SMOOTHING = 0.8


class Scheduler:
    """Requests in, events out (`send`), one `step` at a time."""

    def __init__(
        self, model: LoadedModel, send: Callable[[bytes], None], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._clock = clock
        self._model = model
        self._weights = model.weights
        self._context = model.context
        self._send = send
        self._slots = Slots(model.context, model.snapshots, on_gpu=model.on_gpu)
        self._requests: list[Request] = []
        """Running and waiting, in the order of arrival."""
        self._evaluating: tuple[Request, ...] = ()
        self._telling = StatusReporter(send, clock, self._work)
        self._rates: dict[str, float] = {}
        """Tokens a second by phase, smoothed: single batches jump about."""
        self._busy_s = self._decode_s = 0.0
        """Time in which there was work, and how much of it went by inside llama_decode."""
        self._unsaved: tuple[list[int], State] | None = None
        """Tokens and their state, to be written to disk when nobody waits."""
        self.settled = threading.Event()
        """Nothing is to be written."""
        self.settled.set()

    @property
    def idle(self) -> bool:
        """Nothing to do, and all of it told."""
        return not self._requests and self._telling.rests and self._unsaved is None

    @property
    def requested(self) -> bool:
        return bool(self._requests)

    @property
    def pinnable_tokens(self) -> int:
        """That can be held in memory, about."""
        return self._slots.holdable(self._model.token_bytes)

    def holds(self, tokens: list[int]) -> bool:
        """Whether none of these tokens has to be evaluated."""
        return self._slots.holds(tokens)

    def submit(self, request: Request) -> None:
        self._requests.append(request)

    def cancel(self, request_id: int) -> None:
        for request in self._requests:
            if request.id == request_id:
                request.cancelled = True

    def interrupt_for(self, priority: Priority | None, request_id: int | None = None) -> None:
        """From the reader thread: stop the running batch if it makes this priority wait or is for this request."""
        requests = self._evaluating
        waits = priority is not None and bool(requests) and all(request.priority > priority for request in requests)
        if waits or any(request.id == request_id for request in requests):
            self._context.interrupt()

    def step(self) -> None:
        """Evaluate one batch and tell what came of it."""
        for request in [r for r in self._requests if r.cancelled]:
            self._finish(request, encode("cancelled", id=request.id))
        if not self._requests:
            self._telling.idle()
            self._save()
            return
        began = self._clock()
        urgent = min(request.priority for request in self._requests)
        self._admit(urgent)
        chosen, tokens = self._fill_batch(urgent)
        started = self._clock()
        self._evaluating = tuple(chosen)
        outcome = self._slots.evaluate(tokens)
        self._evaluating = ()
        self._context.allow()
        elapsed = self._clock() - started
        self._decode_s += elapsed
        for request in chosen:
            request.worked_s += elapsed / len(chosen)
        if outcome is Outcome.DONE:
            self._advance(chosen, tokens, elapsed)
        self._busy_s += self._clock() - began

    def _admit(self, priority: Priority) -> None:
        """Let waiting requests of this priority begin, in the order of arrival, as many as pay and fit."""
        running = sum(request.priority is priority for request in self._slots.running)
        for request in self._requests:
            if request.priority is not priority or request.sequence is not None:
                continue
            if running >= self._model.parallel:
                return
            while not self._slots.admit(request):
                less_urgent = [other for other in self._slots.running if other.priority > priority]
                if not less_urgent:
                    return
                self._slots.release(less_urgent[-1])  # It waits again, and goes on where it was.
            running += 1

    def _fill_batch(self, priority: Priority) -> tuple[list[Request], list[BatchToken]]:
        """Decoding sequences first, then prompts in the order of admission, up to one batch."""
        room = self._context.batch_tokens
        chosen: list[Request] = []
        batch: list[BatchToken] = []
        running = [request for request in self._slots.running if request.priority is priority]
        for request in sorted(running, key=lambda request: self._slots.pending(request) > 1):
            assert request.sequence is not None
            start = self._slots.held(request)
            tokens = request.tokens[start : start + room]
            if not tokens:
                break
            for position, token in enumerate(tokens, start):
                batch.append(BatchToken(token, position, request.sequence, request.wants_logits(position)))
            room -= len(tokens)
            chosen.append(request)
        return chosen, batch

    def _advance(self, chosen: list[Request], tokens: list[BatchToken], elapsed: float) -> None:
        """Count what was evaluated and decide the next token of each sequence that is ready for it."""
        requests = {request.sequence: request for request in chosen}
        counts = Counter(requests[item.sequence] for item in tokens)
        self._tell_progress(chosen[0], len(tokens), elapsed)
        for request, count in counts.items():
            if self._slots.held(request) - count < len(request.prompt):
                request.prefilled += count
        for index, item in enumerate(tokens):
            request = requests[item.sequence]
            if item.wants_logits and request.scorer is not None:
                request.scorer.take(self._context, index, item.position)
            elif item.wants_logits:
                self._decide(request, index)
        for request in chosen:
            if request.sampler is None and not self._slots.pending(request):
                self._scored(request, request.scorer) if request.scorer else self._prepared(request)

    def _decide(self, request: Request, output: int) -> None:
        assert request.sampler is not None
        try:
            token = request.sampler.sample(self._context, output)
        except ValueError as error:
            self._finish(request, encode("error", id=request.id, message=str(error)))
            return
        request.generated.append(token)
        if isinstance(request.sampler, OptionSampler):
            self._decide_choice(request, request.sampler)
        elif self._weights.ends_turn(token):
            self._end_text(request, "end")
        else:
            self._emit(request, request.stream.feed(self._weights.piece(token)))
            if request.stream.stopped:
                self._end_text(request, "end")
            elif len(request.generated) >= request.max_tokens:
                self._end_text(request, "length")

    def _decide_choice(self, request: Request, sampler: OptionSampler) -> None:
        if (index := sampler.chosen) is not None:
            message = encode(
                "chosen", id=request.id, index=index, probability=sampler.probability, usage=request.usage()
            )
            self._finish(request, message)

    def _end_text(self, request: Request, finish: str) -> None:
        self._emit(request, request.stream.finish())
        text = request.stream.text
        self._finish(request, encode("done", id=request.id, text=text, finish=finish, usage=request.usage()))

    def _emit(self, request: Request, text: str) -> None:
        if text:
            self._send(encode("delta", id=request.id, text=text, usage=request.usage()))

    def _finish(self, request: Request, message: bytes) -> None:
        """Free the sequence and say how it ended."""
        if self._slots.unsaved(request):
            stable = request.prompt[: request.stable]
            self._unsaved = stable, self._slots.state(stable)  # It may have been parked by the time when nobody waits.
            self.settled.clear()
        self._slots.release(request)
        if request.sampler is not None:
            request.sampler.close()
        self._requests.remove(request)
        self._send(message)

    def _prepared(self, request: Request) -> None:
        held = request.holds and self._slots.hold(request)
        if self._slots.unsaved(request):
            self._slots.save(request.prompt, self._slots.state(request.prompt))
        self._finish(request, encode("prepared", id=request.id, usage=request.usage(), held=held))

    def _scored(self, request: Request, scorer: Scorer) -> None:
        message = encode("scored", id=request.id, mean=scorer.mean, tokens=scorer.length, usage=request.usage())
        self._finish(request, message)

    def _save(self) -> None:
        if self._unsaved is not None:
            self._slots.save(*self._unsaved)
            self._unsaved = None
            self.settled.set()

    def _tell_progress(self, request: Request, count: int, elapsed: float) -> None:
        held = self._slots.held(request)
        phase = "prefill" if held < len(request.prompt) else "decode"
        rate = count / elapsed if elapsed > 0 else 0.0
        self._rates[phase] = rate = _SMOOTHING * self._rates.get(phase, rate) + (1 - _SMOOTHING) * rate
        self._telling.busy(phase, request.priority, rate, held / len(request.prompt) if phase == "prefill" else None)

    def _work(self) -> dict[str, object]:
        """What was done so far, for whoever measures it."""
        return {"busy_s": self._busy_s, "decode_s": self._decode_s, "cells": self._slots.cells}
