"""Sends HTTP requests: the token goes to the hub only, and https never leads to http."""

import contextlib
import os
import re
import ssl
import time
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, urlsplit

from gistread import __version__
from gistread.errors import FetchError, UsageError
from gistread.paths import pip_install

if TYPE_CHECKING:
    import httpx2

_HUB = "https://huggingface.co"
_ENDPOINT = re.compile(r"https?://[\w.:-]+(/[^\s?#]*)?")  # `https://host:443/path`
_TOKEN = re.compile(r"[!-~]*")  # Printable ASCII without spaces


@dataclass(frozen=True, slots=True)
class Network:
    endpoint: str = _HUB  # Address of the hub, without a trailing slash
    token: str = field(default="", repr=False)
    stall_s: float = 30.0  # Silence after which a connection counts as lost
    pause_s: float = 1.0  # Pause before the second attempt; doubles each time
    attempts: int = 8  # Attempts in a row without progress before giving up


def network_of(environment: Mapping[str, str] = os.environ) -> Network:
    """Settings from HF_ENDPOINT and HF_TOKEN. Raises UsageError if they are invalid."""
    endpoint = environment.get("HF_ENDPOINT", "").strip().rstrip("/") or _HUB
    if not _ENDPOINT.fullmatch(endpoint):
        raise UsageError(
            "HF_ENDPOINT is not a valid address.",
            "It must begin with https://, or be unset.",
        )
    token = environment.get("HF_TOKEN", "").strip()
    if not _TOKEN.fullmatch(token):
        raise UsageError(
            "HF_TOKEN is not a valid token: it contains spaces, line breaks or characters "
            "outside ASCII."
        )
    return Network(endpoint, token)


def split_address(address: str, hint: str) -> SplitResult:
    """The parts of an address that is stored and shown: it may hold no login. Raises UsageError."""
    invalid = UsageError("This is not a valid address.", hint)
    try:
        parts = urlsplit(address)
        port = parts.port
    except ValueError:
        raise invalid from None
    if parts.username is not None:
        raise UsageError(
            "The address contains a login, but addresses are stored and shown.", hint
        )
    if not parts.hostname or port == 0:
        raise invalid
    return parts


def new_client(network: Network) -> "httpx2.AsyncClient":
    """Create a client for `open_response`. Raises FetchError."""
    import httpx2  # slow to import

    try:
        return httpx2.AsyncClient(
            timeout=network.stall_s,
            headers={
                "User-Agent": f"gistread/{__version__}",
                "Accept-Encoding": "identity",
            },
            follow_redirects=True,
            max_redirects=10,
            event_hooks={"response": [_refuse_decryption]},
        )
    except ImportError:
        raise FetchError(
            "A SOCKS proxy needs another package.", pip_install("socksio")
        ) from None
    except ValueError as error:  # an invalid proxy address in the environment
        raise FetchError(
            f"The proxy cannot be used: {error}", "See HTTPS_PROXY and ALL_PROXY."
        ) from None
    except OSError as error:
        problem = f"The trusted certificates cannot be read: {error.strerror or error}."
        raise FetchError(problem, "See SSL_CERT_FILE.") from None


async def _refuse_decryption(response: "httpx2.Response") -> None:
    """Raises FetchError for a redirect from https to http."""
    if response.has_redirect_location and response.url.scheme == "https":
        target = response.url.join(response.headers["Location"])
        if target.scheme == "http":
            problem = (
                f"{response.url.host} redirects to {target.host} without encryption."
            )
            raise FetchError(problem, "Nothing was fetched.")


@contextlib.asynccontextmanager
async def open_response(
    client: "httpx2.AsyncClient", network: Network, url: str, headers: Mapping[str, str]
) -> AsyncIterator["httpx2.Response"]:
    """Send a request and yield the response after redirects, unread.

    Raises FetchError, httpx2.TransportError, also for errors in reading the response.
    """
    import httpx2

    try:
        address = urlsplit(url)
    except ValueError:
        raise FetchError(
            "The server names an invalid address.", "Try again later."
        ) from None
    host = address.hostname or "The server"
    hub = urlsplit(network.endpoint)
    is_hub = (address.scheme, address.netloc) == (hub.scheme, hub.netloc)
    if network.token and is_hub:
        # The client leaves it out of redirects to other hosts.
        headers = {**headers, "Authorization": f"Bearer {network.token}"}
    try:
        async with client.stream("GET", url, headers=headers) as response:
            yield response
    except httpx2.InvalidURL:
        raise FetchError(
            f"{host} has or leads to an invalid address.", "Try again later."
        ) from None
    except httpx2.TooManyRedirects:
        raise FetchError(f"{host} redirects in a circle.", "Try again later.") from None
    except httpx2.TransportError as error:
        cause = system_error(error)
        if not isinstance(cause, ssl.SSLCertVerificationError):
            raise
        raise FetchError(
            f"The certificate of {host} is not trusted: {cause.verify_message}.",
            "Nothing was fetched. Behind a company proxy, set SSL_CERT_FILE to its "
            "certificates.",
        ) from None
    except httpx2.RequestError:  # Such as data that is not compressed as announced
        raise FetchError(
            f"{host} sent data that cannot be read.", "Try again later."
        ) from None


def refusal_error(
    response: "httpx2.Response", network: Network, repository: str, name: str
) -> FetchError:
    """Say why a server did not send the file `name`, or the page of `repository`."""
    status = response.status_code
    host = response.url.host
    missing = _missing_on_hub(response, name)
    if missing:
        if network.token:
            hint = "Check the name."
        else:
            hint = "Check the name; a private one needs HF_TOKEN."
        return FetchError(f"{host} has no {missing} {repository}.", hint)
    if status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
        page = f"{network.endpoint}/{repository}"
        hint = f"Accept them at {page}, set HF_TOKEN to a token with access, and try again."
        return FetchError(f"Access to {repository} requires accepting its terms.", hint)
    if status in (HTTPStatus.NOT_FOUND, HTTPStatus.GONE):
        return FetchError(
            f"{host} has no {name}.",
            "Check the name; files on the hub are sometimes renamed.",
        )
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        wait_s = retry_after_s(response.headers)
        when = f"in {wait_s:.0f} s" if wait_s else "in some minutes"
        return FetchError(
            f"{host} limits requests from this address (429).", f"Try again {when}."
        )
    return FetchError(
        f"{host} returned {status} for {name}.",
        "Try again later, or choose another model.",
    )


def _missing_on_hub(response: "httpx2.Response", name: str) -> str:
    """What the hub says that it does not have, to stand before the repository; else empty."""
    missing_by_code = {
        "EntryNotFound": f"file {name} in",
        "RevisionNotFound": "such revision of",
        "RepoNotFound": "repository",
    }
    code = response.headers.get("X-Error-Code", "")
    return missing_by_code.get(code, "")


def describe(error: "httpx2.TransportError", network: Network) -> str:
    """What went wrong, as a clause for the user."""
    import httpx2

    if isinstance(error, httpx2.TimeoutException):
        return f"no data for {network.stall_s:.0f} s"
    if isinstance(error, httpx2.ConnectError | httpx2.ProxyError):
        host = error.request.url.host
        return f"cannot connect to {host}, or to the proxy if one is set"
    return "the connection was lost"


def retry_after_s(headers: Mapping[str, str]) -> float | None:
    """Seconds to wait by Retry-After (RFC 9110, 10.2.3), a number or a date.

    None if missing or invalid.
    """
    value = headers.get("Retry-After", "").strip()
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    except ValueError:
        return None


def system_error(error: BaseException) -> OSError | None:
    """The error of the operating system from which this one arose, if any."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, OSError) and cause.errno is not None:
            return cause
        cause = cause.__cause__ or cause.__context__
    return None
