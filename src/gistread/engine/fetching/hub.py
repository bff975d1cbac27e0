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

# `hf:`, `https://huggingface.co/`
_ON_THE_HUB = re.compile(
    r"hf:(//)?|(https?://)?(www\.)?(hf\.co|huggingface\.co)/", re.IGNORECASE
)
_NAME = r"[A-Za-z0-9][\w.-]*"
# A repository without `hf:`, such as `owner/name@main:Q4_K_M`. A name that ends in .gguf is taken
# for a local file.
_BARE = re.compile(rf"{_NAME}/{_NAME}(?<!\.gguf)(@[^:]*)?(:.*)?", re.IGNORECASE)
_PAGES = ("resolve", "blob", "raw", "tree")
_REPOSITORY = re.compile(f"{_NAME}/{_NAME}")
_REVISION = re.compile(r"\w[\w.-]*(/\w[\w.-]*)*")
# Characters that file names on some systems may not have
_NOT_IN_NAMES = re.compile(r'[\x00-\x1f\\:*?"<>|]')
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
    prefix = _ON_THE_HUB.match(spec)
    path = spec[prefix.end() :] if prefix else spec.removeprefix(f"{endpoint}/")
    if "://" in path:
        hint = "Download it with a browser, then: gistread models use FILE"
        raise UsageError("Models are fetched from Hugging Face only.", hint)
    if "://" in spec:
        path = unquote(path)  # The address of a page is percent-encoded.
    address = _split(path)
    if not _REPOSITORY.fullmatch(address.repository):
        raise UsageError(f"{address.repository!r} is not a repository name.", _FORMS)
    if not _REVISION.fullmatch(address.revision) or ".." in address.file.split("/"):
        raise UsageError(f"Invalid file or revision in {address.repository}.", _FORMS)
    if address.file.lower().endswith(SUFFIX):
        local_name(address.file)  # Checked now: the file is saved under it.
    return address


def _split(path: str) -> HubAddress:
    """The parts of `owner/name@revision:file`, or of a page: `owner/name/blob/main/model.gguf`."""
    before_query = path.partition("?")[0]
    where, _, file = before_query.partition(":")
    repository, at, revision = where.strip(" /").partition("@")
    match repository.split("/"):
        case [owner, name, page, page_revision, *file_parts] if page in _PAGES:
            # Of `owner/name/tree/main:Q4_K_M`, the page has no file.
            page_file = "/".join(file_parts)
            return HubAddress(f"{owner}/{name}", page_file or file, page_revision)
    # An empty revision after "@" is for the caller to refuse.
    return HubAddress(repository, file, revision if at else "main")


def local_name(path: str) -> str:
    """The local name for a file. Raises UsageError unless it is a valid .gguf name."""
    name = path.rpartition("/")[2]
    is_model = name.lower().endswith(SUFFIX) and not name.startswith(".")
    if not is_model or _NOT_IN_NAMES.search(name):
        raise UsageError(f"{name or 'This'} is not the name of a .gguf file.", _FORMS)
    return name


def file_url(endpoint: str, repository: str, revision: str, file: str) -> str:
    return f"{endpoint}/{repository}/resolve/{quote(revision, safe='')}/{quote(file)}"


# Of a model in several files: `-00001-of-00003.gguf`
_PART = re.compile(r"-\d{5}-of-\d{5}\.gguf$", re.IGNORECASE)
_SHA256 = re.compile(r"[0-9a-f]{64}")
# Of an answer; a repository with thousands of files takes 2 MB
_MOST_BYTES = 20_000_000
_MOST_LICENCE_CHARACTERS = 80
_MOST_LISTED = 12  # Models in a hint
_COMMIT = re.compile(r"[0-9a-f]{40}")


async def read_repository(
    client: "httpx2.AsyncClient", network: Network, address: HubAddress
) -> tuple[dict[str, RemoteFile], str]:
    """The models of a repository by path, in order, and its licence.

    Raises FetchError, httpx2.TransportError.
    """
    repository = address.repository
    api = f"{network.endpoint}/api/models/{repository}"
    quoted_revision = quote(address.revision, safe="")
    url = f"{api}/revision/{quoted_revision}?blobs=true"
    opened = open_response(client, network, url, {"Accept": "application/json"})
    async with opened as response:
        if response.status_code != HTTPStatus.OK:
            raise refusal_error(response, network, repository, name=repository)
        body = await _limited_body(response, address)
    listing = _parse_listing(body, response.url.host)
    # A branch may move while its files are fetched; its commit stays.
    revision = listing.commit or address.revision
    files: dict[str, RemoteFile] = {}
    for path, stored in sorted(listing.models.items()):
        url = file_url(network.endpoint, repository, revision, path)
        file = _model_file(path, stored, url, repository)
        if file is not None:
            files[path] = file
    return files, listing.licence


@dataclass(frozen=True, slots=True)
class _Listing:
    """What the hub says about a repository."""

    commit: str  # Of the revision asked for; empty if it names none
    models: dict[str, Any]  # Size and checksum of each model by path, unchecked
    licence: str


def _parse_listing(body: bytes, host: str) -> _Listing:
    """Read the answer of a host. Raises FetchError unless it is one of the hub."""
    try:
        document = orjson.loads(body)
        commit = str(document.get("sha") or "")
        models = {
            sibling["rfilename"]: sibling.get("lfs")
            for sibling in document["siblings"]
            if sibling["rfilename"].lower().endswith(SUFFIX)
        }
    except (ValueError, LookupError, TypeError, AttributeError):
        raise FetchError(
            f"{host} does not respond like the hub.", "See HF_ENDPOINT."
        ) from None
    if not _COMMIT.fullmatch(commit):
        commit = ""
    return _Listing(commit, models, _licence(document))


async def _limited_body(response: "httpx2.Response", address: HubAddress) -> bytes:
    """The body of a response. Raises FetchError if it is longer than any repository's."""
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
    """A complete model in one file; None for other files. `stored`: its size and checksum."""
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
    files = list(models.values())
    candidates = files
    if address.file:
        candidates = _with_path(models, address.file)
        if not candidates:
            candidates = _with_word(files, address.file)
    if len(candidates) == 1:
        return candidates[0]
    if not models:
        raise FetchError(
            f"{repository} has no GGUF model in one file.",
            "Look for a repository whose name ends in -GGUF.",
        )
    if not candidates:
        raise FetchError(
            f"{repository} has no {address.file} in one file.",
            f"It has: {_names(files)}.",
        )
    raise FetchError(
        f"{repository} has several models.",
        f"Name one: hf:{repository}:FILE, of {_names(candidates)}.",
    )


def _names(files: list[RemoteFile]) -> str:
    return format_list([file.name for file in files], _MOST_LISTED)


def _with_path(models: dict[str, RemoteFile], named: str) -> list[RemoteFile]:
    """The models with this path or file name, with or without the suffix."""
    end = f"/{plain_name(named).casefold()}"
    return [
        file
        for path, file in models.items()
        if f"/{plain_name(path)}".casefold().endswith(end)
    ]


def _with_word(files: list[RemoteFile], named: str) -> list[RemoteFile]:
    """The files whose name contains a quantization as a whole word: `Q4_K` is not `Q4_K_M`."""
    word = re.compile(
        rf"(?<![A-Za-z0-9_]){re.escape(named)}(?![A-Za-z0-9_])", re.IGNORECASE
    )
    return [file for file in files if word.search(plain_name(file.name))]


def _licence(document: Any) -> str:
    """The licence of the model card; empty if it states none."""
    card = document.get("cardData")
    if not isinstance(card, dict):
        return ""
    names = [card.get("license")]
    if names == ["other"]:
        names.append(card.get("license_name"))
    licence = " ".join(name for name in names if isinstance(name, str))
    return licence[:_MOST_LICENCE_CHARACTERS]
