"""`gistread last` continues the book read last."""

import time
from pathlib import Path

import pytest

from gistread.book.open import open_book
from gistread.cli import read as screens
from gistread.config import Config
from gistread.errors import ExitStatus
from gistread.library.metadata import book_file_of
from gistread.paths import default_paths
from gistread.store.catalogue import Catalogue
from gistread.store.user_data import UserData
from tests.cli.conftest import Run


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The book that the screen was opened with."""
    paths: list[Path] = []

    def open_screen(path: Path, config: Config, model: str) -> ExitStatus:
        paths.append(path)
        return ExitStatus.DONE

    monkeypatch.setattr(screens, "open_screen", open_screen)
    return paths


def read(path: Path) -> None:
    paths = default_paths()
    book = open_book(path)
    UserData(paths).record_opening(
        book.sha256, title=book.title, authors=(), length=len(book.text), path=path
    )
    Catalogue(paths).add([book_file_of(path, book)])
    time.sleep(0.01)


def test_the_book_that_was_opened_last_is_shown(
    run: Run, shown: list[Path], book: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other.txt"
    other.write_text("Another book, shorter than the first.")
    read(other)
    read(book)
    assert run("last").status == ExitStatus.DONE
    assert shown == [book]
