"""Requests to a KOReader sync server.

Its protocol has no official description; https://github.com/pid1/kosync-conformance has one.
"""

import asyncio
import math
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit

import orjson

from gistread.engine.fetching.network import Network, new_client, system_error
from gistread.engine.fetching.retrying import BUSY
from gistread.errors import FetchError, conceal

if TYPE_CHECKING:
    import httpx2

NETWORK = Network(stall_s=10.0)
_MOST_BYTES = 100_000  # Of a reply
_MOST_SECONDS = 30.0  # For a whole reply
_ACCEPT = "application/vnd.koreader.v1+json"
_USER_EXISTS, _NO_REGISTRATION = 2002, 2005  # Codes in the replies of the server
_LOG_IN = "Check name and password: gistread sync login SERVER USER"


@dataclass(frozen=True, slots=True)
class Account:
    """An account on a sync server. `key` is the MD5 of its password, as the protocol has it."""

    server: str  # Address without a trailing slash
    user: str
    key: str = field(repr=False)
    device: str  # Name of this device, which other devices show
    device_id: str

    @property
    def name(self) -> str:
        return f"{self.user}@{self.server}"


@dataclass(frozen=True, slots=True)
class RemotePlace:
    """A place in a book on the server. It is from the device that wrote last."""

    percentage: float  # 0 to 1
    progress: str = ""  # An XPointer, or a page number of a PDF
    device: str = ""
    device_id: str = ""
    timestamp: int | None = None  # Seconds since the epoch, by the server's clock


class AuthorizationError(FetchError):
    """The server does not accept the login."""


class SyncClient:
    """A connection to one account. Use `open_server`."""

    def __init__(
        self, client: "httpx2.AsyncClient", network: Network, account: Account
    ) -> None:
        self._client = client
        self._network = network
        self._account = account
        # With a port if the address has one, but without a login
        _, _, host = urlsplit(account.server).netloc.rpartition("@")
        self._host = host or account.server

    async def register(self) -> None:
        """Create the account. Raises FetchError."""
        account = self._account
        fields = {"username": account.user, "password": account.key}
        status, reply = await self._request(
            "POST", "/users/create", fields, with_login=False
        )
        if status in (HTTPStatus.OK, HTTPStatus.CREATED):
            return
        if reply.get("code") == _USER_EXISTS:
            raise FetchError(
                f"{self._host} has a user {account.user} already.",
                "Choose another name, or log in without --register.",
            )
        if reply.get("code") == _NO_REGISTRATION:
            raise FetchError(
                f"{self._host} lets nobody register.",
                "Ask whoever runs it for an account.",
            )
        raise self._refusal(status)

    async def log_in(self) -> None:
        """Check the login. Raises AuthorizationError, FetchError."""
        status, _ = await self._request("GET", "/users/auth")
        if status != HTTPStatus.OK:
            raise self._refusal(status)

    async def pull(self, document: str) -> RemotePlace | None:
        """The place in a document; None if no device has stored one. Raises FetchError."""
        path = f"/syncs/progress/{quote(document, safe='')}"
        status, reply = await self._request("GET", path)
        # Some servers answer so for an unknown document.
        if status == HTTPStatus.NOT_FOUND:
            return None
        if status != HTTPStatus.OK:
            raise self._refusal(status)
        return self._place(reply)

    async def push(self, document: str, place: RemotePlace) -> int | None:
        """Store a place; returns its time by the server's clock, if it says. Raises FetchError."""
        fields = {
            "document": document,
            "progress": place.progress,
            "percentage": place.percentage,
            "device": place.device,
            "device_id": place.device_id,
        }
        status, reply = await self._request("PUT", "/syncs/progress", fields)
        if status != HTTPStatus.OK:
            raise self._refusal(status)
        timestamp = reply.get("timestamp")
        if not isinstance(timestamp, int):
            return None
        return timestamp

    async def _request(
        self,
        method: str,
        path: str,
        fields: Mapping[str, object] | None = None,
        *,
        with_login: bool = True,
    ) -> tuple[int, Mapping[str, Any]]:
        """Status and body of a reply. Raises AuthorizationError, FetchError."""
        import httpx2

        headers = {"Accept": _ACCEPT}
        if with_login:
            headers["x-auth-user"] = self._account.user
            headers["x-auth-key"] = self._account.key
        body = None
        if fields is not None:
            headers["Content-Type"] = "application/json"
            body = orjson.dumps(fields)
        try:
            async with asyncio.timeout(_MOST_SECONDS):
                status, data = await self._exchange(method, path, headers, body)
        except (TimeoutError, httpx2.TimeoutException):
            problem = f"{self._host} does not answer."
            raise FetchError(problem, "Try again later.") from None
        except (httpx2.InvalidURL, UnicodeEncodeError):
            problem = f"{self._account.server} has or leads to an invalid address."
            raise FetchError(problem, "Check it, then log in.") from None
        except httpx2.TransportError as error:
            raise self._lost(error) from None
        except httpx2.RequestError:  # Such as data that is not compressed as announced
            raise self._no_sync_server() from None
        if status == HTTPStatus.UNAUTHORIZED:
            user = self._account.user
            problem = f"{self._host} does not accept the login of {user}."
            raise AuthorizationError(problem, _LOG_IN)
        return status, self._reply(status, data)

    async def _exchange(
        self, method: str, path: str, headers: Mapping[str, str], body: bytes | None
    ) -> tuple[int, bytes]:
        """Status and data of a response. Raises FetchError, httpx2.RequestError."""
        url = f"{self._account.server}{path}"
        stream = self._client.stream(
            method, url, headers=headers, content=body, follow_redirects=False
        )
        async with stream as response:
            if response.has_redirect_location:
                # Not followed: the login goes to no other address.
                target = response.url.join(response.headers["Location"])
                raise self._redirection(target, path)
            data = bytearray()
            async for part in response.aiter_bytes():
                data += part
                if len(data) > _MOST_BYTES:
                    raise self._no_sync_server()
            return response.status_code, bytes(data)

    def _reply(self, status: int, data: bytes) -> Mapping[str, Any]:
        """The JSON object of a reply. Raises FetchError if there is none."""
        try:
            reply = orjson.loads(data)
        except orjson.JSONDecodeError:
            reply = None
        if isinstance(reply, dict):
            return reply
        if status in BUSY or status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            raise self._refusal(status)
        raise self._no_sync_server()

    def _place(self, reply: Mapping[str, Any]) -> RemotePlace | None:
        """The place in a reply; None if it has none. Raises FetchError if it has another form."""
        percentage = reply.get("percentage")
        if percentage is None:
            return None
        is_number = type(percentage) in (int, float)  # To Python, a bool is an int.
        if not is_number or not math.isfinite(percentage):
            raise self._no_sync_server()
        timestamp = reply.get("timestamp")
        return RemotePlace(
            percentage=min(1.0, max(0.0, percentage)),
            progress=str(reply.get("progress") or ""),
            device=str(reply.get("device") or ""),
            device_id=str(reply.get("device_id") or ""),
            timestamp=timestamp if isinstance(timestamp, int) else None,
        )

    def _redirection(self, target: "httpx2.URL", path: str) -> FetchError:
        """The error for a redirection of the request for `path`.

        If the target ends with the same path, what is before it is the server to log in to.
        """
        address = str(target.copy_with(query=None, fragment=None))
        server = address.removesuffix(path)
        hint = "Ask whoever runs it."
        if server != address:
            hint = "Log in with that address instead."
        return FetchError(f"{self._host} redirects to {server}.", hint)

    def _no_sync_server(self) -> FetchError:
        """The error for a reply of another form."""
        return FetchError(
            f"{self._host} does not answer like a KOReader sync server.",
            f"Check the address: {self._account.server}",
        )

    def _refusal(self, status: int) -> FetchError:
        return FetchError(f"{self._host} returned {status}.", "Try again later.")

    def _lost(self, error: "httpx2.TransportError") -> FetchError:
        """The error for a connection that failed."""
        import ssl

        import httpx2

        cause = system_error(error)
        if isinstance(cause, ssl.SSLCertVerificationError):
            return FetchError(
                f"The certificate of {self._host} is not trusted: {cause.verify_message}.",
                "Nothing was sent. For a certificate of your own, set SSL_CERT_FILE.",
            )
        if isinstance(error, httpx2.ConnectError | httpx2.ProxyError):
            return FetchError(f"{self._host} cannot be reached.", "Check the network.")
        return FetchError(
            f"The connection to {self._host} was lost.", "Try again later."
        )


@asynccontextmanager
async def open_server(
    account: Account, network: Network = NETWORK
) -> AsyncIterator[SyncClient]:
    """A client of a sync server, with a connection of its own. Raises FetchError."""
    conceal(account.key)
    async with new_client(network) as client:
        yield SyncClient(client, network, account)
