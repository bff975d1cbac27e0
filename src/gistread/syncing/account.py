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
    if not config.sync_server or not config.sync_user:
        return None
    try:
        saved = _read_account(paths)
    except OSError:
        return None
    if saved is None:
        return None
    server = server_address(config.sync_server)
    is_of_settings = saved.server == server and saved.user == config.sync_user
    if not is_of_settings or not _can_be_sent(saved):
        return None
    return saved


def _read_account(paths: Paths) -> Account | None:
    """The account in the file; None if that is damaged. Raises OSError."""
    text = paths.sync_account.read_text("utf-8", "replace")
    return decoded(Account, from_json(text))


def _can_be_sent(account: Account) -> bool:
    """Whether a request can have this address and these headers; the file may be edited by hand."""
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
    # As the protocol has it
    key = hashlib.md5(password.encode(), usedforsecurity=False).hexdigest()
    device = f"gistread on {platform.node() or 'a computer'}"
    return Account(
        server=address,
        user=user,
        key=key,
        device=device,
        device_id=_device_id(paths),
    )


def save_account(account: Account, paths: Paths) -> None:
    """Save the key in a file, and the rest in the settings. Raises StorageError, UsageError."""
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
        saved = _read_account(paths)
        # A damaged file has no key that could be used.
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
    """The id of an earlier login, or else a new random one."""
    with contextlib.suppress(OSError):
        saved = from_json(paths.sync_account.read_text("utf-8", "replace"))
        earlier_id = saved.get("device_id")
        if isinstance(earlier_id, str) and earlier_id:
            return earlier_id
    return secrets.token_hex(16).upper()
