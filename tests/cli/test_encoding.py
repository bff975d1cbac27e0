"""`--encoding` names the encoding of a text, and is kept for the book."""

from pathlib import Path

import pytest

from gistread.errors import ExitStatus
from gistread.library.indexing import update_index
from gistread.paths import default_paths
from tests.cli.conftest import Run

# In cp1257 and cp1250 all of these are letters: nothing but a reader can tell.
_WORDS = "Šis šuo žino. "


@pytest.fixture
def story(tmp_path: Path) -> Path:
    path = tmp_path / "story.txt"
    path.write_bytes((_WORDS * 3).encode("cp1257"))
    return path


def text_of(run: Run, story: Path, *options: str) -> str:
    return run("export", story, "--format", "txt", *options).out.strip()


def test_an_encoding_is_kept_until_it_is_detected_again(run: Run, story: Path) -> None:
    detected = text_of(run, story)
    assert text_of(run, story, "--encoding", "koi8-r") != detected
    assert text_of(run, story) == text_of(run, story, "--encoding", "koi8-r")
    assert text_of(run, story, "--encoding", "windows-1257") == (_WORDS * 3).strip()
    assert text_of(run, story, "--encoding", "auto") == detected


def test_the_search_of_all_books_follows_an_encoding(run: Run, story: Path) -> None:
    run("books", "--add", story)
    for encoding, status in (
        ("koi8-r", ExitStatus.FAILED),
        ("windows-1257", ExitStatus.DONE),
    ):
        run("toc", story, "--encoding", encoding)
        update_index(default_paths())
        assert run("search", "--all", "žino").status == status


def test_what_the_encoding_cannot_read_is_told(run: Run, tmp_path: Path) -> None:
    story = tmp_path / "story.txt"
    story.write_bytes("Grüße".encode("cp1252") * 9)
    ran = run("export", story, "--format", "txt", "--encoding", "utf-8")
    assert "\ufffd" in ran.out
    assert "unreadable characters are shown" in ran.err


@pytest.mark.parametrize("name", ["klingon", "zip", "rot13"])
def test_an_unknown_encoding_is_refused(run: Run, story: Path, name: str) -> None:
    before = text_of(run, story)
    ran = run("export", story, "--format", "txt", "--encoding", name)
    assert ran.status == ExitStatus.USAGE
    assert f"Unknown encoding: {name}." in ran.err
    assert text_of(run, story) == before


def test_a_book_that_is_no_text_is_refused(run: Run, tmp_path: Path) -> None:
    book = tmp_path / "story.pdf"
    book.write_bytes(b"%PDF-1.7\n")
    ran = run("toc", book, "--encoding", "cp1250")
    assert "is not plain text" in ran.err


def test_standard_input_has_no_kept_encoding(run: Run) -> None:
    ran = run("toc", "-", "--encoding", "cp1250")
    assert ran.status == ExitStatus.USAGE
    assert "--encoding needs the file of a book." in ran.err
