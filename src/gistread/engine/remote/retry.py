"""Retries after transient failures, with exponential back-off and a limit on attempts."""

import asyncio
import contextlib
import random
from collections.abc import Awaitable, Callable, Iterator
from typing import TypeVar

from gistread.engine.remote.address import ServerAddress
from gistread.engine.remote.connection import RetryPolicy
from gistread.engine.remote.error_messages import lost_error, refused_error, retry_later_error, retry_notice
from gistread.engine.remote.failures import RequestRefusedError, ServerLostError

_BUSY_ATTEMPTS = 2
"""Factor on the attempts for a server that reports being busy."""
_LONGEST_WAIT = 4
"""Longest Retry-After that is respected, in multiples of the longest pause."""

T = TypeVar("T")


class Retrier:
    """Retries requests to one server after transient failures."""

    def __init__(
        self, address: ServerAddress, policy: RetryPolicy, notice: Callable[[str], None], *, with_key: bool
    ) -> None:
        """`notice` shows the person a line while waiting. `with_key`: whether a key is sent."""
        self._address = address
        self._policy = policy
        self._notice = notice
        self._with_key = with_key

    async def after(self, lost: ServerLostError, failures: int) -> None:
        """Wait before the next attempt. Raises EngineError after too many failures."""
        policy = self._policy
        if failures >= policy.attempts * (_BUSY_ATTEMPTS if lost.busy else 1):
            raise lost_error(self._address, lost, failures) from None
        # Jitter, so that requests that failed together do not return together.
        wait_s = min(policy.longest_s, policy.back_off_s * 2 ** (failures - 1)) * random.uniform(0.75, 1.25)
        if lost.retry_after_s is not None:
            if lost.retry_after_s > _LONGEST_WAIT * policy.longest_s:
                raise retry_later_error(self._address, lost.retry_after_s) from None
            wait_s = lost.retry_after_s + policy.back_off_s * random.uniform(0.0, 0.25)
        self._notice(retry_notice(self._address, lost, wait_s))
        await asyncio.sleep(wait_s)

    async def call(self, request: Callable[[], Awaitable[T]], *, only_busy: bool = False) -> T:
        """Retry a call while it fails with ServerLostError.

        `only_busy`: retry only while the server reports being busy, so that a wrong address fails at once.
        Raises RequestRefusedError, EngineError.
        """
        failures = 0
        while True:
            try:
                return await request()
            except ServerLostError as lost:
                if only_busy and not lost.busy:
                    raise lost_error(self._address, lost) from None
                failures += 1
                await self.after(lost, failures)

    @contextlib.contextmanager
    def refusals(self) -> Iterator[None]:
        """Translate RequestRefusedError into EngineError."""
        try:
            yield
        except RequestRefusedError as refusal:
            raise refused_error(self._address, refusal, with_key=self._with_key) from None
