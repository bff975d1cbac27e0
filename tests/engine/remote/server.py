"""A model server for tests, on loopback, that imitates any program and any failure.

It speaks plain HTTP/1.1 over asyncio and answers by a script: what a model would say is computed
from the request. Whatever it is asked is kept. A failure is used up by the request that meets it.
"""

import asyncio
import contextlib
import json
import re
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Literal, Self

from tests.fake_engine import tokens_in

Json = Any
Failure = Literal["drop", "cut", "stall", "garbage", "no end", "page", "login"]
"""No answer at all; half of one; half of one and then nothing; no JSON.

An end that nobody announced; HTML; a page to log in, as if all were well.
"""


@dataclass(frozen=True)
class Status:
    """An error status to answer with."""

    status: int
    message: str = "no"
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Event:
    """An event to end the answer with."""

    event: Json


@dataclass
class RecordedRequest:
    """A recorded request."""

    body: Json
    headers: Mapping[str, str]
    ended: str = ""
    """`whole`, or `closed` when the client closed the connection before the end."""

    @property
    def text(self) -> str:
        return "\n".join(str(message["content"]) for message in self.body["messages"])


@dataclass
class Kind:
    """How the server differs from others."""

    owner: str = "somebody"
    obeys: Sequence[str] = ("response_format",)
    """Fields for constraints that it follows; others it ignores."""
    refuses: Sequence[str] = ()
    """Fields that it does not take."""
    models: Sequence[str] = ("test-model",)
    entry: Mapping[str, Any] = field(default_factory=lambda: {"max_model_len": 4096})
    """What it tells of each model besides."""
    pages: Mapping[str, Json] = field(default_factory=dict)
    """What lies at other paths."""
    base: str = "/v1"
    key: str = ""
    """The key that it wants."""
    says_usage: bool = True
    thoughts: int = 0
    """So many of its first words it reports apart, as reasoning."""
    streams: bool = True
    in_parts: bool = False
    """Whether its contents are lists of parts."""
    first_bytes: bytes = b""
    """What its streams begin with."""
    done: str = "[DONE]"
    finish: str = "stop"
    """Why its answers end."""
    lists: bool = True
    """Whether it can tell its models."""


_PAGES = {
    "page": (
        b"HTTP/1.1 502 Bad Gateway\r\ncontent-type: text/html\r\ncontent-length: 13\r\n\r\n"
        b"<html></html>"
    ),
    "login": (
        b"HTTP/1.1 200 OK\r\ncontent-type: text/html; charset=utf-8\r\n"
        b"content-length: 26\r\n\r\n<html>Please log in</html>"
    ),
}
"""What stands between client and server answers in its place."""


class Server:
    """Use as an async context manager."""

    def __init__(
        self,
        kind: Kind | None = None,
        says: Callable[[RecordedRequest], str] = lambda _: (
            "Somebody did something somewhere."
        ),
        *,
        seconds: float = 0.0,
    ) -> None:
        """`seconds`: from a request to the first word of its answer."""
        self.kind = kind or Kind()
        self.says = says
        self.seconds = seconds
        self.requests: list[RecordedRequest] = []
        self.failures: list[Failure | Status | Event] = []
        """For the next requests, one each; then all is well."""
        self.failing: Failure | Status | Event | None = None
        """For all requests from now on."""
        self.running = 0
        self.most_running = 0
        self.slots: int | None = None
        """More requests than these at the same time are refused with 429."""
        self.window: int | None = None
        """Tokens that requests share, as in llama-server's unified cache; beyond it all fail."""
        self.crowded = 0
        """Requests that have failed so."""
        self._filled: dict[asyncio.Event, int] = {}
        self.counted = 0
        self._between: list[float] = []

    async def __aenter__(self) -> Self:
        await self.open()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def open(self, port: int = 0) -> None:
        self._connections: set[asyncio.StreamWriter] = set()
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", port)
        self.port: int = self._server.sockets[0].getsockname()[1]

    async def close(self) -> None:
        """Close abruptly, as if killed."""
        self._server.close()
        for writer in list(self._connections):
            writer.transport.abort()
        await asyncio.sleep(0)

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def url(self) -> str:
        return f"{self.origin}{self.kind.base}"

    async def _serve(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self._connections.add(writer)
        try:
            while (head := await reader.readuntil(b"\r\n\r\n")) is not None:
                first, *lines = head.decode().split("\r\n")
                method, path, _ = first.split(" ")
                headers = {
                    name.casefold(): value.strip()
                    for name, _, value in (line.partition(":") for line in lines)
                }
                data = await reader.readexactly(int(headers.get("content-length", 0)))
                body = json.loads(data) if data else None
                if not await self._answer(method, path, headers, body, reader, writer):
                    return
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            self._connections.discard(writer)
            writer.close()

    async def _answer(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str],
        body: Json,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> bool:
        """Answer a request; whether to keep the connection."""
        kind = self.kind
        if kind.key and headers.get("authorization") != f"Bearer {kind.key}":
            return _send(
                writer, Status(401, f"wrong key {headers.get('authorization', '')}")
            )
        if path == f"{kind.base}/chat/completions":
            return await self._chat(RecordedRequest(body, headers), reader, writer)
        if path == f"{kind.base}/models" and not kind.lists:
            return _send(writer, Status(500, "Internal Server Error"))
        if path == f"{kind.base}/models":
            entries = [
                {"id": model, "object": "model", "owned_by": kind.owner, **kind.entry}
                for model in kind.models
            ]
            return _send(writer, {"object": "list", "data": entries})
        if path in kind.pages:
            page = kind.pages[path]
            if callable(page):
                self.counted += 1
                page = page(body)
            return _send(writer, page)
        return _send(writer, Status(404, "nothing here"))

    async def _chat(
        self,
        request: RecordedRequest,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> bool:
        self.requests.append(request)
        for name in self.kind.refuses:
            if name in request.body:
                return _send(writer, Status(400, f"Unsupported parameter: '{name}'"))
        failure = self.failures.pop(0) if self.failures else self.failing
        if isinstance(failure, Status):
            return _send(writer, failure)
        if failure == "drop":
            return False
        if failure == "page" or failure == "login":
            writer.write(_PAGES[failure])
            return True
        if self.slots is not None and self.running >= self.slots:
            return _send(writer, Status(429, "too many requests"))
        return await self._reply(request, failure, reader, writer)

    async def _reply(
        self,
        request: RecordedRequest,
        failure: Failure | Event | None,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> bool:
        self.running += 1
        self.most_running = max(self.most_running, self.running)
        closed = asyncio.ensure_future(reader.read(1))
        crowd = asyncio.Event()
        self._filled[crowd] = tokens_in(request.text) + request.body.get(
            "max_tokens", 0
        )
        if self.window is not None and sum(self._filled.values()) > self.window:
            for crowded_out in self._filled:
                crowded_out.set()
        crowded = asyncio.ensure_future(crowd.wait())
        try:
            answer = asyncio.ensure_future(
                _unless(closed, self._stream(request, failure, writer))
            )
            await asyncio.wait({answer, crowded}, return_when=asyncio.FIRST_COMPLETED)
            if answer.done():
                return answer.result()
            answer.cancel()
            await asyncio.gather(answer, return_exceptions=True)
            self.crowded += 1
            return _send(writer, Status(500, "Context size has been exceeded."))
        except ConnectionError:
            request.ended = "closed"
            return False
        finally:
            self.running -= 1
            del self._filled[crowd]
            closed.cancel()
            crowded.cancel()
            await asyncio.gather(closed, crowded, return_exceptions=True)

    async def _stream(
        self,
        request: RecordedRequest,
        failure: Failure | Event | None,
        writer: asyncio.StreamWriter,
    ) -> bool:
        await asyncio.sleep(self.seconds)
        text = constrained(self.kind, request.body) or self.says(request)
        prompt = tokens_in(request.text)
        pieces = re.findall(r"\s*\S+|\s+$", text)
        limit = _most_tokens(request.body)
        finish = "length" if len(pieces) > limit else self.kind.finish
        pieces = pieces[:limit]
        usage: Json = {"prompt_tokens": prompt, "completion_tokens": len(pieces)}
        usage["prompt_tokens_details"] = {"cached_tokens": 1}
        if not self.kind.streams:
            message = {"role": "assistant", "content": "".join(pieces)}
            return _send(
                writer,
                {
                    "choices": [{"message": message, "finish_reason": finish}],
                    "usage": usage,
                },
            )
        self._begin_stream(writer)
        for number, piece in enumerate(pieces):
            _event(writer, {"choices": [self._choice(number, piece)]})
            await writer.drain()
            if failure and number >= len(pieces) // 2:
                is_open = await _fail(failure, writer)
                if is_open is not None:
                    return is_open
            if piece.strip() == "SLOWLY":
                await asyncio.sleep(3600)
        _event(writer, {"choices": [{"delta": {}, "finish_reason": finish}]})
        if self.kind.says_usage:
            _event(writer, {"choices": [], "usage": usage})
        _chunk(writer, f"data: {self.kind.done}\n\n".encode())
        _chunk(writer, b"")
        await writer.drain()
        request.ended = "whole"
        return True

    def _choice(self, number: int, piece: str) -> Json:
        name = "reasoning_content" if number < self.kind.thoughts else "content"
        content = [{"type": "text", "text": piece}] if self.kind.in_parts else piece
        return {"delta": {name: content}, "finish_reason": None}

    def _begin_stream(self, writer: asyncio.StreamWriter) -> None:
        writer.write(
            b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: "
            b"chunked\r\n\r\n"
        )
        if self.kind.first_bytes:
            _chunk(writer, self.kind.first_bytes)
        begin: Json = {"role": "assistant", "content": None}
        _event(writer, {"choices": [{"delta": begin, "finish_reason": None}]})


def _most_tokens(body: Json) -> int:
    limit: int = body.get("max_tokens") or body.get("max_completion_tokens") or 10**9
    return limit


async def _fail(failure: Failure | Event, writer: asyncio.StreamWriter) -> bool | None:
    """Fail in the midst of an answer.

    Returns whether the connection stays open; None if the answer goes on.
    """
    match failure:
        case Event():
            _event(writer, failure.event)
            return False
        case "cut":
            return False
        case "stall":
            await asyncio.sleep(3600)
        case "garbage":
            _chunk(writer, b"data: {not json\n\n")
        case "no end":
            _chunk(writer, b"data: [DONE]\n\n")
            _chunk(writer, b"")
            return True
    return None


def constrained(kind: Kind, body: Json) -> str:
    """What a model held to the constraint of the request says; empty if the server follows none.

    It takes the last of the options, since a model that is only asked mostly takes the first.
    """
    match body.get("response_format"):
        case {"json_schema": {"schema": {"properties": properties}}} if kind.obeys:
            return json.dumps(
                {key: _legal_value(schema) for key, schema in properties.items()}
            )
    return ""


def _legal_value(schema: Json) -> Json:
    match schema:
        case {"enum": [*_, last]}:
            return last
        case {"type": "array", "items": items}:
            return [_legal_value(items)]
    return "in some words"


async def _unless(
    closed: "asyncio.Future[bytes]", answer: Coroutine[Any, Any, bool]
) -> bool:
    """The answer. Raises ConnectionError if the client disconnects first."""
    work = asyncio.ensure_future(answer)
    waited: set[asyncio.Future[Any]] = {closed, work}
    await asyncio.wait(waited, return_when=asyncio.FIRST_COMPLETED)
    if not work.done():
        work.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await work
        raise ConnectionError
    return work.result()


def _send(writer: asyncio.StreamWriter, answer: Json) -> bool:
    status = 200
    headers: Mapping[str, str] = {}
    body = answer
    if isinstance(answer, Status):
        status = answer.status
        headers = answer.headers
        body = _error(answer)
    data = json.dumps(body).encode()
    lines = [
        f"HTTP/1.1 {status} X",
        "content-type: application/json",
        f"content-length: {len(data)}",
    ]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    writer.write("\r\n".join(lines).encode() + b"\r\n\r\n" + data)
    return True


def _error(failed: Status) -> Json:
    """An error as llama-server and vLLM word it."""
    return {
        "error": {"code": failed.status, "message": failed.message, "type": "an_error"}
    }


def _event(writer: asyncio.StreamWriter, event: Json) -> None:
    _chunk(writer, b"data: " + json.dumps(event).encode() + b"\n\n")


def _chunk(writer: asyncio.StreamWriter, data: bytes) -> None:
    writer.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
