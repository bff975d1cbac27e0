"""A reader that says what the test tells it to, and a folder of books."""

from pathlib import Path

import pytest

from tests.session.conftest import scripted_reader
from tests.tui.scripted import ScriptedReader


@pytest.fixture
def reader(monkeypatch: pytest.MonkeyPatch) -> ScriptedReader:
    return scripted_reader(monkeypatch)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three small books."""
    folder = tmp_path / "Books"
    folder.mkdir()
    for title in ("A Short Tale", "The Long Tale", "Notes on Émile"):
        (folder / f"{title}.txt").write_text(f"{title}\n\n" + f"Once upon a time there was {title}. " * 60)
    return folder
