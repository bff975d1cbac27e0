"""HTML as found: saved from a browser, malformed, with boilerplate."""

import time

import pytest

from gistread.book.formats.elements.damaged_tags import mend_tags
from gistread.book.model import Book, ParagraphKind, Style
from gistread.book.open import open_bytes
from gistread.errors import BookError
from tests.book.paragraphs import chapters, images, links, paragraphs, styles
from tests.book.promises import assert_keeps_promises


def read(body: str, head: str = "<title>Rain</title>", name: str = "rain.html") -> Book:
    book = open_bytes(
        f"<!DOCTYPE html><html><head>{head}</head><body>{body}</body></html>".encode(),
        name,
    )
    assert_keeps_promises(book)
    return book


class TestEncoding:
    PAGE = '<html><head><meta charset="{}"><title>T</title></head><body><p>{}</body></html>'

    @pytest.mark.parametrize(
        ("codec", "words"),
        [
            ("windows-1252", "“Grüße” aus Köln"),
            ("iso-8859-1", "“Grüße” aus Köln"),
            ("windows-1251", "Шёл дождь"),
            ("koi8-r", "Шёл дождь"),
            ("shift_jis", "雨が降っていた"),
            ("euc-jp", "雨が降っていた"),
            ("iso-2022-jp", "雨が降っていた"),
            ("gb2312", "下雨了"),
            ("big5", "下雨了"),
            ("utf-8", "дождь 雨 Grüße"),
        ],
    )
    def test_the_encoding_is_as_declared(self, codec: str, words: str) -> None:
        written = {"iso-8859-1": "cp1252"}.get(codec, codec)
        assert (
            open_bytes(self.PAGE.format(codec, words).encode(written), "x.html").text
            == words
        )

    def test_a_utf_8_page_is_read_as_utf_8_whatever_it_declares(self) -> None:
        assert (
            open_bytes(
                self.PAGE.format("iso-8859-1", "Grüße “so”").encode(), "x.html"
            ).text
            == "Grüße “so”"
        )

    def test_a_byte_order_mark_comes_first(self) -> None:
        assert (
            open_bytes(
                self.PAGE.format("windows-1252", "дождь").encode("utf-16"), "x.html"
            ).text
            == "дождь"
        )

    def test_an_undeclared_encoding_is_detected(self) -> None:
        words = (
            "Es regnete den ganzen Tag über, und die Flüsse führten große Mengen Wasser. "
            * 5
        )
        assert (
            open_bytes(f"<html><p>{words}</html>".encode("cp1252"), "x.html").text
            == words.strip()
        )

    def test_an_invalid_declared_encoding_is_replaced_by_detection(self) -> None:
        assert (
            open_bytes(self.PAGE.format("hex", "Rain").encode(), "x.html").text
            == "Rain"
        )

    def test_undecodable_characters_are_reported(self) -> None:
        data = self.PAGE.format("utf-8", "Grüße " * 1000).encode() + b"\xff"
        assert open_bytes(data, "x.html").notices == (
            "1 unreadable character is shown as \ufffd (read as utf-8).",
        )


class TestMetadata:
    def test_metadata_comes_from_the_head(self) -> None:
        head = (
            '<title>The Rain | A Site</title><meta name="author" content="Jane Doe">'
            '<link rel="coverpage" href="images/cover.jpg">'
        )
        book = open_bytes(
            f'<html lang="en-GB"><head>{head}</head><body><h1>The Rain</h1><p>It'.encode(),
            "x.html",
        )
        assert (book.title, book.authors, book.language) == (
            "The Rain",
            ("Jane Doe",),
            "en-GB",
        )
        assert book.cover == "images/cover.jpg"

    @pytest.mark.parametrize(
        ("content", "authors"),
        [
            ("Tolstoy, Leo, graf, 1828-1910", ("Leo Tolstoy",)),
            ("Doe, Jane; Roe, John", ("Jane Doe", "John Roe")),
            ("Jane Doe, John Roe", ("Jane Doe", "John Roe")),
            ("Jane Doe", ("Jane Doe",)),
        ],
    )
    def test_author_names_are_in_reading_order(
        self, content: str, authors: tuple[str, ...]
    ) -> None:
        assert (
            read(
                "<p>Rain",
                f'<title>T</title><meta name="dc.creator" content="{content}">',
            ).authors
            == authors
        )

    def test_the_title_falls_back_to_the_heading_and_the_file_name(self) -> None:
        assert read("<h1>The Rain</h1><p>It", "").title == "The Rain"
        assert read("<p>It rained.", "").title == "rain"


class TestText:
    @pytest.mark.parametrize(
        "name", ["noframes", "NOEMBED", "iframe", "noscript", "video", "object"]
    )
    def test_the_text_of_replaced_elements_has_no_markup(self, name: str) -> None:
        assert read(
            f"<p>One</p><{name}><p>Two <b>three</b> &amp; four</p></{name}>"
        ).text.split() == (["One", "Two", "three", "&", "four"])

    @pytest.mark.parametrize("value", ['"<p>Page</p>"', "'<p>Page</p>'", "Page"])
    def test_an_embedded_page_in_a_value_is_no_text(self, value: str) -> None:
        book = read(f"<p>One<p><iframe srcdoc={value}>Two</iframe> <b>three</b>")
        assert book.text.split() == ["One", "Two", "three"]

    @pytest.mark.parametrize(
        ("body", "text"),
        [
            ('<p class="a>Two</p><p class="b">Three', "One Two Three"),
            ("<p class='a>Two</p><p class='b'>Three", "One Two Three"),
            ('<p class="a>Two words</p><p>Three', "One Two words Three"),
            ('<p class="a" id="b>Two</p>', "One Two"),
            ('<p class="a > b">Two</p><p class="<c>"/>Three', "One Two Three"),
            ('<p title="\'tis>so">Two</p>', "One Two"),
            ("<p>Two</em, <pThree</p><p>Four</p>", "One Two, <pThree Four"),
            ('<p><a href="x"Two</a> three</p>', "One Two three"),
            ("<p Two three</p><p>Four</p>", "One Two three Four"),
            ('<p"Two three." Four</p><p>"Five."</p>', 'One "Two three." Four "Five."'),
            ("<p>Two <//b>three</p", "One Two three"),
            ("<!-- Two --><!--><p>Three", "One Three"),
            ("<!-- Two --><p>Three<!-- four<p>Five", "One Three four Five"),
            ("<p><![CDATA[Two < three]]></p>", "One Two < three"),
        ],
    )
    def test_damaged_tags_and_cdata_swallow_no_words(
        self, body: str, text: str
    ) -> None:
        assert read(f"<p>One{body}").text.split() == text.split()

    @pytest.mark.parametrize(
        "title", ["<title>Rain", "<title>Rain<//title>", "<title>Rain</tilte>"]
    )
    def test_a_title_that_is_not_closed_swallows_no_page(self, title: str) -> None:
        book = read("<p>One</p><svg><title>Two</title></svg>", title)
        assert (book.title, book.text.split()[0]) == ("Rain", "One")

    def test_many_unclosed_tags_of_raw_text_lose_no_word(self) -> None:
        assert read("<p>One<p>" + "<iframe " * 2_000).text == "One"

    def test_unclosed_tags_are_mended_in_linear_time(self) -> None:
        began = time.process_time()
        mended = mend_tags(b"<iframe " * 100_000)
        assert time.process_time() - began < 5
        assert mended == b"<iframe> " * 100_000

    def test_paragraphs_lists_quotations_tables_and_code_are_what_they_are(
        self,
    ) -> None:
        book = read(
            "<p>It\n rained.<p>And<hr><blockquote><p>Said "
            "he.</blockquote><ul><li>Bread<li>Cheese</ul>"
            "<table><tr><th>Day<th>Rain<tr><td>1<td>2 mm</table><pre>a  b\n  c</pre>"
            '<div class="poem">Roses<br>are red</div>'
        )
        assert paragraphs(book) == [
            (ParagraphKind.TEXT, "It rained."),
            (ParagraphKind.TEXT, "And"),
            (ParagraphKind.BREAK, "* * *"),
            (ParagraphKind.QUOTE, "Said he."),
            (ParagraphKind.LIST, "• Bread"),
            (ParagraphKind.LIST, "• Cheese"),
            (ParagraphKind.TABLE, "Day | Rain\n1 | 2 mm"),
            (ParagraphKind.CODE, "a  b\n  c"),
            (ParagraphKind.VERSE, "Roses\nare red"),
        ]

    def test_two_line_breaks_separate_paragraphs(self) -> None:
        book = read(
            "It rained all day long.<br>\n<br>It <i>went<br><br><br>on</i><br>and on."
        )
        assert [text for _, text in paragraphs(book)] == [
            "It rained all day long.",
            "It went",
            "on\nand on.",
        ]
        assert styles(book) == [(Style.EMPHASIS, "went"), (Style.EMPHASIS, "on")]

    def test_a_page_that_is_one_preformatted_text_is_read_as_plain_text(self) -> None:
        chapter = (
            "CHAPTER {}\n\n"
            + "It rained and rained, all the day\nand all the night, and went on.\n\n"
            * 30
        )
        book = open_bytes(
            f"<html><body><pre>{chapter.format('I')}{chapter.format('II')}</pre>".encode(),
            "x.html",
        )
        assert [c.title for c in book.chapters] == ["CHAPTER I", "CHAPTER II"]
        assert "It rained and rained, all the day and all the night" in book.text
        assert book.source_format == "html"

    @pytest.mark.parametrize("tag", ["font", "i", "div", "blockquote"])
    def test_elements_that_are_never_closed_lose_no_words(self, tag: str) -> None:
        words = [f"word{n}" for n in range(1500)]
        book = open_bytes(
            "".join(f"<{tag}>{word} " for word in words)
            .join(("<html><p>a", "<p>end"))
            .encode(),
            "x.html",
        )
        assert [word for word in words if word not in book.text] == []
        assert book.text.endswith("end")

    def test_named_entities_are_read_but_declared_ones_are_not(self) -> None:
        assert (
            read("<p>caf&eacute;&nbsp;&mdash; &#8222;&lt;x&gt;&#150;&unknown;").text
            == "café — „<x>–&unknown;"
        )
        outside = '<?xml version="1.0"?><!DOCTYPE html [<!ENTITY p SYSTEM "file:///etc/passwd">]>'
        inside = (
            '<html xmlns="http://www.w3.org/1999/xhtml"><p>It &p; rained.</p></html>'
        )
        book = open_bytes((outside + inside).encode(), "x")
        assert "root" not in book.text

    def test_languages_inside_are_kept(self) -> None:
        book = open_bytes(
            b'<html lang="en"><p>He said <i lang="fr">pluie</i> and <i xml:lang="de">Regen</i>.',
            "x.html",
        )
        assert [
            (f.language, book.text[f.start : f.end]) for f in book.language_spans
        ] == [
            ("fr", "pluie"),
            ("de", "Regen"),
        ]

    def test_pictures_are_described_by_alternative_text_or_caption(self) -> None:
        book = read(
            '<p><img src="a.png" alt="Rain"><figure><img src="b/c.png"><figcaption>A '
            "bridge</figcaption></figure>"
        )
        assert images(book) == [("a.png", "[Rain]"), ("b/c.png", "A bridge")]

    def test_an_embedded_picture_is_not_part_of_the_text(self) -> None:
        book = read('<p>See <img src="data:image/png;base64,iVBORw0KGgo=" alt="rain">.')
        assert images(book) == [("embedded:1", "[rain]")]


class TestFurniture:
    def test_navigation_scripts_bars_and_skip_links_are_left_out(self) -> None:
        book = read(
            '<a class="skip-link" href="#m">Skip to content</a><header><a href="/">Home</a> <a '
            'href="/x">Books</a>'
            "</header><nav><p><a href='/a'>A</a></nav>"
            "<div id='onetrust-consent-sdk'><h2>Your privacy</h2><p>We and our partners.</div>"
            "<script>let a</script><noscript>Turn on scripts</noscript><main "
            "id=m><h1>Rain</h1><p>It rained.</main>"
            "<footer><a href='/i'>Imprint</a> <a href='/p'>Privacy</a></footer>"
        )
        assert [text for _, text in paragraphs(book)] == ["Rain", "It rained."]
        assert book.notices == (
            "2 words of scripts were left out.",
            "17 words of menus and the like were left out.",
        )

    def test_an_unclosed_navigation_keeps_the_page(self) -> None:
        assert (
            "It rained all day."
            in read("<nav><a href='/'>Home</a><h1>Rain</h1><p>It rained all day.").text
        )

    def test_headers_and_footers_with_headings_or_prose_stay(self) -> None:
        prose = "It rained and rained and nobody knew when it would end. " * 6
        book = read(
            "<article><header><h1>Rain</h1><p>By Jane</header><p>It "
            f"rained.<footer><p>{prose}</footer></article>"
        )
        assert [text for _, text in paragraphs(book)] == [
            "Rain",
            "By Jane",
            "It rained.",
            prose.strip(),
        ]

    def test_a_book_about_cookies_keeps_its_cookies(self) -> None:
        recipe = "<p>Take flour and butter and sugar, and bake them for ten minutes."
        assert (
            "bake them"
            in read(f'<div class="cookies"><h1>Cookies</h1>{recipe}</div>').text
        )

    def test_the_permalink_sign_beside_a_heading_is_removed(self) -> None:
        assert (
            read(
                '<h2 id="r">Rain<a class="headerlink" href="#r">¶</a></h2><p>It rained.'
            ).text
            == "Rain\n\nIt rained."
        )

    def test_the_gutenberg_frame_is_removed_and_read_as_metadata(self) -> None:
        book = read(
            '<section class="pg-boilerplate pgheader" id="pg-header">'
            "<h2>The Project Gutenberg eBook of Rain</h2><p>Title: The Rain</p>"
            "<p>Author: Jane Doe</p><p>Language: English</p>"
            "<div>*** START OF THE PROJECT GUTENBERG EBOOK RAIN ***</div></section>"
            "<h2>I</h2><p>It rained.</p>"
            '<section class="pg-boilerplate">*** END OF THE PROJECT GUTENBERG EBOOK RAIN '
            "***<p>Licence.</section>",
            "<title>The Project Gutenberg eBook of Rain</title>",
        )
        assert book.text == "I\n\nIt rained."
        assert (book.title, book.authors, book.language) == (
            "The Rain",
            ("Jane Doe",),
            "en",
        )

    def test_older_gutenberg_frames_are_removed(self) -> None:
        book = read(
            "<pre>Project Gutenberg's The Rain, by Jane Doe\n\nThis eBook is for the use of "
            "anyone\n\n"
            "Title: The Rain\n\nAuthor: Jane Doe\n\n*** START OF THIS PROJECT GUTENBERG EBOOK "
            "THE RAIN ***\n\n"
            "</pre><p>Produced by John Roe</p>"
            '<h2 id="i">I</h2><p>It rained. <a href="#i">Up</a>'
            "<pre>End of the Project Gutenberg EBook of The Rain</pre>",
        )
        assert book.text == "I\n\nIt rained. Up"
        assert (book.title, book.authors, links(book)) == (
            "The Rain",
            ("Jane Doe",),
            [("Up", "I")],
        )


class TestChapters:
    def test_chapters_come_from_headings(self) -> None:
        book = read(
            "<h1>Rain</h1><p>By Jane<h2>One</h2><p>It<h3>Dawn</h3><p>It<h2>Two</h2><p>It"
        )
        assert chapters(book) == [(1, "One"), (2, "Dawn"), (1, "Two")]
        assert book.chapters[0].start == 0

    def test_an_author_heading_is_not_a_chapter(self) -> None:
        book = read(
            "<h1>RAIN</h1><h3>BY</h3><h2>JANE DOE</h2><hr><h2>One</h2><p>It<h2>Two</h2><p>It"
        )
        assert chapters(book) == [(1, "One"), (1, "Two")]
        named = read(
            "<h1>RAIN</h1><h2>JANE DOE</h2><h2>One</h2><p>It<h2>Two</h2><p>It",
            "<meta name=author content='Jane Doe'>",
        )
        assert chapters(named) == [(1, "One"), (1, "Two")]

    def test_a_number_and_its_title_are_one_and_a_part_and_its_chapter_are_two(
        self,
    ) -> None:
        text = (
            "<h2>BOOK ONE</h2><h2>CHAPTER I</h2><h3>The Rain</h3><p>It<h2>CHAPTER II</h2><h3>The "
            "Sun</h3><p>It"
        )
        assert chapters(read(text + "<h2>BOOK TWO</h2><h2>CHAPTER I</h2><p>It")) == [
            (1, "BOOK ONE"),
            (2, "CHAPTER I. The Rain"),
            (2, "CHAPTER II. The Sun"),
            (1, "BOOK TWO"),
            (2, "CHAPTER I"),
        ]

    def test_chapters_come_from_the_text_without_headings(self) -> None:
        prose = "<p>" + "It rained. " * 40
        book = read(f"<p><b>CHAPTER I</b>{prose}<p><b>CHAPTER II</b>{prose}")
        assert chapters(book) == [(1, "CHAPTER I"), (1, "CHAPTER II")]


class TestLinks:
    def test_links_lead_to_ids_names_and_other_pages(self) -> None:
        book = read(
            '<p><a href="#a">one</a> <a href="#b">two</a> <a href="rain.html#a">three</a>'
            ' <a href="other.html#a">four</a> <a href="http://example.org/">five</a> <a '
            'href="#">six</a>'
            ' <a href="#gone">seven</a>'
            '<p id="a">Here.<p><a name="b"></a>There.'
        )
        assert links(book) == [
            ("one", "Here."),
            ("two", "There."),
            ("three", "Here."),
            ("four", "other.html#a"),
            ("five", "http://example.org/"),
        ]

    @pytest.mark.parametrize(
        "body",
        [
            '<p>It rained<a href="#n" class="footnote-ref" id="r" '
            'role="doc-noteref"><sup>1</sup></a>.'
            '<section class="footnotes" role="doc-endnotes"><hr><ol><li id="n"><p>A note.'
            '<a href="#r" class="footnote-back" role="doc-backlink">↩︎</a></li></ol></section>',
            '<p>It rained<sup id="r" class="reference"><a href="#n">[1]</a></sup>.<ol '
            'class="references">'
            '<li id="n"><span class="mw-cite-backlink"><b><a href="#r">^</a></b></span> <span>A '
            "note.</span></li></ol>",
            '<p>It rained<a id="r"></a><a href="#n"><sup>1</sup></a>.'
            '<p><a id="n"></a>A note. <a href="#r">[back]</a></p>',
        ],
        ids=["Pandoc", "Wikipedia", "by hand"],
    )
    def test_note_links_lead_to_exactly_the_note(self, body: str) -> None:
        book = read(body + "<p>The end.")
        assert [(word, note.removeprefix("1. ")) for word, note in links(book)] == [
            ("[1]", "A note.")
        ]
        assert "↩" not in book.text
        assert (ParagraphKind.BREAK, "* * *") not in paragraphs(book)

    def test_note_links_resolve_despite_other_numbers_in_the_list(self) -> None:
        book = read(
            '<p>It rained<sup class="reference" id="r"><a href="#n">[a]</a></sup>.<ol '
            'class="references">'
            '<li id="n"><span class="mw-cite-backlink">^ <a href="#r"><sup>a</sup></a></span> '
            "<span>A note.</span></ol>"
        )
        assert links(book) == [("[a]", "1. A note.")]

    def test_labelled_notes_are_linked_both_ways(self) -> None:
        book = read(
            '<p>It rained.<a id="r" href="#n" class="fnanchor">[1]</a> And'
            '<div class="footnote"><p><a id="n" href="#r">[1]</a> A note.</div><p>The end.'
        )
        assert links(book) == [("[1]", "[1] A note."), ("[1]", "It rained.[1] And")]
        assert book.links[0].target_end is not None
        assert book.links[1].target_end is None

    def test_notes_without_a_heading_are_not_in_the_last_chapter(self) -> None:
        notes = '<ol class="footnotes"><li id="n">A note. <a href="#r">↩</a></ol>'
        book = read(
            f'<h2>One</h2><p>It<sup><a id="r" href="#n">1</a></sup><h2>Two</h2><p>It{notes}'
        )
        assert chapters(book) == [(1, "One"), (1, "Two"), (1, "Notes")]


class TestDamage:
    @pytest.mark.parametrize(
        "body", ["", "<img src='a.png'>", "<script>let a</script>"]
    )
    def test_a_page_without_text_is_refused(self, body: str) -> None:
        with pytest.raises(BookError, match="no readable text"):
            open_bytes(
                f"<!DOCTYPE html><html><body>{body}</body></html>".encode(), "x.html"
            )

    def test_a_page_of_only_tags_is_refused(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("gistread.book.formats.elements.markup._MOST_TAGS", 1000)
        with pytest.raises(BookError, match="or too much"):
            open_bytes(b"<html>" + b"<p>" * 2000, "x.html")

    def test_a_saved_page_without_a_page_is_refused(self) -> None:
        with pytest.raises(BookError, match="MHTML"):
            open_bytes(
                b"MIME-Version: 1.0\nContent-Type: multipart/related; boundary=b\n\n--b--\n",
                "x.mht",
            )

    def test_a_saved_page_is_read_in_its_own_encoding(self) -> None:
        letter = (
            'MIME-Version: 1.0\r\nContent-Type: multipart/related; boundary="b"\r\n\r\n--b\r\n'
            'Content-Type: text/html; charset="windows-1251"\r\nContent-Transfer-Encoding: '
            "quoted-printable\r\n\r\n"
            "<html><p>=C4=EE=E6=E4=FC</p></html>\r\n--b\r\nContent-Type: "
            "image/png\r\n\r\nx\r\n--b--\r\n"
        )
        assert open_bytes(letter.encode(), "x.mht").text == "Дождь"
