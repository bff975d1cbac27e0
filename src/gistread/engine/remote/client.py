"""The remote engine: a model on an OpenAI-compatible server."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace

from gistread.engine.concurrency import SingleFlight
from gistread.engine.protocol import (
    GREEDY,
    NO_USAGE,
    Choice,
    Completion,
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
from gistread.engine.remote.address import ServerAddress, find_key, key_hint, named_fingerprint, short_name
from gistread.engine.remote.chat import Chat, ChatRequest, estimate, estimate_prompt
from gistread.engine.remote.choice import Chooser
from gistread.engine.remote.connection import Connection
from gistread.engine.remote.failures import Retrier, RetryPolicy
from gistread.engine.remote.requester import Activity, Reply, Requester, RequestSlots
from gistread.errors import EngineError, GistreadError, PromptTooLongError

_HELLO = (Message("user", "Say yes."),)  # Loads the model, and shows a wrong key


@dataclass(frozen=True, slots=True)
class _Server:
    info: EngineInfo
    requester: Requester
    chooser: Chooser


class RemoteEngine(Activity, Engine):
    """A model on a server. `start` discovers its program and model."""

    def __init__(
        self,
        address: ServerAddress,
        *,
        context_tokens: int | None = None,
        connections: int | None = None,
        retry_policy: RetryPolicy | None = None,
    ) -> None:
        """`context_tokens`: the window, if the server's is larger or not reported.

        `connections`: concurrent requests; None: as many as usual for the server's program.
        """
        super().__init__()
        self._address = address
        self._window = context_tokens
        self._connections = connections
        self._retry_policy = retry_policy or RetryPolicy()
        self._start = SingleFlight(self._discover, "server-start")
        self._connection: Connection | None = None
        self._server: _Server | None = None

    @property
    def info(self) -> EngineInfo:
        """`parallel` shrinks when the server reports overload."""
        if self._server is None:
            raise EngineError("The model is not loaded yet.")
        return replace(self._server.info, parallel=self._server.requester.slots.limit)

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

    async def _started(self) -> _Server:
        if self._server is not None and not self._start.closed:
            return self._server
        return await self._start.wait()

    async def _discover(self) -> _Server:
        self.publish(EngineState(Phase.LOADING, notice=f"Connecting to {self._address.origin} …"))
        ended = EngineState(Phase.STOPPED)
        try:
            self._server, notice = await self._connect()
            ended = EngineState(Phase.IDLE, notice=notice)
            return self._server
        except GistreadError as error:
            ended = EngineState(Phase.FAILED, notice=error.message)
            raise
        finally:
            if ended.phase is not Phase.IDLE and self._connection is not None:
                await self._connection.close()
            self.publish(ended)

    async def _connect(self) -> tuple[_Server, str]:
        """The server and its model, and a warning for the user, or nothing."""
        key = await asyncio.to_thread(find_key, self._address)
        if not (key.isascii() and key.isprintable()):
            raise EngineError(
                f"The key for {self._address.origin} has characters that no key has.", key_hint(self._address)
            )
        connection = self._connection = Connection(self._address, key, self._retry_policy, self.notice)
        retrier = Retrier(self._address, self._retry_policy, self.notice, with_key=bool(key))
        with retrier.translate_refusals():
            found = await retrier.call(lambda: discovery.find(connection))
            dialect = found.dialect
            slots = RequestSlots(self._connections or found.slots or dialect.connections)
            chat = Chat(connection, f"{found.base}/chat/completions", found.model, dialect)
            requester = Requester(chat, slots, retrier, self, dialect.default_window)
            await requester.ask(ChatRequest(_HELLO, Sampling(1), only_warms=True), Priority.INTERACTIVE)
            reported = await discovery.loaded_window(connection, found) or found.context_tokens
        window = min(filter(None, (reported, self._window)), default=dialect.default_window)
        requester.window = window
        info = EngineInfo(
            name=short_name(found.model),  # The same on every server
            fingerprint=named_fingerprint(found.model),
            context_tokens=window,
            device=f"{dialect.title} at {self._address.origin.partition('://')[2]}",
            is_remote=True,
        )
        return _Server(info, requester, Chooser(requester)), self._warning(key, reported, window)

    def _warning(self, key: str, reported: int | None, window: int) -> str:
        if key and not self._address.is_encrypted and not self._address.is_loopback:
            return f"The key for {self._address.origin} is sent unencrypted and can be read on the way. Use https."
        if reported is None and self._window is None:
            return (
                f"{self._address.origin} does not report its window; assuming {window:,} tokens. "
                "Set context_tokens if it differs."
            )
        return ""

    async def count(self, text: str) -> int:
        return estimate(text)

    async def measure(self, prompt: Prompt) -> int:
        return estimate_prompt(prompt)

    async def prepare(self, prompt: Prompt, priority: Priority = Priority.BACKGROUND) -> Usage:
        server = await self._started()
        stable = prompt[-1].content[: prompt[-1].cacheable_prefix]
        if not stable or not server.requester.chat.dialect.has_prefix_cache:
            return NO_USAGE
        beginning = (*prompt[:-1], Message(prompt[-1].role, stable))
        _check_fits(server, beginning, 1)
        with server.requester.retrier.translate_refusals():
            request = ChatRequest(beginning, Sampling(max_tokens=1), only_warms=True)
            return (await server.requester.ask(request, priority)).usage

    async def stream(
        self, prompt: Prompt, sampling: Sampling = GREEDY, priority: Priority = Priority.INTERACTIVE
    ) -> AsyncGenerator[StreamEvent]:
        server = await self._started()
        _check_fits(server, prompt, sampling.max_tokens)
        with server.requester.retrier.translate_refusals():
            async with aclosing(server.requester.stream(ChatRequest(prompt, sampling), priority)) as events:
                async for event in events:
                    yield Completion(event.text, event.finish, event.usage) if isinstance(event, Reply) else event

    async def choose(self, prompt: Prompt, options: Sequence[str], priority: Priority = Priority.INTERACTIVE) -> Choice:
        check_options(options)
        server = await self._started()
        _check_fits(server, prompt, max(map(len, options)))
        with server.requester.retrier.translate_refusals():
            return await server.chooser.choose(prompt, options, priority)


def _check_fits(server: _Server, prompt: Prompt, answer_tokens: int) -> None:
    window, needed = server.info.context_tokens, estimate_prompt(prompt)
    if needed + answer_tokens > window:
        raise PromptTooLongError(needed, answer_tokens, window)
