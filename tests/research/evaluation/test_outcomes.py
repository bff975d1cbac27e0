"""The file of outcomes: plain JSON lines, whole ones, one run at a time."""

import json
from pathlib import Path

import pytest

from gistread.errors import StorageError
from research.evaluation.outcomes import OutcomeFile, from_json, to_json
from tests.research.evaluation.runs import make_asked

FIRST = make_asked("a", "1", "bm25", f1=40, page_recall=100)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "outcomes.jsonl"


def write(path: Path, *answers: object) -> None:
    with OutcomeFile(path) as file:
        for answer in answers:
            file.append(answer)  # type: ignore[arg-type]


def test_a_line_is_json_with_everything_needed_to_check_it(path: Path) -> None:
    write(path, FIRST)
    line = json.loads(path.read_text())
    assert line["references"] == ["Ann"]
    assert line["gold_places"] == [[0, 5]]
    assert line["seen"] == [[0, 10], [20, 30]]
    assert line["scores"] == {"f1": 40.0, "page-recall": 100.0}
    assert line["events"] == ["1. page 2: why", "enough"]
    assert (line["prefilled"], line["reused"], line["generated"]) == (10, 20, 3)
    assert path.read_bytes().count(b"\n") == 1


def test_a_line_of_an_older_version_is_read() -> None:
    line = to_json(FIRST)
    line["found"] = line.pop("has_answer")
    del line["quotes_hold"], line["unsupported"]
    assert from_json(line) == FIRST


@pytest.mark.parametrize(
    "line",
    [
        "nonsense",
        "[]",
        "{}",
        '{"task": 3}',
        json.dumps({**to_json(FIRST), "scores": 3}),
    ],
)
def test_a_damaged_line_is_reported_and_nothing_is_removed(
    path: Path, line: str
) -> None:
    write(path, FIRST)
    path.write_text(path.read_text() + line + "\n")
    before = path.read_bytes()
    with pytest.raises(StorageError, match="line 2: invalid outcome"):
        OutcomeFile(path)
    assert path.read_bytes() == before
