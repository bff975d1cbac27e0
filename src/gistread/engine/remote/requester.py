"""Sends requests to a server.

Waits for a slot, retries transient failures, filters reasoning and stop strings.
"""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import aclosing, asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace

from gistread.engine.concurrency import Observable
from gistread.engine.protocol import (
    NO_USAGE,
    Completion,
    EngineState,
    Finish,
    Phase,
    Priority,
    StreamEvent,
    StreamRestarted,
    TextDelta,
    Usage,
    first_of,
)
from gistread.engine.remote.chat import AnswerEnd, AnswerPiece, Chat, ChatRequest, estimate_prompt
from gistread.engine.remote.failures import ServerLostError
from gistread.engine.remote.pace import ServerPace
from gistread.engine.text_filters import ReasoningFilter, StopStringFilter, seems_thought
from gistread.errors import without_keys

_THINKING_TOKENS = (
    2048  # Added to `max_tokens` for a model that reasons; doubled when a thought was cut off
)


class Activity(Observable):
    """The observable state of a remote engine.

    Whether requests are in progress, and whether text arrives.
    """

    def __init__(self) -> None:
        super().__init__()
        self._running: list[Priority] = []

    def notice(self, line: str) -> None:
        """Publish a problem in one line without changing the phase."""
        if line != self.state.notice:
            self.publish(
                EngineState(
                    self.state.phase, priority=self.state.priority, notice=line, is_fault=True
                )
            )

    @contextmanager
    def working(self, priority: Priority) -> Iterator[None]:
        self._running.append(priority)
        if self.state.phase in (Phase.IDLE, Phase.PREFILL):
            self.publish(EngineState(Phase.PREFILL, priority=min(self._running)))
        try:
            yield
        finally:
            self._running.remove(priority)
            if not self._running and self.state.phase in (Phase.PREFILL, Phase.DECODE):
                self.publish(EngineState(Phase.IDLE))

    def piece(self) -> None:
        if self.state.phase in (Phase.IDLE, Phase.PREFILL):
            self.publish(EngineState(Phase.DECODE, priority=min(self._running, default=None)))


@dataclass(frozen=True, slots=True)
class _Reply:
    """What one request got."""

    text: str  # Without thoughts
    finish: Finish
    usage: Usage
    reasoned: bool
    is_cut_thought: bool  # Whether it ended within a thought, so that there is no text


@dataclass(eq=False, slots=True)
class RequestSlot:
    priority: Priority
    limit: int  # Of all slots when it was granted
    # Set when the request should end and be sent again later.
    preempted: asyncio.Event = field(default_factory=asyncio.Event)


class RequestSlots:
    """A priority semaphore. An interactive request preempts a background one."""

    def __init__(self, limit: int) -> None:
        self.limit = max(1, limit)  # Concurrent requests; halved when the server reports overload
        self._taken: list[RequestSlot] = []
        self._waiting = Counter[Priority]()
        self._changed = asyncio.Condition()

    @asynccontextmanager
    async def slot(self, priority: Priority) -> AsyncIterator[RequestSlot]:
        async with self._changed:
            self._waiting[priority] += 1
            try:
                self._preempt()
                await self._changed.wait_for(lambda: self._is_free(priority))
            finally:
                self._waiting[priority] -= 1
                self._changed.notify_all()
            slot = RequestSlot(priority, self.limit)
            self._taken.append(slot)
        try:
            yield slot
        except ServerLostError as lost:
            if lost.busy and slot.limit == self.limit:  # Requests that fail together count once.
                self.limit = max(1, self.limit // 2)
            raise
        finally:
            self._taken.remove(slot)
            async with self._changed:
                self._changed.notify_all()

    def _is_free(self, priority: Priority) -> bool:
        goes_first = priority is Priority.INTERACTIVE or not self._waiting[Priority.INTERACTIVE]
        return goes_first and len(self._taken) < self.limit

    def _preempt(self) -> None:
        """Ask the newest background requests to end, as many as interactive ones lack a slot."""
        wanted = self._waiting[Priority.INTERACTIVE] - max(0, self.limit - len(self._taken))
        background = [
            slot for slot in reversed(self._taken) if slot.priority is Priority.BACKGROUND
        ]
        for slot in background[: max(0, wanted)]:
            slot.preempted.set()


class _PreemptedError(Exception):
    """An interactive request needs the slot."""


@dataclass(eq=False, slots=True)
class Requester:
    chat: Chat
    slots: RequestSlots
    activity: Activity
    window: int  # Of the model, in tokens
    schema_misses: int = 0  # Replies outside a schema; many if the server takes none
    thinking_tokens: int = 0  # Added to each request once the model is known to reason
    pace: ServerPace = field(default_factory=ServerPace)
    begins_thinking: bool = False  # Whether its replies begin within a thought, without a tag

    async def ask(self, request: ChatRequest, priority: Priority) -> Completion:
        """The whole answer. Raises as `stream`."""
        return await first_of(self.stream(request, priority), Completion)

    async def stream(self, request: ChatRequest, priority: Priority) -> AsyncGenerator[StreamEvent]:
        """Yield the answer as it arrives, without thoughts, then the whole. Raises
        RequestRefusedError, EngineError.

        A thought that was cut off is repeated once with more room, and an empty answer is asked for
        once more.
        """
        failures = 0
        room = 0 if request.only_warms else self.thinking_tokens
        may_think_longer = may_ask_again = not request.only_warms
        spent = NO_USAGE
        while True:
            streamed = False
            try:
                async with self.slots.slot(priority) as slot:
                    is_last = failures + 1 >= self.chat.connection.policy.silent_attempts
                    async with aclosing(self._send(request, room, slot, is_last=is_last)) as events:
                        async for event in events:
                            if not isinstance(event, _Reply):
                                streamed = streamed or isinstance(event, TextDelta)
                                yield event
                                continue
                            spent += event.usage
                            if event.reasoned and not request.only_warms:
                                self.thinking_tokens = max(
                                    self.thinking_tokens, room, _THINKING_TOKENS
                                )
                            if event.is_cut_thought and may_think_longer:
                                may_think_longer = False
                                room = max(2 * room, _THINKING_TOKENS)
                            elif not (event.text.strip() or event.is_cut_thought) and may_ask_again:
                                may_ask_again = False
                                # A stop string may have followed the thought; with room for one it
                                # is not sent.
                                room = max(room, self.thinking_tokens)
                            else:
                                yield Completion(event.text, event.finish, spent)
                                return
                            if streamed:
                                yield StreamRestarted("the answer was incomplete")
            except _PreemptedError:
                if streamed:
                    yield StreamRestarted("a question went first")
            except ServerLostError as lost:
                failures += 1
                await self.chat.connection.wait_before_retry(lost, failures)
                if streamed:
                    yield StreamRestarted(f"the server {lost.reason}")

    async def _send(
        self, request: ChatRequest, room: int, slot: RequestSlot, *, is_last: bool
    ) -> AsyncGenerator[TextDelta | StreamRestarted | _Reply]:
        """Send once, with `room` tokens for reasoning.

        Raises as `Chat.ask`, and _PreemptedError.
        """
        wanted = request.sampling
        room = max(0, min(room, self.window - estimate_prompt(request.prompt) - wanted.max_tokens))
        # Without its grammar an answer may begin with a stop string, and a thought may contain one.
        stops = StopStringFilter(wanted.stop, skip_leading=bool(wanted.grammar))
        to_server = () if wanted.grammar or room else wanted.stop
        sampling = replace(wanted, max_tokens=wanted.max_tokens + room, stop=to_server)
        began = time.monotonic()
        reasoning = ReasoningFilter(begun=self.begins_thinking)
        text, reasoned_apart, pieces = "", False, 0
        first_piece_s = 0.0
        ended = AnswerEnd("end")
        with self.activity.working(slot.priority):
            async with aclosing(
                self.chat.ask(replace(request, sampling=sampling), is_last=is_last)
            ) as answer:
                while (event := await _next(answer, slot)) is not None:
                    if isinstance(event, AnswerEnd):
                        ended = event
                        break
                    pieces += 1
                    first_piece_s = first_piece_s or time.monotonic() - began
                    self.activity.piece()
                    reasoned_apart = reasoned_apart or event.reasoning
                    said, void = reasoning.feed(event.text)
                    if void and text:
                        text = ""
                        yield StreamRestarted("the text so far was reasoning")
                    if new := stops.feed(said):
                        text += new
                        yield TextDelta(
                            new, Usage(generated=pieces, seconds=time.monotonic() - began)
                        )
                    if stops.stopped:
                        ended = AnswerEnd("end", Usage(generated=pieces))
                        break
        # A reply that ends without closing a thought had none, so that the next one is streamed at
        # once.
        self.begins_thinking = reasoning.began_unseen and not (
            reasoning.begins_withheld and ended.finish == "end"
        )
        is_cut = reasoning.thinking or (
            ended.finish == "length"
            and (reasoning.begins_withheld or (not room and seems_thought(text)))
        )
        if not is_cut and (new := stops.feed(reasoning.finish()) + stops.finish()):
            text += new
            yield TextDelta(new, Usage(generated=pieces, seconds=time.monotonic() - began))
        is_cut = is_cut or (reasoned_apart and not text.strip())
        usage = replace(ended.usage, seconds=time.monotonic() - began)
        if pieces:
            self.pace.add_prompt(estimate_prompt(request.prompt), first_piece_s)
            self.pace.add_answer(pieces - 1, usage.seconds - first_piece_s)
        reasoned = reasoned_apart or reasoning.reasoned
        yield _Reply("" if is_cut else without_keys(text), ended.finish, usage, reasoned, is_cut)


async def _next(
    answer: AsyncGenerator[AnswerPiece | AnswerEnd], slot: RequestSlot
) -> AnswerPiece | AnswerEnd | None:
    """Raises _PreemptedError when an interactive request needs the slot."""
    if slot.priority is Priority.INTERACTIVE:
        return await anext(answer, None)
    step = asyncio.ensure_future(anext(answer, None))
    preempted = asyncio.ensure_future(slot.preempted.wait())
    try:
        await asyncio.wait({step, preempted}, return_when=asyncio.FIRST_COMPLETED)
        if step.done():
            return step.result()
        raise _PreemptedError
    finally:
        preempted.cancel()
        if not step.done():
            step.cancel()
            await asyncio.gather(step, return_exceptions=True)
