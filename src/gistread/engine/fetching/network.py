"""Sends HTTP requests and follows redirects: the token goes to the hub only, and https never leads to http."""

import contextlib
import functools
import os
import re
import ssl
import urllib.request
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import urljoin, urlsplit

from gistread import __version__
from gistread.engine.http import retry_after_s, system_error
from gistread.errors import FetchError, UsageError

if TYPE_CHECKING:
    import httpx2

_HUB = "https://huggingface.co"
_REDIRECTS = (301, 302, 303, 307, 308)
_MOST_REDIRECTS = 10
_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Network:
    endpoint: str = _HUB  # Address of the hub, without a trailing slash
    token: str = field(default="", repr=False)
    stall_s: float = 30.0  # Silence after which a connection counts as lost
    pause_s: float = 1.0  # Pause before the second attempt; doubles each time
    attempts: int = 8  # Attempts in a row without progress before giving up

    @property
    def host(self) -> str:
        return urlsplit(self.endpoint).netloc

    def is_hub(self, url: str) -> bool:
        here, there = urlsplit(self.endpoint), urlsplit(url)
        return (here.scheme, here.netloc) == (there.scheme, there.netloc)


def network_of(environment: Mapping[str, str] = os.environ) -> Network:
    """Settings from HF_ENDPOINT and HF_TOKEN. Raises UsageError if they are invalid."""
    endpoint = environment.get("HF_ENDPOINT", "").strip().rstrip("/") or _HUB
    try:
        parts = urlsplit(endpoint)
        fits = parts.scheme in ("https", "http") and bool(parts.hostname) and not (parts.query or parts.fragment)
    except ValueError:
        fits = False
    if not fits:
        raise UsageError("HF_ENDPOINT is not a valid address.", "It must begin with https://, or be unset.")
    token = environment.get("HF_TOKEN", "").strip()
    if not re.fullmatch(r"[!-~]*", token):
        raise UsageError("HF_TOKEN is not a valid token: it contains spaces, line breaks or characters outside ASCII.")
    return Network(endpoint, token)


@dataclass(frozen=True, slots=True)
class HubMetadata:
    """Size and checksum of a file from the hub's own headers, before any redirect."""

    sha256: str = ""
    size_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """The response after redirects, with its body unread."""

    response: "httpx2.Response"
    metadata: HubMetadata

    @property
    def host(self) -> str:
        return self.response.url.host


def new_client(network: Network) -> "httpx2.AsyncClient":
    """Create a client that follows no redirects, for `ask`."""
    import httpx2  # slow to import

    timeout = httpx2.Timeout(network.stall_s)
    headers = {"User-Agent": f"gistread/{__version__}", "Accept-Encoding": "identity"}
    try:
        return httpx2.AsyncClient(timeout=timeout, headers=headers, verify=_certificates())
    except ImportError:
        raise FetchError("A SOCKS proxy needs another package.", "python3 -m pip install socksio") from None
    except ValueError as error:  # an invalid proxy address in the environment
        raise FetchError(f"The proxy cannot be used: {error}", "See HTTPS_PROXY and ALL_PROXY.") from None
    except OSError as error:
        raise FetchError(
            f"The trusted certificates cannot be read: {error.strerror or error}.", "See SSL_CERT_FILE."
        ) from None


@functools.cache
def _certificates() -> ssl.SSLContext:
    import httpx2

    return httpx2.create_ssl_context()


@contextlib.asynccontextmanager
async def ask(
    client: "httpx2.AsyncClient", network: Network, url: str, headers: Mapping[str, str], method: str = "GET"
) -> AsyncIterator[Answer]:
    """Send a request, follow redirects, and yield the response. Raises FetchError, httpx2.TransportError."""
    import httpx2

    metadata, visited = HubMetadata(), {url}
    while True:
        allowed = dict(headers)
        if network.token and network.is_hub(url):
            allowed["Authorization"] = f"Bearer {network.token}"
        try:
            response = await client.send(client.build_request(method, url, headers=allowed), stream=True)
        except httpx2.InvalidURL:
            raise FetchError(
                f"{urlsplit(url).hostname or 'The server'} is not a valid address.", "Nothing was fetched."
            ) from None
        except httpx2.TransportError as error:
            if isinstance(cause := system_error(error), ssl.SSLCertVerificationError):
                raise FetchError(
                    f"The certificate of {urlsplit(url).hostname} is not trusted: {cause.verify_message}.",
                    "Nothing was fetched. Behind a company proxy, set SSL_CERT_FILE to its certificates.",
                ) from None
            raise
        try:
            if network.is_hub(url):
                metadata = _metadata(response.headers, metadata)
            if response.status_code not in _REDIRECTS:
                yield Answer(response, metadata)
                return
            url = _redirect_target(url, response.headers.get("Location", ""))
        finally:
            await response.aclose()
        if url in visited or len(visited) > _MOST_REDIRECTS:
            raise FetchError(f"{urlsplit(url).hostname} redirects in a circle.", "Try again later.")
        visited.add(url)


def _redirect_target(url: str, location: str) -> str:
    here = urlsplit(url)
    with contextlib.suppress(ValueError):
        target = urljoin(url, location)
        there = urlsplit(target)
        if (here.scheme, there.scheme) == ("https", "http"):
            raise FetchError(
                f"{here.hostname} redirects to {there.hostname} without encryption.", "Nothing was fetched."
            )
        if location and there.hostname and there.scheme in ("https", "http"):
            return target
    raise FetchError(f"{here.hostname} redirects to an invalid address.", "Try again later.")


def _metadata(headers: Mapping[str, str], before: HubMetadata) -> HubMetadata:
    sha256 = headers.get("X-Linked-Etag", "").removeprefix("W/").strip('"').lower()
    size = headers.get("X-Linked-Size", "")
    return HubMetadata(
        sha256 if _SHA256.fullmatch(sha256) else before.sha256, int(size) if size.isdecimal() else before.size_bytes
    )


def refusal_error(
    status: int, headers: Mapping[str, str], network: Network, repository: str, name: str, host: str
) -> FetchError:
    code = headers.get("X-Error-Code", "")
    if repository and code in ("RepoNotFound", "EntryNotFound", "RevisionNotFound"):
        what = {"RepoNotFound": f"no repository {repository}", "EntryNotFound": f"no file {name} in {repository}"}
        missing = what.get(code, f"no such revision of {repository}")
        hint = "A private one needs HF_TOKEN." if code == "RepoNotFound" and not network.token else "Check the name."
        return FetchError(f"{host} has {missing}.", hint)
    if status in (401, 403) and repository:
        page = f"{network.endpoint}/{repository}"
        if network.token:
            return FetchError(
                f"HF_TOKEN has no access to {repository}.",
                f"Accept its terms at {page}, and check that the token has read access.",
            )
        return FetchError(
            f"Access to {repository} requires accepting its terms.",
            f"Accept them at {page}, set HF_TOKEN to your token, and try again.",
        )
    if status in (401, 403):
        return FetchError(f"{host} denies access to {name} ({status}).", "It may require a password or a browser.")
    if status in (404, 410):
        return FetchError(f"{host} has no {name}.", "Check the name; files on the hub are sometimes renamed.")
    if status == 429:
        wait = retry_after_s(headers)
        when = f"in {wait:.0f} s" if wait else "in some minutes"
        return FetchError(f"{host} limits requests from this address (429).", f"Try again {when}.")
    return FetchError(f"{host} returned {status} for {name}.", "Try again later, or use another address.")


@contextlib.contextmanager
def unreachable(network: Network) -> Iterator[None]:
    import httpx2

    try:
        yield
    except httpx2.TransportError as error:
        raise FetchError(
            f"No response: {describe(error, network)}.", "Check the network, HTTPS_PROXY and HF_ENDPOINT."
        ) from None


def describe(error: "httpx2.TransportError", network: Network) -> str:
    import httpx2

    match error:
        case httpx2.ConnectTimeout() | httpx2.ReadTimeout():
            return f"no data for {network.stall_s:.0f} s"
        case httpx2.ProxyError():
            return f"the proxy refused ({error})"
        case httpx2.ConnectError():
            proxy = " through the proxy" if _has_proxy(error.request.url.scheme, error.request.url.host) else ""
            return f"cannot connect to {error.request.url.host}{proxy}"
        case httpx2.UnsupportedProtocol():
            return "unsupported kind of address"
    return "the connection was lost"


def _has_proxy(scheme: str, host: str) -> bool:
    proxies = urllib.request.getproxies()
    return bool(proxies.get(scheme) or proxies.get("all")) and not urllib.request.proxy_bypass(host)
