"""A context and the requests that run in it: who has which sequence, and what goes into the next batch.

People's requests and background work run in lanes of their own (`scheduler.py`). So a question never costs the
reading its place in the cache, nor the other way round, and what background work yields does not depend on
which questions came between.

That independence goes to the last bit. llama.cpp's arithmetic depends on how a prompt is cut into batches and
on where in the cache it lies: the same prompt after a different history gave probabilities up to 0.02 apart,
enough to turn a close decision. An `exact` lane has one sequence, always cuts at multiples of the batch size, and
reuses only whole batches: there, the same prompt gives the same logits, whatever came before.
"""

import time

from gistread.engine.llama.worker.context import BatchToken, Context, Outcome
from gistread.engine.llama.worker.sequences import Request, Slot, common_prefix

_KEEP_SHARE = 0.5
"""A slot is taken over when at least this share of what it holds is wanted; else its beginning is copied."""


class Lane:
    """Slots over one context. Belongs to the loop, but for `interrupt_for`."""

    def __init__(self, context: Context, *, exact: bool) -> None:
        self.context = context
        self._exact = exact
        self._slots = [Slot(number) for number in range(context.sequences)]
        self._running: list[Request] = []
        """Requests that have a slot, in the order of arrival."""

    def admit(self, request: Request) -> None:
        """Give a waiting request a slot and the cells it may need, if they can be had now."""
        idle = [slot for slot in self._slots if not slot.busy]
        if not idle:
            return
        target = self._take_slot(request, idle)
        if not self._make_room(request, target):
            return
        target.busy = True
        request.slot = target
        request.reused = len(target.tokens)
        self._running.append(request)

    def release(self, request: Request) -> None:
        """Take the slot back; what it holds stays for the next request."""
        if request.slot is not None:
            request.slot.busy = False
            request.slot.used_at = time.monotonic()
            self._running.remove(request)

    def fill_batch(self) -> tuple[list[Request], list[BatchToken]]:
        """Decoding sequences first, then prompts in the order of arrival, up to one batch."""
        room = self.context.batch_tokens
        chosen: list[Request] = []
        tokens: list[BatchToken] = []
        for request in sorted(self._running, key=lambda r: r.prefilling):
            assert request.slot is not None
            if not room:
                break
            start = len(request.slot.tokens)
            count = min(request.pending, room)
            if self._exact:
                count = min(count, self.context.batch_tokens - start % self.context.batch_tokens)
            everything = request.all_tokens
            for position in range(start, start + count):
                last = position == len(everything) - 1
                tokens.append(BatchToken(everything[position], position, request.slot.number, last))
            room -= count
            chosen.append(request)
        return chosen, tokens

    def evaluate(self, chosen: list[Request], tokens: list[BatchToken]) -> Outcome:
        """Evaluate a batch and book what the slots hold now. Unless it is done, they hold what they held before."""
        outcome = self.context.evaluate(tokens)
        slots = {request.slot.number: request.slot for request in chosen if request.slot}
        if outcome is Outcome.DONE:
            for item in tokens:
                slots[item.sequence].tokens.append(item.token)
        else:
            for slot in slots.values():
                self._cut(slot, len(slot.tokens))
        if outcome is Outcome.FULL:
            for slot in self._slots:
                if not slot.busy:
                    self._cut(slot, 0)
        return outcome

    def close(self) -> None:
        self.context.close()

    def _take_slot(self, request: Request, idle: list[Slot]) -> Slot:
        """The idle slot to use, cut or filled so that it holds as much of the request's beginning as is known."""
        wanted = request.prompt
        # The last token is always evaluated: its logits decide the next one.
        shared = {slot.number: min(common_prefix(slot.tokens, wanted), len(wanted) - 1) for slot in self._slots}
        source = max(self._slots, key=lambda slot: (shared[slot.number], not slot.busy))
        length = shared[source.number]
        if self._exact:
            length -= length % self.context.batch_tokens
        oldest = min(idle, key=lambda slot: (bool(slot.tokens), slot.used_at))
        if not source.busy and (source is oldest or length >= _KEEP_SHARE * len(source.tokens)):
            self._cut(source, length)
            return source
        self._cut(oldest, 0)
        if length and self.context.weights.can_roll_back:
            self.context.fork(source.number, oldest.number, length)
            oldest.tokens = source.tokens[:length]
        return oldest

    def _make_room(self, request: Request, target: Slot) -> bool:
        """Empty idle slots, the least recently used first, until the cells the request may need are free."""
        needed = len(request.prompt) + request.max_tokens
        others = [slot for slot in self._slots if slot is not target]
        # Shared cells are counted for each slot that shares them: too careful, never too little.
        held = sum(self._reserved(slot) for slot in others)
        for slot in sorted((s for s in others if not s.busy and s.tokens), key=lambda s: s.used_at):
            if held + needed <= self.context.cells:
                break
            held -= len(slot.tokens)
            self._cut(slot, 0)
        return held + needed <= self.context.cells

    def _reserved(self, slot: Slot) -> int:
        for request in self._running:
            if request.slot is slot:
                return len(request.prompt) + request.max_tokens
        return len(slot.tokens)

    def _cut(self, slot: Slot, length: int) -> None:
        slot.tokens = slot.tokens[:length] if self.context.cut(slot.number, length) else []
