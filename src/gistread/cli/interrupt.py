"""Handles Ctrl+C and SIGTERM.

The first signal cancels the work, which closes engine and memory. A later one exits at once.
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
# A signal this soon after the first is a repetition: a key that bounces, a shell that passes it on
_REPEATED_S = 0.5
_stopped_by = signal.SIGINT.value  # The last signal that cancelled work


class InterruptError(GistreadError):
    """The user stopped the work. The message gives the progress and how to resume."""

    exit_status = ExitStatus.INTERRUPTED


class TerminatedError(InterruptError):
    """SIGTERM stopped the work."""

    exit_status = ExitStatus.TERMINATED


def stop_status() -> ExitStatus:
    """The status of a process that the last signal ended."""
    is_termination = _stopped_by == signal.SIGTERM
    return ExitStatus.TERMINATED if is_termination else ExitStatus.INTERRUPTED


def run_until_interrupted(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine.

    Raises KeyboardInterrupt if SIGINT cancelled it, TerminatedError for SIGTERM.
    """
    handlers = {number: signal.getsignal(number) for number in _SIGNALS}
    stopped_at: float | None = None

    async def watched() -> T:
        loop = asyncio.get_running_loop()
        task = asyncio.ensure_future(work)

        def stop(number: int, frame: FrameType | None) -> None:
            nonlocal stopped_at
            global _stopped_by
            if stopped_at is None:
                stopped_at = time.monotonic()
                _stopped_by = number
                loop.call_soon_threadsafe(task.cancel)
            elif time.monotonic() - stopped_at > _REPEATED_S:
                fail("Interrupted.")
                _stopped_by = number
                os._exit(stop_status())

        for number in _SIGNALS:
            signal.signal(number, stop)
        return await task

    try:
        return asyncio.run(watched())
    except asyncio.CancelledError:
        if _stopped_by == signal.SIGTERM:
            raise TerminatedError("Interrupted.") from None
        raise KeyboardInterrupt from None
    except InterruptError as error:
        if _stopped_by == signal.SIGTERM:
            raise TerminatedError(error.message, error.hint) from None
        raise
    finally:
        # After a stop, only its message remains to be printed: further signals are ignored, as
        # Python's own handlers would end the process with another status.
        was_stopped = stopped_at is not None
        for number, handler in handlers.items():
            signal.signal(number, signal.SIG_IGN if was_stopped else handler)
