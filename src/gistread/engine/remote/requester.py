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
from gistread.engine.remote.chat import (
    AnswerEnd,
    AnswerPiece,
    Chat,
    ChatRequest,
    estimate_prompt,
)
from gistread.engine.remote.failures import ServerLostError
from gistread.engine.remote.pace import ServerPace
from gistread.engine.text_filters import (
    ReasoningFilter,
    StopStringFilter,
    seems_thought,
)
from gistread.errors import without_keys

# Added to `max_tokens` for a model that reasons; doubled when a thought was cut off
_THINKING_TOKENS = 2048


class Activity(Observable):
    """The observable state of a remote engine.

    Whether requests are in progress, and whether text arrives.
    """

    def __init__(self) -> None:
        super().__init__()
        self._running: list[Priority] = []

    def notice(self, line: str) -> None:
        """Publish a problem in one line without changing the phase."""
        state = self.state
        if line == state.notice:
            return
        with_notice = EngineState(
            state.phase, priority=state.priority, notice=line, is_fault=True
        )
        self.publish(with_notice)

    @contextmanager
    def working(self, priority: Priority) -> Iterator[None]:
        """Count a request as running, and publish the phases of its beginning and end."""
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
        """Note that a piece of an answer has arrived."""
        if self.state.phase in (Phase.IDLE, Phase.PREFILL):
            priority = min(self._running, default=None)
            self.publish(EngineState(Phase.DECODE, priority=priority))


@dataclass(frozen=True, slots=True)
class _Reply:
    """The whole answer to a request that was sent once."""

    text: str  # Without thoughts
    finish: Finish
    usage: Usage
    reasoned: bool  # Whether there was a thought
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
        # Concurrent requests; halved when the server reports overload
        self.limit = max(1, limit)
        self._granted: list[RequestSlot] = []
        self._waiting = Counter[Priority]()
        self._changed = asyncio.Condition()

    @asynccontextmanager
    async def slot(self, priority: Priority) -> AsyncIterator[RequestSlot]:
        """Wait for a slot, and hold it. Lowers the limit if the server is overloaded."""
        async with self._changed:
            self._waiting[priority] += 1
            try:
                self._preempt()
                await self._changed.wait_for(lambda: self._is_free(priority))
            finally:
                self._waiting[priority] -= 1
                self._changed.notify_all()
            slot = RequestSlot(priority, self.limit)
            self._granted.append(slot)
        try:
            yield slot
        except ServerLostError as lost:
            # Requests that fail together count once.
            if lost.busy and slot.limit == self.limit:
                self.limit = max(1, self.limit // 2)
            raise
        finally:
            self._granted.remove(slot)
            async with self._changed:
                self._changed.notify_all()

    def _is_free(self, priority: Priority) -> bool:
        must_yield = (
            priority is Priority.BACKGROUND and self._waiting[Priority.INTERACTIVE] > 0
        )
        return not must_yield and len(self._granted) < self.limit

    def _preempt(self) -> None:
        """Ask the newest background requests to end, one for each interactive one that waits."""
        free = max(0, self.limit - len(self._granted))
        lacking = max(0, self._waiting[Priority.INTERACTIVE] - free)
        background = [
            slot for slot in self._granted if slot.priority is Priority.BACKGROUND
        ]
        newest_first = background[::-1]
        for slot in newest_first[:lacking]:
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
    # Whether its replies begin within a thought, without a tag
    begins_thinking: bool = False

    async def ask(self, request: ChatRequest, priority: Priority) -> Completion:
        """The whole answer. Raises as `stream`."""
        return await first_of(self.stream(request, priority), Completion)

    async def stream(
        self, request: ChatRequest, priority: Priority
    ) -> AsyncGenerator[StreamEvent]:
        """Yield the answer as it arrives, without thoughts, then the whole.

        The text of an attempt that failed stands until there is more. Raises
        RequestRefusedError, EngineError.
        """
        restarted: StreamRestarted | None = None  # Not yielded yet
        async with aclosing(self._stream_attempts(request, priority)) as events:
            async for event in events:
                if isinstance(event, StreamRestarted):
                    restarted = event
                    continue
                if restarted is not None:
                    yield restarted
                    restarted = None
                yield event

    async def _stream_attempts(
        self, request: ChatRequest, priority: Priority
    ) -> AsyncGenerator[StreamEvent]:
        """Yield the answer as it arrives, with a restart after each attempt.

        A thought that was cut off is repeated once with more room, and an empty answer is asked for
        once more. Raises as `stream`.
        """
        connection = self.chat.connection
        failures = 0
        repeats = self._repeats_of(request)
        spent = NO_USAGE
        while True:
            has_text = False
            is_last = failures + 1 >= connection.policy.silent_attempts
            sending = self._send_in_slot(
                request, repeats.room, priority, is_last=is_last
            )
            try:
                async with aclosing(sending) as events:
                    async for event in events:
                        if isinstance(event, _Reply):
                            reply = event
                            # Before the slot is free for another request
                            asks_again = self._asks_again(reply, request, repeats)
                            break
                        has_text = has_text or isinstance(event, TextDelta)
                        yield event
                spent += reply.usage
            except _PreemptedError:
                if has_text:
                    yield StreamRestarted("a question went first")
                continue
            except ServerLostError as lost:
                failures += 1
                await connection.wait_before_retry(lost, failures)
                if has_text:
                    yield StreamRestarted(f"the server {lost.reason}")
                continue
            if not asks_again:
                yield Completion(reply.text, reply.finish, spent)
                return
            if has_text:
                yield StreamRestarted("the answer was incomplete")

    def _repeats_of(self, request: ChatRequest) -> "_Repeats":
        """For which reasons a new request may be repeated: none if its answer does not matter."""
        if request.only_warms:
            return _Repeats(0, may_think_longer=False, may_ask_again=False)
        return _Repeats(self.thinking_tokens)

    def _asks_again(
        self, reply: _Reply, request: ChatRequest, repeats: "_Repeats"
    ) -> bool:
        """Whether to repeat a request: once for a cut thought, once for an empty answer.

        Notes in `repeats` what is left, and for later requests that the model reasons.
        """
        if request.only_warms:
            return False
        if reply.reasoned:
            known_tokens = max(self.thinking_tokens, repeats.room)
            self.thinking_tokens = max(known_tokens, _THINKING_TOKENS)
        if reply.is_cut_thought and repeats.may_think_longer:
            repeats.may_think_longer = False
            repeats.room = max(2 * repeats.room, _THINKING_TOKENS)
            return True
        is_empty = not reply.text.strip() and not reply.is_cut_thought
        if is_empty and repeats.may_ask_again:
            repeats.may_ask_again = False
            # A stop string may have ended the answer within a thought. `_send` sends none if there
            # is room for one.
            repeats.room = max(repeats.room, self.thinking_tokens)
            return True
        return False

    async def _send_in_slot(
        self, request: ChatRequest, room: int, priority: Priority, *, is_last: bool
    ) -> AsyncGenerator[TextDelta | StreamRestarted | _Reply]:
        """Wait for a slot, then `_send`; holds the slot until it is closed."""
        async with self.slots.slot(priority) as slot:
            sending = self._send(request, room, slot, is_last=is_last)
            async with aclosing(sending) as events:
                async for event in events:
                    yield event

    async def _send(
        self, request: ChatRequest, room: int, slot: RequestSlot, *, is_last: bool
    ) -> AsyncGenerator[TextDelta | StreamRestarted | _Reply]:
        """Send once, with `room` tokens for reasoning.

        Raises as `Chat.ask`, and _PreemptedError.
        """
        prompt_tokens = estimate_prompt(request.prompt)
        free_tokens = self.window - prompt_tokens - request.sampling.max_tokens
        room = max(0, min(room, free_tokens))
        # A server does not apply the grammar: its answer may begin with a stop string.
        has_grammar = bool(request.sampling.grammar)
        incoming = _Incoming(
            ReasoningFilter(begun=self.begins_thinking),
            StopStringFilter(request.sampling.stop, skip_leading=has_grammar),
        )
        asking = self.chat.ask(_with_room(request, room), is_last=is_last)
        with self.activity.working(slot.priority):
            async with aclosing(asking) as answer:
                async for event in self._receive(answer, slot, incoming):
                    yield event
        reasoning = incoming.reasoning
        # A whole reply in which no thought was closed had none. The next one is streamed at once.
        had_no_thought = reasoning.begins_withheld and incoming.ended.finish == "end"
        self.begins_thinking = reasoning.began_unseen and not had_no_thought
        is_cut = incoming.is_cut_thought(has_room=bool(room))
        if not is_cut:
            withheld = reasoning.finish()
            last_text = incoming.stops.feed(withheld) + incoming.stops.finish()
            if last_text:
                yield incoming.pass_on(last_text)
            # Or nothing came but reasoning that the server keeps apart.
            is_cut = incoming.reasoned_apart and not incoming.text.strip()
        self._note_pace(prompt_tokens, incoming)
        yield _Reply(
            text="" if is_cut else without_keys(incoming.text),
            finish=incoming.ended.finish,
            usage=replace(incoming.ended.usage, seconds=incoming.seconds),
            reasoned=incoming.reasoned_apart or reasoning.reasoned,
            is_cut_thought=is_cut,
        )

    def _note_pace(self, prompt_tokens: int, incoming: "_Incoming") -> None:
        """Note how long the prompt and the answer have taken, if anything came."""
        if incoming.pieces:
            answering_s = incoming.seconds - incoming.first_piece_s
            self.pace.add_prompt(prompt_tokens, incoming.first_piece_s)
            self.pace.add_answer(incoming.pieces - 1, answering_s)

    async def _receive(
        self,
        answer: AsyncGenerator[AnswerPiece | AnswerEnd],
        slot: RequestSlot,
        incoming: "_Incoming",
    ) -> AsyncGenerator[TextDelta | StreamRestarted]:
        """Pass on an answer without thoughts, until it ends or reaches a stop string."""
        while (event := await _next(answer, slot)) is not None:
            if isinstance(event, AnswerEnd):
                incoming.ended = event
                return
            if not incoming.pieces:
                incoming.first_piece_s = incoming.seconds
            incoming.pieces += 1
            self.activity.piece()
            incoming.reasoned_apart = incoming.reasoned_apart or event.reasoning
            passed, was_all_thought = incoming.reasoning.feed(event.text)
            if was_all_thought and incoming.text:
                incoming.text = ""
                yield StreamRestarted("the text so far was reasoning")
            new_text = incoming.stops.feed(passed)
            if new_text:
                yield incoming.pass_on(new_text)
            if incoming.stops.stopped:
                incoming.ended = AnswerEnd("end", Usage(generated=incoming.pieces))
                return


@dataclass(slots=True)
class _Repeats:
    """Reasons for which a request may still be repeated."""

    room: int  # Tokens for reasoning
    may_think_longer: bool = True
    may_ask_again: bool = True


@dataclass(slots=True)
class _Incoming:
    """An answer as it comes in."""

    reasoning: ReasoningFilter
    stops: StopStringFilter
    text: str = ""  # Without thoughts, up to a stop string
    pieces: int = 0
    reasoned_apart: bool = False  # Whether the server reported separate reasoning text
    first_piece_s: float = 0.0  # When the first piece came; 0 before
    ended: AnswerEnd = field(default_factory=lambda: AnswerEnd("end"))
    _began: float = field(default_factory=time.monotonic)

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._began

    def pass_on(self, text: str) -> TextDelta:
        self.text += text
        return TextDelta(text, Usage(generated=self.pieces, seconds=self.seconds))

    def is_cut_thought(self, *, has_room: bool) -> bool:
        """Whether the answer ends within a thought.

        `has_room`: the request had further tokens for a thought.
        """
        if self.reasoning.thinking:
            return True
        if self.ended.finish != "length":
            return False
        if self.reasoning.begins_withheld:
            # It began within a thought, which was not closed.
            return True
        # Without such tokens the model was asked not to think. Some do so all the same, without
        # the marks of a thought.
        return not has_room and seems_thought(self.text)


def _with_room(request: ChatRequest, room: int) -> ChatRequest:
    """The request with `room` further tokens, for a thought.

    It has no stop strings then: a thought may contain one. Nor has it any with a grammar, since
    the answer may begin with one.
    """
    sampling = request.sampling
    stop = () if sampling.grammar or room else sampling.stop
    max_tokens = sampling.max_tokens + room
    return replace(
        request, sampling=replace(sampling, max_tokens=max_tokens, stop=stop)
    )


async def _next(
    answer: AsyncGenerator[AnswerPiece | AnswerEnd], slot: RequestSlot
) -> AnswerPiece | AnswerEnd | None:
    """The next event of an answer; None after the last.

    Raises _PreemptedError when an interactive request needs the slot.
    """
    if slot.priority is Priority.INTERACTIVE:
        return await anext(answer, None)
    event = asyncio.ensure_future(anext(answer, None))
    preempted = asyncio.ensure_future(slot.preempted.wait())
    try:
        await asyncio.wait({event, preempted}, return_when=asyncio.FIRST_COMPLETED)
        if event.done():
            return event.result()
        raise _PreemptedError
    finally:
        preempted.cancel()
        if not event.done():
            event.cancel()
            await asyncio.gather(event, return_exceptions=True)
