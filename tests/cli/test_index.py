"""`gistread index`: its output, what it saves, and how it resumes."""

from pathlib import Path

import pytest

from gistread.book.open import open_book
from gistread.errors import EngineError, ExitStatus
from tests.cli.conftest import Run
from tests.fake_engine import FakeEngine

SIZE = ("--min-words", "60", "--max-words", "200")


def test_json_is_one_document_with_the_shape_of_the_design(
    run: Run, book: Path, engine: FakeEngine
) -> None:
    ran = run("index", book, *SIZE, "--json")
    assert ran.status == ExitStatus.DONE
    document = ran.json
    opened = open_book(book)
    assert document["book"] == {
        "sha256": opened.sha256,
        "title": opened.title,
        "words": opened.words,
        "paragraphs": len(opened.paragraphs),
    }
    assert document["model"] == {"name": "fake", "fingerprint": "fake-1"}
    assert document["pages"] >= 6
    assert document["resumed_pages"] == 0
    assert document["extractive_gists"] <= document["pages"]
    assert 0 < document["gist_words"] < opened.words
    assert 0 < document["compression_rate"] < 100
    assert set(document["usage"]) == {
        "book_tokens",
        "prefilled",
        "reused",
        "generated",
        "seconds",
    }
    assert document["usage"]["book_tokens"] > 1000
    assert document["usage"]["prefilled"] > document["usage"]["book_tokens"]


def test_indexing_again_asks_the_model_nothing(
    run: Run, book: Path, engine: FakeEngine
) -> None:
    first = run("index", book, *SIZE, "--json").json
    calls = len(engine.calls)
    second = run("index", book, *SIZE, "--json").json
    assert len(engine.calls) == calls
    assert second == {**first, "resumed_pages": first["pages"]}
    assert "had been read" in run("index", book, *SIZE).err


def test_index_resumes_after_a_failure(
    run: Run, book: Path, engine: FakeEngine
) -> None:
    whole = run("index", book, *SIZE, "--json").json["pages"]
    pages = run("pages", book, "--upto", "all", "--json").json
    other = book.with_name("Other.txt")
    other.write_text(book.read_text() + "\nOne more.\n")
    calls = 0

    def fail_in_the_middle(prompt: str) -> str | Exception:
        nonlocal calls
        calls += 1
        if calls == 4:
            return EngineError("The model was lost.", "Try again.")
        return "Somebody did something somewhere."

    engine._says = fail_in_the_middle
    failed = run("index", other, *SIZE)
    assert (failed.status, failed.out) == (ExitStatus.ENGINE, "")
    assert "The model was lost.\nTry again." in failed.err
    document = run("index", other, *SIZE, "--json").json
    assert 0 < document["resumed_pages"] < whole
    assert (
        run("pages", other, "--upto", "all", "--json").json["pages"][:3]
        == pages["pages"][:3]
    )


def test_events_are_lines_of_json_as_they_happen(
    run: Run, book: Path, engine: FakeEngine
) -> None:
    events = run("index", book, *SIZE, "--events").events
    gisted = [event for event in events if event["event"] == "gisted"]
    assert [event["page"] for event in gisted] == list(range(1, len(gisted) + 1))
    assert set(gisted[0]) == {
        "event",
        "page",
        "start",
        "end",
        "words",
        "gist",
        "source",
        "retries",
        "usage",
    }
    assert [event["event"] for event in events[:2]] == ["page_found", "gisted"]
    done = events[-1]
    assert done.pop("event") == "done"
    assert done == {**run("index", book, *SIZE, "--json").json, "resumed_pages": 0}
    assert run("index", book, *SIZE, "--events").events[0] == {
        "event": "resumed",
        "pages": len(gisted),
    }


def test_a_book_comes_from_standard_input(
    run: Run, book: Path, engine: FakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    with book.open() as stream:
        monkeypatch.setattr("sys.stdin", stream)
        document = run("index", "-", *SIZE, "--json").json
    assert document["book"]["sha256"] == open_book(book).sha256
