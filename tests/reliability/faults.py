"""Pages of memories lost or doubled by kills, by damage to their files, and by disks that are full."""

import json
import os
import random
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil

from gistread.book.open import open_book
from gistread.errors import ExitStatus
from gistread.memory.store import MemoryStore
from gistread.paths import default_paths
from tests.tiny_gguf import write_tiny_gguf

FOLDERS = ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME")
_SIZE = ("--min-words", "60", "--max-words", "200")
_LINE = "The keeper stood before door {} and counted the stairs, one by one, as the sea went on below. "
_SLOW_S = "0.02"


class Home:
    """A book, and a home of its own for the command over a fake engine."""

    def __init__(self, folder: Path) -> None:
        self.book = folder / "book.txt"
        text = "\n\n".join(_LINE.format(number) * 5 for number in range(40))
        self.book.write_text(f"Chapter 1\n\n{text}\n")
        for name in FOLDERS:
            os.environ[name] = str(folder / name)
        (folder / "fake.gguf").touch()
        default_paths().config.mkdir(parents=True)
        default_paths().config_file.write_text(f'model = "{folder / "fake.gguf"}"\n')

    def start(self, *words: str, limit_bytes: int | None = None, pause_s: str = "0") -> "subprocess.Popen[str]":
        def limit() -> None:
            if limit_bytes is not None:
                resource.setrlimit(resource.RLIMIT_FSIZE, (limit_bytes, limit_bytes))

        program = "gistread" if "--model" in words else "tests.cli.fake_gistread"
        return subprocess.Popen(
            [sys.executable, "-m", program, words[0], str(self.book), *words[1:]],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "GISTREAD_TEST_PAUSE_S": pause_s},
            preexec_fn=limit,
        )

    def pages(self) -> list[dict[str, Any]]:
        out, _ = self.start("pages", "--json").communicate()
        return list(json.loads(out).get("pages", ()))

    def forget(self) -> None:
        for path in default_paths().memories.glob("*"):
            path.unlink()


def rows(folder: Path, *, kills: int, damages: int) -> Iterator[tuple[str, ...]]:
    """For each fault: how often, pages lost beside the one at hand, pages doubled, other than undisturbed."""
    home = Home(folder)
    out, errors = home.start("index", *_SIZE, "--json").communicate()
    assert "error" not in json.loads(out), errors
    memory = next(default_paths().memories.glob("*.memory"))
    whole, undisturbed = memory.read_bytes(), home.pages()
    yield "SIGKILL of `index`, at random", *_killed(home, kills, undisturbed)
    yield "a byte of the memory flipped, at random", *_damaged(home, memory, whole, damages, cut=False)
    yield "the memory cut, at random", *_damaged(home, memory, whole, damages, cut=True)
    yield "disk full, after a random number of bytes", *_full(home, len(whole), max(1, kills // 10), undisturbed)
    model = write_tiny_gguf(folder / "tiny.gguf", brief=True)
    yield "SIGKILL of the model's process, at random", *_worker_killed(home, model, max(1, kills // 5))


def _killed(home: Home, kills: int, undisturbed: list[dict[str, Any]]) -> tuple[str, ...]:
    chance = random.Random(1)
    done = lost = doubled = other = before = 0
    home.forget()
    while done < kills:
        process = home.start("index", *_SIZE, "--json", pause_s=_SLOW_S)
        time.sleep(chance.uniform(0.5, 2.5))
        process.send_signal(signal.SIGKILL)
        process.communicate()
        done += 1
        pages = home.pages()
        starts = [page["start"] for page in pages]
        lost += max(0, before - len(pages))
        doubled += len(starts) - len(set(starts))
        before = len(pages)
        if before == len(undisturbed):
            other += _different(pages, undisturbed)
            before = 0
            home.forget()
    return str(done), str(lost), str(doubled), str(other)


def _worker_killed(home: Home, model: Path, kills: int) -> tuple[str, ...]:
    """Also twice in one request, which ends `index`; the next one goes on."""
    chance = random.Random(4)
    done = lost = doubled = before = 0
    home.forget()
    while done < kills or before:
        process = home.start("index", *_SIZE, "--events", "--model", str(model))
        assert process.stdout is not None
        for _ in process.stdout:
            for worker in psutil.Process(process.pid).children() if done < kills and chance.random() < 0.3 else ():
                worker.kill()
                done += 1
        process.communicate()
        starts = [page["start"] for page in home.pages()]
        lost, doubled = lost + max(0, before - len(starts)), doubled + len(starts) - len(set(starts))
        before = len(starts)
        if process.returncode == ExitStatus.DONE:
            home.forget()
            before = 0
    return str(done), str(lost), str(doubled), "not compared"


def _damaged(home: Home, memory: Path, whole: bytes, damages: int, *, cut: bool) -> tuple[str, ...]:
    chance = random.Random(2)
    book, store = open_book(home.book), MemoryStore(default_paths().memories)
    pages = whole.count(b"\n") - 1
    (header,) = store.find(book)
    lost = doubled = 0
    for _ in range(damages):
        at = chance.randrange(len(whole) - 1)
        memory.write_bytes(whole[:at] if cut else whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        writer = store.reopen(book, header, header.size)
        assert writer is not None
        with writer:
            found = [entry.page.start for entry in writer.all_entries()]
        lost += max(0, (max(0, whole[:at].count(b"\n") - 1) if cut else pages - 1) - len(found))
        doubled += len(found) - len(set(found))
    memory.write_bytes(whole)
    return str(damages), str(lost), str(doubled), "0"


def _full(home: Home, length: int, times: int, undisturbed: list[dict[str, Any]]) -> tuple[str, ...]:
    chance = random.Random(3)
    other = 0
    for _ in range(times):
        home.forget()
        refused = home.start("index", *_SIZE, "--json", limit_bytes=chance.randrange(length))
        refused.communicate()
        assert refused.returncode == ExitStatus.FAILED, "a script must see that nothing was saved"
        home.start("index", *_SIZE, "--json").communicate()
        other += _different(home.pages(), undisturbed)
    return str(times), "0", "0", str(other)


def _different(pages: list[dict[str, Any]], undisturbed: list[dict[str, Any]]) -> int:
    return sum(one != other for one, other in zip(pages, undisturbed, strict=True))
