"""A shared start continues while one of its callers waits."""

import asyncio

import pytest

from gistread.engine.single_flight import SingleFlight
from gistread.errors import EngineError


class Slow:
    """A start that waits for `let`; counts its starts and cancellations."""

    def __init__(self) -> None:
        self.begun = self.cancelled = 0
        self.let = asyncio.Event()
        self.gone = asyncio.Event()
        """Let a cancelled start be gone."""
        self.gone.set()
        self.error: EngineError | None = None
        self.start = SingleFlight(self._begin, "slow")

    async def _begin(self) -> str:
        self.begun += 1
        number = self.begun
        try:
            await self.let.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            await self.gone.wait()
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


async def test_cancelling_the_only_caller_cancels_the_start_and_it_can_be_repeated() -> None:
    slow = Slow()
    caller = slow.waiting()
    await steps()
    caller.cancel()
    with pytest.raises(asyncio.CancelledError):
        await caller
    assert slow.cancelled == 1
    assert not slow.start.under_way
    slow.let.set()
    assert await slow.start.wait() == "start 2"


@pytest.mark.parametrize("who", [0, 1])
async def test_cancelling_one_of_two_callers_keeps_the_start(who: int) -> None:
    slow = Slow()
    callers = [slow.waiting(), slow.waiting()]
    await steps()
    callers[who].cancel()
    await steps()
    assert callers[who].cancelled()
    slow.let.set()
    assert await callers[1 - who] == "start 1"
    assert slow.cancelled == 0


async def test_cancelling_all_callers_cancels_the_start() -> None:
    slow = Slow()
    callers = [slow.waiting() for _ in range(3)]
    await steps()
    for caller in callers:
        caller.cancel()
    await asyncio.gather(*callers, return_exceptions=True)
    assert all(caller.cancelled() for caller in callers)
    assert slow.cancelled == 1


async def test_a_caller_during_a_cancellation_gets_a_new_start() -> None:
    slow = Slow()
    slow.gone.clear()
    first = slow.waiting()
    await steps()
    first.cancel()
    await steps()
    late = [slow.waiting(), slow.waiting()]
    await steps()
    assert (slow.begun, slow.cancelled) == (1, 1)
    slow.let.set()
    slow.gone.set()
    assert await asyncio.gather(*late) == ["start 2"] * 2
    assert first.cancelled()


async def test_a_failure_reaches_all_callers_and_the_next_caller_retries() -> None:
    slow = Slow()
    slow.error = EngineError("It is broken.")
    callers = [slow.waiting(), slow.waiting()]
    slow.let.set()
    for caller in callers:
        with pytest.raises(EngineError, match="broken"):
            await caller
    slow.error = None
    assert await slow.start.wait() == "start 2"


async def test_a_start_without_callers_is_not_cancelled_by_callers() -> None:
    slow = Slow()
    slow.start.begin()
    caller = slow.waiting()
    await steps()
    caller.cancel()
    await steps()
    assert slow.start.under_way
    slow.let.set()
    assert await slow.start.wait() == "start 1"


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
    slow.start.begin()
    await steps()
    assert slow.begun == 1
