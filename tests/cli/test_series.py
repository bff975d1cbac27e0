"""A series: a tag that is a file, with several volumes as one book for every command."""

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
    text = (
        book.read_text().replace("The Keeper", "The Sailor").replace("stairs", "masts")
    )
    path.write_text(
        f"{text}\n\nCaptain Marlowe buried the silver whistle beneath the quay.\n"
    )
    return path


@pytest.fixture
def saga(book: Path, other: Path, run: Run, home: Path) -> Path:
    """The two books as a series."""
    path = book.with_name("The Saga.series")
    assert run("books", "tag", book, other, path).status == ExitStatus.DONE
    return path


def test_a_series_is_a_collection_of_its_volumes(saga: Path, run: Run) -> None:
    (listed,) = run("books", "--tag", "the saga", "--json").json["books"]
    assert listed["path"] == str(saga)
    run("books", "--add", saga.with_name("The Storm.txt"))
    assert len(run("books", "--tag", "the saga", "--json").json["books"]) == 2
    whole = open_book(saga)
    chapters = run("toc", "saga", "--json").json["chapters"]
    volumes = [chapter for chapter in chapters if "." not in chapter["number"]]
    assert [(volume["title"], volume["start"]) for volume in volumes] == [
        (volume.title, volume.heading) for volume in whole.volumes
    ]
    assert volumes[0]["end"] == volumes[1]["start"]
    assert [chapter["number"] for chapter in chapters][:3] == ["1", "1.1", "1.2"]
    assert run("books", "untag", "saga", saga).status == ExitStatus.USAGE


def test_adding_volumes_keeps_edits_of_the_file(
    saga: Path, run: Run, tmp_path: Path
) -> None:
    saga.write_text("# mine\n" + saga.read_text())
    third = tmp_path / "deep" / "third.txt"
    third.parent.mkdir()
    third.write_text("A third book, of few words.")
    assert run("books", "tag", third, saga).status == ExitStatus.DONE
    assert saga.read_text().startswith("# mine\n")
    assert "deep/third.txt" in saga.read_text()
    whole = open_book(saga)
    assert (whole.title, len(whole.volumes)) == ("The Saga", 3)


def test_a_volume_that_is_not_beside_or_below_the_file_is_refused(
    book: Path, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "deep" / "saga.series"
    path.parent.mkdir()
    monkeypatch.chdir(tmp_path)
    refused = run("books", "tag", book.name, path)
    assert refused.status == ExitStatus.USAGE
    assert "is not beside or below saga.series" in refused.err
    assert not path.exists()


def test_an_invalid_series_is_not_written(
    saga: Path, run: Run, other: Path, tmp_path: Path
) -> None:
    before = saga.read_text()
    (tmp_path / "broken.epub").write_bytes(b"PK\x03\x04 no archive")
    for wrong in ("none.txt", "broken.epub", saga.name, other.name):
        refused = run("books", "tag", tmp_path / wrong, saga)
        assert refused.status == ExitStatus.BOOK, refused
        assert len(refused.err.splitlines()) <= 2
        assert saga.read_text() == before
    wrong_file = tmp_path / "wrong.series"
    for text in ("volumes = 3", "volumes = ["):
        wrong_file.write_text(text)
        assert run("books", "tag", other, wrong_file).status == ExitStatus.BOOK


def test_a_series_is_read_once(saga: Path, run: Run, engine: FakeEngine) -> None:
    indexed = run("index", saga, *SIZE, "--json").json
    assert indexed["book"]["title"] == "The Saga"
    calls = len(engine.calls)
    assert run("index", saga, *SIZE).status == ExitStatus.DONE
    assert len(engine.calls) == calls


def test_sections_hits_and_exports_name_the_volume(
    saga: Path, run: Run, engine: FakeEngine
) -> None:
    indexed = run("index", saga, *SIZE, "--json").json
    pages = run("pages", saga, "--upto", "all", "--json").json["pages"]
    assert len(pages) == indexed["pages"]
    assert "The Lamp · Chapter 2: The Storm" in {page["chapter"] for page in pages}
    assert "The Storm · Chapter 1: The Sailor" in run("search", saga, "Sailor").out
    export = run("export", saga, "--upto", "all").out
    assert "### The Storm · Chapter 3: The Letter" in export


def test_citations_of_an_answer_name_the_volume(
    saga: Path, run: Run, engine: FakeEngine
) -> None:
    run("index", saga, *SIZE)
    engine._says = lambda prompt: "Captain Marlowe buried the silver whistle."
    answer = run("ask", saga, "Who buried the silver whistle?", "--reader", "gistread")
    assert answer.status == ExitStatus.DONE
    quotes = [line for line in answer.out.splitlines() if "“" in line]
    assert quotes
    assert all(line.startswith("[") for line in quotes)
    assert "· The Storm: “" in quotes[0]
    exported = run("export", saga).out
    assert "section " in exported
    assert "· The Storm · " in exported
