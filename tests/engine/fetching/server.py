"""A server on loopback that serves files correctly or, on request, with any fault."""

import hashlib
import json
import re
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

Fault = Callable[["Handler"], bool]
"""Answers one request in its own way, and says whether it has: else it is answered as usual."""


@dataclass
class Request:
    """A request and its answer."""

    method: str
    path: str
    headers: Mapping[str, str]
    first: int = 0
    """Offset of the first byte of the answer's body in the file."""
    sent: int = 0
    """Bytes of the file that were written to the socket."""


@dataclass
class File:
    data: bytes
    etag: str = '"one"'
    headers: dict[str, str] = field(default_factory=dict)
    """Sent with every answer."""


class FaultyServer:
    """Each fault answers one request, in order; `always` answers the others."""

    def __init__(
        self, key: Path | None = None, certificate: Path | None = None
    ) -> None:
        """With a key and its certificate it speaks TLS."""
        self.files: dict[str, File] = {}
        self.faults: list[Fault] = []
        self.always: Fault | None = None
        self.requests: list[Request] = []
        self._closing = threading.Event()
        owner = self

        class Bound(Handler):
            faulty = owner

        self._server = _Server(("127.0.0.1", 0), Bound)
        if certificate is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate, key)
            self._server.socket = context.wrap_socket(
                self._server.socket, server_side=True
            )
        self.url = f"http{'s' if certificate else ''}://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(
            target=self._server.serve_forever, args=(0.02,), daemon=True
        ).start()

    def close(self) -> None:
        self._closing.set()
        self._server.shutdown()
        self._server.server_close()

    def stall(self, seconds: float) -> None:
        self._closing.wait(seconds)

    def gets(self, path: str = "") -> list[Request]:
        return [
            request
            for request in self.requests
            if request.method == "GET" and request.path.startswith(path)
        ]


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore disconnected clients."""


class Handler(BaseHTTPRequestHandler):
    faulty: FaultyServer
    protocol_version = "HTTP/1.1"
    request: socket.socket

    def do_GET(self) -> None:
        self.answer()

    def do_HEAD(self) -> None:
        self.answer()

    def answer(self) -> None:
        path = self.path.partition("?")[0]
        self.record = Request(self.command, path, dict(self.headers.items()))
        self.faulty.requests.append(self.record)
        if (
            self.command == "GET"
            and self.faulty.faults
            and self.faulty.faults.pop(0)(self)
        ):
            return
        if self.faulty.always is not None and self.faulty.always(self):
            return
        self.as_usual()

    @property
    def file(self) -> File | None:
        return self.faulty.files.get(self.path.partition("?")[0])

    @property
    def wanted_from(self) -> int:
        """As Range says, if If-Range lets it hold."""
        range_asked = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
        condition = self.headers.get("If-Range")
        if range_asked is None:
            return 0
        is_conditional = condition is not None and self.file is not None
        if is_conditional and condition != self.file.etag:
            return 0
        return int(range_asked[1])

    def as_usual(self, *, pace: Callable[[], None] | None = None) -> None:
        if self.file is None:
            self.empty(404)
            return
        first, size = self.wanted_from, len(self.file.data)
        if first >= size and first:
            self.empty(416, {"Content-Range": f"bytes */{size}"})
            return
        self.start(206 if first else 200, first, size - first)
        self.send(self.file.data[first:], pace=pace)

    def start(
        self, status: int, first: int, length: int | None, **changes: str
    ) -> None:
        """Status and headers of an answer that begins at this offset.

        `changes` without a value leave one out.
        """
        assert self.file is not None
        self.record.first = first
        headers = {"ETag": self.file.etag, **self.file.headers}
        if length is not None:
            headers["Content-Length"] = str(length)
        if status == 206:
            headers["Content-Range"] = (
                f"bytes {first}-{len(self.file.data) - 1}/{len(self.file.data)}"
            )
        headers.update(
            {name.replace("_", "-"): value for name, value in changes.items()}
        )
        self.send_response(status)
        for name, value in headers.items():
            if value:
                self.send_header(name, value)
        self.end_headers()

    def send(self, data: bytes, *, pace: Callable[[], None] | None = None) -> None:
        if self.command == "HEAD":
            return
        block = 8192 if pace else len(data) or 1
        for at in range(0, len(data), block):
            self.wfile.write(data[at : at + block])
            self.record.sent += len(data[at : at + block])
            if pace:
                pace()

    def cut(self) -> None:
        """Drop the connection."""
        self.close_connection = True
        self.wfile.flush()
        self.connection.shutdown(socket.SHUT_RDWR)

    def empty(self, status: int, headers: Mapping[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": "0", **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing."""


@contextmanager
def faulty_server(
    key: Path | None = None, certificate: Path | None = None
) -> Iterator[FaultyServer]:
    server = FaultyServer(key, certificate)
    try:
        yield server
    finally:
        server.close()


def cut_after(count: int) -> Fault:
    """Send `count` bytes, then drop the connection."""

    def fault(handler: Handler) -> bool:
        assert handler.file is not None
        first = handler.wanted_from
        handler.start(206 if first else 200, first, len(handler.file.data) - first)
        handler.send(handler.file.data[first : first + count])
        handler.cut()
        return True

    return fault


def stall_after(count: int, seconds: float = 60) -> Fault:
    """Send `count` bytes, then stall."""

    def fault(handler: Handler) -> bool:
        assert handler.file is not None
        first = handler.wanted_from
        handler.start(206 if first else 200, first, len(handler.file.data) - first)
        handler.send(handler.file.data[first : first + count])
        handler.wfile.flush()
        handler.faulty.stall(seconds)
        handler.cut()
        return True

    return fault


def status(code: int, **headers: str) -> Fault:
    """Answer with this status alone."""

    def fault(handler: Handler) -> bool:
        handler.empty(
            code, {name.replace("_", "-"): value for name, value in headers.items()}
        )
        return True

    return fault


def redirect(to: str, code: int = 302, **headers: str) -> Fault:
    return status(code, Location=to, **headers)


def without_ranges(handler: Handler) -> bool:
    """Send the whole file, ignoring ranges."""
    assert handler.file is not None
    handler.start(200, 0, len(handler.file.data))
    handler.send(handler.file.data)
    return True


def claims_length(length: int | None) -> Fault:
    """Send all bytes with a wrong Content-Length, or without one."""

    def fault(handler: Handler) -> bool:
        assert handler.file is not None
        handler.start(200, 0, length)
        handler.send(handler.file.data)
        handler.cut()
        return True

    return fault


def throttled(bytes_per_s: float) -> Fault:
    """As usual, but slowly."""

    def fault(handler: Handler) -> bool:
        # A small buffer: what the server has sent is what the client has, but for some kilobytes.
        handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 8192)
        handler.as_usual(pace=lambda: time.sleep(8192 / bytes_per_s))
        return True

    return fault


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def serve_repository(
    server: FaultyServer,
    repository: str,
    files: Mapping[str, bytes],
    *,
    licence: str = "mit",
) -> None:
    """Serve a repository of the hub with these files, and its description."""
    commit = "c" * 40
    siblings = []
    for path, data in files.items():
        digest = sha256(data)
        siblings.append(
            {
                "rfilename": path,
                "size": len(data),
                "lfs": {"sha256": digest, "size": len(data)},
            }
        )
        stated = {
            "X-Linked-Etag": f'"{digest}"',
            "X-Linked-Size": str(len(data)),
            "X-Repo-Commit": commit,
        }
        for revision in ("main", commit):
            server.files[f"/{repository}/resolve/{revision}/{path}"] = File(
                data, f'"{digest}"', stated
            )
    document = {
        "id": repository,
        "sha": commit,
        "cardData": {"license": licence},
        "siblings": siblings,
    }
    server.files[f"/api/models/{repository}/revision/main"] = File(
        json.dumps(document).encode()
    )


def without_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """No proxy, mirror or token of the environment."""
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    for name in ("HF_ENDPOINT", "HF_TOKEN"):
        monkeypatch.delenv(name, raising=False)
