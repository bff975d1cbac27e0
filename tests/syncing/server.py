"""A KOReader sync server on loopback, written after the protocol.

No package index has a real one: Calibre-Web 0.6.27 does not speak the protocol, and the reference
server (koreader/koreader-sync-server) needs OpenResty and Redis. This one answers as the latter
does; or, on request, with any fault.
"""

import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

ACCEPT = re.compile(r"application/vnd\.koreader\.v(\d+)\+json")
FIELDS = ("percentage", "progress", "device", "device_id", "timestamp")
Fault = Callable[["Handler"], None]


class SyncServer:
    """Each fault answers one request, in order."""

    def __init__(self) -> None:
        self.users: dict[str, str] = {}
        self.places: dict[tuple[str, str], dict[str, Any]] = {}
        self.faults: list[Fault] = []
        self.requests: list[tuple[str, str]] = []
        self.bodies: list[dict[str, Any]] = []
        self.replies = 0
        self.now = 1_790_000_000
        self.may_register = True
        owner = self

        class Bound(Handler):
            server_state = owner

        self._server = _Server(("127.0.0.1", 0), Bound)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(
            target=self._server.serve_forever, args=(0.02,), daemon=True
        ).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore disconnected clients."""


class Handler(BaseHTTPRequestHandler):
    server_state: SyncServer
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        self._answer()

    def do_PUT(self) -> None:
        self._answer()

    def _answer(self) -> None:
        state = self.server_state
        state.requests.append((self.command, self.path))
        length = int(self.headers.get("Content-Length") or 0)
        self.body = self.rfile.read(length)
        if state.faults:
            state.faults.pop(0)(self)
            return
        if ACCEPT.fullmatch(self.headers.get("Accept", "")) is None:
            self.reply(412, {"code": 101, "message": "Invalid Accept header format."})
            return
        match self.command, self.path.split("/")[1:]:
            case "POST", ["users", "create"]:
                self._register()
            case "GET", ["users", "auth"]:
                if self._user():
                    self.reply(200, {"authorized": "OK"})
            case "PUT", ["syncs", "progress"]:
                self._push()
            case "GET", ["syncs", "progress", document] if re.fullmatch(
                r"\w+", document
            ):
                if user := self._user():
                    self.reply(200, state.places.get((user, document), {}))
            case _:
                self.send("<html>404 Not Found</html>", 404, "text/html")

    def _user(self) -> str:
        """The user who has logged in; empty after a refusal."""
        user = self.headers.get("x-auth-user", "")
        if user and self.server_state.users.get(user) == self.headers.get("x-auth-key"):
            return user
        self.reply(401, {"code": 2001, "message": "Unauthorized"})
        return ""

    def _register(self) -> None:
        fields, state = json.loads(self.body), self.server_state
        user, key = fields.get("username"), fields.get("password")
        if not state.may_register:
            self.reply(402, {"code": 2005, "message": "User registration is disabled."})
        elif not user or ":" in user or not key:
            self.reply(403, {"code": 2003, "message": "Invalid request"})
        elif user in state.users:
            self.reply(
                402, {"code": 2002, "message": "Username is already registered."}
            )
        else:
            state.users[user] = key
            self.reply(201, {"username": user})

    def _push(self) -> None:
        user = self._user()
        if not user:
            return
        fields = json.loads(self.body)
        state = self.server_state
        state.bodies.append(fields)
        document = fields.get("document")
        if not document or ":" in document:
            self.reply(403, {"code": 2004, "message": "Field 'document' not provided."})
            return
        has_all = all(
            fields.get(name) is not None
            for name in ("progress", "percentage", "device")
        )
        if not has_all:
            self.reply(403, {"code": 2003, "message": "Invalid request"})
            return
        state.now += 1
        place = {name: fields[name] for name in FIELDS if name in fields}
        state.places[user, document] = {
            **place,
            "timestamp": state.now,
            "document": document,
        }
        self.reply(200, {"document": document, "timestamp": state.now})

    def reply(self, status: int, fields: dict[str, Any]) -> None:
        # The reference server escapes slashes.
        self.send(json.dumps(fields).replace("/", "\\/"), status, "application/json")

    def send(self, text: str, status: int, kind: str, **headers: str) -> None:
        data = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)
        self.server_state.replies += 1

    def log_message(self, format: str, *args: Any) -> None:
        """Keep quiet."""


@contextmanager
def serving() -> Iterator[SyncServer]:
    server = SyncServer()
    try:
        yield server
    finally:
        server.close()
