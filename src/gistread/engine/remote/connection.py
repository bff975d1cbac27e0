"""HTTP with one server: JSON and server-sent events, without redirects, so that a key only goes to its own host."""

import contextlib
import json
import os
import ssl
from collections.abc import AsyncGenerator, Iterator
from typing import TYPE_CHECKING, Any

from gistread import __version__
from gistread.engine.fetching.network import retry_after_s, system_error
from gistread.engine.remote.address import ServerAddress
from gistread.engine.remote.failures import (
    RequestRefusedError,
    RetryPolicy,
    ServerLostError,
    SilentError,
    UnreachableError,
)
from gistread.errors import clean, conceal

if TYPE_CHECKING:
    import httpx2

Json = Any  # Decoded JSON, of unknown shape

_BUSY = {429, 503, 529}
_TRANSIENT = {408, 425, 500, 502, 504, *_BUSY}
_MOST_BYTES = 64 * 2**20  # Largest answer or event


class Connection:
    """HTTP to one server. Opens nothing before the first request; await `close`."""

    def __init__(self, address: ServerAddress, key: str, policy: RetryPolicy) -> None:
        self.address = address
        self._policy = policy
        conceal(key)
        self._key = {"Authorization": f"Bearer {key}"} if key else {}
        self._client: httpx2.AsyncClient | None = None

    async def fetch(self, path: str) -> Json:
        """GET a path. Raises RequestRefusedError, ServerLostError."""
        with self._failures():
            async with self._open_client().stream(
                "GET", self.address.origin + path, timeout=self._policy.short_s
            ) as response:
                content = await _content(response)
        _check_status(response, content)
        return _decode(content)

    async def stream(self, path: str, body: Json) -> AsyncGenerator[Json]:
        """POST and yield the events of the answer. Raises as `fetch`."""
        import httpx2

        client = self._open_client()
        request = client.build_request("POST", self.address.origin + path, json=body)
        with self._failures():
            response = await client.send(request, stream=True)
        try:
            if response.status_code >= 300 or "json" in response.headers.get("content-type", ""):
                with self._failures():
                    content = await _content(response)
                _check_status(response, content)
                yield _checked(_decode(content))
                return
            events = aiter(httpx2.EventSource(response, _MOST_BYTES))
            while True:
                with self._failures():
                    event = await anext(events, None)
                if event is None or event.data == "[DONE]":
                    return
                if event.data:
                    yield _checked(_decode(event.data))
        finally:
            await response.aclose()

    async def close(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    def _open_client(self) -> "httpx2.AsyncClient":
        if self._client is None:
            import httpx2  # slow to import

            self._client = httpx2.AsyncClient(
                headers={"User-Agent": f"gistread/{__version__}", **self._key},
                timeout=httpx2.Timeout(self._policy.answer_s, connect=self._policy.connect_s),
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
        except (httpx2.ReadTimeout, httpx2.WriteTimeout, httpx2.PoolTimeout):
            raise SilentError("did not answer in time") from None
        except httpx2.ConnectTimeout:
            raise UnreachableError(f"no connection within {self._policy.connect_s:.0f} s") from None
        except (httpx2.ConnectError, httpx2.ProxyError) as error:
            if isinstance(cause := system_error(error), ssl.SSLCertVerificationError):
                reason = f"certificate not trusted: {cause.verify_message}; SSL_CERT_FILE names your own authority"
                raise UnreachableError(reason) from None
            raise UnreachableError(_shorten(_reason(error))) from None
        except (httpx2.TransportError, httpx2.DecodingError):
            raise ServerLostError("broke off") from None
        except (httpx2.InvalidURL, UnicodeError) as error:
            raise RequestRefusedError(0, _shorten(str(error))) from None


def _check_status(response: "httpx2.Response", content: bytes) -> None:
    """Raises RequestRefusedError, ServerLostError unless the status means success."""
    status = response.status_code
    if status < 300:
        return
    if status < 400:
        raise RequestRefusedError(status, f"it redirects to {_shorten(response.headers.get('location', '?'))}")
    said = _shorten(_message(content))
    if status == 500 and "validation error" in said:  # llama_cpp.server says so of a field that it does not know
        raise RequestRefusedError(422, said)
    if status in _TRANSIENT:
        reason = f"failed ({status}" + (f": {said})" if said else ")")
        raise ServerLostError(reason, True, status in _BUSY, said, retry_after_s(response.headers))
    raise RequestRefusedError(status, said)


def _checked(event: Json) -> Json:
    """Raises the error that an event reports, if any."""
    error = event.get("error") if isinstance(event, dict) else None
    if not error:
        return event
    said = _shorten(str(error.get("message", "")) if isinstance(error, dict) else str(error))
    code = str(error.get("code")) if isinstance(error, dict) else ""  # LiteLLM's are strings.
    if code.isdecimal() and 400 <= int(code) < 500 and int(code) not in _TRANSIENT:
        raise RequestRefusedError(int(code), said)
    raise ServerLostError(f"failed in the middle of an answer ({said})", said=said)


async def _content(response: "httpx2.Response") -> bytes:
    content = bytearray()
    async for block in response.aiter_bytes():
        content += block
        if len(content) > _MOST_BYTES:
            raise ServerLostError("sent an answer without end", answered=True)
    return bytes(content)


def _shorten(text: str) -> str:
    """What a server said, in one line for a message."""
    text = clean(" ".join(text.split()))
    return text if len(text) <= 300 else text[:299] + "…"


def _decode(data: bytes | str) -> Json:
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        raise ServerLostError("sent an answer that is not JSON", answered=True) from None


def _ssl_context(*, encrypted: bool) -> ssl.SSLContext:
    """Trust the system's certificates, or those of SSL_CERT_FILE or SSL_CERT_DIR."""
    import httpx2

    if not encrypted:
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # Reading certificates is slow.
    try:
        return httpx2.create_ssl_context()
    except OSError as error:
        raise UnreachableError(f"SSL_CERT_FILE or SSL_CERT_DIR cannot be read ({error.strerror})") from None


def _message(content: bytes) -> str:
    """The message in an error's body; empty for an HTML page, as from a proxy."""
    text = content.decode("utf-8", "replace")
    with contextlib.suppress(ValueError):
        match json.loads(content):
            case {"error": {"message": str(said)}} | {"error": str(said)} | {"message": str(said)}:
                return said
    return "" if text.lstrip().startswith("<") else text


def _reason(error: Exception) -> str:
    match system_error(error):
        case ssl.SSLError(reason=str(reason)) if reason:
            return reason.replace("_", " ").lower()
        case OSError(errno=int(number)) if number > 0:
            return os.strerror(number)  # asyncio replaces the system's message by the address.
    return " ".join(str(error).split()).rstrip(".") or type(error).__name__
