"""gistread in a browser.

A local server that starts one gistread per page and requires a secret address.
"""

import asyncio
import ipaddress
import logging
import secrets
import shlex
import signal
import socket
import sys
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import aiohttp_jinja2
from aiohttp import web
from textual_serve.server import Server, to_int

from gistread.errors import UsageError

_POLICY = (
    "default-src 'none'; "
    "script-src 'self' 'unsafe-inline'; "
    "style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; "
    "font-src 'self'; "
    "connect-src 'self' ws://{host}; "
    "frame-ancestors 'none'; "
    "base-uri 'none'; "
    "form-action 'none'"
)
_SECRET_BYTES = 24
_SHUTDOWN_S = 0.5  # Seconds in which pages that are still open must end
_USUAL_FONT_SIZE = 16
_FONT_SIZES = (6, 48)  # Least and most
_Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def is_loopback(host: str) -> bool:
    """Whether the address is reachable from this machine only."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def serve(
    command: Sequence[str], host: str, port: int, tell: Callable[[str], None]
) -> None:
    """Serve this command until Ctrl+C; `tell` gets the address.

    Raises UsageError if the port cannot be opened.
    """
    try:
        listening = _listening_socket(host, port)
    except (OSError, UnicodeError) as error:
        reason = str(error)
        if isinstance(error, OSError) and error.strerror:
            reason = error.strerror
        raise UsageError(
            f"Cannot listen on {host}, port {port}: {reason}.",
            "Choose another with --port or --host.",
        ) from None
    chosen_port = listening.getsockname()[1]
    server = _Gistread(shlex.join(command), host, chosen_port)
    asyncio.run(server.run(listening, tell))


def _listening_socket(host: str, port: int) -> socket.socket:
    """A socket bound to this address; port 0 lets the system choose. Raises OSError."""
    addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    family = addresses[0][0]
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listening.bind((host, port))
    return listening


class _Gistread(Server):
    """textual-serve's server with access control and a strict content security policy."""

    def __init__(self, command: str, host: str, port: int) -> None:
        is_ipv6 = ":" in host
        url_host = f"[{host}]" if is_ipv6 else host
        super().__init__(
            command,
            host=host,
            port=port,
            title="gistread",
            public_url=f"http://{url_host}:{port}",
            templates_path=Path(__file__).parent / "web",
        )
        self._secret = secrets.token_urlsafe(_SECRET_BYTES)
        self._cookie = f"gistread-{port}"

    async def run(self, listening: socket.socket, tell: Callable[[str], None]) -> None:
        """Run until Ctrl+C or SIGTERM, and end every gistread that was started."""
        stopped = asyncio.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, stopped.set)
        logging.getLogger("textual-serve").addHandler(logging.StreamHandler(sys.stderr))
        app = await self._make_app()
        app.middlewares.append(self._guard)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=_SHUTDOWN_S)
        await runner.setup()
        try:
            await web.SockSite(runner, listening).start()
            tell(f"{self.public_url}/?key={self._secret}")
            await stopped.wait()
        finally:
            await runner.cleanup()

    async def on_startup(self, app: web.Application) -> None:
        """Print nothing, unlike textual-serve: `run` reports the address."""

    @web.middleware
    async def _guard(
        self, request: web.Request, handler: _Handler
    ) -> web.StreamResponse:
        """Require the secret: first in the address, then in a cookie.

        No other site can send that cookie.
        """
        origin = request.headers.get("Origin")
        if origin is not None:
            _, _, origin_host = origin.partition("://")
            if origin_host != request.host:
                raise web.HTTPForbidden(text="Pages of other sites are refused.")
        if not request.path.startswith("/static/"):
            self._require_secret(request)
        answer = await handler(request)
        if not answer.prepared:
            policy = _POLICY.format(host=request.host)
            answer.headers["Content-Security-Policy"] = policy
            answer.headers["Referrer-Policy"] = "no-referrer"
            answer.headers["X-Content-Type-Options"] = "nosniff"
        return answer

    def _require_secret(self, request: web.Request) -> None:
        """Raise HTTPForbidden without the secret, or HTTPSeeOther to turn it into a cookie.

        Returns if the request has the cookie.
        """
        if self._is_secret(request.query.get("key", "")):
            response = web.HTTPSeeOther("/")
            response.set_cookie(
                self._cookie, self._secret, httponly=True, samesite="Strict"
            )
            raise response
        if not self._is_secret(request.cookies.get(self._cookie, "")):
            advice = "Open the address that `gistread serve` has shown, with its key."
            raise web.HTTPForbidden(text=advice)

    def _is_secret(self, text: str) -> bool:
        return secrets.compare_digest(text.encode(), self._secret.encode())

    @aiohttp_jinja2.template("app_index.html")
    async def handle_index(self, request: web.Request) -> dict[str, Any]:
        """The values of the page's template. Its host name is the one that the browser used."""
        least, most = _FONT_SIZES
        wanted_size = to_int(request.query.get("fontsize", ""), _USUAL_FONT_SIZE)
        font_size = max(least, min(most, wanted_size))
        return {
            "font_size": font_size,
            "app_websocket_url": f"ws://{request.host}/ws",
            "config": {"static": {"url": "/static/"}},
            "application": {"name": self.title},
        }
