"""Disks that are full from one write on, for each write of a command in turn.

A library put before the system's refuses the writes.
"""

import contextlib
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import psutil

from gistread.book.open import open_book
from gistread.paths import default_paths
from gistread.store.catalogue import Catalogue
from gistread.store.user_data import UserData
from tests.reliability.faults import FOLDERS, SIZE, Home

_SHIM = Path(__file__).with_name("full_disk.c")
_PARAGRAPHS = 8


def rows(folder: Path) -> Iterator[tuple[str, ...]]:
    """For each command: writes refused in turn.

    Pages, questions and books lost, doubled, other than undisturbed.
    """
    compiler = shutil.which("cc")
    if compiler is None:
        yield "disk full, at every write", "no C compiler", "", "", ""
        return
    shim = folder / "full_disk.so"
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", shim, _SHIM], check=True)
    home = Home(folder, _PARAGRAPHS)
    commands: tuple[tuple[str | Path, ...], ...] = (
        ("index", home.book, *SIZE),
        ("ask", home.book, "Who counted the stairs?", "--reader", "gistread"),
        ("books", "--add", home.book),
    )
    for index, words in enumerate(commands):
        home.clear()
        for earlier in commands[:index]:
            _run(home, *earlier)
        yield f"disk full at every write of `{words[0]}`", *_refused(home, shim, words)


def _refused(home: Home, shim: Path, words: tuple[str | Path, ...]) -> tuple[str, ...]:
    saved, log = home.folder / "saved", home.folder / "writes"
    for name in FOLDERS:
        (home.folder / name).mkdir(exist_ok=True)
        shutil.copytree(home.folder / name, saved / name)
    had = _contents(home)
    log.unlink(missing_ok=True)
    _run(home, *words, LD_PRELOAD=str(shim), WRITES=str(log))
    undisturbed = _contents(home)
    writes = log.stat().st_size
    lost = doubled = other = 0
    for number in range(1, writes + 1):
        for name in FOLDERS:
            shutil.rmtree(home.folder / name)
            shutil.copytree(saved / name, home.folder / name)
        errors = _run(home, *words, LD_PRELOAD=str(shim), FULL_AT=str(number))
        assert "nternal error" not in errors, errors
        assert "Traceback" not in errors, errors
        now = _contents(home)
        _run(home, *words)
        again = _contents(home)
        lost += sum(record not in now for record in had) + sum(
            record not in again for record in {*now, *undisturbed}
        )
        doubled += len(again) - len(set(again))
        other += sum(record not in undisturbed for record in again)
    shutil.rmtree(saved)
    return str(writes), str(lost), str(doubled), str(other)


def _run(home: Home, *words: str | Path, **environment: str) -> str:
    # Python's own cache of modules must not count.
    errors = home.start(
        *words, environment={"PYTHONDONTWRITEBYTECODE": "1", **environment}
    ).communicate()[1]
    # The index of new books is made after the command has ended
    for process in psutil.process_iter(["cmdline"]):
        command = " ".join(process.info["cmdline"] or ())
        if "gistread.library.indexing" in command and str(home.folder) in command:
            with contextlib.suppress(psutil.NoSuchProcess):
                while process.status() != psutil.STATUS_ZOMBIE:
                    time.sleep(0.02)
    return errors


def _contents(home: Home) -> list[object]:
    """Everything saved that a person would miss."""
    paths = default_paths()
    questions = {
        question.question
        for question in UserData(paths).questions(open_book(home.book).sha256)
    }
    return [
        *home.pages(),
        *questions,
        *(file.title for file in Catalogue(paths).read().files.values()),
    ]
