"""One request to a server: who is asked, what is said to whom, and where the answer really comes from.

Redirects are followed here, by hand: the token goes to the hub and to nobody else, no answer leads from https to
http, and what the hub says of a file on the way to it is kept. Proxies and certificates are the environment's.
What is done with the bytes, this does not know.
"""

import contextlib
import functools
import os
import re
import ssl
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING
from urllib.parse import urljoin, urlsplit

from gistread import __version__
from gistread.errors import FetchError, UsageError

if TYPE_CHECKING:
    import httpx2

_HUB = "https://huggingface.co"
_REDIRECTS = (301, 302, 303, 307, 308)
_MOST_REDIRECTS = 10
_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Network:
    """How servers are spoken to. Times in seconds."""

    endpoint: str = _HUB
    """Of the hub, without a slash at the end."""
    token: str = field(default="", repr=False)
    stall_s: float = 30.0
    """Silence after which a connection counts as lost."""
    pause_s: float = 1.0
    """Before the second attempt; each further pause is twice as long."""
    attempts: int = 8
    """In a row that bring nothing, before it is given up."""

    @property
    def host(self) -> str:
        return urlsplit(self.endpoint).netloc

    def is_hub(self, url: str) -> bool:
        """Whether this address is the hub's own."""
        here, there = urlsplit(self.endpoint), urlsplit(url)
        return (here.scheme, here.netloc) == (there.scheme, there.netloc)


def network_of(environment: Mapping[str, str] = os.environ) -> Network:
    """As HF_ENDPOINT and HF_TOKEN say. Raises UsageError where they cannot be meant."""
    endpoint = environment.get("HF_ENDPOINT", "").strip().rstrip("/") or _HUB
    try:
        parts = urlsplit(endpoint)
        fits = parts.scheme in ("https", "http") and bool(parts.hostname) and not (parts.query or parts.fragment)
    except ValueError:
        fits = False
    if not fits:
        raise UsageError("HF_ENDPOINT is no address.", "It begins with https://, or is not set.")
    token = environment.get("HF_TOKEN", "").strip()
    if not re.fullmatch(r"[!-~]*", token):
        raise UsageError("HF_TOKEN is no token: it has a space, a line break or a letter beyond ASCII in it.")
    return Network(endpoint, token)


@dataclass(frozen=True, slots=True)
class HubMetadata:
    """What the hub says of the file itself, wherever it sends us for it."""

    sha256: str = ""
    size_bytes: int | None = None
    commit: str = ""


@dataclass(frozen=True, slots=True)
class Answer:
    """The response that is no redirect. Its body is not read yet."""

    response: "httpx2.Response"
    linked: HubMetadata

    @property
    def host(self) -> str:
        """Who it comes from, for people."""
        return self.response.url.host


def new_client(network: Network) -> "httpx2.AsyncClient":
    """A client that follows no redirects, for `ask`."""
    import httpx2  # the only place that downloads; nothing is to wait for it at start-up

    timeout = httpx2.Timeout(network.stall_s)
    headers = {"User-Agent": f"gistread/{__version__}", "Accept-Encoding": "identity"}
    try:
        return httpx2.AsyncClient(timeout=timeout, headers=headers, verify=_certificates())
    except ImportError:
        raise FetchError("A SOCKS proxy needs another package.", "python3 -m pip install socksio") from None
    except ValueError as error:  # a proxy of the environment that is no address
        raise FetchError(f"The proxy cannot be used: {error}", "See HTTPS_PROXY and ALL_PROXY.") from None
    except OSError as error:
        raise FetchError(
            f"The certificates to check servers by cannot be read: {error.strerror or error}.", "See SSL_CERT_FILE."
        ) from None


@functools.cache
def _certificates() -> ssl.SSLContext:
    """Read once: it takes as long as importing the library."""
    import httpx2

    return httpx2.create_ssl_context()


@contextlib.asynccontextmanager
async def ask(
    client: "httpx2.AsyncClient", network: Network, url: str, headers: Mapping[str, str], method: str = "GET"
) -> AsyncIterator[Answer]:
    """Send a request, follow where it leads, and hand out what is there.

    Raises FetchError where it leads nowhere or the server cannot be trusted, httpx2.TransportError as the client.
    """
    import httpx2

    linked, been = HubMetadata(), {url}
    while True:
        allowed = dict(headers)
        if network.token and network.is_hub(url):
            allowed["Authorization"] = f"Bearer {network.token}"
        try:
            response = await client.send(client.build_request(method, url, headers=allowed), stream=True)
        except httpx2.InvalidURL:
            raise FetchError(
                f"{urlsplit(url).hostname or 'The server'} is no address.", "Nothing was fetched."
            ) from None
        except httpx2.TransportError as error:
            if _is_distrust(error):
                raise FetchError(
                    f"{urlsplit(url).hostname} cannot prove that it is who it says: {_reason(error)}.",
                    "Nothing was fetched. Behind a company's proxy, SSL_CERT_FILE names its certificates.",
                ) from None
            raise
        try:
            if network.is_hub(url):
                linked = _linked(response.headers, linked)
            if response.status_code not in _REDIRECTS:
                yield Answer(response, linked)
                return
            url = _next(url, response.headers.get("Location", ""))
        finally:
            await response.aclose()
        if url in been or len(been) > _MOST_REDIRECTS:
            raise FetchError(f"{urlsplit(url).hostname} sends us round in a circle.", "Try again later.")
        been.add(url)


def _next(url: str, location: str) -> str:
    try:
        target = urljoin(url, location)
        here, there = urlsplit(url), urlsplit(target)
        fits = bool(location and there.hostname) and there.scheme in ("https", "http")
    except ValueError:
        raise FetchError(f"{urlsplit(url).hostname} sends us nowhere.", "Try again later.") from None
    if not fits:
        raise FetchError(f"{here.hostname} sends us nowhere.", "Try again later.")
    if (here.scheme, there.scheme) == ("https", "http"):
        raise FetchError(f"{here.hostname} sends us to {there.hostname} without encryption.", "Nothing was fetched.")
    return target


def _linked(headers: Mapping[str, str], before: HubMetadata) -> HubMetadata:
    sha256 = headers.get("X-HubMetadata-Etag", "").removeprefix("W/").strip('"').lower()
    size = headers.get("X-HubMetadata-Size", "")
    found = before
    if _SHA256.fullmatch(sha256):
        found = replace(found, sha256=sha256)
    if size.isdecimal():
        found = replace(found, size_bytes=int(size))
    if commit := headers.get("X-Repo-Commit", ""):
        found = replace(found, commit=commit)
    return found


def _is_distrust(error: BaseException | None) -> bool:
    while error is not None:
        if isinstance(error, ssl.SSLCertVerificationError):
            return True
        error = error.__cause__ or error.__context__
    return False


def _reason(error: Exception) -> str:
    return str(error).partition("] ")[2].partition(" (_ssl")[0] or str(error)
