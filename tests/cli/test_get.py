"""`gistread get`: books of a catalogue on loopback, and every fault of a server."""

import base64
import errno
import io
import zipfile
from collections.abc import Iterator

import pytest

from gistread.acquisition import download
from gistread.acquisition.sources import SOURCES, Source
from gistread.cli.opening import open_named
from gistread.engine.fetching.network import Network
from gistread.errors import ExitStatus
from gistread.paths import default_paths
from tests.book.make_epub import epub as make_epub
from tests.book.make_epub import package, page
from tests.cli.conftest import Run
from tests.engine.fetching.server import (
    FaultyServer,
    File,
    Handler,
    faulty_server,
    without_environment,
)

pytestmark = pytest.mark.process

FEED = """<feed xmlns="http://www.w3.org/2005/Atom"><title>Shelf</title>
<link rel="search" type="application/atom+xml" href="/opds?q={{searchTerms}}"/>{entries}</feed>"""
RESULT = """<entry><title>{title}</title><link rel="subsection"
type="application/atom+xml;profile=opds-catalog" href="/ebooks/{number}.opds"/></entry>"""
ENTRY = """<entry><title>{title}</title><author><name>Ada Ro</name></author><link
rel="http://opds-spec.org/acquisition" type="application/epub+zip" href="{href}"/></entry>"""


class Typed(io.StringIO):
    """What a user types at a terminal."""

    def isatty(self) -> bool:
        return True


def epub() -> bytes:
    """A whole EPUB of one chapter."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        archive.writestr("mimetype", "application/epub+zip")
        archive.writestr(
            "META-INF/container.xml",
            '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
            '<rootfile full-path="a.opf" media-type="application/oebps-package+xml"/></rootfiles>'
            "</container>",
        )
        archive.writestr(
            "a.opf",
            '<package xmlns="http://www.idpf.org/2007/opf" version="3.0"><metadata '
            'xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>The Lamp</dc:title>'
            "<dc:creator>Ada Ro</dc:creator></metadata><manifest>"
            '<item id="c" href="c.xhtml" media-type="application/xhtml+xml"/></manifest>'
            '<spine><itemref idref="c"/></spine></package>',
        )
        archive.writestr(
            "c.xhtml",
            '<html xmlns="http://www.w3.org/1999/xhtml"><body>'
            + "<p>The lamp burned all night, and nobody trimmed it.</p>" * 400
            + "</body></html>",
        )
    return data.getvalue()


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[FaultyServer]:
    """A catalogue with two books of the same file."""
    without_environment(monkeypatch)
    monkeypatch.setattr(
        "gistread.cli.get.Network",
        lambda: Network(stall_s=2.0, pause_s=0.01, attempts=3),
    )
    entries = "".join(
        ENTRY.format(title=title, href=f"/{name}.epub")
        for title, name in (("The Lamp", "lamp"), ("The Lamp, again", "copy"))
    )
    with faulty_server() as server:
        atom = {"Content-Type": "application/atom+xml"}
        server.files["/opds"] = File(
            FEED.format(entries=entries).encode(), headers=atom
        )
        for name in ("lamp", "copy"):
            book = {"Content-Type": "application/epub+zip"}
            server.files[f"/{name}.epub"] = File(epub(), headers=book)
        yield server


def saved() -> list[str]:
    folder = default_paths().books
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


def test_a_book_of_a_catalogue_is_in_the_library_and_opens(
    run: Run, server: FaultyServer
) -> None:
    listed = run("get", "--from", f"{server.url}/opds", "lamp")
    assert "  2  The Lamp, again · Ada Ro" in listed.out
    assert saved() == []
    ran = run("get", "--from", f"{server.url}/opds", "lamp", "--pick", "1", "--json")
    assert ran.json["title"] == "The Lamp"
    assert saved() == ["lamp.epub"]
    assert run("books", "--json").json["books"][0]["title"] == "The Lamp"
    assert run("toc", "lamp").status == ExitStatus.DONE


def test_frankenstein_is_read_two_commands_after_an_empty_library(
    run: Run, server: FaultyServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Project Gutenberg lists several; Enter takes the first one."""
    entries = "".join(
        RESULT.format(title=title, number=number)
        for title, number in (("Frankenstein", 84), ("Frankenstein’s Library", 99))
    )
    atom = {"Content-Type": "application/atom+xml"}
    server.files["/search"] = File(FEED.format(entries=entries).encode(), headers=atom)
    entry = ENTRY.format(title="Frankenstein", href="/84.epub")
    server.files["/ebooks/84.opds"] = File(
        FEED.format(entries=entry).encode(), headers=atom
    )
    opf = package(["a.xhtml"]).replace("A Book", "Frankenstein")
    server.files["/84.epub"] = File(
        make_epub({"a.xhtml": page("<p>You will rejoice.</p>" * 9)}, opf)
    )
    search = f"{server.url}/search?query={{searchTerms}}"
    monkeypatch.setitem(
        SOURCES, "gutenberg", Source("Project Gutenberg", server.url, search)
    )
    monkeypatch.setattr("sys.stdin", Typed("\n"))
    assert run("get", "frankenstein").status == ExitStatus.DONE
    assert open_named("frankenstein").title == "Frankenstein"


def test_an_address_is_followed_through_redirects_and_kept_once(
    run: Run, server: FaultyServer
) -> None:
    def redirect(handler: Handler) -> bool:
        handler.empty(302, {"Location": "/lamp.epub"})
        return True

    for _ in range(2):
        server.faults.append(redirect)
        ran = run("get", f"{server.url}/somewhere/old.epub")
        assert ran.status == ExitStatus.DONE, ran.err
    assert saved() == ["lamp.epub"]


def test_a_cut_download_goes_on_where_it_stopped(
    run: Run, server: FaultyServer
) -> None:
    whole = epub()

    def cut(handler: Handler) -> bool:
        handler.start(200, 0, len(whole))
        handler.send(whole[:1000])
        handler.close_connection = True
        return True

    server.faults.append(cut)
    ran = run("get", f"{server.url}/lamp.epub")
    assert ran.status == ExitStatus.DONE, ran.err
    assert [request.first for request in server.gets("/lamp.epub")] == [0, 1000]
    assert (default_paths().books / "lamp.epub").read_bytes() == whole


def test_a_transfer_that_stands_still_goes_on_in_another(
    run: Run, server: FaultyServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    quick = Network(stall_s=0.2, pause_s=0.01, attempts=3)
    monkeypatch.setattr("gistread.cli.get.Network", lambda: quick)
    whole = epub()

    def stand_still(handler: Handler) -> bool:
        handler.start(200, 0, len(whole))
        handler.send(whole[:1000])
        server.stall(20.0)
        return True

    server.faults.append(stand_still)
    assert run("get", f"{server.url}/lamp.epub").status == ExitStatus.DONE
    assert [request.first for request in server.gets("/lamp.epub")] == [0, 1000]
    assert (default_paths().books / "lamp.epub").read_bytes() == whole


def test_a_file_of_another_length_than_announced_is_not_kept(
    run: Run, server: FaultyServer
) -> None:
    whole = epub()

    def announce_less(handler: Handler) -> bool:
        handler.start(200, 0, len(whole) - 400)
        handler.send(whole)
        handler.close_connection = True
        return True

    server.always = announce_less
    ran = run("get", f"{server.url}/lamp.epub")
    assert ran.status == ExitStatus.FAILED
    assert not any(name.endswith(".epub") for name in saved())
    assert run("books", "--json").json["books"] == []


def test_a_file_that_changed_meanwhile_is_fetched_anew(
    run: Run, server: FaultyServer
) -> None:
    whole = epub()

    def cut_and_change(handler: Handler) -> bool:
        handler.start(200, 0, len(whole))
        handler.send(b"x" * 1000)
        handler.close_connection = True
        server.files["/lamp.epub"].etag = '"two"'
        return True

    server.faults.append(cut_and_change)
    assert run("get", f"{server.url}/lamp.epub").status == ExitStatus.DONE
    assert (default_paths().books / "lamp.epub").read_bytes() == whole


def test_a_web_page_and_a_torn_book_are_not_kept(
    run: Run, server: FaultyServer
) -> None:
    server.files["/lamp.epub"] = File(
        b"<!DOCTYPE html><html><body><p>Please log in.</p></body></html>" * 20,
        headers={"Content-Type": "text/html"},
    )
    page = run("get", "--from", f"{server.url}/opds", "lamp", "--pick", "1")
    assert page.status == ExitStatus.FAILED
    assert "sent a web page" in page.err
    server.files["/copy.epub"] = File(epub()[:-400])
    torn = run("get", f"{server.url}/copy.epub")
    assert torn.status == ExitStatus.FAILED
    assert "sent no readable book" in torn.err
    assert saved() == []
    assert run("books", "--json").json["books"] == []


LONG = b"<p>The lamp burned all night, and nobody trimmed it.</p>" * 40


@pytest.mark.parametrize(
    ("page", "message"),
    [
        (
            b"<p>Welcome</p><form><input name=p type=password></form>" + LONG,
            "a login page",
        ),
        (b"<p>This book is not available.</p>", "a web page that is not a book"),
    ],
)
def test_a_page_at_the_address_of_a_page_is_kept_only_if_it_is_a_book(
    run: Run, server: FaultyServer, page: bytes, message: str
) -> None:
    head = b"<!DOCTYPE html><html><head><title>Lamp</title></head><body>"
    server.files["/lamp.html"] = File(
        head + page, headers={"Content-Type": "text/html"}
    )
    ran = run("get", f"{server.url}/lamp.html")
    assert ran.status == ExitStatus.FAILED
    assert message in ran.err
    assert saved() == []
    server.files["/lamp.html"] = File(
        head + LONG, headers={"Content-Type": "text/html"}
    )
    assert run("get", f"{server.url}/lamp.html").status == ExitStatus.DONE
    assert saved() == ["lamp.html"]


@pytest.mark.parametrize(
    ("address", "message"),
    [
        (
            "ftp://example.org/a.epub",
            "over http and https, and ftp://example.org/a.epub begins",
        ),
        ("www.gutenberg.org/ebooks/84", "Use https://www.gutenberg.org/ebooks/84"),
        ("localhost:8080/opds", "looks like an address without its scheme"),
        ("http://[", "This is not a valid address"),
        ("http://example.org:99999/opds", "This is not a valid address"),
        ("http://ada:secret@example.org/opds", "The address contains a login"),
    ],
)
def test_an_address_of_another_kind_is_no_fault_of_the_network(
    run: Run, server: FaultyServer, address: str, message: str
) -> None:
    for command in (("get", address), ("get", "--from", address, "emma")):
        ran = run(*command)
        assert ran.status == ExitStatus.USAGE
        assert message in ran.err
    assert server.requests == []


def test_a_busy_server_says_when_to_come_back(
    run: Run, server: FaultyServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[float] = []

    async def wait(seconds: float) -> None:
        waits.append(seconds)

    monkeypatch.setattr("gistread.acquisition.download.asyncio.sleep", wait)

    def busy(handler: Handler) -> bool:
        handler.empty(503, {"Retry-After": "20"})
        return True

    server.faults.append(busy)
    assert run("get", f"{server.url}/lamp.epub").status == ExitStatus.DONE
    assert 20.0 in waits

    def busy_for_long(handler: Handler) -> bool:
        handler.empty(429, {"Retry-After": "3600"})
        return True

    server.always = busy_for_long
    ran = run("get", f"{server.url}/copy.epub")
    assert ran.status == ExitStatus.FAILED
    assert "asks to retry in 60 minutes" in ran.err
    assert "resumes" not in ran.err


def test_a_server_that_cuts_every_time_is_told_and_resumed_later(
    run: Run, server: FaultyServer
) -> None:
    def cut(handler: Handler) -> bool:
        handler.start(200, 0, 10**6)
        handler.send(b"x" * 10)
        handler.close_connection = True
        return True

    server.always = cut
    ran = run("get", f"{server.url}/lamp.epub")
    assert ran.status == ExitStatus.FAILED
    assert "resumes where it stopped" in ran.err
    assert not any(name.endswith(".epub") for name in saved())
    server.always = None
    assert run("get", f"{server.url}/lamp.epub").status == ExitStatus.DONE
    assert saved() == ["lamp.epub"]


def test_a_login_goes_to_its_catalogue_alone(
    run: Run, server: FaultyServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = "Basic " + base64.b64encode(b"ada:secret-word").decode()

    def protected(handler: Handler) -> bool:
        if handler.headers.get("Authorization") == expected:
            return False
        handler.empty(401, {"WWW-Authenticate": 'Basic realm="books"'})
        return True

    server.always = protected
    command = (
        "get",
        "--from",
        f"{server.url}/opds",
        "lamp",
        "--pick",
        "1",
        "--user",
        "ada",
    )
    monkeypatch.setenv("GISTREAD_CATALOGUE_PASSWORD", "wrong-word")
    refused = run(*command)
    assert refused.status == ExitStatus.FAILED
    assert "refuses access (401)" in refused.err
    assert "wrong-word" not in refused.err
    monkeypatch.setenv("GISTREAD_CATALOGUE_PASSWORD", "secret-word")
    with faulty_server() as other:
        entry = ENTRY.format(title="The Lamp", href=f"{other.url}/lamp.epub")
        server.files["/opds"].data = FEED.format(entries=entry).encode()
        other.files["/lamp.epub"] = server.files["/lamp.epub"]
        assert run(*command).status == ExitStatus.DONE
        assert all("Authorization" not in request.headers for request in other.requests)


@pytest.mark.parametrize(
    ("url", "is_covered"),
    [
        ("http://books.example:80/a.epub", True),
        ("https://books.example/a.epub", True),
        ("https://books.example:8443/a.epub", False),
        ("http://books.example:8080/a.epub", False),
        ("http://other.example/a.epub", False),
        ("http://books.example:abc/a.epub", False),
    ],
)
def test_a_login_covers_one_server(url: str, is_covered: bool) -> None:
    login = download.Login("ada", "secret", "http://books.example/opds")
    assert login.covers(url) is is_covered


@pytest.mark.parametrize("open_path", ["", "/opds"])
def test_a_server_of_digests_gets_no_other_login(
    run: Run, server: FaultyServer, monkeypatch: pytest.MonkeyPatch, open_path: str
) -> None:
    """As Calibre's content server, which answers another form of login with 400."""

    def protected(handler: Handler) -> bool:
        login = handler.headers.get("Authorization", "")
        if login.startswith("Basic"):
            handler.empty(400)
            return True
        if open_path and handler.path.startswith(open_path):
            return False
        if login.startswith('Digest username="ada"'):
            return False
        challenge = 'Digest realm="calibre", nonce="n1", algorithm="MD5", qop="auth"'
        handler.empty(400 if login else 401, {"WWW-Authenticate": challenge})
        return True

    server.always = protected
    monkeypatch.setenv("GISTREAD_CATALOGUE_PASSWORD", "secret-word")
    login = ("--user", "ada", "--pick", "1")
    assert (
        run("get", "--from", f"{server.url}/opds", "lamp", *login).status
        == ExitStatus.DONE
    )
    assert saved() == ["lamp.epub"]


def test_a_search_that_the_server_answers_with_404_has_found_nothing(
    run: Run, server: FaultyServer
) -> None:
    server.files["/opds"].data = server.files["/opds"].data.replace(
        b"/opds?q=", b"/none?q="
    )
    ran = run("get", "--from", f"{server.url}/opds", "lamp")
    assert (ran.status, ran.err) == (
        ExitStatus.FAILED,
        "Nothing was found for 'lamp'.\n",
    )


def test_a_feed_that_is_not_compressed_as_announced_is_told(
    run: Run, server: FaultyServer
) -> None:
    server.files["/opds"].headers["Content-Encoding"] = "gzip"
    ran = run("get", "--from", f"{server.url}/opds", "lamp")
    assert ran.status == ExitStatus.FAILED
    assert "127.0.0.1 sent data that cannot be read" in ran.err


def test_a_full_disk_is_told_and_nothing_is_opened(
    run: Run, server: FaultyServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(file: object, data: bytes) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("gistread.store.journal.write_all", full)
    ran = run("get", f"{server.url}/lamp.epub")
    assert ran.status == ExitStatus.FAILED
    assert "The disk is full" in ran.err
    assert not any(name.endswith(".epub") for name in saved())


def test_names_of_files_are_safe() -> None:
    headers = {"Content-Disposition": 'attachment; filename="../../evil.epub"'}
    assert download._file_name(
        headers, "https://a.example/x", "application/epub+zip"
    ) == ("evil.epub")
    assert download._file_name(
        {}, "https://a.example/84.epub3.images", "application/epub+zip"
    ) == ("84.epub")
