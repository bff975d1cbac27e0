"""Scanning a folder finds every readable book."""

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from gistread.library import adding
from gistread.library.adding import add_folder
from gistread.library.metadata import read_book_file
from gistread.store.model import BookFile
from tests.book.make_epub import epub, package, page
from tests.library.conftest import Books, Make


def never() -> bool:
    return False


def test_titles_and_authors_are_read_without_opening_the_books(
    books: Books, tmp_path: Path, text: Make
) -> None:
    folder = text("deep/er/plain.txt", "A Plain Tale").parents[2]
    reversing = package(["a.xhtml"]).replace("A Book", "A \u202eBook")
    (folder / "book.epub").write_bytes(
        epub({"a.xhtml": page("<p>Words.</p>")}, reversing)
    )
    add_folder(books.catalogue, folder, never)
    assert "A Book" in books.titles
    assert {entry.format for entry in books.entries} == {"epub", "text"}
    assert "A Plain Tale" in books.titles
    assert all(not entry.was_opened and not entry.sha256 for entry in books.entries)


def test_every_format_is_found_and_its_title_read_cheaply(
    books: Books, tmp_path: Path
) -> None:
    folder = tmp_path / "shelves"
    folder.mkdir()
    (folder / "a.md").write_text(
        "---\ntitle: On Marks\nauthor: A. Writer\n---\n\n# One\n\n" + "Words. " * 20_000
    )
    (folder / "b.html").write_text(
        "<html><head><title>On Pages</title></head><body><p>Words.</p></body></html>"
    )
    (folder / "c.fb2").write_text(
        '<?xml version="1.0"?><FictionBook '
        'xmlns="http://www.gribuser.ru/xml/fictionbook/2.0"><description><title-info>'
        "<book-title>On "
        "Fiction</book-title></title-info></description><body><section><p>Words.</p></section></body>"
        "</FictionBook>"
    )
    (folder / "On Paper.pdf").write_bytes(b"%PDF-1.4\n1 0 obj\n<< /Type /Page >>")
    added = add_folder(books.catalogue, folder, never)
    assert added.failed == []
    assert books.titles == ["On Fiction", "On Marks", "On Pages", "On Paper"]
    assert {entry.format for entry in books.entries} == {
        "markdown",
        "html",
        "fb2",
        "pdf",
    }


@pytest.fixture
def kindle_book(tmp_path: Path) -> Path:
    path = tmp_path / "shelves" / "b00x.azw3"
    path.parent.mkdir()
    title = "Regen über dem Fluß".encode()
    record = b"\0" * 28 + (65001).to_bytes(4, "big") + b"\0" * 52
    record += (92).to_bytes(4, "big") + len(title).to_bytes(4, "big") + title
    head = b"Regen".ljust(60, b"\0") + b"BOOKMOBI" + b"\0" * 8 + (1).to_bytes(2, "big")
    path.write_bytes(head + (82).to_bytes(4, "big") + record)
    return path


@pytest.fixture
def converter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "bin" / "ebook-convert"
    path.parent.mkdir()
    path.touch(mode=0o755)
    monkeypatch.setenv("PATH", str(path.parent))
    return path


@pytest.mark.usefixtures("converter")
def test_kindle_books_have_the_title_of_their_header(
    books: Books, kindle_book: Path
) -> None:
    added = add_folder(books.catalogue, kindle_book.parent, never)
    assert (books.titles, added.failed) == (["Regen über dem Fluß"], [])


def test_kindle_books_need_the_converter(
    books: Books, kindle_book: Path, converter: Path
) -> None:
    converter.chmod(0o644)
    added = add_folder(books.catalogue, kindle_book.parent, never)
    assert "ebook-convert, which is not installed" in added.failed[0].reason


def test_hidden_folders_and_other_files_are_skipped(books: Books, text: Make) -> None:
    folder = text("good.txt").parent
    text(".git/hidden.txt")
    text("program.py")
    text(".hidden.txt")
    added = add_folder(books.catalogue, folder, never)
    assert (added.new, added.failed) == (1, [])


@pytest.mark.skipif(sys.platform == "win32", reason="links need a privilege there")
def test_links_to_folders_are_not_followed_and_links_out_are_named(
    books: Books, text: Make, tmp_path: Path
) -> None:
    folder = text("good.txt").parent
    (folder / "round").symlink_to(folder)
    (folder / "itself.txt").symlink_to("itself.txt")
    text("deep/linked.txt")
    (folder / "again.txt").symlink_to("deep/linked.txt")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "secret.txt").write_text("Not for others.")
    (folder / "link").symlink_to(elsewhere)
    (folder / "one.txt").symlink_to(elsewhere / "secret.txt")
    (folder / "dangling.txt").symlink_to("nothing.txt")
    added = add_folder(books.catalogue, folder, never)
    assert sorted(books.titles) == ["good", "linked"]
    assert [
        failed.reason for failed in added.failed if failed.path.name == "one.txt"
    ] == ["one.txt is a link out of the folder."]


def test_a_file_that_makes_a_reader_fail_is_named_and_the_others_are_added(
    books: Books, text: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = text("a.txt").parent
    text("b.txt")
    read = read_book_file

    def failing(path: Path, stopped: Callable[[], bool]) -> BookFile:
        if path.name == "a.txt":
            raise RecursionError
        return read(path, stopped)

    monkeypatch.setattr(adding, "read_book_file", failing)
    added = add_folder(books.catalogue, folder, never)
    assert books.titles == ["b"]
    assert [failed.reason for failed in added.failed] == [
        "a.txt cannot be read: RecursionError."
    ]


@pytest.mark.skipif(sys.platform == "win32", reason="names are Unicode there")
def test_unusual_file_names_are_listed(books: Books, text: Make) -> None:
    folder = text("good.txt").parent
    names = [b"two\nlines.txt", b"\x1b[31mred.txt", b"caf\xe9.txt", b"\xff\xfe.epub"]
    for number, name in enumerate(names):
        (folder / os.fsdecode(name)).write_text(
            f"it is the {number}. text, and goes on for a while, as they do."
        )
    added = add_folder(books.catalogue, folder, never)
    assert (added.new, len(added.failed)) == (5, 0)
    entries = books.entries
    assert {os.fsencode(entry.path.name) for entry in entries if entry.path} == {
        *names,
        b"good.txt",
    }
    for entry in entries:
        assert entry.title.encode()
        assert not entry.missing


def test_a_stopped_scan_keeps_what_it_found(books: Books, text: Make) -> None:
    for number in range(30):
        text(f"{number:02}.txt")
    asked_so_far = iter(range(100))
    added = add_folder(
        books.catalogue, text("00.txt").parent, lambda: next(asked_so_far) >= 10
    )
    assert added.cut
    assert len(books.entries) == added.new == 10


def test_known_files_are_not_read_again(
    books: Books, text: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = text("a.txt").parent
    text("b.txt")
    add_folder(books.catalogue, folder, never)
    text("c.txt")
    read: list[str] = []
    from gistread.library import adding

    describe = read_book_file
    monkeypatch.setattr(
        adding,
        "read_book_file",
        lambda path, stopped: (read.append(path.name), describe(path))[1],
    )
    assert add_folder(books.catalogue, folder, never).new == 1
    assert read == ["c.txt"]


@pytest.mark.slow
def test_two_thousand_files_are_listed_in_order(books: Books, text: Make) -> None:
    folder = text("volume 1.txt").parent
    for number in range(2, 2001):
        (folder / f"volume {number}.txt").write_text(
            f"Volume {number}\n\nThis is the text of volume {number}, no more."
        )
    counts: list[int] = []
    added = add_folder(
        books.catalogue, folder, never, lambda so_far: counts.append(so_far.new)
    )
    assert added.new == len(books.entries) == 2000
    assert counts == sorted(counts)
    assert counts[-1] == 2000
