"""Sends requests to a server: waits for a slot, retries transient failures, filters reasoning and stop strings."""

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from contextlib import aclosing, contextmanager
from dataclasses import dataclass, replace
from typing import Literal

from gistread.engine.observable import Observable
from gistread.engine.protocol import EngineState, Phase, Priority, Restarted, TextDelta, Usage
from gistread.engine.remote.chat import AnswerEnd, AnswerPiece, Chat, Request, TokenLogprobs
from gistread.engine.remote.concurrency import RequestSlot, RequestSlots
from gistread.engine.remote.dialects import Dialect
from gistread.engine.remote.failures import ServerLostError
from gistread.engine.remote.retry import Retrier
from gistread.engine.remote.token_counts import estimate_prompt
from gistread.engine.text_filters import ReasoningFilter, StopStringFilter
from gistread.errors import EngineError

_THINKING_TOKENS = 2048  # Added to `max_tokens` for a model whose reasoning cannot be turned off
_PREFILL_WORK = 0.1  # Cost of evaluating a prompt token, relative to decoding one
_EVERY_S = 0.25  # Least time between updates of the rate
_WINDOW_S = 5.0  # The rate is averaged over this time


class Activity(Observable):
    """The observable state of a remote engine: whether requests are in progress, and how fast text arrives."""

    def __init__(self) -> None:
        super().__init__()
        self._running: list[Priority] = []
        self._pieces: list[float] = []
        self._rate_published_s = 0.0

    def notice(self, line: str) -> None:
        """Publish a line for the person without changing the phase."""
        self.publish(EngineState(self.state.phase, priority=self.state.priority, notice=line))

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
                self._pieces.clear()
                self.publish(EngineState(Phase.IDLE))

    def piece(self) -> None:
        if self.state.phase not in (Phase.IDLE, Phase.PREFILL, Phase.DECODE):
            return
        now = time.monotonic()
        self._pieces = [at for at in self._pieces if at > now - _WINDOW_S] + [now]
        if self.state.phase is not Phase.DECODE or now - self._rate_published_s >= _EVERY_S:
            self._rate_published_s = now
            seconds = now - self._pieces[0]
            rate = (len(self._pieces) - 1) / seconds if seconds > 0 else None
            self.publish(EngineState(Phase.DECODE, tokens_per_s=rate, priority=min(self._running, default=None)))


@dataclass(frozen=True, slots=True)
class Reply:
    text: str
    finish: Literal["end", "length"]
    usage: Usage
    logprobs: tuple[TokenLogprobs, ...] = ()  # Log-probabilities of its tokens, if the server reports them
    prompt_tokens: int = 0  # Length of the whole prompt; 0 if unknown
    reasoned: bool = False

    @property
    def only_reasoned(self) -> bool:
        return not self.text and self.reasoned and self.finish == "length"


class _PreemptedError(Exception):
    """An interactive request needs the slot."""


Ask = Callable[[Request], Awaitable[Reply]]  # Sends a request and returns the whole reply


@dataclass(eq=False, slots=True)
class Requester:
    chat: Chat
    slots: RequestSlots
    retrier: Retrier
    activity: Activity
    thinking_tokens: int = 0  # Added to each request once the model is known to reason

    def with_priority(self, priority: Priority) -> Ask:
        """A function that requests whole replies. It raises as `stream`."""

        async def ask(request: Request) -> Reply:
            async with aclosing(self.stream(request, priority)) as events:
                async for event in events:
                    if isinstance(event, Reply):
                        return event
            raise EngineError("The model ended without an answer.")

        return ask

    async def run_count(self, count: Callable[[], Awaitable[int]], dialect: Dialect) -> int:
        """Run a token count, queued if the server does one thing at a time. Raises EngineError."""
        with self.retrier.translate_refusals():
            if not dialect.aborts_answers:
                return await self.retrier.call(count)
            async with self.slots.slot(Priority.BACKGROUND):
                return await self.retrier.call(count)

    async def stream(self, request: Request, priority: Priority) -> AsyncGenerator[TextDelta | Restarted | Reply]:
        """Yield the answer as it arrives, then the whole `Reply`. Raises RequestRefusedError, EngineError."""
        failures = 0
        while True:
            streamed = False
            try:
                async with self.slots.slot(priority, self._tokens_of(request)) as slot:
                    extra = self.thinking_tokens
                    async with aclosing(self._send(request, extra, slot)) as events:
                        async for event in events:
                            if isinstance(event, Reply) and not extra and event.only_reasoned:
                                self.thinking_tokens = _THINKING_TOKENS
                                break
                            streamed = streamed or isinstance(event, TextDelta)
                            yield event
                            if isinstance(event, Reply):
                                return
            except _PreemptedError:
                if streamed:
                    yield Restarted("a question went first")
            except ServerLostError as lost:
                failures += 1
                await self.retrier.wait_before_retry(lost, failures)
                if streamed:
                    yield Restarted(f"the server {lost.reason}")

    def _tokens_of(self, request: Request) -> int:
        if not self.slots.shares_window:
            return 0
        return estimate_prompt(request.prompt) + request.sampling.max_tokens + self.thinking_tokens

    async def _send(
        self, request: Request, extra: int, slot: RequestSlot
    ) -> AsyncGenerator[TextDelta | Restarted | Reply]:
        """Send once, with `extra` tokens for reasoning. Raises as `Chat.ask`, and _PreemptedError."""
        # Without a grammar an answer may begin with a stop string, and the server must not end it there.
        stops = StopStringFilter(request.sampling.stop, skip_leading=request.lacks_grammar)
        to_server = () if request.lacks_grammar else request.sampling.stop
        sampling = replace(request.sampling, max_tokens=request.sampling.max_tokens + extra, stop=to_server)
        began = time.monotonic()
        reasoning = ReasoningFilter()
        text, reasoned, pieces = "", False, 0
        logprobs: list[TokenLogprobs] = []
        ended = AnswerEnd("end")
        sent = replace(request, sampling=sampling)
        with self.activity.working(slot.priority):
            async with aclosing(self.chat.ask(sent)) as answer:
                while (event := await _next(answer, slot)) is not None:
                    if isinstance(event, AnswerEnd):
                        ended = event
                        break
                    pieces += 1
                    self.activity.piece()
                    reasoned = reasoned or event.reasoning
                    logprobs += event.logprobs
                    said, void = reasoning.feed(event.text)
                    if void and text:
                        text = ""
                        yield Restarted("the text so far was reasoning")
                    if new := stops.feed(said):
                        text += new
                        yield TextDelta(new, Usage(generated=pieces, seconds=time.monotonic() - began))
                    if stops.stopped:
                        ended = AnswerEnd("end", generated=pieces)
                        break
        if new := stops.feed(reasoning.finish()) + stops.finish():
            text += new
            yield TextDelta(new, Usage(generated=pieces, seconds=time.monotonic() - began))
        prefilled = max(0, ended.prompt_tokens - ended.reused)
        slot.work = ended.generated + _PREFILL_WORK * prefilled + 1.0
        usage = Usage(prefilled, ended.reused, ended.generated, time.monotonic() - began)
        yield Reply(text, ended.finish, usage, tuple(logprobs), ended.prompt_tokens, reasoned or reasoning.thinking)


async def _next(answer: AsyncGenerator[AnswerPiece | AnswerEnd], slot: RequestSlot) -> AnswerPiece | AnswerEnd | None:
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
