"""A series in the library, with its progress."""

import json
from pathlib import Path

from gistread.book.open import open_book
from gistread.library.adding import add_folder
from gistread.library.figures import furthest_reader
from gistread.memory.model import GistFocus
from gistread.memory.store import BookProgress
from tests.library.conftest import Books, Make


def saga(text: Make) -> Path:
    """A series of two books, in their folder."""
    paths = [text("one.txt", "The First"), text("two.txt", "The Second")]
    path = paths[0].with_name("saga.series")
    path.write_text(f'title = "The Saga"\nauthors = ["A. Writer"]\nvolumes = {json.dumps([p.name for p in paths])}\n')
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


def test_the_share_read_by_models_is_that_of_the_volumes(books: Books, text: Make) -> None:
    path = saga(text)
    books.open(path, position=40)
    book = open_book(path)
    (entry,) = books.entries
    assert (entry.title, entry.words, entry.length) == ("The Saga", book.words, len(book.text))
    one, two = book.volume_books

    def memory(of: str, until: int, pages: int, model: str = "m") -> dict[str, BookProgress]:
        return {of: BookProgress(of, model, until, pages, until)}

    assert furthest_reader(entry, {}) is None
    assert furthest_reader(entry, memory(two.sha256, 90, 2)) is None
    half = furthest_reader(entry, memory(one.sha256, 90, 2) | memory(two.sha256, 90, 2))
    assert half == BookProgress(entry.sha256, "m", book.volumes[0].start + 90, 3, book.volumes[0].start + 90)
    whole = memory(one.sha256, len(one.text), 4) | memory(two.sha256, len(two.text), 5)
    assert furthest_reader(entry, whole) == BookProgress(entry.sha256, "m", entry.length, 11, entry.length)
    other = whole | memory(two.sha256, len(two.text), 5, "another")
    assert furthest_reader(entry, other) == BookProgress(entry.sha256, "m", book.volumes[0].end, 5, book.volumes[0].end)
    aimed = whole | {two.sha256: BookProgress(two.sha256, "m", 9, 1, 9, GistFocus(task="who"))}
    assert furthest_reader(entry, aimed) == BookProgress(entry.sha256, "m", book.volumes[0].end, 5, book.volumes[0].end)
