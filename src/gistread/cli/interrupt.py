"""Ctrl+C and SIGTERM: the first cancels the work, so that engine and memory are closed; the second exits at once."""

import asyncio
import os
import signal
from collections.abc import Coroutine
from typing import Any, TypeVar

from gistread.errors import ExitStatus, GistreadError

T = TypeVar("T")


class InterruptError(GistreadError):
    """The user stopped the work; says how far it got and how to resume."""

    exit_status = ExitStatus.INTERRUPTED


def run_until_interrupted(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine. Raises KeyboardInterrupt if a signal cancelled it."""
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

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop)
    return await task
