"""The command line over the real worker process, with a model small enough to write here."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest

from gistread.book.open import open_book
from gistread.errors import ExitStatus
from tests.tiny_gguf import write_tiny_gguf

SIZE = ("--min-words", "60", "--max-words", "200")


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    return write_tiny_gguf(tmp_path / "tiny.gguf")


def start(*words: str | Path) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "gistread", *map(str, words)]
    return subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=dict(os.environ),
    )


@pytest.fixture
def short(tmp_path: Path) -> Path:
    """Two pages only: the tiny model never stops by itself and may be slow."""
    path = tmp_path / "short.txt"
    line = (
        "The keeper stood before the door and counted the stairs, one by one, as the sea went on "
        "below. "
    )
    path.write_text(
        "\n\n".join(f"Chapter {number}\n\n{line * 4}" for number in (1, 2)) + "\n"
    )
    return path


@pytest.mark.slow
def test_index_ask_and_pages_work_and_ctrl_c_leaves_no_worker(
    short: Path, tiny: Path
) -> None:
    process = start("index", short, *SIZE, "--model", tiny, "--events")
    assert process.stdout is not None
    assert json.loads(process.stdout.readline())["event"] == "page_found"
    workers = psutil.Process(process.pid).children(recursive=True)
    assert workers
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == ExitStatus.INTERRUPTED, errors
    assert "to resume" in errors
    assert not psutil.wait_procs(workers, timeout=60)[1]

    process = start("index", short, *SIZE, "--model", tiny, "--json")
    out, errors = process.communicate(timeout=300)
    assert process.returncode == ExitStatus.DONE, errors
    document = json.loads(out)

    out, _ = start("pages", short, "--upto", "all", "--json").communicate(timeout=60)
    pages = json.loads(out)["pages"]
    assert len(pages) == document["pages"]
    assert pages[-1]["end"] == len(open_book(short).text)

    process = start("ask", short, "Who?", "--model", tiny, "--max-pages", "1", "--json")
    out, errors = process.communicate(timeout=120)
    assert process.returncode == ExitStatus.DONE, errors
    assert set(json.loads(out)) >= {"answer", "citations", "lookups", "steps"}


@pytest.mark.parametrize("change", ["cut off", "unknown architecture"])
def test_a_model_that_cannot_be_loaded_is_status_4(
    book: Path, tmp_path: Path, tiny: Path, change: str
) -> None:
    if change == "cut off":
        tiny.write_bytes(tiny.read_bytes()[:-5000])
    else:
        changes: dict[str, Any] = {"general.architecture": "nobody-knows"}
        write_tiny_gguf(tiny, **changes)
    process = start("index", book, *SIZE, "--model", tiny, "--json")
    out, errors = process.communicate(timeout=60)
    assert (
        process.returncode == json.loads(out)["error"]["status"] == ExitStatus.ENGINE
    ), errors
    # A note on the copy that was begun may stand before it.
    problem = errors[errors.index("gistread:") :]
    assert problem.count("\n") <= 2, errors
    assert "Traceback" not in errors
