"""`gistread serve` in a real browser.

Chromium without a window, driven over its debugging protocol.
"""

import asyncio
import base64
import itertools
import json
import os
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pyte
import pytest

pytest.importorskip("textual_serve")
import aiohttp

from tests.cli.test_serve import serving

BROWSER = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))),
    None,
)
KEYS = {" ": ("Space", 32), "\r": ("Enter", 13)}


class Page:
    """A page of the browser, and the terminal in it.

    What the page got over its websocket, drawn by pyte.
    """

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket
        self._numbers = itertools.count(1)
        self._screen = pyte.Screen(300, 100)
        self._stream = pyte.ByteStream(self._screen)

    async def send(self, method: str, **parameters: Any) -> None:
        await self._socket.send_json(
            {"id": next(self._numbers), "method": method, "params": parameters}
        )

    async def type(self, keys: str) -> None:
        for key in keys:
            code, number = KEYS.get(key, ("", ord(key.upper())))
            about = {
                "key": code or key,
                "code": code,
                "windowsVirtualKeyCode": number,
                "text": key,
            }
            await self.send("Input.dispatchKeyEvent", type="keyDown", **about)
            await self.send("Input.dispatchKeyEvent", type="keyUp", **about)

    async def wait_for(self, *words: str) -> str:
        """Wait until the screen shows these words."""
        while not all(word in "\n".join(self._screen.display) for word in words):
            async with asyncio.timeout(60):
                message = await self._socket.receive()
            self._take(json.loads(message.data))
        return "\n".join(line.rstrip() for line in self._screen.display)

    def _take(self, message: dict[str, dict[str, dict[str, str | int]]]) -> None:
        if message.get("method") == "Network.webSocketFrameReceived":
            frame = message["params"]["response"]
            if frame["opcode"] == 2:
                self._stream.feed(base64.b64decode(str(frame["payloadData"])))


@asynccontextmanager
async def browsing(profile: Path) -> AsyncIterator[Page]:
    assert BROWSER is not None
    root = ["--no-sandbox"] if os.getuid() == 0 else []
    process = await asyncio.create_subprocess_exec(
        BROWSER,
        "--headless=new",
        "--disable-gpu",
        "--no-first-run",
        *root,
        "--remote-debugging-port=0",
        f"--user-data-dir={profile}",
        "about:blank",
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        assert process.stderr is not None
        line = b""
        while b"DevTools listening on" not in line:
            line = await asyncio.wait_for(process.stderr.readline(), 60)
            assert line, "the browser has ended"
        port = line.decode().split("127.0.0.1:")[1].partition("/")[0]
        async with aiohttp.ClientSession() as session:
            targets = await (
                await session.get(f"http://127.0.0.1:{port}/json/list")
            ).json()
            address = next(
                target["webSocketDebuggerUrl"]
                for target in targets
                if target["type"] == "page"
            )
            async with session.ws_connect(address, max_msg_size=0) as socket:
                yield Page(socket)
    finally:
        process.kill()
        await process.wait()


@pytest.mark.slow
@pytest.mark.skipif(BROWSER is None, reason="needs Chromium")
async def test_a_book_is_read_and_asked_in_a_browser(tmp_path: Path) -> None:
    async with serving(tmp_path) as server, browsing(tmp_path / "profile") as page:
        await page.send("Network.enable")
        shape = {"width": 1200, "height": 700, "deviceScaleFactor": 1, "mobile": False}
        await page.send("Emulation.setDeviceMetricsOverride", **shape)
        await page.send("Page.navigate", url=server.address)
        await page.wait_for("The Harbour Bell", "It rang once in the fog")
        await page.type(" ")
        await page.wait_for("100%")
        await page.type("aWho rang it?")
        await page.wait_for("Who rang it?")
