"""Downloads and verifies one file. Retries transient failures, and resumes only if the file is unchanged."""

import asyncio
import math
import re
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from gistread.engine.fetching.network import Answer, Network, ask, describe, new_client, refusal_error
from gistread.engine.fetching.partial_file import FileIdentity, PartialFile, source_of
from gistread.engine.fetching.progress import DownloadStep, Progress, ProgressReporter, Report
from gistread.engine.http import retry_after_s
from gistread.engine.llama.gguf import read_header
from gistread.errors import EngineError, FetchError

if TYPE_CHECKING:
    import httpx2

_CONTENT_RANGE = re.compile(r"bytes (?:(\d+)-\d+|\*)/(?:(\d+)|\*)")
_BUSY = (408, 425, 429, 500, 502, 503, 504, 520, 521, 522, 523, 524)
_UNREACHED_ATTEMPTS = 3  # Attempts if no server ever responded: probably there is no network
_LONGEST_PAUSE_S = 60.0
_LONGEST_WAIT_S = 300.0  # Longest Retry-After that is respected
_RESUME = "Try again later: the download resumes where it stopped."

ChecksumSource = Literal["", "catalogue", "hub"]


@dataclass(frozen=True, slots=True)
class RemoteFile:
    url: str
    name: str  # Local file name
    size_bytes: int | None = None
    sha256: str = ""
    checksum_source: ChecksumSource = ""  # Who published the checksum
    repository: str = ""  # On the hub; empty elsewhere


@dataclass(frozen=True, slots=True)
class DownloadedFile:
    """A complete, verified file under its temporary name."""

    part: PartialFile
    file: RemoteFile
    sha256: str
    checksum_source: ChecksumSource  # Who published the verified checksum; empty: nobody


@dataclass(eq=False)
class _RetryError(Exception):
    reason: str
    wait_s: float | None = None  # Delay requested by the server


async def download(file: RemoteFile, part: PartialFile, network: Network, report: Report) -> DownloadedFile:
    """Complete a partial file and verify it; an interrupted download can resume. Raises FetchError, StorageError."""
    attempt = _Download(file, part, network, report)
    await attempt.resume()
    async with new_client(network) as client:
        await attempt.complete(client)
    return await attempt.verify()


class _Download:
    def __init__(self, file: RemoteFile, part: PartialFile, network: Network, report: Report) -> None:
        self._file = file
        self._part = part
        self._network = network
        self._reporter = ProgressReporter(report)
        self._total = file.size_bytes
        self._sha256, self._checksum_source = file.sha256, file.checksum_source
        self._ended = False  # Whether a response without a length has ended
        self._restarts = 0

    async def resume(self) -> None:
        """Keep the bytes on disk if they belong to this file, else start over."""
        kept, wanted = self._part.identity, self._file
        same_source = kept.source == source_of(wanted.url)
        same_checksum = wanted.sha256 == kept.sha256 if wanted.sha256 and kept.sha256 else None
        if not (same_source and kept.known if same_checksum is None else same_checksum):
            self._part.restart()
        elif not same_source:
            # The same file on another server, which has its own ETag.
            self._part.remember(FileIdentity(source_of(wanted.url), sha256=kept.sha256, size_bytes=kept.size_bytes))
        await self._part.rehash(lambda done: self._report(DownloadStep.CHECKING, done))
        kept = self._part.identity
        self._total = self._total or kept.size_bytes
        if not self._sha256 and kept.sha256:
            self._sha256, self._checksum_source = kept.sha256, "hub"
        if self._total is not None and self._part.length > self._total:
            self._part.restart()

    async def complete(self, client: "httpx2.AsyncClient") -> None:
        import httpx2

        fruitless = 0
        reached = False
        while not self._is_complete:
            before = self._part.length
            again = _RetryError("the connection ended early")
            unreached = False
            try:
                await self._attempt(client)
            except _RetryError as reason:
                again = reason
            except httpx2.TransportError as error:
                again = _RetryError(describe(error, self._network))
                unreached = isinstance(error, httpx2.ConnectError)
            reached = reached or not unreached
            if self._is_complete:
                return
            fruitless = 0 if self._part.length > before else fruitless + 1
            if fruitless >= (self._network.attempts if reached else min(_UNREACHED_ATTEMPTS, self._network.attempts)):
                raise FetchError(f"{self._file.name} cannot be fetched: {again.reason}.", _RESUME)
            pause_s = min(_LONGEST_PAUSE_S, self._network.pause_s * 2 ** max(0, fruitless - 1))
            await self._wait(again.reason, max(pause_s, again.wait_s or 0))

    async def verify(self) -> DownloadedFile:
        """Verify checksum and header; discard the file if they are wrong."""
        part, name = self._part, self._file.name
        part.sync()
        if self._sha256 and part.sha256 != self._sha256:
            found = part.sha256
            part.restart()
            raise FetchError(
                f"{name} has the wrong SHA-256: {found[:16]}…; according to "
                f"{'the catalogue' if self._checksum_source == 'catalogue' else 'the hub'} it is {self._sha256[:16]}….",
                "Nothing was kept; try again.",
            )
        try:
            header = await asyncio.to_thread(read_header, part.path)
        except EngineError as error:
            part.restart()
            said = error.message.replace(str(part.path), name).replace(part.path.name, name)
            raise FetchError(f"{name} is not a usable model: {said}", "Nothing was kept.") from None
        if header.missing_bytes:
            part.restart()
            raise FetchError(f"{name} is incomplete: {header.missing_bytes:,} bytes are missing.", "Nothing was kept.")
        return DownloadedFile(part, self._file, part.sha256, self._checksum_source)

    @property
    def _is_complete(self) -> bool:
        return self._ended if self._total is None else self._part.length == self._total

    async def _attempt(self, client: "httpx2.AsyncClient") -> None:
        headers = self._range_headers()
        async with ask(client, self._network, self._file.url, headers) as answer:
            self._apply_metadata(answer)
            status = answer.response.status_code
            if status == 416 and headers:
                self._handle_range_error(answer)
            elif status == 206 and headers:
                await self._append_rest(answer)
            elif status == 200:
                if self._part.length:
                    self._start_over()
                    self._report(DownloadStep.FETCHING, 0, notice=f"{answer.host} cannot resume: starting over")
                length = answer.response.headers.get("Content-Length", "")
                self._total = self._total or (int(length) if length.isdecimal() else None)
                await self._receive(answer)
                self._ended = self._total is None
            else:
                raise self._refusal(answer)

    def _range_headers(self) -> dict[str, str]:
        origin = self._part.identity
        if self._part.length and not (self._sha256 or origin.known):
            self._start_over()  # without an ETag or checksum, two halves may be of different files
        if not self._part.length:
            return {}
        condition = origin.strong_etag or ("" if origin.etag else origin.modified)
        return {"Range": f"bytes={self._part.length}-"} | ({"If-Range": condition} if condition else {})

    def _start_over(self) -> None:
        self._part.restart()
        self._restarts += 1
        if self._restarts > self._network.attempts:
            raise FetchError(
                f"{self._file.name} cannot be fetched: after each interruption the server starts over.",
                "Use a better connection, or another address.",
            )

    def _apply_metadata(self, answer: Answer) -> None:
        metadata = answer.metadata
        if not metadata.sha256:
            return
        if self._sha256 and self._sha256 != metadata.sha256:
            if self._checksum_source == "catalogue":
                raise FetchError(
                    f"{self._file.name} differs from the catalogue: the hub has another file with this name.",
                    f"To fetch it anyway: gistread models get hf:{self._file.repository}:{self._file.name}",
                )
            # The file changed on the hub between two attempts.
            self._start_over()
            self._total = metadata.size_bytes
        if self._checksum_source != "catalogue":
            self._sha256, self._checksum_source = metadata.sha256, "hub"
        if metadata.size_bytes is not None:
            self._total = metadata.size_bytes

    async def _append_rest(self, answer: Answer) -> None:
        first, whole = _content_range(answer)
        etag = answer.response.headers.get("ETag", "")
        origin = self._part.identity
        other = (whole is not None and origin.size_bytes is not None and whole != origin.size_bytes) or (
            bool(etag and origin.etag) and etag.removeprefix("W/") != origin.etag.removeprefix("W/")
        )
        if first != self._part.length or (other and not self._sha256):
            self._start_over()
            raise _RetryError("the file has changed on the server: starting over")
        self._total = self._total or whole
        await self._receive(answer)
        self._ended = self._total is None

    def _handle_range_error(self, answer: Answer) -> None:
        _, whole = _content_range(answer)
        if whole == self._part.length:
            self._total = whole  # the size known before was wrong; checksum and header are verified later
            return
        self._start_over()
        raise _RetryError("the file on the server is shorter: starting over")

    async def _receive(self, answer: Answer) -> None:
        response = answer.response
        if response.headers.get("Content-Encoding", "identity") != "identity":
            raise FetchError(f"{answer.host} sends {self._file.name} compressed.", "Try another address.")
        if self._total is not None:
            self._part.check_room(self._total)
        self._part.remember(
            FileIdentity(
                source_of(self._file.url),
                response.headers.get("ETag") or self._part.identity.etag,
                response.headers.get("Last-Modified") or self._part.identity.modified,
                self._total,
                self._sha256,
            )
        )
        async for data in response.aiter_raw():
            # A server may send more than the rest of the file.
            left = len(data) if self._total is None else self._total - self._part.length
            self._part.write(data[:left])
            self._report(DownloadStep.FETCHING, self._part.length)
            if len(data) >= left and self._total is not None:
                return

    def _refusal(self, answer: Answer) -> Exception:
        status, host, file = answer.response.status_code, answer.host, self._file
        on_hub = self._network.is_hub(str(answer.response.url))
        if status in _BUSY:
            wait_s = retry_after_s(answer.response.headers)
            if wait_s is not None and wait_s > _LONGEST_WAIT_S:
                return FetchError(f"{host} asks to retry in {wait_s / 60:.0f} minutes.", _RESUME)
            return _RetryError(f"{host} is busy ({status})", wait_s)
        if status in (401, 403) and not on_hub and self._file.repository:
            return _RetryError(f"{host} refused ({status})")  # the signed address from the hub may have expired
        return refusal_error(status, answer.response.headers, self._network, file.repository, file.name, host)

    async def _wait(self, reason: str, wait_s: float) -> None:
        until = time.monotonic() + wait_s
        while (left_s := until - time.monotonic()) > 0:
            self._report(DownloadStep.WAITING, self._part.length, notice=f"{reason}; again in {math.ceil(left_s)} s")
            await asyncio.sleep(min(1.0, left_s))

    def _report(self, step: DownloadStep, done: int, *, notice: str = "") -> None:
        self._reporter.report(Progress(step, done, self._total, notice=notice))


def _content_range(answer: Answer) -> tuple[int | None, int | None]:
    """The first byte sent, and the size of the whole file; None if not given."""
    found = _CONTENT_RANGE.fullmatch(answer.response.headers.get("Content-Range", "").strip())
    first, whole = found.groups() if found else (None, None)
    return int(first) if first else None, int(whole) if whole else None
