"""HTTP with one server: JSON and server-sent events, without redirects, so that a key only goes to its own host."""

import asyncio
import contextlib
import json
import os
import ssl
from collections.abc import AsyncGenerator, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gistread import __version__
from gistread.engine.http import retry_after_s, system_error
from gistread.engine.remote.address import ServerAddress
from gistread.engine.remote.failures import RequestRefusedError, ServerLostError, UnreachableError, UntrustedError

if TYPE_CHECKING:
    import httpx2

Json = Any  # Decoded JSON, of unknown shape

DONE = object()  # Sentinel: the server reported the end of the stream

_BUSY = {429, 503, 529}
_TRANSIENT = {408, 425, 500, 502, 504, *_BUSY}
_MESSAGE_CHARACTERS = 300
_MOST_BYTES = 64 * 2**20  # Largest answer or event


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Timeouts in seconds, and retries."""

    connect_s: float = 10.0
    first_s: float = 600.0  # Until an answer begins: a long prompt on a slow server, behind others
    between_s: float = 120.0  # Between parts of an answer
    short_s: float = 60.0  # For requests that need no model
    attempts: int = 6
    back_off_s: float = 1.0  # Pause before the second attempt; doubles each time, up to `longest_s`
    longest_s: float = 30.0


class Connection:
    """HTTP to one server. Opens nothing before the first request; await `close`."""

    def __init__(self, address: ServerAddress, key: str = "", policy: RetryPolicy | None = None) -> None:
        self.address = address
        self.policy = policy or RetryPolicy()
        self._key = key
        self._client: httpx2.AsyncClient | None = None

    async def get(self, path: str, *, loads: bool = False) -> Json:
        """GET a path. `loads`: allow time to load a model. Raises RequestRefusedError, ServerLostError."""
        return await self._fetch("GET", path, None, self.policy.first_s if loads else self.policy.short_s)

    async def post(self, path: str, body: Json) -> Json:
        """POST to an endpoint that needs no model. Raises as `get`."""
        return await self._fetch("POST", path, body, self.policy.short_s)

    async def stream(self, path: str, body: Json) -> AsyncGenerator[Json]:
        """POST and yield the events of the answer, then `DONE` if it ends normally. Raises as `get`."""
        import httpx2

        client = self._open_client()
        request = client.build_request("POST", self.address.origin + path, json=body)
        # Timeouts cover single steps, not the time the consumer takes.
        with self._failures():
            async with asyncio.timeout(self.policy.first_s):
                response = await client.send(request, stream=True)
        try:
            with self._failures():
                if response.status_code >= 300 or "json" in response.headers.get("content-type", ""):
                    async with asyncio.timeout(self.policy.first_s):
                        content = await response.aread()
                    if response.status_code >= 300:
                        raise self._failure(response.status_code, response.headers, content)
                    yield _decode(content)
                    yield DONE
                    return
            source = httpx2.EventSource(response, _MOST_BYTES)
            events = (event.data async for event in source if event.data)
            limit_s = self.policy.first_s
            while True:
                with self._failures():
                    async with asyncio.timeout(limit_s):
                        data = await anext(events, None)
                limit_s = self.policy.between_s
                if data is None:
                    return
                if data == "[DONE]":
                    yield DONE
                    return
                yield _decode(data)
        finally:
            await response.aclose()

    async def close(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    async def _fetch(self, method: str, path: str, body: Json, timeout_s: float) -> Json:
        client = self._open_client()
        with self._failures():
            async with asyncio.timeout(timeout_s):
                response = await client.request(method, self.address.origin + path, json=body)
        if response.status_code >= 300:
            raise self._failure(response.status_code, response.headers, response.content)
        return _decode(response.content)

    def _open_client(self) -> "httpx2.AsyncClient":
        if self._client is None:
            import httpx2  # slow to import

            self._client = httpx2.AsyncClient(
                headers={
                    "User-Agent": f"gistread/{__version__}",
                    **({"Authorization": f"Bearer {self._key}"} if self._key else {}),
                },
                timeout=httpx2.Timeout(None, connect=self.policy.connect_s, write=self.policy.short_s),
                # Concurrency is limited in concurrency.py.
                limits=httpx2.Limits(max_connections=None, max_keepalive_connections=64),
                # No proxy for a server on this machine.
                trust_env=not self.address.is_loopback,
                verify=_ssl_context(encrypted=self.address.is_encrypted),
            )
        return self._client

    @contextlib.contextmanager
    def _failures(self) -> Iterator[None]:
        import httpx2

        try:
            yield
        except (TimeoutError, httpx2.ReadTimeout, httpx2.WriteTimeout, httpx2.PoolTimeout):
            raise ServerLostError("did not answer in time") from None
        except httpx2.ConnectTimeout:
            raise UnreachableError(f"no connection within {self.policy.connect_s:.0f} s") from None
        except (httpx2.ConnectError, httpx2.ProxyError) as error:
            if isinstance(cause := system_error(error), ssl.SSLCertVerificationError):
                raise UntrustedError(cause.verify_message) from None
            raise UnreachableError(self._without_key(_reason(error))) from None
        except (httpx2.TransportError, httpx2.DecodingError) as error:
            # The library's own messages are about the protocol.
            raise ServerLostError("broke off" + (f" ({_reason(error)})" if system_error(error) else "")) from None
        except (httpx2.InvalidURL, UnicodeError) as error:
            raise RequestRefusedError(0, self._without_key(str(error))) from None

    def _failure(self, status: int, headers: "httpx2.Headers", content: bytes) -> Exception:
        said = self._without_key(_message(content))
        if status < 400:
            return RequestRefusedError(status, f"it redirects to {headers.get('location', 'another address')}")
        if status == 500 and "validation error" in said:  # llama_cpp.server says so of a field that it does not know
            return RequestRefusedError(422, said)
        if status in _TRANSIENT:
            reason = f"failed ({status}" + (f": {said})" if said else ")")
            return ServerLostError(reason, True, status in _BUSY, said, retry_after_s(headers))
        return RequestRefusedError(status, said)

    def _without_key(self, text: str) -> str:
        return text.replace(self._key, "…") if self._key else text


def _decode(data: bytes | str) -> Json:
    try:
        return json.loads(data)
    except ValueError:
        raise ServerLostError("sent an answer that is not JSON", answered=True) from None


def _ssl_context(*, encrypted: bool) -> ssl.SSLContext:
    """Trust the system's certificates, or those of SSL_CERT_FILE or SSL_CERT_DIR."""
    import httpx2

    if not encrypted:
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # Reading certificates is slow.
    try:
        return httpx2.create_ssl_context()
    except OSError as error:
        raise UntrustedError(f"SSL_CERT_FILE or SSL_CERT_DIR cannot be read ({error.strerror})") from None


def _message(content: bytes) -> str:
    text = content[: 16 * _MESSAGE_CHARACTERS].decode("utf-8", "replace")
    with contextlib.suppress(ValueError):
        match json.loads(content):
            case {"error": {"message": str(text)}} | {"error": str(text)} | {"message": str(text)}:
                pass
            case {"detail": detail}:
                text = detail if isinstance(detail, str) else json.dumps(detail)
    if text.lstrip().startswith("<"):  # an HTML page, from a proxy
        return ""
    text = " ".join(text.split())
    return text if len(text) <= _MESSAGE_CHARACTERS else text[: _MESSAGE_CHARACTERS - 1] + "…"


def _reason(error: Exception) -> str:
    match system_error(error):
        case ssl.SSLError(reason=str(reason)) if reason:
            return reason.replace("_", " ").lower()
        case OSError(errno=int(number), strerror=str(said)):
            # asyncio replaces the system's message by the address.
            return os.strerror(number) if number > 0 else said
    return " ".join(str(error).split()).rstrip(".") or type(error).__name__
