"""Downloads and verifies one file of the hub.

Retries transient failures, and resumes where it stopped.
"""

import asyncio
import math
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from gistread.engine.fetching.network import (
    Network,
    describe,
    new_client,
    open_response,
    refusal_error,
    retry_after_s,
)
from gistread.engine.fetching.partial_file import PartialFile, check_room
from gistread.errors import FetchError

if TYPE_CHECKING:
    import httpx2

_CONTENT_RANGE = re.compile(r"bytes (\d+)-\d+/\d+")
_BUSY = (408, 425, 429, 500, 502, 503, 504, 520, 521, 522, 523, 524)
_UNREACHED_ATTEMPTS = 3  # Attempts if no server ever responded: probably there is no network
_RESUME = "Try again later: the download resumes where it stopped."


class DownloadStep(StrEnum):
    CHECKING = "checking"  # Hashing what is on disk
    FETCHING = "fetching"
    WAITING = "waiting"  # Pausing before the next attempt


@dataclass(frozen=True, slots=True)
class Progress:
    step: DownloadStep
    done_bytes: int
    total_bytes: int
    bytes_per_s: float | None = None
    notice: str = ""  # Problem, for the person


Report = Callable[[Progress], None]


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """A file on the hub."""

    url: str
    name: str  # Local file name
    size_bytes: int
    sha256: str
    repository: str


@dataclass(eq=False)
class _RetryError(Exception):
    reason: str
    wait_s: float = 0.0  # Delay requested by the server


async def download(file: RemoteFile, part: PartialFile, network: Network, report: Report) -> None:
    """Complete a partial file and verify it; an interrupted download can resume.

    Raises FetchError, StorageError.
    """
    async with new_client(network) as client:
        await _Download(file, part, network, report).complete(client)
    report(Progress(DownloadStep.CHECKING, file.size_bytes, file.size_bytes))
    if (found := await part.sha256()) != file.sha256:
        part.restart()
        problem = (
            f"{file.name} has the wrong SHA-256: {found[:16]}… in place of {file.sha256[:16]}…."
        )
        raise FetchError(problem, "Nothing was kept; try again.")


@dataclass(eq=False, slots=True)
class _Download:
    file: RemoteFile
    part: PartialFile
    network: Network
    report: Report
    reported_at: float = 0.0

    async def complete(self, client: "httpx2.AsyncClient") -> None:
        """Attempt it until the file has its length. Raises FetchError, StorageError."""
        import httpx2

        fruitless, furthest = 0, self.part.length
        attempts = min(_UNREACHED_ATTEMPTS, self.network.attempts)
        while self.part.length != self.file.size_bytes:
            again, was_reached = _RetryError("the connection ended early"), True
            try:
                await self._attempt(client)
            except _RetryError as reason:
                again = reason
            except httpx2.TransportError as error:
                again = _RetryError(describe(error, self.network))
                was_reached = not isinstance(error, httpx2.ConnectError)
            if self.part.length == self.file.size_bytes:
                return
            attempts = self.network.attempts if was_reached else attempts
            fruitless = 0 if self.part.length > furthest else fruitless + 1
            furthest = max(furthest, self.part.length)
            if fruitless >= attempts:
                raise FetchError(f"{self.file.name} cannot be fetched: {again.reason}.", _RESUME)
            pause_s = min(60.0, self.network.pause_s * 2 ** max(0, fruitless - 1))
            await self._wait(again.reason, max(pause_s, again.wait_s))

    async def _attempt(self, client: "httpx2.AsyncClient") -> None:
        part = self.part
        if part.length > self.file.size_bytes:
            part.restart()
        headers = {"Range": f"bytes={part.length}-"} if part.length else {}
        async with open_response(client, self.network, self.file.url, headers) as response:
            found = _CONTENT_RANGE.fullmatch(response.headers.get("Content-Range", "").strip())
            if response.status_code == 200:
                part.restart()  # It cannot resume.
            elif response.status_code != 206 or found is None or int(found[1]) != part.length:
                raise self._refusal(response)
            if response.headers.get("Content-Encoding", "identity") != "identity":
                raise FetchError(
                    f"{response.url.host} sends {self.file.name} compressed.", "Try again later."
                )
            left = self.file.size_bytes - part.length
            if int(response.headers.get("Content-Length", left)) != left:
                raise _RetryError(f"{response.url.host} sends another file than {self.file.name}")
            check_room(part.path.parent, left, self.file.name)
            began_s, before = time.monotonic(), part.length
            async for data in response.aiter_raw():
                part.write(data[: self.file.size_bytes - part.length])  # A server may send more.
                self._report_received(part.length - before, time.monotonic() - began_s)
                if part.length == self.file.size_bytes:
                    return

    def _report_received(self, count: int, seconds: float) -> None:
        """Report progress with the rate of this attempt, ten times a second at most."""
        now, done, total = time.monotonic(), self.part.length, self.file.size_bytes
        if now >= self.reported_at + 0.1 or done == total:
            self.reported_at = now
            self.report(
                Progress(
                    DownloadStep.FETCHING, done, total, count / seconds if seconds > 0.2 else None
                )
            )

    def _refusal(self, response: "httpx2.Response") -> Exception:
        status, host = response.status_code, response.url.host
        if status in _BUSY:
            wait_s = retry_after_s(response.headers) or 0.0
            if wait_s > 300:
                return FetchError(f"{host} asks to retry in {wait_s / 60:.0f} minutes.", _RESUME)
            return _RetryError(f"{host} is busy ({status})", wait_s)
        if status in (401, 403) and response.history:
            return _RetryError(
                f"{host} refused ({status})"
            )  # The signed address from the hub may have expired.
        return refusal_error(response, self.network, self.file.repository, self.file.name)

    async def _wait(self, reason: str, wait_s: float) -> None:
        until = time.monotonic() + wait_s
        while (left_s := until - time.monotonic()) > 0:
            notice = f"{reason}; again in {math.ceil(left_s)} s"
            self.report(
                Progress(
                    DownloadStep.WAITING, self.part.length, self.file.size_bytes, notice=notice
                )
            )
            await asyncio.sleep(min(1.0, left_s))
