"""`gistread serve`: over real HTTP and a real websocket, closed to everybody without the key."""

import asyncio
import re
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest

from gistread.errors import ExitStatus
from tests.cli.conftest import Run

pytest.importorskip("textual_serve")
import aiohttp

NAME = 'it\'s $(touch owned) "a book".txt'


@asynccontextmanager
async def serving(folder: Path) -> AsyncIterator[SimpleNamespace]:
    """A server for a book whose name needs quoting in a shell."""
    (folder / NAME).write_text(
        "The Harbour Bell\n\n" + "It rang once in the fog, and then again. " * 50
    )
    command = [sys.executable, "-m", "gistread", "serve", "--port", "0", NAME]
    process = await asyncio.create_subprocess_exec(
        *command, cwd=folder, stderr=asyncio.subprocess.PIPE
    )
    try:
        assert process.stderr is not None
        address = (
            (await asyncio.wait_for(process.stderr.readline(), 60)).decode().split()[-1]
        )
        yield SimpleNamespace(
            process=process, address=address, base=address.partition("/?")[0]
        )
    finally:
        if process.returncode is None:
            process.send_signal(signal.SIGINT)
        await asyncio.wait_for(process.wait(), 60)


def visitor() -> aiohttp.ClientSession:
    return aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True))


def linked_from(page: str) -> set[str]:
    """The addresses of links, scripts and pictures of a web page."""
    references = re.findall(r"(?:src|href)=\"([^\"]+)\"|url\(\"([^\"]+)\"\)", page)
    return {link or picture for link, picture in references}


async def status_of(browser: aiohttp.ClientSession, address: str) -> int:
    return (await browser.get(address)).status


async def test_the_page_needs_the_key(tmp_path: Path) -> None:
    async with serving(tmp_path) as server, visitor() as browser:
        for path in ("/", "/ws", "/?key=wrong", "/download/x"):
            assert await status_of(browser, server.base + path) == 403
    assert server.process.returncode == ExitStatus.DONE


async def test_the_page_loads_nothing_from_elsewhere(tmp_path: Path) -> None:
    async with serving(tmp_path) as server, visitor() as browser:
        answer = await browser.get(server.address)
        assert (answer.status, str(answer.url)) == (200, f"{server.base}/")
        addresses = linked_from(await answer.text())
        served = {address for address in addresses if address.startswith("/static/")}
        embedded = {address for address in addresses if address.startswith("data:")}
        assert any(address.endswith(".js") for address in served)
        assert addresses == served | embedded
        for address in served:
            assert await status_of(browser, server.base + address) == 200
        assert "default-src 'none'" in answer.headers["Content-Security-Policy"]


async def test_the_websocket_refuses_other_sites(tmp_path: Path) -> None:
    async with serving(tmp_path) as server, visitor() as browser:
        await browser.get(server.address)
        with pytest.raises(aiohttp.WSServerHandshakeError):
            await browser.ws_connect(
                f"{server.base}/ws", origin="http://elsewhere.example"
            )
        socket = await browser.ws_connect(
            f"{server.base}/ws?width=100&height=30", origin=server.base
        )
        drawn = b""
        while b"Harbour" not in drawn:
            message = await asyncio.wait_for(socket.receive(), 60)
            assert message.type in (aiohttp.WSMsgType.BINARY, aiohttp.WSMsgType.TEXT)
            drawn += message.data if isinstance(message.data, bytes) else b""
        await socket.close()
    assert not (tmp_path / "owned").exists()


def test_without_the_extra_it_says_what_to_install(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Or imported before
    for name in ("aiohttp_jinja2", "textual_serve", "textual_serve.server"):
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.delitem(sys.modules, "gistread.tui.serving", raising=False)
    ran = run("serve")
    assert ran.status == ExitStatus.USAGE
    assert "pip install 'gistread[serve]'" in ran.err


def test_a_public_address_gets_a_warning(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    served: list[str] = []
    monkeypatch.setattr(
        "gistread.tui.serving.serve",
        lambda command, host, port, tell: served.append(host),
    )
    assert "Warning" not in run("serve").err
    assert "Warning" not in run("serve", "--host", "::1").err
    assert "Warning" in run("serve", "--host", "0.0.0.0").err
    assert served == ["127.0.0.1", "::1", "0.0.0.0"]
