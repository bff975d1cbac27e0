"""Picture bytes come from the archive or the book's folder, and from nowhere else."""

import base64
import os
import sys
import zipfile
from pathlib import Path

import pytest

from gistread.book import images
from gistread.book.images import read_image
from gistread.book.open import open_book
from gistread.errors import BookError

PIXELS = b"\x89PNG and so on"


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    path = tmp_path / "book.epub"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("EPUB/images/map of Skerry.png", PIXELS)
    return path


@pytest.fixture
def page(tmp_path: Path) -> Path:
    folder = tmp_path / "page"
    (folder / "files").mkdir(parents=True)
    (folder / "files" / "a b.png").write_bytes(PIXELS)
    (tmp_path / "secret.png").write_bytes(b"secret")
    path = folder / "book.html"
    path.write_text("<p>A book.</p>")
    return path


@pytest.mark.parametrize(
    "source", ["EPUB/images/map of Skerry.png", "EPUB/images/map%20of%20Skerry.png"]
)
def test_a_picture_inside_an_archive(archive: Path, source: str) -> None:
    assert read_image(archive, source) == PIXELS


def test_a_missing_picture_is_reported(archive: Path) -> None:
    with pytest.raises(BookError, match=r"The picture EPUB/none\.png is missing"):
        read_image(archive, "EPUB/none.png")


@pytest.mark.parametrize(
    "source", ["files/a b.png", "files/a%20b.png", "./files/a%20b.png?x=1#y"]
)
def test_a_picture_beside_a_page(page: Path, source: str) -> None:
    assert read_image(page, source) == PIXELS


@pytest.mark.parametrize(
    "source",
    [
        "../secret.png",
        "%2e%2e/secret.png",
        "/etc/hostname",
        "files/../../secret.png",
        "a\0b",
        "\\..\\secret.png",
    ],
)
def test_no_file_outside_the_folder_of_the_book_is_opened(
    page: Path, source: str
) -> None:
    with pytest.raises(BookError):
        read_image(page, source)


@pytest.mark.skipif(sys.platform == "win32", reason="links need a privilege there")
def test_a_link_does_not_lead_out_of_the_folder(page: Path) -> None:
    (page.parent / "link.png").symlink_to(page.parent.parent / "secret.png")
    with pytest.raises(BookError, match="outside the book's folder"):
        read_image(page, "link.png")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes in folders")
def test_a_pipe_in_the_folder_does_not_hang(page: Path) -> None:
    os.mkfifo(page.parent / "pipe.png")
    with pytest.raises(BookError, match="pipe"):
        read_image(page, "pipe.png")


@pytest.mark.parametrize(
    "source",
    [
        "http://example.org/a.png",
        "HTTPS://example.org/a.png",
        "//example.org/a.png",
        "file:///etc/x",
    ],
)
def test_nothing_is_fetched(page: Path, source: str) -> None:
    with pytest.raises(BookError, match="outside the book"):
        read_image(page, source)


def test_a_picture_inside_the_text_itself() -> None:
    data = base64.b64encode(PIXELS).decode()
    assert read_image(Path("none"), f"data:image/png;base64,{data}") == PIXELS
    assert read_image(Path("none"), "data:image/svg+xml,%3Csvg%3E") == b"<svg>"
    with pytest.raises(BookError, match="damaged"):
        read_image(Path("none"), "data:")


def test_a_picture_that_is_too_large_is_refused(
    page: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(images, "LIMIT_BYTES", 5)
    with pytest.raises(BookError, match="larger than"):
        read_image(page, "files/a b.png")


FICTIONBOOK = f"""<?xml version="1.0" encoding="utf-8"?>
<FictionBook xmlns="http://www.gribuser.ru/xml/fictionbook/2.0">
<body><section><p>A boat.</p></section></body>
<binary id="flag.png" content-type="image/png">{base64.b64encode(PIXELS).decode()}</binary>
</FictionBook>"""


@pytest.mark.parametrize("zipped", [False, True])
def test_a_picture_of_a_fictionbook_zipped_or_not(tmp_path: Path, zipped: bool) -> None:
    path = tmp_path / ("book.fb2.zip" if zipped else "book.fb2")
    if zipped:
        with zipfile.ZipFile(path, "w") as file:
            file.writestr("book.fb2", FICTIONBOOK)
    else:
        path.write_text(FICTIONBOOK, "utf-8")
    assert read_image(path, "flag.png") == PIXELS
    with pytest.raises(BookError, match="missing"):
        read_image(path, "none.png")


def test_pictures_of_a_converted_book_come_from_the_conversion(tmp_path: Path) -> None:
    path = tmp_path / "book.mobi"
    path.write_bytes(bytes(60) + b"BOOKMOBI" + bytes(100))
    (tmp_path / "images").mkdir()
    (tmp_path / "images" / "1.png").write_bytes(PIXELS)
    with pytest.raises(BookError, match="converted"):
        read_image(path, "images/1.png")


def test_an_embedded_picture_is_found_by_its_number(tmp_path: Path) -> None:
    path = tmp_path / "rain.html"
    address = "data:image/png;base64," + base64.b64encode(PIXELS).decode()
    shown = f'<img src="a.png" alt="a"><img src="{address}" alt="rain">'
    path.write_text(f'<nav><img src="data:,x"></nav><p>Rain {shown}</p>')
    source = open_book(path).images[-1].source
    assert read_image(path, source) == PIXELS
