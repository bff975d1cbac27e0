"""The library from Python."""

from pathlib import Path

import pytest

from gistread import Export, ExportFormat, Library, render_export
from gistread.errors import BookError, UsageError
from gistread.marking import MarkKind
from gistread.store.model import SavedQuestion
from tests.book.make_epub import epub, page
from tests.folders import paths_in
from tests.library.conftest import Books, Make


@pytest.fixture
def library(tmp_path: Path) -> Library:
    return Library(paths_in(tmp_path / "home"))


def test_books_are_listed_and_opened_by_name(
    library: Library, books: Books, text: Make
) -> None:
    emma = text("emma.txt", "Emma")
    books.open(emma, position=400)
    books.open(text("persuasion.txt", "Persuasion"))
    assert [entry.title for entry in library.books()] == ["Persuasion", "Emma"]
    assert 0 < library.books()[1].share < 1
    book = library.open("emma")
    assert book == library.open(emma)
    assert (library.place(book).offset, library.place(book).furthest) == (400, 400)
    with pytest.raises(UsageError, match="No book is called"):
        library.open("Sanditon")
    with pytest.raises(BookError):
        library.open(emma.with_name("none.txt"))


def test_marks_are_made_read_and_removed(
    library: Library, tmp_path: Path, text: Make
) -> None:
    book = library.open(text("emma.txt", "Emma"))
    start = book.text.index("by the fire")
    mark = library.mark(book, start, start + len("by the fire"), note="Warm.")
    note = library.mark(book, 0, 4, note="Who?", color=None)
    assert (mark.kind, note.kind) == (MarkKind.HIGHLIGHT, MarkKind.NOTE)
    again = Library(paths_in(tmp_path / "home"))
    assert [known.place.exact for known in again.marks(book)] == ["Emma", "by the fire"]
    library.remove(book, note)
    library.remove(book, note)
    assert library.marks(book) == [mark]
    for start, end in ((5, 5), (-1, 4), (0, len(book.text) + 1)):
        with pytest.raises(UsageError, match="is no part"):
            library.mark(book, start, end)
    with pytest.raises(UsageError, match="needs a note"):
        library.mark(book, 0, 4, color=None)


def test_a_marked_book_is_listed(library: Library, text: Make) -> None:
    book = library.open(text("emma.txt", "Emma"))
    assert library.books() == []
    library.mark(book, 0, 4)
    assert [entry.sha256 for entry in library.books()] == [book.sha256]


def test_an_epub_cfi_is_found_in_the_file_that_was_opened(
    library: Library, tmp_path: Path
) -> None:
    path = tmp_path / "book.epub"
    path.write_bytes(epub({"a.xhtml": page("<p>The <em>boat</em> came in.</p>")}))
    book = library.open(path)
    (boat,) = library.places(book, "epubcfi(/6/2!/4/2/2/1:0)")
    assert book.text[boat.offset :].startswith("boat")


def test_places_and_threads_are_those_of_the_screen(
    library: Library, books: Books, text: Make
) -> None:
    sha256 = books.open(text("emma.txt", "Emma"))
    book = library.open("Emma")
    assert library.places(book, "p. 1")[0].offset == book.page_start(1)
    fire = library.places(book, '"by the fire"')[0]
    assert book.text[fire.offset : fire.end] == "by the fire"
    with pytest.raises(UsageError, match="No such chapter"):
        library.places(book, "chapter zebra")
    books.user_data.add_question(
        sha256, SavedQuestion("Who?", "Emma.", True, asked_at=5.0)
    )
    (thread,) = library.threads(book)
    export = Export(book, library.marks(book), thread.questions)
    assert "### Who?\n\nEmma." in render_export(export, ExportFormat.MARKDOWN)


def test_marks_of_an_earlier_version_are_carried_over(
    library: Library, books: Books, text: Make
) -> None:
    path = text("emma.txt", "Emma")
    books.open(path)
    old = library.open(path)
    start = old.text.index("by the fire")
    library.mark(old, start, start + len("by the fire"))
    path.write_text(f"A new preface.\n\n{path.read_text()}")
    new = library.open(path)
    (mark,) = library.marks(new)
    assert new.text[mark.start : mark.end] == "by the fire"
    assert not mark.lost
