"""What a person names a model by that is to be fetched: `hf:owner/repository:file`, or an https address.

A place on the hub is known in every form that people copy: that of llama.cpp (`owner/repository:Q4_K_M`), that of
Ollama (`hf.co/owner/repository:Q4_K_M`), the address of a page of a repository or of a file.

Text in, data out; nothing is asked of the network. Names of the catalogue are the affair of who knows it.
"""

import re
from dataclasses import dataclass
from urllib.parse import parse_qsl, quote, unquote, urlsplit

from gistread.errors import UsageError

_ON_THE_HUB = re.compile(r"hf:(//)?|(https?://)?(www\.)?(hf\.co|huggingface\.co)/", re.IGNORECASE)
_NAME = r"[A-Za-z0-9][\w.-]*"
_BARE = re.compile(rf"{_NAME}/{_NAME}(?<!\.gguf)(@[^:]*)?(:.*)?", re.IGNORECASE)
"""A repository without `hf:`. What ends in .gguf is rather a file of this machine."""
_PAGES = ("resolve", "blob", "raw", "tree")
_SHOWN = "show_file_info"
"""What a page of a repository that shows a file says of it in its address."""
_REPOSITORY = re.compile(f"{_NAME}/{_NAME}")
_REVISION = re.compile(r"\w[\w.-]*(/\w[\w.-]*)*")
_LOOPBACK = {"localhost", "127.0.0.1", "::1"}
_SUFFIX = ".gguf"
_FORMS = "Give a name of the catalogue, hf:owner/repository:file.gguf, hf:owner/repository:Q4_K_M, or an https address."


@dataclass(frozen=True, slots=True)
class HubAddress:
    """A file of a repository on the hub, or what tells it from the others there."""

    repository: str
    file: str = ""
    """Path of the file, or a quantisation such as `Q4_K_M`; empty: the only model there."""
    revision: str = "main"


@dataclass(frozen=True, slots=True)
class LinkAddress:
    """A file anywhere."""

    url: str
    file: str
    """Its name here."""


def is_address(spec: str) -> bool:
    """Whether this is meant as an address and not as a name of the catalogue."""
    return is_on_the_hub(spec) or "://" in spec


def is_on_the_hub(spec: str) -> bool:
    """Whether this is meant as a repository of the hub, or a file there."""
    spec = spec.strip()
    return bool(_ON_THE_HUB.match(spec) or _BARE.fullmatch(spec))


def read_address(spec: str, endpoint: str) -> HubAddress | LinkAddress:
    """What is meant; a page of the hub (`endpoint`) means the repository, or the file. Raises UsageError."""
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
        raise UsageError("This is no address.", _FORMS)
    if parts.scheme != "https" and not (parts.scheme == "http" and host in _LOOPBACK):
        hint = f"Perhaps it is there: {spec.replace('http', 'https', 1)}" if parts.scheme == "http" else _FORMS
        raise UsageError(f"Models are fetched over https only, not {parts.scheme}.", hint)
    return LinkAddress(spec, local_name(unquote(parts.path)))


def local_name(path: str) -> str:
    """The name that a file gets here. Raises UsageError where it is no model's."""
    name = path.rpartition("/")[2]
    if not name.lower().endswith(_SUFFIX) or name.startswith(".") or re.search(r'[\x00-\x1f\\:*?"<>|]', name):
        raise UsageError(f"{name or 'This'} is not the name of a .gguf file.", _FORMS)
    return name


def file_url(endpoint: str, repository: str, revision: str, file: str) -> str:
    """Where the hub has a file."""
    return f"{endpoint}/{repository}/resolve/{quote(revision, safe='')}/{quote(file)}"


def _hub_address(words: str) -> HubAddress:
    """`words`: what stands behind the hub's name, `owner/repository@revision:file`, or the rest of a page's address."""
    words, _, query = words.partition("?")
    where, _, file = words.partition(":")
    repository, at, revision = where.strip(" /").partition("@")
    file = file or next((value for key, value in parse_qsl(query) if key == _SHOWN), "")
    match repository.split("/"):
        case [owner, name, page, shown, *path] if page in _PAGES:
            repository, at, revision = f"{owner}/{name}", "@", shown
            file = "/".join(path) or file
        case [owner, name, *path] if path and path[-1].casefold().endswith(_SUFFIX):
            repository, file = f"{owner}/{name}", "/".join(path)
    return _checked(HubAddress(repository, file, revision if at else "main"))


def _checked(address: HubAddress) -> HubAddress:
    if not _REPOSITORY.fullmatch(address.repository):
        raise UsageError(f"{address.repository!r} is not a repository of the hub.", _FORMS)
    if not _REVISION.fullmatch(address.revision) or ".." in address.file.split("/"):
        raise UsageError(f"{address.repository} has no such file or revision.", _FORMS)
    if address.file.lower().endswith(_SUFFIX):
        local_name(address.file)
    return address
