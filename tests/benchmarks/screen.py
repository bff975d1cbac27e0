"""What a person at the screen waits for: start-up, the first page, a key, and what the program takes of the memory."""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.benchmarks.figures import Figures
from tests.models import starter_path
from tests.terminal import Terminal, environment, terminal

DATA = Path(__file__).parents[3] / "shared" / "data"
WAR_AND_PEACE = DATA / "books" / "2600_War-and-Peace.txt"
RUNS = 7


def measure(figures: Figures) -> None:
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        # A test run may forbid compiled files; a person's Python writes them once.
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        for option in ("--version", "--help"):
            figures.add_median(f"gistread {option}", [_run(option, home) for _ in range(RUNS)], "s")
        if WAR_AND_PEACE.exists():
            _opening(figures, home)
        if starter_path() is not None:
            _keys(figures, home)


def _run(option: str, home: Path) -> float:
    started = time.perf_counter()
    subprocess.run([sys.executable, "-m", "gistread", option], env=environment(home), capture_output=True, check=True)
    return time.perf_counter() - started


def _opening(figures: Figures, home: Path) -> None:
    times, sizes = [], []
    for _ in range(RUNS + 1):
        with terminal([str(WAR_AND_PEACE)], home) as run:
            times.append(_until_drawn(run, b"BOOK ONE"))
            sizes.append(run.app.memory_info().rss / 2**20)
            _quit(run)
    figures.add("War and Peace, text on screen, first opening", times[0], "s")
    figures.add_median("War and Peace, text on screen, later openings", times[1:], "s")
    figures.add_median("War and Peace open, memory of the program", sizes[1:], "MiB")


def _until_drawn(run: Terminal, text: bytes) -> float:
    """Seconds from the start until these bytes were written to the terminal."""
    drawn = b""
    while text not in drawn:
        drawn += run.process.read_nonblocking(2**16, timeout=30)
    return time.monotonic() - run.started_at


def _keys(figures: Figures, home: Path) -> None:
    """From a key to the last of what it changes on the screen, idle and while the model reads."""
    with terminal(["sample", "--model", str(starter_path())], home) as run:
        run.wait_for("reading page 1 of", "tok/s", seconds=60)
        busy = [_key(run, key) for key in "jk" * 20]
        run.press("\x1b")
        run.wait_for("paused", seconds=30)
        time.sleep(1)
        idle = [_key(run, key) for key in "jk" * 20]
        _quit(run)
    figures.add_median("a key answered, idle", idle, "s")
    figures.add_median("a key answered, while the model reads", busy, "s")


def _key(run: Terminal, key: str) -> float:
    """Seconds until the first line of the book has moved."""
    run.look(0.3)
    before = run.lines[4:10]
    pressed = time.monotonic()
    run.press(key)
    while run.lines[4:10] == before and time.monotonic() - pressed < 5:
        run.look(0.002)
    return time.monotonic() - pressed


def _quit(run: Terminal) -> None:
    run.press("q")
    run.wait_for_end()
