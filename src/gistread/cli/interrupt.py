"""Handles Ctrl+C and SIGTERM: the first signal cancels the work, closing engine and memory; the second exits."""

import asyncio
import os
from collections.abc import Coroutine
from typing import Any, TypeVar

from gistread.errors import ExitStatus, GistreadError
from gistread.system import on_signal

T = TypeVar("T")


class InterruptError(GistreadError):
    """The user stopped the work. The message gives the progress and how to resume."""

    exit_status = ExitStatus.INTERRUPTED


def run_until_interrupted(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine. Raises KeyboardInterrupt if a signal cancelled it."""
    try:
        return asyncio.run(_watched(work))
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None


async def _watched(work: Coroutine[Any, Any, T]) -> T:
    task = asyncio.ensure_future(work)

    def stop() -> None:
        if task.cancelling():
            os._exit(ExitStatus.INTERRUPTED)
        task.cancel()

    for name in ("SIGINT", "SIGTERM"):
        on_signal(name, stop)
    return await task
