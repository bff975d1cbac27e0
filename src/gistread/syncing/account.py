"""The user's account on a sync server: its address and name are settings, its key is a file."""

import contextlib
import hashlib
import platform
import secrets
from dataclasses import replace
from urllib.parse import urlsplit

import orjson

from gistread.config import Config, save_setting
from gistread.engine.fetching.network import split_address
from gistread.errors import StorageError, UsageError
from gistread.paths import Paths
from gistread.store.files import make_folder, replace_file
from gistread.store.rows import decoded, from_json
from gistread.syncing.client import Account

_EXAMPLE = "Example: gistread sync login https://sync.koreader.rocks NAME"
_SCHEMES = ("http", "https")
_LOCAL = ("localhost", "127.0.0.1", "::1")


def find_account(config: Config, paths: Paths) -> Account | None:
    """The account of the settings; None if nobody has logged in, or the login is damaged."""
    if not (config.sync_server and config.sync_user):
        return None
    with contextlib.suppress(OSError):
        saved = decoded(
            Account, from_json(paths.sync_account.read_text("utf-8", "replace"))
        )
        is_this = saved is not None and (saved.server, saved.user) == (
            server_address(config.sync_server),
            config.sync_user,
        )
        return saved if is_this and saved is not None and _can_be_sent(saved) else None
    return None


def _can_be_sent(account: Account) -> bool:
    """Whether the address and what goes into headers are whole, as in a file edited by hand."""
    try:
        scheme = split_address(account.server, _EXAMPLE).scheme
    except UsageError:
        return False
    headers = account.user + account.key
    return scheme in _SCHEMES and headers.isascii() and headers.isprintable()


def new_account(server: str, user: str, password: str, paths: Paths) -> Account:
    """An account that is not saved yet. Raises UsageError."""
    address = server_address(server)
    if split_address(address, _EXAMPLE).scheme not in _SCHEMES:
        raise UsageError(f"{server} is not the address of a server.", _EXAMPLE)
    if not user:
        raise UsageError("The user name is empty.")
    if ":" in user or not user.isprintable() or not user.isascii():
        raise UsageError("A user name has only ASCII characters, and no colon.")
    if not password:
        raise UsageError("The password is empty.")
    key = hashlib.md5(password.encode(), usedforsecurity=False).hexdigest()
    device = f"gistread on {platform.node() or 'a computer'}"
    return Account(address, user, key, device, _device_id(paths))


def save_account(account: Account, paths: Paths) -> None:
    """Raises StorageError, UsageError."""
    try:
        make_folder(paths.sync_account.parent)
        replace_file(paths.sync_account, orjson.dumps(account))
    except OSError as error:
        raise StorageError(
            f"{paths.sync_account}: {error.strerror or error}.",
            "The login was not saved.",
        ) from error
    save_setting(paths.config_file, "sync_server", account.server)
    save_setting(paths.config_file, "sync_user", account.user)


def forget_account(paths: Paths) -> None:
    """Forget the key but not the name of this device. Raises StorageError, UsageError."""
    save_setting(paths.config_file, "sync_server", "")
    try:
        saved = decoded(
            Account, from_json(paths.sync_account.read_text("utf-8", "replace"))
        )
        if saved is not None:
            replace_file(paths.sync_account, orjson.dumps(replace(saved, key="")))
    except FileNotFoundError:  # Nobody has logged in.
        return
    except OSError as error:
        raise StorageError(
            f"{paths.sync_account}: {error.strerror or error}.",
            "Places are not synced any more, but the key is still there: delete this file.",
        ) from error


def server_address(server: str) -> str:
    """The address without a trailing slash; `https://` if it names no scheme."""
    address = server.strip().rstrip("/")
    if "://" in address:
        return address
    return f"https://{address}"


def sends_in_clear(account: Account) -> bool:
    """Whether the key travels unencrypted over a network."""
    address = urlsplit(account.server)
    return address.scheme == "http" and address.hostname not in _LOCAL


def _device_id(paths: Paths) -> str:
    """Of an earlier login, else a new random one."""
    with contextlib.suppress(OSError):
        saved = from_json(paths.sync_account.read_text("utf-8", "replace"))
        if isinstance(known := saved.get("device_id"), str) and known:
            return known
    return secrets.token_hex(16).upper()
