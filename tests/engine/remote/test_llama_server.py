"""A real llama-server with the tiny model, which the test server imitates.

It is looked for in GISTREAD_LLAMA_SERVER and on the PATH, and each test runs it in another way that
people do.
"""

import asyncio
import os
import shutil
from collections.abc import Iterator
from contextlib import aclosing, contextmanager
from pathlib import Path

import pytest

from gistread.engine.protocol import Message, Priority, Prompt, Sampling
from gistread.engine.remote.address import parse_address
from gistread.engine.remote.connection import Connection
from gistread.engine.remote.failures import RetryPolicy
from gistread.errors import EngineError
from tests.engine.remote.conftest import Connect
from tests.engine.remote.peers import both, free_port, running, spelled

PROGRAM = os.environ.get("GISTREAD_LLAMA_SERVER") or shutil.which("llama-server")
PATIENT = RetryPolicy(back_off_s=0.2)
LONG = Sampling(1000)
"""Seconds of work for a model that seldom ends by itself."""

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        PROGRAM is None,
        reason="there is no llama-server: not on the PATH, nor GISTREAD_LLAMA_SERVER",
    ),
]


def command(port: int, *options: str) -> list[str]:
    return [
        str(PROGRAM),
        "--host",
        "127.0.0.1",
        "--port",
        str(port),
        "--threads",
        "1",
        *options,
    ]


@contextmanager
def serving(*options: str) -> Iterator[str]:
    """The URL of a llama-server started with these arguments."""
    port = free_port()
    with running(command(port, *options), port):
        yield f"http://127.0.0.1:{port}/v1"


def prompt_of(text: str) -> Prompt:
    return (Message("user", text),)


async def test_choices_and_greedy_words_are_those_of_the_local_engine(
    tiny: Path,
) -> None:
    with serving("-m", str(tiny), "-c", "16384", "-np", "4") as url:
        async with both(tiny, url, 4096) as (remote, local):
            assert remote.info.context_tokens == 4096
            for text in (
                "Hello",
                "A longer one, with more to it: " * 20,
                "Ünïcödé — “quotes”\n\nand lines.",
            ):
                here, there = [
                    await engine.complete(prompt_of(text), Sampling(40))
                    for engine in (local, remote)
                ]
                shorter, longer = sorted(
                    (spelled(there.text), spelled(here.text)), key=len
                )
                assert longer.startswith(shorter)
                assert len(shorter) >= max(1, len(longer) - 2)
                for options in (
                    ["<1>", "<2>", "<12>"],
                    ["Page 3", "STOP"],
                    ['a "q"', "a\\b", "(c)*", "e\nf", "é — ü"],
                ):
                    assert (await remote.choose(prompt_of(text), options)).index < len(
                        options
                    )


async def test_requests_that_share_one_window_do_not_end_one_another(
    tiny: Path, connect: Connect
) -> None:
    """As it is without `-np`: four slots, each with the whole window."""
    with serving("-m", str(tiny), "-c", "2048") as url:
        engine = connect(url, retry_policy=PATIENT)
        assert (await engine.start()).context_tokens == 2048
        failed: set[str] = set()
        engine.watch(
            lambda state: (
                failed.add(state.notice) if "exceeded" in state.notice else None
            )
        )
        # Digits are a token each here and in the estimate.
        prompts = [prompt_of(f"{n} " + "7654321 " * 100) for n in range(8)]
        requests = [
            engine.complete(prompt, Sampling(150), Priority.BACKGROUND)
            for prompt in prompts
        ]
        assert all(answer.usage.generated for answer in await asyncio.gather(*requests))
        assert (engine.info.parallel < 4) is bool(failed), (
            "fewer at once if they did not fit"
        )


async def test_a_cancelled_answer_is_stopped_on_the_server(
    tiny: Path, connect: Connect
) -> None:
    with serving("-m", str(tiny), "-c", "4096", "-np", "1") as url:
        engine = connect(url, retry_policy=PATIENT)
        await engine.start()
        connection = Connection(parse_address(url))
        async with aclosing(engine.stream(prompt_of("Go on."), LONG)) as events:
            async for _ in events:
                break
        for _ in range(300):
            busy = [slot["is_processing"] for slot in await connection.fetch("/slots")]
            if not any(busy):
                break
            await asyncio.sleep(0.01)
        assert not any(busy)
        await connection.close()


async def test_a_server_with_several_models_loads_the_named_one(
    tiny: Path, connect: Connect, tmp_path: Path
) -> None:
    for name in ("one", "two"):
        shutil.copy(tiny, tmp_path / f"{name}.gguf")
    with serving("--models-dir", str(tmp_path), "-c", "4096", "-np", "2") as url:
        with pytest.raises(EngineError, match="several models: one, two"):
            await connect(url, retry_policy=PATIENT).start()
        engine = connect(f"{url}#two", retry_policy=PATIENT)
        info = await engine.start()
        assert (info.name, info.context_tokens) == ("two", 2048)
