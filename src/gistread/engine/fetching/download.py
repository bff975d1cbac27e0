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
from http import HTTPStatus
from typing import TYPE_CHECKING

from gistread.engine.fetching.network import (
    Network,
    new_client,
    open_response,
    refusal_error,
)
from gistread.engine.fetching.partial_file import PartialFile, check_room
from gistread.engine.fetching.retrying import BUSY, RetryError, busy_error, with_retries
from gistread.errors import FetchError

if TYPE_CHECKING:
    import httpx2

_CONTENT_RANGE = re.compile(r"bytes (\d+)-\d+/\d+")
_REPORT_INTERVAL_S = 0.1
_LEAST_MEASURED_S = 0.2  # Before it, a rate would be a guess
_DIGEST_SHOWN = 16  # Characters of a checksum in a message


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
    notice: str = ""  # Problem and the time to the next attempt, for the user
    problem: str = ""  # The same without the time


Report = Callable[[Progress], None]


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """A file on the hub."""

    url: str
    name: str  # Local file name
    size_bytes: int
    sha256: str
    repository: str


async def download(
    file: RemoteFile, part: PartialFile, network: Network, report: Report
) -> None:
    """Complete a partial file and verify it; an interrupted download can resume.

    Raises FetchError, StorageError.
    """
    async with new_client(network) as client:
        await _Download(file, part, network, report).complete(client)
    report(Progress(DownloadStep.CHECKING, file.size_bytes, file.size_bytes))
    sha256 = await part.sha256()
    if sha256 != file.sha256:
        part.restart()
        actual = sha256[:_DIGEST_SHOWN]
        expected = file.sha256[:_DIGEST_SHOWN]
        digests = f"{actual}… in place of {expected}…"
        problem = f"{file.name} has the wrong SHA-256: {digests}."
        raise FetchError(problem, "Nothing was kept; try again.")


def _continues_at(offset: int, response: "httpx2.Response") -> bool:
    """Whether a response is the rest of a file from this offset on."""
    content_range = response.headers.get("Content-Range", "").strip()
    match = _CONTENT_RANGE.fullmatch(content_range)
    is_part = response.status_code == HTTPStatus.PARTIAL_CONTENT
    return is_part and match is not None and int(match[1]) == offset


@dataclass(eq=False, slots=True)
class _Download:
    file: RemoteFile
    part: PartialFile
    network: Network
    report: Report
    reported_at: float = 0.0

    async def complete(self, client: "httpx2.AsyncClient") -> None:
        """Attempt it until the file has its length. Raises FetchError, StorageError."""
        await with_retries(
            attempt=lambda: self._attempt_to_end(client),
            part=self.part,
            network=self.network,
            name=self.file.name,
            wait=self._wait,
        )

    async def _attempt_to_end(self, client: "httpx2.AsyncClient") -> None:
        """Raises RetryError, httpx2.TransportError or FetchError if the file is not complete."""
        import httpx2

        if self.is_complete:
            return
        try:
            await self._attempt(client)
        except (RetryError, httpx2.TransportError):
            # A connection that breaks after the last byte does no harm.
            if not self.is_complete:
                raise
        if not self.is_complete:
            raise RetryError("the connection ended early")

    @property
    def is_complete(self) -> bool:
        return self.part.length == self.file.size_bytes

    async def _attempt(self, client: "httpx2.AsyncClient") -> None:
        """Request the missing rest of the file and append what arrives of it."""
        part = self.part
        if part.length > self.file.size_bytes:
            part.restart()
        headers = {"Range": f"bytes={part.length}-"} if part.length else {}
        opened = open_response(client, self.network, self.file.url, headers)
        async with opened as response:
            if response.status_code == HTTPStatus.OK:
                part.restart()  # The server sends the whole file.
            elif not _continues_at(part.length, response):
                raise self._refusal(response)
            missing_bytes = self.file.size_bytes - part.length
            self._check_content(response, missing_bytes)
            check_room(part.path.parent, missing_bytes, self.file.name)
            await self._receive(response)

    def _check_content(self, response: "httpx2.Response", missing_bytes: int) -> None:
        """Raises FetchError or RetryError unless the response is the missing part as it is."""
        host = response.url.host
        encoding = response.headers.get("Content-Encoding", "identity")
        if encoding != "identity":
            raise FetchError(
                f"{host} sends {self.file.name} compressed.", "Try again later."
            )
        content_length = int(response.headers.get("Content-Length", missing_bytes))
        if content_length != missing_bytes:
            raise RetryError(f"{host} sends another file than {self.file.name}")

    async def _receive(self, response: "httpx2.Response") -> None:
        """Append data and report progress, until the file is complete or the data ends."""
        began_s = time.monotonic()
        length_before = self.part.length
        async for data in response.aiter_raw():
            # A server may send more than the missing part.
            missing_bytes = self.file.size_bytes - self.part.length
            self.part.write(data[:missing_bytes])
            received_bytes = self.part.length - length_before
            self._report_received(received_bytes, time.monotonic() - began_s)
            if self.is_complete:
                return

    def _report_received(self, received_bytes: int, seconds: float) -> None:
        """Report progress with the rate of this attempt, ten times a second at most."""
        now = time.monotonic()
        is_due = now >= self.reported_at + _REPORT_INTERVAL_S
        if not is_due and not self.is_complete:
            return
        self.reported_at = now
        bytes_per_s = received_bytes / seconds if seconds > _LEAST_MEASURED_S else None
        done = self.part.length
        total = self.file.size_bytes
        self.report(Progress(DownloadStep.FETCHING, done, total, bytes_per_s))

    def _refusal(self, response: "httpx2.Response") -> Exception:
        """The error for a response that does not contain the file: RetryError or FetchError."""
        status = response.status_code
        if status in BUSY:
            return busy_error(response, self.part)
        is_denied = status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN)
        # The signed address from the hub may have expired.
        if is_denied and response.history:
            return RetryError(f"{response.url.host} refused ({status})")
        return refusal_error(
            response, self.network, self.file.repository, self.file.name
        )

    async def _wait(self, reason: str, wait_s: float) -> None:
        """Wait, and count the seconds down in the reports."""
        done = self.part.length
        total = self.file.size_bytes
        until = time.monotonic() + wait_s
        while (left_s := until - time.monotonic()) > 0:
            notice = f"{reason}; again in {math.ceil(left_s)} s"
            progress = Progress(
                DownloadStep.WAITING, done, total, notice=notice, problem=reason
            )
            self.report(progress)
            await asyncio.sleep(min(1.0, left_s))
