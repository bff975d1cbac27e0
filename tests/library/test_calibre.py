"""Folders of Calibre, and folders with files that are no books."""

import sqlite3
from contextlib import closing
from pathlib import Path

from gistread.exporting.markdown import as_markdown
from gistread.exporting.model import Export
from gistread.library.adding import AddResult, add_folder
from gistread.library.figures import describe_added
from gistread.marking import Mark, MarkKind, quote_at
from gistread.store.catalogue import Catalogue
from tests.book.make_epub import epub, page
from tests.folders import paths_in
from tests.memory.books import make_book

PROSE = "The lamp burned all night, and nobody trimmed it before the morning.\n\n" * 60
OPF = """<package xmlns="http://www.idpf.org/2007/opf"><metadata
xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>{title}</dc:title>
<dc:creator>Ada Ro</dc:creator><dc:subject>Sea</dc:subject><dc:subject>Lamps</dc:subject>
<meta name="calibre:series" content="Lights"/></metadata></package>"""

DATABASE = """
CREATE TABLE books (id, title, path);
CREATE TABLE authors (id, name);
CREATE TABLE books_authors_link (id, book, author);
CREATE TABLE series (id, name);
CREATE TABLE books_series_link (id, book, series);
CREATE TABLE tags (id, name);
CREATE TABLE books_tags_link (id, book, tag);
INSERT INTO books VALUES (1, 'The Lamp', 'Ada Ro/The Lamp (1)');
INSERT INTO authors VALUES (1, 'Lee| Jr.'), (2, 'Ada Ro');
INSERT INTO books_authors_link VALUES (1, 1, 2), (2, 1, 1);
INSERT INTO series VALUES (1, 'Nights');
INSERT INTO books_series_link VALUES (1, 1, 1);
INSERT INTO tags VALUES (1, 'Sea');
INSERT INTO books_tags_link VALUES (1, 1, 1);
"""


def add(folder: Path) -> tuple[Catalogue, AddResult]:
    catalogue = Catalogue(paths_in(folder.parent / f"{folder.name}-home"))
    return catalogue, add_folder(catalogue, folder, lambda: False)


def test_calibre_gives_title_authors_series_and_tags_and_one_format(
    tmp_path: Path,
) -> None:
    book = tmp_path / "Ada Ro" / "The Lamp (1)"
    book.mkdir(parents=True)
    (book / "metadata.opf").write_text(OPF.format(title="The Lamp"))
    (book / "The Lamp - Ada Ro.txt").write_text(PROSE)
    (book / "The Lamp - Ada Ro.md").write_text(f"# lamp\n\n{PROSE}")
    catalogue, added = add(tmp_path)
    assert (added.new, added.no_books) == (1, 0)
    (file,) = catalogue.read().files.values()
    assert (file.title, file.authors, file.path.suffix) == (
        "The Lamp",
        ("Ada Ro",),
        ".md",
    )
    assert catalogue.read().tags[f"file:{file.digest}"] == ("Lights", "Sea", "Lamps")


def test_the_database_of_calibre_is_newer_than_the_file_beside_a_book(
    tmp_path: Path,
) -> None:
    book = tmp_path / "Ada Ro" / "The Lamp (1)"
    book.mkdir(parents=True)
    (book / "metadata.opf").write_text(OPF.format(title="Lampp"))
    (book / "lamp.txt").write_text(PROSE)
    with closing(sqlite3.connect(tmp_path / "metadata.db")) as database:
        database.executescript(DATABASE)
    catalogue, _ = add(tmp_path)
    (file,) = catalogue.read().files.values()
    assert (file.title, file.authors) == ("The Lamp", ("Ada Ro", "Lee, Jr."))
    assert catalogue.read().tags[f"file:{file.digest}"] == ("Nights", "Sea")


def test_a_book_without_a_title_in_calibre_keeps_its_own(tmp_path: Path) -> None:
    book = tmp_path / "Ada Ro" / "The Lamp (1)"
    book.mkdir(parents=True)
    (book / "lamp.txt").write_text(PROSE)
    with closing(sqlite3.connect(tmp_path / "metadata.db")) as database:
        database.executescript(DATABASE)
        database.execute("UPDATE books SET title = ' '")
        database.commit()
    catalogue, _ = add(tmp_path)
    (file,) = catalogue.read().files.values()
    assert file.title


def test_a_damaged_database_of_calibre_costs_no_book(tmp_path: Path) -> None:
    (tmp_path / "metadata.db").write_text(
        "This is no database, whatever its name says. " * 50
    )
    (tmp_path / "lamp.txt").write_text(PROSE)
    _, added = add(tmp_path)
    assert added.new == 1


def test_a_damaged_metadata_file_costs_no_book(tmp_path: Path) -> None:
    (tmp_path / "metadata.opf").write_text("<package><metadata>")
    (tmp_path / "lamp.txt").write_text(PROSE)
    _, added = add(tmp_path)
    assert added.new == 1


def test_files_of_programs_and_data_are_left_out_and_counted(tmp_path: Path) -> None:
    (tmp_path / "lamp.txt").write_text(PROSE)
    (tmp_path / "README.md").write_text(PROSE)
    (tmp_path / "requirements-dev.txt").write_text("httpx2>=2\n")
    (tmp_path / "numbers.txt").write_text("1, 2, 3, 4, 5;\n" * 200)
    modules = tmp_path / "node_modules" / "left-pad"
    modules.mkdir(parents=True)
    (modules / "story.txt").write_text(PROSE)
    _, added = add(tmp_path)
    assert (added.new, added.no_books) == (1, 3)
    assert describe_added(added) == "1 book added, 3 files left out as no book."


def test_texts_of_a_program_are_left_out_and_its_books_are_not(tmp_path: Path) -> None:
    docs = tmp_path / "lamps" / "docs" / "guide"
    docs.mkdir(parents=True)
    (tmp_path / "lamps" / "pyproject.toml").write_text("[project]")
    (docs / "guide.md").write_text(PROSE)
    (docs / "guide.epub").write_bytes(epub({"a.xhtml": page(f"<p>{PROSE}</p>")}))
    (tmp_path / "lamp.txt").write_text(PROSE)
    catalogue, added = add(tmp_path)
    assert (added.new, added.no_books) == (2, 1)
    names = sorted(path.name for path in catalogue.read().paths)
    assert names == ["guide.epub", "lamp.txt"]


def test_exported_notes_are_no_book(tmp_path: Path) -> None:
    book = make_book([PROSE])
    mark = Mark("a", MarkKind.HIGHLIGHT, quote_at(book.text, 4, 30))
    notes = as_markdown(Export(book, [mark], []))
    (tmp_path / "lamp-notes.md").write_text(notes)
    (tmp_path / "lamp.md").write_text(PROSE)
    _, added = add(tmp_path)
    assert (added.new, added.no_books) == (1, 1)


def test_text_in_an_old_encoding_is_a_book(tmp_path: Path) -> None:
    (tmp_path / "lamp.txt").write_bytes(
        "Лампа горела всю ночь. ".encode("cp1251") * 100
    )
    _, added = add(tmp_path)
    assert (added.new, added.no_books) == (1, 0)
