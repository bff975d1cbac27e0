"""The file of outcomes: plain JSON lines, whole ones, one run at a time."""

import json
from pathlib import Path

import pytest

from gistread.errors import StorageError
from gistread.evaluation.outcomes import OutcomeFile, read_outcomes, to_json
from tests.evaluation.runs import make_asked, unended

FIRST = make_asked("a", "1", "bm25", cell=(1000.0, 0.5), f1=40, page_recall=100)
SECOND = unended(make_asked("a", "2", "bm25", f1=0))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "outcomes.jsonl"


def write(path: Path, *asked: object) -> None:
    with OutcomeFile(path) as file:
        for one in asked:
            file.append(one)  # type: ignore[arg-type]


def test_a_written_outcome_is_read_back(path: Path) -> None:
    write(path, FIRST, SECOND)
    with OutcomeFile(path) as file:
        assert file.known == {FIRST.key: FIRST, SECOND.key: SECOND}
    assert read_outcomes(path) == {FIRST.key: FIRST, SECOND.key: SECOND}


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


def test_a_line_without_check_results_is_read(path: Path) -> None:
    line = {name: value for name, value in to_json(FIRST).items() if name not in ("quotes_hold", "unsupported")}
    path.write_text(json.dumps(line) + "\n")
    assert read_outcomes(path) == {FIRST.key: FIRST}


@pytest.mark.parametrize("cut", [1, 2, 40, 200])
def test_an_incomplete_last_line_is_dropped(path: Path, cut: int) -> None:
    write(path, FIRST, SECOND)
    path.write_bytes(path.read_bytes()[:-cut])
    assert list(read_outcomes(path)) == [FIRST.key]
    write(path, SECOND)
    assert read_outcomes(path) == {FIRST.key: FIRST, SECOND.key: SECOND}
    assert path.read_bytes().count(b"\n") == 2


def test_the_later_of_two_outcomes_of_a_question_counts(path: Path) -> None:
    again = make_asked("a", "2", "bm25", f1=70)
    write(path, FIRST, SECOND, again)
    assert read_outcomes(path)[again.key] == again


@pytest.mark.parametrize("line", ["nonsense", "[]", "{}", '{"task": 3}', json.dumps({**to_json(FIRST), "scores": 3})])
def test_a_damaged_line_is_reported_and_nothing_is_removed(path: Path, line: str) -> None:
    write(path, FIRST)
    path.write_text(path.read_text() + line + "\n")
    before = path.read_bytes()
    with pytest.raises(StorageError, match="line 2: invalid outcome"):
        OutcomeFile(path)
    assert path.read_bytes() == before


def test_two_runs_cannot_write_the_same_file(path: Path) -> None:
    with OutcomeFile(path), pytest.raises(StorageError, match="Another run is writing"):
        OutcomeFile(path)
    OutcomeFile(path).__exit__(None, None, None)


def test_a_missing_folder_is_an_error_with_its_name(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="nowhere"):
        OutcomeFile(tmp_path / "nowhere" / "outcomes.jsonl")
