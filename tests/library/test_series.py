"""A series in the library, with its progress."""

import json
from pathlib import Path

from gistread.library.adding import add_folder
from tests.library.conftest import Books, Make


def saga(text: Make) -> Path:
    """A series of two books, in their folder."""
    paths = [text("one.txt", "The First"), text("two.txt", "The Second")]
    path = paths[0].with_name("saga.series")
    path.write_text(
        'title = "The Saga"\nauthors = ["A. Writer"]\nvolumes = '
        f"{json.dumps([p.name for p in paths])}\n"
    )
    return path


def test_a_folder_adds_the_series_and_its_volumes(books: Books, text: Make) -> None:
    path = saga(text)
    (path.parent / "broken.series").write_text("volumes = 1")
    added = add_folder(books.catalogue, path.parent, lambda: False)
    assert {entry.title: entry.format for entry in books.entries} == {
        "The Saga": "series",
        "The First": "text",
        "The Second": "text",
    }
    assert [failed.path.name for failed in added.failed] == ["broken.series"]
