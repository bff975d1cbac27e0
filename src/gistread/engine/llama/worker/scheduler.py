"""Decides which tokens are evaluated next. One step evaluates one batch.

Interactive requests interrupt background work and run alone; an interrupted request keeps its cells
if possible. Running sequences decode together. On a graphics card new prompts fill the rest of the
batch. On a processor a batch of prompts takes as long as dozens of decoded tokens, so prompts and
decoding take turns: a gist need not wait for the prompts of later pages. The main loop calls
`submit`, `cancel` and `step`; the reader thread calls `interrupt_for`.
"""

import time
from collections import Counter
from collections.abc import Callable
from typing import Literal

from gistread.engine.llama import messages
from gistread.engine.llama.messages import Event, Reply
from gistread.engine.llama.worker.context import BatchToken, Outcome
from gistread.engine.llama.worker.loading import LoadedModel
from gistread.engine.llama.worker.requests import ScheduledRequest
from gistread.engine.llama.worker.sampling import FreeSampler, OptionSampler
from gistread.engine.llama.worker.slots import SequencePool, Slots
from gistread.engine.llama.worker.streams import Streams
from gistread.engine.protocol import (
    Choice,
    Completion,
    EngineState,
    Phase,
    Priority,
    TextDelta,
)

# Weight of earlier batches in the rate of a phase, from batch to batch
_REMEMBERED = 0.9
_STATUS_INTERVAL_S = 0.1
_NEVER_S = -1.0  # Before any time of a clock
# Seconds of decoding for each second of prompts, on a processor. Favouring prompts lets more
# sequences decode together.
_DECODE_WEIGHT = 0.3


class Scheduler:
    """Takes requests and sends events, one `step` at a time."""

    def __init__(
        self,
        model: LoadedModel,
        send: Callable[[Event, int], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._clock = clock
        self.model = model
        self._send = send
        placement = model.info.placement
        self._on_gpu = placement is not None and placement.gpu_layers > 0
        self._slots = Slots(model.context, model.cache_files)
        self._streams = Streams(model.streams) if model.streams else None
        self._pools: list[SequencePool] = [
            pool for pool in (self._slots, self._streams) if pool is not None
        ]
        # Running and waiting, in order of arrival
        self._requests: list[ScheduledRequest] = []
        self._evaluating: tuple[ScheduledRequest, ...] = ()
        # When each phase was last reported; empty while idle
        self._reported_s: dict[Phase, float] = {}
        # Tokens and seconds by phase, later ones weigh more
        self._spent: dict[Phase, tuple[float, float]] = {}
        # Whether it is the turn of decoding, not prompts; None: no turns
        self._decodes: bool | None = None
        self._owed_s = 0.0  # Time owed to decoding; below 0, to prompts

    @property
    def idle(self) -> bool:
        return not self._requests and not self._reported_s

    def submit(self, request: ScheduledRequest) -> None:
        is_background = request.priority is Priority.BACKGROUND
        if self._streams is not None and is_background and not request.cacheable:
            request.in_stream = self._streams.has_room_for(request)
        self._requests.append(request)

    def cancel(self, request_id: int) -> None:
        cancelled = [request for request in self._requests if request.id == request_id]
        for request in cancelled:
            self._finish(request, None)  # Nobody waits for a reply

    def interrupt_for(
        self, priority: Priority | None, request_id: int | None = None
    ) -> None:
        """Stop the running batch if it delays this priority or is for this request.

        `priority`: None if no request has come. Called by the reader thread.
        """
        requests = self._evaluating
        if not requests:
            return
        is_delayed = priority is not None and all(
            request.priority > priority for request in requests
        )
        is_concerned = any(request.id == request_id for request in requests)
        if is_delayed or is_concerned:
            for pool in self._pools:
                pool.context.interrupt()

    def step(self) -> None:
        """Evaluate one batch and send the events that result."""
        if not self._requests:
            if self._reported_s:
                self._reported_s.clear()
                self._send(EngineState(Phase.IDLE), 0)
            return
        urgent = min(request.priority for request in self._requests)
        self._admit(urgent)
        chosen, tokens = self._fill_batch(urgent)
        started = self._clock()
        self._evaluating = tuple(chosen)
        outcome = self._pool_of(chosen[0]).evaluate(tokens)
        self._evaluating = ()
        for pool in self._pools:
            pool.context.clear_interrupt()
        elapsed = self._clock() - started
        if self._decodes:
            self._owed_s -= elapsed
        elif self._decodes is not None:
            self._owed_s += _DECODE_WEIGHT * elapsed
        shares = Counter[int | None](item.sequence for item in tokens)
        for request in chosen:
            request.worked_s += elapsed * shares[request.sequence] / len(tokens)
        if outcome is Outcome.DONE:
            self._advance(chosen, tokens, elapsed)

    def _pool_of(self, request: ScheduledRequest) -> SequencePool:
        if request.in_stream and self._streams is not None:
            return self._streams
        return self._slots

    def _admit(self, priority: Priority) -> None:
        """Give waiting requests of this priority sequences, in order of arrival."""
        running = sum(
            request.priority is priority and request.sequence is not None
            for request in self._requests
        )
        full: set[SequencePool] = set()
        for request in self._requests:
            if request.priority is not priority or request.sequence is not None:
                continue
            if running >= self.model.info.parallel:
                return
            pool = self._pool_of(request)
            # `admit` gives it a sequence, or returns False until there is room for one.
            while pool not in full and not pool.admit(request):
                less_urgent = [
                    other for other in pool.running if other.priority > priority
                ]
                if less_urgent:
                    pool.release(less_urgent[-1])  # It waits again, and resumes later.
                else:
                    full.add(pool)  # Later requests do not overtake this one
            if pool not in full:
                running += 1

    def _fill_batch(
        self, priority: Priority
    ) -> tuple[list[ScheduledRequest], list[BatchToken]]:
        """The tokens to evaluate next, and the requests that they belong to."""
        chosen: list[ScheduledRequest] = []
        batch: list[BatchToken] = []
        first = next(
            request
            for request in self._requests
            if request.priority is priority and request.sequence is not None
        )
        pool = self._pool_of(first)
        room = pool.context.batch_tokens
        for request in self._requests_to_advance(pool, priority):
            assert request.sequence is not None
            start = pool.evaluated(request)
            tokens = request.tokens[start : start + room]
            if not tokens:  # The batch is full.
                break
            for position, token in enumerate(tokens, start):
                # The token after the last one is sampled.
                is_last = position == request.length - 1
                batch.append(BatchToken(token, position, request.sequence, is_last))
            room -= len(tokens)
            chosen.append(request)
        return chosen, batch

    def _requests_to_advance(
        self, pool: SequencePool, priority: Priority
    ) -> list[ScheduledRequest]:
        """The running requests whose tokens come next: decoding ones, prompts, or both."""
        running = [request for request in pool.running if request.priority is priority]
        decoding = [request for request in running if pool.pending(request) == 1]
        prompts = [request for request in running if request not in decoding]
        if decoding and prompts and not self._on_gpu:
            self._decodes = self._owed_s >= 0
            running = decoding if self._decodes else prompts
        else:
            self._decodes = None
            self._owed_s = 0.0
            running = decoding + prompts
        # Streams: all texts that decode together, or one prompt at a time.
        if isinstance(pool, Streams):
            return pool.compact(decoding) if running[0] in decoding else running[:1]
        return running

    def _advance(
        self, chosen: list[ScheduledRequest], tokens: list[BatchToken], elapsed: float
    ) -> None:
        """Report the phase, count the tokens evaluated, and sample the next ones."""
        requests = {request.sequence: request for request in chosen}
        counts = Counter(requests[item.sequence] for item in tokens)
        first = chosen[0]
        pool = self._pool_of(first)
        evaluated = pool.evaluated(first)
        has_one_each = len(tokens) == len(chosen)
        phase = Phase.DECODE if has_one_each else Phase.PREFILL
        rate = self._rate_of(phase, len(tokens), elapsed)
        reported_s = self._reported_s.get(phase, _NEVER_S)
        if self._clock() - reported_s >= _STATUS_INTERVAL_S:
            self._reported_s[phase] = self._clock()
            fraction = evaluated / len(first.prompt) if phase is Phase.PREFILL else None
            self._send(EngineState(phase, fraction, rate, first.priority), 0)
        for request, count in counts.items():
            evaluated_before = pool.evaluated(request) - count
            if evaluated_before < len(request.prompt):
                request.prefilled += count
        for index, item in enumerate(tokens):
            request = requests[item.sequence]
            if item.wants_logits:
                self._sample(request, index)

    def _rate_of(self, phase: Phase, batch_tokens: int, elapsed: float) -> float:
        """Tokens a second of a phase, with this batch and the earlier ones."""
        tokens, seconds = self._spent.get(phase, (0.0, 0.0))
        tokens = _REMEMBERED * tokens + batch_tokens
        seconds = _REMEMBERED * seconds + elapsed
        self._spent[phase] = tokens, seconds
        return tokens / seconds if seconds > 0 else 0.0

    def _sample(self, request: ScheduledRequest, output: int) -> None:
        """Sample a request's next token, and send or end its answer.

        `output`: place in the last batch of the token before it.
        """
        try:
            token = request.sampler.sample(self._pool_of(request).context, output)
        except ValueError as error:
            self._finish(request, messages.Failed(str(error)))
            return
        request.generated.append(token)
        if isinstance(request.sampler, OptionSampler):
            index = request.sampler.chosen
            if index is not None:
                probability = request.sampler.probability
                self._finish(request, Choice(index, probability, request.usage()))
        elif self.model.weights.ends_turn(token):
            self._end_text(request, "end")
        else:
            self._emit(request, request.stream.feed(self.model.weights.piece(token)))
            if request.stream.stopped:
                self._end_text(request, "end")
            elif len(request.generated) >= request.max_tokens:
                self._end_text(request, "length")

    def _end_text(
        self, request: ScheduledRequest, finish: Literal["end", "length"]
    ) -> None:
        self._emit(request, request.stream.finish())
        if isinstance(request.sampler, FreeSampler):
            score = request.sampler.log_probability
        else:
            score = None
        completion = Completion(request.stream.text, finish, request.usage(), score)
        self._finish(request, completion)

    def _emit(self, request: ScheduledRequest, text: str) -> None:
        if text:
            self._send(TextDelta(text, request.usage()), request.id)

    def _finish(self, request: ScheduledRequest, reply: Reply | None) -> None:
        """Free what a request holds, and send its last reply, if any."""
        self._slots.save(request.prompt[: request.cacheable])
        self._pool_of(request).release(request)
        if isinstance(request.sampler, FreeSampler):
            request.sampler.close()
        self._requests.remove(request)
        if reply is not None:
            self._send(reply, request.id)
