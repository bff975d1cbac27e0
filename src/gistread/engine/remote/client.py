"""A model on a server as the rest of the program sees it: an `Engine` (see `engine/protocol.py`) behind a URL.

Puts together what the other modules here do: finds out what the server is, measures what has to fit its window. Knows
nothing of what requests are for.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace

from gistread.engine.protocol import (
    GREEDY,
    NO_USAGE,
    Choice,
    Completion,
    EngineInfo,
    EngineState,
    Message,
    Phase,
    Priority,
    Prompt,
    Sampling,
    StreamEvent,
    Usage,
    check_options,
    final_completion,
)
from gistread.engine.remote import discovery
from gistread.engine.remote.activity import Activity
from gistread.engine.remote.address import ServerAddress, named_fingerprint
from gistread.engine.remote.api_keys import find_key
from gistread.engine.remote.chat import Chat, Request
from gistread.engine.remote.choice import Chooser
from gistread.engine.remote.concurrency import AdaptiveLimit
from gistread.engine.remote.connection import Connection, RetryPolicy
from gistread.engine.remote.dialects import Dialect
from gistread.engine.remote.requester import Reply, Requester
from gistread.engine.remote.retry import Retrier
from gistread.engine.remote.semaphore import RequestSlots
from gistread.engine.remote.token_counts import TokenCounts
from gistread.engine.single_flight import SingleFlight
from gistread.errors import EngineError, GistreadError, PromptTooLongError


@dataclass(frozen=True, slots=True)
class _Server:
    """A server that has been asked what it is, and all that speaks to it."""

    info: EngineInfo
    dialect: Dialect
    places: RequestSlots
    asker: Requester
    counter: TokenCounts
    chooser: Chooser
    notice: str
    """One line that the person should know, or nothing."""


class RemoteEngine:
    """Made cheap; `start` asks the server what it is."""

    def __init__(
        self,
        address: ServerAddress,
        *,
        context_tokens: int | None = None,
        connections: int | None = None,
        patience: RetryPolicy | None = None,
        weights_here: Callable[[str], tuple[str, ...]] = lambda _: (),
    ) -> None:
        """`context_tokens`: the window, where the server does not say or should not be given as much.

        `connections`: the most requests at the same time; None: as many as pay. `weights_here`: the fingerprints of
        models on this machine that have a name.
        """
        self._address = address
        self._window = context_tokens
        self._most = connections
        self._patience = patience or RetryPolicy()
        self._weights_here = weights_here
        self._activity = Activity()
        self._start = SingleFlight(self._find_out, "server-start")
        self._connection: Connection | None = None
        self._known: _Server | None = None

    # State.

    @property
    def info(self) -> EngineInfo:
        """As it is at this moment: how many requests pay is found out while they are made."""
        if self._known is None:
            raise EngineError("The model is not loaded yet.")
        return replace(self._known.info, parallel=self._known.places.limit)

    @property
    def state(self) -> EngineState:
        return self._activity.state

    def watch(self, callback: Callable[[EngineState], None]) -> Callable[[], None]:
        return self._activity.watch(callback)

    # Life.

    async def start(self) -> EngineInfo:
        await self._server()
        return self.info

    async def close(self) -> None:
        if self._start.closed:
            return
        await self._start.close()
        await self._drop()
        self._activity.publish(EngineState(Phase.STOPPED))

    async def _server(self) -> _Server:
        """Asked once what it is. Raises EngineError."""
        if self._known is not None and not self._start.closed:
            return self._known
        return await self._start.wait()

    async def _find_out(self) -> _Server:
        self._activity.publish(EngineState(Phase.LOADING, notice=f"Asking {self._address.origin} …"))
        try:
            server = await self._asked_what_it_is()
        except asyncio.CancelledError:
            await self._drop()
            self._activity.publish(EngineState(Phase.STOPPED))
            raise
        except GistreadError as error:
            await self._drop()
            self._activity.publish(EngineState(Phase.FAILED, notice=error.message))
            raise
        self._known = server
        self._activity.publish(EngineState(Phase.IDLE, notice=server.notice))
        return server

    async def _asked_what_it_is(self) -> _Server:
        key = await asyncio.to_thread(find_key, self._address)
        connection = self._connection = Connection(self._address, key, self._patience)
        waiting = Retrier(self._address, self._patience, self._activity.notice, with_key=bool(key))
        with waiting.refusals():
            found = await waiting.for_answer(lambda: discovery.find(connection), at_once=True)
            dialect = found.dialect
            most = min(found.slots or dialect.at_most, self._most or dialect.at_most)
            shared = found.context_tokens if dialect.may_share_window else None
            places = RequestSlots(AdaptiveLimit(dialect.at_first, most), has_slots=dialect.has_slots, window=shared)
            chat = Chat(connection, found.base, found.model, dialect)
            asker = Requester(chat, places, waiting, self._activity)
            counter = TokenCounts(dialect.tokenizer, found.model, connection.post, found.root)
            chooser = Chooser(dialect.means)
            await waiting.for_answer(counter.check)
            prompt, tokens = await chooser.try_out(asker.asking(Priority.INTERACTIVE))
            if counter.exact:
                tokens = tokens or await waiting.for_answer(lambda: chat.prompt_tokens(prompt))
                await waiting.for_answer(lambda: counter.calibrate(prompt, tokens))
            told = await discovery.window_in_use(connection, found) or found.context_tokens
        window = min(filter(None, (told, self._window)), default=dialect.usual_window)
        info = EngineInfo(
            name=found.name,
            fingerprint=named_fingerprint(found.model),
            aliases=await asyncio.to_thread(self._weights_here, found.name),
            context_tokens=window,
            device=f"{dialect.title} at {self._address.origin.partition('://')[2]}",
            is_remote=True,
        )
        return _Server(info, dialect, places, asker, counter, chooser, self._warning(key, told, window))

    def _warning(self, key: str, told: int | None, window: int) -> str:
        """What the person should know of this server, in one line."""
        if key and not self._address.is_encrypted and not self._address.is_loopback:
            return (
                f"The key for {self._address.origin} goes there unencrypted: anybody on the way can read it. Use https."
            )
        if told is None and self._window is None:
            return (
                f"{self._address.origin} does not tell its window; {window:,} tokens are assumed. "
                "Set context_tokens if it is another."
            )
        return ""

    async def _drop(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            await connection.close()

    # Requests.

    async def count(self, text: str) -> int:
        server = await self._server()
        return await server.asker.counted(lambda: server.counter.count(text), server.dialect)

    async def measure(self, prompt: Prompt) -> int:
        server = await self._server()
        return await server.asker.counted(lambda: server.counter.measure(prompt), server.dialect)

    async def prepare(self, prompt: Prompt, priority: Priority = Priority.BACKGROUND) -> Usage:
        server = await self._server()
        stable = prompt[-1].content[: prompt[-1].stable]
        if not stable or not server.dialect.keeps_prefixes:
            return NO_USAGE
        beginning = (*prompt[:-1], Message(prompt[-1].role, stable))
        await self._check_room(server, beginning, 1)
        with server.asker.refusals():
            return (await server.asker.asking(priority)(Request(beginning, Sampling(max_tokens=1)))).usage

    async def pin(self, prompt: Prompt, priority: Priority = Priority.BACKGROUND) -> Usage | None:
        return None  # A server has a cache of its own, of which nobody knows how much it takes.

    async def pinned(self, prompts: Sequence[Prompt]) -> list[bool]:
        return [False] * len(prompts)

    async def stream(
        self, prompt: Prompt, sampling: Sampling = GREEDY, priority: Priority = Priority.INTERACTIVE
    ) -> AsyncGenerator[StreamEvent]:
        server = await self._server()
        await self._check_room(server, prompt, sampling.max_tokens)
        form = server.chooser.form_fields(sampling.grammar) if sampling.grammar else {}
        with server.asker.refusals():
            async with aclosing(server.asker.said(Request(prompt, sampling, form), priority)) as events:
                async for event in events:
                    yield Completion(event.text, event.finish, event.usage) if isinstance(event, Reply) else event

    async def complete(
        self, prompt: Prompt, sampling: Sampling = GREEDY, priority: Priority = Priority.INTERACTIVE
    ) -> Completion:
        return await final_completion(self.stream(prompt, sampling, priority))

    async def choose(self, prompt: Prompt, options: Sequence[str], priority: Priority = Priority.INTERACTIVE) -> Choice:
        check_options(options)
        server = await self._server()
        await self._check_room(server, prompt, max(map(len, options)))
        with server.asker.refusals():
            return await server.chooser.choose(prompt, options, server.asker.asking(priority))

    async def _check_room(self, server: _Server, prompt: Prompt, answer_tokens: int) -> None:
        """Raises PromptTooLongError where prompt and answer do not fit the window."""
        window = server.info.context_tokens
        if server.counter.at_most(prompt) + answer_tokens <= window:
            return
        needed = await self.measure(prompt)
        if needed + answer_tokens > window:
            raise PromptTooLongError(needed, answer_tokens, window)
