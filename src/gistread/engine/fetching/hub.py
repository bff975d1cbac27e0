"""Queries the hub (`GET /api/models/…?blobs=true`) for a repository's licence and files, with sizes and checksums."""

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from gistread.engine.fetching.addresses import HubAddress, file_url, local_name
from gistread.engine.fetching.download import RemoteFile
from gistread.engine.fetching.network import Network, open_response, refusal_error
from gistread.engine.model_search import whole_name
from gistread.errors import FetchError, UsageError
from gistread.units import format_list

if TYPE_CHECKING:
    import httpx2

_SUFFIX = ".gguf"
_COUNT = re.compile(r"-\d{5}-of-(\d{5})\.gguf$", re.IGNORECASE)
_SHA256 = re.compile(r"[0-9a-f]{64}")
_COMMIT = re.compile(r"[0-9a-f]{40}")
_MOST_BYTES = 20_000_000  # Largest response: a repository with thousands of files takes 2 MB
_NAMED = 12


@dataclass(frozen=True, slots=True)
class Repository:
    name: str
    licence: str
    files: dict[str, RemoteFile]  # Every GGUF file by its path in the repository, in order


async def read_repository(client: "httpx2.AsyncClient", network: Network, address: HubAddress) -> Repository:
    """Ask the hub for a repository. Raises FetchError, httpx2.TransportError."""
    revision = quote(address.revision, safe="")
    url = f"{network.endpoint}/api/models/{address.repository}/revision/{revision}?blobs=true"
    async with open_response(client, network, url, {"Accept": "application/json"}) as response:
        if response.status_code != 200:
            raise refusal_error(response, network, address.repository, address.repository)
        body = bytearray()
        async for data in response.aiter_bytes():
            body += data
            if len(body) > _MOST_BYTES:
                raise FetchError(f"{address.repository} is too large a repository.", "Use the file's address.")
    return _repository(body, network, address, response.url.host)


def select_model(repository: Repository, wanted: str) -> tuple[RemoteFile, ...]:
    """The files of the model with this path, name or quantization; by default the only one. Raises FetchError."""
    by_name: dict[str, list[str]] = {}
    for path, file in repository.files.items():
        if not file.name.casefold().startswith("mmproj"):
            by_name.setdefault(whole_name(path), []).append(path)
    models: dict[str, tuple[RemoteFile, ...]] = {}
    for paths in by_name.values():
        split = _COUNT.search(paths[0])
        if split is None or len(paths) == int(split[1]):
            models[paths[0]] = tuple(repository.files[path] for path in paths)
    name = whole_name(wanted).casefold()
    # With or without its folder; a quantization as a whole word: `Q4_K` is not `Q4_K_M`.
    exact = [files for path, files in models.items() if f"/{whole_name(path)}".casefold().endswith(f"/{name}")]
    word = re.compile(rf"(?<![A-Za-z0-9_]){re.escape(wanted)}(?![A-Za-z0-9_])", re.IGNORECASE)
    named = [files for files in models.values() if word.search(whole_name(files[0].name))]
    found = (exact or named) if wanted else list(models.values())
    if len(found) == 1:
        return found[0]
    shown = format_list([files[0].name for files in found or models.values()], _NAMED)
    if not models:
        raise FetchError(f"{repository.name} has no GGUF file.", "Look for a repository whose name ends in -GGUF.")
    if not found:
        raise FetchError(f"{repository.name} has no {wanted}.", f"It has: {shown}.")
    raise FetchError(f"{repository.name} has several models.", f"Name one: hf:{repository.name}:FILE, of {shown}.")


def _repository(body: bytearray, network: Network, address: HubAddress, host: str) -> Repository:
    import orjson

    try:
        document = orjson.loads(body)
        siblings = document["siblings"]
        commit = str(document.get("sha") or "")
        revision = commit if _COMMIT.fullmatch(commit) else address.revision
        found = [(one["rfilename"], one) for one in siblings if one["rfilename"].lower().endswith(_SUFFIX)]
    except (ValueError, LookupError, TypeError, AttributeError):
        raise FetchError(f"{host} does not respond like the hub.", "See HF_ENDPOINT.") from None
    files: dict[str, RemoteFile] = {}
    for path, one in sorted(found):
        try:
            name = local_name(path)
        except UsageError:
            continue
        url = file_url(network.endpoint, address.repository, revision, path)
        pointer = one.get("lfs")
        lfs = pointer if isinstance(pointer, dict) else {}
        size, sha256 = lfs.get("size", one.get("size")), str(lfs.get("sha256"))
        size = size if type(size) is int and size > 0 else None
        sha256 = sha256 if _SHA256.fullmatch(sha256) else ""
        files[path] = RemoteFile(url, name, size, sha256, "hub" if sha256 else "", address.repository)
    return Repository(address.repository, _licence(document), files)


def _licence(document: Any) -> str:
    card = document.get("cardData")
    if not isinstance(card, dict):
        return ""
    names = [card.get("license"), card.get("license_name") if card.get("license") == "other" else None]
    return " ".join(name for name in names if isinstance(name, str))[:80]
