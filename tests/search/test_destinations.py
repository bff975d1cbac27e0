"""Places of a book by the words that name them."""

from pathlib import Path

import pytest

from gistread.book.model import Book, Chapter, Paragraph, ParagraphKind
from gistread.book.open import open_book
from gistread.search.destinations import destinations_of
from tests.book.make_epub import epub, page

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
    text = ""
    paragraphs = []
    chapters = []
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
    target = destinations_of("chapter i:", book(), 0)
    titles = [
        destination.words.partition(",")[0] for destination in target.destinations
    ]
    assert titles == [
        "Book One › Chapter I: The Whale",
        "Book Two › Chapter I: The Storm",
    ]


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ("zebra", "No such chapter"),
        ("page 9", "pages 1 to 1"),
        ("101%", "0 to 100"),
        ("@999999", "ends at"),
        ('"words', "quotation mark"),
    ],
)
def test_invalid_destinations_are_explained(typed: str, words: str) -> None:
    target = destinations_of(typed, book(), 0)
    assert not target.destinations
    assert words in target.problem


@pytest.mark.parametrize(
    "typed",
    ["", "   ", "%", "²", "9" * 40, "@" * 50, "page", "٣", "+", "-%", "[", "\x00"],
)
def test_any_destination_can_be_typed_without_an_error(typed: str) -> None:
    destinations_of(typed, book(), 0)


def test_words_in_quotes_are_found_behind_this_place_first() -> None:
    text = "The ferry came. " + "Rain. " * 50 + "A ferry left, and the Ferry sank."
    shore = Book(
        text, "A Book", (Paragraph(0, len(text)),), (Chapter("", 0, len(text)),)
    )
    ferry = text.index("A ferry") + 2
    places = destinations_of("“ferry”", shore, 10).destinations
    assert [place.offset for place in places] == [ferry, text.index("Ferry sank"), 4]
    assert (places[0].end, places[0].words) == (
        ferry + 5,
        "“ferry left, and the Ferry sank.”, 91%",
    )
    assert destinations_of('"Ferry"', shore, 0).destinations[0].offset == text.index(
        "Ferry sank"
    )
    assert "“boat” is not" in destinations_of('"boat"', shore, 0).problem


def test_an_epub_cfi_is_found_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "book.epub"
    path.write_bytes(
        epub({"a.xhtml": page("<h1>One</h1><p>The <em>boat</em> came in.</p>")})
    )
    opened = open_book(path)
    (place,) = destinations_of(
        "epubcfi(/6/2!/4/4,/2/1:0,/3:5)", opened, 0, path
    ).destinations
    assert opened.text[place.offset : place.end] == "boat came"
    assert (
        "no such place" in destinations_of("epubcfi(/6/8!/4)", opened, 0, path).problem
    )
    assert (
        "Only an EPUB" in destinations_of("epubcfi(/6/8!/4)", book(), 0, path).problem
    )
    assert "looked up here" in destinations_of("epubcfi(/6/8!/4)", opened, 0).problem
    path.write_bytes(b"no archive")
    assert "parenthesis" in destinations_of("epubcfi(/6/8", opened, 0, path).problem
    assert "as an EPUB" in destinations_of("epubcfi(/6/8!/4)", opened, 0, path).problem
