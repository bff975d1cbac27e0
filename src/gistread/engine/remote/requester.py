"""A request to a server until it is answered: waits for a place, asks, tries again what failed, leaves thinking out.

What is asked and what becomes of the answer, others know.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Literal

from gistread.engine.protocol import Priority, Restarted, TextDelta, Usage
from gistread.engine.remote.activity import Activity
from gistread.engine.remote.chat import AnswerEnd, AnswerPiece, Chat, Request, TokenProbability
from gistread.engine.remote.dialects import Dialect
from gistread.engine.remote.failures import ServerLostError
from gistread.engine.remote.reasoning import ReasoningFilter
from gistread.engine.remote.retry import Retrier
from gistread.engine.remote.semaphore import RequestSlot, RequestSlots
from gistread.engine.remote.stop_strings import StopStringFilter
from gistread.engine.remote.token_counts import estimate_prompt
from gistread.errors import EngineError

_THINKING_TOKENS = 2048
"""Room for a model that cannot be kept from thinking first."""
_PREFILL_WORK = 0.1
"""Of evaluating a token of a prompt, held against decoding one."""


@dataclass(frozen=True, slots=True)
class Reply:
    """A whole answer."""

    text: str
    finish: Literal["end", "length"]
    usage: Usage
    likely: tuple[TokenProbability, ...] = ()
    """Of its tokens, where the server tells."""
    prompt_tokens: int = 0
    """Of the whole prompt, where the server tells."""
    thought: bool = False
    """The model was thinking."""


class _GiveWayError(Exception):
    """Somebody else goes first."""


Ask = Callable[[Request], Awaitable[Reply]]
"""Asks for a whole reply."""


class Requester:
    """Asks one model of one server."""

    def __init__(self, chat: Chat, places: RequestSlots, waiting: Retrier, activity: Activity) -> None:
        self._chat = chat
        self._places = places
        self._waiting = waiting
        self._activity = activity
        self._thinking_tokens = 0
        self.refusals = waiting.refusals

    def asking(self, priority: Priority) -> Ask:
        """How to ask for whole replies with this priority. What is returned raises as `said`."""

        async def ask(request: Request) -> Reply:
            async with aclosing(self.said(request, priority)) as events:
                async for event in events:
                    if isinstance(event, Reply):
                        return event
            raise EngineError("The model ended without an answer.")

        return ask

    async def counted(self, count: Callable[[], Awaitable[int]], dialect: Dialect) -> int:
        """What a count comes to, in its turn where the server does one thing at a time. Raises EngineError."""
        with self.refusals():
            if not dialect.cuts_off:
                return await self._waiting.for_answer(count)
            async with self._places.place(Priority.BACKGROUND):
                return await self._waiting.for_answer(count)

    async def said(self, request: Request, priority: Priority) -> AsyncGenerator[TextDelta | Restarted | Reply]:
        """The answer as it comes, then the whole of it. Raises RequestRefusedError, EngineError."""
        failures = 0
        while True:
            told = False
            try:
                async with self._places.place(priority, self._tokens_of(request)) as place:
                    room = self._thinking_tokens
                    async with aclosing(self._once(request, room, place)) as events:
                        async for event in events:
                            if isinstance(event, Reply) and not room and _only_thought(event):
                                self._thinking_tokens = _THINKING_TOKENS
                                break
                            told = told or isinstance(event, TextDelta)
                            yield event
                            if isinstance(event, Reply):
                                return
            except _GiveWayError:
                if told:
                    yield Restarted("a person's question went first")
            except ServerLostError as lost:
                failures += 1
                await self._waiting.after(lost, failures)
                if told:
                    yield Restarted(f"the server {lost.reason}")

    def _tokens_of(self, request: Request) -> int:
        """What prompt and answer come to, as far as that matters here."""
        if not self._places.weighs:
            return 0
        return estimate_prompt(request.prompt) + request.sampling.max_tokens + self._thinking_tokens

    async def _once(
        self, request: Request, room: int, place: RequestSlot
    ) -> AsyncGenerator[TextDelta | Restarted | Reply]:
        """The answer, with room for so many tokens of thinking before it. Raises as `Chat.ask`, and _GiveWayError."""
        # Without its form it may begin with what is to end it, which the server must not end it at.
        stops = StopStringFilter(request.sampling.stop, not_first=request.formless)
        to_server = () if request.formless else request.sampling.stop
        sampling = replace(request.sampling, max_tokens=request.sampling.max_tokens + room, stop=to_server)
        began = time.monotonic()
        spoken = ReasoningFilter()
        text, thought, pieces = "", False, 0
        told: list[TokenProbability] = []
        ended = AnswerEnd("end")
        asked = replace(request, sampling=sampling)
        with self._activity.at_work(place.priority):
            async with aclosing(self._chat.ask(asked)) as answer:
                while (event := await _next(answer, place)) is not None:
                    if isinstance(event, AnswerEnd):
                        ended = event
                        break
                    pieces += 1
                    self._activity.piece()
                    thought = thought or event.thought
                    told += event.likely
                    said, void = spoken.add(event.text)
                    if void and text:
                        text = ""
                        yield Restarted("what was said was thinking")
                    if new := stops.add(said):
                        text += new
                        yield TextDelta(new, Usage(generated=pieces, seconds=time.monotonic() - began))
                    if stops.stopped:
                        ended = AnswerEnd("end", generated=pieces)
                        break
        if new := stops.add(spoken.end()) + stops.end():
            text += new
            yield TextDelta(new, Usage(generated=pieces, seconds=time.monotonic() - began))
        prefilled = max(0, ended.prompt_tokens - ended.reused)
        place.work = ended.generated + _PREFILL_WORK * prefilled + 1.0
        usage = Usage(prefilled, ended.reused, ended.generated, time.monotonic() - began)
        yield Reply(text, ended.finish, usage, tuple(told), ended.prompt_tokens, thought or spoken.thinking)


def _only_thought(reply: Reply) -> bool:
    """Whether the room for the answer went on thinking."""
    return not reply.text and reply.thought and reply.finish == "length"


async def _next(answer: AsyncGenerator[AnswerPiece | AnswerEnd], place: RequestSlot) -> AnswerPiece | AnswerEnd | None:
    """The next event. Raises _GiveWayError when the place is wanted by somebody who goes first."""
    if place.priority is Priority.INTERACTIVE:
        return await anext(answer, None)
    step = asyncio.ensure_future(anext(answer, None))
    wanted = asyncio.ensure_future(place.wanted.wait())
    try:
        await asyncio.wait({step, wanted}, return_when=asyncio.FIRST_COMPLETED)
        if step.done():
            return step.result()
        raise _GiveWayError
    finally:
        wanted.cancel()
        if not step.done():
            step.cancel()
            await asyncio.gather(step, return_exceptions=True)
