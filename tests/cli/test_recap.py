"""`gistread recap`: the story up to a place, from the gists or, without any, from the chapter
itself.
"""

from pathlib import Path

from gistread.errors import ExitStatus
from tests.cli.conftest import Run
from tests.fake_engine import FakeEngine


def test_the_story_is_told_up_to_a_place(run: Run, book: Path, engine: FakeEngine) -> None:
    before = run("recap", book, "--upto", "all")
    assert before.status == ExitStatus.DONE
    assert "Nothing has been read" in before.err
    assert "Chapter 3" in before.out
    run("index", book)
    story = run("recap", book, "--upto", "all")
    assert "The story before" in story.out
    assert "Told from the gists of" in story.err
    assert "You stopped at" not in story.out
    assert "There is no story up to this place." in run("recap", book, "--upto", "0%").err
    assert "You stopped at" in run("recap", book, "--upto", "chapter:1").out
    document = run("recap", book, "--upto", "chapter:1", "--json").json
    assert document["chapter"] == "Chapter 1: The Keeper"
    assert document["before"] == []
    assert document["told"]


def test_a_novel_that_was_not_begun_is_not_told(run: Run, book: Path, engine: FakeEngine) -> None:
    for _ in range(2):
        unread = run("recap", book)
        assert unread.out == ""
        assert "You have not begun this book" in unread.err
        run("index", book)
