"""Sends requests to a server: in turn, again after transient failures, without reasoning and stop strings."""

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, replace
from typing import Literal

from gistread.engine.concurrency import Observable
from gistread.engine.protocol import NO_USAGE, EngineState, Phase, Priority, StreamRestarted, TextDelta, Usage
from gistread.engine.remote.chat import AnswerEnd, Chat, ChatRequest, estimate_prompt
from gistread.engine.remote.failures import Retrier, ServerLostError
from gistread.engine.text_filters import ReasoningFilter, StopStringFilter, seems_thought
from gistread.errors import EngineError, without_keys

_THINKING_TOKENS = 2048  # Added to `max_tokens` for a model that reasons; doubled when a thought was cut off


class Activity(Observable):
    """The observable state of a remote engine, and the turns of its requests."""

    def __init__(self) -> None:
        super().__init__()
        self.limit = 1  # Concurrent requests in the background; halved when the server reports overload
        self._running: list[Priority] = []
        self._changed = asyncio.Condition()

    def notice(self, line: str) -> None:
        """Publish a problem in one line without changing the phase."""
        if line != self.state.notice:
            self.publish(EngineState(self.state.phase, priority=self.state.priority, notice=line, is_fault=True))

    @asynccontextmanager
    async def turn(self, priority: Priority) -> AsyncIterator[None]:
        """Publish that a request is in progress. One in the background first waits for others, and for questions."""
        async with self._changed:
            if priority is Priority.BACKGROUND:
                await self._changed.wait_for(self._has_room)
            self._running.append(priority)
        if self.state.phase in (Phase.IDLE, Phase.PREFILL):
            self.publish(EngineState(Phase.PREFILL, priority=min(self._running)))
        limit = self.limit
        try:
            yield
        except ServerLostError as lost:
            if lost.busy and limit == self.limit:  # Requests that fail together count once.
                self.limit = max(1, limit // 2)
            raise
        finally:
            self._running.remove(priority)
            if not self._running and self.state.phase in (Phase.PREFILL, Phase.DECODE):
                self.publish(EngineState(Phase.IDLE))
            async with self._changed:
                self._changed.notify_all()

    def _has_room(self) -> bool:
        return Priority.INTERACTIVE not in self._running and len(self._running) < self.limit

    def piece(self) -> None:
        if self.state.phase in (Phase.IDLE, Phase.PREFILL):
            self.publish(EngineState(Phase.DECODE, priority=min(self._running, default=None)))


@dataclass(frozen=True, slots=True)
class Reply:
    text: str  # Without thoughts; empty if one was cut off
    finish: Literal["end", "length"]
    usage: Usage
    reasoned: bool = False


Ask = Callable[[ChatRequest], Awaitable[Reply]]  # Sends a request and returns the whole reply


@dataclass(eq=False, slots=True)
class Requester:
    chat: Chat
    retrier: Retrier
    activity: Activity
    window: int  # Of the model, in tokens
    thinking_tokens: int = 0  # Added to each request once the model is known to reason
    begins_thinking: bool = False  # Whether its replies begin within a thought, without a tag

    def with_priority(self, priority: Priority) -> Ask:
        """A function that requests whole replies. It raises as `stream`."""

        async def ask(request: ChatRequest) -> Reply:
            async with aclosing(self.stream(request, priority)) as events:
                async for event in events:
                    if isinstance(event, Reply):
                        return event
            raise EngineError("The model ended without an answer.")

        return ask

    async def stream(
        self, request: ChatRequest, priority: Priority
    ) -> AsyncGenerator[TextDelta | StreamRestarted | Reply]:
        """Yield the answer as it arrives, then the whole `Reply`. Raises RequestRefusedError, EngineError.

        An empty answer, or a thought that was cut off, is asked for once more with more room.
        """
        failures = 0
        room, may_repeat = self.thinking_tokens, True
        spent = NO_USAGE
        while True:
            streamed, why = False, "the answer was incomplete"
            try:
                async with self.activity.turn(priority), aclosing(self._send(request, room)) as events:
                    async for event in events:
                        if not isinstance(event, Reply):
                            streamed = streamed or isinstance(event, TextDelta)
                            yield event
                            continue
                        spent += event.usage
                        if event.reasoned:
                            self.thinking_tokens = max(self.thinking_tokens, room, _THINKING_TOKENS)
                        if event.text.strip() or not may_repeat:
                            yield replace(event, usage=spent)
                            return
                        may_repeat = False
                        # A stop string may have followed the thought; with room for one it is not sent.
                        room = max(2 * room, _THINKING_TOKENS)
            except ServerLostError as lost:
                failures += 1
                await self.retrier.wait_before_retry(lost, failures)
                why = f"the server {lost.reason}"
            if streamed:
                yield StreamRestarted(why)

    async def _send(self, request: ChatRequest, room: int) -> AsyncGenerator[TextDelta | StreamRestarted | Reply]:
        """Send once, with `room` tokens for reasoning. Raises as `Chat.ask`."""
        wanted = request.sampling
        room = max(0, min(room, self.window - estimate_prompt(request.prompt) - wanted.max_tokens))
        # Without its grammar an answer may begin with a stop string, and a thought may contain one.
        stops = StopStringFilter(wanted.stop, skip_leading=bool(wanted.grammar))
        to_server = () if wanted.grammar or room else wanted.stop
        sampling = replace(wanted, max_tokens=wanted.max_tokens + room, stop=to_server)
        began = time.monotonic()
        reasoning = ReasoningFilter(begun=self.begins_thinking)
        text, reasoned_apart, pieces = "", False, 0
        ended = AnswerEnd("end")
        async with aclosing(self.chat.ask(replace(request, sampling=sampling))) as answer:
            async for event in answer:
                if isinstance(event, AnswerEnd):
                    ended = event
                    break
                pieces += 1
                self.activity.piece()
                reasoned_apart = reasoned_apart or event.reasoning
                said, void = reasoning.feed(event.text)
                if void and text:
                    text = ""
                    yield StreamRestarted("the text so far was reasoning")
                if new := stops.feed(said):
                    text += new
                    yield TextDelta(new, Usage(generated=pieces, seconds=time.monotonic() - began))
                if stops.stopped:
                    ended = AnswerEnd("end", generated=pieces)
                    break
        # A reply that ends without closing a thought had none, so that the next one is streamed at once.
        self.begins_thinking = reasoning.began_unseen and not (reasoning.begins_withheld and ended.finish == "end")
        is_cut = reasoning.thinking or (
            ended.finish == "length" and (reasoning.begins_withheld or (not room and seems_thought(text)))
        )
        if not is_cut and (new := stops.feed(reasoning.finish()) + stops.finish()):
            text += new
            yield TextDelta(new, Usage(generated=pieces, seconds=time.monotonic() - began))
        prefilled = max(0, ended.prompt_tokens - ended.reused)
        usage = Usage(prefilled, ended.reused, ended.generated, time.monotonic() - began)
        reasoned = reasoned_apart or reasoning.reasoned
        yield Reply("" if is_cut else without_keys(text), ended.finish, usage, reasoned)
