"""Plans what to fetch for a name or address, and carries out a confirmed plan."""

import asyncio
import contextlib
import hashlib
import shlex
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from gistread.engine.catalogue import Catalogue, CatalogueEntry
from gistread.engine.fetching.download import ChecksumSource, DownloadStep, Progress, RemoteFile, Report, download
from gistread.engine.fetching.hub import (
    HubAddress,
    LinkAddress,
    file_url,
    is_address,
    local_name,
    read_address,
    read_repository,
    select_model,
)
from gistread.engine.fetching.network import Network, describe, new_client, open_response, refusal_error
from gistread.engine.fetching.partial_file import PartialFile, check_room
from gistread.engine.model_search import whole_name
from gistread.errors import FetchError, StorageError, UsageError

if TYPE_CHECKING:
    import httpx2


@dataclass(frozen=True, slots=True)
class Plan:
    """What will be fetched, to be shown and confirmed first."""

    spec: str  # As typed; fetching it again resumes the download
    name: str
    files: tuple[RemoteFile, ...]  # All files of one model, in order
    host: str  # Source, for people
    licence: str  # Empty if unknown
    page: str = ""  # Page with its description and licence
    entry: CatalogueEntry | None = None

    @property
    def size_bytes(self) -> int | None:
        sizes = [file.size_bytes for file in self.files]
        return None if None in sizes else sum(size or 0 for size in sizes)

    @property
    def checksum_source(self) -> ChecksumSource:
        """Who published the checksums; empty if one is unknown."""
        return min((file.checksum_source for file in self.files), key=["", "hub", "catalogue"].index)


@dataclass(frozen=True, slots=True)
class FetchedModel:
    path: Path  # First file
    size_bytes: int
    sha256: tuple[str, ...]  # Hash of each file
    checksum_source: ChecksumSource  # Who published the verified checksums; empty unless all were
    was_here: bool  # Whether all files existed before


def plan_entry(entry: CatalogueEntry, network: Network) -> Plan | None:
    """Plan from a catalogue entry alone; None if the hub must be asked."""
    if not entry.size_bytes or "-of-" in entry.file:
        return None
    url = file_url(network.endpoint, entry.repository, entry.revision, entry.file)
    checksum_source: ChecksumSource = "catalogue" if entry.sha256 else ""
    name = local_name(entry.file)
    file = RemoteFile(url, name, entry.size_bytes, entry.sha256, checksum_source, entry.repository)
    return _plan(entry.name, (file,), network, entry.licence, entry.repository, entry)


async def make_plan(spec: str, catalogue: Catalogue, network: Network) -> Plan:
    """Plan the download of a name or address, asking the hub or server if needed. Raises UsageError, FetchError."""
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
            raise UsageError(f"{spec} is a local file.", hint)
        near = " or ".join(catalogue.similar(spec))
        hint = f"Did you mean {near}?" if near else "`gistread models catalogue` lists all names."
        raise UsageError(f"The catalogue has no {spec!r}.", f"{hint} Or use hf:owner/repository, or an https address.")
    import httpx2

    try:
        async with new_client(network) as client:
            if isinstance(address, LinkAddress):
                return await _plan_link(client, network, spec, address)
            repository = await read_repository(client, network, address)
    except httpx2.TransportError as error:
        hint = "Check the network, HTTPS_PROXY and HF_ENDPOINT."
        raise FetchError(f"No response: {describe(error, network)}.", hint) from None
    files = select_model(repository, address.file)
    if entry is not None and entry.sha256 and len(files) == 1:
        files = (replace(files[0], sha256=entry.sha256, checksum_source="catalogue"),)
    licence = (entry.licence if entry else "") or repository.licence
    return _plan(spec, files, network, licence, address.repository, entry)


async def get(plan: Plan, folder: Path, network: Network, report: Callable[[Progress, int, int], None]) -> FetchedModel:
    """Fetch and verify missing files, then move all into the folder. Resumable. Raises FetchError, StorageError."""
    size_bytes = plan.size_bytes
    sums: list[str] = []
    checksum_sources: list[ChecksumSource] = []
    fetched: list[tuple[PartialFile, Path]] = []
    before = 0
    number = 0

    def file_report(progress: Progress) -> None:
        total = size_bytes if len(plan.files) > 1 else progress.total_bytes or size_bytes
        overall = replace(progress, done_bytes=before + progress.done_bytes, total_bytes=total)
        report(overall, number, len(plan.files))

    with contextlib.ExitStack() as open_parts:
        for number, file in enumerate(plan.files, 1):  # noqa: B007 - used by `file_report`
            target = folder / file.name
            if target.exists():
                sums.append(await _verify_existing(target, file, file_report))
                checksum_sources.append(file.checksum_source)
                before += target.stat().st_size
                continue
            part = open_parts.enter_context(PartialFile(folder, file.name))
            checksum_sources.append(await download(file, part, network, file_report))
            fetched.append((part, target))
            sums.append(part.sha256)
            before += part.length
        # The first file last: it makes the model appear.
        for part, target in reversed(fetched):
            part.rename(target)
    source = min(checksum_sources, key=["", "hub", "catalogue"].index)
    return FetchedModel(folder / plan.files[0].name, before, tuple(sums), source, was_here=not fetched)


def present_bytes(plan: Plan, folder: Path) -> int:
    """Bytes on disk already, complete files or not."""
    total = 0
    for file in plan.files:
        for path in (folder / file.name, folder / f"{file.name}.part"):
            with contextlib.suppress(OSError):
                total += path.stat().st_size
                break
    return total


def check_disk(plan: Plan, folder: Path) -> None:
    """Raises StorageError if there is no disk space for the missing files."""
    if plan.size_bytes is not None:
        check_room(folder, plan.size_bytes - present_bytes(plan, folder), plan.name)


def _plan(
    spec: str,
    files: tuple[RemoteFile, ...],
    network: Network,
    licence: str,
    repository: str,
    entry: CatalogueEntry | None,
) -> Plan:
    name = entry.name if entry else whole_name(files[0].name)
    page = f"{network.endpoint}/{repository}"
    return Plan(spec, name, files, f"{network.host}/{repository}", licence, page, entry)


async def _plan_link(client: "httpx2.AsyncClient", network: Network, spec: str, address: LinkAddress) -> Plan:
    async with open_response(client, network, address.url, {}, "HEAD") as response:
        if response.status_code in (401, 403, 404, 410):
            raise refusal_error(response, network, "", address.file)
        length = response.headers.get("Content-Length", "") if response.status_code == 200 else ""
    file = RemoteFile(address.url, address.file, int(length) or None if length.isdecimal() else None)
    return Plan(spec, whole_name(file.name), (file,), response.url.host, "")


async def _verify_existing(path: Path, file: RemoteFile, report: Report) -> str:
    report(Progress(DownloadStep.CHECKING, 0, file.size_bytes))
    try:
        with path.open("rb") as existing:
            found = (await asyncio.to_thread(hashlib.file_digest, existing, "sha256")).hexdigest()
        size = path.stat().st_size
    except OSError as error:
        raise StorageError(f"{path}: {error.strerror or error}.", "Move it away and try again.") from error
    if (file.sha256 and file.sha256 != found) or (not file.sha256 and file.size_bytes != size):
        raise StorageError(f"{path} exists already and is another file.", "Move it away and try again.")
    return found
