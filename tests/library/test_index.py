"""The library is searched as a whole.

What is indexed and kept, and how far each book may be shown.
"""

import contextlib
import sqlite3
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from gistread.book.cache import EXTRACTION_VERSION
from gistread.book.open import open_book
from gistread.child_process import python_command
from gistread.library.adding import add_volumes
from gistread.library.index import LibraryIndex
from gistread.library.indexing import start_indexing, update_index
from gistread.library.metadata import read_book_file
from gistread.library.shelf import Shelf, open_shelf
from gistread.paths import Paths
from gistread.store.catalogue import Catalogue
from gistread.store.journal import open_locked
from gistread.store.model import BoundChoice
from gistread.store.user_data import UserData
from tests.folders import paths_in
from tests.library.conftest import Books, Make


@pytest.fixture
def paths(tmp_path: Path) -> Paths:
    return paths_in(tmp_path / "home")


def add(paths: Paths, *books: Path) -> None:
    Catalogue(paths).add([read_book_file(path) for path in books])


def titles(shelf: Shelf, words: str) -> list[str]:
    return [hit.book.entry.title for hit in shelf.search(words).hits]


def story(path: Path, *chapters: str, title: str = "") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    body = "\n\n\n".join(
        f"Chapter {number}\n\n{text}" for number, text in enumerate(chapters, 1)
    )
    path.write_text(f"{title or path.stem}\n\n\n{body}\n")
    return path


def test_hits_name_book_and_chapter_and_quote_the_sentence(
    paths: Paths, tmp_path: Path
) -> None:
    seen = "He came in. The stranger had bandages round his head. It snowed."
    inn = story(tmp_path / "The Inn.txt", "Nothing here.", seen)
    add(paths, inn, story(tmp_path / "The Farm.txt", "The cow had no bandage."))
    update_index(paths)
    results = open_shelf(paths).search("Which one has a man with bandaged heads?")
    hit = results.hits[0]
    assert (hit.book.entry.path, hit.chapter) == (inn, "Chapter 2")
    assert (hit.before, hit.text) == (
        "Chapter 2\n\nHe came in. ",
        "The stranger had bandages round his head.",
    )
    text = open_book(inn).text
    assert text[hit.start : hit.end] == hit.text
    assert [text[start:end] for start, end in hit.words] == ["bandages", "head"]
    assert titles(open_shelf(paths), "in the cows") == ["The Farm"]


def test_each_language_has_its_stems(paths: Paths, tmp_path: Path) -> None:
    german = story(
        tmp_path / "Wald.txt",
        "Die Kinder gingen in den Wald und es war da auch ein Haus aus Brot. " * 30,
    )
    add(
        paths,
        german,
        story(
            tmp_path / "Wood.txt",
            "The child went into the wood and there was a house. " * 30,
        ),
    )
    update_index(paths)
    assert set(titles(open_shelf(paths), "Häuser im Walde")) == {"Wald"}
    assert set(titles(open_shelf(paths), "houses in woods")) == {"Wood"}


def test_hits_stop_at_the_bound_and_the_rest_is_counted(
    books: Books, paths: Paths, tmp_path: Path
) -> None:
    path = story(
        tmp_path / "Novel.txt",
        *(f"She said to him that he saw the {n}. lantern. " * 9 for n in range(90)),
    )
    sha256 = books.open(path)
    update_index(paths)
    assert len(open_shelf(paths).search("lantern").hits) == 90
    assert not open_shelf(paths).books[0].begun
    books.user_data.set_position(sha256, len(open_book(path).text) // 3)
    results = open_shelf(paths).search("lantern")
    assert (
        results.left_out
        == f"{90 - results.total} more beyond where you stopped in 1 book"
    )
    assert results.total == pytest.approx(30, abs=2)
    books.user_data.choose_bound(sha256, BoundChoice(whole=True))
    assert open_shelf(paths).search("lantern").total == 90


def test_a_killed_indexer_goes_on_where_it_was(paths: Paths, tmp_path: Path) -> None:
    add(
        paths,
        *(story(tmp_path / f"{n}.txt", "The sea was wide. " * 8_000) for n in range(5)),
    )
    index = LibraryIndex(paths)
    folders = map(str, (paths.config, paths.data, paths.cache, paths.state))
    with subprocess.Popen(
        python_command("gistread.library.indexing", *folders)
    ) as process:
        while not index.books():
            assert process.poll() is None or index.books()
        process.kill()
    done = {digest: book.id for digest, book in index.books().items()}
    shelf = open_shelf(paths)
    assert shelf.progress == (f"indexing {len(done)} of 5" if len(done) < 5 else "")
    update_index(paths)
    now = index.books()
    assert len(now) == 5
    assert all(now[digest].id == number for digest, number in done.items()), (
        "none is indexed twice"
    )


def test_a_second_indexer_waits_for_the_first(paths: Paths, text: Make) -> None:
    """A search right after `books --add` waits for its own indexer.

    If that one did not wait for the indexer before it, the search would miss the books of that one.
    """
    add(paths, text("one.txt", words="the lantern"))
    paths.index.mkdir(parents=True)
    with open_locked(paths.index / "indexing.lock", wait_s=0):
        second = start_indexing(paths)
        with pytest.raises(subprocess.TimeoutExpired):
            second.wait(1.5)
    assert second.wait(20) == 0
    assert set(titles(open_shelf(paths), "lantern")) == {"one"}


def test_a_new_index_waits_for_another_process(paths: Paths) -> None:
    paths.index.mkdir(parents=True)
    index = LibraryIndex(paths)
    other = sqlite3.connect(paths.index / "passages.db", isolation_level=None)
    with contextlib.closing(other), ThreadPoolExecutor(1) as pool:
        other.execute("BEGIN IMMEDIATE")
        kept = pool.submit(index.keep, set())
        with pytest.raises(TimeoutError):
            kept.result(0.2)
        other.execute("COMMIT")
        kept.result(10)
    assert index.books() == {}


def test_a_removed_book_is_dropped_and_the_file_shrinks(
    books: Books, paths: Paths, text: Make
) -> None:
    for name in ("one", "two", "three"):
        books.open(text(f"{name}.txt", words=f"the {name} lantern"))
    update_index(paths)
    assert set(titles(open_shelf(paths), "lantern")) == {"one", "two", "three"}
    for entry in books.entries[:2]:
        books.catalogue.remove(entry.ids)
    assert set(titles(open_shelf(paths), "lantern")) == {"one"}
    update_index(paths)
    assert [book.id for book in LibraryIndex(paths).books().values()] == [1], (
        "it was made again"
    )


def test_an_unreadable_book_is_not_tried_again(
    paths: Paths, text: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = text("gone.txt")
    add(paths, path)
    path.write_bytes(b"%PDF-1.7 nothing")
    update_index(paths)
    monkeypatch.setattr("gistread.library.indexing.open_cached", None)
    update_index(paths)
    assert (open_shelf(paths).books, open_shelf(paths).progress) == ((), "")


def test_a_damaged_or_outdated_index_is_made_again(
    paths: Paths, text: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(paths, text("one.txt", words="the lantern"))
    update_index(paths)
    monkeypatch.setattr("gistread.library.index._VERSION", 2000 + EXTRACTION_VERSION)
    assert open_shelf(paths).progress == "indexing 0 of 1"
    update_index(paths)
    assert titles(open_shelf(paths), "lantern")
    (paths.index / "passages.db").write_bytes(b"no database" * 1000)
    with pytest.raises(Exception, match="cannot be used"):
        open_shelf(paths)
    update_index(paths)
    assert titles(open_shelf(paths), "lantern")


def test_a_series_is_searched_as_one_once_it_is_begun(
    books: Books, paths: Paths, text: Make
) -> None:
    first, second = (
        text("one.txt", words="a lantern"),
        text("two.txt", words="the lanterns"),
    )
    series = first.with_name("both.series")
    add_volumes(series, [first, second], paths.texts)
    add(paths, first, second)
    sha256 = books.open(series)
    update_index(paths)
    assert {book.entry.title for book in open_shelf(paths).books} == {"one", "two"}
    UserData(paths).set_position(sha256, 30)
    for path in (first, second):
        books.open(path)
    update_index(paths)
    assert {book.entry.title for book in open_shelf(paths).books} == {"both"}


def test_a_changed_file_is_not_quoted_from(paths: Paths, text: Make) -> None:
    path = text("one.txt", words="the lantern")
    add(paths, path)
    update_index(paths)
    for cached in paths.texts.iterdir():
        cached.unlink()
    assert open_shelf(paths).search("lantern").hits
    for cached in paths.texts.iterdir():
        cached.unlink()
    path.write_text(path.read_text().replace("fire", "lamp"))
    assert (
        open_shelf(paths).search("lantern").hits,
        open_shelf(paths).search("lantern").total,
    ) == ((), 2)


def test_pages_of_hits_lose_none_when_a_file_has_gone(paths: Paths, text: Make) -> None:
    books = [
        text(f"{name}.txt", words=f"the lantern {name}")
        for name in ("one", "two", "six")
    ]
    add(paths, *books)
    update_index(paths)
    shelf = open_shelf(paths)
    best = shelf.search("lantern").hits[0]
    best.book.path.unlink()
    for cached in paths.texts.iterdir():
        cached.unlink()
    kept = shelf.search("lantern").hits
    assert 0 < len(kept) < shelf.search("lantern").total
    ranks = range(shelf.search("lantern").total)
    paged = [hit for rank in ranks for hit in shelf.search("lantern", 1, rank).hits]
    assert [(hit.book.path, hit.start) for hit in paged] == [
        (hit.book.path, hit.start) for hit in kept
    ]
