"""The calls that differ between POSIX and Windows. The Windows code has been run in simulation only."""

import os
import signal
import struct
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import IO

_LOCKED_BYTE = (1 << 31) - 2  # Windows also blocks reads of a locked byte: this one is beyond any journal's end
_POLL_S = 0.02
# To read a file: opening a pipe without a writer does not block, and Windows changes no line ends.
READ_FLAGS = os.O_RDONLY | sum(getattr(os, name, 0) for name in ("O_NONBLOCK", "O_CLOEXEC", "O_BINARY"))
_NO_MEMORY_WINDOWS = 3, 0xC0000017  # Exit status after abort(), and STATUS_NO_MEMORY


def try_lock(descriptor: int) -> bool:
    """Lock a file for this process; returns False if another has it. Raises OSError if the system has no locks."""
    try:
        if sys.platform == "win32":
            import msvcrt

            position = os.lseek(descriptor, 0, os.SEEK_CUR)
            try:
                os.lseek(descriptor, _LOCKED_BYTE, os.SEEK_SET)
                msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
            finally:
                os.lseek(descriptor, position, os.SEEK_SET)
        else:
            import fcntl

            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    return True


def limit_memory(size_bytes: int) -> None:
    """Limit the memory of this process. No effect on Windows."""
    if sys.platform != "win32":
        import resource

        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_AS, (size_bytes, size_bytes))


def is_limited_below(size_bytes: int) -> bool:
    """Whether the memory of this process is limited below this size (`ulimit -v`; never on Windows)."""
    if sys.platform == "win32":
        return False
    import resource

    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    return limit != resource.RLIM_INFINITY and limit < size_bytes


@contextmanager
def limited_growth(size_bytes: int) -> Iterator[None]:
    """Limit the growth of this process's memory: MemoryError beyond it. No effect on Windows."""
    if sys.platform == "win32":
        yield
        return
    import resource

    import psutil

    before, most = resource.getrlimit(resource.RLIMIT_AS)
    wanted = psutil.Process().memory_info().vms + size_bytes
    with suppress(ValueError, OSError):
        if before == resource.RLIM_INFINITY or wanted < before:
            resource.setrlimit(resource.RLIMIT_AS, (wanted, most))
    try:
        yield
    finally:
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_AS, (before, most))


def disable_core_dumps() -> None:
    """Write no core dump if this process crashes (Windows writes none by default)."""
    if sys.platform != "win32":
        import resource

        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))


def lower_priority(niceness: int) -> None:
    with suppress(OSError):
        if sys.platform == "win32":
            import psutil

            psutil.Process().nice(psutil.BELOW_NORMAL_PRIORITY_CLASS)
        else:
            os.nice(niceness)


def end_group(pid: int, *, force: bool = True) -> None:
    """End a process started with `start_new_session`, and its children. It may have ended already."""
    if sys.platform == "win32":
        import subprocess

        command = ["taskkill", "/PID", str(pid), "/T", *(["/F"] if force else [])]
        with suppress(OSError):
            subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True)
    else:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(pid, signal.SIGKILL if force else signal.SIGTERM)


def may_be_out_of_memory(status: int) -> bool:
    """Whether a process with this exit status may have run out of memory: it was killed, or aborted."""
    if sys.platform == "win32":
        return status in _NO_MEMORY_WINDOWS
    return -status in (signal.SIGABRT, signal.SIGKILL)


def on_signal(name: str, call: Callable[[], object]) -> None:
    """Handle a signal such as `SIGTERM` in the running event loop. No effect if the system lacks the signal."""
    import asyncio  # imported here: small processes use this module too

    number = getattr(signal, name, None)
    if number is None:
        return
    loop = asyncio.get_running_loop()
    try:
        loop.add_signal_handler(number, call)
    except NotImplementedError:
        signal.signal(number, lambda *_: loop.call_soon_threadsafe(call))


def wait_for_data(pipe: IO[bytes], timeout_s: float) -> bool:
    """Wait for data in a pipe, or its end."""
    if sys.platform != "win32":
        import select

        return bool(select.select([pipe], [], [], timeout_s)[0])
    import ctypes
    import msvcrt

    until, size = time.monotonic() + timeout_s, ctypes.c_ulong()
    handle = msvcrt.get_osfhandle(pipe.fileno())
    while True:
        is_open = ctypes.windll.kernel32.PeekNamedPipe(handle, None, 0, None, ctypes.byref(size), None)
        if not is_open or size.value or time.monotonic() >= until:
            return not is_open or size.value > 0
        time.sleep(_POLL_S)


def terminal_path() -> str:
    """Path of the terminal of this process. Raises OSError."""
    if sys.platform == "win32":
        return "CONIN$"
    return os.ctermid()


def cell_pixels() -> tuple[int, int] | None:
    """(width, height) of a terminal cell in pixels; None if unknown."""
    if sys.platform == "win32" or sys.__stdout__ is None:
        return None
    import fcntl
    import termios

    try:
        answer = fcntl.ioctl(sys.__stdout__.fileno(), termios.TIOCGWINSZ, bytes(8))
    except (OSError, ValueError):
        return None
    rows, columns, width, height = struct.unpack("HHHH", answer)
    return (width // columns, height // rows) if rows and columns and width >= columns and height >= rows else None
