"""Queries the hub (`GET /api/models/…?blobs=true`) for a repository's model files, their sizes and checksums, and
licence.

The response is validated.
"""

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from gistread.engine.fetching.addresses import HubAddress, file_url, local_name
from gistread.engine.fetching.download import RemoteFile
from gistread.engine.fetching.http_errors import refused
from gistread.engine.fetching.network import Network, ask
from gistread.errors import FetchError, UsageError
from gistread.units import format_list

if TYPE_CHECKING:
    import httpx2

_SUFFIX = ".gguf"
_PART = re.compile(r"-(\d{5})-of-(\d{5})(?=\.gguf$)", re.IGNORECASE)
_SHA256 = re.compile(r"[0-9a-f]{64}")
_COMMIT = re.compile(r"[0-9a-f]{40}")
_MOST_BYTES = 20_000_000
"""Largest response: a repository with thousands of files takes 2 MB."""
_NAMED = 12


@dataclass(frozen=True, slots=True)
class Repository:
    """A repository at one commit."""

    name: str
    commit: str
    """Empty if not reported."""
    licence: str
    files: tuple[RemoteFile, ...]
    """Every GGUF file, sorted by path."""
    paths: tuple[str, ...]
    """Paths of `files` in the repository."""


async def read_repository(client: "httpx2.AsyncClient", network: Network, address: HubAddress) -> Repository:
    """Ask the hub for a repository. Raises FetchError, httpx2.TransportError."""
    revision = quote(address.revision, safe="")
    url = f"{network.endpoint}/api/models/{address.repository}/revision/{revision}?blobs=true"
    async with ask(client, network, url, {"Accept": "application/json"}) as answer:
        response = answer.response
        if response.status_code != 200:
            raise refused(
                response.status_code, response.headers, network, address.repository, address.repository, answer.host
            )
        body = b""
        async for data in response.aiter_bytes():
            body += data
            if len(body) > _MOST_BYTES:
                raise FetchError(f"{address.repository} is too large a repository.", "Use the file's address.")
    return _repository(body, network, address, answer.host)


def select_model(repository: Repository, wanted: str) -> tuple[RemoteFile, ...]:
    """The files of the model named by path, name or quantization; by default the only one.

    Raises FetchError, which lists the models, if there is none or several.
    """
    models = _models(repository)
    exact = [model for model in models if wanted and wanted.casefold() in _names(model, repository)]
    named = [model for model in models if wanted and _has_quantization(model, wanted)]
    found = exact or named or ([] if wanted else models)
    if len(found) == 1:
        return found[0]
    there = [model[0].name for model in found or models]
    shown = format_list(there, _NAMED)
    if not models:
        raise FetchError(f"{repository.name} has no GGUF file.", "Look for a repository whose name ends in -GGUF.")
    if not found:
        raise FetchError(f"{repository.name} has no {wanted}.", f"It has: {shown}.")
    raise FetchError(f"{repository.name} has several models.", f"Name one: hf:{repository.name}:FILE, of {shown}.")


def _models(repository: Repository) -> list[tuple[RemoteFile, ...]]:
    """Group files into models, without incomplete ones and image projectors."""
    models: dict[str, list[RemoteFile]] = {}
    for path, file in zip(repository.paths, repository.files, strict=True):
        if not file.name.casefold().startswith("mmproj"):
            models.setdefault(_PART.sub("", path), []).append(file)
    complete = []
    for files in models.values():
        files.sort(key=lambda file: file.name)
        split = _PART.search(files[0].name)
        if split is None or len(files) == int(split[2]):
            complete.append(tuple(files))
    return complete


def _names(model: tuple[RemoteFile, ...], repository: Repository) -> set[str]:
    """Case-folded names of a model: path and file name, with and without part number and suffix."""
    path = repository.paths[repository.files.index(model[0])].casefold()
    bare = _PART.sub("", path)
    every = {path, bare, path.rpartition("/")[2], bare.rpartition("/")[2]}
    return every | {name.removesuffix(_SUFFIX) for name in every}


def _has_quantization(model: tuple[RemoteFile, ...], wanted: str) -> bool:
    """Whether the name contains this as a whole word: `Q4_K` is not `Q4_K_M`."""
    stem = _PART.sub("", model[0].name)[: -len(_SUFFIX)]
    return bool(re.search(rf"(?<![A-Za-z0-9_]){re.escape(wanted)}(?![A-Za-z0-9_])", stem, re.IGNORECASE))


def _repository(body: bytes, network: Network, address: HubAddress, host: str) -> Repository:
    import orjson

    try:
        document = orjson.loads(body)
        siblings = document["siblings"]
        commit = str(document.get("sha") or "")
        revision = commit if _COMMIT.fullmatch(commit) else address.revision
        found = [(one["rfilename"], one) for one in siblings if one["rfilename"].lower().endswith(_SUFFIX)]
    except (ValueError, LookupError, TypeError, AttributeError):
        raise FetchError(f"{host} does not respond like the hub.", "See HF_ENDPOINT.") from None
    files, paths = [], []
    for path, one in sorted(found):
        try:
            name = local_name(path)
        except UsageError:
            continue
        url = file_url(network.endpoint, address.repository, revision, path)
        size, sha256 = _size_and_sum(one)
        files.append(RemoteFile(url, name, size, sha256, "hub" if sha256 else "", address.repository))
        paths.append(path)
    return Repository(address.repository, commit, _licence(document), tuple(files), tuple(paths))


def _size_and_sum(one: dict[str, Any]) -> tuple[int | None, str]:
    pointer = one.get("lfs")
    lfs = pointer if isinstance(pointer, dict) else {}
    size, sha256 = lfs.get("size", one.get("size")), lfs.get("sha256")
    fits = isinstance(sha256, str) and _SHA256.fullmatch(sha256)
    return (size if type(size) is int and size > 0 else None), (sha256 if fits and isinstance(sha256, str) else "")


def _licence(document: Any) -> str:
    card = document.get("cardData")
    if not isinstance(card, dict):
        return ""
    names = [card.get("license"), card.get("license_name") if card.get("license") == "other" else None]
    return " ".join(name for name in names if isinstance(name, str))[:80]
