"""What a person at the screen waits for.

Start-up, the first page, a key, and what the program takes of the memory.
"""

import contextlib
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pexpect

from gistread.paths import packaged_themes
from gistread.tui.themes import read_themes
from tests.benchmarks.figures import Finding, Skipped, Spread, Table, Target
from tests.benchmarks.setting import Setting
from tests.benchmarks.texts import EMMA, WAR_AND_PEACE
from tests.terminal import Terminal, environment, terminal

_OPTIONS = ("--version", "--help")
_RUNS = 7
_QUICK_RUNS = 2
_WHAT_ARE_YOU = b"\x1b[c"  # Primary device attributes
_A_TERMINAL = b"\x1b[?62c"


async def measure(setting: Setting) -> AsyncIterator[Finding]:
    runs = _QUICK_RUNS if setting.quick else _RUNS
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        # A test run may forbid compiled files; a person's Python writes them once.
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        rows = [
            (f"gistread {option}", Spread.of([_run(option, home) for _ in range(runs)]))
            for option in _OPTIONS
        ]
        yield Table("Start-up", ("command", "until it has ended [s]"), tuple(rows))
        if EMMA.exists():
            for finding in _novel_in_new_homes(runs):
                yield finding
        else:
            yield Skipped("opening a novel in a new home", f"{EMMA.name} is not there")
        if WAR_AND_PEACE.exists():
            for table in _opening(home, runs):
                yield table
            for finding in _themes(home):
                yield finding
        else:
            yield Skipped("opening a long book", f"{WAR_AND_PEACE.name} is not there")
        yield _keys(setting, home)


def _run(option: str, home: Path) -> float:
    started = time.perf_counter()
    subprocess.run(
        [sys.executable, "-m", "gistread", option],
        env=environment(home),
        capture_output=True,
        check=True,
    )
    return time.perf_counter() - started


def _novel_in_new_homes(runs: int) -> Iterator[Finding]:
    """The first time that somebody opens a novel: nothing is kept yet."""
    times = []
    for _ in range(runs):
        with (
            tempfile.TemporaryDirectory() as folder,
            terminal([str(EMMA)], Path(folder)) as run,
        ):
            times.append(_until_drawn(run, b"Woodhouse"))
            _quit(run)
    spread = Spread.of(times)
    rows = (("in a new home", spread),)
    yield Table(
        "A novel opened (Emma, EPUB)", ("opening", "text on screen after [s]"), rows
    )
    yield Target("a novel's text in a new home [s]", spread.median, at_most=1.0)


def _opening(home: Path, runs: int) -> Iterator[Table]:
    times, sizes = [], []
    for _ in range(runs + 1):
        with terminal([str(WAR_AND_PEACE)], home) as run:
            times.append(_until_drawn(run, b"BOOK ONE"))
            sizes.append(run.app.memory_info().rss / 2**20)
            _quit(run)
    rows = (("first", times[0]), ("later", Spread.of(times[1:])))
    yield Table("War and Peace opened", ("opening", "text on screen after [s]"), rows)
    yield Table(
        "… and its memory",
        ("process", "resident [MiB]"),
        (("the program", Spread.of(sizes[1:])),),
    )


def _themes(home: Path) -> Iterator[Finding]:
    """From a key in the chooser to the last change that another theme makes to the longest book."""
    themes, _ = read_themes(packaged_themes())
    with terminal([str(WAR_AND_PEACE)], home, columns=160, rows=50) as run:
        run.wait_for("BOOK ONE")
        run.press("T")
        run.wait_for("Choose a theme")
        run.look(1)
        times = [_until_settled(run, "\x1b[B") for _ in themes]
        run.press("\r")
        run.look(1)
        _quit(run)
    spread = Spread.of(times)
    yield Table(
        "Another theme on War and Peace",
        ("key", "drawn after [s]"),
        (("next theme", spread),),
    )
    yield Target("a theme change on War and Peace [s]", spread.median, at_most=0.25)


def _until_settled(run: Terminal, key: str, rest_s: float = 0.4) -> float:
    """Seconds from a key to the last byte that changed the screen.

    It is drawn afterwards: emulating takes long.
    """
    written: list[tuple[float, bytes]] = []
    pressed = last = time.monotonic()
    run.press(key)
    while time.monotonic() - max(last, pressed + rest_s) < rest_s:
        with contextlib.suppress(pexpect.TIMEOUT):
            data = run.process.read_nonblocking(2**16, timeout=0.02)
            last = time.monotonic()
            written.append((last, data))
    changed, cells = pressed, run.cells
    for moment, data in written:
        run.draw(data)
        if run.cells != cells:
            changed, cells = moment, run.cells
    return changed - pressed


def _until_drawn(run: Terminal, text: bytes) -> float:
    """Seconds from the start until these bytes were written to the terminal.

    The terminal says what it is when asked, as every real one does.
    """
    drawn = b""
    has_answered = False
    while text not in drawn:
        drawn += run.process.read_nonblocking(2**16, timeout=30)
        if not has_answered and _WHAT_ARE_YOU in drawn:
            run.process.send(_A_TERMINAL)
            has_answered = True
    return time.monotonic() - run.started_at


def _keys(setting: Setting, home: Path) -> Table:
    """From a key to the last of what it changes on the screen, idle and while the model reads."""
    keys = "jk" * (3 if setting.quick else 20)
    with terminal(["sample", "--model", str(setting.model)], home) as run:
        run.wait_for("Reading along", "1 of ~", seconds=60)
        busy = [_key(run, key) for key in keys]
        run.press("r")
        run.wait_for("Paused", seconds=30)
        time.sleep(1)
        idle = [_key(run, key) for key in keys]
        _quit(run)
    rows = (("idle", Spread.of(idle)), ("while the model reads", Spread.of(busy)))
    return Table(
        "A key, until the screen has changed", ("situation", "answered after [s]"), rows
    )


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
