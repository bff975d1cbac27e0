"""`gistread books`: the library on the command line."""

import os
import sys
from pathlib import Path

import pytest

from gistread.book.cache import file_digest
from gistread.book.open import open_book
from gistread.errors import ExitStatus
from gistread.paths import default_paths
from gistread.sample import story_path
from gistread.store.user_data import UserData
from tests.cli.conftest import Run


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "Books"
    folder.mkdir()
    for title in ("A Tale of One City", "A Tale of Two Dogs"):
        (folder / f"{title}.txt").write_text(
            f"{title}\n\n" + f"This is {title}, told again and again. " * 50
        )
    return folder


def test_a_folder_is_added_and_its_broken_files_are_named(
    run: Run, folder: Path
) -> None:
    (folder / "broken.epub").write_bytes(b"PK\x03\x04")
    ran = run("books", "--add", folder)
    assert (ran.status, ran.out) == (ExitStatus.DONE, "")
    assert "2 books added" in ran.err
    assert "broken.epub" in ran.err
    listed = run("books").out
    assert "not opened yet" in listed
    assert "A Tale of One City" in listed
    assert str(folder) in listed


def test_several_paths_are_added_and_removed_at_once(run: Run, folder: Path) -> None:
    paths = sorted(folder.iterdir())
    assert len(paths) == 2
    assert run("books", "--add", *paths, "--json").json["added"] == 2
    assert len(run("books", "--json").json["books"]) == 2
    run("books", "--remove", *paths)
    assert run("books", "--json").json["books"] == []


@pytest.mark.parametrize("unused", [["dogs"], ["--sort", "title"], ["--tag", "cities"]])
@pytest.mark.parametrize("change", ["--add", "--remove"])
def test_what_adding_and_removing_do_not_use_is_refused(
    run: Run, folder: Path, change: str, unused: list[str]
) -> None:
    run("books", "--add", folder)
    book = folder / "A Tale of One City.txt"
    ran = run("books", *unused, change, book)
    assert ran.status == ExitStatus.USAGE
    assert f"{change} does not use {unused[0]}." in ran.err
    assert len(run("books", "--json").json["books"]) == 2


def test_json_has_every_field(run: Run, folder: Path) -> None:
    assert run("books", "--add", folder, "--json").json == {
        "added": 2,
        "known": 0,
        "left_out": 0,
        "no_books": 0,
        "failed": [],
        "removed": [],
    }
    document = run("books", "--json").json
    assert document["folders"] == [str(folder)]
    book = document["books"][0]
    assert book["path"] == str(folder / "A Tale of One City.txt")
    assert (book["format"], book["opened_at"], book["progress"], book["memory"]) == (
        "text",
        None,
        0.0,
        None,
    )
    assert len(book["file_sha256"]) == 64


@pytest.mark.parametrize(
    "rest", [b"", b"1 0 obj\n<< /Type /Catalog /Pages 2 0 R >>\nendobj\n"]
)
def test_a_pdf_that_was_cut_before_its_pages_is_not_added(
    run: Run, tmp_path: Path, rest: bytes
) -> None:
    paper = tmp_path / "paper.pdf"
    paper.write_bytes(b"%PDF-1.4" + b"\n" * 5 + rest)
    ran = run("books", "--add", paper)
    assert ran.status == ExitStatus.BOOK
    assert "paper.pdf cannot be read: it is damaged or not a PDF." in ran.err
    assert run("books", "--json").json["books"] == []
    (added,) = run("books", "--add", tmp_path, "--json").json["failed"]
    assert added["path"] == str(paper)


def test_a_book_is_removed_by_path_or_title_and_its_file_stays(
    run: Run, folder: Path
) -> None:
    run("books", "--add", folder)
    ran = run(
        "books", "--remove", folder / "A Tale of One City.txt", "--remove", "two dogs"
    )
    assert ran.status == ExitStatus.DONE
    assert run("books", "--json").json["books"] == []
    assert len(list(folder.iterdir())) == 2


def test_a_book_is_called_by_number_title_or_words(
    run: Run, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    accented = folder / "Émile.txt"
    accented.write_text("Émile\n\n" + "He walked in the garden with his tutor. " * 50)
    run("books", "--add", folder)
    listed = run("books", "--json").json["books"]
    numbers = {book["title"]: book["number"] for book in listed}
    assert sorted(numbers.values()) == [1, 2, 3]
    for name in (
        *run("completion", "--names", "books").out.split()[:1],
        "EMILE.txt",
        str(numbers["Émile"]),
        "émil",
    ):
        assert run("toc", name, "--json").json["title"] == "Émile", name
    assert run("toc", "sample", "--json").json["title"] == open_book(story_path()).title
    monkeypatch.chdir(tmp_path)
    (tmp_path / "emile").write_text(
        "Another text, in the folder where the user stands."
    )
    assert run("toc", "emile", "--json").json["title"] == "emile"


def test_a_book_keeps_its_number_when_others_come_and_go(
    run: Run, folder: Path
) -> None:
    for name in ("Émile", "Emma"):
        (folder / f"{name}.txt").write_text(
            f"{name}\n\n" + "They walked in the garden. " * 50
        )
    run("books", "--add", folder)
    numbers = {
        book["title"]: book["number"] for book in run("books", "--json").json["books"]
    }
    first, second, *others = numbers
    for title in (first, second):
        removed = run("books", "--remove", str(numbers[title]))
        assert f"Removed {title} from the list" in removed.err
    (folder / "Zadig.txt").write_text(
        "Zadig\n\n" + "He looked at the stars again. " * 50
    )
    run("books", "--add", folder / "Zadig.txt")
    last = others[-1]
    assert run("toc", str(numbers[last]), "--json").json["title"] == last
    path = folder / f"{last}.txt"
    book = open_book(path)
    data = UserData(default_paths())
    data.record_opening(
        book.sha256,
        title=last,
        authors=(),
        length=len(book.text),
        path=path,
        file=file_digest(path),
    )
    left = {
        book["title"]: book["number"] for book in run("books", "--json").json["books"]
    }
    assert left == {title: numbers[title] for title in others} | {"Zadig": 5}


@pytest.mark.parametrize(
    "command", [["toc"], ["books", "--remove"], ["people"], ["export"], ["serve"], []]
)
def test_an_ambiguous_name_is_listed_and_an_unknown_one_gets_a_suggestion(
    run: Run, folder: Path, command: list[str]
) -> None:
    run("books", "--add", folder)
    several = run(*command, "tale")
    assert (several.status, several.out) == (ExitStatus.USAGE, "")
    heading, *listed = several.err.splitlines()
    assert heading == "gistread: 2 books match 'tale'. Name one by its number:"
    books = run("books", "--json").json["books"]
    titles = [
        f"{book['number']:>4}  {book['title']} · unknown author" for book in books
    ]
    assert sorted(listed) == sorted(titles)
    unknown = run(*command, "a tale of two digs")
    assert unknown.status == ExitStatus.BOOK
    assert "Did you mean “A Tale of Two Dogs”" in unknown.err
    assert unknown.err.count("\n") == 2
    assert len(run("books", "--json").json["books"]) == 2


def test_a_tag_stands_for_its_books_until_it_is_taken_away(
    run: Run, folder: Path, book: Path
) -> None:
    run("books", "--add", folder)
    assert run("books", "tag", "dogs", book, "animals", "--json").json["books"] == [
        "A Tale of Two Dogs",
        "The Lamp",
    ]

    def titles() -> set[str]:
        tagged = run("books", "--tag", "ANIMALS", "--json").json["books"]
        return {book["title"] for book in tagged}

    assert titles() == {"A Tale of Two Dogs", "The Lamp"}
    assert run("books", "untag", "lamp", "Animals").status == ExitStatus.DONE
    assert run("books", "untag", "lamp", "animals").status == ExitStatus.USAGE
    assert titles() == {"A Tale of Two Dogs"}
    (dogs,) = run("books", "dogs", "--json").json["books"]
    assert dogs["tags"] == ["animals"]
    misspelt = run("books", "--tag", "animal")
    assert (misspelt.status, misspelt.err.count("\n")) == (ExitStatus.USAGE, 2)
    assert "Did you mean 'animals'?" in misspelt.err


@pytest.mark.skipif(sys.platform == "win32", reason="names are Unicode there")
def test_escapes_in_names_do_not_reach_the_terminal_and_bytes_that_are_no_text_fit_into_json(
    run: Run, folder: Path
) -> None:
    for number, name in enumerate(
        (b"\x1b]0;owned\x07.txt", b"caf\xe9.txt", b"two\nlines.txt")
    ):
        (folder / os.fsdecode(name)).write_text(
            f"{number} and so it went on for a while, as it does."
        )
    run("books", "--add", folder)
    shown = run("books").out
    assert "\x1b" not in shown
    assert len(shown.splitlines()) == 2 * 5
    assert len(run("books", "--json").json["books"]) == 5
