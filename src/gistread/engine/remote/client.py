"""The remote engine: a model on an OpenAI-compatible server."""

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import KW_ONLY, dataclass, field, replace

from gistread import prompts
from gistread.engine.concurrency import SingleFlight
from gistread.engine.protocol import (
    GREEDY,
    NO_USAGE,
    Choice,
    Engine,
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
)
from gistread.engine.remote import discovery
from gistread.engine.remote.address import (
    ServerAddress,
    find_key,
    key_hint,
    named_fingerprint,
    short_name,
)
from gistread.engine.remote.chat import Chat, ChatRequest, estimate, estimate_prompt
from gistread.engine.remote.choice import choose, stream_in_form
from gistread.engine.remote.connection import Connection
from gistread.engine.remote.failures import RetryPolicy
from gistread.engine.remote.pace import ServerPace
from gistread.engine.remote.requester import Activity, Requester, RequestSlots
from gistread.errors import EngineError, GistreadError, PromptTooLongError

# A first reply that took longer may have waited for the model to be loaded
_LOADING_S = 1.0


@dataclass(eq=False)
class RemoteEngine(Activity, Engine):
    """A model on a server. `start` discovers its program and model."""

    address: ServerAddress
    _: KW_ONLY
    # The window, if the server's is larger or not reported
    context_tokens: int | None = None
    # Concurrent requests; None: as many as usual for the server's program
    connections: int | None = None
    retry_policy: RetryPolicy = field(default_factory=RetryPolicy)

    def __post_init__(self) -> None:
        super().__init__()
        self._start = SingleFlight(self._discover, "server-start")
        self._connection: Connection | None = None
        self._requester: Requester | None = None
        self._info: EngineInfo | None = None

    @property
    def info(self) -> EngineInfo:
        """`parallel` shrinks when the server reports overload."""
        if self._info is None or self._requester is None:
            raise EngineError("The model is not loaded yet.")
        requester = self._requester
        return replace(
            self._info, parallel=requester.slots.limit, rates=requester.pace.rates
        )

    async def start(self) -> EngineInfo:
        await self._started()
        return self.info

    async def close(self) -> None:
        if self._start.closed:
            return
        await self._start.close()
        if self._connection is not None:
            await self._connection.close()
        self.publish(EngineState(Phase.STOPPED))

    async def _started(self) -> Requester:
        if self._requester is not None and not self._start.closed:
            return self._requester
        return await self._start.wait()

    async def _discover(self) -> Requester:
        self.publish(
            EngineState(Phase.LOADING, notice=f"Connecting to {self.address.origin} …")
        )
        ended = EngineState(Phase.STOPPED)
        try:
            self._requester, notice = await self._connect()
            ended = EngineState(Phase.IDLE, notice=notice)
            return self._requester
        except GistreadError as error:
            ended = EngineState(Phase.FAILED, notice=error.message)
            raise
        finally:
            if ended.phase is not Phase.IDLE and self._connection is not None:
                await self._connection.close()
            self.publish(ended)

    async def _connect(self) -> tuple[Requester, str]:
        """Find the server and its model. Also returns a warning for the user, or nothing."""
        key = await asyncio.to_thread(find_key, self.address)
        if not (key.isascii() and key.isprintable()):
            raise EngineError(
                f"The key for {self.address.origin} has characters that no key has.",
                key_hint(self.address),
            )
        connection = self._connection = Connection(
            self.address, key, self.retry_policy, self.notice
        )
        with connection.translate_refusals():
            model = await connection.call(lambda: discovery.find(connection))
            dialect = model.dialect
            slots = RequestSlots(self.connections or model.slots or dialect.connections)
            requester = Requester(
                Chat(connection, model), slots, self, dialect.default_window
            )
            await _greet(requester)
            reported = (
                await discovery.loaded_window(connection, model) or model.context_tokens
            )
        window = min(
            filter(None, (reported, self.context_tokens)),
            default=dialect.default_window,
        )
        requester.window = window
        self._info = EngineInfo(
            name=short_name(model.model),  # The same on every server
            fingerprint=named_fingerprint(model.model),
            context_tokens=window,
            device=f"{dialect.title} at {self.address.origin.partition('://')[2]}",
            is_remote=True,
        )
        return requester, self._warning(key, reported, window)

    def _warning(self, key: str, reported: int | None, window: int) -> str:
        if key and not self.address.is_encrypted and not self.address.is_loopback:
            return (
                f"The key for {self.address.origin} is sent unencrypted and can be read on the "
                "way. Use https."
            )
        if reported is None and self.context_tokens is None:
            return (
                f"{self.address.origin} does not report its window; assuming {window:,} tokens. "
                "Set context_tokens if it differs."
            )
        return ""

    async def count(self, text: str) -> int:
        return estimate(text)

    async def measure(self, prompt: Prompt) -> int:
        return estimate_prompt(prompt)

    @asynccontextmanager
    async def _server_for(
        self, prompt: Prompt, answer_tokens: int
    ) -> AsyncIterator[Requester]:
        """The started server, once it is sure that prompt and answer fit its window.

        Raises PromptTooLongError, EngineError.
        """
        requester, needed = await self._started(), estimate_prompt(prompt)
        if needed + answer_tokens > requester.window:
            raise PromptTooLongError(needed, answer_tokens, requester.window)
        with requester.chat.connection.translate_refusals():
            yield requester

    async def prepare(
        self, prompt: Prompt, priority: Priority = Priority.BACKGROUND
    ) -> Usage:
        stable = prompt[-1].content[: prompt[-1].cacheable_prefix]
        if (
            not stable
            or not (await self._started()).chat.model.dialect.has_prefix_cache
        ):
            return NO_USAGE
        beginning = (*prompt[:-1], Message(prompt[-1].role, stable))
        async with self._server_for(beginning, 1) as requester:
            return (
                await requester.ask(
                    ChatRequest(beginning, Sampling(1), only_warms=True), priority
                )
            ).usage

    async def stream(
        self,
        prompt: Prompt,
        sampling: Sampling = GREEDY,
        priority: Priority = Priority.INTERACTIVE,
    ) -> AsyncGenerator[StreamEvent]:
        async with (
            self._server_for(prompt, sampling.max_tokens) as requester,
            aclosing(stream_in_form(requester, prompt, sampling, priority)) as events,
        ):
            async for event in events:
                yield event

    async def choose(
        self,
        prompt: Prompt,
        options: Sequence[str],
        priority: Priority = Priority.INTERACTIVE,
    ) -> Choice:
        check_options(options)
        async with self._server_for(prompt, max(map(len, options))) as requester:
            return await choose(requester, prompt, options, priority)


async def _greet(requester: Requester) -> None:
    """Load the model, find out whether the key is right, and how fast the model is.

    Raises as `Requester.ask`.
    """
    reply = await requester.ask(_greeting(), Priority.INTERACTIVE)
    if reply.usage.seconds > _LOADING_S:
        requester.pace = ServerPace()
        await requester.ask(_greeting(), Priority.INTERACTIVE)


def _greeting() -> ChatRequest:
    """A short request that no cache of the server knows, by its first words."""
    number = time.time_ns() % 1_000_000
    text = f"{number}: {prompts.load('pace').text}"
    return ChatRequest((Message("user", text),), Sampling(1), only_warms=True)
