"""Handles Ctrl+C and SIGTERM: the first signal cancels the work, closing engine and memory.

A later one exits.
"""

import asyncio
import os
import signal
import time
from collections.abc import Coroutine
from types import FrameType
from typing import Any, TypeVar

from gistread.cli.output import fail
from gistread.errors import ExitStatus, GistreadError

T = TypeVar("T")
_SIGNALS = (signal.SIGINT, signal.SIGTERM)
# Signals this soon after the first are the same wish: a key that bounces, a shell that passes it on
_REPEATED_S = 0.5


class InterruptError(GistreadError):
    """The user stopped the work. The message gives the progress and how to resume."""

    exit_status = ExitStatus.INTERRUPTED


def run_until_interrupted(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine. Raises KeyboardInterrupt if a signal cancelled it."""
    before = {number: signal.getsignal(number) for number in _SIGNALS}
    stopped_at: float | None = None

    async def watched() -> T:
        loop, task = asyncio.get_running_loop(), asyncio.ensure_future(work)

        def stop(number: int, frame: FrameType | None) -> None:
            nonlocal stopped_at
            if stopped_at is None:
                stopped_at = time.monotonic()
                loop.call_soon_threadsafe(task.cancel)
            elif time.monotonic() - stopped_at > _REPEATED_S:
                fail("Interrupted.")
                os._exit(ExitStatus.INTERRUPTED)

        for number in _SIGNALS:
            signal.signal(number, stop)
        return await task

    try:
        return asyncio.run(watched())
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None
    finally:
        # After a stop only its message is left to print, and Python ends with its own status if no
        # signal is handled.
        for number, handler in before.items():
            signal.signal(number, handler if stopped_at is None else signal.SIG_IGN)
