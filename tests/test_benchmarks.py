"""The commands of `tests/benchmarks` run, on a tiny model, and say what they measured.

How fast it was, nobody asks.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from gistread.engine.llama.gguf import read_header
from gistread.engine.protocol import Message
from tests.benchmarks.metering import Purpose
from tests.benchmarks.recall import DATA
from tests.benchmarks.setting import Setting, engine_over
from tests.benchmarks.shapes import Quantization, Shape, write_shape

ROOT = Path(__file__).parents[1]


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tests.benchmarks", *map(str, arguments)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        preexec_fn=_on_one_core,
        check=False,
    )


def _on_one_core() -> None:
    # ggml's threads spin: with one of them, other tests beside this one cannot make them wait for
    # each other.
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


PARTS = {
    "naive": ["one call after another"],
    "indexing": ["careful", "single-pass", "against the naive loop"],
    "reading": ["first attempts", "bare decode", "first gist, against the bare time"],
    "novel": ["Counted, not run"],
    "cancel": ["in the prefill of", "while loading"],
    "moving": ["a key of an exact search", "a jump anywhere"],
    "pdf": ["pages, 58 entries", "a PDF of 352 pages opened"],
}
"""Those that take a few seconds, and what they must speak of."""
SLOW_PARTS = {
    "first_token": ["a first question while a book is read", "after a restart"],
    "batching": ["8 sequences against 1"],
}
DATA_PARTS = {
    "library": ["3 books indexed in the background", "the right book first"],
    "recaps": ["gists, of the pages' sentences", "good gists"],
    "names": ["Names of people in LitBank", "main people of 2 novels"],
    "recall": [
        "gold pages among the first pages, qmsum",
        "gold text shown at an equal budget, qmsum",
    ],
}
"""Those that need questions whose gold places are known."""


@pytest.mark.slow
@pytest.mark.parametrize("part", PARTS | SLOW_PARTS)
def test_a_part_prints_tables_and_writes_the_same_as_json(
    part: str, tiny: Path, tmp_path: Path
) -> None:
    check(part, tiny, tmp_path)


@pytest.mark.slow
@pytest.mark.skipif(not DATA.exists(), reason="the files of the tasks are not there")
@pytest.mark.parametrize("part", DATA_PARTS)
def test_so_does_one_over_the_files_of_tasks(
    part: str, tiny: Path, tmp_path: Path
) -> None:
    check(part, tiny, tmp_path)


def check(part: str, tiny: Path, tmp_path: Path) -> None:
    document = tmp_path / "figures.json"
    ended = run(part, "--quick", "--model", tiny, "--json", document)
    assert ended.returncode == 0, ended.stderr
    for words in (PARTS | SLOW_PARTS | DATA_PARTS)[part]:
        assert words in ended.stdout
    figures: dict[str, Any] = json.loads(document.read_text(encoding="utf-8"))
    assert figures["model"] == "tiny.gguf"
    assert list(figures["parts"]) == [part]
    tables = [
        finding for finding in figures["parts"][part]["findings"] if "table" in finding
    ]
    assert tables
    for table in tables:
        assert table["table"] in ended.stdout
        assert all(table["rows"])


def test_an_unknown_part_is_refused_with_the_names_of_those_there_are() -> None:
    ended = run("speed")
    assert ended.returncode == 2
    assert "indexing" in ended.stderr
    assert "Traceback" not in ended.stderr


@pytest.mark.parametrize("quantization", ["Q8_0", "Q4_K_M"])
async def test_a_model_of_a_shape_decodes_as_many_tokens_as_asked(
    quantization: Quantization, tiny: Path, tmp_path: Path
) -> None:
    path = write_shape(
        tmp_path / "model.gguf", Shape(256, 512, 3, 4, 2, 300), quantization, tiny
    )
    header = read_header(path)
    assert (header.quantization, header.layers, header.missing_bytes) == (
        quantization,
        3,
        0,
    )
    async with engine_over(
        Setting(path, tmp_path, gist_tokens=9), measured=False
    ) as engine:
        answer = await engine.complete((Message("user", "Hello"),))
        assert (answer.finish, answer.usage.generated) == ("length", 9)
        choice = await engine.choose((Message("user", "Hello"),), ["1", "2"])
    assert 0.5 <= (choice.probability or 0) < 1
    assert [cost.purpose for cost in engine.costs] == [Purpose.FIRST, Purpose.PAUSE]
