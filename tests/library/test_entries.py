"""The list has one entry per book, whatever happened to its file."""

import time
from dataclasses import replace
from pathlib import Path

import pytest

from gistread.errors import StorageError
from gistread.journal import encode_line
from gistread.library.adding import add_file, add_folder
from gistread.library.catalogue import Catalogue
from gistread.library.entries import Order, filter_entries, list_entries, sort_entries
from gistread.library.model import LibraryEntry
from gistread.library.scanning import find_moved, is_this_book
from tests.library.conftest import Books, Make


def never() -> bool:
    return False


def test_an_opened_book_is_listed_with_position_and_size(books: Books, text: Make) -> None:
    path = text("tale.txt", "A Tale")
    books.open(path, position=1000)
    entry = books.entries[0]
    assert (entry.title, entry.path, entry.format, entry.missing) == ("A Tale", path, "text", False)
    assert 0 < entry.share < 1
    assert 0 < entry.words_left < entry.words
    assert entry.was_opened


def test_the_time_left_depends_on_the_users_pace_in_that_language(books: Books, text: Make) -> None:
    books.open(text("tale.txt", "A Tale"))
    words = books.entries[0].words_left
    slow, slower = (
        list_entries(books.user_data, books.catalogue, lambda language, speed=speed: speed)[0][0].time_left
        for speed in (words / 4, words / 8)
    )
    assert (slow, slower) == ("4 min", "8 min")


def test_an_added_book_is_listed_as_unread_and_stays_one_entry_when_opened(books: Books, text: Make) -> None:
    path = text("tale.txt", "A Tale")
    add_folder(books.catalogue, path.parent, never)
    assert [(entry.title, entry.was_opened) for entry in books.entries] == [("A Tale", False)]
    books.open(path)
    assert [(entry.title, entry.was_opened) for entry in books.entries] == [("A Tale", True)]


def test_the_same_book_in_two_files_is_one_entry(books: Books, text: Make) -> None:
    text("one.txt", "A Tale")
    text("copies/two.txt", "A Tale")
    added = add_folder(books.catalogue, text("three.txt", "Another").parent, never)
    assert (added.new, added.known) == (2, 1)
    assert sorted(books.titles) == ["A Tale", "Another"]


def test_a_moved_file_replaces_the_opened_one_but_a_copy_does_not(books: Books, text: Make) -> None:
    path = text("tale.txt", "A Tale")
    books.open(path)
    copy = text("copies/tale.txt", "A Tale")
    add_folder(books.catalogue, copy.parent, never)
    assert [entry.path for entry in books.entries] == [path]
    path.unlink()
    add_folder(books.catalogue, copy.parent, never)
    assert [(entry.path, entry.missing) for entry in books.entries] == [(copy, False)]


def test_a_renamed_file_is_the_same_book_at_the_same_position(books: Books, text: Make) -> None:
    path = text("tale.txt", "A Tale")
    books.open(path, position=700)
    moved = path.rename(path.with_name("renamed.txt"))
    assert books.user_data.position(books.open(moved, position=700)) == 700
    assert [(entry.path, entry.position) for entry in books.entries] == [(moved, 700)]


@pytest.mark.parametrize("place", ["renamed.txt", "deeper/tale.txt", "../elsewhere/tale.txt"])
def test_a_file_moved_nearby_is_found(books: Books, text: Make, place: str) -> None:
    path = text("tale.txt", "A Tale")
    text("other.txt", "A Tale!")  # of nearly the same size
    books.open(path)
    target = path.parent / place
    target.parent.mkdir(exist_ok=True)
    path.rename(target)
    entry = books.entries[0]
    assert entry.missing
    found = find_moved(entry, ())
    assert found is not None
    assert found.path.samefile(target)


def test_a_file_moved_into_a_library_folder_is_found_and_remembered(books: Books, text: Make) -> None:
    path = text("tale.txt", "A Tale")
    folder = text("far/away/from/it/shelf/other.txt").parent
    add_folder(books.catalogue, folder, never)
    books.open(path)
    moved = path.rename(folder / "tale.txt")
    found = find_moved(next(entry for entry in books.entries if entry.missing), books.catalogue.read().folders)
    assert found is not None
    books.catalogue.add([replace(found, at=time.time())])
    assert [(entry.path, entry.missing) for entry in books.entries if entry.was_opened] == [(moved, False)]


def test_a_missing_file_is_not_confused_with_another(books: Books, text: Make) -> None:
    path = text("tale.txt", "A Tale")
    other = text("other.txt", "B Tale")
    books.open(path)
    path.unlink()
    entry = books.entries[0]
    assert find_moved(entry, ()) is None
    assert not is_this_book(entry, other)


def test_a_file_saved_again_with_the_same_text_is_the_same_book(books: Books, text: Make) -> None:
    path = text("tale.txt", "A Tale")
    books.open(path)
    again = path.with_name("windows.txt")
    again.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n"))
    assert is_this_book(books.entries[0], again)


def test_a_changed_file_is_listed_once_with_its_new_text(books: Books, text: Make) -> None:
    books.open(text("notes.txt", "Notes", "yesterday"))
    books.open(text("notes.txt", "Notes", "today"))
    assert books.titles == ["Notes"]


def test_removing_a_book_keeps_its_file_and_position_and_can_be_undone(books: Books, text: Make) -> None:
    path = text("tale.txt", "A Tale")
    sha256 = books.open(path, position=300)
    entry = books.entries[0]
    books.catalogue.remove(entry.ids)
    assert books.titles == []
    assert path.exists()
    assert books.user_data.position(sha256) == 300
    books.catalogue.restore(entry.ids)
    assert books.titles == ["A Tale"]


def test_a_removed_book_stays_out_until_it_is_opened_or_added(
    books: Books, text: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = text("tale.txt", "A Tale")
    add_folder(books.catalogue, path.parent, never)
    books.catalogue.remove(books.entries[0].ids)
    assert add_folder(books.catalogue, path.parent, never).removed == 1
    assert books.titles == []
    add_file(books.catalogue, path)
    assert books.titles == ["A Tale"]
    books.catalogue.remove(books.entries[0].ids)
    yesterday = time.time() - 86_400
    monkeypatch.setattr("time.time", lambda: yesterday)
    books.open(path)
    assert books.titles == ["A Tale"], "also if the clock was set back"


def test_two_programs_write_one_catalogue(books: Books, text: Make, tmp_path: Path) -> None:
    other = Catalogue(tmp_path / "home" / "library.jsonl")
    for number in range(10):
        add_file(books.catalogue if number % 2 else other, text(f"{number}.txt"))
    assert len(books.entries) == 10


def test_a_damaged_line_loses_only_itself(books: Books, text: Make, tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        add_file(books.catalogue, text(f"{name}.txt"))
    file = tmp_path / "home" / "library.jsonl"
    lines = file.read_bytes().splitlines(keepends=True)
    lines[2] = b"\x00garbage\n"
    file.write_bytes(b"".join([*lines, encode_line({"kind": "file", "path": 3}), encode_line({"kind": "tomorrow"})]))
    assert books.titles == ["a", "c"]
    add_file(books.catalogue, text("d.txt"))
    assert books.titles == ["a", "c", "d"]


def test_a_catalogue_of_a_later_version_is_left_unchanged(books: Books, text: Make, tmp_path: Path) -> None:
    path = text("tale.txt", "A Tale")
    books.open(path)
    file = tmp_path / "home" / "library.jsonl"
    file.write_bytes(encode_line({"kind": "library", "version": 2}))
    entries, problem = list_entries(books.user_data, books.catalogue)
    assert [entry.title for entry in entries] == ["A Tale"]
    assert "later version of gistread" in problem
    with pytest.raises(StorageError):
        add_file(books.catalogue, path)
    assert file.read_bytes() == encode_line({"kind": "library", "version": 2})


def test_repeated_records_do_not_grow_the_catalogue(books: Books, text: Make, tmp_path: Path) -> None:
    path = text("tale.txt", "A Tale")
    file = tmp_path / "home" / "library.jsonl"
    for _ in range(620):
        books.catalogue.remove(["file:x"])
        if file.stat().st_size > 100_000:
            break
    add_file(books.catalogue, path)
    assert file.stat().st_size < 100_000
    assert books.titles == ["A Tale"]


def named(title: str, author: str = "", *, opened_at: float = 0, position: int = 0) -> LibraryEntry:
    return LibraryEntry(
        title, (author,) if author else (), Path(f"/{title}"), opened_at=opened_at, position=position, length=9000
    )


def test_titles_are_ordered_as_in_library_catalogues() -> None:
    entries = [
        named("The Time Machine", "H. G. Wells", opened_at=3, position=100),
        named("Émile", "Jean-Jacques Rousseau", opened_at=2, position=4000),
        named("“Anna Karenina”", "Tolstoy, Leo"),
        named("zzz"),
    ]

    def order(by: Order) -> str:
        return " ".join(
            entry.title.lstrip("“").removeprefix("The ")[0] for entry in sort_entries(reversed(entries), by)
        )

    assert order(Order.LAST_READ) == "T É A z"
    assert order(Order.TITLE) == "A É T z"
    assert order(Order.AUTHOR) == "É A T z"
    assert order(Order.PROGRESS) == "É T A z"


@pytest.mark.parametrize(
    ("typed", "found"), [("", 3), ("emile", 1), ("ÉMILE rous", 1), ("wells machine", 1), ("e", 3), ("nothing", 0)]
)
def test_filtering_ignores_order_case_and_accents(typed: str, found: int) -> None:
    entries = [named("The Time Machine", "H. G. Wells"), named("Émile", "J.-J. Rousseau"), named("Eugénie", "Balzac")]
    assert len(filter_entries(entries, typed)) == found
