"""`gistread export`: the user's data about a book, without a model."""

import hashlib
from pathlib import Path

import pytest

from gistread.book.open import open_book
from gistread.errors import ExitStatus
from gistread.marking.model import Color, MarkKind, new_mark, quote_at
from gistread.marking.store import MarkStore
from gistread.paths import default_paths
from gistread.user_data import SavedQuestion, UserData
from tests.cli.conftest import Run
from tests.fake_engine import FakeEngine


@pytest.fixture
def marked(book: Path) -> Path:
    opened = open_book(book)
    place = quote_at(opened.text, 100, 140)
    MarkStore(default_paths().marks).put(
        opened.sha256, new_mark(MarkKind.HIGHLIGHT, place, color=Color.RED, note="Look.")
    )
    user_data = UserData(default_paths().books)
    user_data.record_opening(opened.sha256, title=opened.title, authors=(), length=len(opened.text), path=book)
    user_data.add_question(opened.sha256, SavedQuestion("Who?", "Nobody.", True))
    return book


def test_markdown_comes_on_standard_output(run: Run, marked: Path) -> None:
    ran = run("export", marked)
    assert ran.status == ExitStatus.DONE
    assert open_book(marked).text[100:140].strip() in ran.out.replace("\n> ", " ")
    assert "Look." in ran.out
    assert "### Who?" in ran.out


def test_json_is_one_document(run: Run, marked: Path) -> None:
    for words in (["--json"], ["--format", "json"]):
        ran = run("export", marked, *words)
        assert ran.status == ExitStatus.DONE
    document = run("export", marked, "--json").json
    assert document["marks"][0]["note"] == "Look."
    assert document["questions"][0]["answer"] == "Nobody."


def test_the_exported_text_is_the_normalised_text(run: Run, marked: Path) -> None:
    out = run("export", marked, "--format", "txt").out
    assert hashlib.sha256(out.encode()).hexdigest() == open_book(marked).sha256


def test_gists_are_exported_from_the_memory(run: Run, marked: Path, engine: FakeEngine) -> None:
    assert run("export", marked, "--json").json["gists"] == []
    assert run("index", marked, "--min-words", "60", "--max-words", "200").status == ExitStatus.DONE
    assert len(run("export", marked, "--json").json["gists"]) > 3
    assert "## Gists" in run("export", marked).out


def test_the_name_of_the_file_says_the_format(run: Run, marked: Path, tmp_path: Path) -> None:
    for name, beginning in (("a.md", "# "), ("a.json", "{"), ("a.txt", "Chapter 1")):
        ran = run("export", marked, "--output", tmp_path / name)
        assert (ran.status, ran.out) == (ExitStatus.DONE, "")
        assert name in ran.err
        assert (tmp_path / name).read_text().startswith(beginning)
    ran = run("export", marked, "--output", tmp_path / "a.doc")
    assert ran.status == ExitStatus.USAGE
    assert "--format" in ran.err


def test_an_existing_file_is_replaced_only_by_force(run: Run, marked: Path, tmp_path: Path) -> None:
    path = tmp_path / "notes.md"
    path.write_text("mine")
    ran = run("export", marked, "--output", path)
    assert ran.status == ExitStatus.FAILED
    assert "--force" in ran.err
    assert path.read_text() == "mine"
    assert run("export", marked, "--output", path, "--force").status == ExitStatus.DONE
    assert "Look." in path.read_text()


def test_marks_of_an_earlier_version_are_exported(run: Run, marked: Path) -> None:
    marked.write_text("A new preface.\n\n\n" + marked.read_text().replace("sea", "ocean"))
    (mark,) = run("export", marked, "--json").json["marks"]
    assert (mark["note"], mark["lost"]) == ("Look.", False)
    assert open_book(marked).text[mark["start"] : mark["end"]] == mark["text"]


def test_exporting_an_unopened_book_creates_no_file(run: Run, book: Path) -> None:
    ran = run("export", book)
    assert ran.status == ExitStatus.DONE
    assert "No marks, questions or gists" in ran.out
    assert not default_paths().data.exists()


def test_other_programs_have_formats_of_their_own(run: Run, marked: Path, tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    vault.mkdir()
    for _ in range(2):
        assert run("export", marked, "--format", "obsidian", "--output", vault).status == ExitStatus.DONE
    assert [path.name for path in vault.iterdir()] == ["The Lamp.md"]
    assert (vault / "The Lamp.md").read_text().count("Look.") == 1
    for name, beginning in (("a.tsv", "#separator:tab"), ("a.csv", "Highlight,Title,Author")):
        assert run("export", marked, "--output", tmp_path / name).status == ExitStatus.DONE
        assert (tmp_path / name).read_text().startswith(beginning)
    assert "{{c1::" in run("export", marked, "--format", "anki").out
