"""Pages of memories lost or doubled by kills, by damage to their files, and by full disks."""

import io
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import psutil

from gistread.book.open import open_book
from gistread.cli import main
from gistread.engine.llama import client
from gistread.errors import ExitStatus, traceback_text
from gistread.memory.store import MemoryStore
from gistread.paths import default_paths
from tests.cli import fake_gistread
from tests.tiny_gguf import write_tiny_gguf

FOLDERS = ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME")
SIZE = ("--min-words", "60", "--max-words", "200")
_LINE = (
    "The keeper stood before door {} and counted the stairs, one by one, as "
    "the sea went on below. "
)
_PAUSE_S = 0.02  # Of each answer
_SLOW = {"GISTREAD_TEST_PAUSE_S": str(_PAUSE_S)}
_CLOCK = Path("/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1")
_DAY = 86_400
_REAL_DURATIONS = {"FAKETIME_DONT_FAKE_MONOTONIC": "1"}


@dataclass(frozen=True, slots=True)
class SavedPage:
    start: int
    end: int
    gist: str


class Home:
    """A book, and a home of its own for the command over a fake engine."""

    def __init__(self, folder: Path, paragraphs: int = 40) -> None:
        self.folder = folder
        self.book = folder / "book.txt"
        text = "\n\n".join(_LINE.format(number) * 5 for number in range(paragraphs))
        self.book.write_text(f"Chapter 1\n\n{text}\n")
        for name in FOLDERS:
            os.environ[name] = str(folder / name)
        (folder / "fake.gguf").touch()
        self.clear()

    def clear(self) -> None:
        for name in FOLDERS:
            shutil.rmtree(self.folder / name, ignore_errors=True)
        default_paths().config.mkdir(parents=True)
        default_paths().config_file.write_text(
            f'model = "{self.folder / "fake.gguf"}"\n'
        )

    def start(
        self,
        *words: str | Path,
        limit_bytes: int | None = None,
        environment: Mapping[str, str] = MappingProxyType({}),
    ) -> "subprocess.Popen[str]":
        def limit() -> None:
            if limit_bytes is not None:
                resource.setrlimit(resource.RLIMIT_FSIZE, (limit_bytes, limit_bytes))

        program = "gistread" if "--model" in words else "tests.cli.fake_gistread"
        return subprocess.Popen(
            [sys.executable, "-m", program, *map(str, words)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, **environment},
            preexec_fn=limit,
        )

    def index(self, **options: Any) -> "subprocess.Popen[str]":
        return self.start("index", self.book, *SIZE, "--json", **options)

    def pages(self) -> list[SavedPage]:
        """Every saved page of every memory."""
        book = open_book(self.book)
        store = MemoryStore(default_paths().memories)
        return [
            SavedPage(entry.page.start, entry.page.end, entry.gist.text)
            for header in store.find(book)
            for entry in store.load(book, header).read_entries
        ]

    def forget(self) -> None:
        for path in default_paths().memories.glob("*"):
            path.unlink()


def rows(folder: Path, *, kills: int) -> Iterator[tuple[str, ...]]:
    """For each fault: how often, pages lost, doubled, and other than in an undisturbed run."""
    home = Home(folder)
    out, errors = home.index().communicate()
    assert "error" not in json.loads(out), errors
    memory = next(default_paths().memories.glob("*.memory"))
    length, undisturbed = memory.stat().st_size, home.pages()
    yield (
        "SIGKILL of `index`",
        *_killed(home, kills, undisturbed, lambda number: _Forked(home)),
    )

    def on_another_day(number: int) -> "subprocess.Popen[str]":
        clock = {
            "LD_PRELOAD": str(_CLOCK),
            "FAKETIME": f"{(number % 3 - 1) * _DAY:+}s",
            **_REAL_DURATIONS,
        }
        return home.start(
            "index", home.book, *SIZE, "--events", environment={**_SLOW, **clock}
        )

    if _CLOCK.exists():
        figures = _killed(home, max(1, kills // 20), undisturbed, on_another_day)
        yield "SIGKILL, and the clock set forward and back by a day", *figures
    yield (
        "disk full, after a random number of bytes",
        *_full(home, length, max(1, kills // 10), undisturbed),
    )
    model = write_tiny_gguf(folder / "tiny.gguf", brief=True)
    yield (
        "SIGKILL of the model's process, in `index`",
        *_worker_killed(home, model, max(1, kills // 5)),
    )


class _Forked:
    """`gistread index` over the fake engine in a fork of this process.

    A fork saves the second that Python needs.
    """

    def __init__(self, home: Home) -> None:
        reading, writing = os.pipe()
        self._raised = home.folder / "raised"
        self.pid = os.fork()
        if not self.pid:
            try:
                sys.stdout, sys.stderr = os.fdopen(writing, "w"), io.StringIO()
                fake_gistread.PAUSE_S = _PAUSE_S
                client.LlamaEngine = fake_gistread.SlowEngine  # type: ignore[assignment]
                os._exit(main(["index", str(home.book), *SIZE, "--events"]))
            except BaseException as error:  # `main` raises nothing
                self._raised.write_text(traceback_text(error) + str(error))
            finally:
                os._exit(1)
        os.close(writing)
        self.stdout = os.fdopen(reading)

    def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)

    def communicate(self) -> None:
        self.stdout.close()
        os.waitpid(self.pid, 0)
        assert not self._raised.exists(), self._raised.read_text()


def _killed(
    home: Home,
    kills: int,
    undisturbed: list[SavedPage],
    start: Callable[[int], "_Forked | subprocess.Popen[str]"],
) -> tuple[str, ...]:
    chance = random.Random(1)
    lost = doubled = other = 0
    before: list[SavedPage] = []
    home.forget()
    for number in range(kills):
        process = start(number)
        assert process.stdout is not None
        for _ in range(chance.choice((0, *range(20)))):
            process.stdout.readline()
        # Some are killed before the first event, and some between two
        time.sleep(chance.uniform(0, 0.1))
        process.kill()
        process.communicate()
        pages = home.pages()
        lost += sum(page not in pages for page in before)
        doubled += len(pages) - len({page.start for page in pages})
        other += sum(page not in undisturbed for page in pages if page not in before)
        before = pages
        if len(before) == len(undisturbed):
            home.forget()
            before = []
    return str(kills), str(lost), str(doubled), str(other)


def _worker_killed(home: Home, model: Path, kills: int) -> tuple[str, ...]:
    """Also twice in one request, which ends `index`; the next one goes on."""
    chance = random.Random(4)
    done = lost = doubled = before = 0
    home.forget()
    while done < kills or before:
        process = home.start("index", home.book, *SIZE, "--events", "--model", model)
        assert process.stdout is not None
        for _ in process.stdout:
            if done < kills and chance.random() < 0.3:
                for worker in psutil.Process(process.pid).children():
                    worker.kill()
                    done += 1
        process.communicate()
        starts = [page.start for page in home.pages()]
        lost += max(0, before - len(starts))
        doubled += len(starts) - len(set(starts))
        before = len(starts)
        if process.returncode == ExitStatus.DONE:
            home.forget()
            before = 0
    return str(done), str(lost), str(doubled), ""


def _full(
    home: Home, length: int, times: int, undisturbed: list[SavedPage]
) -> tuple[str, ...]:
    chance = random.Random(3)
    lost = other = 0
    for _ in range(times):
        home.forget()
        refused = home.index(limit_bytes=chance.randrange(length))
        refused.communicate()
        assert refused.returncode == ExitStatus.FAILED, (
            "a script must see that nothing was saved"
        )
        home.index().communicate()
        pages = home.pages()
        lost += sum(page not in pages for page in undisturbed)
        other += sum(page not in undisturbed for page in pages)
    return str(times), str(lost), "0", str(other)
