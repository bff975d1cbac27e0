"""One file comes over the network, in as many attempts as it takes, and is what it should be.

An attempt asks for what is missing (Range), and only of the file whose beginning is here (If-Range, ETag, length).
It ends when the file is complete, or with a reason to try again, or with one not to. The bytes are kept as they
come: whatever ends this, the next call goes on from there. Checked are the length, the SHA-256 where anybody
says one, and that the result is a whole GGUF file.
"""

import asyncio
import math
import re
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from gistread.engine.fetching.http_errors import refused, retry_after_s, said
from gistread.engine.fetching.network import Answer, Network, ask, new_client
from gistread.engine.fetching.partial_file import FileIdentity, PartialFile, source_of
from gistread.engine.fetching.progress import DownloadStep, Progress, ProgressReporter, Tell
from gistread.engine.llama.gguf import read_header
from gistread.errors import EngineError, FetchError

if TYPE_CHECKING:
    import httpx2

_CONTENT_RANGE = re.compile(r"bytes (?:(\d+)-(\d+)|\*)/(\d+|\*)")
_BUSY = (408, 425, 429, 500, 502, 503, 504, 520, 521, 522, 523, 524)
_UNREACHED_ATTEMPTS = 3
"""Where nobody has ever answered there is likely no network: a person is told soon."""
_LONGEST_PAUSE_S = 60.0
_LONGEST_WAIT_S = 300.0
"""That a server may ask for. Longer than this nobody sits before a screen."""
_GO_ON = "Ask again later: it goes on from where it stopped."

ChecksumSource = Literal["", "catalogue", "hub"]


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """A file that is wanted."""

    url: str
    name: str
    """It gets here."""
    size_bytes: int | None = None
    sha256: str = ""
    checksum_source: ChecksumSource = ""
    """Who says the checksum."""
    repository: str = ""
    """On the hub, where it is from there."""


@dataclass(frozen=True, slots=True)
class DownloadedFile:
    """A complete file that has not got its name yet."""

    part: PartialFile
    file: RemoteFile
    sha256: str
    checksum_source: ChecksumSource
    """Who said the checksum that it was held against; empty: nobody."""


class _TryAgain(Exception):  # noqa: N818 - not an error of anybody's
    """This attempt brought no more. `wait_s`: what the server asks for."""

    def __init__(self, reason: str, wait_s: float | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.wait_s = wait_s


async def download(file: RemoteFile, part: PartialFile, network: Network, tell: Tell) -> DownloadedFile:
    """Complete this opened part and check it.

    Raises FetchError, StorageError, EngineError for what is no model. Cancelled or failed, it keeps what has come,
    unless that is wrong: then nothing is kept.
    """
    attempt = _Download(file, part, network, tell)
    await attempt.take_up()
    async with new_client(network) as client:
        await attempt.complete(client)
    return await attempt.checked()


class _Download:
    def __init__(self, file: RemoteFile, part: PartialFile, network: Network, tell: Tell) -> None:
        self._file = file
        self._part = part
        self._network = network
        self._pace = ProgressReporter(tell)
        self._total = file.size_bytes
        self._sha256, self._voucher = file.sha256, file.checksum_source
        self._ended = False
        """Whether a server that never said how long the file is has come to its end."""
        self._begun_anew = 0

    async def take_up(self) -> None:
        """Keep what is here if it is of this file, else begin anew."""
        kept, wanted = self._part.origin, self._file
        same_source = kept.source == source_of(wanted.url)
        one_sum = wanted.sha256 == kept.sha256 if wanted.sha256 and kept.sha256 else None
        if not (same_source and kept.known if one_sum is None else one_sum):
            self._part.restart()
        elif not same_source:
            # The same file at another server, which has its own marks for it.
            self._part.remember(FileIdentity(source_of(wanted.url), sha256=kept.sha256, size_bytes=kept.size_bytes))
        await self._part.take_up(lambda done: self._say(DownloadStep.CHECKING, done))
        kept = self._part.origin
        self._total = self._total or kept.size_bytes
        if not self._sha256 and kept.sha256:
            self._sha256, self._voucher = kept.sha256, "hub"
        if self._total is not None and self._part.length > self._total:
            self._part.restart()

    async def complete(self, client: "httpx2.AsyncClient") -> None:
        import httpx2

        barren = 0
        reached = False
        while not self._is_complete:
            before = self._part.length
            try:
                await self._attempt(client)
                again = _TryAgain("the connection ended early")
                reached = True
            except _TryAgain as reason:
                again = reason
                reached = True
            except httpx2.TransportError as error:
                again = _TryAgain(said(error, self._network))
                reached = reached or not isinstance(error, httpx2.ConnectError)
            if self._is_complete:
                return
            barren = 0 if self._part.length > before else barren + 1
            if barren >= (self._network.attempts if reached else min(_UNREACHED_ATTEMPTS, self._network.attempts)):
                raise FetchError(f"{self._file.name} cannot be fetched: {again.reason}.", _GO_ON)
            pause_s = min(_LONGEST_PAUSE_S, self._network.pause_s * 2 ** max(0, barren - 1))
            await self._wait(again.reason, max(pause_s, again.wait_s or 0))

    async def checked(self) -> DownloadedFile:
        """The checksum and the header are right, or nothing is kept."""
        part, name = self._part, self._file.name
        part.settle()
        if self._sha256 and part.sha256 != self._sha256:
            found = part.sha256
            part.restart()
            raise FetchError(
                f"{name} is not the file that it should be: its SHA-256 is {found[:16]}…, and that of "
                f"{'the catalogue' if self._voucher == 'catalogue' else 'the hub'} {self._sha256[:16]}….",
                "Nothing was kept; asked again, it begins anew.",
            )
        try:
            header = await asyncio.to_thread(read_header, part.path)
        except EngineError as error:
            part.restart()
            raise FetchError(f"{name} is no usable model: {_reason(error, part, name)}", "Nothing was kept.") from None
        if header.missing_bytes:
            part.restart()
            raise FetchError(f"{name} is not whole: {header.missing_bytes:,} bytes are missing.", "Nothing was kept.")
        return DownloadedFile(part, self._file, part.sha256, self._voucher)

    @property
    def _is_complete(self) -> bool:
        return self._ended if self._total is None else self._part.length == self._total

    async def _attempt(self, client: "httpx2.AsyncClient") -> None:
        headers = self._range()
        async with ask(client, self._network, self._file.url, headers) as answer:
            self._believe_hub(answer)
            status = answer.response.status_code
            if status == 416 and headers:
                self._past_the_end(answer)
            elif status == 206 and headers:
                await self._go_on(answer)
            elif status == 200:
                await self._begin(answer)
            else:
                raise self._refusal(answer)

    def _range(self) -> dict[str, str]:
        origin = self._part.origin
        if self._part.length and not (self._sha256 or origin.known):
            self._anew()  # nothing would tell whether two halves belong together
        if not self._part.length:
            return {}
        condition = origin.strong_etag or ("" if origin.etag else origin.modified)
        return {"Range": f"bytes={self._part.length}-"} | ({"If-Range": condition} if condition else {})

    def _anew(self) -> None:
        """Throw away what is here. Raises FetchError where that has helped often enough."""
        self._part.restart()
        self._begun_anew += 1
        if self._begun_anew > self._network.attempts:
            raise FetchError(
                f"{self._file.name} cannot be fetched: each time that it breaks off, it has to begin anew.",
                "Try a better connection, or another address.",
            )

    def _believe_hub(self, answer: Answer) -> None:
        """What the hub says of the file holds where nobody said it before; a contradiction ends it here."""
        linked = answer.linked
        if not linked.sha256:
            return
        if self._sha256 and self._sha256 != linked.sha256:
            if self._voucher == "catalogue":
                raise FetchError(
                    f"{self._file.name} is not what the catalogue knows: the hub has another file of this name.",
                    f"To take it as it is: gistread models get hf:{self._file.repository}:{self._file.name}",
                )
            # It changed on the hub between two attempts.
            self._anew()
            self._total = linked.size_bytes
        if self._voucher != "catalogue":
            self._sha256, self._voucher = linked.sha256, "hub"
        if linked.size_bytes is not None:
            self._total = linked.size_bytes

    async def _begin(self, answer: Answer) -> None:
        """The whole file, from its first byte."""
        if self._part.length:
            self._anew()
            self._say(
                DownloadStep.FETCHING, 0, notice=f"{answer.host} does not go on where it stopped: from the beginning"
            )
        length = answer.response.headers.get("Content-Length", "")
        claimed = int(length) if length.isdecimal() else None
        self._total = self._total or claimed
        await self._receive(answer)
        self._ended = self._total is None

    async def _go_on(self, answer: Answer) -> None:
        """The rest of the file, if it is that."""
        found = _CONTENT_RANGE.fullmatch(answer.response.headers.get("Content-Range", "").strip())
        first, total = (found[1], found[3]) if found else (None, None)
        whole = int(total) if total and total != "*" else None
        etag = answer.response.headers.get("ETag", "")
        origin = self._part.origin
        other = (whole is not None and origin.size_bytes is not None and whole != origin.size_bytes) or (
            bool(etag and origin.etag) and etag.removeprefix("W/") != origin.etag.removeprefix("W/")
        )
        if first is None or int(first) != self._part.length or (other and not self._sha256):
            self._anew()
            raise _TryAgain("the file has changed there: from the beginning")
        self._total = self._total or whole
        await self._receive(answer)
        self._ended = self._total is None

    def _past_the_end(self, answer: Answer) -> None:
        """There is nothing behind what is here: either this is all of it, or it is of another file."""
        found = _CONTENT_RANGE.fullmatch(answer.response.headers.get("Content-Range", "").strip())
        whole = int(found[3]) if found and found[3].isdecimal() else None
        if whole == self._part.length:
            self._total = whole  # whoever said another size was wrong; checksum and header tell
            return
        self._anew()
        raise _TryAgain("the file there is shorter than what is here: from the beginning")

    async def _receive(self, answer: Answer) -> None:
        response = answer.response
        if response.headers.get("Content-Encoding", "identity") != "identity":
            raise FetchError(f"{answer.host} sends {self._file.name} compressed, unasked.", "Try another address.")
        if self._total is not None:
            self._part.check_room(self._total)
        self._part.remember(
            FileIdentity(
                source_of(self._file.url),
                response.headers.get("ETag") or self._part.origin.etag,
                response.headers.get("Last-Modified") or self._part.origin.modified,
                self._total,
                self._sha256,
            )
        )
        async for data in response.aiter_raw():
            # A server may send more than there is of the file.
            left = len(data) if self._total is None else self._total - self._part.length
            self._part.write(data[:left])
            self._say(DownloadStep.FETCHING, self._part.length)
            if len(data) >= left and self._total is not None:
                return

    def _refusal(self, answer: Answer) -> Exception:
        status, host, file = answer.response.status_code, answer.host, self._file
        on_hub = self._network.is_hub(str(answer.response.url))
        if status in _BUSY:
            wait_s = retry_after_s(answer.response.headers)
            if wait_s is not None and wait_s > _LONGEST_WAIT_S:
                return FetchError(f"{host} asks to come back in {wait_s / 60:.0f} minutes.", _GO_ON)
            return _TryAgain(f"{host} is busy ({status})", wait_s)
        if status in (401, 403) and not on_hub and self._file.repository:
            return _TryAgain(f"{host} refuses ({status})")  # addresses that the hub signs hold for a short time
        return refused(status, answer.response.headers, self._network, file.repository, file.name, host)

    async def _wait(self, reason: str, wait_s: float) -> None:
        until = time.monotonic() + wait_s
        while (left_s := until - time.monotonic()) > 0:
            self._say(DownloadStep.WAITING, self._part.length, notice=f"{reason}; again in {math.ceil(left_s)} s")
            await asyncio.sleep(min(1.0, left_s))

    def _say(self, step: DownloadStep, done: int, *, notice: str = "") -> None:
        self._pace.tell(Progress(step, done, self._total, notice=notice))


def _reason(error: EngineError, part: PartialFile, name: str) -> str:
    return error.message.replace(str(part.path), name).replace(part.path.name, name)
