"""Repeats a transfer until it is complete, with growing pauses or those the server asks for."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gistread.engine.fetching.network import Network, describe, retry_after_s
from gistread.engine.fetching.partial_file import PartialFile
from gistread.errors import FetchError

if TYPE_CHECKING:
    import httpx2

# HTTP statuses of a server, or of a proxy before it, that may succeed later
BUSY = (408, 425, 429, 500, 502, 503, 504, 520, 521, 522, 523, 524)
# Attempts if no server ever responded: probably there is no network
_UNREACHED_ATTEMPTS = 3
_LONGEST_PAUSE_S = 60.0
_LONGEST_WAIT_S = 300.0  # The longest delay accepted from a server
_SECONDS_OF_MINUTE = 60


@dataclass(eq=False)
class RetryError(Exception):
    """An attempt failed in a way that another one may not."""

    reason: str
    wait_s: float = 0.0  # Delay requested by the server


def _try_later(part: PartialFile) -> str:
    """The hint after a failure."""
    if part.length:
        return "Try again later: the download resumes where it stopped."
    return "Try again later."


def busy_error(response: "httpx2.Response", part: PartialFile) -> Exception:
    """What a status of `BUSY` raises: RetryError, or FetchError if the server wants a long wait."""
    host = response.url.host
    wait_s = retry_after_s(response.headers) or 0.0
    if wait_s > _LONGEST_WAIT_S:
        minutes = wait_s / _SECONDS_OF_MINUTE
        return FetchError(
            f"{host} asks to retry in {minutes:.0f} minutes.", _try_later(part)
        )
    return RetryError(f"{host} is busy ({response.status_code})", wait_s)


async def with_retries(
    attempt: Callable[[], Awaitable[None]],
    part: PartialFile,
    network: Network,
    name: str,
    wait: Callable[[str, float], Awaitable[None]],
) -> None:
    """Call `attempt` until it returns. Raises FetchError after too many without progress.

    `name`: what is fetched. `wait` gets the reason and the seconds of each pause.
    """
    import httpx2

    fruitless = 0  # Attempts in a row without progress
    furthest = part.length
    # Fewer until a server responds: there may be no network.
    most_attempts = min(_UNREACHED_ATTEMPTS, network.attempts)
    while True:
        try:
            await attempt()
            return
        except RetryError as error:
            failure = error
            was_reached = True
        except httpx2.TransportError as error:
            failure = RetryError(describe(error, network))
            was_reached = not isinstance(error, httpx2.ConnectError)
        if was_reached:
            most_attempts = network.attempts
        if part.length > furthest:
            furthest = part.length
            fruitless = 0
        else:
            fruitless += 1
        if fruitless >= most_attempts:
            raise FetchError(
                f"{name} cannot be fetched: {failure.reason}.", _try_later(part)
            )
        doublings = max(0, fruitless - 1)
        pause_s = min(_LONGEST_PAUSE_S, network.pause_s * 2**doublings)
        await wait(failure.reason, max(pause_s, failure.wait_s))
