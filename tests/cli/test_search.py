"""`gistread search`: words in a book, without a model."""

from pathlib import Path
from subprocess import TimeoutExpired
from unittest.mock import MagicMock

import pytest

from gistread.book.open import open_book
from gistread.errors import ExitStatus
from gistread.library.indexing import update_index
from gistread.paths import default_paths
from gistread.store.model import BoundChoice
from gistread.store.user_data import UserData
from tests.cli.conftest import Run


def test_json_says_where_each_hit_stands(run: Run, book: Path) -> None:
    ran = run("search", book, "THE 3. time", "--json")
    text = open_book(book).text
    assert ran.status == ExitStatus.FAILED, "a capital makes case matter"
    hits = run("search", book, "the 3. time", "--json").json["hits"]
    assert len(hits) == 3
    assert [set(hit) for hit in hits] == [
        {"start", "end", "text", "before", "after", "chapter"}
    ] * 3
    for hit in hits:
        assert text[hit["start"] : hit["end"]] == hit["text"] == "the 3. time"
        assert text[hit["start"] - len(hit["before"]) : hit["start"]] == hit["before"]
        assert text[hit["end"] : hit["end"] + len(hit["after"])] == hit["after"]
    assert [hit["chapter"] for hit in hits] == [
        chapter.title for chapter in open_book(book).chapters
    ]


def test_search_words_need_no_quotes_and_hits_show_context(
    run: Run, book: Path
) -> None:
    ran = run("search", book, "day", "of", "the", "storm", "--limit", "2")
    assert ran.status == ExitStatus.DONE
    assert ran.out.count("since the [day of the storm], and the lamp") == 2
    assert "Chapter 2: The Storm" in ran.out
    assert ran.err == "Showing 2 of 14 hits.\n"


def test_hits_ahead_of_the_place_are_counted(run: Run, book: Path) -> None:
    opened = open_book(book)
    first_chapter = opened.chapters[0].end
    user_data = UserData(default_paths())
    user_data.set_position(opened.sha256, 0, read=[(0, first_chapter)])
    ran = run("search", book, "the 3. time")
    assert "2 hits lie ahead of your place (33%).\n" in ran.err
    assert (
        run("search", book, "the 3. time", "--limit", "1").err
        == "Showing 1 of 3 hits.\n"
    )
    user_data.choose_bound(opened.sha256, BoundChoice(whole=True))
    assert run("search", book, "the 3. time").err == ""


def test_ranked_search_finds_inflections_best_first(run: Run, book: Path) -> None:
    hits = run(
        "search", book, "--ranked", "letters", "counted", "--limit", "3", "--json"
    ).json["hits"]
    assert len(hits) == 3
    assert "Letter" in hits[0]["text"]


def test_no_hits_are_status_1_and_an_empty_list(run: Run, book: Path) -> None:
    ran = run("search", book, "zebra", "--json")
    assert (ran.status, ran.json) == (ExitStatus.FAILED, {"hits": []})
    assert "'zebra' is not in" in ran.err
    assert run("search", book, "").status == ExitStatus.USAGE


@pytest.mark.parametrize("expression", ["(", "((a{1000}){1000}){1000}"])
def test_an_invalid_expression_is_reported_in_one_line(
    run: Run, book: Path, expression: str
) -> None:
    ran = run("search", book, "--regex", expression)
    assert (ran.status, ran.out) == (ExitStatus.USAGE, "")
    assert "expression" in ran.err
    assert ran.err.count("\n") == 1


def test_all_books_are_searched_by_title_and_chapter(
    run: Run, book: Path, start_indexing: MagicMock
) -> None:
    assert "No books to search.\n" in run("search", "--all", "lamp").err
    run("books", "--add", book)
    start_indexing.assert_called_once()
    ran = run("search", "--all", "lamp")
    assert (ran.status, ran.out) == (ExitStatus.FAILED, "")
    assert "None of your books is indexed yet" in ran.err
    update_index(default_paths())
    ran = run("search", "--all", "letters", "counted", "-n", "2", "--json")
    hit = ran.json["hits"][0]
    assert (hit["title"], hit["path"], hit["chapter"]) == (
        "The Lamp",
        str(book),
        "Chapter 3: The Letter",
    )
    assert open_book(book).text[hit["start"] : hit["end"]] == hit["text"]
    assert "The Lamp  " in run("search", "--all", "letters").out
    assert run("search", "--all", "zebra").status == ExitStatus.FAILED
    assert run("search", "--all", "--regex", "z").status == ExitStatus.USAGE


def test_a_search_right_after_adding_waits_for_the_first_book(
    run: Run, book: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("books", "--add", book)
    waits: list[float] = []

    def wait(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) < 3:
            raise TimeoutExpired("indexing", seconds)
        update_index(default_paths())

    process = MagicMock(wait=wait, poll=lambda: None)
    monkeypatch.setattr(
        "gistread.library.indexing.start_indexing", lambda paths: process
    )
    assert run("search", "--all", "the", "lamp").status == ExitStatus.DONE
    assert len(waits) == 3
