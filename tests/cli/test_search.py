"""`gistread search`: words in a book, without a model."""

from pathlib import Path

import pytest

from gistread.book.open import open_book
from gistread.errors import ExitStatus
from tests.cli.conftest import Run


def test_json_says_where_each_hit_stands(run: Run, book: Path) -> None:
    ran = run("search", book, "THE 3. time", "--json")
    text = open_book(book).text
    assert ran.status == ExitStatus.FAILED, "a capital makes case matter"
    hits = run("search", book, "the 3. time", "--json").json["hits"]
    assert len(hits) == 3
    assert [set(hit) for hit in hits] == [{"start", "end", "text", "before", "after", "chapter"}] * 3
    for hit in hits:
        assert text[hit["start"] : hit["end"]] == hit["text"] == "the 3. time"
        assert text[hit["start"] - len(hit["before"]) : hit["start"]] == hit["before"]
        assert text[hit["end"] : hit["end"] + len(hit["after"])] == hit["after"]
    assert [hit["chapter"] for hit in hits] == [chapter.title for chapter in open_book(book).chapters]


def test_search_words_need_no_quotes_and_hits_show_context(run: Run, book: Path) -> None:
    ran = run("search", book, "day", "of", "the", "storm", "--limit", "2")
    assert ran.status == ExitStatus.DONE
    assert ran.out.count("since the [day of the storm], and the lamp") == 2
    assert "Chapter 2: The Storm" in ran.out
    assert ran.err == "Showing 2 of 14 hits.\n"


@pytest.mark.parametrize("option", ["--regex", "--ranked", "--whole-words"])
def test_every_search_mode(run: Run, book: Path, option: str) -> None:
    assert run("search", book, option, "stairs", "--json").json["hits"]
    assert run("search", book, option, "zebras").status == ExitStatus.FAILED


def test_ranked_search_finds_inflections_best_first(run: Run, book: Path) -> None:
    hits = run("search", book, "--ranked", "letters", "counted", "--limit", "3", "--json").json["hits"]
    assert len(hits) == 3
    assert "Letter" in hits[0]["text"]


def test_no_hits_are_status_1_and_an_empty_list(run: Run, book: Path) -> None:
    ran = run("search", book, "zebra", "--json")
    assert (ran.status, ran.json) == (ExitStatus.FAILED, {"hits": []})
    assert "'zebra' is not in" in ran.err
    assert run("search", book, "").status == ExitStatus.USAGE


@pytest.mark.parametrize("expression", ["(", "((a{1000}){1000}){1000}"])
def test_an_invalid_expression_is_reported_in_one_line(run: Run, book: Path, expression: str) -> None:
    ran = run("search", book, "--regex", expression)
    assert (ran.status, ran.out) == (ExitStatus.USAGE, "")
    assert "expression" in ran.err
    assert ran.err.count("\n") == 1


def test_a_hit_over_several_lines_is_shown_on_one(run: Run, book: Path) -> None:
    ran = run("search", book, "was black. The Keeper", "--limit", "1")
    assert "[was black. The Keeper]" in ran.out
