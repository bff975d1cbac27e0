"""Concurrent requests stay within a fixed number, and interactive ones go first."""

import asyncio
from pathlib import Path

import pytest

from gistread import prompts
from gistread.book.model import Book
from gistread.engine.protocol import Message, Priority, Prompt, Sampling
from gistread.memory.model import PageSize, ReadingMode
from gistread.memory.reading import read_book
from gistread.memory.store import MemoryRequest, MemoryStore
from tests.engine.remote.conftest import Connect, until
from tests.engine.remote.server import Kind, RecordedRequest, Server
from tests.memory.books import make_book, prose

pytestmark = pytest.mark.process

LLAMA = {"/props": {"default_generation_settings": {"n_ctx": 4096}, "total_slots": 2}}


def prompt_of(text: str) -> Prompt:
    return (Message("user", text),)


async def test_concurrent_requests_stay_within_the_limit(connect: Connect) -> None:
    async with Server(seconds=0.05) as server:
        engine = connect(server.url, connections=3)
        await engine.start()
        server.most_running = 0
        await asyncio.gather(
            *(
                engine.complete(prompt_of(f"Say {i}."), priority=Priority.BACKGROUND)
                for i in range(24)
            )
        )
        assert server.most_running == 3
        assert engine.info.parallel == 3


async def test_an_overloaded_server_gets_fewer_requests(connect: Connect) -> None:
    async with Server(seconds=0.02) as server:
        engine = connect(server.url)
        await engine.start()
        server.slots = 2
        answers = [
            engine.complete(prompt_of(f"Say {i}."), priority=Priority.BACKGROUND)
            for i in range(12)
        ]
        assert len(await asyncio.gather(*answers)) == 12
        assert engine.info.parallel <= 2


async def test_requests_that_overfill_a_shared_window_are_repeated_with_fewer_connections(
    connect: Connect,
) -> None:
    """llama-server without `-np`.

    Four slots, each with the whole window, and when it is full all of them fail.
    """
    props = {"default_generation_settings": {"n_ctx": 1000}, "total_slots": 4}
    async with Server(
        Kind("llamacpp", pages={"/props": props}), seconds=0.05
    ) as server:
        engine = connect(server.url)
        await engine.start()
        server.window = 1000
        long = [
            engine.complete(
                prompt_of("word " * 400), Sampling(100), Priority.BACKGROUND
            )
            for _ in range(6)
        ]
        assert all(answer.text for answer in await asyncio.gather(*long))
        assert engine.info.parallel == 2


async def test_an_interactive_request_preempts_a_background_request(
    connect: Connect,
) -> None:
    def says(request: RecordedRequest) -> str:
        if "slow" in request.text and not freed.is_set():
            return "one SLOWLY two"
        return "At once."

    freed = asyncio.Event()
    async with Server(Kind("llamacpp", pages=LLAMA), says) as server:
        engine = connect(server.url)
        await engine.start()
        background = [
            asyncio.ensure_future(
                engine.complete(
                    prompt_of(f"Be slow {i}."), priority=Priority.BACKGROUND
                )
            )
            for i in range(3)
        ]
        await until(lambda: server.running == 2)
        assert (await engine.complete(prompt_of("Quick!"))).text == "At once."
        assert "closed" in [request.ended for request in server.requests]
        freed.set()
        for task in background:
            task.cancel()
        await asyncio.gather(*background, return_exceptions=True)


async def index(
    connect: Connect, server: Server, folder: Path, connections: int, book: Book
) -> None:
    engine = connect(server.url, connections=connections)
    info = await engine.start()
    with MemoryStore(folder).open(
        book,
        MemoryRequest(
            info.name, info.fingerprint, PageSize(100, 300), ReadingMode.SINGLE_PASS
        ),
    ) as kept:
        async for _ in read_book(kept, engine):
            pass
        assert kept.memory.complete


async def test_chapters_read_in_parallel_give_the_same_memory(
    connect: Connect, tmp_path: Path
) -> None:
    book = make_book(
        *([f"# {n}", *(prose(60, seed=10 * n + i) for i in range(8))] for n in range(6))
    )
    texts_of_runs: list[set[str]] = []
    for connections in (1, 8):
        async with Server(Kind(entry={"max_model_len": 4096}), seconds=0.03) as server:
            await index(connect, server, tmp_path / str(connections), connections, book)
            assert server.most_running >= min(connections, 4)
            assert server.most_running <= connections
            greeting = prompts.load("pace").text
            texts = (request.text for request in server.requests)
            texts_of_runs.append({text for text in texts if greeting not in text})
    assert texts_of_runs[0] == texts_of_runs[1]
