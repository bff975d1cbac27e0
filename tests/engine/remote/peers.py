"""Real model servers on loopback, and the local engine to compare them with."""

import asyncio
import os
import signal
import socket
import subprocess
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

from gistread.engine.llama.client import LlamaEngine
from gistread.engine.llama.worker_process import SPIN_COUNT
from gistread.engine.protocol import Engine
from gistread.engine.remote.address import parse_address
from gistread.engine.remote.client import RemoteEngine

_STARTS_S = 60.0


def free_port() -> int:
    """A free port."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@contextmanager
def running(command: Sequence[str], port: int) -> Iterator[subprocess.Popen[bytes]]:
    """A program, from when it listens at the port.

    Killed at the end, as it may have been before.
    """
    # On a busy machine llama.cpp's threads would spin as long as others compute.
    environment = {"GOMP_SPINCOUNT": SPIN_COUNT, **os.environ}
    with subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment
    ) as server:
        try:
            end = time.monotonic() + _STARTS_S
            while True:
                with socket.socket() as trial:
                    if trial.connect_ex(("127.0.0.1", port)) == 0:
                        break
                assert server.poll() is None, f"{command[0]} ended"
                assert time.monotonic() < end, f"{command[0]} does not begin to listen"
                time.sleep(0.1)
            yield server
        finally:
            server.send_signal(signal.SIGTERM)


@asynccontextmanager
async def both(
    model: Path, address: str, window: int
) -> AsyncIterator[tuple[Engine, Engine]]:
    """The model on the server, and locally."""
    remote = RemoteEngine(parse_address(address), context_tokens=window)
    local = LlamaEngine(model)
    try:
        await asyncio.gather(remote.start(), local.start())
        yield remote, local
    finally:
        await asyncio.gather(remote.close(), local.close())


def spelled(text: str) -> str:
    """What servers do not leave out.

    They drop what is not whole in one token; a model whose tokens are bytes writes much of that.
    """
    return "".join(character for character in text if character.isascii())
