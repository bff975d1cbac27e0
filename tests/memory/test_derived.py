"""Records derived from a memory survive kills and several processes, at constant cost."""

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gistread.memory.derived import DerivedRecords

WRITER = """
import sys
from pathlib import Path
from gistread.memory.derived import DerivedRecords
derived = DerivedRecords(Path(sys.argv[1]))
for number in range(int(sys.argv[3]), 100_000):
    record = {"number": number, "text": "x" * 200}
    derived.put("fact", f"{sys.argv[2]}{number}", record)
    while derived.notice:  # On a busy machine the other process may keep the lock
        derived.notice = ""
        derived.put("fact", f"{sys.argv[2]}{number}", record)
    print(number, flush=True)
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "book.derived"


def start(path: Path, name: str, first: int = 0) -> "subprocess.Popen[str]":
    arguments = [sys.executable, "-c", WRITER, str(path), name, str(first)]
    return subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True)


def kill(process: "subprocess.Popen[str]", first: int) -> int:
    """Ends it in the middle; the last number that it said was kept, or `first`, said before."""
    process.send_signal(signal.SIGKILL)
    output, _ = process.communicate()
    whole = output.rpartition("\n")[0].split()
    return int(whole[-1]) if whole else first


def test_stored_records_are_read_by_the_next_process(path: Path) -> None:
    DerivedRecords(path).put("fact", "one", {"number": 1})
    DerivedRecords(path).put("fact", "two", {"number": 2})
    assert DerivedRecords(path).get("fact", "one") == {"number": 1}
    assert DerivedRecords(path).get("fact", "two") == {"number": 2}
    assert DerivedRecords(path).get("summary", "one") is None


def test_two_killed_processes_lose_no_stored_record(path: Path) -> None:
    chance = random.Random(7)
    kept = {"a": -1, "b": -1}
    for _ in range(4):
        running = {name: start(path, name, last + 1) for name, last in kept.items()}
        firsts = {}
        for name, process in running.items():
            assert process.stdout is not None
            firsts[name] = int(process.stdout.readline())
        time.sleep(chance.uniform(0.0, 0.2))
        kept = {name: kill(process, firsts[name]) for name, process in running.items()}
    derived = DerivedRecords(path)
    for name, last in kept.items():
        assert last > 0
        assert all(derived.get("fact", f"{name}{number}") for number in range(last + 1))
