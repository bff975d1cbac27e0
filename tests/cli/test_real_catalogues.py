"""Real catalogue servers on loopback: Calibre's content server, and Calibre-Web.

Calibre is found on the PATH. So is Calibre-Web's `cps`, or where CALIBRE_WEB says.
"""

import os
import shutil
import socket
import sqlite3
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from gistread.errors import ExitStatus
from gistread.paths import default_paths
from tests.book.make_epub import epub, package, page
from tests.cli.conftest import Run
from tests.engine.fetching.server import without_environment

WEB = os.environ.get("CALIBRE_WEB") or shutil.which("cps") or ""
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not shutil.which("calibre-server"), reason="needs Calibre"),
]
_START_S = 60.0
_TITLES = ("The Lamp at Dawn", "Émile / or Education")


def _book(title: str) -> bytes:
    author = "<dc:creator>Ada Ro</dc:creator><dc:language>en</dc:language>"
    opf = package(["a.xhtml"], metadata=author).replace("A Book", title)
    return epub(
        {"a.xhtml": page(f"<h1>{title}</h1>" + "<p>It burned all night.</p>" * 200)},
        opf,
    )


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a Calibre library of two books in `lib`."""
    shelf = tmp_path_factory.mktemp("calibre")
    for number, title in enumerate(_TITLES):
        (shelf / f"{number}.epub").write_bytes(_book(title))
    books = [str(shelf / f"{number}.epub") for number in range(len(_TITLES))]
    command = ["calibredb", "add", "--with-library", str(shelf / "lib"), *books]
    subprocess.run(command, check=True, capture_output=True, env=_environment(shelf))
    return shelf


def _environment(home: Path) -> dict[str, str]:
    own = {
        "HOME": str(home),
        "CALIBRE_CONFIG_DIRECTORY": str(home / "config"),
        "QT_QPA_PLATFORM": "offscreen",
    }
    return {**os.environ, **own}


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    return port


@contextmanager
def _running(
    command: Sequence[str], environment: Mapping[str, str], url: str
) -> Iterator[None]:
    """A server, once it answers."""
    process = subprocess.Popen(
        command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        until = time.monotonic() + _START_S
        while not _answers(url):
            assert process.poll() is None, "the server ended"
            assert time.monotonic() < until, "the server does not answer"
            time.sleep(0.1)
        yield
    finally:
        process.terminate()
        process.wait(_START_S)


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=5.0):
            return True
    except urllib.error.HTTPError:
        return True
    except OSError:
        return False


@pytest.fixture(scope="module")
def calibre(shelf: Path) -> Iterator[str]:
    """Calibre's own server, which asks for a digest."""
    users = shelf / "users.sqlite"
    add = f"from calibre.srv.users import UserManager; UserManager({str(users)!r})"
    subprocess.run(
        ["calibre-debug", "-c", f"{add}.add_user('ada', 'secret')"],
        check=True,
        capture_output=True,
        env=_environment(shelf),
    )
    port = _free_port()
    url = f"http://127.0.0.1:{port}/opds"
    command = ["calibre-server", "--listen-on", "127.0.0.1", "--port", str(port)]
    command += [
        "--disable-use-bonjour",
        "--enable-auth",
        "--userdb",
        str(users),
        str(shelf / "lib"),
    ]
    with _running(command, _environment(shelf), url):
        yield url


@pytest.fixture(scope="module")
def calibre_web(shelf: Path) -> Iterator[str]:
    """Calibre-Web, which asks for Basic authentication."""
    if not WEB:
        pytest.skip("needs Calibre-Web")
    port, settings = _free_port(), shelf / "app.db"
    url = f"http://127.0.0.1:{port}/opds"
    environment = {**_environment(shelf), "CALIBRE_PORT": str(port)}
    command = [WEB, "-p", str(settings), "-g", str(shelf / "gd.db"), "-i", "127.0.0.1"]
    command += ["-o", str(shelf / "web.log")]
    with _running(command, environment, url):  # Makes its settings
        pass
    with sqlite3.connect(settings) as connection:
        connection.execute(
            "UPDATE settings SET config_calibre_dir = ?", (str(shelf / "lib"),)
        )
    with _running(command, environment, url):
        yield url


@dataclass(frozen=True)
class Server:
    """A catalogue, and who may read it."""

    url: str
    user: str
    password: str


@pytest.fixture(params=["calibre", "calibre_web"])
def server(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Server:
    without_environment(monkeypatch)
    url: str = request.getfixturevalue(request.param)
    if request.param == "calibre":
        return Server(url, "ada", "secret")
    return Server(url, "admin", "admin123")


def test_a_book_is_found_downloaded_and_opened(
    run: Run, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GISTREAD_CATALOGUE_PASSWORD", server.password)
    login = ("get", "--from", server.url, "--user", server.user)
    shelves = run(*login, "--json").json["found"]
    assert len(shelves) > 3
    assert all(shelf["feed"] for shelf in shelves)
    got = run(*login, "lamp", "at", "--json")
    assert got.json["title"] == "The Lamp at Dawn", got.err
    assert got.json["authors"] == ["Ada Ro"]
    assert run(*login, "or education", "--json").json["title"] == "Émile / or Education"
    assert run(*login, "nothing of the kind").status == ExitStatus.FAILED
    assert run("toc", "lamp").status == ExitStatus.DONE
    assert len(list(default_paths().books.iterdir())) == 2


def test_without_the_right_login_nothing_is_told(
    run: Run, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GISTREAD_CATALOGUE_PASSWORD", "mistaken")
    for login in ((), ("--user", server.user)):
        refused = run("get", "--from", server.url, *login, "lamp")
        assert (refused.status, refused.out) == (ExitStatus.FAILED, "")
        assert "refuses access (401)" in refused.err
