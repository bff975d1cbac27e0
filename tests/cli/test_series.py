"""`gistread series`: several volumes as one book, for every command."""

from pathlib import Path

import pytest

from gistread.book.open import open_book
from gistread.errors import ExitStatus
from tests.cli.conftest import Run
from tests.fake_engine import FakeEngine

SIZE = ("--min-words", "60", "--max-words", "200")


@pytest.fixture
def other(book: Path) -> Path:
    path = book.with_name("The Storm.txt")
    text = book.read_text().replace("The Keeper", "The Sailor").replace("stairs", "masts")
    path.write_text(f"{text}\n\nCaptain Marlowe buried the silver whistle beneath the quay.\n")
    return path


@pytest.fixture
def saga(book: Path, other: Path, run: Run, home: Path) -> Path:
    """The two books as a series."""
    path = book.with_name("saga.series")
    assert run("series", path, book, other, "--title", "The Saga").status == ExitStatus.DONE
    return path


def test_a_written_series_opens_as_one_book(saga: Path, book: Path, other: Path, run: Run) -> None:
    whole = open_book(saga)
    assert (whole.title, [one.title for one in whole.volumes]) == ("The Saga", ["The Lamp", "The Storm"])
    assert whole.text.endswith(open_book(other).text)
    assert "The Lamp.txt" in saga.read_text()
    assert str(saga.parent) not in saga.read_text()
    assert run("books", "--json").json["books"][0]["title"] == "The Saga"


def test_a_series_is_shown_with_its_volumes(saga: Path, run: Run, engine: FakeEngine, book: Path) -> None:
    run("index", book, *SIZE)
    shown = run("series", saga)
    first, one, two = shown.out.splitlines()
    assert first.startswith("The Saga · 2 volumes, ")
    assert one.startswith("  1  The Lamp · ")
    assert one.endswith(" words · fake has read all of it")
    assert two.endswith(" words")
    document = run("series", saga, "--json").json
    whole = open_book(saga)
    assert document["sha256"] == whole.sha256
    starts = [(one["heading"], one["start"], one["end"]) for one in document["volumes"]]
    assert starts == [(one.heading, one.start, one.end) for one in whole.volumes]
    assert document["volumes"][0]["sha256"] == open_book(book).sha256


def test_adding_volumes_keeps_edits_of_the_file(saga: Path, run: Run, tmp_path: Path) -> None:
    saga.write_text("# mine\n" + saga.read_text())
    third = tmp_path / "deep" / "third.txt"
    third.parent.mkdir()
    third.write_text("A third book, of few words.")
    assert run("series", saga, third, "--add", "--author", "A. Writer").status == ExitStatus.DONE
    assert saga.read_text().startswith("# mine\n")
    assert "deep/third.txt" in saga.read_text()
    whole = open_book(saga)
    assert (whole.title, whole.authors, len(whole.volumes)) == ("The Saga", ("A. Writer",), 3)


def test_a_volume_in_another_folder_has_its_full_path(
    book: Path, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "deep" / "saga.series"
    path.parent.mkdir()
    monkeypatch.chdir(tmp_path)
    assert run("series", path, book.name).status == ExitStatus.DONE
    assert str(book) in path.read_text()
    assert len(open_book(path).volumes) == 1


def test_an_existing_series_is_replaced_only_by_force(saga: Path, run: Run, other: Path) -> None:
    before = saga.read_text()
    refused = run("series", saga, other)
    assert refused.status == ExitStatus.USAGE
    assert "--add" in refused.err
    assert saga.read_text() == before
    assert run("series", saga, other, "--force").status == ExitStatus.DONE
    assert len(open_book(saga).volumes) == 1


def test_an_invalid_series_is_not_written(saga: Path, run: Run, other: Path, tmp_path: Path) -> None:
    before = saga.read_text()
    (tmp_path / "broken.epub").write_bytes(b"PK\x03\x04 no archive")
    for wrong in ("none.txt", "broken.epub", "saga.series", other.name):
        refused = run("series", saga, tmp_path / wrong, "--add")
        assert refused.status == ExitStatus.BOOK, refused
        assert len(refused.err.splitlines()) <= 2
        assert saga.read_text() == before
    assert run("series", tmp_path / "new.series", tmp_path / "none.txt").status == ExitStatus.BOOK
    assert not (tmp_path / "new.series").exists()


def test_an_invalid_series_name_is_reported(book: Path, other: Path, run: Run, tmp_path: Path) -> None:
    assert run("series", book, other).status == ExitStatus.USAGE
    assert run("series", tmp_path / "none.series").status == ExitStatus.BOOK
    called = book.rename(tmp_path / "book.series")
    assert run("series", called).status == ExitStatus.BOOK
    wrong = tmp_path / "wrong.series"
    wrong.write_text("volumes = 3")
    for how in ((), ("--add",)):
        assert run("series", wrong, other, *how).status != ExitStatus.DONE
    wrong.write_text("volumes = [")
    assert "cannot be added to" in run("series", wrong, other, "--add").err


def test_a_series_works_with_every_command(saga: Path, run: Run, engine: FakeEngine, book: Path, other: Path) -> None:
    run("index", other, *SIZE)
    calls = len(engine.calls)
    indexed = run("index", saga, *SIZE, "--json").json
    run("index", book, *SIZE)
    assert indexed["book"]["title"] == "The Saga"
    assert indexed["resumed_pages"] > 1
    assert len(engine.calls) < 2 * calls + 5
    calls = len(engine.calls)
    assert run("index", saga, *SIZE).status == ExitStatus.DONE
    assert len(engine.calls) == calls

    pages = run("pages", saga, "--json").json["pages"]
    assert len(pages) == indexed["pages"]
    assert [page["gist"] for page in pages if page["chapter"] in ("The Lamp", "The Storm")] == ["The Lamp", "The Storm"]
    assert "The Lamp · Chapter 2: The Storm" in {page["chapter"] for page in pages}
    assert "The Storm · Chapter 1: The Sailor" in run("search", saga, "Sailor").out
    export = run("export", saga).out
    assert "### The Storm · Chapter 3: The Letter" in export

    engine._says = lambda prompt: "Captain Marlowe buried the silver whistle."  # type: ignore[assignment]
    asked = run("ask", saga, "Who buried the silver whistle?", "--reader", "bm25")
    assert asked.status == ExitStatus.DONE
    quotes = [line for line in asked.out.splitlines() if "“" in line]
    assert quotes
    assert all(line.startswith("[") and "· The Storm] “" in line for line in quotes)
    assert "page " in (exported := run("export", saga).out)
    assert "· The Storm · " in exported


def test_only_the_file_is_required(run: Run) -> None:
    failed = run("series")
    assert failed.status == ExitStatus.USAGE
    assert "required: FILE.\n" in failed.err
