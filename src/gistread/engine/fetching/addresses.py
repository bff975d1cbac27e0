"""What a person names a model by that is to be fetched: `hf:owner/repository:file`, or an https address.

Text in, data out; nothing is asked of the network. Names of the catalogue are the affair of who knows it.
"""

import re
from dataclasses import dataclass
from urllib.parse import quote, unquote, urlsplit

from gistread.errors import UsageError

_HUB = "hf:"
_REPOSITORY = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")
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
    return spec.startswith(_HUB) or "://" in spec


def read_address(spec: str, endpoint: str) -> HubAddress | LinkAddress:
    """What is meant. A page of a file on the hub (`endpoint`) means the file. Raises UsageError."""
    if spec.startswith(_HUB):
        return _hub_address(spec)
    try:
        parts = urlsplit(spec)
        host, _port = parts.hostname, parts.port
    except ValueError:
        host = None
    if not host:
        raise UsageError("This is no address.", _FORMS)
    if parts.scheme != "https" and not (parts.scheme == "http" and host in _LOOPBACK):
        raise UsageError(f"Models are fetched over https only, not {parts.scheme}.", _FORMS)
    if spec.startswith(endpoint + "/"):
        pieces = unquote(parts.path.removeprefix(urlsplit(endpoint).path)).strip("/").split("/")
        if len(pieces) == 2:
            return _hub_address(f"{_HUB}{'/'.join(pieces)}")
        if len(pieces) >= 5 and pieces[2] in ("resolve", "blob"):
            return _checked(HubAddress("/".join(pieces[:2]), "/".join(pieces[4:]), pieces[3]))
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


def _hub_address(spec: str) -> HubAddress:
    where, _, file = spec.removeprefix(_HUB).partition(":")
    repository, at, revision = where.partition("@")
    return _checked(HubAddress(repository, file, revision if at else "main"))


def _checked(address: HubAddress) -> HubAddress:
    if not _REPOSITORY.fullmatch(address.repository):
        raise UsageError(f"{address.repository!r} is not a repository of the hub.", _FORMS)
    if not _REVISION.fullmatch(address.revision) or ".." in address.file.split("/"):
        raise UsageError(f"{address.repository} has no such file or revision.", _FORMS)
    if address.file.lower().endswith(_SUFFIX):
        local_name(address.file)
    return address
