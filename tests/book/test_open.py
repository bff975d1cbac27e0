"""Files that cannot be read are refused in one or two lines, and nothing blocks."""

import gzip
import io
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from gistread.book.open import open_book, open_bytes, read_limited
from gistread.errors import BookError, ExitStatus
from tests.permissions import obey_permissions


def zip_of(names: dict[str, str]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in names.items():
            archive.writestr(name, content)
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("data", "name"),
    [
        (b"{\\rtf1\\ansi Hello}", "RTF"),
        (b"AT&TFORM\0\0\0\0DJVM", "DjVu"),
        (b"GGUF\x03\0\0\0" + b"\0" * 40, "GGUF"),
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "PNG"),
        (b"\xff\xd8\xff\xe0\0\x10JFIF", "JPEG"),
        (b'<?xml version="1.0"?>\n<catalog/>', "XML"),
        (gzip.compress(b"Once upon a time", mtime=0), "gzip"),
        (zip_of({"story.txt": "Once upon a time"}), "zip archive"),
        (
            zip_of(
                {
                    "mimetype": "application/vnd.oasis.opendocument.text",
                    "content.xml": "",
                }
            ),
            "ODT",
        ),
        (zip_of({"1.jpg": "", "2.jpg": ""}), "images"),
        (bytes(range(256)) * 40, "binary"),
    ],
)
def test_unreadable_formats_are_named_and_readable_ones_listed(
    data: bytes, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")  # Calibre would convert RTF
    with pytest.raises(BookError, match=name) as caught:
        open_bytes(data, "thing")
    assert caught.value.exit_status is ExitStatus.BOOK
    assert len(str(caught.value).splitlines()) <= 2
    assert "EPUB" in str(caught.value)


@pytest.mark.parametrize(
    ("data", "name", "source_format"),
    [
        (
            b"<!DOCTYPE html>\n<html><body><p>Rain</p></body></html>",
            "story.txt",
            "html",
        ),
        (b"\xef\xbb\xbf  <html><p>Rain</p>", "story", "html"),
        (
            b'<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"><p>Rain</p></html>',
            "story.xml",
            "html",
        ),
        (
            b"<!-- saved from url=(0014)about:internet -->\n<html><p>Rain</p>",
            "story.txt",
            "html",
        ),
        (b"<h1>Rain</h1><p>It rained.", "story", "html"),
        (b"Rain <b>and</b> rain.<br>It rained.", "story.htm", "html"),
        ("<html><p>Rain</p></html>".encode("utf-16"), "story", "html"),
        (b"Rain, no tags at all, 1 < 2.", "story.html", "text"),
        (b"# Rain\n\nIt *rained*.", "story.md", "markdown"),
        (b"# Rain\n\nIt *rained*.", "story.txt", "text"),
        (b"# Rain\n\nSee [there](#sun).\n\n# Sun\n\nIt shone.", "notes", "markdown"),
        (
            b"---\ntitle: Rain\nlang: en\n---\n\nRain fell.",
            "standard input",
            "markdown",
        ),
        (b"<html><p>Rain</p></html>", "story.md", "html"),
        (
            b"From: <Saved by Blink>\nMIME-Version: 1.0\nContent-Type: "
            b'multipart/related;\n\tboundary="b"\n\n'
            b"--b\nContent-Type: text/html\n\n<p>Rain</p>\n--b--\n",
            "page.mhtml",
            "html",
        ),
        (
            b'<?xml version="1.0"?>\n<FictionBook xmlns="x"><body><p>Rain</p></body></FictionBook>',
            "story.xml",
            "fb2",
        ),
        (
            (
                '<?xml version="1.0" '
                'encoding="UTF-16"?><FictionBook><body><p>Rain</p></body></FictionBook>'
            ).encode("utf-16"),
            "story",
            "fb2",
        ),
        (
            zip_of(
                {
                    "a/story.fb2": "<FictionBook><body><p>Rain</p></body></FictionBook>",
                    "__MACOSX/._s.fb2": "x",
                }
            ),
            "story.zip",
            "fb2",
        ),
    ],
)
def test_the_format_is_detected_by_content_then_by_name(
    data: bytes, name: str, source_format: str
) -> None:
    book = open_bytes(data, name)
    assert book.source_format == source_format
    assert "Rain" in book.text
    is_plain = source_format == "text"
    assert book.text.count("<") == (data.count(b"<") if is_plain else 0)


def test_a_zip_with_two_books_is_refused() -> None:
    with pytest.raises(BookError, match="a zip archive of 2 FictionBooks"):
        open_bytes(
            zip_of({"a.fb2": "<FictionBook/>", "b.fb2": "<FictionBook/>"}), "books.zip"
        )


@pytest.mark.parametrize(
    ("folder", "name"), [("xl/workbook.xml", "XLSX"), ("ppt/presentation.xml", "PPTX")]
)
def test_other_office_documents_are_named(folder: str, name: str) -> None:
    with pytest.raises(BookError, match=name):
        open_bytes(zip_of({"[Content_Types].xml": "", folder: ""}), "thing")


def test_the_content_counts_and_not_the_name(tmp_path: Path) -> None:
    path = tmp_path / "story.pdf"
    path.write_text("Once upon a time.")
    assert open_book(path).text == "Once upon a time."


def test_text_about_formats_is_text() -> None:
    assert (
        open_bytes(
            b"MZ is how Windows programs begin, and %PDF- is how PDFs do.", "x"
        ).words
        == 12
    )


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(BookError, match="No such file"):
        open_book(tmp_path / "gone.txt")
    with pytest.raises(BookError, match="Download the book"):
        open_book("https://example.org/book.epub")


def test_a_directory(tmp_path: Path) -> None:
    with pytest.raises(BookError, match="is a directory"):
        open_book(tmp_path)


def test_an_empty_file(tmp_path: Path) -> None:
    path = tmp_path / "empty.txt"
    path.touch()
    with pytest.raises(BookError, match="is empty"):
        open_book(path)


@pytest.mark.parametrize(
    "data", [b" \n\t\r\n", "\ufeff\u200b\u00a0\n".encode(), b"\0\0"]
)
def test_nothing_but_white_space(data: bytes) -> None:
    with pytest.raises(BookError, match="contains only white space"):
        open_bytes(data, "blank.txt")


def test_an_impossible_path_is_refused() -> None:
    with pytest.raises(BookError):
        open_book(Path("a\0b"))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_is_refused_and_does_not_hang(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    with pytest.raises(BookError, match="pipe or a device"):
        open_book(path)


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="needs /dev/zero")
def test_a_device_is_refused() -> None:
    with pytest.raises(BookError, match="pipe or a device"):
        open_book(Path("/dev/zero"))


@pytest.mark.skipif(
    sys.platform != "linux", reason="gives up the superuser's rights the Linux way"
)
def test_a_file_without_permission(tmp_path: Path) -> None:
    path = tmp_path / "secret.txt"
    path.write_text("Once upon a time.")
    path.chmod(0)
    program = (
        "import pathlib\nfrom gistread.book.open import open_book\nfrom gistread.errors import "
        "BookError\n"
        f"try:\n    open_book(pathlib.Path({str(path)!r}))\nexcept BookError as error:\n    "
        "print(error)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        preexec_fn=obey_permissions,
        check=True,
    )
    assert "permission denied" in done.stdout


def test_a_file_that_is_too_large_is_refused_before_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "large.txt"
    with path.open("wb") as file:
        file.write(b"Once upon a time. ")
        file.truncate(200 * 1024 * 1024)
    with pytest.raises(BookError, match="larger than the limit of 64 MB"):
        open_book(path)


def test_a_stream_that_does_not_end_is_cut_off() -> None:
    class Endless(io.RawIOBase):
        def read(self, size: int = -1) -> bytes:
            assert size > 0
            return b"a" * size

    with pytest.raises(BookError, match="larger than the limit of 1 MB"):
        read_limited(Endless(), "standard input", limit_bytes=1024 * 1024)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "text",
    [
        "word " * 600_000,
        "x" * 3_000_000,
        "- " * 1_500_000,
        "_a " * 1_000_000,
        "a" + " " * 3_000_000 + "b",
    ],
    ids=["no full stop", "no space", "dashes", "underscores", "spaces"],
)
def test_one_paragraph_of_three_megabytes_is_read(text: str) -> None:
    book = open_bytes(text.encode(), "long.txt")
    assert book.text == " ".join(text.split())
    assert len(book.paragraphs) == 1


def test_opening_text_imports_neither_lxml_nor_chardet(tmp_path: Path) -> None:
    path = tmp_path / "story.txt"
    path.write_text("Once upon a time.")
    program = (
        "import sys, pathlib\nfrom gistread.book.open import open_book\n"
        f"open_book(pathlib.Path({str(path)!r}))\n"
        "print([name for name in ('lxml', 'chardet', 'numpy', 'orjson') if name in "
        "sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
