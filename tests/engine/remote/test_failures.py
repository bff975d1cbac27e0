"""Transient failures are retried, others reported in a line or two, and no request hangs."""

import asyncio
import time
from pathlib import Path

import pytest

from gistread.engine.protocol import Completion, Message, Prompt, Restarted, Sampling, TextDelta
from gistread.engine.remote.connection import RetryPolicy
from gistread.errors import EngineError
from gistread.memory.model import PageSize, ReadingMethod, ReadingMode
from gistread.memory.reading import PageRead, read_book
from gistread.memory.store import MemoryRequest, MemoryStore
from tests.engine.remote.conftest import Connect, until
from tests.engine.remote.server import Asked, Failure, Kind, Server, Status
from tests.memory.books import make_book, prose

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
async def test_transient_failures_are_retried(connect: Connect, failure: Failure | Status) -> None:
    async with Server() as server:
        engine = connect(server.url)
        await engine.start()
        server.failures = [failure, failure]
        text, restarts = "", 0
        async for event in engine.stream(PROMPT):
            match event:
                case TextDelta(new):
                    text += new
                case Restarted():
                    text, restarts = "", restarts + 1
                case Completion(whole):
                    assert whole == text == TEXT
    assert restarts == (2 if failure in ("cut", "stall", "garbage") else 0)


async def test_a_broken_answer_is_reported_in_plain_words(connect: Connect) -> None:
    async with Server() as server:
        engine = connect(server.url)
        await engine.start()
        server.failures = ["cut"]
        reasons = [event.reason async for event in engine.stream(PROMPT) if isinstance(event, Restarted)]
    assert reasons == ["the server broke off"]


async def test_an_unreliable_end_of_an_answer_is_retried(connect: Connect) -> None:
    """llama_cpp.server says that an answer has ended when another request has cut it off."""
    async with Server(Kind("me", obeys=("grammar",))) as server:
        engine = connect(server.url)
        await engine.start()
        server.failures = ["no end"]
        assert (await engine.complete(PROMPT)).text == TEXT
        assert len([one for one in server.asked if "Say something" in one.text]) == 2


async def test_retries_end(connect: Connect) -> None:
    async with Server() as server:
        engine = connect(server.url)
        await engine.start()
        server.failing = Status(500, "out of memory")
        asked = len(server.asked)
        with pytest.raises(EngineError) as error:
            await engine.complete(PROMPT)
        assert len(server.asked) == asked + 3
    assert "out of memory" in error.value.message
    assert "3 times" in error.value.message
    assert len(str(error.value).splitlines()) == 2


async def test_retry_after_is_respected(connect: Connect) -> None:
    async with Server() as server:
        engine = connect(server.url)
        await engine.start()
        server.failures = [Status(429, "wait", {"retry-after": "0.3"})]
        began = time.monotonic()
        await engine.complete(PROMPT)
        assert time.monotonic() - began >= 0.3


async def test_a_request_that_the_server_finds_invalid_is_not_repeated(connect: Connect) -> None:
    async with Server() as server:
        engine = connect(server.url)
        await engine.start()
        server.failures = [Status(500, "1 validation error: {'type': 'literal_error'}")]
        with pytest.raises(EngineError, match="validation error"):
            await engine.complete(PROMPT)


async def test_a_retry_after_of_hours_is_an_error(connect: Connect) -> None:
    async with Server() as server:
        engine = connect(server.url)
        await engine.start()
        server.failing = Status(429, "quota", {"retry-after": "3600"})
        with pytest.raises(EngineError, match="3,600 s"):
            await engine.complete(PROMPT)


async def test_a_refused_connection_is_reported_at_once(connect: Connect) -> None:
    async with Server() as server:
        url = server.url
    waits_an_hour = RetryPolicy(attempts=2, back_off_s=3600, longest_s=3600)
    with pytest.raises(EngineError, match="No answer from http://127"):
        await asyncio.wait_for(connect(url, retry_policy=waits_an_hour).start(), 60)


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("http://127.0.0.1:{port}/v1", "Connection refused"),
        ("http://nowhere.invalid:{port}/v1", "not known|resolution|No address"),
    ],
)
async def test_connection_errors_quote_the_operating_system(connect: Connect, url: str, told: str) -> None:
    async with Server() as server:
        port = server.port
    with pytest.raises(EngineError, match=told) as error:
        await connect(url.format(port=port)).start()
    assert "Errno" not in error.value.message


async def test_the_error_about_another_service_does_not_speak_of_kept_work(connect: Connect) -> None:
    """Such as a server that requires https."""

    async def hang_up(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()

    async with await asyncio.start_server(hang_up, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(EngineError, match="broke off") as error:
            await connect(f"http://127.0.0.1:{port}/v1").start()
    assert "https" in error.value.hint
    assert "kept" not in error.value.hint


async def test_a_server_that_is_still_loading_is_waited_for(connect: Connect) -> None:
    async with Server() as server:
        server.failures = [Status(503, "Loading model")]
        assert (await connect(server.url).start()).name == "test-model"


async def test_refused_requests_are_not_retried(connect: Connect) -> None:
    async with Server() as server:
        engine = connect(server.url)
        await engine.start()
        server.failing = Status(400, "I do not like it")
        asked = len(server.asked)
        with pytest.raises(EngineError, match="I do not like it"):
            await engine.complete(PROMPT)
        assert len(server.asked) == asked + 1


async def test_a_redirect_is_not_followed(connect: Connect) -> None:
    """Else the key would be sent to another host."""
    async with Server(Kind(pages={"/v1/other": {}})) as server:
        engine = connect(server.url)
        await engine.start()
        server.failing = Status(307, "", {"location": "http://elsewhere.example/v1"})
        with pytest.raises(EngineError, match=r"elsewhere\.example"):
            await engine.complete(PROMPT)


BOOK = make_book(
    ["# One", *(prose(60, seed=i) for i in range(8))],
    ["# Two", *(prose(60, seed=i) for i in range(10, 16))],
)


def shorten(asked: Asked) -> str:
    """A gist that passes the guard: the first words of the page."""
    return " ".join(asked.text.removeprefix("Passage:\n\n").split()[:20]) + "."


async def read(
    connect: Connect, url: str, store: MemoryStore, stop_after: int = 10**6
) -> tuple[int, EngineError | None]:
    """The saved pages, and the error that ended reading."""
    engine = connect(url)
    info = await engine.start()
    with store.open(
        BOOK, MemoryRequest(info.name, info.fingerprint, PageSize(100, 300), ReadingMethod(ReadingMode.CAREFUL))
    ) as kept:
        try:
            async for event in read_book(kept, engine):
                if isinstance(event, PageRead) and event.entry.page.number >= stop_after:
                    break
        except EngineError as error:
            return len(kept.memory.entries), error
        return len(kept.memory.entries), None


async def test_a_server_that_dies_while_reading_loses_no_page(connect: Connect, tmp_path: Path) -> None:
    store = MemoryStore(tmp_path)
    async with Server(says=shorten, seconds=0.02) as server:
        reading = asyncio.ensure_future(read(connect, server.url, store))
        await until(lambda: len(server.asked) >= 8)
        await server.close()
        kept, error = await reading
        assert 0 < kept < 6
        assert error is not None
        assert "No answer from" in error.message
        assert "kept" in error.hint
    async with Server(Kind(models=("/models/Test-Model.gguf",)), says=shorten) as elsewhere:
        whole, error = await read(connect, elsewhere.url, store)
        assert error is None
        gists = [one for one in elsewhere.asked if one.body["max_tokens"] > 30 and "response_format" not in one.body]
        assert 0 < len(gists) <= whole - kept  # Pages of the second chapter may have been kept, too.
    assert len(store.find(BOOK)) == 1


async def test_a_server_restarted_during_the_retries_is_used(connect: Connect) -> None:
    async with Server(seconds=0.05) as server:
        engine = connect(server.url, retry_policy=RetryPolicy(attempts=8, back_off_s=0.05, longest_s=0.1))
        await engine.start()
        answer = asyncio.ensure_future(engine.complete(PROMPT, Sampling()))
        await asyncio.sleep(0.02)
        port = server.port
        await server.close()
        await asyncio.sleep(0.1)
        assert "no connection to 127.0.0.1" in engine.state.notice
        assert len(engine.state.notice) < 80
        await server.open(port)
        assert (await answer).text == TEXT
