"""`gistread people`: who is named in a book, up to a place."""

from pathlib import Path

import pytest

from gistread.book.open import open_book
from gistread.errors import ExitStatus
from gistread.paths import default_paths
from gistread.store.user_data import UserData
from tests.cli.conftest import Run
from tests.people.test_people import TEXT


@pytest.fixture
def farm(tmp_path: Path) -> Path:
    path = tmp_path / "Hollow Farm.txt"
    path.write_text(TEXT)
    return path


def test_people_and_places_are_listed_up_to_a_place(run: Run, farm: Path) -> None:
    shown = run("people", farm)
    assert "Elizabeth Kerr  (Elizabeth, Lizzy)" in shown.out
    assert "place" in shown.out
    assert "rarer name" in shown.err

    def names(*options: str) -> set[str]:
        listed = run("people", farm, "--all", "--json", *options).json["names"]
        return {entity["name"] for entity in listed}

    assert run("people", farm, "--json", "--upto", "40").json["upto"] == 40
    assert run("people", farm, "--json", "--upto", "all").json["upto"] is None
    assert names() - names("--upto", "chapter:1") == {
        "the Clerk",
        "Dr. Ames",
        "Hollow Farm",
    }


def test_one_of_them_is_shown_with_what_the_book_says_first(
    run: Run, farm: Path
) -> None:
    shown = run("people", farm, "clerk").out
    assert "The Clerk was a tall man." in shown
    assert "in 1 of 2 chapters" in shown
    assert "George Emery (3)" in shown
    (card,) = run("people", farm, "Mr", "Penn", "--json").json["found"]
    assert (card["chapters"], card["mentions"]) == ([3, 3], 6)
    unknown = run("people", farm, "Clerk", "--upto", "40%")
    assert (unknown.status, unknown.out) == (ExitStatus.FAILED, "")
    assert "The text up to 40% has no name “Clerk”" in unknown.err
    nobody = run("people", farm, "Clerk", "--upto", "400", "--json").json
    assert nobody == {"found": [], "upto": 400}


def test_the_place_that_was_reached_bounds_it(run: Run, farm: Path) -> None:
    book = open_book(farm)
    UserData(default_paths()).set_position(
        book.sha256, 0, read=[(0, book.text.index("Chapter 2"))]
    )
    shown = run("people", farm, "--all")
    assert "--upto all" in shown.err
    assert "Clerk" not in shown.out
