"""A run goes on with the settings that it was begun with, and with no others."""

from dataclasses import replace
from pathlib import Path

import pytest

from gistread.errors import UsageError
from research.evaluation.settings import RunSettings, read_settings, save_or_compare

SETTINGS = RunSettings(
    "qmsum", "d" * 64, "tiny", "f" * 32, 4096, seed=1, limit=20, prompts="p" * 12
)


def test_the_same_settings_resume_a_run(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    save_or_compare(folder, SETTINGS)
    save_or_compare(folder, SETTINGS)
    assert read_settings(folder) == SETTINGS


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"seed": 2}, r"seed \(1 there, 2 here\)"),
        (
            {"limit": 0, "preset": "code"},
            r"limit \(20 there, 0 here\), preset \('' there, 'code' here\)",
        ),
        ({"prompts": "x"}, "prompts"),
    ],
)
def test_different_settings_are_refused_and_named(
    tmp_path: Path, change: dict[str, object], message: str
) -> None:
    save_or_compare(tmp_path, SETTINGS)
    before = (tmp_path / "run.json").read_bytes()
    with pytest.raises(UsageError, match=message) as refused:
        save_or_compare(tmp_path, replace(SETTINGS, **change))  # type: ignore[arg-type]
    assert str(refused.value).count("\n") == 1
    assert (tmp_path / "run.json").read_bytes() == before
