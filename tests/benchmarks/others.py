"""Other terminal readers, where they are installed: they open a long EPUB and turn its pages.

Each runs in a terminal of its own, with a home of its own. They are found on PATH, or in the folder
that the variable `OTHER_READERS` names. What one cannot do within a minute is a dash.
"""

import os
import shutil
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import pexpect
import psutil
import pyte

from tests.benchmarks.figures import Finding, Skipped, Spread, Table
from tests.benchmarks.setting import Setting
from tests.benchmarks.texts import DATA
from tests.terminal import environment

WAR_AND_PEACE_EPUB = (
    DATA.parent
    / "epub"
    / "standardebooks"
    / "leo-tolstoy_war-and-peace_louise-maude_aylmer-maude.epub"
)
_PATIENCE_S = 60.0
_TURN_PATIENCE_S = 5.0
_RUNS = 3
_TURNS = 5
_NEXT_PAGE, _PAGE_BACK = "\x1b[6~", "\x1b[5~"
_ROWS = 4
_FIRST_WORDS = "By Leo Tolstoy"
_SETTINGS = {"xdg_config_home/baca/config.ini": "[General]\nShowImageAsANSI = no\n"}
"""By path under the reader's home.

Baca ends with a traceback where it draws the book's pictures itself.
"""


@dataclass(frozen=True, slots=True)
class _Reader:
    name: str
    command: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Opening:
    text_s: float
    turn_s: float
    """Median of some pages turned, each to the changed text on the screen."""
    resident_mib: float


async def measure(setting: Setting) -> AsyncIterator[Finding]:
    if not WAR_AND_PEACE_EPUB.exists():
        yield Skipped("other readers", f"{WAR_AND_PEACE_EPUB.name} is not there")
        return
    readers = [_Reader("gistread", (sys.executable, "-m", "gistread")), *_installed()]
    if len(readers) == 1:
        yield Skipped("other readers", "neither baca nor epy is installed")
    rows = []
    for reader in readers:
        with tempfile.TemporaryDirectory() as folder:
            first, *later = [
                _open(reader, Path(folder))
                for _ in range(2 if setting.quick else _RUNS)
            ]
        rows.append(
            (
                reader.name,
                first.text_s if first else None,
                *(
                    _spread(later, field)
                    for field in ("text_s", "turn_s", "resident_mib")
                ),
            )
        )
    columns = (
        "reader",
        "first opening [s]",
        "later [s]",
        "a page turned [s]",
        "resident [MiB]",
    )
    yield Table("War and Peace as EPUB in other readers", columns, tuple(rows))


def _spread(openings: Sequence[_Opening | None], field: str) -> Spread | None:
    """None where an opening failed."""
    values = [getattr(opening, field) for opening in openings if opening]
    return Spread.of(values) if len(values) == len(openings) else None


def _installed() -> list[_Reader]:
    path = os.pathsep.join(
        filter(None, (os.environ.get("OTHER_READERS"), os.environ.get("PATH")))
    )
    programs = ((name, shutil.which(name, path=path)) for name in ("baca", "epy"))
    return [_Reader(name, (command,)) for name, command in programs if command]


def _open(reader: _Reader, home: Path) -> _Opening | None:
    """One opening; None when there is no text within a minute, or a page cannot be turned."""
    screen = pyte.Screen(120, 40)
    stream = pyte.ByteStream(screen)
    program, *arguments = reader.command
    variables = {"HOME": str(home), "TERM": "xterm-256color", "COLORTERM": "truecolor"}
    for place, settings in _SETTINGS.items():
        (home / place).parent.mkdir(parents=True, exist_ok=True)
        (home / place).write_text(settings)
    started = time.monotonic()
    process = pexpect.spawn(
        program,
        [*arguments, str(WAR_AND_PEACE_EPUB)],
        env=environment(home, **variables),
        dimensions=(40, 120),
    )
    try:
        text_s = _until(
            process, stream, lambda: _FIRST_WORDS in "\n".join(screen.display), started
        )
        if text_s is None:
            return None
        turns = [_turn(process, stream, screen, _NEXT_PAGE) for _ in range(_TURNS)]
        # The next opening begins where this one ends.
        turns += [_turn(process, stream, screen, _PAGE_BACK) for _ in range(_TURNS)]
        turned = [turn for turn in turns if turn is not None]
        if not turned:
            return None
        family = [
            psutil.Process(process.pid),
            *psutil.Process(process.pid).children(recursive=True),
        ]
        resident_bytes = sum(member.memory_info().rss for member in family)
        return _Opening(text_s, median(turned), resident_bytes / 2**20)
    except (pexpect.EOF, psutil.Error):
        return None
    finally:
        process.close(force=True)


def _turn(
    process: pexpect.spawn, stream: pyte.ByteStream, screen: pyte.Screen, key: str
) -> float | None:
    """Seconds from the key to another page on the screen."""
    _settle(process, stream)
    before = list(screen.display)
    pressed = time.monotonic()
    process.send(key)
    return _until(
        process, stream, lambda: _changed(before, screen), pressed, _TURN_PATIENCE_S
    )


def _until(
    process: pexpect.spawn,
    stream: pyte.ByteStream,
    seen: Callable[[], bool],
    since: float,
    patience_s: float = _PATIENCE_S,
) -> float | None:
    while not seen():
        if time.monotonic() - since > patience_s:
            return None
        _feed(process, stream, 0.01)
    return time.monotonic() - since


def _settle(process: pexpect.spawn, stream: pyte.ByteStream) -> None:
    quiet = time.monotonic()
    while time.monotonic() - quiet < 1.0:
        if _feed(process, stream, 0.05):
            quiet = time.monotonic()


def _feed(process: pexpect.spawn, stream: pyte.ByteStream, wait_s: float) -> bool:
    try:
        stream.feed(process.read_nonblocking(2**16, timeout=wait_s))
    except pexpect.TIMEOUT:
        return False
    return True


def _changed(before: list[str], screen: pyte.Screen) -> bool:
    """Several rows that had text show something else: more than a line of progress does."""
    return (
        sum(
            bool(old.strip()) and old != new
            for old, new in zip(before, screen.display, strict=True)
        )
        >= _ROWS
    )
