"""Ctrl+C and SIGTERM during work: an orderly stop, every page saved, and a hint how to resume."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gistread.errors import ExitStatus
from tests.cli.conftest import Run
from tests.fake_engine import FakeEngine

ROOT = Path(__file__).parents[2]
SIZE = ("--min-words", "60", "--max-words", "200")


def start(
    *words: str | Path, pause_s: float, **environment: str
) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-m", "tests.cli.fake_gistread", *map(str, words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "GISTREAD_TEST_PAUSE_S": str(pause_s), **environment},
        cwd=ROOT,
    )


def wait_for(path: Path) -> None:
    until = time.monotonic() + 30
    while not path.exists():
        assert time.monotonic() < until, path
        time.sleep(0.01)


def wait_for_page(process: "subprocess.Popen[str]", number: int) -> None:
    assert process.stdout is not None
    for line in process.stdout:
        event = json.loads(line)
        if event["event"] == "gisted" and event["page"] == number:
            return
    raise AssertionError("ended before the page")


def test_an_interrupted_index_resumes_with_the_same_pages(
    run: Run, book: Path, engine: FakeEngine
) -> None:
    process = start("index", book, *SIZE, "--events", pause_s=0.1)
    wait_for_page(process, 3)
    process.send_signal(signal.SIGTERM)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == ExitStatus.TERMINATED
    assert "every section is saved" in errors
    assert f"Run `gistread index '{book}'` to resume" in errors
    assert "Traceback" not in errors
    kept = run("pages", book, "--upto", "all", "--json").json["pages"]
    assert len(kept) >= 3
    document = run("index", book, *SIZE, "--json").json
    assert document["resumed_pages"] == len(kept)
    assert (
        run("pages", book, "--upto", "all", "--json").json["pages"][: len(kept)] == kept
    )


def test_json_prints_only_the_error_when_it_is_interrupted(book: Path) -> None:
    loading = book.with_name("loading")
    process = start(
        "index", book, *SIZE, "--json", pause_s=0.2, GISTREAD_TEST_LOADING=str(loading)
    )
    wait_for(loading)
    time.sleep(0.7)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    assert (
        process.returncode
        == json.loads(out)["error"]["status"]
        == ExitStatus.INTERRUPTED
    )


def test_ctrl_c_stops_a_load(book: Path) -> None:
    loading = book.with_name("loading")
    process = start(
        "index", book, *SIZE, pause_s=60, GISTREAD_TEST_LOADING=str(loading)
    )
    wait_for(loading)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == ExitStatus.INTERRUPTED
    assert errors.count("\n") <= 2


def test_a_second_ctrl_c_ends_at_once(book: Path) -> None:
    script = (
        "import asyncio, signal, os, time\n"
        "from gistread.cli.interrupt import run_until_interrupted\n"
        "async def stubborn():\n"
        "    print('go', flush=True)\n"
        "    while True:\n"
        "        try: await asyncio.sleep(60)\n"
        "        except asyncio.CancelledError: print('no', flush=True)\n"
        "run_until_interrupted(stubborn())\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "go\n"
    process.send_signal(signal.SIGINT)
    assert process.stdout.readline() == "no\n"
    time.sleep(0.6)
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=60) == ExitStatus.INTERRUPTED


def test_a_bouncing_ctrl_c_keeps_the_closing_message(book: Path) -> None:
    process = start("index", book, *SIZE, "--events", pause_s=0.2)
    wait_for_page(process, 2)
    for number in (signal.SIGINT, signal.SIGINT, signal.SIGTERM):
        process.send_signal(number)
        time.sleep(0.02)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == ExitStatus.INTERRUPTED
    assert errors.count("every section is saved") == 1


@pytest.mark.slow
def test_an_index_killed_at_many_moments_ends_with_the_same_pages(
    run: Run, book: Path, engine: FakeEngine, tmp_path: Path
) -> None:
    """SIGKILL, twenty times; then it ends with the pages of a reading that nobody disturbed."""
    for moment in range(20):
        process = start("index", book, *SIZE, "--events", pause_s=0.05)
        if moment % 2:
            # Reading has begun.
            assert process.stdout is not None
            process.stdout.readline()
        time.sleep(moment * 0.05)
        process.kill()
        process.communicate()
    disturbed = run("index", book, *SIZE, "--json").json
    assert disturbed["resumed_pages"] > 0
    pages = run("pages", book, "--upto", "all", "--json").json
    for path in (
        tmp_path / "home" / "XDG_CACHE_HOME" / "gistread" / "memories"
    ).iterdir():
        path.unlink()
    whole = run("index", book, *SIZE, "--json").json
    assert run("pages", book, "--upto", "all", "--json").json == pages
    assert whole["pages"] == disturbed["pages"]
