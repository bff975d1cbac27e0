"""Failures that pass are waited out, each time longer; those that do not are told to the person.

How often and how long is bounded, so that nobody waits for ever for a server that is gone.
"""

import asyncio
import contextlib
import random
from collections.abc import Awaitable, Callable, Iterator
from typing import TypeVar

from gistread.engine.remote.address import ServerAddress
from gistread.engine.remote.connection import RetryPolicy
from gistread.engine.remote.error_messages import lost_error, refused_error, waits_error, waits_line
from gistread.engine.remote.failures import RequestRefusedError, ServerLostError

_BUSY_ATTEMPTS = 2
"""A server that says it is busy is asked so many times as often as one that says nothing."""
_LONGEST_WAIT = 4
"""A server that wants to be left alone for longer than so many of the longest pauses is not waited for."""

T = TypeVar("T")


class Retrier:
    """For one server."""

    def __init__(
        self, address: ServerAddress, patience: RetryPolicy, notice: Callable[[str], None], *, with_key: bool
    ) -> None:
        """`notice` takes a line for the person while it is waited. `with_key`: one is sent to the server."""
        self._address = address
        self._patience = patience
        self._notice = notice
        self._with_key = with_key

    async def after(self, lost: ServerLostError, failures: int) -> None:
        """Wait before the next attempt, after so many failures. Raises EngineError when there is to be none."""
        patience = self._patience
        if failures >= patience.attempts * (_BUSY_ATTEMPTS if lost.busy else 1):
            raise lost_error(self._address, lost, failures) from None
        # Requests that have failed together should not come back together.
        wait_s = min(patience.longest_s, patience.back_off_s * 2 ** (failures - 1)) * random.uniform(0.75, 1.25)
        if lost.retry_after_s is not None:
            if lost.retry_after_s > _LONGEST_WAIT * patience.longest_s:
                raise waits_error(self._address, lost.retry_after_s) from None
            wait_s = lost.retry_after_s + patience.back_off_s * random.uniform(0.0, 0.25)
        self._notice(waits_line(self._address, lost, wait_s))
        await asyncio.sleep(wait_s)

    async def for_answer(self, call: Callable[[], Awaitable[T]], *, at_once: bool = False) -> T:
        """What the call returns, which is made again while it fails in passing.

        `at_once`: only as long as the server says that it is busy; a wrong address should be told soon. Raises
        RequestRefusedError, EngineError.
        """
        failures = 0
        while True:
            try:
                return await call()
            except ServerLostError as lost:
                if at_once and not lost.busy:
                    raise lost_error(self._address, lost) from None
                failures += 1
                await self.after(lost, failures)

    @contextlib.contextmanager
    def refusals(self) -> Iterator[None]:
        """What the server refuses becomes an EngineError."""
        try:
            yield
        except RequestRefusedError as refusal:
            raise refused_error(self._address, refusal, with_key=self._with_key) from None
