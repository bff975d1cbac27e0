"""`gistread pages`: the contents of a memory, without a model."""

from pathlib import Path
from typing import Any

import pytest

from gistread.book.open import open_book
from gistread.errors import ExitStatus
from gistread.paths import default_paths
from gistread.store.model import BoundChoice
from gistread.store.user_data import UserData
from tests.book.make_epub import epub, package, page
from tests.cli.conftest import Run
from tests.fake_engine import FakeEngine
from tests.memory.books import prose


@pytest.fixture
def indexed(
    run: Run, book: Path, engine: FakeEngine, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """The book, read; and no engine from here on."""
    assert (
        run("index", book, "--min-words", "60", "--max-words", "200").status
        == ExitStatus.DONE
    )

    def no_engine(*arguments: object, **options: Any) -> None:
        raise AssertionError("a model was loaded")

    monkeypatch.setattr("gistread.engine.llama.client.LlamaEngine", no_engine)
    return book


def test_json_covers_the_book_and_leaves_nothing_out(run: Run, indexed: Path) -> None:
    document = run("pages", indexed, "--upto", "all", "--json").json
    book = open_book(indexed)
    pages = document["pages"]
    assert set(document) == {"model", "preset", "task", "pages", "pages_ahead"}
    assert document["pages_ahead"] == []
    assert [page["page"] for page in pages] == list(range(1, len(pages) + 1))
    assert [page["start"] for page in pages] == [
        0,
        *(page["end"] for page in pages[:-1]),
    ]
    assert pages[-1]["end"] == len(book.text)


def test_json_has_the_chapter_gist_and_source_of_each_section(
    run: Run, indexed: Path
) -> None:
    pages = run("pages", indexed, "--upto", "all", "--json").json["pages"]
    book = open_book(indexed)
    assert set(pages[0]) == {
        "page",
        "start",
        "end",
        "words",
        "gist",
        "source",
        "chapter",
    }
    assert {page["chapter"] for page in pages} == {
        chapter.title for chapter in book.chapters
    }
    assert {page["source"] for page in pages} <= {"model", "extractive", "verbatim"}
    assert all(page["gist"] for page in pages)


def test_text_shows_every_page_with_its_chapter_and_gist(
    run: Run, indexed: Path
) -> None:
    ran = run("pages", indexed, "--upto", "all")
    pages = run("pages", indexed, "--upto", "all", "--json").json["pages"]
    assert ran.err == ""
    for section in pages:
        assert f"{section['page']}  {section['chapter']}" in ran.out
        assert section["gist"].split()[0] in ran.out


def test_it_stops_at_the_place_read_and_counts_the_sections_ahead(
    run: Run, indexed: Path
) -> None:
    whole = run("pages", indexed, "--upto", "all", "--json").json["pages"]
    book = open_book(indexed)
    place = book.text.index("Chapter 2: The Storm")
    UserData(default_paths()).set_position(book.sha256, 0, read=[(0, place)])
    document = run("pages", indexed, "--json").json
    ahead = document["pages_ahead"]
    assert document["pages"] + whole[-len(ahead) :] == whole
    assert document["pages"][-1]["end"] <= place <= ahead[0]["start"]
    assert set(ahead[0]) == {"page", "start", "end", "words"}
    ran = run("pages", indexed)
    assert f"{len(ahead)} more sections are ahead." in ran.err
    assert "The Storm" not in ran.out


def test_a_novel_that_was_not_begun_is_not_told(run: Run, indexed: Path) -> None:
    document = run("pages", indexed, "--json").json
    whole = run("pages", indexed, "--upto", "all", "--json").json["pages"]
    assert document["pages"] == []
    assert [page["page"] for page in document["pages_ahead"]] == [
        page["page"] for page in whole
    ]
    ran = run("pages", indexed)
    assert (ran.status, ran.out) == (ExitStatus.DONE, "")
    assert "You have not begun this book; `--upto all` shows all sections." in ran.err


def test_another_place_can_be_given(run: Run, indexed: Path) -> None:
    book = open_book(indexed)
    UserData(default_paths()).set_position(book.sha256, 0, read=[(0, 100)])
    whole = run("pages", indexed, "--upto", "all", "--json").json
    assert whole["pages"][-1]["end"] == len(book.text)
    assert whole["pages_ahead"] == []
    first = run("pages", indexed, "--upto", "section:1", "--json").json["pages"]
    assert first == whole["pages"][:1]


def test_title_page_and_imprint_are_in_no_list_of_gists(
    run: Run, tmp_path: Path, engine: FakeEngine
) -> None:
    path = tmp_path / "book.epub"
    titles = "<h1>The Lamp</h1><p>By Nobody</p>"
    imprint = f"<h2>Imprint</h2><p>{prose(150)}</p>"
    chapter = f"<h2>I. The Storm Comes In</h2><p>{prose(150, seed=1)}</p>"
    last = f"<h2>Endnotes</h2><p>{prose(150, seed=2)}</p>"
    colophon = f"<h2>Colophon</h2><p>{prose(150, seed=3)}</p>"
    bodies = (titles, imprint, chapter, last, colophon)
    pages = {
        f"{name}.xhtml": page(body) for name, body in zip("abcde", bodies, strict=True)
    }
    opf = package(list(pages)).replace("A Book", "The Lamp")
    path.write_bytes(epub(pages, opf))
    assert (
        run("index", path, "--min-words", "60", "--max-words", "200").status
        == ExitStatus.DONE
    )
    listed = run("pages", path, "--upto", "all", "--json").json["pages"]
    assert {shown["chapter"] for shown in listed} == {
        "I. The Storm Comes In",
        "Endnotes",
    }
    assert "Imprint" not in run("pages", path, "--upto", "all").out
    UserData(default_paths()).choose_bound(
        open_book(path).sha256, BoundChoice(whole=True)
    )
    exported = run("export", path, "--json").json["gists"]
    assert [gist["page"] for gist in exported] == [shown["page"] for shown in listed]
    assert "Imprint" not in run("export", path).out


def test_a_book_that_was_not_read_says_how_to(run: Run, book: Path) -> None:
    ran = run("pages", book)
    assert (ran.status, ran.out) == (ExitStatus.FAILED, "")
    assert f"`gistread index '{book}'`" in ran.err
