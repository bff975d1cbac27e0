"""Chapters of real Project Gutenberg texts."""

import functools
import re

import pytest

from gistread.book.model import Book, ParagraphKind
from gistread.book.open import open_book
from tests.book.data import needs_books, text_book
from tests.book.promises import assert_keeps_promises

pytestmark = needs_books


@functools.cache
def book_of(name: str) -> Book:
    return open_book(text_book(name))


def titles(book: Book) -> list[str]:
    return [chapter.title for chapter in book.chapters]


@pytest.mark.parametrize(
    ("name", "chapters", "first", "last"),
    [
        (
            "Cask-of-Amontillado",
            1,
            "The Cask of Amontillado",
            "The Cask of Amontillado",
        ),
        ("Coxon-Fund", 12, "I", "XII"),
        (
            "Alice",
            12,
            "CHAPTER I. Down the Rabbit-Hole",
            "CHAPTER XII. Alice’s Evidence",
        ),
        ("Pride-and-Prejudice", 61, "Chapter 1", "Chapter 61"),
        ("Liza-of-Lambeth", 12, "1", "12"),
        ("He-Walked", 1, "He Walked Around the Horses", "He Walked Around the Horses"),
        ("Barchester", 54, "Barchester Towers", "CHAPTER LIII. CONCLUSION"),
        ("Siddhartha", 13, "FIRST PART", "GOVINDA"),
        ("Otto-of", 16, "FOREWORD.", "Afterword"),
        ("Armageddon", 13, "Foreword", "CHAPTER XII. The Finger of Doom"),
        ("Time-Machine", 17, "I. Introduction", "Epilogue"),
    ],
)
def test_chapters(name: str, chapters: int, first: str, last: str) -> None:
    book = book_of(name)
    headings = titles(book)
    assert (len(headings), headings[0], headings[-1]) == (chapters, first, last)


@pytest.mark.slow
def test_the_chapters_of_war_and_peace_stand_under_their_books() -> None:
    book = book_of("War-and-Peace")
    tops = [chapter.title for chapter in book.chapters if chapter.level == 1]
    assert len([title for title in tops if re.match(r"BOOK [A-Z]+: 18", title)]) == 15
    assert tops[-2:] == ["FIRST EPILOGUE: 1813 - 20", "SECOND EPILOGUE"]
    inner = [chapter for chapter in book.chapters if chapter.level == 2]
    assert len(inner) == 365
    assert all(chapter.end - chapter.start > 500 for chapter in inner)


@pytest.mark.parametrize(
    "name", ["Time-Machine", "Barchester", "War-and-Peace", "Coxon-Fund"]
)
def test_gutenberg_headers_footers_and_credits_are_removed(name: str) -> None:
    text = book_of(name).text
    assert "Gutenberg" not in text
    assert "SMALL PRINT" not in text
    assert "Transcribed from" not in text


def test_the_header_says_title_author_and_language() -> None:
    book = book_of("War-and-Peace")
    assert (book.title, book.authors, book.language) == (
        "War and Peace",
        ("Leo Tolstoy",),
        "en",
    )


def test_an_old_header_says_title_and_author_too() -> None:
    book = book_of("Barchester")
    assert (book.title, book.authors) == ("Barchester Towers", ("Anthony Trollope",))
    assert book.text.endswith("THE END")


def test_no_word_of_the_book_is_lost() -> None:
    path = text_book("War-and-Peace")
    raw = path.read_text("utf-8")
    raw = raw[
        raw.index("\n", raw.index("*** START OF")) : raw.index(
            "End of the Project Gutenberg"
        )
    ]
    assert (
        book_of("War-and-Peace").text.replace("_", "").split()
        == raw.replace("_", "").split()
    )


@pytest.mark.parametrize(
    "name", ["Alice", "War-and-Peace", "Siddhartha", "He-Walked", "Coxon-Fund"]
)
def test_every_book_satisfies_the_invariants(name: str) -> None:
    assert_keeps_promises(book_of(name))


def test_verse_keeps_its_lines_and_its_indents() -> None:
    book = book_of("Alice")
    start = book.text.index("‘How doth the little crocodile")
    paragraph = book.paragraphs[book.paragraph_index(start)]
    assert paragraph.kind is ParagraphKind.VERSE
    assert book.text[paragraph.start : paragraph.end] == (
        "‘How doth the little crocodile\n Improve his shining tail,\n"
        "And pour the waters of the Nile\n On every golden scale!"
    )


def test_prose_is_unwrapped_and_emphasis_has_no_underscores() -> None:
    book = book_of("Cask-of-Amontillado")
    assert (
        "utterance to a threat. At length I would be avenged; this was a point"
        in book.text
    )


def test_wrapped_speech_is_not_taken_for_verse() -> None:
    book = book_of("War-and-Peace")
    verse = [p for p in book.paragraphs if p.kind is ParagraphKind.VERSE]
    assert len(verse) < 40


def test_signatures_of_letters_keep_their_lines() -> None:
    assert "Ernst Hartenstein\nStaatspolizeikapitan" in book_of("He-Walked").text


def test_the_same_file_gives_the_same_book() -> None:
    assert open_book(text_book("Siddhartha")) == book_of("Siddhartha")
