"""A real llama_cpp.server and the local engine begin alike for the same prompts."""

import asyncio
import importlib.util
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from gistread.engine.protocol import Message, Prompt, Sampling
from tests.engine.remote.peers import both, free_port, running, spelled

_NEEDS = (
    "fastapi",
    "uvicorn",
    "sse_starlette",
    "starlette_context",
    "pydantic_settings",
)

pytestmark = pytest.mark.skipif(
    any(importlib.util.find_spec(name) is None for name in _NEEDS),
    reason="llama_cpp.server lacks what it needs: install gistread[test]",
)


@contextmanager
def serving(model: Path, window: int) -> Iterator[str]:
    """The URL of a server with this model. It computes attention as the local engine does."""
    port = free_port()
    command = [
        sys.executable,
        "-m",
        "llama_cpp.server",
        "--model",
        str(model),
        "--host",
        "127.0.0.1",
    ]
    command += [
        "--port",
        str(port),
        "--n_ctx",
        str(window),
        "--last_n_tokens_size",
        "256",
        "--flash_attn",
        "true",
    ]
    with running(command, port):
        yield f"http://127.0.0.1:{port}/v1"


@pytest.fixture(scope="module")
def url(tiny: Path) -> Iterator[str]:
    with serving(tiny, 4096) as address:
        yield address


def prompts() -> list[Prompt]:
    texts = (
        "Hello",
        "A longer one, with more to it: " * 20,
        "Ünïcödé — “quotes”\n\nand lines.",
    )
    return [(Message("user", text),) for text in texts]


async def test_answers_begin_like_those_of_the_local_engine(
    tiny: Path, url: str
) -> None:
    async with both(tiny, url, 4096) as (remote, local):
        for prompt in prompts():
            here = await local.complete(prompt, Sampling(40))
            there = await remote.complete(prompt, Sampling(40))
            # Later on the server's own repetition penalty differs.
            assert spelled(there.text)[:3] == spelled(here.text)[:3] != ""


async def test_concurrent_requests_do_not_abort_each_other(
    tiny: Path, url: str
) -> None:
    async with both(tiny, url, 4096) as (remote, _):
        requests = [
            remote.complete((Message("user", f"Number {n}"),), Sampling(30))
            for n in range(6)
        ]
        answers = await asyncio.gather(*requests)
        assert all(answer.finish == "length" or answer.text for answer in answers)
        again = [
            await remote.complete((Message("user", f"Number {n}"),), Sampling(30))
            for n in range(6)
        ]
        assert [answer.text for answer in again] == [answer.text for answer in answers]
