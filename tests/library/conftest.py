"""Empty user data and catalogue, and a way to open books without a screen."""

from collections.abc import Callable
from pathlib import Path

import pytest

from gistread.book.open import open_book
from gistread.library.entries import LibraryEntry, list_entries
from gistread.library.metadata import book_file_of
from gistread.store.catalogue import Catalogue
from gistread.store.user_data import UserData
from tests.folders import paths_in


class Books:
    """A library in a folder of its own."""

    def __init__(self, home: Path) -> None:
        self.user_data = UserData(paths_in(home))
        self.catalogue = Catalogue(paths_in(home))

    def open(self, path: Path, position: int = 0) -> str:
        """Open a book as the screen does; returns the SHA-256 of its text."""
        book = open_book(path)
        file = book_file_of(path, book)
        self.catalogue.add([file])
        self.catalogue.restore(f"text:{book.sha256}", f"file:{file.digest}")
        self.user_data.record_opening(
            book.sha256,
            title=book.title,
            authors=book.authors,
            length=len(book.text),
            path=path,
        )
        self.user_data.set_position(book.sha256, position)
        return book.sha256

    @property
    def entries(self) -> list[LibraryEntry]:
        entries, problem = list_entries(self.user_data, self.catalogue)
        assert problem == ""
        return entries

    @property
    def titles(self) -> list[str]:
        return [entry.title for entry in self.entries]


@pytest.fixture
def books(tmp_path: Path) -> Books:
    return Books(tmp_path / "home")


Make = Callable[..., Path]


@pytest.fixture
def text(tmp_path: Path) -> Make:
    """Write a small book with a text of its own."""

    def make(name: str, title: str = "", words: str = "") -> Path:
        path = tmp_path / "shelves" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        title = title or Path(name).stem
        path.write_text(
            f"{title}\n\n"
            + f"{words or title} was read aloud by the fire, and then again. " * 80
        )
        return path

    return make
