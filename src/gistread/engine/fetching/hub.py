"""Addresses of models, and queries to the hub for a repository's licence and files.

The query is `GET /api/models/…?blobs=true`. An address is `hf:owner/repository:file`, another
program's form of it, or a page of the hub.
"""

import re
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

import orjson

from gistread.engine.fetching.download import RemoteFile
from gistread.engine.fetching.network import Network, open_response, refusal_error
from gistread.engine.model_search import SUFFIX, plain_name
from gistread.errors import FetchError, UsageError
from gistread.units import format_list

if TYPE_CHECKING:
    import httpx2

_ON_THE_HUB = re.compile(
    r"hf:(//)?|(https?://)?(www\.)?(hf\.co|huggingface\.co)/", re.IGNORECASE
)
_NAME = r"[A-Za-z0-9][\w.-]*"
# A repository without `hf:`. A name that ends in .gguf is taken for a local file.
_BARE = re.compile(rf"{_NAME}/{_NAME}(?<!\.gguf)(@[^:]*)?(:.*)?", re.IGNORECASE)
_PAGES = ("resolve", "blob", "raw", "tree")
_REPOSITORY = re.compile(f"{_NAME}/{_NAME}")
_REVISION = re.compile(r"\w[\w.-]*(/\w[\w.-]*)*")
_FORMS = (
    "Use a catalogue name, hf:owner/repository:file.gguf or hf:owner/repository:Q4_K_M."
)


@dataclass(frozen=True, slots=True)
class HubAddress:
    repository: str
    # Path of the file, or a quantization such as `Q4_K_M`; empty: the only model
    file: str = ""
    revision: str = "main"


def is_on_the_hub(spec: str) -> bool:
    """Whether this names a repository on the hub, or a file in one."""
    spec = spec.strip()
    return bool(_ON_THE_HUB.match(spec) or _BARE.fullmatch(spec))


def read_address(spec: str, endpoint: str) -> HubAddress:
    """Parse an address, also a page of the hub (`endpoint`). Raises UsageError."""
    spec = spec.strip()
    named = _ON_THE_HUB.match(spec)
    words = spec[named.end() :] if named else spec.removeprefix(f"{endpoint}/")
    if "://" in words:
        hint = "Download it with a browser, then: gistread models use FILE"
        raise UsageError("Models are fetched from Hugging Face only.", hint)
    words = unquote(words) if "://" in spec else words
    where, _, file = words.partition("?")[0].partition(":")
    repository, at, revision = where.strip(" /").partition("@")
    match repository.split("/"):
        case [owner, name, page, shown, *path] if page in _PAGES:
            repository = f"{owner}/{name}"
            revision = shown
            file = "/".join(path) or file
            at = "@"
    address = HubAddress(repository, file, revision if at else "main")
    if not _REPOSITORY.fullmatch(address.repository):
        raise UsageError(f"{address.repository!r} is not a repository name.", _FORMS)
    if not _REVISION.fullmatch(address.revision) or ".." in address.file.split("/"):
        raise UsageError(f"Invalid file or revision in {address.repository}.", _FORMS)
    if address.file.lower().endswith(SUFFIX):
        local_name(address.file)
    return address


def local_name(path: str) -> str:
    """The local name for a file. Raises UsageError unless it is a valid .gguf name."""
    name = path.rpartition("/")[2]
    if (
        not name.lower().endswith(SUFFIX)
        or name.startswith(".")
        or re.search(r'[\x00-\x1f\\:*?"<>|]', name)
    ):
        raise UsageError(f"{name or 'This'} is not the name of a .gguf file.", _FORMS)
    return name


def file_url(endpoint: str, repository: str, revision: str, file: str) -> str:
    return f"{endpoint}/{repository}/resolve/{quote(revision, safe='')}/{quote(file)}"


# Of a model in several files
_PART = re.compile(r"-\d{5}-of-\d{5}\.gguf$", re.IGNORECASE)
_SHA256 = re.compile(r"[0-9a-f]{64}")
# Of an answer; a repository with thousands of files takes 2 MB
_MOST_BYTES = 20_000_000
_MOST_LISTED = 12  # Models in a hint
_COMMIT = re.compile(r"[0-9a-f]{40}")


async def read_repository(
    client: "httpx2.AsyncClient", network: Network, address: HubAddress
) -> tuple[dict[str, RemoteFile], str]:
    """The models of a repository by path, in order, and its licence.

    Raises FetchError, httpx2.TransportError.
    """
    revision = quote(address.revision, safe="")
    url = f"{network.endpoint}/api/models/{address.repository}/revision/{revision}?blobs=true"
    async with open_response(
        client, network, url, {"Accept": "application/json"}
    ) as response:
        if response.status_code != HTTPStatus.OK:
            raise refusal_error(
                response, network, address.repository, address.repository
            )
        body = await _limited_body(response, address)
    try:
        document = orjson.loads(body)
        commit = str(document.get("sha") or "")
        revision = commit if _COMMIT.fullmatch(commit) else address.revision
        listed = {
            sibling["rfilename"]: sibling
            for sibling in document["siblings"]
            if sibling["rfilename"].lower().endswith(SUFFIX)
        }
    except (ValueError, LookupError, TypeError, AttributeError):
        raise FetchError(
            f"{response.url.host} does not respond like the hub.", "See HF_ENDPOINT."
        ) from None
    files: dict[str, RemoteFile] = {}
    for path, sibling in sorted(listed.items()):
        url = file_url(network.endpoint, address.repository, revision, path)
        file = _model_file(path, sibling.get("lfs"), url, address.repository)
        if file is not None:
            files[path] = file
    return files, _licence(document)


async def _limited_body(response: "httpx2.Response", address: HubAddress) -> bytes:
    body = bytearray()
    async for data in response.aiter_bytes():
        body += data
        if len(body) > _MOST_BYTES:
            raise FetchError(
                f"{address.repository} is too large a repository.",
                "Use the file's address.",
            )
    return bytes(body)


def _model_file(path: str, stored: Any, url: str, repository: str) -> RemoteFile | None:
    """A model in one file of a repository; None for others. `stored`: what the hub says of it."""
    try:
        name = local_name(path)
    except UsageError:
        return None
    if _PART.search(name) or name.casefold().startswith("mmproj"):
        return None
    match stored:
        case {"size": int(size), "sha256": str(sha256)}:
            is_whole = size > 0 and _SHA256.fullmatch(sha256)
            if not is_whole:
                return None
            return RemoteFile(url, name, size, sha256, repository)
    return None


def select_model(models: dict[str, RemoteFile], address: HubAddress) -> RemoteFile:
    """The model with the path, name or quantization of the address; by default the only one.

    Raises FetchError.
    """
    repository = address.repository
    name = plain_name(address.file).casefold()
    # With or without its folder; a quantization as a whole word: `Q4_K` is not `Q4_K_M`.
    exact = [
        file
        for path, file in models.items()
        if f"/{plain_name(path)}".casefold().endswith(f"/{name}")
    ]
    word = re.compile(
        rf"(?<![A-Za-z0-9_]){re.escape(address.file)}(?![A-Za-z0-9_])", re.IGNORECASE
    )
    named = [file for file in models.values() if word.search(plain_name(file.name))]
    candidates = list(models.values())
    if address.file:
        candidates = exact or named
    if len(candidates) == 1:
        return candidates[0]
    names = [file.name for file in candidates or models.values()]
    listed = format_list(names, _MOST_LISTED)
    if not models:
        raise FetchError(
            f"{repository} has no GGUF model in one file.",
            "Look for a repository whose name ends in -GGUF.",
        )
    if not candidates:
        raise FetchError(
            f"{repository} has no {address.file} in one file.", f"It has: {listed}."
        )
    raise FetchError(
        f"{repository} has several models.",
        f"Name one: hf:{repository}:FILE, of {listed}.",
    )


def _licence(document: Any) -> str:
    card = document.get("cardData")
    if not isinstance(card, dict):
        return ""
    names = [
        card.get("license"),
        card.get("license_name") if card.get("license") == "other" else None,
    ]
    return " ".join(name for name in names if isinstance(name, str))[:80]
