"""Ctrl+C and SIGTERM while a model works: the first ends the work in order, the second ends the program.

In order means by cancellation: the task's own `finally` blocks close the engine and the memory.
"""

import asyncio
import contextlib
import os
import signal
from collections.abc import Coroutine
from typing import Any, TypeVar

from gistread.errors import ExitStatus, GistreadError

T = TypeVar("T")


class InterruptError(GistreadError):
    """The person stopped it: how far it came, and how to go on."""

    exit_status = ExitStatus.INTERRUPTED


def run_until_interrupted(work: Coroutine[Any, Any, T]) -> T:
    """Run to the end and return what it returns. Raises KeyboardInterrupt when it was cancelled by a signal."""
    try:
        return asyncio.run(_watched(work))
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None


async def _watched(work: Coroutine[Any, Any, T]) -> T:
    task = asyncio.ensure_future(work)
    loop = asyncio.get_running_loop()

    def stop() -> None:
        if task.cancelling():
            os._exit(ExitStatus.INTERRUPTED)
        task.cancel()

    # Systems without signal handlers in the loop (Windows) keep Python's own Ctrl+C.
    with contextlib.suppress(NotImplementedError):
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, stop)
    return await task
