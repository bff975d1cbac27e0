"""Plans what to fetch for a name or address, and carries out a confirmed plan."""

import contextlib
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from gistread.engine.catalogue import Catalogue, CatalogueEntry
from gistread.engine.fetching.download import (
    DownloadStep,
    Progress,
    RemoteFile,
    Report,
    download,
)
from gistread.engine.fetching.hub import (
    HubAddress,
    file_url,
    is_on_the_hub,
    local_name,
    read_address,
    read_repository,
    select_model,
)
from gistread.engine.fetching.network import Network, describe, new_client
from gistread.engine.fetching.partial_file import (
    PartialFile,
    check_room,
    partial_path,
    sha256_of,
)
from gistread.engine.model_search import plain_name
from gistread.errors import FetchError, StorageError, UsageError


@dataclass(frozen=True, slots=True)
class Plan:
    """What will be fetched, to be shown and confirmed first."""

    spec: str  # As typed; fetching it again resumes the download
    name: str
    file: RemoteFile
    page: str  # Page with its description and licence
    licence: str  # Empty if unknown
    checksum_source: Literal["catalogue", "hub"]  # Who published the checksum

    @property
    def host(self) -> str:
        """The source, for people."""
        return f"{urlsplit(self.page).netloc}/{self.file.repository}"


def plan_entry(entry: CatalogueEntry, network: Network) -> Plan:
    """Plan the download of a model of the catalogue, without asking the hub."""
    file = RemoteFile(
        url=file_url(network.endpoint, entry.repository, entry.revision, entry.file),
        name=local_name(entry.file),
        size_bytes=entry.size_bytes,
        sha256=entry.sha256,
        repository=entry.repository,
    )
    page = f"{network.endpoint}/{entry.repository}"
    return Plan(
        spec=entry.name,
        name=entry.name,
        file=file,
        page=page,
        licence=entry.licence,
        checksum_source="catalogue",
    )


async def make_plan(spec: str, catalogue: Catalogue, network: Network) -> Plan:
    """Plan the download of a name or address, asking the hub for an address.

    Raises UsageError, FetchError.
    """
    if (entry := catalogue.find(spec)) is not None:
        return plan_entry(entry, network)
    is_address = is_on_the_hub(spec) or "://" in spec
    if not is_address:
        raise _unknown_name(spec, catalogue)
    address = read_address(spec, network.endpoint)
    file, licence = await _find_on_hub(address, network)
    page = f"{network.endpoint}/{file.repository}"
    return Plan(
        spec=spec,
        name=plain_name(file.name),
        file=file,
        page=page,
        licence=licence,
        checksum_source="hub",
    )


async def _find_on_hub(address: HubAddress, network: Network) -> tuple[RemoteFile, str]:
    """The model file that an address names, and its licence. Raises FetchError."""
    import httpx2  # slow to import

    try:
        async with new_client(network) as client:
            models, licence = await read_repository(client, network, address)
    except httpx2.TransportError as error:
        hint = "Check the network, HTTPS_PROXY and HF_ENDPOINT."
        raise FetchError(f"No response: {describe(error, network)}.", hint) from None
    return select_model(models, address), licence


def _unknown_name(spec: str, catalogue: Catalogue) -> UsageError:
    """The error for a specification that is neither in the catalogue nor an address."""
    if Path(spec).is_file():
        return UsageError(
            f"{spec} is a local file.",
            f"`gistread models use {shlex.quote(spec)}` uses it.",
        )
    similar = " or ".join(catalogue.similar(spec))
    if similar:
        hint = f"Did you mean {similar}?"
    else:
        hint = "`gistread models catalogue` lists all names."
    return UsageError(
        f"The catalogue has no {spec!r}.", f"{hint} Or use hf:owner/repository."
    )


async def get(plan: Plan, folder: Path, network: Network, report: Report) -> Path:
    """Fetch the file into the folder, unless it is there, and verify it.

    Resumable. Raises FetchError, StorageError.
    """
    target = folder / plan.file.name
    if target.exists():
        await _verify_existing(target, plan.file, report)
        return target
    with PartialFile(partial_path(folder, plan.file.name, plan.file.sha256)) as part:
        await download(plan.file, part, network, report)
        part.rename(target)
    return target


def present_bytes(plan: Plan, folder: Path) -> int:
    """Bytes on disk already, complete or not."""
    complete = folder / plan.file.name
    partial = partial_path(folder, plan.file.name, plan.file.sha256)
    for path in (complete, partial):
        with contextlib.suppress(OSError):
            return path.stat().st_size
    return 0


def check_disk(plan: Plan, folder: Path) -> None:
    """Raises StorageError if there is no disk space for the rest of the file."""
    missing_bytes = plan.file.size_bytes - present_bytes(plan, folder)
    check_room(folder, missing_bytes, plan.name)


async def _verify_existing(path: Path, file: RemoteFile, report: Report) -> None:
    """Raises StorageError if the file that is already there is another one."""
    report(Progress(DownloadStep.CHECKING, 0, file.size_bytes))
    hint = "Move it away and try again."
    try:
        sha256 = await sha256_of(path)
    except OSError as error:
        raise StorageError(f"{path}: {error.strerror or error}.", hint) from error
    if sha256 != file.sha256:
        raise StorageError(f"{path} exists already and is another file.", hint)
