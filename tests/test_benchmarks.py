"""The commands of `tests/benchmarks` run, on a tiny model, and say what they measured. How fast it was, nobody asks."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from gistread.engine.llama.gguf import read_header
from gistread.engine.protocol import Message
from tests.benchmarks.figures import Skipped, Spread, Table, Target, as_json, as_text
from tests.benchmarks.metering import Cost, Purpose, decoded_beside
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
    # ggml's threads spin: with one of them, other tests beside this one cannot make them wait for each other.
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


PARTS = {
    "raw": ["Prefill on an empty cache", "Decode after"],
    "naive": ["one call after another"],
    "indexing": ["careful", "single-pass", "against the naive loop"],
    "reading": ["first attempts", "bare decode", "idle", "first gist, against the bare time"],
    "novel": ["Counted, not run"],
    "cancel": ["in the prefill of", "while loading"],
    "memory": ["Resident memory"],
    "moving": ["a key of an exact search", "a jump anywhere"],
    "listing": ["models listed, headers of", "models listed"],
    "pdf": ["pages, 58 entries", "a PDF of 352 pages opened"],
    "tokens": ["the same ones by both", "tokens counted without the model"],
    "typesetting": ["justified, words parted", "laid out at another width"],
}
"""Those that take a few seconds, and what they must speak of."""
SLOW_PARTS = {
    "first_token": ["a first question while a book is read", "after a restart"],
    "passage": ["another about the same one"],
    "batching": ["8 sequences against 1"],
    "members": ["all members at once", "against one member after another"],
    "exactness": ["all at once", "gists of the same page"],
}
DATA_PARTS = {
    "recaps": ["gists, of the pages' sentences"],
    "names": ["Names of people in LitBank", "main people of 2 novels"],
    "recall": ["gold pages among the first pages, qmsum", "gold text shown at an equal budget, musique"],
    "aims": ["by what they are made for", "meeting, for the question"],
}
"""Those that need questions whose gold places are known."""


@pytest.mark.parametrize(
    "part", [pytest.param(part, marks=[] if part == "tokens" else pytest.mark.slow) for part in PARTS | SLOW_PARTS]
)
def test_a_part_prints_tables_and_writes_the_same_as_json(part: str, tiny: Path, tmp_path: Path) -> None:
    check(part, tiny, tmp_path)


@pytest.mark.slow
@pytest.mark.skipif(not DATA.exists(), reason="the files of the tasks are not there")
@pytest.mark.parametrize("part", DATA_PARTS)
def test_so_does_one_over_the_files_of_tasks(part: str, tiny: Path, tmp_path: Path) -> None:
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
    tables = [finding for finding in figures["parts"][part]["findings"] if "table" in finding]
    assert tables
    for table in tables:
        assert table["table"] in ended.stdout
        assert all(table["rows"])


def test_an_unknown_part_is_refused_with_the_names_of_those_there_are() -> None:
    ended = run("speed")
    assert ended.returncode == 2
    assert "raw" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_a_missing_model_is_told_in_a_line(tmp_path: Path) -> None:
    ended = run("raw", "--model", tmp_path / "none.gguf")
    assert ended.returncode == 2
    assert "--model" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_a_table_has_its_columns_under_their_heads() -> None:
    table = Table(
        "Speed", ("weights", "rate [tok/s]"), (("Q8_0", 1234.5), ("F16", Spread.of([9.0, 7.0, 8.0])), ("x", None))
    )
    lines = as_text(table).splitlines()
    assert lines[0] == "Speed"
    assert len({len(line) for line in lines[1:]}) == 1
    assert "1,234" in lines[3]
    assert "8.00 (7.00–9.00)" in lines[4]
    assert lines[5].endswith("–")


def test_a_row_of_the_wrong_length_is_no_table() -> None:
    with pytest.raises(ValueError, match="Speed"):
        Table("Speed", ("weights", "rate"), (("Q8_0",),))


def test_an_aim_knows_whether_it_is_reached() -> None:
    assert Target("time", 0.3, at_most=0.3).reached
    assert not Target("time", 0.31, at_most=0.3).reached
    assert Target("rate", 2.4, at_least=2.3).reached
    assert not Target("rate", 2.2, at_least=2.3).reached


def test_json_keeps_the_range_of_a_figure_and_the_reason_for_a_gap() -> None:
    table = Table("Speed", ("weights", "rate"), (("F16", Spread.of([1.0, 3.0])),))
    assert as_json(table)["rows"] == [{"weights": "F16", "rate": {"median": 2.0, "low": 1.0, "high": 3.0}}]
    assert as_json(Skipped("a novel", "it is not there")) == {"skipped": "a novel", "reason": "it is not there"}


def test_requests_that_decode_at_the_same_time_share_their_steps() -> None:
    costs = [Cost(Purpose.FIRST, 0.0, *moments) for moments in ((1.0, 5.0), (3.0, 5.0), (4.0, 9.0))]
    assert [decoded_beside(cost, costs) for cost in costs] == [1.75, 2.5, 1.4]


@pytest.mark.parametrize("quantization", ["Q8_0", "Q4_K_M"])
async def test_a_model_of_a_shape_decodes_as_many_tokens_as_asked(
    quantization: Quantization, tiny: Path, tmp_path: Path
) -> None:
    path = write_shape(tmp_path / "model.gguf", Shape(256, 512, 3, 4, 2, 300), quantization, tiny)
    header = read_header(path)
    assert (header.quantization, header.layers, header.missing_bytes) == (quantization, 3, 0)
    async with engine_over(Setting(path, tmp_path, gist_tokens=9), measured=False) as engine:
        answer = await engine.complete((Message("user", "Hello"),))
        assert (answer.finish, answer.usage.generated) == ("length", 9)
        choice = await engine.choose((Message("user", "Hello"),), ["1", "2"])
    assert 0.5 <= (choice.probability or 0) < 1
    assert [cost.purpose for cost in engine.costs] == [Purpose.FIRST, Purpose.PAUSE]
