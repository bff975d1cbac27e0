"""Saved results of model checks."""

from pathlib import Path

import pytest

from gistread.engine.model_source import find_source, fingerprint_of
from gistread.engine.models import STARTER
from gistread.memory.check_results import CheckResult, CheckResults, Worth

GOOD = CheckResult(Worth.READING, "good for reading", 6, 6, gists=4, passages=4, seconds=3.2)
POOR = CheckResult(Worth.EXTRACTIVE, "gists will be extractive", 2, 6, by_place=True, passages=4, faults=("a loop",))


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "model.gguf"
    path.write_bytes(b"weights")
    return path


def test_results_are_found_by_fingerprint_and_by_file(tmp_path: Path, model: Path) -> None:
    verdicts = CheckResults(tmp_path / "cache" / "tried.json", "1.0")
    assert verdicts.get("a") is None
    verdicts.save("a", model, GOOD)
    verdicts.save("b", None, POOR)
    assert verdicts.get("a") == GOOD
    assert verdicts.get("b") == POOR
    assert verdicts.by_file()(model) == GOOD
    link = tmp_path / "link.gguf"
    link.symlink_to(model)
    assert verdicts.by_file()(link) == GOOD


def test_a_later_result_replaces_an_earlier_one(tmp_path: Path, model: Path) -> None:
    verdicts = CheckResults(tmp_path / "tried.json", "1.0")
    verdicts.save("a", model, GOOD)
    verdicts.save("a", model, POOR)
    assert verdicts.get("a") == POOR


def test_the_result_of_a_changed_file_is_ignored(tmp_path: Path, model: Path) -> None:
    verdicts = CheckResults(tmp_path / "tried.json", "1.0")
    verdicts.save("a", model, GOOD)
    model.write_bytes(b"other weights")
    assert verdicts.by_file()(model) is None
    assert verdicts.by_file()(tmp_path / "gone.gguf") is None


def test_results_of_another_engine_version_are_ignored(tmp_path: Path, model: Path) -> None:
    CheckResults(tmp_path / "tried.json", "1.0").save("a", model, GOOD)
    later = CheckResults(tmp_path / "tried.json", "1.1")
    assert later.get("a") is None
    assert later.by_file()(model) is None


@pytest.mark.parametrize(
    "content", [b"", b"[]", b"{", b'{"format": 99, "entries": []}', b'{"format": 1, "entries": [{}]}']
)
def test_a_damaged_file_counts_as_missing(tmp_path: Path, model: Path, content: bytes) -> None:
    path = tmp_path / "tried.json"
    path.write_bytes(content)
    verdicts = CheckResults(path, "1.0")
    assert verdicts.get("a") is None
    verdicts.save("a", model, GOOD)
    assert verdicts.get("a") == GOOD


def test_an_unwritable_folder_saves_nothing(tmp_path: Path, model: Path) -> None:
    (tmp_path / "file").write_text("")
    verdicts = CheckResults(tmp_path / "file" / "tried.json", "1.0")
    verdicts.save("a", model, GOOD)
    assert verdicts.get("a") is None


@pytest.mark.parametrize(("right", "is_reliable"), [(6, True), (5, True), (4, False), (2, False), (0, False)])
def test_a_model_that_chooses_well_is_reliable(tmp_path: Path, right: int, is_reliable: bool) -> None:
    verdicts = CheckResults(tmp_path / "tried.json", "1.0")
    verdicts.save("a", None, CheckResult(Worth.SOME, "as it chooses", right, 6))
    assert verdicts.get("a").is_reliable is is_reliable  # type: ignore[union-attr]


def test_the_result_of_the_starter_comes_with_the_program(tmp_path: Path) -> None:
    starter = find_source(STARTER)
    if not starter.path:
        pytest.skip("the starter is not installed")
    fingerprint = fingerprint_of(starter)
    results = CheckResults(tmp_path / "tried.json", "1.0")
    shipped = results.get(fingerprint)
    assert shipped
    assert shipped.gists == shipped.passages
    assert shipped.knows_absence
    results.save(fingerprint, None, GOOD)
    assert results.get(fingerprint) == GOOD
