"""A run that is killed (SIGKILL of the real process, at moments that nobody chose) and taken up again."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from tests.memory.books import prose
from tests.tiny_gguf import write_tiny_gguf

READERS = "bm25,full"


@pytest.fixture
def command(tmp_path: Path) -> list[str]:
    model = write_tiny_gguf(tmp_path / "tiny.gguf")
    data = tmp_path / "tales.jsonl"
    tales = [
        {
            "story": story,
            "sections": [prose(60, seed=seed + i) for i in range(2)],
            "questions": [
                {"question_id": 1, "question": "Where is the lamp?", "cor_section": "1", "answer1": "At sea."}
            ],
        }
        for story, seed in (("the-lamp", 1), ("the-ship", 50))
    ]
    data.write_text("".join(json.dumps(tale) + "\n" for tale in tales))
    words = ["--data", data, "--model", model, "--readers", READERS, "--page-size", "30-90", "--max-pages", "1"]
    return [sys.executable, "-m", "gistread", "eval", "fairytaleqa", *map(str, words), "--out"]


def start(command: list[str], out: Path, home: Path) -> "subprocess.Popen[str]":
    variables = {f"XDG_{name}_HOME": str(home / name) for name in ("CONFIG", "DATA", "CACHE", "STATE")}
    return subprocess.Popen(
        [*command, str(out)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | variables,
        cwd=Path(__file__).parents[2],
    )


Line = dict[str, object]


def lines(out: Path) -> list[Line]:
    """Every whole outcome."""
    path = out / "outcomes.jsonl"
    found = path.read_bytes().splitlines(keepends=True) if path.exists() else []
    return [json.loads(line) for line in found if line.endswith(b"\n")]


def told(outcomes: list[Line]) -> list[tuple[object, ...]]:
    """Of each, what does not hang on the last bits of a number: what a model of chance says does, once the engine
    remembers something else of the questions before."""
    names = ("document", "question", "reader", "ended", "error", "references", "gold_places")
    by_words_alone = ("bm25", "full")
    return [
        (*(line[name] for name in names), line["seen"] if line["reader"] in by_words_alone else None)
        for line in outcomes
    ]


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_killed_again_and_again_it_ends_with_the_same_outcomes_and_none_twice(
    command: list[str], tmp_path: Path
) -> None:
    whole = start(command, tmp_path / "whole", tmp_path)
    began = time.monotonic()
    _, errors = whole.communicate(timeout=300)
    assert whole.returncode == 0, errors
    took = time.monotonic() - began
    wanted = told(lines(tmp_path / "whole"))
    assert len(wanted) == 6

    moments = random.Random(5)
    killed = tmp_path / "killed"
    before: list[Line] = []
    for _ in range(4):
        process = start(command, killed, tmp_path)
        time.sleep(moments.uniform(0.1, 0.5) * took)
        workers = psutil.Process(process.pid).children(recursive=True)
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=60)
        assert not psutil.wait_procs(workers, timeout=20)[1]
        kept = lines(killed)
        assert told(kept) == wanted[: len(kept)]
        assert kept[: len(before)] == before
        before = kept
    process = start(command, killed, tmp_path)
    _, errors = process.communicate(timeout=300)
    assert process.returncode == 0, errors
    assert told(lines(killed)) == wanted
    assert lines(killed)[: len(before)] == before


@pytest.mark.slow
def test_ctrl_c_stops_in_order_and_says_how_to_go_on(command: list[str], tmp_path: Path) -> None:
    process = start(command, tmp_path / "run", tmp_path)
    assert process.stderr is not None
    assert "about 2 texts" in process.stderr.readline()
    process.send_signal(signal.SIGINT)
    out, errors = process.communicate(timeout=60)
    assert (process.returncode, out) == (130, "")
    assert "The same command goes on from there" in errors
    assert "Traceback" not in errors
