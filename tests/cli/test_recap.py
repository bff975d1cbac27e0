"""`gistread recap`: the story up to a place, from the gists or else from the chapter itself."""

from dataclasses import replace
from pathlib import Path

import pytest

from gistread.book.open import open_book
from gistread.cli.memory import memory_store, saved_memories
from gistread.errors import ExitStatus
from gistread.units import ELLIPSIS
from tests.cli.conftest import Run
from tests.fake_engine import FakeEngine


def test_the_story_is_told_up_to_a_place(
    run: Run, book: Path, engine: FakeEngine
) -> None:
    before = run("recap", book, "--upto", "all")
    assert before.status == ExitStatus.DONE
    assert "The model has not read this book" in before.err
    assert "Chapter 3" in before.out
    run("index", book)
    story = run("recap", book, "--upto", "all")
    assert story.out.startswith("Chapter 1: The Keeper\n   0%  ")
    assert "Told from the gists of" in story.err
    assert "You stopped at" not in story.out
    document = run("recap", book, "--upto", "chapter:1", "--json").json
    assert document["chapter"] == "Chapter 1: The Keeper"
    assert document["before"] == []
    assert document["told"]
    assert document["upto"] > document["told"][-1]["start"]
    assert run("recap", book, "--upto", "all", "--json").json["upto"] is None


def test_a_recap_names_the_place_that_was_asked_for(
    run: Run, book: Path, engine: FakeEngine
) -> None:
    nothing = run("recap", book, "--upto", "0%")
    assert "There is no story up to this place." in nothing.err
    assert nothing.status == ExitStatus.FAILED
    up_to = run("recap", book, "--upto", "chapter:1").out
    assert "Up to 33%: " in up_to
    assert "You stopped at" not in up_to
    cut = run("recap", book, "--upto", "4000")
    assert cut.out.endswith(f"{ELLIPSIS}\n")


def test_a_recap_says_where_a_short_memory_ends(
    run: Run, book: Path, engine: FakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = open_book(book)
    run("index", book)
    (header,) = saved_memories(opened, str(book))
    whole = memory_store().load(opened, header)
    first = replace(whole, entries=whole.entries[:1])
    monkeypatch.setattr("gistread.cli.contents.longest_memory", lambda *_: first)
    short = run("recap", book, "--upto", "all")
    assert "The model has read up to" in short.err
    assert run("recap", book, "--upto", "all", "--json").json["read_until"] == (
        whole.entries[0].page.end
    )


def test_a_novel_that_was_not_begun_is_not_told(
    run: Run, book: Path, engine: FakeEngine
) -> None:
    for _ in range(2):
        unread = run("recap", book)
        assert unread.out == ""
        assert "You have not begun this book" in unread.err
        run("index", book)
