"""Downloads and verifies one file. Retries transient failures, and resumes only if the file is unchanged."""

import asyncio
import hashlib
import math
import re
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Literal

from gistread.engine.fetching.network import (
    Network,
    describe,
    new_client,
    open_response,
    refusal_error,
    retry_after_s,
    stated_by_hub,
)
from gistread.engine.fetching.partial_file import PartialFile, check_room
from gistread.engine.llama.gguf import read_header
from gistread.errors import EngineError, FetchError

if TYPE_CHECKING:
    import httpx2

_CONTENT_RANGE = re.compile(r"bytes (?:(\d+)-\d+|\*)/(?:(\d+)|\*)")
_BUSY = (408, 425, 429, 500, 502, 503, 504, 520, 521, 522, 523, 524)
_UNREACHED_ATTEMPTS = 3  # Attempts if no server ever responded: probably there is no network
_RESUME = "Try again later: the download resumes where it stopped."

ChecksumSource = Literal["", "catalogue", "hub"]


class DownloadStep(StrEnum):
    CHECKING = "checking"  # Hashing what is already on disk
    FETCHING = "fetching"
    WAITING = "waiting"  # Pausing before the next attempt


@dataclass(frozen=True, slots=True)
class Progress:
    step: DownloadStep
    done_bytes: int
    total_bytes: int | None = None
    bytes_per_s: float | None = None
    notice: str = ""  # Problem, for the person

    @property
    def left_s(self) -> float | None:
        if not self.bytes_per_s or self.total_bytes is None:
            return None
        return max(0, self.total_bytes - self.done_bytes) / self.bytes_per_s


Report = Callable[[Progress], None]


class ProgressReporter:
    """Adds the current rate to progress reports, and limits their frequency."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._seen: deque[tuple[float, int]] = deque()
        self._step: DownloadStep | None = None
        self._reported_at = 0.0

    def report(self, progress: Progress) -> None:
        now = time.monotonic()
        if progress.step is not self._step or (self._seen and progress.done_bytes < self._seen[-1][1]):
            self._seen.clear()
        elif now < self._reported_at + 0.1 and progress.done_bytes != progress.total_bytes and not progress.notice:
            return
        self._step, self._reported_at = progress.step, now
        self._seen.append((now, progress.done_bytes))
        while now - self._seen[0][0] > 8.0 and len(self._seen) > 2:
            self._seen.popleft()
        seconds, done = now - self._seen[0][0], progress.done_bytes - self._seen[0][1]
        self._report(replace(progress, bytes_per_s=done / seconds if seconds > 0.2 and done else None))


@dataclass(frozen=True, slots=True)
class RemoteFile:
    url: str
    name: str  # Local file name
    size_bytes: int | None = None
    sha256: str = ""
    checksum_source: ChecksumSource = ""  # Who published the checksum
    repository: str = ""  # On the hub; empty elsewhere


@dataclass(eq=False)
class _RetryError(Exception):
    reason: str
    wait_s: float = 0.0  # Delay requested by the server


async def download(file: RemoteFile, part: PartialFile, network: Network, report: Report) -> ChecksumSource:
    """Complete a partial file and verify it; an interrupted download can resume. Raises FetchError, StorageError.

    Returns who published the verified checksum; empty: nobody.
    """
    attempt = _Download(file, part, network, ProgressReporter(report))
    if not part.identity.startswith(file.sha256 or _address_hash(file)):
        part.restart()
    await part.rehash(lambda done: attempt.report(DownloadStep.CHECKING, done))
    async with new_client(network) as client:
        await attempt.complete(client)
    await attempt.verify()
    return attempt.checksum_source


class _Download:
    def __init__(self, file: RemoteFile, part: PartialFile, network: Network, reporter: ProgressReporter) -> None:
        self._file = file
        self._part = part
        self._network = network
        self._reporter = reporter
        self._total = file.size_bytes
        self._sha256, self.checksum_source = file.sha256, file.checksum_source
        self._ended = False  # Whether a response without a length has ended

    async def complete(self, client: "httpx2.AsyncClient") -> None:
        import httpx2

        fruitless, furthest, attempts = 0, self._part.length, min(_UNREACHED_ATTEMPTS, self._network.attempts)
        while not self._is_complete:
            again, was_reached = _RetryError("the connection ended early"), True
            try:
                await self._attempt(client)
            except _RetryError as reason:
                again = reason
            except httpx2.TransportError as error:
                again = _RetryError(describe(error, self._network))
                was_reached = not isinstance(error, httpx2.ConnectError)
            if self._is_complete:
                return
            attempts = self._network.attempts if was_reached else attempts
            fruitless = 0 if self._part.length > furthest else fruitless + 1
            furthest = max(furthest, self._part.length)
            if fruitless >= attempts:
                raise FetchError(f"{self._file.name} cannot be fetched: {again.reason}.", _RESUME)
            pause_s = min(60.0, self._network.pause_s * 2 ** max(0, fruitless - 1))
            await self._wait(again.reason, max(pause_s, again.wait_s))

    async def verify(self) -> None:
        """Verify checksum and header; discard the file if they are wrong. Raises FetchError."""
        part, name = self._part, self._file.name
        part.sync()
        problem = ""
        if self._sha256 and part.sha256 != self._sha256:
            found, right = part.sha256[:16], self._sha256[:16]
            problem = f"{name} has the wrong SHA-256: {found}…; according to the {self.checksum_source} it is {right}…."
        else:
            try:
                header = await asyncio.to_thread(read_header, part.path)
            except EngineError as error:
                said = error.message.replace(str(part.path), name).replace(part.path.name, name)
                problem = f"{name} is not a usable model: {said}"
            else:
                if header.missing_bytes:
                    problem = f"{name} is incomplete: {header.missing_bytes:,} bytes are missing."
        if problem:
            part.restart()
            raise FetchError(problem, "Nothing was kept; try again.")

    @property
    def _is_complete(self) -> bool:
        return self._ended if self._total is None else self._part.length == self._total

    async def _attempt(self, client: "httpx2.AsyncClient") -> None:
        part = self._part
        if part.length and (not part.identity or part.length > (self._total or math.inf)):
            part.restart()  # Two halves may be of different files.
        headers = {"Range": f"bytes={part.length}-"} if part.length else {}
        if part.length and (etag := part.identity.partition(" ")[2]):
            headers["If-Range"] = etag  # RFC 9110, 13.1.5
        async with open_response(client, self._network, self._file.url, headers) as response:
            self._take_checksum(response)
            identity = self._identity(response)
            found = _CONTENT_RANGE.fullmatch(response.headers.get("Content-Range", "").strip())
            first, whole = [int(number) if number else None for number in (found.groups() if found else (None, None))]
            match response.status_code:
                case 416 if part.length and whole == part.length:
                    self._total = whole  # The size known before was wrong; checksum and header are verified later.
                    return
                case 206 if part.length and first == part.length and identity == part.identity:
                    self._total = self._total or whole
                case 206 | 416 if part.length:
                    part.restart()
                    raise _RetryError("the file has changed on the server: starting over")
                case 200:
                    if part.length:
                        notice = f"{response.url.host} cannot resume: starting over"
                        self.report(DownloadStep.FETCHING, 0, notice=notice)
                    part.restart(identity)
                    length = response.headers.get("Content-Length", "")
                    self._total = self._total or (int(length) if length.isdecimal() else None)
                case _:
                    raise self._refusal(response)
            await self._receive(response)

    def _identity(self, response: "httpx2.Response") -> str:
        """Checksum of the file, else address, which may contain a secret, and strong ETag; empty if unknown."""
        etag = response.headers.get("ETag", "")
        if self._sha256 or not etag or etag.startswith("W/"):
            return self._sha256
        return f"{_address_hash(self._file)} {etag}"

    def _take_checksum(self, response: "httpx2.Response") -> None:
        """Take over size and checksum from the hub. Raises FetchError if the catalogue names another checksum."""
        sha256, size_bytes = stated_by_hub(response, self._network)
        if sha256 and self.checksum_source == "catalogue" and sha256 != self._sha256:
            raise FetchError(
                f"{self._file.name} differs from the catalogue: the hub has another file with this name.",
                f"To fetch it anyway: gistread models get hf:{self._file.repository}:{self._file.name}",
            )
        if sha256 and sha256 != self._sha256:
            self._sha256, self.checksum_source, self._total = sha256, "hub", size_bytes

    async def _receive(self, response: "httpx2.Response") -> None:
        if response.headers.get("Content-Encoding", "identity") != "identity":
            raise FetchError(f"{response.url.host} sends {self._file.name} compressed.", "Try another address.")
        if self._total is not None:
            check_room(self._part.path.parent, self._total - self._part.length, self._file.name)
        async for data in response.aiter_raw():
            # A server may send more than the rest of the file.
            left = len(data) if self._total is None else self._total - self._part.length
            self._part.write(data[:left])
            self.report(DownloadStep.FETCHING, self._part.length)
            if len(data) >= left and self._total is not None:
                return
        self._ended = self._total is None

    def _refusal(self, response: "httpx2.Response") -> Exception:
        status, host, file = response.status_code, response.url.host, self._file
        if status in _BUSY:
            wait_s = retry_after_s(response.headers) or 0.0
            if wait_s > 300:
                return FetchError(f"{host} asks to retry in {wait_s / 60:.0f} minutes.", _RESUME)
            return _RetryError(f"{host} is busy ({status})", wait_s)
        if status in (401, 403) and file.repository and response.history:
            return _RetryError(f"{host} refused ({status})")  # The signed address from the hub may have expired.
        return refusal_error(response, self._network, file.repository, file.name)

    async def _wait(self, reason: str, wait_s: float) -> None:
        until = time.monotonic() + wait_s
        while (left_s := until - time.monotonic()) > 0:
            self.report(DownloadStep.WAITING, self._part.length, notice=f"{reason}; again in {math.ceil(left_s)} s")
            await asyncio.sleep(min(1.0, left_s))

    def report(self, step: DownloadStep, done: int, *, notice: str = "") -> None:
        self._reporter.report(Progress(step, done, self._total, notice=notice))


def _address_hash(file: RemoteFile) -> str:
    return hashlib.sha256(file.url.encode()).hexdigest()
