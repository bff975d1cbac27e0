"""Finds the API key for a server, named after its host: in the environment or the system's keyring."""

import contextlib
import os
import re

from gistread.engine.remote.address import ServerAddress

VARIABLE = "GISTREAD_API_KEY"  # For servers on this machine; followed by a host's name, for that host
KEYRING = "gistread"  # Service name in the keyring; the user name is the server's origin
# Customary variables of well-known hosts.
_OWN_VARIABLES = {"api.openai.com": "OPENAI_API_KEY", "openrouter.ai": "OPENROUTER_API_KEY"}


def variable_of(address: ServerAddress) -> str:
    """The environment variable for this host: `GISTREAD_API_KEY_GPU_EXAMPLE_ORG`."""
    return f"{VARIABLE}_" + re.sub(r"[^A-Z0-9]+", "_", address.host.upper()).strip("_")


def find_key(address: ServerAddress) -> str:
    """The key for this server, or nothing. May ask the system's keyring, which takes its time: for a thread."""
    names = [variable_of(address), _OWN_VARIABLES.get(address.host, "")]
    if address.is_loopback:
        names.append(VARIABLE)
    for name in filter(None, names):
        if key := os.environ.get(name, "").strip():
            return key
    return _from_keyring(address.origin)


def how_to_give(address: ServerAddress) -> str:
    return (
        f"Put the key in the environment variable {variable_of(address)}, or in the system's keyring: "
        f"python3 -m keyring set {KEYRING} {address.origin}"
    )


def _from_keyring(origin: str) -> str:
    try:
        import keyring  # optional, and slow to import
    except ImportError:
        return ""
    # A keyring that is locked, missing or broken counts as empty.
    with contextlib.suppress(Exception):
        return (keyring.get_password(KEYRING, origin) or "").strip()
    return ""
