"""`gistread pages`: the contents of a memory, without a model."""

from pathlib import Path
from typing import Any

import pytest

from gistread.book.open import open_book
from gistread.errors import ExitStatus
from tests.cli.conftest import Run
from tests.fake_engine import FakeEngine


@pytest.fixture
def indexed(run: Run, book: Path, engine: FakeEngine, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The book, read; and no engine from here on."""
    assert run("index", book, "--min-words", "60", "--max-words", "200").status == ExitStatus.DONE

    def no_engine(*arguments: object, **options: Any) -> None:
        raise AssertionError("a model was loaded")

    monkeypatch.setattr("gistread.engine.llama.client.LlamaEngine", no_engine)
    return book


def test_json_covers_the_book_and_leaves_nothing_out(run: Run, indexed: Path) -> None:
    document = run("pages", indexed, "--json").json
    text = open_book(indexed).text
    pages = document["pages"]
    assert set(document) == {"model", "preset", "task", "pages", "pages_ahead"}
    assert document["pages_ahead"] == []
    assert [page["page"] for page in pages] == list(range(1, len(pages) + 1))
    assert [page["start"] for page in pages] == [0, *(page["end"] for page in pages[:-1])]
    assert pages[-1]["end"] == len(text)
    assert set(pages[0]) == {"page", "start", "end", "words", "gist", "source", "chapter"}
    assert {page["chapter"] for page in pages} == {c.title for c in open_book(indexed).chapters}
    assert all(
        page["source"] in ("model", "extractive", "verbatim") and page["gist"] for page in pages
    )


def test_text_shows_every_page_with_its_chapter_and_gist(run: Run, indexed: Path) -> None:
    ran = run("pages", indexed)
    pages = run("pages", indexed, "--json").json["pages"]
    assert ran.err == ""
    for page in pages:
        assert f"{page['page']}  {page['chapter']}" in ran.out
        assert page["gist"].split()[0] in ran.out


def test_a_book_that_was_not_read_says_how_to(run: Run, book: Path) -> None:
    ran = run("pages", book)
    assert (ran.status, ran.out) == (ExitStatus.FAILED, "")
    assert f"`gistread index '{book}'`" in ran.err
