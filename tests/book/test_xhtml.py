"""XHTML: paragraphs, inline marks, pictures, code, languages."""

import pytest
from lxml import etree

from gistread.book import inline
from gistread.book.builder import BookBuilder
from gistread.book.formats.elements.inline_elements import read_sheet
from gistread.book.formats.elements.xhtml import read_document
from gistread.book.model import Book, ParagraphKind, Style


def read(body: str, language: str = "en") -> Book:
    document = read_document(
        etree.fromstring(f'<html lang="{language}"><body>{body}</body></html>')
    )
    builder = BookBuilder()
    for paragraph in document.paragraphs:
        builder.add(
            paragraph.text,
            paragraph.kind,
            paragraph.level,
            keeps_lines=paragraph.keeps_lines,
            marks=paragraph.marks,
        )
    return builder.build(title="T", source_format="html")


def styled(book: Book) -> list[tuple[Style, str]]:
    return [(span.style, book.text[span.start : span.end]) for span in book.spans]


def paragraphs(book: Book) -> list[tuple[ParagraphKind, str]]:
    return [(p.kind, book.text[p.start : p.end]) for p in book.paragraphs]


class TestStyles:
    @pytest.mark.parametrize(
        ("markup", "style"),
        [
            *(
                (f"<{name}>rain</{name}>", Style.EMPHASIS)
                for name in ("em", "i", "cite", "dfn", "var")
            ),
            *((f"<{name}>rain</{name}>", Style.STRONG) for name in ("strong", "b")),
            *(
                (f"<{name}>rain</{name}>", Style.CODE)
                for name in ("code", "kbd", "samp", "tt")
            ),
            *((f"<{name}>rain</{name}>", Style.UNDERLINE) for name in ("u", "ins")),
            *(
                (f"<{name}>rain</{name}>", Style.STRIKE)
                for name in ("s", "del", "strike")
            ),
            ("<sup>rain</sup>", Style.SUPERSCRIPT),
            ("<sub>rain</sub>", Style.SUBSCRIPT),
            ('<span class="x smcap">rain</span>', Style.SMALL_CAPITALS),
            (
                '<span style="font-variant: small-caps">rain</span>',
                Style.SMALL_CAPITALS,
            ),
            ('<span class="Italic">rain</span>', Style.EMPHASIS),
            ('<span style="font-weight:bold">rain</span>', Style.STRONG),
        ],
    )
    def test_inline_elements_set_styles(self, markup: str, style: Style) -> None:
        book = read(f"<p>The {markup} fell.</p>")
        assert book.text == "The rain fell."
        assert styled(book) == [(style, "rain")]

    def test_styles_nest_and_stick_to_words(self) -> None:
        book = read("<p>The<em> grey <b>rain</b> </em>fell<i> </i>.</p>")
        assert book.text == "The grey rain fell ."
        assert styled(book) == [(Style.EMPHASIS, "grey rain"), (Style.STRONG, "rain")]

    def test_an_inline_element_around_blocks_marks_each_of_them(self) -> None:
        book = read("<p>No.</p><em><p>It rained.</p><p>It poured.</p></em><p>Dry.</p>")
        assert styled(book) == [
            (Style.EMPHASIS, "It rained."),
            (Style.EMPHASIS, "It poured."),
        ]
        assert len(book.paragraphs) == 4

    def test_private_use_characters_are_not_taken_for_marks(self) -> None:
        book = read("<p>\U000f0000<em>rain</em>\U00100000</p>")
        assert book.text == "rain"
        assert styled(book) == [(Style.EMPHASIS, "rain")]

    def test_lines_of_verse_that_become_one_paragraph_keep_their_marks(self) -> None:
        book = read(
            '<div class="verse"><p><i>April</i> is</p><p>the <b>cruellest</b></p></div>'
        )
        assert paragraphs(book) == [(ParagraphKind.VERSE, "April is\nthe cruellest")]
        assert styled(book) == [(Style.EMPHASIS, "April"), (Style.STRONG, "cruellest")]

    def test_cells_of_a_table_keep_their_marks(self) -> None:
        book = read(
            "<table><tr><th>Day</th><td><i>2</i> "
            "mm</td></tr><tr><td></td><td><b>3</b></td></tr></table>"
        )
        assert paragraphs(book) == [(ParagraphKind.TABLE, "Day | 2 mm\n3")]
        assert styled(book) == [(Style.EMPHASIS, "2"), (Style.STRONG, "3")]

    def test_a_line_of_marked_asterisks_is_a_scene_break(self) -> None:
        assert paragraphs(read("<p>a</p><p><b>* * *</b></p><p>b</p>"))[1] == (
            ParagraphKind.BREAK,
            "* * *",
        )

    def test_more_marks_than_a_paragraph_can_hold_lose_no_word(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(inline, "MAX_MARKS", 50)
        book = read(f"<p>{'<i>a</i> ' * 70}</p>")
        assert book.text == " ".join(["a"] * 70)
        assert len(book.spans) == 50


class TestCode:
    def test_preformatted_text_is_code_and_keeps_its_spaces_tabs_and_marks(
        self,
    ) -> None:
        book = read("<pre>a\t<b>b</b>\tc\n\n    d</pre>")
        assert paragraphs(book) == [(ParagraphKind.CODE, "a   b   c\n    d")]
        assert styled(book) == [(Style.STRONG, "b")]


class TestPictures:
    def test_a_picture_alone_is_a_paragraph_with_its_description_or_file_name(
        self,
    ) -> None:
        book = read(
            '<p><img src="a/b.png" alt="A bridge"/></p><p><img src="a/c.png?x"/></p><img '
            'src="data:x" alt=""/>'
        )
        assert paragraphs(book) == [
            (ParagraphKind.IMAGE, "[A bridge]"),
            (ParagraphKind.IMAGE, "[c.png]"),
            (ParagraphKind.IMAGE, "[picture]"),
        ]
        assert [(book.text[i.start : i.end], i.source) for i in book.images][:2] == [
            ("[A bridge]", "a/b.png"),
            ("[c.png]", "a/c.png?x"),
        ]

    def test_an_inline_picture_without_description_is_decoration(self) -> None:
        assert read('<p><img src="a.png" alt=""/>It rained.</p>').images == ()

    def test_a_caption_describes_a_picture_without_alternative_text(self) -> None:
        for figure in (
            '<figure><img src="a.png" alt=""/><figcaption>The <i>bridge</i>.</figcaption></figure>',
            '<figure><figcaption>The <i>bridge</i>.</figcaption><img src="a.png" alt=""/></figure>',
            (
                '<figure><img src="a.png" alt="The bridge."/><figcaption>The '
                "<i>bridge</i>.</figcaption></figure>"
            ),
            (
                '<div class="fig"><p><img src="a.png" alt="a.png"/></p><div class="caption">The '
                "<i>bridge</i>.</div></div>"
            ),
            (
                '<div class="figcenter"><img src="a.png"/><p class="caption">The '
                "<i>bridge</i>.</p></div>"
            ),
        ):
            book = read(figure)
            assert paragraphs(book) == [(ParagraphKind.IMAGE, "The bridge.")]
            assert [book.text[i.start : i.end] for i in book.images] == ["The bridge."]

    def test_alternative_text_and_caption_are_both_kept(self) -> None:
        book = read(
            '<figure><img src="a.png" alt="A bridge"/><figcaption>Fig. 1</figcaption></figure>'
        )
        assert paragraphs(book) == [
            (ParagraphKind.IMAGE, "[A bridge]"),
            (ParagraphKind.IMAGE, "Fig. 1"),
        ]

    def test_a_drawn_initial_is_joined_to_its_word(self) -> None:
        assert (
            read('<p><img src="t.png" alt="T"/>he rain fell.</p>').text
            == "The rain fell."
        )

    def test_a_drawn_heading_is_a_heading(self) -> None:
        assert paragraphs(read('<h1><img src="a.png" alt="Chapter I"/></h1>')) == [
            (ParagraphKind.HEADING, "Chapter I")
        ]

    def test_a_drawn_ornament_is_a_scene_break(self) -> None:
        assert paragraphs(read('<p>a</p><p><img src="o.png" alt="***"/></p>'))[1] == (
            ParagraphKind.BREAK,
            "***",
        )

    def test_words_in_and_about_a_drawing_are_read(self) -> None:
        drawing = "<title>Map</title><desc>Of the sea</desc><text>North <tspan>wind</tspan></text>"
        drawing += "<foreignObject><p>blows</p></foreignObject>"
        assert (
            read(f"<p>See <svg>{drawing}</svg> here.</p>").text
            == "See [Map. Of the sea] North wind blows here."
        )

    def test_an_equation_that_is_drawn_beside_its_mathml_is_read_once(self) -> None:
        math = (
            "<math><semantics><msup><mi>x</mi><mn>2</mn></msup>"
            "<annotation>x^2</annotation></semantics></math>"
        )
        drawn = "<span class='katex-html' aria-hidden='true'><span>x</span><span>2</span></span>"
        assert (
            read(f"<p>Let <span class='katex'>{math}{drawn}</span> be.</p>").text
            == "Let x² be."
        )

    def test_a_formula_in_an_address_is_read_and_other_embedded_files_are_counted(
        self,
    ) -> None:
        assert (
            read(
                '<p>Let <embed src="../https://a.example/png.latex?x%5E2%20%2B%20y"/> be.</p>'
            ).text
            == "Let x^2 + y be."
        )
        film = read_document(
            etree.fromstring('<html><body><embed src="a.swf"/></body></html>')
        )
        assert film.left_out == {"embedded file(s)": 1}

    @pytest.mark.parametrize("name", ["video", "audio", "object", "canvas", "iframe"])
    def test_words_in_place_of_media_are_read(self, name: str) -> None:
        assert (
            read(
                f"<{name} src='a'><source src='b'/><p>A film of rain.</p></{name}>"
            ).text
            == "A film of rain."
        )

    def test_an_svg_wrapper_is_read_as_its_picture(self) -> None:
        svg = (
            '<svg xmlns:xlink="http://www.w3.org/1999/xlink"><image '
            'xlink:href="cover.jpg"/></svg>'
        )
        book = read(f"<div>{svg}</div>")
        assert paragraphs(book) == [(ParagraphKind.IMAGE, "[cover.jpg]")]
        assert book.images[0].source == "cover.jpg"


class TestLinks:
    def test_links_lead_to_their_targets_but_not_to_scripts_or_data(self) -> None:
        book = read(
            '<p><a href="https://a.example">a</a> <a href="javascript:x()">b</a> <a '
            'href="#">c</a></p>'
        )
        assert [
            (book.text[link.start : link.end], link.address) for link in book.links
        ] == [
            ("a", "https://a.example"),
        ]

    def test_note_references_are_in_brackets(self) -> None:
        body = (
            '<p>It rained<a role="doc-noteref" href="#n">1</a>, and<sup id="r"><a '
            'href="#m">2</a></sup> poured.</p>'
        )
        document = read_document(etree.fromstring(f"<html>{body}</html>"))
        assert document.paragraphs[0].words == "It rained[1], and[2] poured."
        assert [(mark.href, mark.is_note) for mark in document.paragraphs[0].marks] == [
            ("#n", True),
            ("#m", True),
        ]
        assert document.anchors["r"] == 0


class TestLanguages:
    def test_a_wrapped_line_is_a_space_but_not_between_ideographs(self) -> None:
        book = read(
            "<p>山路を<i>登り</i>\n  <b>ながら</b>、\nこう\n考えた。\nIt\n <i>rained</i>\n雨</p>"
            "<p>비가\n온다</p>"
        )
        assert book.text == "山路を登りながら、こう考えた。 It rained 雨\n\n비가 온다"
        assert [words for _, words in styled(book)] == ["登り", "ながら", "rained"]

    def test_language_attributes_are_kept(self) -> None:
        book = read(
            '<p>The <i lang="fr">pluie</i> fell.</p><p lang="de">Es regnete.</p><p '
            'lang="en-US">Dry.</p>'
        )
        assert [
            (book.text[f.start : f.end], f.language) for f in book.language_spans
        ] == [
            ("pluie", "fr"),
            ("Es regnete.", "de"),
        ]
        assert styled(book) == [(Style.EMPHASIS, "pluie")]

    def test_invalid_languages_are_ignored(self) -> None:
        assert (
            read(
                '<p lang="und">a</p><p lang="">b</p><p lang="not a language">c</p>'
            ).language_spans
            == ()
        )


class TestHidden:
    def test_page_numbers_are_link_targets_but_not_text(self) -> None:
        body = (
            '<p>It</p><p>rained<span class="pagenum"><a id="Page_2">[2]</a></span>.</p>'
            '<p><span role="doc-pagebreak" id="p3">3</span>Dry.</p>'
        )
        document = read_document(etree.fromstring(f"<html>{body}</html>"))
        assert [paragraph.text for paragraph in document.paragraphs] == [
            "It",
            "rained.",
            "Dry.",
        ]
        assert (document.anchors["Page_2"], document.anchors["p3"]) == (1, 2)

    def test_the_licence_around_a_book_is_left_out_and_counted(self) -> None:
        document = read_document(
            etree.fromstring(
                '<html><section class="pg-boilerplate pgheader"><p>A Project Gutenberg eBook</p>'
                "</section><p>It rained.</p></html>"
            )
        )
        assert [paragraph.text for paragraph in document.paragraphs] == ["It rained."]
        assert document.left_out == {"word(s) of the licence": 4}

    @pytest.mark.parametrize(
        "number", ["12", "xiv", "[Pg 7]", "{9}", "Page 17", "12a", "S. 3"]
    )
    def test_a_page_number_divides_no_word(self, number: str) -> None:
        book = read(f'<p>It rai<span class="pagenum">{number}</span>ned.</p>')
        assert book.text == "It rained."

    @pytest.mark.parametrize(
        "attribute",
        [
            'role="doc-pagebreak"',
            'class="pagenum"',
            'class="page-number"',
            'class="linenum"',
            'class="pg-boilerplate"',
            'class="katex-html"',
            'role="doc-backlink"',
        ],
    )
    @pytest.mark.parametrize("name", ["p", "span", "div", "section", "h2"])
    def test_words_are_read_whatever_their_element_is_called(
        self, name: str, attribute: str
    ) -> None:
        book = read(f"<p>It rained.</p><{name} {attribute}>It poured all day.</{name}>")
        assert "It poured all day." in book.text

    @pytest.mark.parametrize(
        "markup",
        [
            "<nav><p>It poured.</p></nav>",
            "<head><p>It poured.</p></head>",
            "<map>It poured.</map>",
            "<rp>It poured.</rp>",
            "<param>It poured.</param>",
            "<br>It poured.</br>",
            '<img src="a.png">It poured.</img>',
            "<ul>It poured.<li>Rain</li></ul>",
            "<ol><li>Rain</li>It poured.</ol>",
            "<table><tr><td>Rain</td></tr>It poured.</table>",
            "<table><tr><td>Rain</td><p>It poured.</p></tr></table>",
            "<table><p>It poured.</p><tr><td>Rain</td></tr></table>",
            "<hgroup><h1>Rain</h1>It poured.</hgroup>",
            "<svg><g><p>It poured.</p></g></svg>",
            '<template shadowrootmode="open"><p>It poured.</p></template>',
            "<h2><button>It poured.</button></h2>",
            "<switch><case>It poured.</case></switch>",
        ],
    )
    def test_words_in_unexpected_places_are_read(self, markup: str) -> None:
        assert "It poured." in read(f"<p>It rained.</p>{markup}").text

    def test_what_a_browser_does_not_show_is_counted(self) -> None:
        document = read_document(
            etree.fromstring(
                "<html><body><template>One two</template><script>three</script>"
                "<p hidden=''>four five six</p><nav><a>Seven</a></nav></body></html>"
            )
        )
        assert document.left_out == {
            "hidden word(s)": 5,
            "word(s) of scripts": 1,
            "word(s) of navigation": 1,
        }


class TestLines:
    @pytest.mark.parametrize("value", ["pre-wrap", "pre-line", "break-spaces"])
    def test_line_feeds_that_a_browser_shows_are_kept(self, value: str) -> None:
        book = read(
            f'<div style="white-space: {value}">It rained and it rained for days.\n\n'
            "— Come in, said she.\n— I will not, said he.</div>"
        )
        assert paragraphs(book) == [
            (ParagraphKind.TEXT, "It rained and it rained for days."),
            (ParagraphKind.TEXT, "— Come in, said she.\n— I will not, said he."),
        ]

    def test_a_rule_for_an_element_or_a_class_keeps_lines(self) -> None:
        sheet = read_sheet(
            "p { white-space: pre-line } .wrapped { white-space: normal }"
        )
        page = "<html><p>a\nb</p><p class='wrapped'>c\nd</p></html>"
        document = read_document(etree.fromstring(page), sheet=sheet)
        assert [each.text for each in document.paragraphs] == ["a\nb", "c d"]

    def test_cells_with_verse_are_read_line_by_line(self) -> None:
        book = read(
            "<table><tr><td><p>Le lac<br/>bleu</p><p>dort</p></td>"
            "<td><p>The blue<br/>lake</p><p>sleeps</p></td></tr></table>"
        )
        assert book.text == "Le lac\nbleu\n\ndort\n\nThe blue\nlake\n\nsleeps"


class TestInitials:
    @pytest.mark.parametrize(
        ("markup", "text"),
        [
            (
                '<p><span style="float: left">\n W\n</span>\nhen it rained.</p>',
                "When it rained.",
            ),
            ('<p><span style="float: left">I</span> went.</p>', "I went."),
            ('<p><span class="dropcap">T</span>he rain.</p>', "The rain."),
            (
                '<div style="float: left">A</div><p>fter the rain.</p>',
                "After the rain.",
            ),
            ('<div style="float: left">A</div><p>Rain fell.</p>', "A\n\nRain fell."),
            ('<div style="float: left">Rain</div><p>fell.</p>', "Rain\n\nfell."),
        ],
    )
    def test_a_floated_initial_is_part_of_its_word(
        self, markup: str, text: str
    ) -> None:
        assert read(markup).text == text


class TestNotes:
    def test_a_note_inside_a_paragraph_or_heading_follows_it(self) -> None:
        note = '<aside role="doc-footnote" id="{}"><span>{}</span></aside>'
        first, second = note.format("a", "Of 1823."), note.format("b", "In Dutch.")
        book = read(
            f'<h1>The Storm<a role="doc-noteref" href="#a">1</a>{first}</h1>'
            f'<p>He said<a role="doc-noteref" href="#b">2</a>{second} no.</p>'
        )
        assert paragraphs(book) == [
            (ParagraphKind.HEADING, "The Storm[1]"),
            (ParagraphKind.NOTE, "Of 1823."),
            (ParagraphKind.TEXT, "He said[2] no."),
            (ParagraphKind.NOTE, "In Dutch."),
        ]

    def test_a_reference_that_is_a_word_gets_no_brackets(self) -> None:
        book = read('<p>Left for <a role="doc-noteref" href="#n">vacances</a>.</p>')
        assert book.text == "Left for vacances."

    def test_hidden_notes_are_kept_as_text(self) -> None:
        book = read(
            '<aside role="doc-footnote" id="n" hidden="hidden"><p>A note.</p></aside><p '
            'hidden="">no</p>'
        )
        assert paragraphs(book) == [(ParagraphKind.NOTE, "A note.")]

    def test_the_end_of_a_block_with_an_id_is_known(self) -> None:
        document = read_document(
            etree.fromstring(
                '<html><p>a</p><div id="n" role="doc-endnote"><p>b</p><p>c</p></div><p>d</p></html>'
            )
        )
        assert (document.anchors["n"], document.ends["n"]) == (1, 3)
        assert document.notes == ((1, 3),)


class TestStyleSheets:
    def test_classes_are_resolved_by_the_style_sheet(self) -> None:
        root = etree.fromstring(
            "<html><head><style>@charset 'x'; .c1 , span.c2{font-style:italic} b.c3 { "
            "font-weight: normal }"
            "@media screen { .c4 { FONT-WEIGHT: bold } } /* .c5 { font-style: italic } */ p .c5 "
            "{ font-style: italic }"
            ".c6 { font-variant: small-caps } .c7 { vertical-align: super; color: red "
            "}</style></head><body>"
            "<p><span class='c1'>a</span> <span class='c2'>b</span> <b class='c3'>c</b> <i "
            "class='c4'>d</i> "
            "<span class='c5'>e</span> <span class='c6'>f</span> <span class='c7'>g</span> <b "
            "class='c2'>h</b></p>"
            "</body></html>"
        )
        paragraph = read_document(root).paragraphs[0]
        builder = BookBuilder()
        builder.add(paragraph.text, marks=paragraph.marks)
        assert styled(builder.build(title="T", source_format="html")) == [
            (Style.EMPHASIS, "a"),
            (Style.EMPHASIS, "b"),
            (Style.EMPHASIS, "d"),
            (Style.STRONG, "d"),
            (Style.SMALL_CAPITALS, "f"),
            (Style.SUPERSCRIPT, "g"),
            (Style.STRONG, "h"),
        ]

    def test_emphasis_elements_win_over_the_style_sheet(self) -> None:
        body = (
            '<p><em style="font-style: normal">a</em> <span style="-epub-text-emphasis-style: '
            'filled dot">b</span></p>'
        )
        assert styled(read(body)) == [(Style.EMPHASIS, "a"), (Style.EMPHASIS, "b")]

    def test_block_styles_are_inherited_except_by_headings(self) -> None:
        book = read(
            '<div style="font-style: italic; vertical-align: super"><p>A <i>b</i></p><p>C</p></div>'
            '<h2 style="font-weight: bold">D</h2>'
        )
        assert styled(book) == [(Style.EMPHASIS, "A b"), (Style.EMPHASIS, "C")]

    @pytest.mark.parametrize(
        "sheet",
        [
            "",
            "}",
            "{",
            "a{b}c{",
            "/*",
            ".a{font-style:italic",
            "x" * 2_000_000,
            "{" * 900_000,
            "/*" * 400_000,
        ],
        ids=lambda sheet: sheet[:20] or "empty",
    )
    def test_a_broken_style_sheet_is_ignored(self, sheet: str) -> None:
        assert set(read_sheet(sheet)) <= {".a"}
