"""Which tokens are evaluated next, and for whom.

One step is one batch in one lane. People go before background work: as long as a person's request runs, nothing
else is evaluated, and one that arrives interrupts a batch of background work at once. Within a lane running
sequences decode together, and what room is left in the batch is filled with the prompts of those that wait.

The loop of `__main__.py` calls `submit`, `cancel` and `step`; the reader thread only `interrupt_for`.
"""

import time
from collections.abc import Callable

from gistread.engine.llama.messages import encode
from gistread.engine.llama.worker.context import BatchToken, Context, Outcome
from gistread.engine.llama.worker.lane import Lane
from gistread.engine.llama.worker.loading import LoadedModel
from gistread.engine.llama.worker.sampling import OptionSampler
from gistread.engine.llama.worker.sequences import Request
from gistread.engine.protocol import Priority

_STATE_EVERY_S = 0.1
_SMOOTHING = 0.8
_CELLS_STEP = 1024
"""The background lane's cache grows in steps of so many tokens."""


class Scheduler:
    """Requests in, events out (`send`), one `step` at a time."""

    def __init__(self, model: LoadedModel, send: Callable[[bytes], None]) -> None:
        self._model = model
        self._weights = model.weights
        self._send = send
        self._lanes = {Priority.PERSON: Lane(model.context, exact=False)}
        self._requests: list[Request] = []
        """Running and waiting, in the order of arrival."""
        self._evaluating: tuple[Context, tuple[Request, ...]] | None = None
        self._state_sent_at = 0.0
        self._idle_sent = False
        self._rates: dict[str, float] = {}
        """Tokens a second by phase, smoothed: single batches jump about."""

    @property
    def idle(self) -> bool:
        return not self._requests

    def submit(self, request: Request) -> None:
        self._requests.append(request)

    def cancel(self, request_id: int) -> None:
        for request in self._requests:
            if request.id == request_id:
                request.cancelled = True

    def interrupt_for(self, priority: Priority | None, request_id: int | None = None) -> None:
        """From the reader thread: stop the running batch if it makes this priority wait or is for this request."""
        if self._evaluating is None:
            return
        context, requests = self._evaluating
        waits = priority is not None and all(request.priority > priority for request in requests)
        if waits or any(request.id == request_id for request in requests):
            context.interrupt()

    def step(self) -> None:
        """Evaluate one batch and tell what came of it."""
        for request in [r for r in self._requests if r.cancelled]:
            self._finish(request, encode("cancelled", id=request.id))
        if self.idle:
            self._tell_idle()
            return
        urgent = min(request.priority for request in self._requests)
        if (lane := self._lane(urgent)) is None:
            return
        for request in self._requests:
            if request.priority == urgent and request.slot is None:
                lane.admit(request)
        chosen, tokens = lane.fill_batch()
        started = time.monotonic()
        self._evaluating = (lane.context, tuple(chosen))
        outcome = lane.evaluate(chosen, tokens)
        self._evaluating = None
        lane.context.allow()
        elapsed = time.monotonic() - started
        for request in chosen:
            request.worked_s += elapsed / len(chosen)
        if outcome is Outcome.DONE:
            self._advance(lane.context, chosen, tokens, elapsed)

    def _lane(self, priority: Priority) -> Lane | None:
        """The lane for these requests. None when the one for background work cannot be made: its request has failed.

        That lane is made when it is first needed, as large as its request needs, and made anew, larger, when one
        needs more.
        """
        if priority is Priority.PERSON:
            return self._lanes[priority]
        request = next(r for r in self._requests if r.priority is priority)
        needed = -(-(len(request.prompt) + request.max_tokens) // _CELLS_STEP) * _CELLS_STEP
        lane = self._lanes.get(priority)
        if lane is not None and (request.slot is not None or lane.context.cells >= needed):
            return lane
        if lane is not None:
            lane.close()
            del self._lanes[priority]
        try:
            lane = Lane(self._model.new_context(cells=needed, sequences=1), exact=True)
        except MemoryError as error:
            self._finish(request, encode("error", id=request.id, message=str(error)))
            return None
        self._lanes[priority] = lane
        return lane

    def _advance(self, context: Context, chosen: list[Request], tokens: list[BatchToken], elapsed: float) -> None:
        """Count what was evaluated and decide the next token of each sequence that is ready for it."""
        requests = {request.slot.number: request for request in chosen if request.slot}
        counts = dict.fromkeys(requests, 0)
        outputs: dict[int, int] = {}
        for index, item in enumerate(tokens):
            counts[item.sequence] += 1
            if item.wants_logits:
                outputs[item.sequence] = index
        for number, request in requests.items():
            if request.prefilling:
                request.prefilled += counts[number]
            self._tell_progress(request, counts[number], elapsed)
            if number in outputs:
                self._decide(context, request, outputs[number])

    def _decide(self, context: Context, request: Request, output: int) -> None:
        try:
            token = request.sampler.sample(context, output)
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
            self._send(encode("delta", id=request.id, text=text))

    def _finish(self, request: Request, message: bytes) -> None:
        """Free the slot and say how it ended."""
        if request.slot is not None:
            self._lanes[request.priority].release(request)
        request.sampler.close()
        self._requests.remove(request)
        self._send(message)

    def _tell_progress(self, request: Request, count: int, elapsed: float) -> None:
        now = time.monotonic()
        if now - self._state_sent_at < _STATE_EVERY_S:
            return
        self._state_sent_at = now
        self._idle_sent = False
        held = len(request.slot.tokens) if request.slot else 0
        phase = "prefill" if held < len(request.prompt) else "decode"
        rate = count / elapsed if elapsed > 0 else 0.0
        self._rates[phase] = rate = _SMOOTHING * self._rates.get(phase, rate) + (1 - _SMOOTHING) * rate
        self._send(
            encode(
                "state",
                phase=phase,
                fraction=held / len(request.prompt) if phase == "prefill" else None,
                tokens_per_s=rate,
                priority=request.priority,
            )
        )

    def _tell_idle(self) -> None:
        if not self._idle_sent:
            self._idle_sent = True
            self._state_sent_at = 0.0
            self._send(encode("state", phase="idle", fraction=None, tokens_per_s=None, priority=None))
