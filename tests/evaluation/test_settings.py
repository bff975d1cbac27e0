"""A run goes on with the settings that it was begun with, and with no others."""

from dataclasses import replace
from pathlib import Path

import pytest

from gistread.errors import StorageError, UsageError
from gistread.evaluation.settings import RunSettings, data_hash, read_settings, save_or_compare

SETTINGS = RunSettings("qmsum", "d" * 64, "tiny", "f" * 32, 4096, seed=1, limit=20, depths=[0.5], prompts="p" * 12)


def test_the_same_settings_resume_a_run(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    save_or_compare(folder, SETTINGS)
    save_or_compare(folder, SETTINGS)
    assert read_settings(folder) == SETTINGS


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"seed": 2}, r"--seed \(1 there, 2 here\)"),
        ({"limit": 0, "guard": False}, r"--limit \(20 there, 0 here\), --no-guard \(on there, off here\)"),
        ({"fingerprint": "e" * 32}, "the weights of --model"),
        ({"data": "e" * 64}, "the contents of --data"),
        ({"prompts": "x"}, "the prompts of gistread"),
        ({"version": "9"}, "the version of gistread"),
        ({"page_size": "280-600"}, r"--page-size \(none there, 280-600 here\)"),
        ({"context_tokens": 512}, r"--context \(4096 there, 512 here\)"),
    ],
)
def test_different_settings_are_refused_and_named(tmp_path: Path, change: dict[str, object], said: str) -> None:
    save_or_compare(tmp_path, SETTINGS)
    before = (tmp_path / "run.json").read_bytes()
    with pytest.raises(UsageError, match=said) as refused:
        save_or_compare(tmp_path, replace(SETTINGS, **change))  # type: ignore[arg-type]
    assert str(refused.value).count("\n") == 1
    assert (tmp_path / "run.json").read_bytes() == before


def test_a_folder_without_a_run_is_reported(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="has no run"):
        read_settings(tmp_path)


@pytest.mark.parametrize("content", ["", "[]", '{"task": "x"}'])
def test_a_foreign_file_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "run.json").write_text(content)
    with pytest.raises(StorageError, match=r"run\.json"):
        save_or_compare(tmp_path, SETTINGS)


def test_the_hash_of_data_covers_names_and_contents(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    (folder / "in").mkdir(parents=True)
    (folder / "in" / "one").write_text("1")
    before = data_hash(folder)
    (folder / "in" / "one").write_text("2")
    changed = data_hash(folder)
    (folder / "in" / "one").rename(folder / "in" / "two")
    assert len({before, changed, data_hash(folder), data_hash(folder / "in" / "two")}) == 4


def test_missing_data_is_an_error_that_says_where_to_get_it(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="eval list"):
        data_hash(tmp_path / "none")
