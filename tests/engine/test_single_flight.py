"""A start is shared by those who wait for it."""

import asyncio

import pytest

from gistread.engine.concurrency import SingleFlight
from gistread.errors import EngineError


class Slow:
    """A start that waits for `let`; counts its starts and cancellations."""

    def __init__(self) -> None:
        self.begun = self.cancelled = 0
        self.let = asyncio.Event()
        self.error: EngineError | None = None
        self.start = SingleFlight(self._begin, "slow")

    async def _begin(self) -> str:
        self.begun += 1
        number = self.begun
        try:
            await self.let.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        if self.error is not None:
            raise self.error
        return f"start {number}"

    def waiting(self) -> "asyncio.Task[str]":
        return asyncio.create_task(self.start.wait())


async def steps() -> None:
    """Run the event loop until nothing changes."""
    for _ in range(10):
        await asyncio.sleep(0)


async def test_concurrent_callers_share_one_start() -> None:
    slow = Slow()
    callers = [slow.waiting() for _ in range(3)]
    await steps()
    assert slow.start.under_way
    slow.let.set()
    assert await asyncio.gather(*callers) == ["start 1"] * 3
    assert not slow.start.under_way


async def test_a_start_goes_on_without_its_caller() -> None:
    slow = Slow()
    caller = slow.waiting()
    await steps()
    caller.cancel()
    await steps()
    assert caller.cancelled()
    slow.let.set()
    assert await slow.start.wait() == "start 1"


async def test_a_failed_start_is_repeated() -> None:
    slow = Slow()
    slow.error = EngineError("No memory.")
    slow.let.set()
    with pytest.raises(EngineError, match="No memory"):
        await slow.start.wait()
    slow.error = None
    assert await slow.start.wait() == "start 2"


async def test_closing_cancels_the_start_and_fails_its_callers() -> None:
    slow = Slow()
    caller = slow.waiting()
    await steps()
    await slow.start.close()
    assert slow.cancelled == 1
    with pytest.raises(EngineError, match="closed"):
        await caller
    with pytest.raises(EngineError, match="closed"):
        await slow.start.wait()
    assert slow.begun == 1
