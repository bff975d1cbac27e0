"""Parses the address of a model on a server, and finds its API key.

An address is `http://host:port/v1#model`, without secrets.
"""

import contextlib
import hashlib
import ipaddress
import os
import re
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from gistread.errors import EngineError

_USUAL_PORTS = {"http": 80, "https": 443}  # By scheme
# Endpoint paths that people copy from examples; they are removed.
_ENDPOINTS = ("/chat/completions", "/completions", "/models")
_FINGERPRINT_CHARACTERS = 32  # As those of local models have
# "localhost:8092", "[::1]:8092/v1"; the port tells it from most names of models
_WITHOUT_SCHEME = re.compile(
    r"(?:localhost|(?:[\w.-]+|\[[0-9a-f:]+\]):\d{2,5})(?:[/#]\S*)?", re.IGNORECASE
)
_FORM = "Write http://localhost:8080/v1#model."


@dataclass(frozen=True, slots=True)
class ServerAddress:
    origin: str  # `https://host:port`, normalized
    path: str  # `/v1` or another base path; empty if not given
    model: str  # Empty: the only model of the server

    @property
    def host(self) -> str:
        return urlsplit(self.origin).hostname or ""

    @property
    def is_loopback(self) -> bool:
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
        address = f"{self.origin}{self.path}"
        if not self.model:
            return address
        return f"{address}#{self.model}"


def short_name(model: str) -> str:
    """Strip folder, owner and suffix.

    `/models/Qwen2.5-7B-Q4_K_M.gguf` becomes `Qwen2.5-7B-Q4_K_M`.
    """
    path = model.replace("\\", "/").rstrip("/")
    name = path.rpartition("/")[2] or model
    if name.casefold().endswith(".gguf"):
        return name[: -len(".gguf")]
    return name


def named_fingerprint(model: str) -> str:
    """Fingerprint of a model on any server, from its short name.

    Servers do not identify weights.
    """
    name = short_name(model).casefold()
    digest = hashlib.sha256(f"server\0{name}".encode()).hexdigest()
    return digest[:_FINGERPRINT_CHARACTERS]


def is_address(spec: str) -> bool:
    """Whether this is the address of a server, valid or not."""
    scheme, separator, _ = spec.strip().partition("://")
    return bool(separator) and scheme.casefold() in _USUAL_PORTS


def meant_address(spec: str) -> str:
    """The address that a specification without `http://` means; empty if it names no server.

    >>> meant_address("localhost:8092"), meant_address("qwen2.5:7b")
    ('http://localhost:8092', '')
    """
    typed = spec.strip()
    if not _WITHOUT_SCHEME.fullmatch(typed):
        return ""
    return f"http://{typed}"


def parse_address(spec: str) -> ServerAddress:
    """Parse an address. Raises EngineError if it is invalid or contains a secret.

    >>> str(parse_address("https://example.org:443/v1/chat/completions#qwen"))
    'https://example.org/v1#qwen'
    """
    typed = spec.strip()
    try:
        parts = urlsplit(typed)
        port = parts.port
    except ValueError:
        raise EngineError("This is not a valid server address.", _FORM) from None
    has_login = parts.username is not None or parts.password is not None
    if has_login or parts.query:
        raise EngineError(
            "The server address contains a password or a query, but addresses are displayed and "
            "stored.",
            "Remove it; `gistread docs models` explains where to put a key.",
        )
    has_space = any(map(str.isspace, typed))
    if parts.scheme not in _USUAL_PORTS or not parts.hostname or has_space:
        raise EngineError("This is not a valid server address.", _FORM)
    path = parts.path.rstrip("/")
    for endpoint in _ENDPOINTS:
        path = path.removesuffix(endpoint)
    origin = _origin(parts.scheme, parts.hostname, port)
    return ServerAddress(origin, path, unquote(parts.fragment))


def _origin(scheme: str, host: str, port: int | None) -> str:
    """`https://host:port`, without the usual port."""
    if ":" in host:  # An IPv6 address
        host = f"[{host}]"
    if port is None or port == _USUAL_PORTS[scheme]:
        return f"{scheme}://{host}"
    return f"{scheme}://{host}:{port}"


# For servers on this machine; followed by a host's name, for that host
VARIABLE = "GISTREAD_API_KEY"
# Service name in the keyring; the user name is the server's origin
KEYRING = "gistread"
# Customary variables of well-known hosts.
_OWN_VARIABLES = {
    "api.openai.com": "OPENAI_API_KEY",
    "openrouter.ai": "OPENROUTER_API_KEY",
}


def variable_of(address: ServerAddress) -> str:
    """The environment variable for this host: `GISTREAD_API_KEY_GPU_EXAMPLE_ORG`."""
    host = re.sub(r"[^A-Z0-9]+", "_", address.host.upper()).strip("_")
    return f"{VARIABLE}_{host}"


def find_key(address: ServerAddress) -> str:
    """The API key for this server; empty if there is none.

    May ask the system's keyring, which is slow: call it in a thread.
    """
    names = [variable_of(address)]
    if address.host in _OWN_VARIABLES:
        names.append(_OWN_VARIABLES[address.host])
    if address.is_loopback:
        names.append(VARIABLE)
    for name in names:
        if key := os.environ.get(name, "").strip():
            return key
    try:
        import keyring  # optional, and slow to import
    except ImportError:
        return ""
    # A keyring that is locked, missing or broken counts as empty.
    with contextlib.suppress(Exception):
        return (keyring.get_password(KEYRING, address.origin) or "").strip()
    return ""


def key_hint(address: ServerAddress) -> str:
    """Where to put the key for this server."""
    variable = variable_of(address)
    command = f"python3 -m keyring set {KEYRING} {address.origin}"
    return (
        f"Put the key in the environment variable {variable}, or, with the extra `keyring`, in the "
        f"system's keyring: {command}"
    )
