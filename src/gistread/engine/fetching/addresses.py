"""Parses addresses of models to fetch: `hf:owner/repository:file` and other programs' forms of it, or https."""

import re
from dataclasses import dataclass
from urllib.parse import quote, unquote, urlsplit

from gistread.errors import UsageError

_ON_THE_HUB = re.compile(r"hf:(//)?|(https?://)?(www\.)?(hf\.co|huggingface\.co)/", re.IGNORECASE)
_NAME = r"[A-Za-z0-9][\w.-]*"
# A repository without `hf:`. A name that ends in .gguf is taken for a local file.
_BARE = re.compile(rf"{_NAME}/{_NAME}(?<!\.gguf)(@[^:]*)?(:.*)?", re.IGNORECASE)
_PAGES = ("resolve", "blob", "raw", "tree")
_REPOSITORY = re.compile(f"{_NAME}/{_NAME}")
_REVISION = re.compile(r"\w[\w.-]*(/\w[\w.-]*)*")
_LOOPBACK = {"localhost", "127.0.0.1", "::1"}
_SUFFIX = ".gguf"
_FORMS = "Use a catalogue name, hf:owner/repository:file.gguf, hf:owner/repository:Q4_K_M, or an https address."


@dataclass(frozen=True, slots=True)
class HubAddress:
    repository: str
    file: str = ""  # Path of the file, or a quantization such as `Q4_K_M`; empty: the only model
    revision: str = "main"


@dataclass(frozen=True, slots=True)
class LinkAddress:
    url: str
    file: str  # Local file name


def is_address(spec: str) -> bool:
    return is_on_the_hub(spec) or "://" in spec


def is_on_the_hub(spec: str) -> bool:
    """Whether this names a repository on the hub, or a file in one."""
    spec = spec.strip()
    return bool(_ON_THE_HUB.match(spec) or _BARE.fullmatch(spec))


def read_address(spec: str, endpoint: str) -> HubAddress | LinkAddress:
    """Parse an address; a page of the hub (`endpoint`) means its repository or file. Raises UsageError."""
    spec = spec.strip()
    named = _ON_THE_HUB.match(spec)
    words = spec[named.end() :] if named else spec.removeprefix(f"{endpoint}/")
    if named or "://" not in spec or (words != spec and _REPOSITORY.match(words)):
        return _hub_address(unquote(words) if "://" in spec else words)
    try:
        parts = urlsplit(spec)
        host, _port = parts.hostname, parts.port
    except ValueError:
        host = None
    if not host:
        raise UsageError("Not a valid address.", _FORMS)
    if parts.scheme != "https" and not (parts.scheme == "http" and host in _LOOPBACK):
        hint = f"Try {spec.replace('http', 'https', 1)}" if parts.scheme == "http" else _FORMS
        raise UsageError(f"Models are fetched over https only, not {parts.scheme}.", hint)
    return LinkAddress(spec, local_name(unquote(parts.path)))


def local_name(path: str) -> str:
    """The local name for a file. Raises UsageError unless it is a valid .gguf name."""
    name = path.rpartition("/")[2]
    if not name.lower().endswith(_SUFFIX) or name.startswith(".") or re.search(r'[\x00-\x1f\\:*?"<>|]', name):
        raise UsageError(f"{name or 'This'} is not the name of a .gguf file.", _FORMS)
    return name


def file_url(endpoint: str, repository: str, revision: str, file: str) -> str:
    return f"{endpoint}/{repository}/resolve/{quote(revision, safe='')}/{quote(file)}"


def _hub_address(words: str) -> HubAddress:
    """`words`: `owner/repository@revision:file`, or the path of a page."""
    where, _, file = words.partition("?")[0].partition(":")
    repository, at, revision = where.strip(" /").partition("@")
    match repository.split("/"):
        case [owner, name, page, shown, *path] if page in _PAGES:
            repository, at, revision = f"{owner}/{name}", "@", shown
            file = "/".join(path) or file
        case [owner, name, *path] if path and path[-1].casefold().endswith(_SUFFIX):
            repository, file = f"{owner}/{name}", "/".join(path)
    address = HubAddress(repository, file, revision if at else "main")
    if not _REPOSITORY.fullmatch(address.repository):
        raise UsageError(f"{address.repository!r} is not a repository name.", _FORMS)
    if not _REVISION.fullmatch(address.revision) or ".." in address.file.split("/"):
        raise UsageError(f"Invalid file or revision in {address.repository}.", _FORMS)
    if address.file.lower().endswith(_SUFFIX):
        local_name(address.file)
    return address
