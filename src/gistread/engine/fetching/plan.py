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
    url = file_url(network.endpoint, entry.repository, entry.revision, entry.file)
    file = RemoteFile(
        url, local_name(entry.file), entry.size_bytes, entry.sha256, entry.repository
    )
    page = f"{network.endpoint}/{entry.repository}"
    return Plan(entry.name, entry.name, file, page, entry.licence, "catalogue")


async def make_plan(spec: str, catalogue: Catalogue, network: Network) -> Plan:
    """Plan the download of a name or address, asking the hub for an address.

    Raises UsageError, FetchError.
    """
    if (entry := catalogue.find(spec)) is not None:
        return plan_entry(entry, network)
    if not is_on_the_hub(spec) and "://" not in spec:
        if Path(spec).is_file():
            raise UsageError(
                f"{spec} is a local file.",
                f"`gistread models use {shlex.quote(spec)}` uses it.",
            )
        near = " or ".join(catalogue.similar(spec))
        if near:
            hint = f"Did you mean {near}?"
        else:
            hint = "`gistread models catalogue` lists all names."
        raise UsageError(
            f"The catalogue has no {spec!r}.", f"{hint} Or use hf:owner/repository."
        )
    address = read_address(spec, network.endpoint)
    import httpx2

    try:
        async with new_client(network) as client:
            models, licence = await read_repository(client, network, address)
    except httpx2.TransportError as error:
        hint = "Check the network, HTTPS_PROXY and HF_ENDPOINT."
        raise FetchError(f"No response: {describe(error, network)}.", hint) from None
    file = select_model(models, address)
    return Plan(
        spec,
        plain_name(file.name),
        file,
        f"{network.endpoint}/{file.repository}",
        licence,
        "hub",
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
    for path in (
        folder / plan.file.name,
        partial_path(folder, plan.file.name, plan.file.sha256),
    ):
        with contextlib.suppress(OSError):
            return path.stat().st_size
    return 0


def check_disk(plan: Plan, folder: Path) -> None:
    """Raises StorageError if there is no disk space for the rest of the file."""
    check_room(folder, plan.file.size_bytes - present_bytes(plan, folder), plan.name)


async def _verify_existing(path: Path, file: RemoteFile, report: Report) -> None:
    report(Progress(DownloadStep.CHECKING, 0, file.size_bytes))
    try:
        sha256 = await sha256_of(path)
    except OSError as error:
        raise StorageError(
            f"{path}: {error.strerror or error}.", "Move it away and try again."
        ) from error
    if sha256 != file.sha256:
        raise StorageError(
            f"{path} exists already and is another file.", "Move it away and try again."
        )
