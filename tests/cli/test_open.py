"""`gistread BOOK --at PLACE` and `gistread open` look at a place of a book first."""

from pathlib import Path

import pytest

from gistread.book.open import open_book
from gistread.cli import read as screens
from gistread.config import Config
from gistread.errors import ExitStatus
from tests.cli.conftest import Run


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[screens.Look | None]:
    """The places that the screen was opened at."""
    shown: list[screens.Look | None] = []

    def open_screen(
        path: Path, config: Config, model: str, look: screens.Look | None = None
    ) -> ExitStatus:
        shown.append(look)
        return ExitStatus.DONE

    monkeypatch.setattr(screens, "open_screen", open_screen)
    return shown


def test_a_place_is_a_page_a_share_a_chapter_or_words(
    run: Run, looks: list[screens.Look | None], book: Path
) -> None:
    opened = open_book(book)
    for arguments in (
        [book],
        ["open", book],
        ["open", book, "--at", "7"],
        [book, "--at", "p. 7"],
    ):
        assert run(*arguments).status == ExitStatus.DONE
    assert looks[:2] == [None, None]
    assert looks[2] == looks[3]
    assert looks[2].start == opened.page_start(7)
    for place in ("50%", "The Storm", '"the 3. time"'):
        assert run(book, "--at", place).status == ExitStatus.DONE
    share, chapter, words = looks[4:]
    assert share.start == round(len(opened.text) / 2)
    assert chapter.start == opened.chapters[1].start
    assert opened.text[words.start : words.end] == words.words == "the 3. time"


@pytest.mark.parametrize(
    ("place", "reason"),
    [
        ("99", "The book has pages 1 to"),
        ("chapter zebra", "No such chapter or place."),
        ('"zebra"', "“zebra” is not in the book."),
        ("", "it is empty"),
    ],
)
def test_a_place_that_is_not_there_is_told_before_the_screen_opens(
    run: Run, looks: list[screens.Look | None], book: Path, place: str, reason: str
) -> None:
    ran = run(book, "--at", place)
    assert (ran.status, looks) == (ExitStatus.USAGE, [])
    assert reason in ran.err


def test_a_place_needs_a_book(run: Run) -> None:
    assert "--at needs a book" in run("--at", "5%").err
