"""Places of a book as KOReader writes them, and back."""

from pathlib import Path

import pytest

from gistread.book.model import Book
from gistread.book.open import open_book
from gistread.sample import story_path
from gistread.syncing.places import PlaceConverter
from tests.book.make_epub import epub, page

_CHAPTERS = 5
_PARAGRAPHS = 40


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    def chapter(number: int) -> str:
        lines = (
            f"<p>In chapter {number}, line {line}, <em>“the lamp”</em> burned — again.</p>"
            for line in range(_PARAGRAPHS)
        )
        return page(f"<section><h2>Chapter {number}</h2>{''.join(lines)}</section>")

    path = tmp_path_factory.mktemp("books") / "lamp.epub"
    path.write_bytes(
        epub({f"c{number}.xhtml": chapter(number) for number in range(_CHAPTERS)})
    )
    return path


@pytest.fixture(scope="module")
def book(path: Path) -> Book:
    return open_book(path)


def test_every_paragraph_comes_back_to_itself(book: Book, path: Path) -> None:
    converter = PlaceConverter(book, path)
    for paragraph in book.paragraphs:
        progress = converter.progress_of(paragraph.start)
        assert converter.offset_of(progress, 0.0) == paragraph.start, progress


def test_an_unknown_element_is_sought_in_its_own_chapter(
    book: Book, path: Path
) -> None:
    converter = PlaceConverter(book, path)
    third = book.text.index("Chapter 2")
    fourth = book.text.index("Chapter 3")
    unknown = "/body/DocFragment[3]/body/div/p[7]/text().0"
    assert converter.offset_of(unknown, 0.0) == third
    assert converter.offset_of(unknown, 0.9) == fourth
    assert third < converter.offset_of(unknown, 0.5) < fourth
    assert converter.offset_of("17", 0.5) == round(len(book.text) / 2)


def test_other_formats_and_lost_files_go_by_the_percentage(book: Book) -> None:
    story = open_book(story_path())
    for converter in (
        PlaceConverter(story, story_path()),
        PlaceConverter(book, Path("/nowhere.epub")),
    ):
        length = len(converter.book.text)
        assert converter.progress_of(100) == ""
        assert converter.offset_of(
            "", converter.percentage_of(length // 3)
        ) == pytest.approx(length // 3, abs=1)
