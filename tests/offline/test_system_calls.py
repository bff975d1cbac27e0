"""The same of the system's own calls: what a library in C would do past the interpreter, ggml's and llama.cpp's too."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.offline.machine import SIZE, machine

_ALLOWED = re.compile(r"AF_UNIX|AF_NETLINK")
"""Within this machine: a process that wakes itself, a kernel that is asked for its hardware."""


def traceable() -> bool:
    ran = subprocess.run(["strace", "-f", "-e", "trace=socket", "true"], capture_output=True) if _strace() else None
    return ran is not None and ran.returncode == 0


def _strace() -> str | None:
    return shutil.which("strace")


pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not traceable(), reason="strace is not here, or may not trace"),
]


def calls(file: Path) -> list[str]:
    """Of all processes, those for a socket that leads out of the kernel's own."""
    opened = [line for line in file.read_text(errors="replace").splitlines() if "socket(" in line or "connect(" in line]
    return [line for line in opened if not _ALLOWED.search(line)]


def traced(file: Path) -> tuple[str, ...]:
    return ("strace", "-f", "-qq", "-o", str(file), "-e", "trace=socket,connect,bind")


def test_the_trace_sees_a_socket(tmp_path: Path) -> None:
    file = tmp_path / "calls"
    subprocess.run([*traced(file), sys.executable, "-c", "import socket; socket.socket()"], check=True)
    assert calls(file)


def test_reading_and_asking_open_none(tmp_path: Path) -> None:
    home = machine(tmp_path)
    for number, words in enumerate(
        (
            ("index", home.text, *SIZE, "--model", home.model),
            ("ask", home.text, "Who counted?", "--reader", "bm25", "--model", home.model),
        )
    ):
        file = tmp_path / f"calls-{number}"
        ran = home.run(*words, before=traced(file))
        assert ran.returncode == 0, ran.stderr
        assert calls(file) == []
