"""Malicious files of every format are read harmlessly or refused; nothing is fetched or written."""

import io
import os
import socket
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from gistread.book.model import Book
from gistread.book.open import open_book, open_bytes
from gistread.errors import BookError
from tests.book.make_epub import epub, page
from tests.book.make_pdf import Entry, Put, Sheet, column, pdf
from tests.book.promises import assert_keeps_promises

ESCAPES = "\x1b]0;owned\x07\x1b[2J\x9b31m\x00\x08"
OVERRIDES = "\u202eeman\u202c\u2066x\u2069\u200b\ufeff\u00ad"
PROSE = "The lamp had burned all night in the tower above the sea, and nobody came to trim it."


def fb2(body: str, head: str = "") -> bytes:
    return (
        f'<?xml version="1.0" encoding="utf-8"?>{head}<FictionBook '
        'xmlns="http://www.gribuser.ru/xml/fictionbook/2.0">'
        "<description><title-info><book-title>T</book-title></title-info></description>"
        f"<body><section>{body}</section></body></FictionBook>"
    ).encode()


def html(body: str, head: str = "") -> bytes:
    start = head or "<!DOCTYPE html>"
    page = f"{start}<html><head><title>T</title></head><body>{body}</body></html>"
    return page.encode()


MAKERS: dict[str, Callable[[str], bytes]] = {
    "book.txt": lambda text: f"{text}\n\n{PROSE}\n".encode(),
    "book.md": lambda text: f"# One\n\n{text}\n\n{PROSE}\n".encode(),
    "book.html": lambda text: html(f"<h1>One</h1><p>{text}</p><p>{PROSE}</p>"),
    "book.fb2": lambda text: fb2(f"<p>{text}</p><p>{PROSE}</p>"),
    "book.epub": lambda text: epub(
        {"a.xhtml": page(f"<h1>One</h1><p>{text}</p><p>{PROSE}</p>")}
    ),
}


@pytest.fixture
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a book asked for the network")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


def opened(data: bytes, name: str) -> Book | None:
    """The book, or None if it was refused in one or two printable lines."""
    try:
        book = open_bytes(data, name)
    except BookError as error:
        lines = str(error).splitlines()
    else:
        assert_keeps_promises(book)
        return book
    assert len(lines) <= 2
    assert all(line.isprintable() for line in lines)
    return None


@pytest.mark.parametrize("name", MAKERS)
def test_terminal_escapes_and_overrides_of_direction_do_not_reach_a_book(
    name: str,
) -> None:
    book = opened(MAKERS[name](f"Before {ESCAPES} between {OVERRIDES} after."), name)
    assert book is not None
    assert PROSE in book.text
    assert not {"\x1b", "\x07", "\x9b", "\x00", "\x08", "\u202e", "\u2066"} & set(
        book.text + book.title
    )
    assert "after." in book.text


@pytest.mark.process
def test_escapes_in_a_pdf_its_outline_and_metadata_do_not_reach_a_book() -> None:
    puts = [Put(50, 500, "Before \x1b[2J after."), *column(PROSE, top=460)]
    data = pdf(
        [Sheet(puts), Sheet(column(PROSE))],
        outline=[Entry("One \x1b[2J", 0, 560), Entry("Two", 1, 560)],
        metadata={"Title": "T \x1b[2J"},
    )
    book = opened(data, "book.pdf")
    assert book is not None
    assert "\x1b" not in book.text + book.title + "".join(
        chapter.title for chapter in book.chapters
    )


@pytest.mark.parametrize("name", MAKERS)
def test_a_megabyte_without_a_space_is_read_in_time(name: str) -> None:
    began = time.process_time()
    book = opened(MAKERS[name]("x" * 1_000_000), name)
    assert book is not None
    assert "x" * 1_000_000 in book.text
    assert time.process_time() - began < 5


@pytest.mark.parametrize("name", MAKERS)
def test_nul_bytes_in_the_middle_lose_no_word(name: str) -> None:
    book = opened(MAKERS[name]("dark\x00ness and light"), name)
    assert book is not None
    words = "dark\ufffdness" if name == "book.epub" else "darkness"  # XML has no NUL
    assert f"{words} and light\n\n{PROSE}" in book.text


LAUGHS = (
    '<!DOCTYPE lolz [<!ENTITY a "ha">'
    + "".join(
        f'<!ENTITY {b} "{f"&{a};" * 10}">'
        for a, b in zip("abcdefghi", "bcdefghij", strict=True)
    )
    + "]>"
)


@pytest.mark.parametrize(
    ("data", "name"),
    [
        (fb2(f"<p>{PROSE} &j;</p>", LAUGHS), "book.fb2"),
        (
            epub(
                {
                    "a.xhtml": page(f"<p>{PROSE} &j;</p>").replace(
                        "<html", LAUGHS + "<html"
                    )
                }
            ),
            "book.epub",
        ),
        (html(f"<p>{PROSE} &j;</p>", LAUGHS), "book.html"),
    ],
)
def test_a_billion_laughs_does_not_expand(data: bytes, name: str) -> None:
    began = time.process_time()
    book = opened(data, name)
    assert book is not None
    assert book.text.endswith(f"{PROSE} &j;"), "the rest is read"
    assert len(book.text) < 1000
    assert time.process_time() - began < 5


@pytest.mark.usefixtures("no_network")
@pytest.mark.parametrize("address", ["file:///etc/passwd", "http://192.0.2.1/evil.dtd"])
def test_external_entities_are_neither_read_nor_fetched(
    address: str, tmp_path: Path
) -> None:
    secret = tmp_path / "secret"
    secret.write_text("the secret of the tower")
    entity = (
        f'<!DOCTYPE x SYSTEM "{address}" [<!ENTITY e SYSTEM "{secret.as_uri()}"><!ENTITY % p '
        f'SYSTEM "{address}"> %p;]>'
    )
    for data, name in (
        (fb2(f"<p>{PROSE} &e;</p>", entity), "book.fb2"),
        (
            epub(
                {
                    "a.xhtml": page(f"<p>{PROSE} &e;</p>").replace(
                        "<html", entity + "<html"
                    )
                }
            ),
            "book.epub",
        ),
        (html(f"<p>{PROSE} &e;</p>", entity), "book.html"),
    ):
        book = opened(data, name)
        assert book is not None, name
        assert book.text.removeprefix("%p;]>").strip() == f"{PROSE} &e;", name


@pytest.mark.parametrize(
    ("data", "name"),
    [
        (html("<div>" * 20_000 + PROSE), "book.html"),
        (html("<b>" * 20_000 + PROSE + "<p>" + PROSE), "book.html"),
        (html("<ul><li>" * 5_000 + PROSE), "book.html"),
        (html("<table><tr><td>" * 3_000 + PROSE), "book.html"),
        (
            fb2("<section>" * 5_000 + f"<p>{PROSE}</p>" + "</section>" * 5_000),
            "book.fb2",
        ),
        (
            epub({"a.xhtml": page("<div>" * 5_000 + PROSE + "</div>" * 5_000)}),
            "book.epub",
        ),
        ((">" * 5_000 + " " + PROSE).encode(), "book.md"),
        (("[" * 20_000 + PROSE + "]" * 20_000).encode(), "book.md"),
        (("*a **a " * 20_000 + PROSE).encode(), "book.md"),
        (
            (
                "\n".join(" " * n + "- x" for n in range(2_000)) + "\n\n" + PROSE
            ).encode(),
            "book.md",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else str(len(value)),
)
def test_deeply_nested_text_is_read_in_time(data: bytes, name: str) -> None:
    began = time.process_time()
    book = opened(data, name)
    assert time.process_time() - began < 8
    assert book is not None
    assert PROSE in book.text


@pytest.mark.process
def test_a_deeply_nested_pdf_without_pages_is_refused_in_time() -> None:
    nested = b"[" * 100_000 + b"]" * 100_000
    data = b"%PDF-1.7\n1 0 obj\n" + nested + b"\nendobj\ntrailer << /Root 1 0 R >>"
    began = time.process_time()
    with pytest.raises(BookError, match="damaged or not a PDF"):
        open_bytes(data, "book.pdf")
    assert time.process_time() - began < 8


@pytest.mark.process
def test_letters_far_off_a_pdf_page_are_left_out() -> None:
    puts = [
        Put(x, 300, "far", size) for x in (1e30, -1e38, 1e12) for size in (10, 1e20, 0)
    ]
    book = opened(pdf([Sheet([*column(PROSE), *puts])]), "book.pdf")
    assert book is not None
    assert PROSE in book.text


def test_an_unknown_encoding_and_a_megabyte_without_a_line_end() -> None:
    began = time.process_time()
    book = opened("élève ".encode("cp1252") * 3 + b"x" * 1_000_000, "book.txt")
    assert book is not None
    assert "élève" in book.text
    assert time.process_time() - began < 4


def test_unclosed_elements_with_controls_in_them() -> None:
    book = opened(
        html("<i>" * 100 + f"{PROSE}\x01\x02 and more." + "<i>" * 100 + "end"),
        "book.html",
    )
    assert book is not None
    assert "and more." in book.text


def test_a_zip_that_unpacks_to_terabytes_is_refused() -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr("mimetype", "application/epub+zip")
        for number in range(4):
            with archive.open(f"{number}.xhtml", "w") as entry:
                for _ in range(80):
                    entry.write(b"<p/>" * 262_144)
    assert opened(packed.getvalue(), "bomb.epub") is None


def test_archive_entries_outside_the_folder_write_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    files = {
        "a.xhtml": page(f"<p>{PROSE}</p>"),
        "/../../outside.xhtml": page("<p>out</p>"),
        "//tmp/outside": "out",
    }
    opened(epub(files), "book.epub")
    assert list(tmp_path.iterdir()) == []
    assert not (tmp_path.parent / "outside.xhtml").exists()


def test_entries_without_a_name_and_names_with_controls() -> None:
    files = {
        "a.xhtml": page(f"<p>{PROSE}</p>"),
        "/nameless": "",
        "c\x1b[2J\u202e.xhtml": page("<p>odd</p>"),
    }
    book = opened(epub(files).replace(b"nameless", b"\0ameless"), "book.epub")
    assert book is not None
    assert "\x1b" not in "".join(book.notices)


def test_a_book_of_controls_and_spaces_is_refused() -> None:
    for data, name in (
        (epub({"a.xhtml": page("<p>\u200b\u00ad \u2066</p>")}), "b.epub"),
        (html("<p>\u200b</p>"), "b.html"),
    ):
        assert opened(data, name) is None


def test_a_link_to_a_book_is_the_book_and_a_circle_of_links_is_refused(
    tmp_path: Path,
) -> None:
    (tmp_path / "real.txt").write_text(PROSE)
    (tmp_path / "link.txt").symlink_to("real.txt")
    assert open_book(tmp_path / "link.txt").text == PROSE
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    (tmp_path / "gone").symlink_to("nowhere")
    for name in ("a", "gone"):
        with pytest.raises(BookError) as caught:
            open_book(tmp_path / name)
        assert len(str(caught.value).splitlines()) <= 2


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_link_to_a_pipe_does_not_hang(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.pdf")
    (tmp_path / "link.pdf").symlink_to("pipe.pdf")
    with pytest.raises(BookError, match="pipe or a device"):
        open_book(tmp_path / "link.pdf")


@pytest.mark.timeout(20)
@pytest.mark.parametrize("quoted", ["1", "a > b < c"])
def test_a_tag_of_thousands_of_attributes_is_read_in_time(quoted: str) -> None:
    tag = "<p " + " ".join(f'A{number}="{quoted}"' for number in range(30_000)) + ">"
    for data, name in (
        (html(f"{tag}{PROSE}</p>"), "book.html"),
        (epub({"a.xhtml": page(f"{tag}{PROSE}</p>")}), "book.epub"),
        (fb2(f"{tag}{PROSE}</p>".replace(" < ", " &lt; ")), "book.fb2"),
    ):
        book = opened(data, name)
        assert book is not None
        assert book.text == PROSE


def package(items: str, references: str) -> str:
    return (
        '<package xmlns="http://www.idpf.org/2007/opf" version="3.0"><metadata/>'
        f"<manifest>{items}</manifest><spine>{references}</spine></package>"
    )


@pytest.mark.timeout(20)
def test_a_chain_of_thousands_of_fallbacks_ends() -> None:
    items = "".join(
        f'<item id="i{n}" href="{n}.x" media-type="x/x" fallback="i{n + 1}"/>'
        for n in range(3_000)
    )
    items += '<item id="a" href="a.xhtml" media-type="application/xhtml+xml"/>'
    references = (
        "".join(f'<itemref idref="i{n}"/>' for n in range(3_000))
        + '<itemref idref="a"/>'
    )
    book = opened(
        epub({"a.xhtml": page(f"<p>{PROSE}</p>")}, package(items, references)),
        "book.epub",
    )
    assert book is not None
    assert book.text == PROSE


def test_pages_outside_the_reading_order_count_towards_the_limit_of_tags(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("gistread.book.formats.elements.markup._MOST_TAGS", 2_000)
    others = {f"{n}.xhtml": page("<p>a</p>" * 400) for n in range(60)}
    items = "".join(
        f'<item id="i{n}" href="{n}.xhtml" media-type="application/xhtml+xml"/>'
        for n in range(60)
    )
    items += '<item id="a" href="a.xhtml" media-type="application/xhtml+xml"/>'
    data = epub(
        {"a.xhtml": page(f"<p>{PROSE}</p>"), **others},
        package(items, '<itemref idref="a"/>'),
    )
    book = opened(data, "book.epub")
    assert book is not None
    assert book.text == PROSE
    assert book.notices == (
        "2 text files outside the reading order were left out: OEBPS/0.xhtml and others"
        " (800 words).",
    )


def test_ascii_with_controls_is_not_taken_for_utf_16() -> None:
    for text in (PROSE.replace(" ", "\0") * 9, f"\x07{PROSE[:20]}\x07" * 99):
        with pytest.raises(BookError, match="unknown binary data"):
            open_bytes(text.encode().ljust(len(text) + len(text) % 2), "book.txt")
