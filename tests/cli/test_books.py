"""`gistread books`: the library on the command line."""

import os
import sys
from pathlib import Path

import pytest

from gistread.errors import ExitStatus
from tests.cli.conftest import Run


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "Books"
    folder.mkdir()
    for title in ("A Tale of One City", "A Tale of Two Dogs"):
        (folder / f"{title}.txt").write_text(f"{title}\n\n" + f"This is {title}, told again and again. " * 50)
    return folder


def test_a_title_cannot_reverse_the_terminals_text(run: Run, tmp_path: Path) -> None:
    (tmp_path / "evil \u202etxt.epub.txt").write_text("One. " * 50)
    run("books", "--add", tmp_path / "evil \u202etxt.epub.txt")
    assert "evil" in (shown := run("books").out)
    assert "\u202e" not in shown


def test_an_empty_library_says_how_to_fill_it(run: Run) -> None:
    ran = run("books")
    assert (ran.status, ran.out) == (ExitStatus.DONE, "")
    assert "gistread books --add FOLDER" in ran.err


def test_a_folder_is_added_and_its_broken_files_are_named(run: Run, folder: Path) -> None:
    (folder / "broken.epub").write_bytes(b"PK\x03\x04")
    ran = run("books", "--add", folder)
    assert (ran.status, ran.out) == (ExitStatus.DONE, "")
    assert "2 new" in ran.err
    assert "broken.epub" in ran.err
    listed = run("books").out
    assert "not opened yet" in listed
    assert "A Tale of One City" in listed
    assert str(folder) in listed


def test_words_filter_the_library(run: Run, folder: Path) -> None:
    run("books", "--add", folder)
    assert [book["title"] for book in run("books", "tale", "dogs", "--json").json["books"]] == ["A Tale of Two Dogs"]


def test_json_has_every_field(run: Run, folder: Path) -> None:
    assert run("books", "--add", folder, "--json").json == {
        "added": 2,
        "known": 0,
        "left_out": 0,
        "failed": [],
        "removed": [],
    }
    document = run("books", "--json").json
    assert document["folders"] == [str(folder)]
    book = document["books"][0]
    assert book["path"] == str(folder / "A Tale of One City.txt")
    assert (book["format"], book["opened_at"], book["progress"], book["memory"]) == ("text", None, 0.0, None)
    assert len(book["file_sha256"]) == 64


def test_a_book_is_removed_by_path_or_title_and_its_file_stays(run: Run, folder: Path) -> None:
    run("books", "--add", folder)
    ran = run("books", "--remove", folder / "A Tale of One City.txt", "--remove", "two dogs")
    assert ran.status == ExitStatus.DONE
    assert run("books", "--json").json["books"] == []
    assert len(list(folder.iterdir())) == 2


def test_an_ambiguous_or_unknown_name_removes_nothing(run: Run, folder: Path) -> None:
    run("books", "--add", folder)
    several = run("books", "--remove", "tale")
    assert several.status == ExitStatus.USAGE
    assert str(folder / "A Tale of Two Dogs.txt") in several.err
    assert run("books", "--remove", "moby dick").status == ExitStatus.USAGE
    assert len(run("books", "--json").json["books"]) == 2


def test_an_unreadable_book_cannot_be_added(run: Run, folder: Path) -> None:
    assert run("books", "--add", folder / "nothing.txt").status == ExitStatus.BOOK
    (folder / "empty.txt").touch()
    assert run("books", "--add", folder / "empty.txt").status == ExitStatus.BOOK


@pytest.mark.skipif(sys.platform == "win32", reason="names are Unicode there")
def test_escapes_in_names_do_not_reach_the_terminal_and_bytes_that_are_no_text_fit_into_json(
    run: Run, folder: Path
) -> None:
    for number, name in enumerate((b"\x1b]0;owned\x07.txt", b"caf\xe9.txt", b"two\nlines.txt")):
        (folder / os.fsdecode(name)).write_text(f"{number} and so it went on for a while, as it does.")
    run("books", "--add", folder)
    shown = run("books").out
    assert "\x1b" not in shown
    assert len(shown.splitlines()) == 2 * 5
    assert len(run("books", "--json").json["books"]) == 5
