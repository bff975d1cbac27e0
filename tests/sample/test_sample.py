"""The sample story opens, and its answers stand where `questions.json` says."""

import json
from pathlib import Path
from typing import Any

import pytest

from gistread.book.model import Book
from gistread.book.open import open_book
from gistread.sample import story_path

CHAPTERS = (
    "Chapter 1. The Bell",
    "Chapter 2. The Black Case",
    "Chapter 3. The Rope",
    "Chapter 4. The Mill",
    "Chapter 5. The Lime Kiln",
    "Chapter 6. The Heron Stone",
    "Chapter 7. Four O’Clock",
    "Chapter 8. The New Rope",
)
# Each with its answer, how much of the book it needs, and the quotes that answer it with their
# offsets
QUESTIONS: list[dict[str, Any]] = json.loads(
    Path(__file__).with_name("questions.json").read_text("utf-8")
)


def of_kind(kind: str) -> list[dict[str, Any]]:
    return [question for question in QUESTIONS if question["kind"] == kind]


@pytest.fixture(scope="module")
def story() -> Book:
    return open_book(story_path())


def test_the_story_opens_with_its_title_and_all_its_chapters(story: Book) -> None:
    assert story.title == "The Ferry Bell"
    assert (
        tuple(chapter.title for chapter in story.chapters if chapter.title in CHAPTERS)
        == CHAPTERS
    )
    assert story.notices == ()


def test_the_story_is_short_and_names_its_author(story: Book) -> None:
    assert story.authors == ("The gistread authors",)
    assert 2_900 < story.words < 6_000


def test_some_questions_need_two_places_and_some_have_no_answer() -> None:
    assert 4 <= len(of_kind("two places")) <= 6
    assert len(of_kind("not said")) == 2


@pytest.mark.parametrize(
    "question", QUESTIONS, ids=lambda question: question["question"][:40]
)
def test_every_quote_stands_once_in_the_book_at_its_offsets(
    story: Book, question: dict[str, Any]
) -> None:
    starts = [place["start"] for place in question["places"]]
    assert starts == sorted(starts)
    for place in question["places"]:
        assert story.text[place["start"] : place["end"]] == place["quote"], (
            f"now at {story.text.find(place['quote'])}"
        )
        assert story.text.count(place["quote"]) == 1


def test_an_answer_of_one_place_stands_in_one_chapter(story: Book) -> None:
    for question in of_kind("single"):
        assert (
            len({story.chapter_index(place["start"]) for place in question["places"]})
            == 1
        ), question["question"]
