"""From what a person named to files in the folder of models: what is to be fetched is a plan, that can be shown and
agreed to before anything comes.
"""

import asyncio
import contextlib
import hashlib
import re
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from gistread.engine.catalogue import Catalogue, CatalogueEntry
from gistread.engine.fetching.addresses import HubAddress, LinkAddress, file_url, is_address, local_name, read_address
from gistread.engine.fetching.download import ChecksumSource, DownloadedFile, RemoteFile, download
from gistread.engine.fetching.http_errors import refused, unreachable
from gistread.engine.fetching.hub import choose, read_repository
from gistread.engine.fetching.network import Network, ask, new_client
from gistread.engine.fetching.partial_file import PartialFile, ResumeInfo, check_room
from gistread.engine.fetching.progress import DownloadStep, Progress, Tell
from gistread.errors import StorageError, UsageError

if TYPE_CHECKING:
    import httpx2

_READ_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be fetched, as far as it is known before it is."""

    spec: str
    """As it was named; the same again goes on with it."""
    name: str
    files: tuple[RemoteFile, ...]
    """All parts of one model, the first one first."""
    host: str
    """Where from, for people."""
    licence: str
    """Empty: nobody says."""
    page: str = ""
    """Where it is described and its licence can be read."""
    entry: CatalogueEntry | None = None

    @property
    def size_bytes(self) -> int | None:
        sizes = [file.size_bytes for file in self.files]
        return None if None in sizes else sum(size or 0 for size in sizes)

    @property
    def kept_spec(self) -> str:
        """What may be written down to go on with it another day; empty where the address may hold a secret."""
        return self.spec if self.page or not re.search(r"[?@#]", self.spec) else ""

    @property
    def checksum_source(self) -> ChecksumSource:
        """Who says the checksums; empty where one of them is not known."""
        return min((file.checksum_source for file in self.files), key=["", "hub", "catalogue"].index)


@dataclass(frozen=True, slots=True)
class FetchedModel:
    """A model that is here now."""

    path: Path
    """Of its first file."""
    size_bytes: int
    sha256: tuple[str, ...]
    """Of each file."""
    checksum_source: ChecksumSource
    """Who said the checksums that they were held against; empty: nobody did for all of them."""
    was_here: bool
    """Whether all of it was here before."""


def plan_entry(entry: CatalogueEntry, network: Network) -> Plan | None:
    """The plan for an entry that says all that is needed; None where the hub has to be asked."""
    if not entry.size_bytes or "-of-" in entry.file:
        return None
    url = file_url(network.endpoint, entry.repository, entry.revision, entry.file)
    checksum_source: ChecksumSource = "catalogue" if entry.sha256 else ""
    name = local_name(entry.file)
    file = RemoteFile(url, name, entry.size_bytes, entry.sha256, checksum_source, entry.repository)
    return _plan(entry.name, (file,), network, entry.licence, entry.repository, entry)


async def make_plan(spec: str, catalogue: Catalogue, network: Network) -> Plan:
    """What this names. Asks the hub, or the server, where the catalogue does not say everything.

    Raises UsageError for what names nothing, FetchError where there is no such thing or no way to it.
    """
    entry = catalogue.find(spec)
    if entry is not None:
        known = plan_entry(entry, network)
        if known is not None:
            return known
        address: HubAddress | LinkAddress = HubAddress(entry.repository, entry.file, entry.revision)
    elif is_address(spec):
        address = read_address(spec, network.endpoint)
    else:
        if Path(spec).is_file():
            hint = f"`gistread models use {shlex.quote(spec)}` uses it."
            raise UsageError(f"{spec} is a file, and here already.", hint)
        near = " or ".join(catalogue.near(spec))
        hint = f"Did you mean {near}?" if near else "`gistread models catalogue` shows every name."
        raise UsageError(f"The catalogue has no {spec!r}.", f"{hint} Or give hf:owner/repository, or an https address.")
    async with new_client(network) as client:
        with unreachable(network):
            if isinstance(address, LinkAddress):
                return await _plan_link(client, network, spec, address)
            repository = await read_repository(client, network, address)
    files = choose(repository, address.file)
    if entry is not None and entry.sha256 and len(files) == 1:
        files = (replace(files[0], sha256=entry.sha256, checksum_source="catalogue"),)
    licence = (entry.licence if entry else "") or repository.licence
    return _plan(spec, files, network, licence, address.repository, entry)


async def get(plan: Plan, folder: Path, network: Network, tell: Callable[[Progress, int, int], None]) -> FetchedModel:
    """Fetch every file of the plan that is not here, check them, and put them into the folder all together.

    `tell(progress of the whole, number of the file, number of files)`. Raises FetchError, StorageError. What has come
    is kept, whatever happens, but for what is wrong.
    """
    size_bytes = plan.size_bytes
    sums: list[str] = []
    checksum_sources: list[ChecksumSource] = []
    fetched: list[DownloadedFile] = []
    before = 0
    with contextlib.ExitStack() as open_parts:
        for number, file in enumerate(plan.files, 1):
            told = _in_all(tell, before, size_bytes, number, len(plan.files))
            target = folder / file.name
            if target.exists():
                sums.append(await _same(target, file, told))
                checksum_sources.append(file.checksum_source)
                before += target.stat().st_size
                continue
            part = open_parts.enter_context(PartialFile(folder, file.name, ResumeInfo(plan.kept_spec, size_bytes)))
            done = await download(file, part, network, told)
            fetched.append(done)
            sums.append(done.sha256)
            checksum_sources.append(done.checksum_source)
            before += part.length
        # The first file last: with it the model is there.
        for done in reversed(fetched):
            done.part.place(folder / done.file.name)
    checksum_source = min(checksum_sources, key=["", "hub", "catalogue"].index)
    return FetchedModel(folder / plan.files[0].name, before, tuple(sums), checksum_source, was_here=not fetched)


def present_bytes(plan: Plan, folder: Path) -> int:
    """How much of it is here already, complete or not."""
    total = 0
    for file in plan.files:
        for path in (folder / file.name, folder / f"{file.name}.part"):
            with contextlib.suppress(OSError):
                total += path.stat().st_size
                break
    return total


def check_disk(plan: Plan, folder: Path) -> None:
    """Raises StorageError where there is no room for what is missing of it."""
    if plan.size_bytes is not None:
        check_room(folder, plan.size_bytes - present_bytes(plan, folder), plan.name)


def discard(plan: Plan, folder: Path) -> None:
    """Throw away what has come of it so far. Raises FetchError while another process fetches it."""
    for file in plan.files:
        if (folder / f"{file.name}.part").exists():
            with PartialFile(folder, file.name) as part:
                part.discard()


def _plan(
    spec: str,
    files: tuple[RemoteFile, ...],
    network: Network,
    licence: str,
    repository: str,
    entry: CatalogueEntry | None,
) -> Plan:
    name = entry.name if entry else _stem(files)
    page = f"{network.endpoint}/{repository}"
    return Plan(spec, name, files, f"{network.host}/{repository}", licence, page, entry)


def _stem(files: Sequence[RemoteFile]) -> str:
    name = files[0].name[: -len(".gguf")]
    return name.rpartition("-00001-of-")[0] or name


async def _plan_link(client: "httpx2.AsyncClient", network: Network, spec: str, address: LinkAddress) -> Plan:
    """What the server says of the file. Not every one answers to HEAD: then nothing is known yet."""
    size: int | None = None
    async with ask(client, network, address.url, {}, "HEAD") as answer:
        status, host = answer.response.status_code, answer.response.url.host
        if status in (401, 403, 404, 410):
            raise refused(status, answer.response.headers, network, "", address.file, host)
        length = answer.response.headers.get("Content-Length", "")
        if status == 200 and length.isdecimal() and int(length):
            size = int(length)
    file = RemoteFile(address.url, address.file, size)
    return Plan(spec, _stem([file]), (file,), host, "")


def _in_all(tell: Callable[[Progress, int, int], None], before: int, size: int | None, number: int, count: int) -> Tell:
    """Progress of one file as that of the whole."""

    def told(progress: Progress) -> None:
        total = size if count > 1 else progress.total_bytes or size
        tell(replace(progress, done_bytes=before + progress.done_bytes, total_bytes=total), number, count)

    return told


async def _same(path: Path, file: RemoteFile, tell: Tell) -> str:
    """The checksum of a file that is here, if it is the wanted one. Raises StorageError where it is another."""
    digest, done = hashlib.sha256(), 0
    try:
        with path.open("rb") as here:
            while block := here.read(_READ_BYTES):
                digest.update(block)
                done += len(block)
                tell(Progress(DownloadStep.CHECKING, done, file.size_bytes))
                await asyncio.sleep(0)
    except OSError as error:
        raise StorageError(f"{path}: {error.strerror or error}.", "Move it away, and ask again.") from error
    found = digest.hexdigest()
    if (file.sha256 and file.sha256 != found) or (not file.sha256 and file.size_bytes != done):
        raise StorageError(f"{path} is there already, and is another file.", "Move it away, and ask again.")
    return found
