"""The protocol with a server, and every fault of one."""

import asyncio
import errno
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from gistread.config import load_config
from gistread.engine.fetching.network import Network
from gistread.errors import FetchError, StorageError, UsageError
from gistread.store.sync_queue import SyncQueue, WaitingPlace
from gistread.syncing.account import (
    find_account,
    forget_account,
    new_account,
    save_account,
)
from gistread.syncing.client import (
    Account,
    AuthorizationError,
    RemotePlace,
    open_server,
)
from gistread.syncing.sync import ProgressSync
from tests.folders import paths_in
from tests.syncing.server import Handler, SyncServer

pytestmark = pytest.mark.process

QUICK = Network(stall_s=0.3)
BOOK = "81cd82595f73eaf657cd0387e71415da"


@pytest.fixture
def account(sync_server: SyncServer, tmp_path: Path) -> Account:
    return new_account(f"{sync_server.url}/", "ada", "secret", paths_in(tmp_path))


def _sync(
    account: Account, tmp_path: Path, *, newest_wins: bool = False
) -> ProgressSync:
    queue = SyncQueue(paths_in(tmp_path))
    return ProgressSync(
        account, queue, newest_wins, lambda which: open_server(which, QUICK)
    )


async def test_an_account_is_made_and_a_place_comes_back(
    sync_server: SyncServer, account: Account
) -> None:
    place = RemotePlace(0.25, "/body/DocFragment[2]/body/p[3]/text().7", "A", "one")
    async with open_server(account) as client:
        with pytest.raises(
            AuthorizationError, match="does not accept the login of ada"
        ):
            await client.log_in()
        await client.register()
        await client.log_in()
        with pytest.raises(FetchError, match="has a user ada already"):
            await client.register()
        assert await client.pull(BOOK) is None
        timestamp = await client.push(BOOK, place)
        assert await client.pull(BOOK) == replace(place, timestamp=timestamp)
        sync_server.may_register = False
        with pytest.raises(FetchError, match="lets nobody register"):
            await client.register()
    assert sync_server.users == {"ada": "5ebe2294ecd0e0f08eab7690d2a6ee69"}


def _page(handler: Handler) -> None:
    handler.send("<html>Welcome</html>", 200, "text/html")


def _list(handler: Handler) -> None:
    handler.send("[1, 2]", 200, "application/json")


def _words(handler: Handler) -> None:
    handler.send('{"percentage": "far"}', 200, "application/json")


def _busy(handler: Handler) -> None:
    handler.send("Bad gateway", 502, "text/html")


def _limited(handler: Handler) -> None:
    handler.send("Too many requests", 429, "text/plain")


def _missing(handler: Handler) -> None:
    handler.send("Not found", 404, "text/plain")


def _elsewhere(handler: Handler) -> None:
    location = f"https://example.org/sync{handler.path}"
    handler.send("", 302, "text/html", Location=location)


def _to_itself(handler: Handler) -> None:
    handler.send("", 302, "text/html", Location="/kosync")


def _slow(handler: Handler) -> None:
    asyncio.run(asyncio.sleep(0.6))


def _cut(handler: Handler) -> None:
    handler.send_response(200)
    handler.send_header("Content-Length", "500")
    handler.end_headers()
    handler.wfile.write(b'{"percent')
    handler.close_connection = True


def _garbled(handler: Handler) -> None:
    handler.send_response(200)
    handler.send_header("Content-Encoding", "gzip")
    handler.send_header("Content-Length", "9")
    handler.end_headers()
    handler.wfile.write(b"not a zip")


def _endless(handler: Handler) -> None:
    handler.send(" " * 200_000, 200, "application/json")


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (_page, "does not answer like a KOReader sync server"),
        (_list, "does not answer like a KOReader sync server"),
        (_words, "does not answer like a KOReader sync server"),
        (_endless, "does not answer like a KOReader sync server"),
        (_garbled, "does not answer like a KOReader sync server"),
        (_busy, "returned 502"),
        (_limited, "returned 429"),
        (_missing, "does not answer like a KOReader sync server"),
        (_elsewhere, r"redirects to https://example\.org/sync\.\n"),
        (_to_itself, r"redirects to http://127\.0\.0\.1:\d+/kosync\.\n"),
        (_slow, "does not answer"),
        (_cut, "was lost"),
    ],
)
async def test_a_fault_is_told_in_two_lines_and_the_place_waits(
    sync_server: SyncServer,
    account: Account,
    tmp_path: Path,
    fault: Callable[[Handler], None],
    message: str,
) -> None:
    sync_server.users["ada"] = account.key
    sync, place = _sync(account, tmp_path), WaitingPlace(BOOK, 0.5, "x", at=1.0)
    sync_server.faults.append(fault)
    with pytest.raises(FetchError, match=message) as raised:
        await sync.push(place)
    assert len(str(raised.value).splitlines()) == 2
    assert account.key not in str(raised.value)
    assert sync.queue.waiting(account.name) == [place]
    assert await sync.send_waiting() == 1
    assert sync.queue.waiting(account.name) == []
    assert sync_server.places["ada", BOOK]["percentage"] == 0.5


async def test_a_server_that_is_away_is_told(account: Account, tmp_path: Path) -> None:
    away = replace(account, server="http://127.0.0.1:1")
    with pytest.raises(FetchError, match=r"127\.0\.0\.1:1 cannot be reached"):
        await _sync(away, tmp_path).pull(BOOK)


@pytest.mark.parametrize(
    ("newest_wins", "percentage", "read_at", "wins"),
    [
        (False, 0.6, 0.0, True),
        (False, 0.3, 0.0, False),
        (True, 0.3, 1_000.0, True),
        (True, 0.6, 2e9, False),
    ],
)
async def test_a_waiting_place_gives_way_to_one_that_wins(
    sync_server: SyncServer,
    account: Account,
    tmp_path: Path,
    newest_wins: bool,
    percentage: float,
    read_at: float,
    wins: bool,
) -> None:
    sync_server.users["ada"] = account.key
    other = {
        "percentage": percentage,
        "progress": "x",
        "device": "Kobo",
        "device_id": "K",
    }
    sync_server.places["ada", BOOK] = {**other, "timestamp": sync_server.now}
    sync = _sync(account, tmp_path, newest_wins=newest_wins)
    place = WaitingPlace(BOOK, 0.5, "y", at=read_at)
    winner = await sync.push(place)
    assert (winner is not None) is wins
    assert sync_server.places["ada", BOOK]["device"] == (
        "Kobo" if wins else account.device
    )
    assert sync.queue.waiting(account.name) == []
    if winner is not None:  # The user knows it, and reads on here.
        assert await sync.push(place, known=winner) is None
        assert sync_server.places["ada", BOOK]["percentage"] == 0.5


def test_a_later_place_is_not_removed_with_an_earlier_one(tmp_path: Path) -> None:
    queue = SyncQueue(paths_in(tmp_path))
    first, second = (WaitingPlace(BOOK, share, "", at=share) for share in (0.1, 0.2))
    queue.put("ada", first)
    queue.put("ada", second)
    queue.remove("ada", first)
    assert queue.waiting("ada") == [second]
    assert queue.waiting("bob") == []


def test_the_key_is_in_a_private_file_alone(account: Account, tmp_path: Path) -> None:
    paths = paths_in(tmp_path)
    save_account(account, paths)
    assert paths.sync_account.stat().st_mode & 0o777 == 0o600
    assert account.key not in paths.config_file.read_text()
    assert account.key not in repr(account)
    assert (
        new_account(account.server, "eve", "other", paths).device_id
        == account.device_id
    )


def test_a_key_that_cannot_be_removed_is_told(
    account: Account, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = paths_in(tmp_path)
    forget_account(paths)  # Nobody has logged in: nothing to tell.
    save_account(account, paths)

    def full(path: Path, data: bytes) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("gistread.syncing.account.replace_file", full)
    with pytest.raises(StorageError, match="the key is still there"):
        forget_account(paths)
    assert find_account(load_config(paths.config_file), paths) is None


@pytest.mark.parametrize(("user", "reason"), [("", "is empty"), ("a:b", "no colon")])
def test_a_name_that_cannot_be_sent_is_refused(
    user: str, reason: str, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match=reason):
        new_account("https://example.org", user, "secret", paths_in(tmp_path))
