"""Failures of a server, by their remedy.

They are retried, worked around, or become an EngineError without the key.
"""

import math
from dataclasses import dataclass
from http import HTTPStatus

from gistread.engine.protocol import AGAIN_IN
from gistread.engine.remote.address import ServerAddress, key_hint
from gistread.errors import EngineError, OutageError

_TOO_LONG = (
    "context length",
    "context size",
    "context window",
    "context_length",
    "too long",
    "too large",
    "exceed",
)
# llama-server, when concurrent requests filled the window they share
_CACHE_FULL = "context size has been exceeded"
_MAY_BE_TOO_LONG = (
    HTTPStatus.BAD_REQUEST,
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    HTTPStatus.UNPROCESSABLE_ENTITY,
)
_NOTICE_CHARACTERS = 60  # Of what happened, in a notice
_CHECK_ADDRESS = (
    "Check that it runs and serves models, and its address (http or https). See `gistread docs "
    "models`."
)
WEB_PAGE = "a web page instead of an answer"
NO_JSON = "an answer that is not JSON"
KEPT = "Finished work is kept: run the same command again to continue, with this server or another."


@dataclass(eq=False)
class RequestRefusedError(Exception):
    """The server rejected the request: retrying is useless."""

    status: int  # 0 if the request could not even be sent
    message: str  # The server's, shortened, without the key

    @property
    def is_too_long(self) -> bool:
        """Whether prompt and answer exceed the window, going by the message."""
        if self.status not in _MAY_BE_TOO_LONG:
            return False
        message = self.message.casefold()
        return any(words in message for words in _TOO_LONG)


class WebPageError(RequestRefusedError):
    """The server sent a web page, such as the login page of a proxy or a Wi-Fi network."""


@dataclass(eq=False)
class ServerLostError(Exception):
    """No answer or an incomplete one: a retry may succeed."""

    reason: str  # For people, to follow the server's name: `did not answer in time`
    answered: bool = False  # Whether there was an answer, though a useless one
    busy: bool = False  # Whether the server said it is overloaded
    message: str = ""  # The server's own, without the key
    retry_after_s: float | None = None  # Delay requested by the server, if any

    def __post_init__(self) -> None:
        self.busy = self.busy or _CACHE_FULL in self.message.casefold()


class SilentError(ServerLostError):
    """The server sent nothing within the time limit."""


class UnreachableError(ServerLostError):
    """No connection could be made."""


class UntrustedError(UnreachableError):
    """The server's certificate is not trusted."""


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Time limits in seconds, and retries."""

    connect_s: float = 10.0
    # Longest silence before an answer, and within it: a long prompt on a slow server
    answer_s: float = 300.0
    short_s: float = 60.0  # For requests that need no model
    silent_s: float = 10.0  # Silence after which the user is told
    attempts: int = 6
    silent_attempts: int = 2  # For a server that sends nothing within `answer_s`
    # Pause before the second attempt; doubles each time, up to `longest_s`
    back_off_s: float = 1.0
    longest_s: float = 30.0


def cut(text: str, most: int) -> str:
    """The text, with its end replaced by … if it is longer than `most` characters."""
    if len(text) <= most:
        return text
    return f"{text[: most - 1]}…"


def lost_error(
    address: ServerAddress, lost: ServerLostError, attempts: int = 1
) -> EngineError:
    """The error for the user after the last attempt; `attempts`: how many there were."""
    if isinstance(lost, UntrustedError):
        return EngineError(
            f"The certificate of {address.origin} is not trusted: {lost.reason}.",
            "If it is your own, name the file with your authority in SSL_CERT_FILE.",
        )
    if isinstance(lost, UnreachableError):
        message = f"No answer from {address.origin} ({lost.reason})."
    else:
        times = f", {attempts} times in a row" if attempts > 1 else ""
        message = f"The server at {address.origin} {lost.reason}{times}."
    return OutageError(message, KEPT if attempts > 1 else _CHECK_ADDRESS)


def retry_notice(address: ServerAddress, lost: ServerLostError, seconds: float) -> str:
    """What failed, and in how many seconds the request is repeated."""
    host = address.origin.partition("://")[2]
    if isinstance(lost, UnreachableError):
        failure = f"no connection to {host} ({lost.reason})"
    else:
        failure = f"{host} {lost.reason}"
    return f"{cut(failure, _NOTICE_CHARACTERS)}{AGAIN_IN}{math.ceil(seconds)} s"


def refused_error(
    address: ServerAddress, refusal: RequestRefusedError, *, with_key: bool
) -> EngineError:
    """The error for the user; `with_key`: a key was sent."""
    if refusal.status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
        reaction = "rejects the key" if with_key else "requires a key"
        return EngineError(
            f"The server at {address.origin} {reaction} ({refusal.status}).",
            key_hint(address),
        )
    if isinstance(refusal, WebPageError):
        return EngineError(
            f"The server at {address.origin} sent {WEB_PAGE}, perhaps one to log in.",
            "Open the address in a browser to see it. The address of a model ends in /v1.",
        )
    message = refusal.message.rstrip(".")
    if refusal.is_too_long:
        return EngineError(
            f"The server at {address.origin} says that the prompt is too long: {message}.",
            "Set context_tokens in the settings to the window that its model was loaded with.",
        )
    problem = f"The server at {address.origin} refuses the request"
    if refusal.status:
        problem += f" ({refusal.status})"
    if message:
        problem += f": {message}"
    return EngineError(
        f"{problem}.",
        "See the server's log. `gistread docs models` lists the servers known to work.",
    )
