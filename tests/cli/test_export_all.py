"""`gistread export --all`: every book of the library with marks, notes or questions."""

import json
from pathlib import Path

import pytest

from gistread.book.cache import open_cached
from gistread.errors import ExitStatus
from gistread.library.metadata import book_file_of
from gistread.marking import MarkKind, new_mark, quote_at
from gistread.paths import default_paths
from gistread.store.catalogue import Catalogue
from gistread.store.model import SavedQuestion
from gistread.store.user_data import MarkStore, UserData
from tests.cli.conftest import Run
from tests.fake_engine import FakeEngine


def add(
    path: Path,
    title: str,
    words: str,
    *,
    rest: str = "and the sea went on counting.",
    note: str = "",
    question: str = "",
) -> Path:
    """A book of the library whose first words are marked, and about which was asked."""
    path.write_text(f"{title}\n\n" + f"{words} {rest} " * 40)
    paths = default_paths()
    book = open_cached(path, paths.texts)
    user_data = UserData(paths)
    user_data.record_opening(
        book.sha256, title=title, authors=(), length=len(book.text), path=path
    )
    Catalogue(paths).add([book_file_of(path, book)])
    if note:
        start = book.text.index(words)
        place = quote_at(book.text, start, start + len(words))
        MarkStore(paths).put(
            book.sha256, new_mark(MarkKind.HIGHLIGHT, place, note=note)
        )
    if question:
        user_data.add_question(
            book.sha256, SavedQuestion(question, "Nobody.", True, asked_at=1.0)
        )
    return path


@pytest.fixture
def shelf(tmp_path: Path) -> dict[str, Path]:
    """Three books with notes or questions, and one without."""
    folder = tmp_path / "shelf"
    folder.mkdir()
    return {
        "lamp": add(folder / "lamp.txt", "The Lamp", "The lamp burned", note="Look."),
        "boat": add(
            folder / "boat.txt", "The Boat", "The boat came", question="Who came?"
        ),
        "bell": add(
            folder / "bell.txt",
            "The Bell",
            "A bell rang",
            note="Hark.",
            question="Why?",
        ),
        "none": add(folder / "none.txt", "Nothing", "Nobody spoke"),
    }


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_folder_gets_a_file_for_each_book(
    run: Run, shelf: dict[str, Path], tmp_path: Path
) -> None:
    notes = tmp_path / "notes"
    ran = run("export", "--all", "--output", notes)
    assert ran.status == ExitStatus.DONE
    expected = ["The Bell – notes.md", "The Boat – notes.md", "The Lamp – notes.md"]
    assert names(notes) == expected
    assert f"Exported 3 books to {notes}." in ran.err
    assert "Hark." in (notes / "The Bell – notes.md").read_text()
    again = run("export", "--all", "--output", notes)
    hint = "3 files exist already: use another folder, or --force to overwrite."
    assert (again.status, again.err.count(hint)) == (ExitStatus.FAILED, 1)
    assert "already exists" not in again.err
    (notes / expected[0]).unlink()
    assert "2 files exist already" in run("export", "--all", "--output", notes).err
    assert (
        run("export", "--all", "--output", notes, "--force").status == ExitStatus.DONE
    )


def test_a_file_that_was_only_asked_about_is_exported(
    run: Run, book: Path, engine: FakeEngine
) -> None:
    engine._says = lambda _: "Nobody knows."
    ran = run("ask", book, "Who counted?", "--reader", "gistread", "--upto", "all")
    assert ran.status == ExitStatus.DONE
    (exported,) = run("export", "--all", "--json").json["books"]
    assert [question["question"] for question in exported["questions"]] == [
        "Who counted?"
    ]


def test_one_file_may_hold_all_books(
    run: Run, shelf: dict[str, Path], tmp_path: Path
) -> None:
    cards = tmp_path / "cards.tsv"
    assert run("export", "--all", "--output", cards).status == ExitStatus.DONE
    text = cards.read_text()
    assert text.count("#separator") == 1
    assert {"gistread::The Lamp", "gistread::The Bell"} <= set(
        text.replace("\n", "\t").split("\t")
    )
    rows = run("export", "--all", "--format", "readwise").out.splitlines()
    assert len(rows) == 1 + 2
    document = run("export", "--all", "--json").json
    assert [book["book"]["title"] for book in document["books"]] == [
        "The Bell",
        "The Boat",
        "The Lamp",
    ]
    assert (
        json.loads(run("export", "--all", "--format", "json").out)["books"]
        == document["books"]
    )
    ran = run("export", "--all")
    assert (ran.status, ran.out) == (ExitStatus.USAGE, "")
    assert "name a folder with --output" in ran.err


def test_books_without_the_named_parts_are_left_out(
    run: Run, shelf: dict[str, Path], tmp_path: Path
) -> None:
    ran = run("export", "--all", "--only", "questions", "--output", tmp_path / "notes")
    assert "Exported 2 books" in ran.err
    assert names(tmp_path / "notes") == ["The Bell – notes.md", "The Boat – notes.md"]
    assert (
        "No book of your library"
        in run("export", "--all", "--json", "--only", "gists").err
    )


def test_a_missing_file_is_told_and_its_notes_are_exported(
    run: Run, shelf: dict[str, Path], tmp_path: Path
) -> None:
    shelf["lamp"].unlink()
    ran = run("export", "--all", "--json")
    assert ran.status == ExitStatus.DONE
    assert "The Lamp: its file is missing; its text is still known." in ran.err
    known = ran.json["books"][2]
    for entry in default_paths().texts.iterdir():
        entry.unlink()
    ran = run("export", "--all", "--json")
    assert (
        "The Lamp: its file is missing; only marked and quoted words are left."
        in ran.err
    )
    lamp = ran.json["books"][2]
    assert {**lamp["book"], "language": ""} == {**known["book"], "language": ""}
    assert lamp["marks"][0]["text"] == "The lamp burned"
    assert lamp["marks"][0]["percent"] == known["marks"][0]["percent"]
    ran = run("export", "--all", "--format", "txt", "--output", tmp_path / "texts")
    assert (ran.status, len(names(tmp_path / "texts"))) == (ExitStatus.FAILED, 2)
    assert "Exported 2 books" in ran.err
    assert "; 1 failed." in ran.err


def test_a_changed_file_keeps_its_marks_and_another_book_does_not_get_them(
    run: Run, shelf: dict[str, Path]
) -> None:
    lamp = shelf["lamp"]
    lamp.write_text(lamp.read_text() + "\n\nA new afterword of the author.\n")
    shelf["bell"].write_text(
        "Quite another book.\n\n" + "No word of it is known here. " * 40
    )
    ran = run("export", "--all", "--json")
    assert "The Lamp: its file has changed." in ran.err
    assert (
        "The Bell: its file holds another text now; its text is still known." in ran.err
    )
    bell, _, lamp_book = ran.json["books"]
    assert (bell["book"]["title"], bell["marks"][0]["note"]) == ("The Bell", "Hark.")
    assert not lamp_book["marks"][0]["lost"]
    assert run("export", "--all", "--json").json == ran.json


def test_a_file_that_now_holds_another_marked_book_leaves_both_their_notes(
    run: Run, tmp_path: Path
) -> None:
    lamp = add(tmp_path / "lamp.txt", "The Lamp", "The lamp burned", note="Look.")
    rest = "through fog, over seven quiet roofs."
    bell = add(
        tmp_path / "bell.txt", "The Bell", "A bell rang", rest=rest, note="Hark."
    )
    lamp.write_bytes(bell.read_bytes())
    ran = run("export", "--all", "--json")
    assert "The Lamp: its file holds another text now" in ran.err
    notes = {
        book["book"]["title"]: book["marks"][0]["note"] for book in ran.json["books"]
    }
    assert notes == {"The Bell": "Hark.", "The Lamp": "Look."}


def test_a_book_out_of_the_list_keeps_its_notes_and_they_are_exported(
    run: Run, shelf: dict[str, Path]
) -> None:
    run("books", "--remove", "The Bell")
    assert "The Bell" not in [
        book["title"] for book in run("books", "--json").json["books"]
    ]
    exported = run("export", "--all", "--json").json["books"]
    bell = next(book for book in exported if book["book"]["title"] == "The Bell")
    assert bell["marks"][0]["note"] == "Hark."


def test_books_of_one_title_get_files_of_their_own(run: Run, tmp_path: Path) -> None:
    shelf = tmp_path / "shelf"
    shelf.mkdir()
    add(shelf / "a.txt", "Poems", "The first book", note="One.")
    add(shelf / "b.txt", "Poems", "The second book", note="Two.")
    run("export", "--all", "--format", "obsidian", "--output", tmp_path / "notes")
    first, second = names(tmp_path / "notes")
    assert first.startswith("Poems (")
    assert second.startswith("Poems (")


def test_one_book_or_all_must_be_named(run: Run, book: Path) -> None:
    for words in (["export"], ["export", book, "--all"]):
        assert "Name one book, or --all." in run(*words).err
