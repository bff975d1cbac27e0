"""Calls to the operating system: locks, limits, priorities, process groups and the terminal.

For Linux and macOS.
"""

import fcntl
import math
import os
import resource
import select
import signal
import struct
import sys
import termios
from contextlib import suppress
from io import FileIO

_MMAP_THRESHOLD, _ARENA_MAX = -3, -8  # Parameters of `mallopt`
_LARGE_BYTES = 128 * 1024  # glibc's own threshold at the start


def try_lock(descriptor: int) -> bool:
    """Lock a file for this process; returns False if another has it.

    Raises OSError if the system has no locks.
    """
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    return True


def limit_memory(size_bytes: int) -> None:
    """Limit the memory of this process."""
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_AS, (size_bytes, size_bytes))


def is_limited_below(size_bytes: int) -> bool:
    """Whether the memory of this process is limited below this size (`ulimit -v`)."""
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    return limit != resource.RLIM_INFINITY and limit < size_bytes


def limit_cpu(seconds: int) -> None:
    """End this process once it has used this much more processor time, rounded up to a second."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    limit = math.ceil(used.ru_utime + used.ru_stime) + seconds
    _, hard_limit = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (limit, hard_limit))


def disable_core_dumps() -> None:
    """Write no core dump if this process crashes."""
    with suppress(ValueError, OSError):
        _, hard_limit = resource.getrlimit(resource.RLIMIT_CORE)
        resource.setrlimit(resource.RLIMIT_CORE, (0, hard_limit))


def lower_priority(niceness: int) -> None:
    """Let other processes go first."""
    with suppress(OSError):
        os.nice(niceness)


def end_group(pid: int) -> None:
    """End a process started with `start_new_session`, and its children.

    It may have ended already.
    """
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


def may_be_out_of_memory(status: int) -> bool:
    """Whether a process with this exit status was killed or aborted, as for lack of memory.

    As `subprocess` has it: the status of a process that a signal ended is minus the signal.
    """
    return -status in (signal.SIGABRT, signal.SIGKILL)


def wait_for_data(pipe: FileIO, timeout_s: float) -> bool:
    """Wait for data in a pipe, or its end. Returns False if neither comes in time."""
    readable, _, _ = select.select([pipe], [], [], timeout_s)
    return bool(readable)


def cell_pixels() -> tuple[int, int] | None:
    """(width, height) of a terminal cell in pixels; None if unknown."""
    if sys.__stdout__ is None:
        return None
    try:
        answer = fcntl.ioctl(sys.__stdout__.fileno(), termios.TIOCGWINSZ, bytes(8))
    except (OSError, ValueError):
        return None
    rows, columns, width, height = struct.unpack("HHHH", answer)
    # Some terminals give 0 for what they do not know.
    if rows and columns and width >= columns and height >= rows:
        return (width // columns, height // rows)
    return None


def return_freed_memory() -> None:
    """Let this process return large freed texts to the system at once.

    Call it before threads start. By default, glibc gives each thread a heap of its own; and once a
    large text was freed, it keeps freed texts up to that size.
    """
    _call_libc("mallopt", _MMAP_THRESHOLD, _LARGE_BYTES)
    _call_libc("mallopt", _ARENA_MAX, 2)


def free_unused_memory() -> None:
    """Return all freed memory to the system.

    Each question about a long book leaves some megabytes.
    """
    _call_libc("malloc_trim", 0)


def _call_libc(name: str, *arguments: int) -> None:
    """Call a function of the C library that Python runs on, if it has it."""
    import ctypes

    with suppress(OSError, AttributeError):  # Libraries other than glibc lack it.
        ctypes.CDLL(None)[name](*arguments)
