"""Messages for people when a server fails: what happened, and what to do. They never contain a key."""

import re

from gistread.engine.remote.address import ServerAddress
from gistread.engine.remote.api_keys import how_to_give
from gistread.engine.remote.failures import RequestRefusedError, ServerLostError, UnreachableError, UntrustedError
from gistread.errors import EngineError

_WINDOW = re.compile(r"context (?:length|size|window)\D{0,20}(\d{3,8})\b", re.IGNORECASE)
_LINE_CHARACTERS = 60
_CHECK_ADDRESS = (
    "Check that it serves models, and the address (http or https). docs/servers.md shows how to start a server."
)
_KEPT = "Finished work is kept: run the same command again to continue, with this server or another."


def lost_error(address: ServerAddress, lost: ServerLostError, attempts: int = 1) -> EngineError:
    """For a request that got no answer after all attempts."""
    if isinstance(lost, UnreachableError):
        if isinstance(lost, UntrustedError):
            return EngineError(
                f"The certificate of {address.origin} is not trusted: {lost.reason}.",
                "If it is your own, name the file with your authority in SSL_CERT_FILE.",
            )
        return EngineError(
            f"No answer from {address.origin} ({lost.reason}).",
            "Check that the server is running, and its address (http or https). docs/servers.md shows how to start one."
            if attempts == 1
            else _KEPT,
        )
    times = f", {attempts} times in a row" if attempts > 1 else ""
    return EngineError(
        f"The server at {address.origin} {lost.reason}{times}.", _KEPT if attempts > 1 else _CHECK_ADDRESS
    )


def retry_notice(address: ServerAddress, lost: ServerLostError, seconds: float) -> str:
    """A short line for the time until the next attempt."""
    host = address.origin.partition("://")[2]
    what = f"no connection to {host} ({lost.reason})" if isinstance(lost, UnreachableError) else f"{host} {lost.reason}"
    what = what if len(what) <= _LINE_CHARACTERS else what[: _LINE_CHARACTERS - 1] + "…"
    return f"{what}; again in {max(1.0, seconds):.0f} s"


def retry_later_error(address: ServerAddress, seconds: float) -> EngineError:
    """For a server whose Retry-After is too long to wait for."""
    return EngineError(
        f"The server at {address.origin} takes no requests for the next {seconds:,.0f} s.", f"Try again then. {_KEPT}"
    )


def refused_error(address: ServerAddress, refusal: RequestRefusedError, *, with_key: bool) -> EngineError:
    """For a request that the server refuses."""
    if refusal.status in (401, 403):
        what = "rejects the key" if with_key else "requires a key"
        return EngineError(f"The server at {address.origin} {what} ({refusal.status}).", how_to_give(address))
    said = refusal.said.rstrip(".")
    if 300 <= refusal.status < 400:
        return EngineError(
            f"{address.origin} is not the server's address: {said}.", "Use that address if you trust it."
        )
    if refusal.is_too_long:
        window = _WINDOW.search(said)
        return EngineError(
            f"The server at {address.origin} says that the prompt is too long: {said}.",
            "Set context_tokens in the settings to the window that its model was loaded with"
            + (f": context_tokens = {window[1]}" if window else "."),
        )
    status = f" ({refusal.status})" if refusal.status else ""
    return EngineError(
        f"The server at {address.origin} refuses the request{status}" + (f": {said}." if said else "."),
        "See the server's log. docs/servers.md lists the servers known to work.",
    )
