"""Real EPUBs, valid and broken: read completely or refused with a reason."""

import functools
import re
import zipfile
from html import unescape
from pathlib import Path

import pytest

from gistread.book.model import Book, ParagraphKind, Style
from gistread.book.open import open_book
from tests.book.data import all_epubs, epub_book, needs_epubs
from tests.book.epub_table import outcome, table
from tests.book.promises import assert_keeps_promises
from tests.book.source_words import WORD, source_words

pytestmark = needs_epubs


@functools.cache
def novel(name: str) -> Book:
    return open_book(epub_book(name))


@pytest.mark.parametrize("path", all_epubs(), ids=lambda path: path.stem)
def test_every_epub_is_read_or_refused_as_the_table_says(path: Path) -> None:
    opening = outcome(path)
    assert opening.row == table()[opening.name]
    if opening.book:
        assert_keeps_promises(opening.book)


def test_the_table_lists_every_epub() -> None:
    assert sorted(table()) == sorted(
        f"{path.parent.name}/{path.name}" for path in all_epubs()
    )


@pytest.mark.parametrize(
    "name",
    [
        "frankenstein",
        "time-machine",
        pytest.param("war-and-peace", marks=pytest.mark.slow),
    ],
)
def test_no_word_of_a_novel_is_lost_or_moved(name: str) -> None:
    path = epub_book(name)
    book = novel(name)
    source, beside = source_words(path)
    words = iter(WORD.findall(book.text))
    for word in source:
        # In order, with only words of pictures, list numbers and file names between.
        for read in words:
            if read == word:
                break
            assert read in beside or read.isdigit(), (word, read)
        else:
            pytest.fail(f"{word!r} is not in the book")
    assert all(word in beside for word in words)


def test_emphasis_and_foreign_words_are_those_of_the_source() -> None:
    book = novel("war-and-peace")
    read = [
        book.text[span.start : span.end]
        for span in book.spans
        if span.style is Style.EMPHASIS
    ]
    with zipfile.ZipFile(epub_book("war-and-peace")) as archive:
        pages = [
            archive.read(name).decode()
            for name in archive.namelist()
            if "/text/chapter-" in name
        ]
    italic = [
        words for page in pages for words in re.findall(r"<i[^>]*>([^<>]+)</i>", page)
    ]
    plain = [unescape(words).replace("\u2060", "") for words in italic]
    assert len(plain) > 300
    assert not {" ".join(each.split()) for each in plain} - {
        " ".join(each.split()) for each in read
    }
    assert {foreign.language for foreign in book.language_spans} >= {"fr", "de", "la"}


def test_every_reference_of_war_and_peace_opens_its_note() -> None:
    book = novel("war-and-peace")
    references = [link for link in book.links if link.target_end is not None]
    notes = [p for p in book.paragraphs if p.kind is ParagraphKind.NOTE]
    assert len(references) > 100
    for number, link in enumerate(references, 1):
        assert book.text[link.start : link.end] == f"[{number}]"
        assert link.target is not None
        assert book.text[link.target : link.target_end].startswith(f"{number}. ")
    assert {p.start for p in notes} >= {link.target for link in references}


def test_frankenstein_has_its_letters_and_chapters() -> None:
    book = novel("frankenstein")
    titles = [chapter.title for chapter in book.chapters]
    assert [title for title in titles if title.startswith("Letter")] == [
        f"Letter {n}" for n in ("I", "II", "III", "IV")
    ]
    assert len([title for title in titles if title.startswith("Chapter")]) == 24
    assert (book.title, book.authors, book.language) == (
        "Frankenstein",
        ("Mary Shelley",),
        "en-GB",
    )


def test_the_chapters_of_war_and_peace_nest_in_parts_and_books() -> None:
    book = novel("war-and-peace")
    assert max(chapter.level for chapter in book.chapters) == 4
    assert (
        len(
            [
                chapter
                for chapter in book.chapters
                if re.fullmatch("[IVXL]+", chapter.title)
            ]
        )
        == 364
    )
    assert len([p for p in book.paragraphs if p.kind is ParagraphKind.NOTE]) > 100
