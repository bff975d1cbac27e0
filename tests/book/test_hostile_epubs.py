"""EPUBs cannot exhaust memory or time, fetch, write, or read outside themselves."""

import io
import socket
import time
import zipfile
from pathlib import Path

import pytest

from gistread.book.formats.elements import markup
from gistread.book.model import Book
from gistread.book.open import open_book, open_bytes
from gistread.errors import BookError
from tests.book.make_epub import epub, package, page, read_pages
from tests.book.promises import assert_keeps_promises

_SECONDS = 2.5


def read_within_seconds(*bodies: str) -> Book:
    start = time.process_time()
    book = read_pages(*bodies)
    assert time.process_time() - start < _SECONDS
    assert_keeps_promises(book)
    return book


@pytest.fixture
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        pytest.fail("something is fetched")

    for name in ("connect", "connect_ex", "sendto"):
        monkeypatch.setattr(socket.socket, name, refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


class TestArchives:
    @pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
    def test_a_bomb_packed_by_a_method_without_limits_is_not_unpacked(
        self, method: int
    ) -> None:
        buffer = io.BytesIO(
            epub(
                {"a.xhtml": page("<p>It rained.</p>")}, package(["a.xhtml", "b.xhtml"])
            )
        )
        with zipfile.ZipFile(buffer, "a", method) as archive:
            archive.writestr("OEBPS/b.xhtml", page("<p>boom</p>") + " " * 10_000_000)
        book = open_bytes(buffer.getvalue(), "x")
        assert book.text == "It rained."
        assert book.notices == (
            "OEBPS/b.xhtml uses a compression method that books do not use; it was left out.",
        )

    def test_names_that_leave_the_archive_reach_nothing_outside(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        secret = tmp_path / "secret.xhtml"
        secret.write_text(page("<p>secret</p>"), encoding="utf-8")
        folder = tmp_path / "books"
        folder.mkdir()
        monkeypatch.chdir(folder)
        body = (
            '<p>It rained.</p><p><img src="../../../secret.xhtml"/> <a '
            f'href="{secret.as_uri()}">a</a></p>'
        )
        files: dict[str, str | bytes] = {
            "a.xhtml": page(body),
            "/../../evil.xhtml": page("<p>evil</p>"),
        }
        opf = package(
            ["a.xhtml", "../../secret.xhtml", "../../../evil.xhtml", str(secret)]
        )
        (folder / "book.epub").write_bytes(epub(files, opf))
        book = open_book(folder / "book.epub")
        assert "secret\n" not in book.text
        assert sorted(each.name for each in tmp_path.rglob("*")) == [
            "book.epub",
            "books",
            "secret.xhtml",
        ]

    @pytest.mark.parametrize(
        "declared", [b"", b"text/plain", b"application/epub+zip\n", b"\xff\xfe"]
    )
    def test_a_wrong_mimetype_is_accepted(self, declared: bytes) -> None:
        source, target = (
            io.BytesIO(epub({"a.xhtml": page("<p>It rained.</p>")})),
            io.BytesIO(),
        )
        with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w") as new:
            for name in old.namelist():
                new.writestr(name, declared if name == "mimetype" else old.read(name))
        assert open_bytes(target.getvalue(), "x").text == "It rained."

    @pytest.mark.parametrize(
        "container",
        ["", "<container/>", "<!DOCTYPE", '<rootfile full-path="../x.opf"/>'],
    )
    def test_a_container_without_a_package_is_ignored(self, container: str) -> None:
        source, target = (
            io.BytesIO(epub({"a.xhtml": page("<p>It rained.</p>")})),
            io.BytesIO(),
        )
        with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w") as new:
            for name in old.namelist():
                new.writestr(
                    name,
                    container if name.endswith("container.xml") else old.read(name),
                )
        assert open_bytes(target.getvalue(), "x").text == "It rained."

    def test_escapes_in_names_are_removed_from_notices_and_errors(self) -> None:
        odd = "a%1B%5B2J%E2%80%AE%0Ab%C2%AD.xhtml"
        book = open_bytes(
            epub({"a.xhtml": page("<p>a</p>")}, package(["a.xhtml", odd])), "x"
        )
        assert book.notices == ("OEBPS/a[2J b.xhtml is missing; it was left out.",)
        with pytest.raises(BookError) as caught:
            open_bytes(epub({}, package([odd])), "x")
        assert not set("\x1b\u202e\xad") & set(str(caught.value))
        assert len(str(caught.value).splitlines()) <= 2

    def test_escapes_in_identifiers_are_removed(self) -> None:
        metadata = "<dc:identifier>a&#x202e;&#x9b;b</dc:identifier>"
        book = open_bytes(
            epub(
                {"a.xhtml": page("<p>a</p>")}, package(["a.xhtml"], metadata=metadata)
            ),
            "x",
        )
        assert book.identifiers == ("ab",)


class TestXml:
    LAUGHS = "".join(f'<!ENTITY l{n + 1} "{f"&l{n};" * 10}">' for n in range(9))

    @pytest.mark.parametrize(
        "where", ["content.opf", "a.xhtml", "nav.html", "META-INF/container.xml"]
    )
    def test_no_entity_expands_in_any_part(
        self, where: str, tmp_path: Path, no_network: None
    ) -> None:
        secret = tmp_path / "secret"
        secret.write_text("topsecret", encoding="utf-8")
        doctype = (
            f'<!DOCTYPE x [<!ENTITY l0 "lol">{self.LAUGHS}<!ENTITY f SYSTEM "{secret.as_uri()}">'
            '<!ENTITY h SYSTEM "http://127.0.0.1:9/x"><!ENTITY % p SYSTEM '
            '"http://127.0.0.1:9/y"> %p;]>'
        )
        item = (
            '<item id="nav" href="nav.html" '
            'media-type="application/xhtml+xml" properties="nav"/>'
        )
        files = {
            "a.xhtml": page("<p>It rained. HERE</p>"),
            "nav.html": page(
                '<nav><ol><li><a href="a.xhtml">HERE Rain</a></li></ol></nav>'
            ),
        }
        source, target = (
            io.BytesIO(epub(files, package(["a.xhtml"], manifest=item))),
            io.BytesIO(),
        )
        with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w") as new:
            for name in old.namelist():
                text = old.read(name).decode()
                if name.endswith(where):
                    head, _, rest = text.partition("?>")
                    text = f"{head}?>{doctype}{rest}" if rest else doctype + text
                    text = text.replace("HERE", "&l9; &f; &h;").replace(
                        "A Book", "A Book &l9; &f;"
                    )
                new.writestr(name, text)
        start = time.process_time()
        book = open_bytes(target.getvalue(), "x")
        assert "It rained." in book.text
        shown = (
            f"{book.text} {book.title} {[chapter.title for chapter in book.chapters]}"
        )
        assert "lollol" not in shown
        assert "topsecret" not in shown
        assert time.process_time() - start < _SECONDS

    def test_nothing_is_fetched_for_pictures_links_style_sheets_or_frames(
        self, no_network: None
    ) -> None:
        book = read_pages(
            '<p>It rained.</p><p><img src="http://127.0.0.1:9/a.png"/></p><iframe '
            'src="http://127.0.0.1:9/"/>'
            '<p><a href="http://127.0.0.1:9/b">b</a></p><link rel="stylesheet" '
            'href="http://127.0.0.1:9/c.css"/>'
        )
        assert book.text == "It rained.\n\n[a.png]\n\nb"

    def test_sloppy_pages_are_read(self) -> None:
        assert read_pages(
            "<p>caf&eacute;&nbsp;&copy; & so<br>on <IMG SRC=a.png ALT='a cup'></P>"
        ).text == ("café © & so\non [a cup]")


class TestPackages:
    def test_contents_are_read_to_a_limited_depth(self) -> None:
        nested = '<li><a href="a.xhtml#p">Rain</a><ol>' * 100 + "</ol></li>" * 100
        item = (
            '<item id="nav" href="nav.html" media-type="application/xhtml+xml" '
            'properties="nav"/>'
        )
        files = {
            "nav.html": page(f"<nav><ol>{nested}</ol></nav>"),
            "a.xhtml": page('<p id="p">It rained.</p>'),
        }
        book = open_bytes(epub(files, package(["a.xhtml"], manifest=item)), "x")
        assert [chapter.title for chapter in book.chapters] == ["Rain"]

    def test_fallbacks_in_a_circle_end(self) -> None:
        manifest = (
            '<item id="a" href="a.psd" media-type="image/psd" fallback="b"/>'
            '<item id="b" href="b.psd" media-type="image/psd" fallback="a"/>'
        )
        opf = package(["a.xhtml"], manifest=manifest, spine='<itemref idref="a"/>')
        book = open_bytes(epub({"a.xhtml": page("<p>It rained.</p>")}, opf), "x")
        assert book.notices == ("OEBPS/a.psd is image/psd, not text; it was left out.",)

    def test_missing_spine_items_are_reported_once(self) -> None:
        nothing = '<item id="nothing" media-type="application/xhtml+xml"/>'
        spine = '<itemref idref="nobody"/><itemref idref="nothing"/>'
        opf = package(["a.xhtml", "gone.xhtml"], manifest=nothing, spine=spine)
        book = open_bytes(epub({"a.xhtml": page("<p>It rained.</p>")}, opf), "x")
        assert book.text == "It rained."
        assert book.notices == (
            "The reading order names 'nobody', which is not in the book.",
            "The reading order names 'nothing', which is not in the book.",
            "OEBPS/gone.xhtml is missing; it was left out.",
        )

    def test_a_package_of_only_tags_is_refused(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(markup, "_MOST_TAGS", 1000)
        with pytest.raises(BookError, match="package file"):
            open_bytes(
                epub(
                    {"a.xhtml": page("<p>a</p>")},
                    package(["a.xhtml"], spine="<itemref/>" * 2000),
                ),
                "x",
            )

    def test_a_page_listed_twice_in_the_spine_is_read_once(self) -> None:
        opf = package(["a.xhtml", "b.xhtml"], spine='<itemref idref="i0"/>' * 20_000)
        files = {
            "a.xhtml": page("<p>It rained.</p>"),
            "b.xhtml": page('<p><a href="a.xhtml">Again</a>.</p>'),
        }
        book = open_bytes(epub(files, opf), "x")
        assert book.text == "It rained.\n\nAgain."
        assert book.links[0].target == 0


class TestPages:
    """Small files that take long if any step is worse than linear."""

    @pytest.mark.parametrize(
        "body",
        [
            pytest.param(
                "<p>a" + "<i></i>" * 30_000 + "b</p>", id="empty elements in a row"
            ),
            pytest.param(
                "<p>a" + "<i> </i>" * 20_000 + "b</p>", id="spaces in elements"
            ),
            pytest.param(
                f"<pre>a{' ' * 1_000_000}<b>b</b></pre>", id="a million spaces"
            ),
            pytest.param(
                "<i>" * 100 + "<p>a</p>" * 3_000 + "</i>" * 100,
                id="elements around many paragraphs",
            ),
            pytest.param(
                '<img src="a.png" alt=""/>' * 4_000 + "<p>a</p>", id="pictures"
            ),
            pytest.param(
                '<p id="r">a'
                + '<a href="#n">1</a>' * 6_000
                + '</p><p id="n">1 b <a href="#r">1</a></p>',
                id="references",
            ),
            pytest.param(
                '<section epub:type="footnote" id="n">' * 50
                + "<p>a</p>" * 3_000
                + "</section>" * 50,
                id="notes in notes",
            ),
            pytest.param(
                "<table><tr><td>" * 60 + "a" + "</td></tr></table>" * 60,
                id="tables in tables",
            ),
            pytest.param(
                '<div class="figure">' * 30 + "<p>a</p>" * 2_000 + "</div>" * 30,
                id="figures in figures",
            ),
            pytest.param(
                '<div class="verse">' * 100 + "<p>a</p>" * 3_000 + "</div>" * 100,
                id="poems in poems",
            ),
            pytest.param(
                "<ul><li>" * 100 + "a" + "</li></ul>" * 100, id="lists in lists"
            ),
        ],
    )
    def test_large_books_are_read_in_seconds(self, body: str) -> None:
        assert "a" in read_within_seconds(body).text

    def test_extreme_nesting_loses_no_word(self) -> None:
        body = "<div>" * 200 + "<p>deep <i>down</i></p>" + "</div>" * 200

        def from_below(frames: int) -> str:
            return read_pages(body).text if not frames else from_below(frames - 1)

        assert from_below(0) == from_below(100) == "deep down"

    @pytest.mark.parametrize(
        "tags", ["<font>", "<b><i>", "<div>", "<ul><li>", "<table><tr><td>", "<h1>"]
    )
    def test_elements_that_are_never_closed_lose_no_word(self, tags: str) -> None:
        words = [f"word{number}" for number in range(1500)]
        body = (
            "".join(f"{tags} {word} " for word in words)
            + "<h2>Part</h2><p>The <b>end</b>.</p>"
        )
        book = read_pages(body)
        assert book.text.replace("•", " ").replace("|", " ").split() == [
            *words,
            "Part",
            "The",
            "end.",
        ]

    def test_a_book_of_only_markup_keeps_its_words(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("gistread.book.inline.MAX_MARKS_PER_BOOK", 10)
        book = read_pages(*(f"<p>{'<i>a</i> ' * 8}</p>" for _ in range(4)))
        assert book.text.count("a") == 32
        assert len(book.spans) <= 10
