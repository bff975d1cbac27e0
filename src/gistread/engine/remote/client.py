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
        slots = self._requester.slots
        rates = self._requester.pace.rates
        return replace(self._info, parallel=slots.limit, rates=rates)

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
        """The requester of the server, which is started if necessary. Raises EngineError."""
        if self._requester is not None and not self._start.closed:
            return self._requester
        return await self._start.wait()

    async def _discover(self) -> Requester:
        """Connect, and publish the phases. Closes the connection if that fails."""
        connecting = f"Connecting to {self.address.origin} …"
        self.publish(EngineState(Phase.LOADING, notice=connecting))
        final_state = EngineState(Phase.STOPPED)  # If it is cancelled
        try:
            self._requester, notice = await self._connect()
            final_state = EngineState(Phase.IDLE, notice=notice)
            return self._requester
        except GistreadError as error:
            final_state = EngineState(Phase.FAILED, notice=error.message)
            raise
        finally:
            has_failed = final_state.phase is not Phase.IDLE
            if has_failed and self._connection is not None:
                await self._connection.close()
            self.publish(final_state)

    async def _connect(self) -> tuple[Requester, str]:
        """Find the server and its model. Also returns a warning for the user, or an empty text.

        Raises EngineError.
        """
        key = await asyncio.to_thread(find_key, self.address)
        is_valid = key.isascii() and key.isprintable()
        if not is_valid:
            raise EngineError(
                f"The key for {self.address.origin} has characters that no key has.",
                key_hint(self.address),
            )
        connection = Connection(self.address, key, self.retry_policy, self.notice)
        self._connection = connection
        with connection.translate_refusals():
            model = await connection.call(lambda: discovery.find(connection))
            dialect = model.dialect
            slots = RequestSlots(self.connections or model.slots or dialect.connections)
            chat = Chat(connection, model)
            requester = Requester(chat, slots, self, dialect.default_window)
            await _greet(requester)
            loaded_window = await discovery.loaded_window(connection, model)
        reported = loaded_window or model.context_tokens
        known_windows = filter(None, (reported, self.context_tokens))
        window = min(known_windows, default=dialect.default_window)
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
        """A warning about the key or the window; empty if there is no reason for one."""
        is_private = self.address.is_encrypted or self.address.is_loopback
        if key and not is_private:
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
    async def _requester_for(
        self, prompt: Prompt, answer_tokens: int
    ) -> AsyncIterator[Requester]:
        """The requester of the started server, once prompt and answer are sure to fit its window.

        Raises PromptTooLongError, EngineError.
        """
        requester = await self._started()
        prompt_tokens = estimate_prompt(prompt)
        if prompt_tokens + answer_tokens > requester.window:
            raise PromptTooLongError(prompt_tokens, answer_tokens, requester.window)
        with requester.chat.connection.translate_refusals():
            yield requester

    async def prepare(
        self, prompt: Prompt, priority: Priority = Priority.BACKGROUND
    ) -> Usage:
        *before, last = prompt
        prefix = last.content[: last.cacheable_prefix]
        if not prefix:
            return NO_USAGE
        requester = await self._started()
        if not requester.chat.model.dialect.has_prefix_cache:
            return NO_USAGE
        beginning = (*before, Message(last.role, prefix))
        request = ChatRequest(beginning, Sampling(max_tokens=1), only_warms=True)
        async with self._requester_for(beginning, answer_tokens=1) as requester:
            completion = await requester.ask(request, priority)
        return completion.usage

    async def stream(
        self,
        prompt: Prompt,
        sampling: Sampling = GREEDY,
        priority: Priority = Priority.INTERACTIVE,
    ) -> AsyncGenerator[StreamEvent]:
        async with (
            self._requester_for(prompt, sampling.max_tokens) as requester,
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
        answer_tokens = max(map(len, options))  # One a character, at most
        async with self._requester_for(prompt, answer_tokens) as requester:
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
