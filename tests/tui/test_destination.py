"""Destinations typed after "go to"."""

import pytest

from gistread.book.model import Book, Chapter, Paragraph, ParagraphKind
from gistread.tui.reading.destination import destinations_of

TITLES = (
    ("Book One", 1),
    ("Chapter I: The Whale", 2),
    ("Chapter II: Élan", 2),
    ("Book Two", 1),
    ("Chapter I: The Storm", 2),
    ("XII", 2),
    ("Epilogue", 1),
)


def book() -> Book:
    text, paragraphs, chapters = "", [], []
    for title, level in TITLES:
        begin = len(text)
        for words in (title, "word " * 39 + "word."):
            paragraphs.append(
                Paragraph(
                    len(text),
                    len(text) + len(words),
                    ParagraphKind.HEADING if words == title else ParagraphKind.TEXT,
                )
            )
            text += words + "\n\n"
        chapters.append(Chapter(title, begin, len(text), level))
    return Book(text, "A Book", tuple(paragraphs), tuple(chapters))


def first(typed: str, here: int = 0) -> str | int:
    """The chapter title of the first destination, or its offset."""
    places = destinations_of(typed, book(), here).destinations
    starts = {chapter.start: chapter.title for chapter in book().chapters}
    return starts.get(places[0].offset, places[0].offset)


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("chapter 2", "Chapter II: Élan"),
        ("ch.12", "XII"),
        ("12", "XII"),
        ("7", "Epilogue"),
        ("the storm", "Chapter I: The Storm"),
        ("ELAN", "Chapter II: Élan"),
        ("epi", "Epilogue"),
        ("book two", "Book Two"),
        ("p1", "Book One"),
        ("@ 250", 250),
        ("offset:250", 250),
        ("start", "Book One"),
    ],
)
def test_the_likeliest_place_is_first(typed: str, expected: str | int) -> None:
    assert first(typed) == expected


def test_chapters_of_one_name_say_which_part_they_belong_to() -> None:
    said = [
        destination.words for destination in destinations_of("chapter i:", book(), 0).destinations
    ]
    assert [words.partition(",")[0] for words in said] == [
        "Book One › Chapter I: The Whale",
        "Book Two › Chapter I: The Storm",
    ]


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("zebra", "No such chapter"),
        ("page 9", "pages 1 to 1"),
        ("101%", "0 to 100"),
        ("@999999", "ends at"),
    ],
)
def test_invalid_destinations_are_explained(typed: str, said: str) -> None:
    found = destinations_of(typed, book(), 0)
    assert not found.destinations
    assert said in found.problem


@pytest.mark.parametrize(
    "typed", ["", "   ", "%", "²", "9" * 40, "@" * 50, "page", "٣", "+", "-%", "[", "\x00"]
)
def test_any_destination_can_be_typed_without_an_error(typed: str) -> None:
    destinations_of(typed, book(), 0)
