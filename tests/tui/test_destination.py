"""Destinations typed after "go to"."""

import pytest

from gistread.book.model import Book, Chapter, Paragraph, ParagraphKind
from gistread.tui.reading.destination import chapter_step, destinations_of, paragraph_step
from gistread.tui.reading.navigation import JumpList
from gistread.tui.widgets.book_pane import Count

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
                    len(text), len(text) + len(words), ParagraphKind.HEADING if words == title else ParagraphKind.TEXT
                )
            )
            text += words + "\n\n"
        chapters.append(Chapter(title, begin, len(text), level))
    return Book(text, "A Book", tuple(paragraphs), tuple(chapters))


def first(typed: str, here: int = 0, pages: tuple[int, ...] = (0, 300, 700)) -> str | int:
    """The chapter title of the first destination, or its offset."""
    places = destinations_of(typed, book(), here, pages).destinations
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
        ("page 2", 300),
        ("p1", "Book One"),
        ("@ 250", 250),
        ("offset:250", 250),
        ("start", "Book One"),
    ],
)
def test_the_likeliest_place_is_first(typed: str, expected: str | int) -> None:
    assert first(typed) == expected


def test_percentages_are_absolute_or_relative() -> None:
    length = len(book().text)
    assert first("50%") == round(length / 2)
    assert first("12,5 %") == round(length / 8)
    assert first("+10%", here=500) == 500 + round(length / 10)
    assert first("-10%", here=10) == "Book One"


def test_chapters_of_one_name_say_which_part_they_belong_to() -> None:
    said = [one.words for one in destinations_of("chapter i:", book(), 0).destinations]
    assert [words.partition(",")[0] for words in said] == [
        "Book One › Chapter I: The Whale",
        "Book Two › Chapter I: The Storm",
    ]


@pytest.mark.parametrize(
    ("typed", "said"),
    [("zebra", "No such chapter"), ("page 9", "pages 1 to 1"), ("101%", "0 to 100"), ("@999999", "ends at")],
)
def test_invalid_destinations_are_explained(typed: str, said: str) -> None:
    found = destinations_of(typed, book(), 0, (0, 300, 700))
    assert not found.destinations
    assert said in found.problem


@pytest.mark.parametrize("typed", ["", "   ", "%", "²", "9" * 40, "@" * 50, "page", "٣", "+", "-%", "[", "\x00"])
def test_any_destination_can_be_typed_without_an_error(typed: str) -> None:
    destinations_of(typed, book(), 0)


def test_steps_end_at_the_ends_of_the_book() -> None:
    one = book()
    assert paragraph_step(one, 0, -5) == 0
    assert paragraph_step(one, 0, 500) == one.paragraphs[-1].start
    assert chapter_step(one, 0, -5) == 0
    assert chapter_step(one, 0, 500) == one.chapters[-1].start
    assert chapter_step(one, one.chapters[2].start + 5, -1) == one.chapters[2].start


def test_a_number_is_used_by_the_next_command_or_dropped() -> None:
    count = Count()
    assert [count.add(key) for key in "12j"] == [True, True, False]
    assert count.pending == ""
    assert count.take() == 12
    assert count.take() is None
    assert [count.add(key) for key in "7x3"] == [True, False, True]
    assert count.pending == "3"
    assert not Count().add("0")
    assert not Count().add("²")


def test_going_back_and_jumping_anew_forgets_what_was_ahead() -> None:
    jumps = JumpList()
    jumps.leave(0, 100)
    jumps.leave(100, 200)
    assert jumps.back(200) == 100
    assert jumps.forward(100) == 200
    assert jumps.back(200) == 100
    jumps.leave(100, 300)
    assert jumps.forward(300) is None
    assert jumps.back(300, 9) == 0


def test_repeated_jumps_are_one_history_entry() -> None:
    jumps = JumpList()
    jumps.leave(5, 100, "hits")
    jumps.leave(100, 200, "hits")
    assert jumps.back(200) == 5
    jumps.leave(5, 100, "hits")
    jumps.leave(130, 200, "hits")
    assert jumps.back(200) == 130
