"""EPUB: chapters, paragraphs, metadata; hostile and broken archives."""

import io
import time
import zipfile
from collections.abc import Sequence

import pytest

from gistread.book.formats import archive
from gistread.book.formats.elements import markup
from gistread.book.model import Book, ParagraphKind, Style
from gistread.book.open import open_bytes
from gistread.errors import BookError, ExitStatus
from tests.book.make_epub import epub, package, page, read_pages
from tests.book.promises import assert_keeps_promises

_NAV = (
    '<nav epub:type="toc"><h1>Contents</h1><ol><li><a href="a.xhtml">Part One</a><ol>'
    '<li><a href="a.xhtml#one">The Rain</a></li><li><a href="b.xhtml">The '
    "Bridge</a></li></ol></li></ol></nav>"
)
_NAV_ITEM = '<item id="nav" href="nav.html" media-type="application/xhtml+xml" properties="nav"/>'


def paragraphs(book: Book) -> list[tuple[ParagraphKind, str]]:
    return [(p.kind, book.text[p.start : p.end]) for p in book.paragraphs]


def kinds(book: Book) -> list[ParagraphKind]:
    return [p.kind for p in book.paragraphs]


class TestChapters:
    def test_chapters_come_from_the_navigation_document(self) -> None:
        files = {
            "nav.html": page(_NAV),
            "a.xhtml": page(
                '<h1>Part One</h1><h2 id="one">The Rain</h2><p>It rained.</p>'
            ),
            "b.xhtml": page("<p>There was a bridge.</p>"),
        }
        book = open_bytes(
            epub(files, package(["a.xhtml", "b.xhtml"], manifest=_NAV_ITEM)), "x"
        )
        assert [
            (c.title, c.level, book.text[c.start : c.end].strip())
            for c in book.chapters
        ] == [
            ("Part One", 1, "Part One"),
            ("The Rain", 2, "The Rain\n\nIt rained."),
            ("The Bridge", 2, "There was a bridge."),
        ]

    def test_chapters_come_from_the_ncx_of_epub_2(self) -> None:
        ncx = (
            '<ncx xmlns="http://www.daisy.org/z3986/2005/ncx/"><navMap>'
            "<navPoint><navLabel><text>The Rain</text></navLabel>"
            '<content src="a.xhtml"/><navPoint><navLabel><text>The '
            'Bridge</text></navLabel><content src="a.xhtml#b"/>'
            "</navPoint></navPoint></navMap></ncx>"
        )
        files = {
            "toc.ncx": ncx,
            "a.xhtml": page(
                '<p>It rained.</p><p>There was <i id="b">a bridge</i>.</p>'
            ),
        }
        item = '<item id="ncx" href="toc.ncx" media-type="application/x-dtbncx+xml"/>'
        book = open_bytes(
            epub(files, package(["a.xhtml"], manifest=item, toc=' toc="ncx"')), "x"
        )
        assert [(c.title, c.level) for c in book.chapters] == [
            ("The Rain", 1),
            ("The Bridge", 2),
        ]
        assert book.text[book.chapters[1].start :] == "There was a bridge."

    def test_chapters_come_from_headings_without_contents(self) -> None:
        book = read_pages(
            "<h1>I</h1><h2>The Rain</h2><p>It rained.</p>",
            "<p>And rained.</p>",
            "<h1>II</h1><p>Dry.</p>",
        )
        assert [c.title for c in book.chapters] == ["I. The Rain", "II"]

    def test_a_file_that_the_contents_leave_out_belongs_to_the_chapter_before(
        self,
    ) -> None:
        files = {
            "nav.html": page(
                '<nav epub:type="toc"><ol><li><a href="a.xhtml">The Rain</a></li></ol></nav>'
            ),
            "a.xhtml": page("<p>It rained.</p>"),
            "b.xhtml": page("<p>It went on.</p>"),
        }
        book = open_bytes(
            epub(files, package(["a.xhtml", "b.xhtml"], manifest=_NAV_ITEM)), "x"
        )
        assert [(c.title, book.text[c.start : c.end]) for c in book.chapters] == [
            ("The Rain", "It rained.\n\nIt went on.")
        ]

    def test_a_part_and_a_chapter_at_one_place_are_one_entry(self) -> None:
        nav = (
            '<nav epub:type="toc"><ol><li><a href="a.xhtml">One</a>'
            '<ol><li><a href="a.xhtml">Rain</a></li></ol></li></ol></nav>'
        )
        files = {"nav.html": page(nav), "a.xhtml": page("<p>It rained.</p>")}
        book = open_bytes(epub(files, package(["a.xhtml"], manifest=_NAV_ITEM)), "x")
        assert [(c.title, c.level) for c in book.chapters] == [("One: Rain", 1)]

    def test_pictures_that_share_a_text_are_read_once_and_the_contents_lead_there(
        self,
    ) -> None:
        pictures = "".join(
            f'<item id="p{n}" href="p{n}.png" media-type="image/png" fallback="i0"/>'
            for n in range(4)
        )
        spine = (
            "".join(f'<itemref idref="p{n}"/>' for n in range(4))
            + '<itemref idref="i1"/>'
        )
        opf = package(
            ["a.xhtml", "b.xhtml"],
            manifest=pictures + '<item id="n" href="n.html" properties="nav"/>',
        )
        opf = opf.replace('<itemref idref="i0"/><itemref idref="i1"/>', spine)
        nav = (
            '<nav><ol><li><a href="p2.png">Rain</a></li><li><a '
            'href="b.xhtml">Sun</a></li></ol></nav>'
        )
        files = {
            "a.xhtml": page("<p>It rained.</p>"),
            "b.xhtml": page("<p>It shone.</p>"),
            "n.html": page(nav),
        }
        book = open_bytes(epub(files, opf), "book.epub")
        assert book.text == "It rained.\n\nIt shone."
        assert [chapter.title for chapter in book.chapters] == ["Rain", "Sun"]

    def test_a_circle_of_fallbacks_is_followed_a_few_steps(self) -> None:
        pictures = "".join(
            f'<item id="p{n}" href="p{n}.png" media-type="image/png" fallback="p{(n + 1) % 999}"/>'
            for n in range(999)
        )
        opf = package(["a.xhtml"], manifest=pictures).replace(
            "</spine>", '<itemref idref="p0"/>' * 2000 + "</spine>"
        )
        began = time.process_time()
        book = open_bytes(
            epub({"a.xhtml": page("<p>It rained.</p>")}, opf), "book.epub"
        )
        assert book.text == "It rained."
        assert time.process_time() - began < 5


class TestMetadata:
    def test_title_authors_and_language(self) -> None:
        metadata = (
            '<dc:creator id="a">Ann Author</dc:creator><dc:creator id="t">Tom '
            "Translator</dc:creator>"
            '<meta refines="#a" property="role">aut</meta><meta refines="#t" '
            'property="role">trl</meta>'
            "<dc:language>en-GB</dc:language>"
        )
        book = open_bytes(
            epub(
                {"a.xhtml": page("<p>It rained.</p>")},
                package(["a.xhtml"], metadata=metadata),
            ),
            "x",
        )
        assert (book.title, book.authors, book.language) == (
            "A Book",
            ("Ann Author",),
            "en-GB",
        )
        assert book.source_format == "epub"

    @pytest.mark.parametrize(
        ("metadata", "manifest", "spine"),
        [
            (
                "",
                '<item id="c" href="c.jpg" media-type="image/jpeg" properties="cover-image"/>',
                "",
            ),
            (
                '<meta name="cover" content="c"/>',
                '<item id="c" href="c.jpg" media-type="image/jpeg"/>',
                "",
            ),
            (
                "",
                "",
                '</spine><guide><reference type="cover" href="cover.xhtml"/></guide><spine>',
            ),
        ],
    )
    def test_the_cover_is_found_in_every_version(
        self, metadata: str, manifest: str, spine: str
    ) -> None:
        opf = package(["a.xhtml"], metadata=metadata, manifest=manifest, spine=spine)
        files: dict[str, str | bytes] = {
            "a.xhtml": page("<p>a</p>"),
            "c.jpg": b"",
            "cover.xhtml": page('<div><img src="c.jpg" alt="Cover"/></div>'),
        }
        assert open_bytes(epub(files, opf), "x").cover == "OEBPS/c.jpg"

    def test_a_missing_cover_is_ignored(self) -> None:
        item = '<item id="c" href="c.jpg" media-type="image/jpeg" properties="cover-image"/>'
        assert (
            open_bytes(
                epub(
                    {"a.xhtml": page("<p>a</p>")}, package(["a.xhtml"], manifest=item)
                ),
                "x",
            ).cover
            == ""
        )

    def test_pictures_are_identified_by_their_path(self) -> None:
        book = open_bytes(
            epub(
                {
                    "text/a.xhtml": page(
                        '<p>a</p><p><img src="../i/b%20c.png" alt="b"/></p>'
                    )
                }
            ),
            "x",
        )
        assert [image.source for image in book.images] == ["OEBPS/i/b c.png"]

    def test_the_language_falls_back_to_that_of_the_pages(self) -> None:
        files = {"a.xhtml": page("<p>a</p>").replace("<html ", '<html xml:lang="cy" ')}
        assert open_bytes(epub(files), "x").language == "cy"

    def test_bilingual_pages_are_marked_and_a_wrong_package_language_is_ignored(
        self,
    ) -> None:
        files = {
            f"{name}.xhtml": page(f"<p>{name} <i>x</i></p>").replace(
                "<html ", f'<html xml:lang="{name}" '
            )
            for name in ("en", "de", "en-GB")
        }
        for language, foreign in (("en", ["de x"]), ("fr", [])):
            metadata = f"<dc:language>{language}</dc:language>"
            book = open_bytes(epub(files, package(list(files), metadata=metadata)), "x")
            assert [book.text[f.start : f.end] for f in book.language_spans] == foreign


class TestParagraphs:
    def test_kinds_follow_the_elements(self) -> None:
        book = read_pages(
            "<h2>Rain</h2><p>It rained.</p><hr/><blockquote><p>Said he.</p></blockquote>"
            "<ul><li>Bread</li><li><p>Cheese</p></li></ul><ol start='3'><li>Rope</li></ol>"
            "<table><tr><th>Day</th><th>Rain</th></tr><tr><td>1</td><td>2 mm</td></tr></table>"
            '<aside epub:type="footnote"><p>A note.</p></aside>'
        )
        assert paragraphs(book) == [
            (ParagraphKind.HEADING, "Rain"),
            (ParagraphKind.TEXT, "It rained."),
            (ParagraphKind.BREAK, "* * *"),
            (ParagraphKind.QUOTE, "Said he."),
            (ParagraphKind.LIST, "• Bread"),
            (ParagraphKind.LIST, "• Cheese"),
            (ParagraphKind.LIST, "3. Rope"),
            (ParagraphKind.TABLE, "Day | Rain\n1 | 2 mm"),
            (ParagraphKind.NOTE, "A note."),
        ]
        assert book.paragraphs[0].level == 2

    def test_inline_markup_neither_loses_nor_adds_spaces(self) -> None:
        book = read_pages(
            "<p>\n  An <b>un</b>believ<i>able</i>\n <em>day</em>, <span>said</span> <a "
            "href='#'>he</a>.\n</p>"
        )
        assert book.text == "An unbelievable day, said he."

    def test_line_breaks_are_kept(self) -> None:
        book = read_pages(
            "<p>Roses are red,<br/>violets are blue,<br />\n rain is wet.</p>"
        )
        assert paragraphs(book) == [
            (ParagraphKind.VERSE, "Roses are red,\nviolets are blue,\nrain is wet.")
        ]

    def test_lines_of_a_stanza_are_one_paragraph(self) -> None:
        book = read_pages(
            '<div class="stanza"><div>April is the</div><div>cruellest '
            "month</div></div><p>Prose.</p>"
        )
        assert paragraphs(book) == [
            (ParagraphKind.VERSE, "April is the\ncruellest month"),
            (ParagraphKind.TEXT, "Prose."),
        ]

    def test_named_entities_are_read(self) -> None:
        assert (
            read_pages(
                "<p>caf&eacute;&nbsp;&mdash; &amp; &lt;tea&gt; &unknown;</p>"
            ).text
            == "café — & <tea> &unknown;"
        )

    def test_note_marks_are_separated_from_words(self) -> None:
        body = (
            '<p>It rained<a epub:type="noteref" href="#n">1</a> and<sup><a href="#m">2</a></sup> '
            "rained.</p>"
        )
        assert read_pages(body).text == "It rained[1] and[2] rained."

    def test_types_without_their_namespace_are_types(self) -> None:
        body = (
            '<p>It rained<a type="noteref" href="#n">*</a> all <span type="pagebreak">171</span> '
            'day.</p><aside type="footnote" id="n"><p>In March.</p></aside>'
        )
        book = read_pages(body)
        assert book.text == "It rained[*] all day.\n\nIn March."
        assert book.notices == ("1 page number was left out.",)

    def test_picture_descriptions_are_in_brackets(self) -> None:
        book = read_pages(
            '<p>See <img src="a.png" alt="a grey  bridge"/>.<img src="b.png" alt=""/></p>'
        )
        assert paragraphs(book) == [(ParagraphKind.TEXT, "See [a grey bridge].")]

    def test_ruby_readings_follow_in_brackets(self) -> None:
        assert (
            read_pages(
                "<p><ruby>昨夕<rp>(</rp><rt>ゆうべ</rt><rp>)</rp></ruby>は</p>"
            ).text
            == "昨夕（ゆうべ）は"
        )

    def test_preformatted_text_keeps_its_spaces(self) -> None:
        assert read_pages("<pre>a   b\n  c</pre>").text == "a   b\n  c"

    def test_hidden_elements_and_controls_are_left_out_and_counted(self) -> None:
        book = read_pages(
            "<script>let a = 1;</script><style>p {}</style><p hidden=''>no</p><p style='display: "
            "none'>no</p>"
            "<select><option>One</option></select>"
            "<nav><ol><li><a href='#a'>no</a></li></ol></nav>"
            "<p>yes<span epub:type='pagebreak'>12</span></p>"
        )
        assert book.text == "yes"
        assert book.notices == (
            "6 words of scripts were left out.",
            "2 hidden words were left out.",
            "1 word of buttons and fields was left out.",
            "1 word of navigation was left out.",
            "1 page number was left out.",
        )

    def test_a_table_that_lays_out_prose_is_read_as_prose(self) -> None:
        prose = "It rained and rained. " * 20
        book = read_pages(
            f"<table><tr><td><p>{prose}</p><p>{prose}</p></td></tr></table>"
        )
        assert kinds(book) == [ParagraphKind.TEXT, ParagraphKind.TEXT]

    def test_escapes_in_a_book_are_harmless(self) -> None:
        assert read_pages("<p>a\u202eb \u009b31m</p>").text == "ab 31m"


class TestStyleSheets:
    def test_style_sheets_of_converters_are_applied(self) -> None:
        body = page('<p>It <span class="calibre5">rained</span>.</p>')
        link = '<link rel="stylesheet" type="text/css" href="../s%20heet.css"/>'
        files: dict[str, str | bytes] = {
            "text/a.xhtml": body.replace("<title>", f"{link}<title>"),
            "s heet.css": ".calibre5 { font-style: italic }",
        }
        book = open_bytes(epub(files), "x")
        assert [(book.text[s.start : s.end], s.style) for s in book.spans] == [
            ("rained", Style.EMPHASIS)
        ]

    def test_a_missing_or_huge_style_sheet_is_ignored(self) -> None:
        link = '<link rel="stylesheet" href="gone.css"/><link rel="stylesheet" href="big.css"/>'
        files: dict[str, str | bytes] = {
            "a.xhtml": page("<p>a</p>").replace("<title>", f"{link}<title>"),
            "big.css": b" " * 20_000_000,
        }
        book = open_bytes(epub(files), "x")
        assert (book.text, book.notices) == ("a", ())


class TestLines:
    def test_two_line_ends_divide_paragraphs_as_in_html(self) -> None:
        book = read_pages("<div>It rained.<br/> <br/>It poured.<br/>All day.</div>")
        assert book.text == "It rained.\n\nIt poured.\nAll day."


class TestContents:
    def test_contents_by_subject_are_one_level(self) -> None:
        names = [f"c{number}.xhtml" for number in range(6)]
        point = '<navPoint><navLabel><text>{0}</text></navLabel><content src="{0}"/>{1}</navPoint>'
        inner = [point.format(name, "") for name in names]
        points = point.format(names[0], inner[3] + inner[1]) + point.format(
            names[4], inner[2] + inner[5]
        )
        files = {name: page(f"<p>{name}</p>") for name in names}
        item = '<item id="t" href="toc.ncx" media-type="application/x-dtbncx+xml"/>'
        opf = package(names, manifest=item, toc=' toc="t"')
        toc = {"toc.ncx": f"<ncx><navMap>{points}</navMap></ncx>"}
        book = open_bytes(epub({**files, **toc}, opf), "a.epub")
        assert {chapter.level for chapter in book.chapters} == {1}

    def test_bare_ampersands_in_package_and_contents_are_read(self) -> None:
        opf = package(["a.xhtml"], metadata="<dc:creator>AT&T & R&D</dc:creator>")
        book = open_bytes(epub({"a.xhtml": page("<p>Rain.</p>")}, opf), "a.epub")
        assert book.authors == ("AT&T & R&D",)

    @pytest.mark.parametrize(
        "prose", ["", "<p>It rained all day long in March, and in May.</p>"]
    )
    def test_a_page_that_the_guide_calls_contents_is_left_out_if_it_holds_links(
        self, prose: str
    ) -> None:
        links = '<h1>Contents</h1><p><a href="a.xhtml">The Rain</a></p>'
        files = {
            "nav.html": page(_NAV),
            "a.xhtml": page("<h1>The Rain</h1><p>It rained.</p>"),
            "b.xhtml": page("<h1>The Bridge</h1><p>There was a bridge.</p>"),
            "z.xhtml": page(links + prose),
        }
        guide = '</spine><guide><reference type="toc" href="z.xhtml#x"/></guide><spine>'
        names = ["a.xhtml", "b.xhtml", "z.xhtml"]
        opf = package(names, manifest=_NAV_ITEM, spine=guide)
        book = open_bytes(epub(files, opf), "book.epub")
        assert book.text.startswith(
            "The Rain\n\nIt rained.\n\nThe Bridge\n\nThere was a bridge."
        )
        assert ("Contents" in book.text) == bool(prose)
        left_out = () if prose else ("3 words of navigation were left out.",)
        assert book.notices == left_out


class TestManifest:
    _ITEM = '<item id="{}" href="{}" media-type="{}"/>'

    def _read(self, items: Sequence[tuple[str, ...]], references: list[str]) -> Book:
        manifest = "".join(self._ITEM.format(*item) for item in items)
        spine = "".join(f'<itemref idref="{name}"/>' for name in references)
        pages = {
            name: page(f"<p>Words of {name}.</p>")
            for _, name, kind in items
            if "html" in kind
        }
        return open_bytes(
            epub(pages, package([], manifest=manifest, spine=spine)), "a.epub"
        )

    @pytest.mark.parametrize("kind", ["image/jpeg", "text/css"])
    def test_a_page_is_read_if_another_file_has_its_id(self, kind: str) -> None:
        pages = [("a", "a.xhtml", "application/xhtml+xml"), ("a", "a.bin", kind)]
        for items in (pages, pages[::-1]):
            book = self._read(items, ["a"])
            assert (book.text, book.notices) == ("Words of a.xhtml.", ())

    def test_the_second_page_of_an_id_is_named(self) -> None:
        kind = "application/xhtml+xml"
        book = self._read([("a", "a.xhtml", kind), ("a", "b.xhtml", kind)], ["a"])
        assert book.text == "Words of a.xhtml."
        assert book.notices == (
            "1 text file outside the reading order was left out: OEBPS/b.xhtml (3 words).",
        )

    def test_a_page_that_the_manifest_lacks_is_named(self) -> None:
        files = {"a.xhtml": page("<p>Rain.</p>"), "b.html": page("<p>More rain.</p>")}
        book = open_bytes(epub(files), "a.epub")
        assert book.notices == (
            "1 text file outside the reading order was left out: OEBPS/b.html (2 words).",
        )


class TestDamage:
    def test_xhtml_that_is_not_well_formed_is_read_and_reported(self) -> None:
        book = read_pages("<p>It <b>rained.</p><p>And<br>rained.")
        assert "It rained." in book.text
        assert "And\nrained." in book.text
        assert len(book.notices) == 1
        assert "not well-formed" in book.notices[0]

    def test_a_self_closed_title_does_not_swallow_a_broken_page(self) -> None:
        files = {
            "a.xhtml": "<html><head><title/></head><body><p>It <b>rained.</p></body></html>"
        }
        assert open_bytes(epub(files), "x").text == "It rained."

    def test_a_missing_file_is_a_notice(self) -> None:
        book = open_bytes(
            epub(
                {"a.xhtml": page("<p>It rained.</p>")},
                package(["a.xhtml", "gone.xhtml"]),
            ),
            "x",
        )
        assert book.text == "It rained."
        assert book.notices == ("OEBPS/gone.xhtml is missing; it was left out.",)

    def test_text_outside_the_reading_order_is_counted(self) -> None:
        listed = package(
            ["a.xhtml"],
            manifest='<item id="b" href="b.xhtml" media-type="application/xhtml+xml"/>',
        )
        book = open_bytes(
            epub({"a.xhtml": page("<p>In</p>"), "b.xhtml": page("<p>Out</p>")}, listed),
            "x",
        )
        assert (book.text, book.notices) == (
            "In",
            (
                "1 text file outside the reading order was left out: OEBPS/b.xhtml (1 word).",
            ),
        )

    def test_a_book_without_text_is_refused(self) -> None:
        with pytest.raises(BookError, match="without readable text"):
            read_pages("<p><img src='a.png'/></p>")

    def test_encryption_is_named(self) -> None:
        encryption = (
            '<encryption xmlns:e="http://www.w3.org/2001/04/xmlenc#"><e:EncryptedData>'
            '<e:EncryptionMethod Algorithm="http://www.w3.org/2001/04/xmlenc#aes128-cbc"/>'
            "<e:CipherData><e:CipherReference "
            'URI="OEBPS/a.xhtml"/></e:CipherData></e:EncryptedData></encryption>'
        )
        files: dict[str, str | bytes] = {
            "a.xhtml": b"\x8a\x01\x02",
            "/META-INF/encryption.xml": encryption,
        }
        with pytest.raises(BookError, match="DRM") as caught:
            open_bytes(epub(files), "locked.epub")
        assert caught.value.exit_status is ExitStatus.BOOK

    def test_obfuscated_fonts_are_not_drm(self) -> None:
        encryption = (
            '<encryption xmlns:e="http://www.w3.org/2001/04/xmlenc#"><e:EncryptedData>'
            '<e:EncryptionMethod Algorithm="http://www.idpf.org/2008/embedding"/>'
            "<e:CipherData><e:CipherReference "
            'URI="OEBPS/f.otf"/></e:CipherData></e:EncryptedData></encryption>'
        )
        files = {
            "a.xhtml": page("<p>It rained.</p>"),
            "/META-INF/encryption.xml": encryption,
        }
        assert open_bytes(epub(files), "x").text == "It rained."

    def test_every_cut_of_an_archive_is_a_book_or_a_book_error(self) -> None:
        data = epub({"a.xhtml": page("<p>It rained.</p>" * 50)})
        for size in range(0, len(data), 7):
            with pytest.raises(BookError):
                open_bytes(data[:size], "cut.epub")

    def test_every_flipped_byte_is_a_book_or_a_book_error(self) -> None:
        data = epub({"a.xhtml": page("<p>It rained.</p>" * 50)})
        read = refused = 0
        for at in range(0, len(data), 5):
            broken = bytearray(data)
            broken[at] ^= 0xFF
            try:
                assert_keeps_promises(open_bytes(bytes(broken), "broken.epub"))
            except BookError:
                refused += 1
            else:
                read += 1
        assert min(read, refused) > 20


class TestHostility:
    def test_a_zip_bomb_is_not_unpacked(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(archive, "ENTRY_LIMIT_BYTES", 1024 * 1024)
        files: dict[str, str | bytes] = {
            "a.xhtml": page("<p>It rained.</p>"),
            "b.xhtml": b" " * (50 * 1024 * 1024),
        }
        book = open_bytes(epub(files), "bomb.epub")
        assert book.text == "It rained."
        assert book.notices == (
            "OEBPS/b.xhtml unpacks to more than 1 MB; it was left out.",
        )

    def test_many_files_that_are_large_together_are_not_all_unpacked(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(archive, "TOTAL_LIMIT_BYTES", 1024 * 1024)
        files = {f"{n}.xhtml": page(f"<p>{'rain ' * 50_000}</p>") for n in range(9)}
        book = open_bytes(epub(files), "bomb.epub")
        assert len(book.text) < 1024 * 1024
        assert "exceeds the limit of 1 MB per book" in book.notices[0]

    def test_a_file_of_only_tags_is_refused_before_parsing(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(markup, "_MOST_TAGS", 1000)
        book = read_pages("<p>It rained.</p>", "<p/>" * 2000)
        assert book.text == "It rained."
        assert len(book.notices) == 1

    def test_an_archive_of_too_many_files_is_refused(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(archive, "ENTRIES_LIMIT", 10)
        with pytest.raises(BookError, match="more than any book"):
            open_bytes(
                epub({f"{n}.xhtml": page("<p>a</p>") for n in range(20)}), "x.epub"
            )

    def test_entities_do_not_expand(self) -> None:
        bomb = (
            '<!DOCTYPE html [<!ENTITY a "rain"><!ENTITY b "&a;&a;&a;&a;"><!ENTITY c '
            '"&b;&b;&b;&b;">]>'
        )
        files = {"a.xhtml": f"{bomb}<html><body><p>It &c; rained.</p></body></html>"}
        assert "rainrain" not in open_bytes(epub(files), "x").text

    def test_files_outside_the_book_are_not_read(self) -> None:
        outside = '<!DOCTYPE html [<!ENTITY p SYSTEM "file:///etc/passwd">]>'
        files = {"a.xhtml": f"{outside}<html><body><p>It &p; rained.</p></body></html>"}
        assert "root" not in open_bytes(epub(files), "x").text

    def test_paths_do_not_leave_the_archive(self) -> None:
        book = open_bytes(
            epub(
                {"a.xhtml": page("<p>It rained.</p>")},
                package(["a.xhtml", "../../../../etc/passwd.xhtml"]),
            ),
            "x",
        )
        assert book.notices == ("etc/passwd.xhtml is missing; it was left out.",)

    def test_deep_nesting_is_survived(self) -> None:
        depth = 5000
        body = f"<p>It rained.</p>{'<div>' * depth}deep{'</div>' * depth}"
        assert "It rained." in read_pages("<p>It rained.</p>", body).text

    def test_a_locked_zip_is_refused(self) -> None:
        data = bytearray(epub({"a.xhtml": page("<p>It rained.</p>")}))
        with zipfile.ZipFile(io.BytesIO(bytes(data))) as sound:
            assert sound.namelist()
        # Set the encryption flag of every directory record.
        at = data.find(b"PK\x01\x02")
        while at >= 0:
            data[at + 8] |= 1
            at = data.find(b"PK\x01\x02", at + 4)
        with pytest.raises(BookError, match="locked with a password"):
            open_bytes(bytes(data), "locked.epub")
