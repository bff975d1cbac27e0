"""`gistread sync`: log in, send places and go on where another device is."""

import json
from pathlib import Path

import pytest

from gistread.book.open import open_book
from gistread.config import load_config, save_setting
from gistread.errors import ExitStatus
from gistread.paths import default_paths
from gistread.store.sync_queue import SyncQueue, WaitingPlace
from gistread.store.user_data import UserData
from gistread.syncing.account import find_account
from gistread.syncing.documents import content_id
from tests.book.make_epub import epub, page
from tests.cli.conftest import Run
from tests.syncing.server import SyncServer

pytestmark = pytest.mark.process


@pytest.fixture(autouse=True)
def _password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GISTREAD_SYNC_PASSWORD", "secret")


@pytest.fixture
def lamp(tmp_path: Path) -> Path:
    path = tmp_path / "lamp.epub"
    lines = "".join(f"<p>Line {number} of the lamp.</p>" for number in range(400))
    path.write_bytes(epub({"a.xhtml": page(lines)}))
    return path


@pytest.mark.parametrize("name", ["jürgen", "ada:b"])
def test_a_name_that_a_header_cannot_carry_is_refused_before_it_is_sent(
    run: Run, sync_server: SyncServer, name: str
) -> None:
    ran = run("sync", "login", sync_server.url, name, "--register")
    assert (ran.status, sync_server.requests) == (ExitStatus.USAGE, [])
    assert "A user name has only ASCII characters, and no colon." in ran.err


def test_sync_is_off_until_one_logs_in(
    run: Run, sync_server: SyncServer, lamp: Path
) -> None:
    assert "Progress sync is off" in run("sync").out
    assert run("sync", "push", str(lamp)).status == ExitStatus.FAILED
    refused = run("sync", "login", sync_server.url, "ada")
    assert "does not accept the login of ada" in refused.err
    assert run("sync", "--json").json["server"] is None
    assert (
        run("sync", "login", sync_server.url, "ada", "--register").status
        == ExitStatus.DONE
    )
    assert run("sync", "--json").json["user"] == "ada"
    saved = default_paths().sync_account.read_text()
    run("sync", "logout")
    assert run("sync", "--json").json["server"] is None
    assert sync_server.users["ada"] in saved
    assert sync_server.users["ada"] not in default_paths().sync_account.read_text()


@pytest.mark.parametrize(
    ("name", "value"),
    [("key", "a\nb"), ("key", "schlüssel"), ("user", "ada\n"), ("server", "http://[")],
)
def test_a_login_that_was_edited_is_no_login(
    run: Run, sync_server: SyncServer, lamp: Path, name: str, value: str
) -> None:
    run("sync", "login", sync_server.url, "ada", "--register")
    paths = default_paths()
    account = json.loads(paths.sync_account.read_text())
    paths.sync_account.write_text(json.dumps(account | {name: value}))
    if name != "key":
        save_setting(paths.config_file, f"sync_{name}", value.strip())
    ran = run("sync", "push", str(lamp))
    assert ran.status == ExitStatus.FAILED
    assert "Internal error" not in ran.err
    assert run("sync").status == ExitStatus.DONE


@pytest.mark.parametrize(
    "address", ["http://[", "http://ada:secret-word@127.0.0.1", "ftp://a"]
)
def test_an_address_that_cannot_be_used_is_refused(
    run: Run, sync_server: SyncServer, address: str
) -> None:
    ran = run("sync", "login", address, "ada")
    assert ran.status == ExitStatus.USAGE
    assert "Example: gistread sync login https://" in ran.err
    assert "secret-word" not in ran.err
    assert run("sync", "--json").json["server"] is None


def test_places_go_to_the_server_and_come_from_another_device(
    run: Run, sync_server: SyncServer, lamp: Path
) -> None:
    run("sync", "login", sync_server.url, "ada", "--register")
    run("books", "--add", str(lamp))
    assert run("sync", "push", "--json").json["books"] == []
    book, user_data = open_book(lamp), UserData(default_paths())
    here = book.text.index("Line 40 ")
    user_data.set_position(book.sha256, here, read=[(0, here)])
    (pushed,) = run("sync", "push", "--json").json["books"]
    assert (
        pushed["done"],
        sync_server.places["ada", content_id(lamp)]["device_id"],
    ) == (
        "pushed",
        sync_server.bodies[-1]["device_id"],
    )
    assert run("sync", "pull", "--json").json["books"] == []
    sync_server.places["ada", content_id(lamp)] = {
        "percentage": 0.9,
        "progress": "/body/DocFragment[1]/body/p[201]/text().5",
        "device": "Kobo",
        "device_id": "K",
    }
    (pulled,) = run("sync", "pull", "--json").json["books"]
    assert (pulled["done"], pulled["device"]) == ("pulled", "Kobo")
    place = user_data.reading_place(book.sha256)
    assert book.text[place.offset :].startswith("200 of the lamp")
    assert (place.read, place.behind) == (((0, here),), (here,))
    (again,) = run("sync", "pull", "--json").json["books"]
    assert again["done"] == "kept"


def test_a_pulled_place_is_the_progress_of_a_book_that_was_never_opened(
    run: Run, sync_server: SyncServer, lamp: Path
) -> None:
    run("sync", "login", sync_server.url, "ada", "--register")
    run("books", "--add", str(lamp))
    sync_server.places["ada", content_id(lamp)] = {"percentage": 0.5, "device": "Kobo"}
    run("sync", "pull")
    (listed,) = run("books", "--json").json["books"]
    assert listed["progress"] == pytest.approx(0.5, abs=0.02)
    assert "50%" in run("books").out


def test_the_newest_place_is_the_one_that_was_read_last(
    run: Run, sync_server: SyncServer, lamp: Path
) -> None:
    run("sync", "login", sync_server.url, "ada", "--register")
    with default_paths().config_file.open("a") as config:
        config.write('sync_place = "newest"\n')
    run("books", "--add", str(lamp))
    book, user_data = open_book(lamp), UserData(default_paths())
    user_data.set_position(book.sha256, book.text.index("Line 200 "))
    place = {"percentage": 0.1, "progress": "/body/DocFragment[1]/body/p[41]/text().0"}
    kobo = {**place, "device": "Kobo", "device_id": "K", "timestamp": sync_server.now}
    sync_server.places["ada", content_id(lamp)] = kobo
    (pushed,) = run("sync", "push", "--json").json["books"]
    assert (pushed["done"], sync_server.bodies) == ("kept", [])
    (pulled,) = run("sync", "pull", "--json").json["books"]
    assert pulled["done"] == "pulled"
    account = find_account(load_config(default_paths().config_file), default_paths())
    assert account is not None
    later = WaitingPlace(content_id(lamp), 0.2, at=sync_server.now + 60.0)
    SyncQueue(default_paths()).put(account.name, later)
    user_data.set_position(book.sha256, book.text.index("Line 300 "))
    (kept,) = run("sync", "pull", "--json").json["books"]
    assert kept["done"] == "kept"
    (pushed,) = run("sync", "push", "--json").json["books"]
    assert pushed["done"] == "pushed"


def test_a_file_that_is_no_book_leaves_the_others(
    run: Run, sync_server: SyncServer, lamp: Path
) -> None:
    run("sync", "login", sync_server.url, "ada", "--register")
    run("books", "--add", str(lamp))
    lamp.write_bytes(lamp.read_bytes()[:500])
    sync_server.places["ada", content_id(lamp)] = {"percentage": 0.5, "device": "Kobo"}
    pulled = run("sync", "pull")
    assert pulled.status == ExitStatus.DONE
    assert "lamp" in pulled.err
