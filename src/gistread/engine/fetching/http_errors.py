"""Why a server gives out nothing, in words for the person: what happened, and what to do."""

import contextlib
import email.utils
import time
import urllib.request
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from gistread.engine.fetching.network import Network
from gistread.errors import FetchError

if TYPE_CHECKING:
    import httpx2


def refused(
    status: int, headers: Mapping[str, str], network: Network, repository: str, name: str, host: str
) -> FetchError:
    """Why a server gives out nothing, and what to do about it."""
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
                f"{repository} is not given to the owner of HF_TOKEN.",
                f"Agree to its terms at {page}, and see that the token may read it.",
            )
        return FetchError(
            f"{repository} is given only to those who agree to its terms.",
            f"Agree at {page}, then set HF_TOKEN to a token of yours and ask again.",
        )
    if status in (401, 403):
        return FetchError(f"{host} does not give out {name} ({status}).", "It may want a password, or a browser.")
    if status in (404, 410):
        return FetchError(f"{host} has no {name}.", "Check the name; files on the hub are sometimes renamed.")
    if status == 429:
        wait = retry_after_s(headers)
        when = f"in {wait:.0f} s" if wait else "in some minutes"
        return FetchError(f"{host} takes no more requests from here for now (429).", f"Try again {when}.")
    return FetchError(f"{host} answers with {status} for {name}.", "Try again later, or another address.")


@contextlib.contextmanager
def unreachable(network: Network) -> Iterator[None]:
    """A question that gets no answer is a FetchError."""
    import httpx2

    try:
        yield
    except httpx2.TransportError as error:
        raise FetchError(
            f"There is no answer: {said(error, network)}.",
            "Check the network. HTTPS_PROXY and HF_ENDPOINT can name another way.",
        ) from None


def retry_after_s(headers: Mapping[str, str]) -> float | None:
    """What Retry-After asks for, as seconds or as a date."""
    value = headers.get("Retry-After", "").strip()
    if value.isdecimal():
        return float(value)
    try:
        return max(0.0, email.utils.parsedate_to_datetime(value).timestamp() - time.time())
    except ValueError:
        return None


def said(error: "httpx2.TransportError", network: Network) -> str:
    """Why there is no answer, as the end of a sentence."""
    import httpx2

    match error:
        case httpx2.ConnectTimeout() | httpx2.ReadTimeout():
            return f"nothing has come for {network.stall_s:.0f} s"
        case httpx2.ProxyError():
            return f"the proxy refuses ({error})"
        case httpx2.ConnectError():
            proxy = " through the proxy" if _has_proxy(error.request.url.scheme, error.request.url.host) else ""
            return f"there is no way to {error.request.url.host}{proxy}"
        case httpx2.UnsupportedProtocol():
            return "the address is of no known kind"
    return "the connection was lost"


def _has_proxy(scheme: str, host: str) -> bool:
    proxies = urllib.request.getproxies()
    return bool(proxies.get(scheme) or proxies.get("all")) and not urllib.request.proxy_bypass(host)
