"""Transient failures are retried, others reported in a line or two, and no request hangs."""

import asyncio
import re
import time
from pathlib import Path
from urllib.parse import quote

import pytest

from gistread.engine.protocol import (
    Completion,
    Message,
    Prompt,
    StreamEvent,
    StreamRestarted,
    TextDelta,
)
from gistread.engine.remote.address import parse_address
from gistread.engine.remote.connection import Connection
from gistread.engine.remote.failures import RetryPolicy, UnreachableError
from gistread.errors import EngineError, OutageError
from gistread.memory.model import PageSize, ReadingMode
from gistread.memory.reading import PageRead, read_book
from gistread.memory.store import MemoryRequest, MemoryStore
from tests.engine.remote.conftest import Connect, until
from tests.engine.remote.server import (
    Event,
    Failure,
    Kind,
    RecordedRequest,
    Server,
    Status,
)
from tests.memory.books import make_book, prose

pytestmark = pytest.mark.process

PROMPT: Prompt = (Message("user", "Say something."),)
TEXT = "Somebody did something somewhere."
PASSING: list[Failure | Status] = [
    "drop",
    "cut",
    "stall",
    "garbage",
    "page",
    Status(500, "oops"),
    Status(502),
    Status(503, "Loading model"),
    Status(429, "slow down", {"retry-after": "0"}),
]


@pytest.mark.parametrize("failure", PASSING, ids=str)
async def test_transient_failures_are_retried(
    connect: Connect, failure: Failure | Status
) -> None:
    async with Server() as server:
        engine = connect(server.url)
        await engine.start()
        server.failures = [failure, failure]
        text, restarts = "", 0
        async for event in engine.stream(PROMPT):
            match event:
                case TextDelta(new):
                    text += new
                case StreamRestarted():
                    text, restarts = "", restarts + 1
                case Completion(whole):
                    assert whole == text == TEXT
    assert restarts == (2 if failure in ("cut", "stall", "garbage") else 0)


async def test_what_had_come_stands_if_the_server_does_not_come_back(
    connect: Connect,
) -> None:
    async with Server() as server:
        engine = connect(server.url)
        await engine.start()
        server.failures = ["cut"]
        server.failing = "drop"
        events: list[StreamEvent] = []

        async def receive() -> None:
            async for event in engine.stream(PROMPT):
                events.append(event)  # noqa: PERF401 - it raises in the end

        with pytest.raises(OutageError):
            await receive()
    assert events
    assert all(isinstance(event, TextDelta) for event in events)


class Clock:
    """A clock that goes on by what is slept."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def monotonic(self) -> float:
        return self.now_s

    async def sleep(self, seconds: float) -> None:
        self.now_s += seconds


async def test_the_seconds_until_the_next_attempt_are_counted_down(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = Clock()
    monkeypatch.setattr("gistread.engine.remote.connection.time", clock)
    monkeypatch.setattr("gistread.engine.remote.connection.asyncio", clock)
    notices: list[str] = []
    address = parse_address("http://gpu:80/v1")
    connection = Connection(address, notice=notices.append)
    lost = UnreachableError("refused")
    lost.retry_after_s = 2.9
    await connection.wait_before_retry(lost, 1)
    waits = [notice.rpartition("; ")[2] for notice in notices]
    assert waits[-3:] == ["again in 3 s", "again in 2 s", "again in 1 s"]


async def test_retry_after_is_respected(connect: Connect) -> None:
    async with Server() as server:
        engine = connect(server.url)
        await engine.start()
        server.failures = [Status(429, "wait", {"retry-after": "0.3"})]
        began = time.monotonic()
        await engine.complete(PROMPT)
        assert time.monotonic() - began >= 0.3


async def test_a_refused_connection_is_reported_at_once(connect: Connect) -> None:
    async with Server() as server:
        url = server.url
    waits_an_hour = RetryPolicy(attempts=2, back_off_s=3600, longest_s=3600)
    with pytest.raises(EngineError, match="No answer from http://127"):
        await asyncio.wait_for(connect(url, retry_policy=waits_an_hour).start(), 60)


async def test_refused_requests_are_not_retried(connect: Connect) -> None:
    async with Server() as server:
        engine = connect(server.url)
        await engine.start()
        server.failing = Status(400, "I do not like it")
        count = len(server.requests)
        with pytest.raises(EngineError, match="I do not like it"):
            await engine.complete(PROMPT)
        assert len(server.requests) == count + 1


@pytest.mark.parametrize("failure", ["stream", "status", "redirect"])
async def test_a_key_is_in_no_message(
    connect: Connect, monkeypatch: pytest.MonkeyPatch, failure: str
) -> None:
    key = "s3cret/key+1"
    monkeypatch.setenv("GISTREAD_API_KEY", key)
    echoed = f"Bad key {key}; " + "x" * 285 + key
    async with Server(Kind(key=key), says=lambda _: "one two") as server:
        engine = connect(server.url)
        await engine.start()
        failures: dict[str, Event | Status] = {
            "stream": Event({"error": {"message": echoed, "code": 500}}),
            "status": Status(500, echoed),
            "redirect": Status(
                307,
                "",
                {"location": f"https://elsewhere.example/?token={quote(key, safe='')}"},
            ),
        }
        server.failing = failures[failure]
        notices: list[str] = []
        engine.watch(lambda state: notices.append(state.notice))
        with pytest.raises(EngineError) as error:
            await engine.complete(PROMPT)
    assert "…" in str(error.value)
    for text in (str(error.value), *notices):
        assert "s3cret" not in text


async def test_a_key_is_in_no_answer_that_is_kept(
    connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GISTREAD_API_KEY", "s3cret/key+1")
    async with Server(
        Kind(key="s3cret/key+1"), says=lambda _: "Your key is s3cret/key+1 ."
    ) as server:
        assert (await connect(server.url).complete(PROMPT)).text == "Your key is … ."


async def test_a_silent_server_is_reported_before_the_request_is_repeated(
    connect: Connect,
) -> None:
    async with Server() as server:
        engine = connect(server.url)
        await engine.start()
        notices: list[str] = []
        engine.watch(
            lambda state: notices.append(state.notice) if state.is_fault else None
        )
        server.failures = ["stall"]
        assert (await engine.complete(PROMPT)).text == TEXT
        server.failing = "stall"
        with pytest.raises(EngineError, match="did not answer in time"):
            await engine.complete(PROMPT)
    host = server.origin.partition("://")[2]
    assert re.fullmatch(
        rf"no reply from {host} for 0 s; waiting until \d\d:\d\d:\d\d, then trying again",
        notices[0],
    )
    assert "did not answer in time; again in" in notices[1]
    assert notices[-1].endswith("then giving up")


BOOK = make_book(
    ["# One", *(prose(60, seed=i) for i in range(8))],
    ["# Two", *(prose(60, seed=i) for i in range(10, 16))],
)


def shorten(request: RecordedRequest) -> str:
    """A gist that passes the guard: the first words of the page."""
    return " ".join(request.text.removeprefix("Passage:\n\n").split()[:20]) + "."


async def read(
    connect: Connect, url: str, store: MemoryStore, stop_after: int = 10**6
) -> tuple[int, EngineError | None]:
    """The saved pages, and the error that ended reading."""
    engine = connect(url)
    info = await engine.start()
    with store.open(
        BOOK,
        MemoryRequest(
            info.name, info.fingerprint, PageSize(100, 300), ReadingMode.CAREFUL
        ),
    ) as kept:
        try:
            async for event in read_book(kept, engine):
                if (
                    isinstance(event, PageRead)
                    and event.entry.page.number >= stop_after
                ):
                    break
        except EngineError as error:
            return len(kept.memory.entries), error
        return len(kept.memory.entries), None


async def test_a_server_that_dies_while_reading_loses_no_page(
    connect: Connect, tmp_path: Path
) -> None:
    store = MemoryStore(tmp_path)
    async with Server(says=shorten, seconds=0.02) as server:
        reading = asyncio.ensure_future(read(connect, server.url, store))
        await until(lambda: len(server.requests) >= 8)
        await server.close()
        kept, error = await reading
        assert 0 < kept < 6
        assert error is not None
        assert "No answer from" in error.message
        assert "kept" in error.hint
    async with Server(
        Kind(models=("/models/Test-Model.gguf",)), says=shorten
    ) as elsewhere:
        whole, error = await read(connect, elsewhere.url, store)
        assert error is None
        gists = [
            request
            for request in elsewhere.requests
            if request.body["max_tokens"] > 30 and "response_format" not in request.body
        ]
        # Pages of the second chapter may have been kept, too.
        assert 0 < len(gists) <= whole - kept
    assert len(store.find(BOOK)) == 1


async def test_a_redirect_is_not_followed(connect: Connect) -> None:
    """Else the key would be sent to another host."""
    async with Server(Kind(pages={"/v1/other": {}})) as server:
        engine = connect(server.url)
        await engine.start()
        server.failing = Status(307, "", {"location": "http://elsewhere.example/v1"})
        with pytest.raises(EngineError, match=r"elsewhere\.example"):
            await engine.complete(PROMPT)
