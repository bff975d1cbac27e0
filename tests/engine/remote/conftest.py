"""Engines over a test server, with short timeouts and few retries."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
import pytest_asyncio

from gistread.engine.remote.address import parse_address
from gistread.engine.remote.client import RemoteEngine
from gistread.engine.remote.failures import RetryPolicy

HURRIED = RetryPolicy(
    connect_s=2,
    answer_s=0.5,
    short_s=2,
    silent_s=0.2,
    attempts=3,
    silent_attempts=3,
    back_off_s=0.02,
    longest_s=0.1,
)

Connect = Callable[..., RemoteEngine]


async def until(holds: Callable[[], bool]) -> None:
    """Wait until the condition holds."""
    end = time.monotonic() + 10
    while not holds():
        assert time.monotonic() < end, "it did not come to that"
        await asyncio.sleep(0.005)


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hide the user's own keys."""
    for name in ("GISTREAD_API_KEY", "GISTREAD_API_KEY_127_0_0_1", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)


@pytest_asyncio.fixture
async def connect() -> AsyncIterator[Connect]:
    """Starts engines, and closes them after the test."""
    engines: list[RemoteEngine] = []

    def make(url: str, **options: Any) -> RemoteEngine:
        engines.append(
            RemoteEngine(
                parse_address(url),
                retry_policy=options.pop("retry_policy", HURRIED),
                **options,
            )
        )
        return engines[-1]

    yield make
    for engine in engines:
        await engine.close()
