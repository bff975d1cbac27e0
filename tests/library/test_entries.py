"""The list has one entry per book, whatever happened to its file."""

import time
from pathlib import Path

import pytest

from gistread.library.adding import add_file, add_folder, is_this_book
from gistread.library.entries import LibraryEntry, filter_entries, list_entries
from tests.library.conftest import Books, Make


def never() -> bool:
    return False


def test_an_opened_book_is_listed_with_position_and_size(
    books: Books, text: Make
) -> None:
    path = text("tale.txt", "A Tale")
    books.open(path, position=1000)
    entry = books.entries[0]
    assert (entry.title, entry.path, entry.format, entry.missing) == (
        "A Tale",
        path,
        "text",
        False,
    )
    assert 0 < entry.share < 1
    assert 0 < entry.words_left < entry.words
    assert entry.was_opened


def test_the_time_left_depends_on_the_users_pace_in_that_language(
    books: Books, text: Make
) -> None:
    books.open(text("tale.txt", "A Tale"))
    words = books.entries[0].words_left
    slow, slower = (
        list_entries(
            books.user_data, books.catalogue, lambda language, speed=speed: speed
        )[0][0].time_left
        for speed in (words / 4, words / 8)
    )
    assert (slow, slower) == ("4 min", "8 min")


def test_an_added_book_is_listed_as_unread_and_stays_one_entry_when_opened(
    books: Books, text: Make
) -> None:
    path = text("tale.txt", "A Tale")
    add_folder(books.catalogue, path.parent, never)
    assert [(entry.title, entry.was_opened) for entry in books.entries] == [
        ("A Tale", False)
    ]
    books.open(path)
    assert [(entry.title, entry.was_opened) for entry in books.entries] == [
        ("A Tale", True)
    ]


def test_the_same_book_in_two_files_is_one_entry(books: Books, text: Make) -> None:
    text("one.txt", "A Tale")
    text("copies/two.txt", "A Tale")
    added = add_folder(books.catalogue, text("three.txt", "Another").parent, never)
    assert (added.new, added.known) == (2, 1)
    assert sorted(books.titles) == ["A Tale", "Another"]


def test_a_moved_file_replaces_the_opened_one_but_a_copy_does_not(
    books: Books, text: Make
) -> None:
    path = text("tale.txt", "A Tale")
    books.open(path)
    copy = text("copies/tale.txt", "A Tale")
    add_folder(books.catalogue, copy.parent, never)
    assert [entry.path for entry in books.entries] == [path]
    path.unlink()
    add_folder(books.catalogue, copy.parent, never)
    assert [(entry.path, entry.missing) for entry in books.entries] == [(copy, False)]


def test_a_file_saved_again_with_the_same_text_is_the_same_book(
    books: Books, text: Make
) -> None:
    path = text("tale.txt", "A Tale")
    books.open(path)
    again = path.with_name("windows.txt")
    again.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n"))
    assert is_this_book(books.entries[0], again)


def test_removing_a_book_keeps_its_file_and_position_and_can_be_undone(
    books: Books, text: Make
) -> None:
    path = text("tale.txt", "A Tale")
    sha256 = books.open(path, position=300)
    entry = books.entries[0]
    books.catalogue.remove(entry.ids)
    assert books.titles == []
    assert path.exists()
    assert books.user_data.position(sha256) == 300
    books.catalogue.restore(*entry.ids)
    assert books.titles == ["A Tale"]


def test_a_removed_book_stays_out_until_it_is_opened_or_added(
    books: Books, text: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = text("tale.txt", "A Tale")
    add_folder(books.catalogue, path.parent, never)
    books.catalogue.remove(books.entries[0].ids)
    assert add_folder(books.catalogue, path.parent, never).left_out == 1
    assert books.titles == []
    add_file(books.catalogue, path)
    assert books.titles == ["A Tale"]
    books.catalogue.remove(books.entries[0].ids)
    yesterday = time.time() - 86_400
    monkeypatch.setattr("time.time", lambda: yesterday)
    books.open(path)
    assert books.titles == ["A Tale"], "also if the clock was set back"


def named(
    title: str, author: str = "", *, opened_at: float = 0, position: int = 0
) -> LibraryEntry:
    return LibraryEntry(
        title,
        (author,) if author else (),
        Path(f"/{title}"),
        opened_at=opened_at,
        position=position,
        length=9000,
    )


@pytest.mark.parametrize(
    ("typed", "count"),
    [
        ("", 3),
        ("emile", 1),
        ("ÉMILE rous", 1),
        ("wells machine", 1),
        ("e", 3),
        ("nothing", 0),
    ],
)
def test_filtering_ignores_order_case_and_accents(typed: str, count: int) -> None:
    entries = [
        named("The Time Machine", "H. G. Wells"),
        named("Émile", "J.-J. Rousseau"),
        named("Eugénie", "Balzac"),
    ]
    assert len(filter_entries(entries, typed)) == count
