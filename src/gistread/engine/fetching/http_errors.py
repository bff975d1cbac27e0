"""Messages for people when a download fails: what happened, and what to do."""

import contextlib
import urllib.request
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from gistread.engine.fetching.network import Network
from gistread.engine.retry_after import retry_after_s
from gistread.errors import FetchError

if TYPE_CHECKING:
    import httpx2


def refused(
    status: int, headers: Mapping[str, str], network: Network, repository: str, name: str, host: str
) -> FetchError:
    """The error for an HTTP status."""
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
    """Translate transport errors into FetchError."""
    import httpx2

    try:
        yield
    except httpx2.TransportError as error:
        raise FetchError(
            f"No response: {describe(error, network)}.", "Check the network, HTTPS_PROXY and HF_ENDPOINT."
        ) from None


def describe(error: "httpx2.TransportError", network: Network) -> str:
    """The reason as the end of a sentence."""
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
