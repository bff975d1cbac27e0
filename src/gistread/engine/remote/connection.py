"""HTTP with one server: JSON, server-sent events and retries.

A key only goes to its own host: no redirects.
"""

import asyncio
import contextlib
import json
import math
import os
import random
import ssl
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, TypeVar

from gistread import __version__
from gistread.engine.fetching.network import retry_after_s, system_error
from gistread.engine.remote.address import ServerAddress
from gistread.engine.remote.failures import (
    KEPT,
    NO_JSON,
    WEB_PAGE,
    RequestRefusedError,
    RetryPolicy,
    ServerLostError,
    SilentError,
    UnreachableError,
    UntrustedError,
    WebPageError,
    cut,
    lost_error,
    refused_error,
    retry_notice,
)
from gistread.errors import EngineError, clean, conceal

if TYPE_CHECKING:
    import httpx2

Json = Any  # Decoded JSON, of unknown shape
T = TypeVar("T")

DONE = object()  # Sentinel: the server reported the end of the stream

_BUSY = {429, 503, 529}
_TRANSIENT = {408, 425, 500, 502, 504, *_BUSY}
_MOST_BYTES = 64 * 2**20  # Largest answer or event
_MOST_IDLE = 64  # Connections kept open for later requests: more than run at once
_SHORT_CHARACTERS = 300  # Of what a server says
_BEGINNING = 100  # Characters or bytes of an answer that tell a web page
# Share of a wait: requests that failed together are not retried together
_JITTER = 0.25
# A server that asks for a longer pause is not waited for, in longest waits
_LONGEST_WAITS = 4


@dataclass(eq=False, slots=True)
class Connection:
    """HTTP to one server. Opens nothing before the first request; await `close`."""

    address: ServerAddress
    key: str = field(default="", repr=False)
    policy: RetryPolicy = field(default_factory=RetryPolicy)
    # Called with a line for the user when the server is silent or lost
    notice: Callable[[str], None] = lambda _: None
    _client: "httpx2.AsyncClient | None" = None
    # When requests that failed are repeated, by `time.monotonic`
    _wait_ends: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        conceal(self.key)

    async def fetch(self, path: str, body: Json = None, *, loads: bool = False) -> Json:
        """GET a path, or POST a body to it. `loads`: allow time to load a model.

        Raises RequestRefusedError, ServerLostError.
        """
        client = self._open_client()
        method = "GET" if body is None else "POST"
        url = self.address.origin + path
        limit_s = self.policy.answer_s if loads else self.policy.short_s
        async with (
            self._limited(limit_s, "giving up"),
            client.stream(method, url, json=body) as response,
        ):
            return await self._document(response)

    async def _document(self, response: "httpx2.Response") -> Json:
        """The body of a response. Raises as `fetch`, also for a failure it reports."""
        content = await _content(response)
        if not response.is_success:
            raise self._failure(response.status_code, response.headers, content)
        return _decode(content)

    async def stream(
        self, path: str, body: Json, *, is_last: bool = False
    ) -> AsyncGenerator[Json]:
        """POST and yield the events of the answer, then `DONE` if it ends normally.

        `is_last`: no other attempt follows. Raises as `fetch`.
        """
        import httpx2

        client = self._open_client()
        request = client.build_request("POST", self.address.origin + path, json=body)
        # Time limits cover single steps, not the time the consumer takes.
        limit_s = self.policy.answer_s
        then = "giving up" if is_last else "trying again"
        async with self._limited(limit_s, then):
            response = await client.send(request, stream=True)
        try:
            content_type = response.headers.get("content-type", "").casefold()
            if response.is_success and "html" in content_type:
                raise WebPageError(response.status_code, WEB_PAGE)
            # A failure or a whole answer is one document, in place of events.
            if not response.is_success or "json" in content_type:
                async with self._limited(limit_s, then):
                    document = await self._document(response)
                yield _checked(document)
                yield DONE
                return
            # Some servers send a byte order mark first.
            response.encoding = "utf-8-sig"
            source = httpx2.EventSource(response, _MOST_BYTES)
            events = (event.data async for event in source if event.data)
            while True:
                async with self._limited(limit_s, then):
                    data = await anext(events, None)
                if data is None:
                    return
                if data.strip() == "[DONE]":
                    yield DONE
                    return
                yield _checked(_decode(data))
        finally:
            await response.aclose()

    async def call(self, request: Callable[[], Awaitable[T]]) -> T:
        """Retry while the server is overloaded. Raises RequestRefusedError, EngineError."""
        failures = 0
        while True:
            try:
                return await request()
            except ServerLostError as lost:
                if not lost.busy:
                    raise lost_error(self.address, lost) from None
                failures += 1
                await self.wait_before_retry(lost, failures)

    async def wait_before_retry(self, lost: ServerLostError, failures: int) -> None:
        """Wait before the next attempt. Raises EngineError after too many failures."""
        if failures >= self._most_attempts(lost):
            raise lost_error(self.address, lost, failures) from None
        if lost.retry_after_s is None:
            wait_s = self._back_off_s(failures)
        else:
            wait_s = self._requested_wait_s(lost.retry_after_s)
        await self._count_down(lost, time.monotonic() + wait_s)

    async def _count_down(self, lost: ServerLostError, end: float) -> None:
        """Wait until this time of `time.monotonic`, and tell the user each second.

        Of requests that wait together, the one that waits least is told of.
        """
        self._wait_ends.append(end)
        try:
            while (left_s := end - time.monotonic()) > 0:
                if end == min(self._wait_ends):
                    self.notice(retry_notice(self.address, lost, left_s))
                # Until a second less is left
                await asyncio.sleep(left_s - (math.ceil(left_s) - 1))
        finally:
            self._wait_ends.remove(end)

    def _most_attempts(self, lost: ServerLostError) -> int:
        """Attempts in a row; twice as many if the server says that it is only overloaded."""
        if isinstance(lost, SilentError):
            attempts = self.policy.silent_attempts
        else:
            attempts = self.policy.attempts
        return 2 * attempts if lost.busy else attempts

    def _back_off_s(self, failures: int) -> float:
        """A pause that doubles with each failure, varied at random."""
        doubled_s: float = self.policy.back_off_s * 2 ** (failures - 1)
        pause_s = min(self.policy.longest_s, doubled_s)
        return pause_s * random.uniform(1 - _JITTER, 1 + _JITTER)

    def _requested_wait_s(self, retry_after_s: float) -> float:
        """The pause that the server asks for, and a little more at random.

        Raises EngineError if it is too long.
        """
        if retry_after_s > _LONGEST_WAITS * self.policy.longest_s:
            raise EngineError(
                f"The server at {self.address.origin} takes no requests for the next "
                f"{retry_after_s:,.0f} s.",
                f"Try again then. {KEPT}",
            ) from None
        return retry_after_s + self.policy.back_off_s * random.uniform(0.0, _JITTER)

    @contextlib.contextmanager
    def translate_refusals(self) -> Iterator[None]:
        """Raise a RequestRefusedError as an EngineError with a hint."""
        try:
            yield
        except RequestRefusedError as refusal:
            has_key = bool(self.key)
            raise refused_error(self.address, refusal, with_key=has_key) from None

    async def close(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    def _open_client(self) -> "httpx2.AsyncClient":
        """The client of the HTTP library, created at first. Raises UntrustedError."""
        if self._client is None:
            import httpx2  # slow to import

            policy = self.policy
            headers = {"User-Agent": f"gistread/{__version__}"}
            if self.key:
                headers["Authorization"] = f"Bearer {self.key}"
            self._client = httpx2.AsyncClient(
                headers=headers,
                timeout=httpx2.Timeout(
                    None, connect=policy.connect_s, write=policy.short_s
                ),
                # `RequestSlots` limits the concurrency.
                limits=httpx2.Limits(
                    max_connections=None, max_keepalive_connections=_MOST_IDLE
                ),
                # No proxy for a server on this machine.
                trust_env=not self.address.is_loopback,
                verify=_ssl_context(encrypted=self.address.is_encrypted),
            )
        return self._client

    @contextlib.asynccontextmanager
    async def _limited(self, limit_s: float, then: str) -> AsyncIterator[None]:
        """Limit the server's silence, and tell the user about it early.

        `then`: what happens at the limit.
        """
        silent_s = self.policy.silent_s
        timer: asyncio.TimerHandle | None = None
        if silent_s < limit_s:
            loop = asyncio.get_running_loop()
            rest_s = limit_s - silent_s
            timer = loop.call_later(silent_s, self._notice_silence, rest_s, then)
        try:
            with self._failures():
                async with asyncio.timeout(limit_s):
                    yield
        finally:
            if timer is not None:
                timer.cancel()

    def _notice_silence(self, rest_s: float, then: str) -> None:
        """Tell the user until when the server is waited for."""
        limit = time.localtime(time.time() + rest_s)
        until = time.strftime("%H:%M:%S", limit)
        host = self.address.origin.partition("://")[2]
        silent_s = self.policy.silent_s
        self.notice(
            f"no reply from {host} for {silent_s:.0f} s; waiting until {until}, then {then}"
        )

    @contextlib.contextmanager
    def _failures(self) -> Iterator[None]:
        """Raise errors of the HTTP library as ServerLostError or RequestRefusedError."""
        import httpx2

        try:
            yield
        except (
            TimeoutError,
            httpx2.ReadTimeout,
            httpx2.WriteTimeout,
            httpx2.PoolTimeout,
        ):
            raise SilentError("did not answer in time") from None
        except httpx2.ConnectTimeout:
            raise UnreachableError(
                f"no connection within {self.policy.connect_s:.0f} s"
            ) from None
        except (httpx2.ConnectError, httpx2.ProxyError) as error:
            cause = system_error(error)
            if isinstance(cause, ssl.SSLCertVerificationError):
                raise UntrustedError(cause.verify_message) from None
            raise UnreachableError(_shorten(_reason(error))) from None
        except (httpx2.TransportError, httpx2.DecodingError) as error:
            # The library's own messages are about the protocol.
            reason = f" ({_shorten(_reason(error))})" if system_error(error) else ""
            raise ServerLostError(f"broke off{reason}") from None
        except (httpx2.InvalidURL, UnicodeError) as error:
            raise RequestRefusedError(0, _shorten(str(error))) from None

    def _failure(
        self, status: int, headers: "httpx2.Headers", content: bytes
    ) -> Exception:
        """The error for a status that is no success: RequestRefusedError or ServerLostError."""
        if status < HTTPStatus.BAD_REQUEST:
            target = _shorten(headers.get("location", "another address"))
            return RequestRefusedError(status, f"it redirects to {target}")
        message = _shorten(_message(content))
        if status == HTTPStatus.INTERNAL_SERVER_ERROR and "validation error" in message:
            # The words of llama_cpp.server for an unknown field.
            return RequestRefusedError(HTTPStatus.UNPROCESSABLE_ENTITY, message)
        if status in _TRANSIENT:
            return ServerLostError(
                f"failed ({status}: {message})" if message else f"failed ({status})",
                answered=True,
                busy=status in _BUSY,
                message=message,
                retry_after_s=retry_after_s(headers),
            )
        return RequestRefusedError(status, message)


def _checked(event: Json) -> Json:
    """The event. Raises RequestRefusedError or ServerLostError if it reports an error."""
    error = member(event, "error")
    if not error:
        return event
    reported = error.get("message", "") if isinstance(error, dict) else error
    message = _shorten(str(reported))
    code = member(error, "code")
    if isinstance(code, str) and code.isdecimal():
        code = int(code)  # LiteLLM's are strings.
    if _is_refusal(code):
        raise RequestRefusedError(code, message)
    raise ServerLostError(
        f"failed in the middle of an answer ({message})",
        busy=code in _BUSY,
        message=message,
    )


def _is_refusal(code: Json) -> bool:
    """Whether a status says that the request itself is at fault."""
    if not isinstance(code, int):
        return False
    is_client_error = HTTPStatus.BAD_REQUEST <= code < HTTPStatus.INTERNAL_SERVER_ERROR
    return is_client_error and code not in _TRANSIENT


async def _content(response: "httpx2.Response") -> bytes:
    """The body of a response. Raises ServerLostError if it is too long."""
    content = bytearray()
    async for block in response.aiter_bytes():
        content += block
        if len(content) > _MOST_BYTES:
            raise ServerLostError("sent an answer without end", answered=True)
    return bytes(content)


def member(value: Json, name: str) -> Json:
    """A member of a JSON object; None if it is missing, or this is no object."""
    if not isinstance(value, dict):
        return None
    return value.get(name)


def _shorten(text: str) -> str:
    """What a server said, in one line for a message."""
    text = clean(" ".join(text.split()))
    return cut(text, _SHORT_CHARACTERS)


def _decode(data: bytes | str) -> Json:
    """Decode JSON. Raises ServerLostError if it is something else."""
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        beginning = data[:_BEGINNING]
        if isinstance(beginning, bytes):
            beginning = beginning.decode("utf-8", "replace")
        is_page = beginning.lstrip("\ufeff \r\n\t").startswith("<")
        content = WEB_PAGE if is_page else NO_JSON
        raise ServerLostError(f"sent {content}", answered=True) from None


def _ssl_context(*, encrypted: bool) -> ssl.SSLContext:
    """Trust the system's certificates, or those of SSL_CERT_FILE or SSL_CERT_DIR."""
    import httpx2

    if not encrypted:
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # Reading certificates is slow.
    try:
        return httpx2.create_ssl_context()
    except OSError as error:
        raise UntrustedError(
            f"SSL_CERT_FILE or SSL_CERT_DIR cannot be read ({error.strerror})"
        ) from None


def _message(content: bytes) -> str:
    """The server's message in a response that reports a failure, or else all of its text.

    Empty for a web page.
    """
    text = content.decode("utf-8", "replace")
    with contextlib.suppress(ValueError):
        match json.loads(content):
            case (
                {"error": {"message": str(message)}}
                | {"error": str(message)}
                | {"message": str(message)}
            ):
                text = message
            case {"detail": detail}:
                text = detail if isinstance(detail, str) else json.dumps(detail)
    return "" if text.lstrip().startswith("<") else text  # an HTML page, from a proxy


def _reason(error: Exception) -> str:
    """Why a connection failed, in the words of the system if it is known."""
    match system_error(error):
        case ssl.SSLError(reason=str(reason)) if reason:
            return reason.replace("_", " ").lower()
        case OSError(errno=int(number), strerror=str(message)):
            # asyncio replaces the system's message by the address. The numbers of name resolution
            # are negative, and `os.strerror` has no text for them.
            return os.strerror(number) if number > 0 else message
    text = " ".join(str(error).split()).rstrip(".")
    return text or type(error).__name__
