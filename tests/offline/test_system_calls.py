"""No command opens a socket by a system call, as a library in C could past the interpreter."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.reliability import system_calls


def traceable() -> bool:
    try:
        return (
            subprocess.run(
                ["strace", "-f", "-e", "trace=socket", "true"], capture_output=True
            ).returncode
            == 0
        )
    except OSError:
        return False


pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not traceable(), reason="strace is not here, or may not trace"),
]


def test_the_trace_sees_a_socket(tmp_path: Path) -> None:
    file = tmp_path / "calls"
    traced = ("strace", "-f", "-qq", "-o", str(file), "-e", "trace=socket,connect,bind")
    subprocess.run(
        [*traced, sys.executable, "-c", "import socket; socket.socket()"], check=True
    )
    assert system_calls.outside(file.read_text().splitlines())


@pytest.mark.timeout(1800)
def test_no_command_of_a_day_opens_one(tmp_path: Path) -> None:
    rows = list(system_calls.rows(tmp_path))
    assert len(rows) > 10
    assert {sockets for _, _, sockets in rows} == {"0"}, rows
