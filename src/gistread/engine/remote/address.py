"""What a person writes to name a server and a model on it: `http://host:port/v1#model`.

Only the words are looked at; nothing is asked of anybody. An address may be shown and kept, so it must hold no
secret: one with a password or a query in it is refused, without repeating it.
"""

import hashlib
import ipaddress
from dataclasses import dataclass
from urllib.parse import SplitResult, unquote, urlsplit

from gistread.errors import EngineError

_SCHEMES = ("http", "https")
_ENDPOINTS = ("/chat/completions", "/completions", "/models")
"""Ends of addresses that people copy from examples; what stands before them is meant."""
_FORM = "A server's model is named like this: http://localhost:8080/v1#name."


@dataclass(frozen=True, slots=True)
class ServerAddress:
    """A server, and perhaps one of its models."""

    origin: str
    """`https://host:port`, as short as it can be written."""
    path: str
    """`/v1`, or what else the person wrote; empty: not known yet."""
    model: str
    """Empty: the only one that the server has."""

    @property
    def host(self) -> str:
        return urlsplit(self.origin).hostname or ""

    @property
    def is_loopback(self) -> bool:
        """Whether it is this machine: what is sent there does not leave it."""
        if self.host == "localhost" or self.host.endswith(".localhost"):
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    @property
    def is_encrypted(self) -> bool:
        return self.origin.startswith("https:")

    def __str__(self) -> str:
        return f"{self.origin}{self.path}" + (f"#{self.model}" if self.model else "")


def short_name(model: str) -> str:
    """`Qwen2.5-7B-Instruct-Q4_K_M` of `/models/Qwen2.5-7B-Instruct-Q4_K_M.gguf`: no folder, no owner, no suffix."""
    last = model.replace("\\", "/").rstrip("/").rpartition("/")[2] or model
    return last[: -len(".gguf")] if last.casefold().endswith(".gguf") else last


def named_fingerprint(model: str) -> str:
    """Of a model on a server: of its short name, since no server says which weights it has.

    So the same name on another server is the same model, and what was read with the one goes on with the other.
    """
    return hashlib.sha256(f"server\0{short_name(model).casefold()}".encode()).hexdigest()[:32]


def is_address(spec: str) -> bool:
    """Whether these words name a server and not a file."""
    return spec.strip().casefold().startswith(tuple(f"{scheme}://" for scheme in _SCHEMES))


def parse_address(spec: str) -> ServerAddress:
    """The server that is meant. Raises EngineError for what is no address, or holds what it should not."""
    try:
        parts = urlsplit(spec.strip())
        port = parts.port
    except ValueError:
        raise EngineError("The address of the server is not a valid one.", _FORM) from None
    if parts.username is not None or parts.password is not None or parts.query:
        raise EngineError(
            "The address of the server holds a password or a query, and addresses are shown and kept.",
            "Leave it out; docs/servers.md says where a key belongs.",
        )
    if parts.scheme not in _SCHEMES or not parts.hostname or any(character.isspace() for character in spec.strip()):
        raise EngineError("The address of the server is not a valid one.", _FORM)
    path = parts.path.rstrip("/")
    for endpoint in _ENDPOINTS:
        path = path.removesuffix(endpoint)
    return ServerAddress(_origin(parts, port), path, unquote(parts.fragment))


def _origin(parts: SplitResult, port: int | None) -> str:
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    usual = port is None or port == {"http": 80, "https": 443}[parts.scheme]
    return f"{parts.scheme}://{host}" + ("" if usual else f":{port}")
