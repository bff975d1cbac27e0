"""HTTP to one server: JSON goes there, JSON or a stream of it comes back, and what fails fails as `failures.py` says.

One pool of connections. Redirects are not followed, so a key goes nowhere but to the host that it is for. Knows
neither models nor prompts, and asks nothing twice.
"""

import asyncio
import contextlib
import json
import os
import ssl
import time
from collections.abc import AsyncGenerator, Iterator
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any

from gistread import __version__
from gistread.engine.remote.address import ServerAddress
from gistread.engine.remote.failures import (
    RequestRefusedError,
    ServerLostError,
    UnreachableError,
    UntrustedError,
    is_crowded,
)

if TYPE_CHECKING:
    import httpx2

Json = Any
"""What JSON says; whoever reads it looks at its form."""

DONE = object()
"""The server says that an answer is whole."""

_BUSY = {429, 503, 529}
_PASSING = {408, 425, 500, 502, 504, *_BUSY}
"""Failures that may be over the next time."""
_SAID_CHARACTERS = 300
_MOST_BYTES = 64 * 2**20
"""Of one answer or one event; more is no answer to what is asked here."""


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How long is waited for what, in seconds, and how often it is tried."""

    connect_s: float = 10.0
    first_s: float = 600.0
    """For the first word of an answer: a long prompt on a slow server, behind others."""
    between_s: float = 120.0
    """From one word to the next."""
    short_s: float = 60.0
    """For the answer to what needs no model."""
    attempts: int = 6
    """Of a request, the first included."""
    back_off_s: float = 1.0
    """Before the second attempt; before each further one twice as long, at most `longest_s`."""
    longest_s: float = 30.0


class Connection:
    """Made cheap: nothing is imported or opened before the first request. `close` has to be awaited."""

    def __init__(self, address: ServerAddress, key: str = "", patience: RetryPolicy | None = None) -> None:
        self.address = address
        self.patience = patience or RetryPolicy()
        self._key = key
        self._client: httpx2.AsyncClient | None = None

    @property
    def has_key(self) -> bool:
        return bool(self._key)

    async def get(self, path: str, *, loads: bool = False) -> Json:
        """What lies at this path of the server. `loads`: a model may be loaded for it, which takes its time.

        Raises RequestRefusedError, ServerLostError.
        """
        return await self._fetch("GET", path, None, self.patience.first_s if loads else self.patience.short_s)

    async def post(self, path: str, body: Json) -> Json:
        """The answer to what needs no model. Raises as `get`."""
        return await self._fetch("POST", path, body, self.patience.short_s)

    async def stream(self, path: str, body: Json) -> AsyncGenerator[Json]:
        """The events of an answer as they come, then `DONE` where the server says that it has ended in order.

        Where it does not stream, the whole answer is one event. Closing the generator closes the connection, by which
        the server knows. Raises as `get`.
        """
        client = self._opened()
        request = client.build_request("POST", self._url(path), json=body)
        # Limits are set around single steps: none may run out while whoever reads this does something else.
        with self._failures():
            async with asyncio.timeout(self.patience.first_s):
                response = await client.send(request, stream=True)
        try:
            with self._failures():
                if response.status_code >= 300 or "json" in response.headers.get("content-type", ""):
                    async with asyncio.timeout(self.patience.first_s):
                        content = await response.aread()
                    if response.status_code >= 300:
                        raise self._failure(response.status_code, response.headers, content)
                    yield _decoded(content)
                    yield DONE
                    return
            events = _events(response)
            limit_s = self.patience.first_s
            while True:
                with self._failures():
                    async with asyncio.timeout(limit_s):
                        data = await anext(events, None)
                limit_s = self.patience.between_s
                if data is None:
                    return
                if data == "[DONE]":
                    yield DONE
                    return
                yield _decoded(data)
        finally:
            await response.aclose()

    async def close(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    async def _fetch(self, method: str, path: str, body: Json, timeout_s: float) -> Json:
        client = self._opened()
        with self._failures():
            async with asyncio.timeout(timeout_s):
                response = await client.request(method, self._url(path), json=body)
        if response.status_code >= 300:
            raise self._failure(response.status_code, response.headers, response.content)
        return _decoded(response.content)

    def _opened(self) -> "httpx2.AsyncClient":
        if self._client is None:
            import httpx2  # takes a tenth of a second, which those without a server need not wait

            self._client = httpx2.AsyncClient(
                headers={
                    "User-Agent": f"gistread/{__version__}",
                    **({"Authorization": f"Bearer {self._key}"} if self._key else {}),
                },
                timeout=httpx2.Timeout(None, connect=self.patience.connect_s, write=self.patience.short_s),
                # How many requests there may be is decided elsewhere.
                limits=httpx2.Limits(max_connections=None, max_keepalive_connections=64),
                # No proxy is asked for what runs on this machine.
                trust_env=not self.address.is_loopback,
                verify=_trusted(encrypted=self.address.is_encrypted),
            )
        return self._client

    def _url(self, path: str) -> str:
        return self.address.origin + path

    @contextlib.contextmanager
    def _failures(self) -> Iterator[None]:
        """Failures of the HTTP library and of time as ours."""
        import httpx2

        try:
            yield
        except (TimeoutError, httpx2.ReadTimeout, httpx2.WriteTimeout, httpx2.PoolTimeout):
            raise ServerLostError("did not answer in time") from None
        except httpx2.ConnectTimeout:
            raise UnreachableError(f"no connection within {self.patience.connect_s:.0f} s") from None
        except (httpx2.ConnectError, httpx2.ProxyError) as error:
            if isinstance(cause := _cause(error), ssl.SSLCertVerificationError):
                raise UntrustedError(cause.verify_message) from None
            raise UnreachableError(self._without_key(_reason(error))) from None
        except (httpx2.TransportError, httpx2.DecodingError) as error:
            said = isinstance(_cause(error), OSError)  # The library's own words are about the protocol.
            raise ServerLostError("broke off" + (f" ({_reason(error)})" if said else "")) from None
        except (httpx2.InvalidURL, UnicodeError) as error:
            raise RequestRefusedError(0, self._without_key(str(error))) from None

    def _failure(self, status: int, headers: "httpx2.Headers", content: bytes) -> Exception:
        said = self._without_key(_said(content))
        if status < 400:
            return RequestRefusedError(status, f"it sends to {headers.get('location', 'another address')}")
        if status in _PASSING:
            reason = f"failed ({status}" + (f": {said})" if said else ")")
            return ServerLostError(
                reason,
                answered=True,
                busy=status in _BUSY,
                crowded=is_crowded(said),
                retry_after_s=_retry_after_s(headers),
            )
        return RequestRefusedError(status, said)

    def _without_key(self, text: str) -> str:
        return text.replace(self._key, "…") if self._key else text


async def _events(response: "httpx2.Response") -> AsyncGenerator[str]:
    """The data of server-sent events."""
    import httpx2

    source = httpx2.EventSource(response, _MOST_BYTES)
    async for event in source:
        if event.data:
            yield event.data


def _decoded(data: bytes | str) -> Json:
    try:
        return json.loads(data)
    except ValueError:
        raise ServerLostError("answered with something that is not JSON", answered=True) from None


def _trusted(*, encrypted: bool) -> ssl.SSLContext:
    """Certificates that are believed: the system's, or those that SSL_CERT_FILE or SSL_CERT_DIR name."""
    import httpx2

    if not encrypted:
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # Reading hundreds of certificates takes a moment.
    try:
        return httpx2.create_ssl_context()
    except OSError as error:
        raise UntrustedError(f"SSL_CERT_FILE or SSL_CERT_DIR cannot be read ({error.strerror})") from None


def _said(content: bytes) -> str:
    """The message in an error's answer, whoever wrote it, in one short line."""
    text = content[: 16 * _SAID_CHARACTERS].decode("utf-8", "replace")
    with contextlib.suppress(ValueError):
        match json.loads(content):
            case {"error": {"message": str(text)}} | {"error": str(text)} | {"message": str(text)}:
                pass
            case {"detail": detail}:
                text = detail if isinstance(detail, str) else json.dumps(detail)
    if text.lstrip().startswith("<"):  # a page for people, from something between here and there
        return ""
    text = " ".join(text.split())
    return text if len(text) <= _SAID_CHARACTERS else text[: _SAID_CHARACTERS - 1] + "…"


def _cause(error: BaseException) -> BaseException:
    """What the system said, which the library's own words mostly hide; else the error itself."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, OSError) and cause.errno is not None:
            return cause
        cause = cause.__cause__ or cause.__context__
    return error


def _reason(error: Exception) -> str:
    """What happened in the words of the system, without the names of Python's exceptions where it says anything."""
    match _cause(error):
        case ssl.SSLError(reason=str(reason)) if reason:
            return reason.replace("_", " ").lower()
        case OSError(errno=int(number), strerror=str(said)):
            # asyncio puts the address in place of the system's words.
            return os.strerror(number) if number > 0 else said
    return " ".join(str(error).split()).rstrip(".") or type(error).__name__


def _retry_after_s(headers: "httpx2.Headers") -> float | None:
    """The header Retry-After, which has seconds or a date (RFC 9110, section 10.2.3)."""
    value = headers.get("retry-after", "").strip()
    if not value:
        return None
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    except ValueError:
        return None
