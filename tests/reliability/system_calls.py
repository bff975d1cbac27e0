"""Sockets that commands open, seen by strace in all of their processes."""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

from tests.offline.machine import machine

# Within this machine: a process that wakes itself, a question to the kernel
_LOCAL = re.compile("AF_UNIX|AF_NETLINK")
_CALLS = "trace=socket,connect,bind,execve"


def rows(folder: Path) -> Iterator[tuple[str, ...]]:
    """For each command of a day: its processes, and sockets that lead out of this machine."""
    if shutil.which("strace") is None:
        yield "no strace", "", ""
        return
    home = machine(folder)
    for number, words in enumerate(home.everything()):
        file = folder / f"calls-{number}"
        ran = home.run(
            *words,
            before=("strace", "-f", "-qq", "-o", str(file), "-e", _CALLS),
            seconds=900,
        )
        assert ran.returncode == 0, ran.stderr
        calls = file.read_text(errors="replace").splitlines()
        shown = " ".join(
            word.name if isinstance(word, Path) else word for word in words
        )
        yield (
            f"`{shown}`",
            str(sum("execve(" in line and " = 0" in line for line in calls)),
            str(len(outside(calls))),
        )


def outside(calls: list[str]) -> list[str]:
    """The calls for a socket that leads out of this machine's kernel."""
    return [
        line
        for line in calls
        if re.search(r"\b(?:socket|connect|bind)\(", line) and not _LOCAL.search(line)
    ]
