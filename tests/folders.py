"""Folders of gistread for tests."""

from pathlib import Path

from gistread.paths import Paths


def paths_in(folder: Path) -> Paths:
    return Paths(folder / "config", folder / "data", folder / "cache", folder / "state")
