"""The cache returns equal books; damaged or outdated entries are rebuilt."""

from pathlib import Path

import pytest

from gistread.book import cache
from gistread.book.cache import open_cached
from gistread.book.open import open_book
from gistread.errors import BookError
from tests.book.make_epub import epub, page


@pytest.fixture
def story(tmp_path: Path) -> Path:
    path = tmp_path / "story.epub"
    body = "<h1>Rain</h1><p>It rained.</p><hr/><p>Grüße <br/> aus dem<br/> Regen</p>"
    path.write_bytes(
        epub({"a.xhtml": page(body), "b.xhtml": page("<p>It <b>rained.</p>")})
    )
    return path


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "books"


def never_read(*_: object, **__: object) -> None:
    raise AssertionError("the file was read again")


def test_the_second_opening_gives_the_same_book_without_reading_it(
    story: Path, directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = open_cached(story, directory)
    assert first == open_book(story)
    assert first.notices
    monkeypatch.setattr(cache, "read_book", never_read)
    assert open_cached(story, directory) == first


def test_the_same_file_under_another_name_is_the_same_book(
    story: Path, directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = open_cached(story, directory)
    monkeypatch.setattr(cache, "read_book", never_read)
    assert open_cached(story.rename(story.with_name("other.bin")), directory) == first


def test_a_changed_file_is_read_again(story: Path, directory: Path) -> None:
    open_cached(story, directory)
    story.write_text("Once upon a time.")
    assert open_cached(story, directory).text == "Once upon a time."


def test_damaged_cache_entries_are_ignored(story: Path, directory: Path) -> None:
    book = open_cached(story, directory)
    kept = next(directory.iterdir())
    sound = kept.read_bytes()
    for at in range(0, len(sound), 11):
        broken = bytearray(sound)
        broken[at] ^= 0x55
        kept.write_bytes(broken)
        assert open_cached(story, directory) == book
        kept.write_bytes(sound[:at])
        assert open_cached(story, directory) == book


def test_cache_entries_of_another_version_are_ignored(
    story: Path, directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_cached(story, directory)
    monkeypatch.setattr(cache, "EXTRACTION_VERSION", cache.EXTRACTION_VERSION + 1)
    monkeypatch.setattr(cache, "read_book", never_read)
    with pytest.raises(AssertionError, match="read again"):
        open_cached(story, directory)


def test_a_copy_has_the_name_of_its_own_file(tmp_path: Path, directory: Path) -> None:
    words = "some words without any title, which go on and on.\n\n" * 9
    for name in ("First", "Second"):
        path = tmp_path / f"{name}.html"
        path.write_text(f"<html><body><p>{words}</p></body></html>")
        assert open_cached(path, directory) == open_book(path)
        assert open_cached(path, directory).title == name


def test_an_unwritable_cache_is_no_error(story: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert open_cached(story, tmp_path / "file" / "books") == open_book(story)


def test_only_the_books_opened_last_are_kept(
    tmp_path: Path, directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache, "_LIMIT_BYTES", 3_000)
    for number in range(6):
        path = tmp_path / f"{number}.txt"
        path.write_text(f"Story number {number}. " * 30)
        open_cached(path, directory)
    assert len(list(directory.iterdir())) == 3


def test_unreadable_books_are_refused_as_without_a_cache(
    tmp_path: Path, directory: Path
) -> None:
    (tmp_path / "empty.txt").touch()
    with pytest.raises(BookError, match="is empty"):
        open_cached(tmp_path / "empty.txt", directory)
    assert not directory.exists()
