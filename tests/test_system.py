"""The calls that differ between systems: the POSIX way as it is, the Windows way on simulated modules."""

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from gistread import system


@pytest.fixture
def windows(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """What was asked of Windows."""
    asked: list[object] = []

    def locking(descriptor: int, mode: int, count: int) -> None:
        at = os.lseek(descriptor, 0, os.SEEK_CUR)
        if ("lock", at) in asked:
            raise PermissionError
        asked.append(("lock", at))

    def peek(handle: int, *arguments: object) -> int:
        asked.append(("peek", handle))
        arguments[3].value = 7 if asked.count(("peek", handle)) > 1 else 0  # type: ignore[attr-defined]
        return 1

    modules = {
        "msvcrt": SimpleNamespace(LK_NBLCK=2, locking=locking, get_osfhandle=lambda descriptor: descriptor),
        "psutil": SimpleNamespace(
            BELOW_NORMAL_PRIORITY_CLASS=16384, Process=lambda: SimpleNamespace(nice=lambda n: asked.append(("nice", n)))
        ),
        "ctypes": SimpleNamespace(
            c_ulong=lambda: SimpleNamespace(value=0),
            byref=lambda size: size,
            windll=SimpleNamespace(kernel32=SimpleNamespace(PeekNamedPipe=peek)),
        ),
        **dict.fromkeys(("fcntl", "resource", "termios", "select")),
    }
    for name, module in modules.items():
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setattr(subprocess, "run", lambda command, **_: asked.append(tuple(command)))
    for name in ("SIGHUP", "SIGKILL"):
        monkeypatch.delattr(signal, name)
    monkeypatch.setattr(sys, "platform", "win32")
    return asked


def test_on_windows_nothing_of_posix_is_needed(windows: list[object], tmp_path: Path) -> None:
    with (tmp_path / "journal").open("w+b") as file:
        file.write(b"page")
        file.flush()
        assert system.try_lock(file.fileno())
        assert file.tell() == 4
        assert windows.pop() == ("lock", (1 << 31) - 2)
        windows.append(("lock", (1 << 31) - 2))
        assert not system.try_lock(file.fileno())
        windows.clear()
        assert system.wait_for_data(file, 5)
        assert windows == [("peek", file.fileno())] * 2
    windows.clear()
    system.limit_memory(1)
    system.disable_core_dumps()
    system.lower_priority(5)
    system.end_group(12)
    system.end_group(12, force=False)
    assert windows == [("nice", 16384), ("taskkill", "/PID", "12", "/T", "/F"), ("taskkill", "/PID", "12", "/T")]
    assert system.cell_pixels() is None
    assert system.terminal_path() == "CONIN$"
    assert system.may_be_out_of_memory(3)
    assert not system.may_be_out_of_memory(1)


def test_a_signal_calls_in_the_loop_also_where_the_loop_has_no_handlers(monkeypatch: pytest.MonkeyPatch) -> None:
    async def called(name: str) -> None:
        heard = asyncio.Event()
        system.on_signal(name, heard.set)
        system.on_signal("SIGNOTHING", heard.set)
        assert not heard.is_set()
        signal.raise_signal(signal.SIGTERM)
        await asyncio.wait_for(heard.wait(), 30)

    before = signal.getsignal(signal.SIGTERM)
    try:
        asyncio.run(called("SIGTERM"))
        monkeypatch.setattr(asyncio.SelectorEventLoop, "add_signal_handler", _not_implemented)
        asyncio.run(called("SIGTERM"))
    finally:
        signal.signal(signal.SIGTERM, before)


def _not_implemented(*_: object) -> None:
    raise NotImplementedError


def test_on_posix_a_process_ends_with_what_it_started() -> None:
    process = subprocess.Popen(["sh", "-c", "sleep 60 & echo; wait"], stdout=subprocess.PIPE, start_new_session=True)
    assert process.stdout is not None
    assert system.wait_for_data(process.stdout, 30)
    system.end_group(process.pid)
    assert process.stdout.read() == b"\n"  # the child has closed it too
    assert system.may_be_out_of_memory(process.wait(30))
    system.end_group(process.pid)
