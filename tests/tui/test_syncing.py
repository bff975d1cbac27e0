"""The place on another device: offered when a book is opened, and sent when it is closed."""

import threading
from pathlib import Path

import pytest

from gistread.book.open import open_book
from gistread.config import load_config
from gistread.store.sync_queue import SyncQueue
from gistread.store.user_data import UserData
from gistread.syncing.account import new_account, save_account
from gistread.syncing.client import Account
from gistread.syncing.documents import content_id
from gistread.tui.app import GistreadApp
from tests.book.make_epub import epub, page
from tests.syncing.server import Handler, SyncServer
from tests.tui.scripted import app_on, opened, paths_in, text_of, until, until_shown

_SIZE = (80, 24)
_PARAGRAPHS = [
    f"Letter {number}: the lamp burned low till dawn." for number in range(600)
]


@pytest.fixture
def account(sync_server: SyncServer, tmp_path: Path) -> Account:
    """Logged in; so is another device with the same account."""
    paths = paths_in(tmp_path)
    account = new_account(sync_server.url, "ada", "secret", paths)
    save_account(account, paths)
    sync_server.users["ada"] = account.key
    return account


@pytest.fixture
def story(tmp_path: Path) -> Path:
    path = tmp_path / "letters.epub"
    body = "".join(f"<p>{paragraph}</p>" for paragraph in _PARAGRAPHS)
    path.write_bytes(epub({"a.xhtml": page(body)}))
    return path


def _app(story: Path, tmp_path: Path) -> GistreadApp:
    return app_on(story, tmp_path, config=load_config(paths_in(tmp_path).config_file))


def _put(
    sync_server: SyncServer, story: Path, paragraph: int, device: str = "Kobo"
) -> None:
    sync_server.places["ada", content_id(story)] = {
        "percentage": paragraph / len(_PARAGRAPHS),
        "progress": f"/body/DocFragment[1]/body/p[{paragraph + 1}]/text().0",
        "device": device,
        "device_id": "K",
        "timestamp": 1_790_000_000,
    }


async def test_a_further_place_is_offered_and_looked_at_until_one_reads_on(
    sync_server: SyncServer, account: Account, story: Path, tmp_path: Path
) -> None:
    _put(sync_server, story, 300)
    app = _app(story, tmp_path)
    async with app.run_test(size=_SIZE, notifications=True) as pilot:
        await until_shown(pilot, "Kobo is at 50%. S goes there.")
        assert "Letter 0:" in text_of(app)
        await pilot.press("S")
        await until_shown(pilot, "Letter 300:")
        await until_shown(pilot, "The place of Kobo.")
        assert "S goes there." not in text_of(app)
        assert app.reading is not None
        assert app.reading.controllers is not None
        position = app.reading.controllers.context.position
        assert (position.place, position.looking) == (0, True)
        await pilot.press("space")
        await pilot.press("q")
        assert position.place > len("".join(_PARAGRAPHS)) // 2
    place = sync_server.places["ada", content_id(story)]
    assert place["device_id"] == account.device_id
    assert place["percentage"] > 0.5
    assert place["progress"].startswith("/body/DocFragment[1]/body/p[3")


@pytest.mark.parametrize("elsewhere", [None, 100])
async def test_a_place_that_the_server_lacks_is_sent(
    sync_server: SyncServer,
    account: Account,
    story: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    elsewhere: int | None,
) -> None:
    monkeypatch.setattr("gistread.tui.reading.syncing.SEND_S", 0.1)
    if elsewhere is not None:
        _put(sync_server, story, elsewhere)
    book = open_book(story)
    UserData(paths_in(tmp_path)).set_position(
        book.sha256, book.text.index("Letter 300:")
    )
    app = _app(story, tmp_path)
    async with app.run_test(size=_SIZE) as pilot:
        await until(pilot, lambda: len(sync_server.bodies) == 1)
        assert "Letter 300:" in text_of(app)
    place = sync_server.places["ada", content_id(story)]
    assert (place["device"], round(place["percentage"], 2)) == (account.device, 0.5)


async def test_a_book_without_a_file_is_not_told_to_log_in(
    sync_server: SyncServer, account: Account, story: Path, tmp_path: Path
) -> None:
    app = app_on(
        open_book(story), tmp_path, config=load_config(paths_in(tmp_path).config_file)
    )
    async with app.run_test(size=_SIZE, notifications=True) as pilot:
        reading = await opened(pilot)
        assert reading.controllers is not None
        syncing = reading.controllers.syncing
        await until(pilot, lambda: syncing._sync is not None)
        await pilot.press("S")
        await until_shown(pilot, "This book has no file")


async def test_a_device_name_is_shown_as_it_is(
    sync_server: SyncServer, account: Account, story: Path, tmp_path: Path
) -> None:
    _put(sync_server, story, 300, device="{nothing}\n{quit}")
    app = _app(story, tmp_path)
    async with app.run_test(size=_SIZE, notifications=True) as pilot:
        await until_shown(pilot, "{nothing} {quit} is at 50%")


async def test_without_a_network_the_place_waits_and_goes_next_time(
    sync_server: SyncServer, account: Account, story: Path, tmp_path: Path
) -> None:
    sync_server.faults += [lambda handler: handler.send("Busy", 503, "text/plain")] * 9
    app = _app(story, tmp_path)
    async with app.run_test(size=_SIZE, notifications=True) as pilot:
        await until(pilot, lambda: "Letter 0:" in text_of(app) and sync_server.requests)
        await pilot.press("space", "space", "q")
        assert "503" not in text_of(app)
    (waiting,) = SyncQueue(paths_in(tmp_path)).waiting(account.name)
    assert waiting.percentage > 0
    assert sync_server.places == {}
    sync_server.faults.clear()
    app = _app(story, tmp_path)
    async with app.run_test(size=_SIZE) as pilot:
        await until(pilot, lambda: bool(sync_server.places))
        await until(
            pilot, lambda: not SyncQueue(paths_in(tmp_path)).waiting(account.name)
        )
    assert (
        sync_server.places["ada", content_id(story)]["percentage"] == waiting.percentage
    )


async def test_keys_work_while_the_server_takes_its_time(
    sync_server: SyncServer, account: Account, story: Path, tmp_path: Path
) -> None:
    app = _app(story, tmp_path)
    answer = threading.Event()

    def slow(handler: Handler) -> None:
        answer.wait(20.0)
        handler.reply(200, sync_server.places["ada", content_id(story)])

    async with app.run_test(size=_SIZE, notifications=True) as pilot:
        await until(pilot, lambda: "Letter 0:" in text_of(app) and sync_server.replies)
        _put(sync_server, story, 300)
        sync_server.faults.append(slow)
        await pilot.press("S")
        await until(pilot, lambda: sync_server.faults == [])
        await pilot.press("space")
        await until_shown(pilot, "Letter 9:")
        answer.set()
        await until_shown(pilot, "The place of Kobo")
        assert "Letter 300:" in text_of(app)


async def test_another_device_that_goes_on_meanwhile_is_offered_and_not_overwritten(
    sync_server: SyncServer,
    account: Account,
    story: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("gistread.tui.reading.syncing.SEND_S", 0.1)
    app = _app(story, tmp_path)
    async with app.run_test(size=_SIZE, notifications=True) as pilot:
        await until(pilot, lambda: "Letter 0:" in text_of(app) and sync_server.replies)
        _put(sync_server, story, 300)
        await pilot.press("space")
        await until_shown(pilot, "Kobo is at 50%. S goes there.")
        assert sync_server.places["ada", content_id(story)]["device"] == "Kobo"
        await pilot.press("space")  # Reading on here is an answer too.
        await until(
            pilot,
            lambda: sync_server.places["ada", content_id(story)]["device"] != "Kobo",
        )


async def test_a_wrong_login_is_told_once(
    sync_server: SyncServer, account: Account, story: Path, tmp_path: Path
) -> None:
    sync_server.users["ada"] = "changed"
    app = _app(story, tmp_path)
    async with app.run_test(size=_SIZE, notifications=True) as pilot:
        await until_shown(pilot, "does not accept the login of ada")
        await pilot.press("space", "q")
    (waiting,) = SyncQueue(paths_in(tmp_path)).waiting(account.name)
    assert waiting.percentage > 0


async def test_nothing_is_sent_before_one_logs_in(
    sync_server: SyncServer, story: Path, tmp_path: Path
) -> None:
    app = _app(story, tmp_path)
    async with app.run_test(size=_SIZE, notifications=True) as pilot:
        await until_shown(pilot, "Letter 0:")
        await pilot.press("space", "S")
        await until_shown(pilot, "Progress sync is off")
    assert sync_server.requests == []
    assert UserData(paths_in(tmp_path)).all_texts() != []
