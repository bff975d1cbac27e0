"""Saved results of model checks."""

from pathlib import Path

import pytest

from gistread.engine.models import STARTER, find_source, fingerprint_of
from gistread.memory.check_results import CheckResult, CheckResults
from tests.folders import paths_in

GOOD = CheckResult(
    answers=True,
    abstains=True,
    line="good for reading",
    gists=4,
    passages=4,
    seconds=3.2,
)
POOR = CheckResult(
    answers=False,
    abstains=True,
    line="gists will be extractive",
    passages=4,
    faults=("a loop",),
)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "model.gguf"
    path.write_bytes(b"weights")
    return path


def test_results_are_found_by_fingerprint_and_by_file(
    tmp_path: Path, model: Path
) -> None:
    verdicts = CheckResults(paths_in(tmp_path), "1.0")
    assert verdicts.get("a") is None
    verdicts.save("a", model, GOOD)
    verdicts.save("b", None, POOR)
    assert verdicts.get("a") == GOOD
    assert verdicts.get("b") == POOR
    assert verdicts.by_file()(model) == GOOD
    link = tmp_path / "link.gguf"
    link.symlink_to(model)
    assert verdicts.by_file()(link) == GOOD


def test_the_result_of_a_changed_file_is_ignored(tmp_path: Path, model: Path) -> None:
    verdicts = CheckResults(paths_in(tmp_path), "1.0")
    verdicts.save("a", model, GOOD)
    model.write_bytes(b"other weights")
    assert verdicts.by_file()(model) is None
    assert verdicts.by_file()(tmp_path / "gone.gguf") is None


def test_the_result_of_the_starter_comes_with_the_program(tmp_path: Path) -> None:
    starter = find_source(STARTER)
    if not starter.path:
        pytest.skip("the starter is not installed")
    fingerprint = fingerprint_of(starter)
    results = CheckResults(paths_in(tmp_path), "1.0")
    shipped = results.get(fingerprint)
    assert shipped
    assert not shipped.answers
    assert shipped.abstains
    assert "gists are quotations" in shipped.line
    results.save(fingerprint, None, GOOD)
    assert results.get(fingerprint) == GOOD
