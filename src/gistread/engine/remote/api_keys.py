"""The key that a server wants, from where the person keeps it, and for the one server that it was given for.

A key is named after its host, so that none is ever sent to another: in the environment by a variable, in the
system's keyring by the server's address. It is read when a connection is made and kept nowhere else.
"""

import contextlib
import os
import re

from gistread.engine.remote.address import ServerAddress

VARIABLE = "GISTREAD_API_KEY"
"""Of servers on this machine; with a host's name behind it, of that host."""
KEYRING = "gistread"
"""The keyring's name for the program that a key is for; the user's name is the server's origin."""
_OWN_VARIABLES = {"api.openai.com": "OPENAI_API_KEY", "openrouter.ai": "OPENROUTER_API_KEY"}
"""Hosts for which people have a variable already."""


def variable_of(address: ServerAddress) -> str:
    """The environment variable that holds the key of this host: `GISTREAD_API_KEY_GPU_EXAMPLE_ORG`."""
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
    """What the person can do so that a key is found."""
    return (
        f"Put the key into the environment variable {variable_of(address)}, or into the system's keyring: "
        f"python3 -m keyring set {KEYRING} {address.origin}"
    )


def _from_keyring(origin: str) -> str:
    try:
        import keyring  # optional; slow, and not everybody keeps keys there
    except ImportError:
        return ""
    # A keyring that is locked, missing or broken holds no key; what is wrong with it, its own program tells.
    with contextlib.suppress(Exception):
        return (keyring.get_password(KEYRING, origin) or "").strip()
    return ""
