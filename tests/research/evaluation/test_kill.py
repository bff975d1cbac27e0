"""A run that is killed (SIGKILL of the real process) and taken up again.

Nothing is done twice, nothing is lost.
"""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from tests.memory.books import prose
from tests.tiny_gguf import write_tiny_gguf

TALES = (("the-lamp", 1), ("the-ship", 50))
SLOW_FAKE = """
import asyncio, sys
from research.evaluation.__main__ import main
from gistread.engine.llama import client
from tests.fake_engine import FakeEngine

class Slow(FakeEngine):
    async def measure(self, prompt):
        await asyncio.sleep(0.002)
        return await super().measure(prompt)

engine = Slow(
    says=lambda prompt: " ".join(prompt.split()[:20]),
    chooses=lambda prompt, options: len(prompt) % len(options),
)
client.LlamaEngine = lambda path, **options: engine
raise SystemExit(main(sys.argv[1:]))
"""
"""The command line over a model that always says the same, so that outcomes can be compared word by
word.
"""
Line = dict[str, object]


@pytest.fixture
def words(tmp_path: Path) -> list[str]:
    """What is typed, apart from readers and folder."""
    data = tmp_path / "tales.jsonl"
    tales = [
        {
            "story": story,
            "sections": [prose(60, seed=seed + i) for i in range(2)],
            "questions": [
                {
                    "question_id": 1,
                    "question": "Where is the lamp?",
                    "cor_section": "1",
                    "answer1": "Here.",
                }
            ],
        }
        for story, seed in TALES
    ]
    data.write_text("".join(json.dumps(tale) + "\n" for tale in tales))
    model = write_tiny_gguf(tmp_path / "tiny.gguf")
    options = [
        "--data",
        data,
        "--model",
        model,
        "--page-size",
        "20-60",
        "--max-pages",
        "1",
    ]
    return ["fairytaleqa", *map(str, options)]


@pytest.fixture
def start(tmp_path: Path) -> Callable[..., "subprocess.Popen[str]"]:
    homes = {
        f"XDG_{name}_HOME": str(tmp_path / name)
        for name in ("CONFIG", "DATA", "CACHE", "STATE")
    }

    def run(*command: str | Path) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [sys.executable, *map(str, command)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | homes,
            cwd=Path(__file__).parents[3],
        )

    return run


Start = Callable[..., "subprocess.Popen[str]"]


def lines(out: Path) -> list[Line]:
    """Every whole outcome."""
    path = out / "outcomes.jsonl"
    written = path.read_bytes().splitlines(keepends=True) if path.exists() else []
    return [json.loads(line) for line in written if line.endswith(b"\n")]


def without_costs(outcomes: list[Line]) -> list[Line]:
    """Without the time it took, and what the model remembered of questions before the kill."""
    costs = {"seconds", "engine_seconds", "prefilled", "reused", "scores"}
    return [
        {name: value for name, value in line.items() if name not in costs}
        for line in outcomes
    ]


def wait_for(outcomes: int, process: "subprocess.Popen[str]", out: Path) -> None:
    while len(lines(out)) < outcomes:
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)


def kill(process: "subprocess.Popen[str]") -> None:
    """It, and what it started must end by itself."""
    workers = psutil.Process(process.pid).children(recursive=True)
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=60)
    assert not psutil.wait_procs(workers, timeout=60)[1]


@pytest.mark.slow
def test_a_run_killed_at_many_moments_ends_with_the_same_outcomes(
    words: list[str], start: Start, tmp_path: Path
) -> None:
    command = ("-c", SLOW_FAKE, *words, "--readers", "readagent-s,memwalker,bm25,dos")
    whole = start(*command, "--out", tmp_path / "whole")
    began = time.monotonic()
    _, errors = whole.communicate(timeout=300)
    assert whole.returncode == 0, errors
    took = time.monotonic() - began
    expected = without_costs(lines(tmp_path / "whole"))
    assert len(expected) == 10

    moments = random.Random(5)
    killed = tmp_path / "killed"
    kept: list[Line] = []
    for _ in range(12):
        process = start(*command, "--out", killed)
        time.sleep(moments.uniform(0.3, 0.9) * took)
        kill(process)
        now = lines(killed)
        assert now[: len(kept)] == kept
        assert without_costs(now) == expected[: len(now)]
        kept = now
    process = start(*command, "--out", killed)
    _, errors = process.communicate(timeout=300)
    assert process.returncode == 0, errors
    assert without_costs(lines(killed)) == expected
    assert lines(killed)[: len(kept)] == kept


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_a_run_killed_with_a_real_model_resumes_without_repeating_questions(
    words: list[str], start: Start, tmp_path: Path
) -> None:
    command = (
        "-m",
        "research.evaluation",
        *words,
        "--readers",
        "readagent-s,bm25,full",
        "--out",
        tmp_path / "run",
    )
    kept: list[Line] = []
    # Of 8: while a memory is read, between readers, in the second text.
    for outcomes in (1, 3, 6):
        process = start(*command)
        wait_for(outcomes, process, tmp_path / "run")
        kill(process)
        now = lines(tmp_path / "run")
        assert now[: len(kept)] == kept
        kept = now
    process = start(*command)
    _, errors = process.communicate(timeout=600)
    assert process.returncode == 0, errors
    after = lines(tmp_path / "run")
    assert after[: len(kept)] == kept
    assert [(line["document"], line["reader"]) for line in after] == [
        (story, reader)
        for story, _ in TALES
        for reader in ("full", "closed-book", "readagent-s", "bm25")
    ]
    assert all(line["ended"] for line in after)
    assert (tmp_path / "run" / "table.md").exists()


@pytest.mark.slow
def test_ctrl_c_stops_cleanly_and_says_how_to_resume(
    words: list[str], start: Start, tmp_path: Path
) -> None:
    process = start("-c", SLOW_FAKE, *words, "--out", tmp_path / "run")
    assert process.stderr is not None
    assert "about 2 texts" in process.stderr.readline()
    process.send_signal(signal.SIGINT)
    out, errors = process.communicate(timeout=60)
    assert (process.returncode, out) == (130, "")
    assert "Run the same command again to resume" in errors
    assert "Traceback" not in errors
