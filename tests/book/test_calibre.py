"""Conversion by `ebook-convert`, replaced here by a small script."""

import io
import os
import signal
import sys
import time
import zipfile
from pathlib import Path

import pytest

from gistread.book.cache import open_cached
from gistread.book.formats import calibre
from gistread.book.open import open_book, open_bytes, open_file, read_book
from gistread.errors import BookError
from tests.book.make_epub import epub, package, page

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(
        sys.platform == "win32", reason="the converter's stand-in is a shell script"
    ),
]


def kindle(encryption: int = 0) -> bytes:
    """The start of a Kindle book: its record directory and first record."""
    head = b"Rain".ljust(60, b"\0") + b"BOOKMOBI" + b"\0" * 8 + (1).to_bytes(2, "big")
    return (
        head
        + (100).to_bytes(4, "big")
        + b"\0" * (100 - len(head) - 4)
        + b"\0" * 12
        + encryption.to_bytes(2, "big")
    )


@pytest.fixture
def book(tmp_path: Path) -> Path:
    path = tmp_path / "rain.azw3"
    path.write_bytes(kindle())
    return path


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> "Install":
    (tmp_path / "bin").mkdir()
    (tmp_path / "tmp").mkdir()
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    return Install(tmp_path)


class Install:
    """Installs an `ebook-convert` that runs these shell lines: "$1" is the book, "$2" the EPUB."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.epub = folder / "made.epub"
        self.epub.write_bytes(epub({"a.xhtml": page("<h1>Rain</h1><p>It rained.</p>")}))

    def __call__(self, script: str) -> None:
        command = self.folder / "bin" / "ebook-convert"
        command.write_text(f"#!/bin/sh\n{script}\n")
        command.chmod(0o755)

    @property
    def left_behind(self) -> list[Path]:
        return list((self.folder / "tmp").iterdir())


def test_a_kindle_book_is_read_through_the_converter(
    book: Path, install: Install
) -> None:
    install(
        f'test -f "$1" && echo "$1" > {install.folder}/asked && cp {install.epub} "$2"'
    )
    read = open_book(book)
    assert (read.text, read.source_format) == ("Rain\n\nIt rained.", "mobi")
    assert (install.folder / "asked").read_text().strip().endswith("/book.azw3")
    assert install.left_behind == []


def test_other_formats_are_named_by_their_suffix(install: Install) -> None:
    install(f'case "$1" in *.rtf) cp {install.epub} "$2";; esac')
    assert open_bytes(b"{\\rtf1 Rain}", "rain.doc").text == "Rain\n\nIt rained."


@pytest.mark.parametrize("text", ["index.html", "index.txt"])
def test_an_archive_of_calibre_is_named_by_its_text(
    text: str, install: Install
) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(text, "Rain")
        archive.writestr("metadata.opf", "<package/>")
    suffix = {"index.html": "htmlz", "index.txt": "txtz"}[text]
    install(f'case "$1" in *.{suffix}) cp {install.epub} "$2";; esac')
    assert open_bytes(buffer.getvalue(), "rain.zip").text == "Rain\n\nIt rained."


def test_links_become_no_chapters(install: Install, tmp_path: Path) -> None:
    nav = '<nav><ol><li><a href="a.xhtml">1</a></li><li><a href="a.xhtml#n">↩</a></li></ol></nav>'
    item = '<item id="n" href="nav.html" media-type="application/xhtml+xml" properties="nav"/>'
    files = {
        "a.xhtml": page('<h1>Rain</h1><p id="n">It rained.</p>'),
        "nav.html": page(nav),
    }
    made = tmp_path / "contents.epub"
    made.write_bytes(epub(files, package(["a.xhtml"], manifest=item)))
    install(f'cp {made} "$2"')
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("index.html", "Rain")
        archive.writestr("metadata.opf", "<package/>")
    book = open_bytes(buffer.getvalue(), "rain.htmlz")
    assert [chapter.title for chapter in book.chapters] == ["Rain"]


def test_a_converted_book_is_not_converted_again(
    book: Path, install: Install, tmp_path: Path
) -> None:
    install(f'echo once >> {install.folder}/count; cp {install.epub} "$2"')
    first = open_cached(book, tmp_path / "texts")
    assert open_cached(book, tmp_path / "texts") == first
    assert (install.folder / "count").read_text() == "once\n"


def test_a_missing_converter_is_reported_in_two_lines(
    book: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(BookError, match="is a Kindle book") as caught:
        open_book(book)
    assert len(str(caught.value).splitlines()) == 2
    assert "Install Calibre" in str(caught.value)


@pytest.mark.parametrize("signature", [b"BOOKMOBI", b"TEXtREAd"])
def test_drm_is_reported_before_the_conversion(
    book: Path, install: Install, signature: bytes
) -> None:
    install(f"touch {install.folder}/started")
    book.write_bytes(kindle(encryption=2).replace(b"BOOKMOBI", signature))
    with pytest.raises(BookError, match="protected by DRM"):
        open_book(book)
    assert not (install.folder / "started").exists()


def test_drm_found_by_the_converter_is_reported(book: Path, install: Install) -> None:
    install("echo 'calibre.ebooks.DRMError: this book has DRM' >&2; exit 1")
    with pytest.raises(BookError, match="protected by DRM"):
        open_book(book)


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        (
            "echo 'Reading…'; echo 'Error: the file is \x1b[31mdamaged\x1b[0m.' >&2; exit 1",
            "the file is",
        ),
        ("exit 3", "could not convert it"),
        ("exit 0", "could not convert it"),
        ('echo "not an EPUB" > "$2"', "cannot be read"),
        ("kill -9 $$", "could not convert it"),
    ],
)
def test_a_converter_that_fails_is_quoted(
    book: Path, install: Install, script: str, reason: str
) -> None:
    install(script)
    with pytest.raises(BookError, match=reason) as caught:
        open_book(book)
    assert len(str(caught.value).splitlines()) <= 2
    assert "\x1b" not in str(caught.value)
    assert install.left_behind == []


def test_a_hanging_converter_is_killed_with_its_children(
    book: Path, install: Install, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calibre, "LIMIT_SECONDS", 0.5)
    install(f"sleep 60 & echo $! > {install.folder}/child; wait")
    with pytest.raises(BookError, match="stopped after"):
        open_book(book)
    assert_ends(int((install.folder / "child").read_text()))
    assert install.left_behind == []


def test_a_cancelled_conversion_is_stopped(book: Path, install: Install) -> None:
    install("trap '' TERM; sleep 60")
    cancellations = iter([False, False, True])
    with open_file(book) as stream, pytest.raises(BookError, match="cancelled"):
        read_book(stream, book.name, cancelled=lambda: next(cancellations))
    assert install.left_behind == []


def assert_ends(process: int) -> None:
    until = time.monotonic() + 5
    while time.monotonic() < until:
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            return
        state = Path(f"/proc/{process}/stat")
        if state.exists() and ") Z " in state.read_text():
            return
        time.sleep(0.05)
    os.kill(process, signal.SIGKILL)
    raise AssertionError("what the converter started is still running")
