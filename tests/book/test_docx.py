"""Word documents: styles, numbering, notes, fields, tracked changes."""

from typing import ClassVar

import pytest

from gistread.book.formats.elements import markup
from gistread.book.model import ParagraphKind, Style
from gistread.book.open import open_bytes
from gistread.errors import BookError
from tests.book.make_docx import docx, item, numbering, p, r, read
from tests.book.paragraphs import chapters, images, links, paragraphs, styles
from tests.book.promises import assert_keeps_promises


def texts(*body: str, **more: dict[str, str]) -> list[str]:
    return [text for _, text in paragraphs(read(*body, **more))]  # type: ignore[arg-type]


class TestParagraphs:
    def test_paragraphs_follow_their_styles(self) -> None:
        book = read(
            p("Rain", "heading1"),
            p("It rained."),
            p("Said he.", "Quote"),
            p("let a", "SourceCode"),
            p("  b", "SourceCode"),
            p("Roses are", "Verse"),
            p("red", "Verse"),
            p("* * *"),
            p("It went on."),
        )
        assert_keeps_promises(book)
        assert paragraphs(book) == [
            (ParagraphKind.HEADING, "Rain"),
            (ParagraphKind.TEXT, "It rained."),
            (ParagraphKind.QUOTE, "Said he."),
            (ParagraphKind.CODE, "let a\n  b"),
            (ParagraphKind.VERSE, "Roses are\nred"),
            (ParagraphKind.BREAK, "* * *"),
            (ParagraphKind.TEXT, "It went on."),
        ]

    def test_styles_inherit_even_in_a_circle(self) -> None:
        book = read(p("Rain", "MyChapter"), p("It rained.", "Loop"), p("And.", "gone"))
        assert paragraphs(book) == [
            (ParagraphKind.HEADING, "Rain"),
            (ParagraphKind.TEXT, "It rained."),
            (ParagraphKind.TEXT, "And."),
        ]

    def test_an_outline_level_makes_a_heading(self) -> None:
        book = read(p("Rain", properties='<w:outlineLvl w:val="1"/>'), p("It."))
        assert [(q.kind, q.level) for q in book.paragraphs] == [
            (ParagraphKind.HEADING, 2),
            (ParagraphKind.TEXT, 0),
        ]

    def test_line_breaks_and_tabs(self) -> None:
        assert texts(
            p(
                "<w:r><w:t>a</w:t><w:tab/><w:t>b</w:t><w:br/><w:t>c</w:t>"
                "<w:br w:type='page'/></w:r>"
            )
        ) == ["a b\nc"]

    def test_an_empty_paragraph_is_a_scene_break_unless_there_are_many(self) -> None:
        assert (
            texts(*[p("It rained.")] * 5, p(""), *[p("It rained.")] * 5).count("* * *")
            == 1
        )
        assert "* * *" not in texts(*[p("It rained."), p("")] * 9)

    def test_a_table_is_rows_and_a_frame_is_text(self) -> None:
        def cell(text: str, properties: str = "") -> str:
            return f"<w:tc><w:tcPr>{properties}</w:tcPr>{p(text)}</w:tc>"

        merged = '<w:vMerge w:val="restart"/>'
        book = read(
            f"<w:tbl><w:tr>{cell('Day', merged)}{cell('Rain')}</w:tr>"
            f"<w:tr>{cell('', '<w:vMerge/>')}{cell('2 mm')}</w:tr></w:tbl>",
            f"<w:tbl><w:tr>{cell('A frame.')}</w:tr></w:tbl>",
        )
        assert paragraphs(book) == [
            (ParagraphKind.TABLE, "Day | Rain\n2 mm"),
            (ParagraphKind.TEXT, "A frame."),
        ]

    def test_text_boxes_and_content_controls_are_read_once(self) -> None:
        box = f"<w:txbxContent>{p('In a box.')}</w:txbxContent>"
        drawn = (
            f"<w:r><mc:AlternateContent><mc:Choice><w:drawing>{box}</w:drawing></mc:Choice>"
            f"<mc:Fallback><w:pict>{box}</w:pict></mc:Fallback></mc:AlternateContent></w:r>"
        )
        control = f"<w:sdt><w:sdtPr/><w:sdtContent>{p('In a control.')}</w:sdtContent></w:sdt>"
        assert texts(p(r("Around.") + drawn), control) == [
            "Around.",
            "In a box.",
            "In a control.",
        ]

    def test_a_generated_table_of_contents_is_left_out(self) -> None:
        assert texts(p("Rain\t3", "toc1"), p("Rain", "heading1"), p("It.")) == [
            "Rain",
            "It.",
        ]
        control = (
            '<w:sdt><w:sdtPr><w:docPartObj><w:docPartGallery w:val="Table of '
            'Contents"/></w:docPartObj></w:sdtPr>'
            f"<w:sdtContent>{p('Rain 3')}</w:sdtContent></w:sdt>"
        )
        assert texts(control, p("Rain", "heading1"), p("It.")) == ["Rain", "It."]

    def test_equations_are_typed_out(self) -> None:
        half = (
            "<m:f><m:num><m:r><m:t>1</m:t></m:r></m:num>"
            "<m:den><m:r><m:t>a+b</m:t></m:r></m:den></m:f>"
        )
        assert texts(p(f"{r('x = ')}<m:oMath>{half}</m:oMath>")) == ["x = 1/(a+b)"]
        cells = "".join(f"<m:e><m:r><m:t>{cell}</m:t></m:r></m:e>" for cell in "ab")
        hat = "<m:acc><m:e><m:r><m:t>x</m:t></m:r></m:e></m:acc>"
        rows = f"<m:m><m:mr>{cells}</m:mr><m:mr>{cells}</m:mr></m:m>{hat}"
        assert texts(p(f"<m:oMath>{rows}</m:oMath>")) == ["a b; a b x̂"]


class TestLists:
    def test_list_items_are_numbered_as_in_word(self) -> None:
        book = read(
            item("Bread"),
            item("hard", 1),
            item("soft", 1),
            item("Cheese"),
            item("old", 1),
            p("Then."),
            item("Rope"),
            item("Anew", 0, "2"),
            parts={
                "numbering": numbering(("decimal", "%1."), ("lowerLetter", "%1%2)"))
            },
        )
        assert paragraphs(book) == [
            (ParagraphKind.LIST, "1. Bread"),
            (ParagraphKind.LIST, "1a) hard"),
            (ParagraphKind.LIST, "1b) soft"),
            (ParagraphKind.LIST, "2. Cheese"),
            (ParagraphKind.LIST, "2a) old"),
            (ParagraphKind.TEXT, "Then."),
            (ParagraphKind.LIST, "3. Rope"),
            (ParagraphKind.LIST, "1. Anew"),
        ]
        assert [q.level for q in book.paragraphs][:3] == [1, 2, 2]

    @pytest.mark.parametrize(
        ("form", "marks"),
        [("upperRoman", ["I.", "II."]), ("bullet", ["•", "•"]), ("none", ["", ""])],
    )
    def test_list_items_have_the_markers_of_their_format(
        self, form: str, marks: list[str]
    ) -> None:
        items = texts(
            item("a"),
            item("b"),
            parts={
                "numbering": numbering((form, "\uf0b7" if form == "bullet" else "%1."))
            },
        )
        assert items == [
            f"{mark} {word}".strip() for mark, word in zip(marks, "ab", strict=True)
        ]

    def test_list_numbering_may_come_from_a_style(self) -> None:
        assert texts(
            p("Bread", "ListBullet"), parts={"numbering": numbering(("bullet", "-"))}
        ) == ["- Bread"]

    def test_headings_keep_their_numbers(self) -> None:
        numbered = '<w:numPr><w:ilvl w:val="0"/><w:numId w:val="1"/></w:numPr>'
        body = (
            p("The Rain", "heading1", numbered),
            p("It."),
            p("The Sun", "heading1", numbered),
            p("It."),
        )
        assert (
            texts(*body, parts={"numbering": numbering(("decimal", "Chapter %1"))})[0]
            == "Chapter 1. The Rain"
        )
        assert (
            texts(*body, parts={"numbering": numbering(("decimal", "%1."))})[2]
            == "2. The Sun"
        )


class TestWords:
    def test_character_formats_follow_runs_and_equal_runs_are_joined(self) -> None:
        book = read(
            p(
                r("It ")
                + r("rai", "<w:i/>")
                + r("ned ", '<w:i/><w:lang w:val="en-GB"/>')
                + r("all", "<w:b/>")
                + r(" day", '<w:b w:val="0"/>')
                + r("2", '<w:vertAlign w:val="superscript"/>')
                + r(" so", '<w:rStyle w:val="Emphasis"/>')
                + r(" Mr", "<w:smallCaps/>")
                + r("hidden", "<w:vanish/>")
            )
        )
        assert book.text == "It rained all day2 so Mr"
        assert [
            (style, words)
            for style, words in styles(book)
            if style is not Style.EMPHASIS
        ] == [
            (Style.STRONG, "all"),
            (Style.SUPERSCRIPT, "2"),
            (Style.SMALL_CAPITALS, "Mr"),
        ]

    def test_adjacent_runs_of_one_format_are_one_span(self) -> None:
        assert styles(
            read(p(r("rai", "<w:i/>") + "<w:proofErr/>" + r("ned", "<w:i/>")))
        ) == [(Style.EMPHASIS, "rained")]

    def test_tracked_changes_are_accepted_with_a_notice(self) -> None:
        book = read(
            p(
                r("It ")
                + f"<w:ins>{r('rained')}</w:ins>"
                + "<w:del><w:r><w:delText>snowed</w:delText></w:r></w:del>"
                + r(".")
            ),
            p(r("One "), properties="<w:rPr><w:del/></w:rPr>"),
            p("paragraph."),
        )
        assert book.text == "It rained.\n\nOne paragraph."
        assert book.notices == (
            "The document holds tracked changes; it was read as if all of them had been accepted.",
            "1 deleted word was left out.",
        )

    def test_hidden_words_are_counted(self) -> None:
        book = read(p(r("It rained. ") + r("Not here", "<w:vanish/>")))
        assert (book.text, book.notices) == (
            "It rained.",
            ("2 hidden words were left out.",),
        )

    def test_a_field_without_an_end_hides_no_later_paragraph(self) -> None:
        assert texts(
            p("One"), p('<w:r><w:fldChar w:fldCharType="begin"/></w:r>'), p("Two")
        ) == [
            "One",
            "Two",
        ]

    def test_drawn_letters_and_descriptions_of_diagrams_are_read(self) -> None:
        drawn = '<w:r><w:pict><v:shape><v:textpath string="Big letters"/></v:shape></w:pict></w:r>'
        diagram = (
            '<w:r><w:drawing><wp:inline><wp:docPr id="1" descr="A '
            'cycle"/></wp:inline></w:drawing></w:r>'
        )
        assert texts(p(drawn), p(diagram)) == ["Big letters", "[A cycle]"]

    def test_comments_are_left_out_with_a_notice(self) -> None:
        book = read(p(r("It rained.") + "<w:r><w:commentReference w:id='1'/></w:r>"))
        assert (book.text, book.notices) == ("It rained.", ("1 comment was left out.",))

    def test_symbols_hyphens_and_readings(self) -> None:
        ruby = f"<w:ruby><w:rt>{r('ゆき')}</w:rt><w:rubyBase>{r('雪')}</w:rubyBase></w:ruby>"
        assert texts(
            p(
                "<w:r><w:sym "
                "w:char='F0E0'/><w:t>a</w:t><w:noBreakHyphen/><w:softHyphen/><w:t>b</w:t></w:r>"
            )
        ) == ["→a‑b"]
        assert texts(p(f"<w:r>{ruby}</w:r>")) == ["雪（ゆき）"]

    def test_languages_of_runs_are_kept(self) -> None:
        book = read(
            p(
                r("It rained and rained. ", '<w:lang w:val="en-GB"/>')
                + r("Pluie", '<w:lang w:val="fr-FR"/>')
            )
        )
        assert book.language == "en-GB"
        assert [
            (f.language, book.text[f.start : f.end]) for f in book.language_spans
        ] == [("fr-FR", "Pluie")]

    def test_a_default_language_that_contradicts_the_text_is_ignored(self) -> None:
        assert (
            read(
                p(r("Шёл дождь, и снег шёл тоже.", '<w:lang w:val="en-US"/>'))
            ).language
            == ""
        )


class TestLinks:
    def test_links_lead_to_bookmarks_and_addresses(self) -> None:
        field = (
            '<w:r><w:fldChar w:fldCharType="begin"/></w:r>'
            '<w:r><w:instrText> HYPERLINK "http://example.org/b" </w:instrText></w:r>'
            f'<w:r><w:fldChar w:fldCharType="separate"/></w:r>{r("field")}<w:r><w:fldChar '
            'w:fldCharType="end"/></w:r>'
        )
        below = r("below", '<w:rStyle w:val="Hyperlink"/>')
        book = read(
            p(
                f'<w:hyperlink w:anchor="sun">{below}</w:hyperlink>'
                f'{r(", ")}<w:hyperlink r:id="x">{r("there")}</w:hyperlink>{r(", ")}{field}{r(".")}'
                f'<w:fldSimple w:instr=" REF sun \\h ">{r("see")}</w:fldSimple>'
            ),
            '<w:bookmarkStart w:id="1" w:name="sun"/>',
            p("The sun."),
            relations={"x": ("hyperlink", "http://example.org/a")},
        )
        assert book.text == "below, there, field.see\n\nThe sun."
        assert links(book) == [
            ("below", "The sun."),
            ("there", "http://example.org/a"),
            ("field", "http://example.org/b"),
            ("see", "The sun."),
        ]
        assert styles(book) == []

    NOTES = (
        '<w:footnote w:type="separator" w:id="-1"><w:p/></w:footnote>'
        "<w:footnote "
        f'w:id="2">{p("<w:r><w:footnoteRef/></w:r>" + r(" A note."))}{p("More.")}</w:footnote>'
        f'<w:footnote w:id="5">{p("Another.")}</w:footnote>'
    )

    def test_note_references_lead_to_whole_notes(self) -> None:
        book = read(
            p("Rain", "heading1"),
            p(r("It rained") + '<w:r><w:footnoteReference w:id="5"/></w:r>' + r(".")),
            p(
                r("And")
                + (
                    '<w:r><w:footnoteReference w:id="2"/></w:r><w:r><w:endnoteReference '
                    'w:id="1"/></w:r>'
                )
            ),
            parts={
                "footnotes": self.NOTES,
                "endnotes": f'<w:endnote w:id="1">{p("At the end.")}</w:endnote>',
            },
        )
        assert links(book) == [
            ("[1]", "1. Another."),
            ("[2]", "2. A note.\n\nMore."),
            ("[i]", "i. At the end."),
        ]
        assert [kind for kind, _ in paragraphs(book)][3:] == [ParagraphKind.NOTE] * 4
        assert chapters(book) == [(1, "Rain"), (1, "Notes")]

    def test_note_references_may_have_custom_signs(self) -> None:
        book = read(
            p(
                r("It")
                + '<w:r><w:footnoteReference w:customMarkFollows="1" w:id="2"/><w:t>*</w:t></w:r>'
                + r(" rained.")
            ),
            parts={"footnotes": self.NOTES},
        )
        assert book.text == "It[*] rained.\n\n* A note.\n\nMore."
        assert links(book) == [("[*]", "* A note.\n\nMore.")]


class TestPictures:
    DRAWING = (
        '<w:r><w:drawing><wp:inline><wp:docPr id="1" name="Picture 1"{}/><a:graphic><a:blip '
        'r:embed="i"/></a:graphic>'
        "</wp:inline></w:drawing></w:r>"
    )
    IMAGE: ClassVar = {"i": ("image", "media/rain.png")}

    def test_pictures_are_described_by_their_alternative_text(self) -> None:
        book = read(
            p(r("See ") + self.DRAWING.format(' descr="rain"') + r(".")),
            relations=self.IMAGE,
        )
        assert images(book) == [("word/media/rain.png", "[rain]")]

    def test_pictures_are_described_by_their_caption(self) -> None:
        book = read(
            p(self.DRAWING.format("")),
            p("Figure 1: Rain", "caption"),
            p("It."),
            relations=self.IMAGE,
        )
        assert paragraphs(book)[0] == (ParagraphKind.IMAGE, "Figure 1: Rain")
        assert images(book) == [("word/media/rain.png", "Figure 1: Rain")]

    def test_a_rule_is_a_scene_break(self) -> None:
        assert texts(
            p("One."), p("<w:r><w:pict><v:rect o:hr='t'/></w:pict></w:r>"), p("Two.")
        ) == [
            "One.",
            "* * *",
            "Two.",
        ]


class TestDocument:
    def test_the_metadata_is_read(self) -> None:
        core = (
            "<dc:title>Rain</dc:title><dc:creator>Jane Doe; John "
            "Roe</dc:creator><dc:language>en-GB</dc:language>"
        )
        book = open_bytes(docx(p("It rained."), core=core), "x.docx")
        assert (book.title, book.authors, book.language) == (
            "Rain",
            ("Jane Doe", "John Roe"),
            "en-GB",
        )
        assert book.source_format == "docx"

    def test_chapters_are_below_the_title(self) -> None:
        book = read(
            p("The Rain", "Title"),
            p("By Jane"),
            p("One", "heading1"),
            p("It."),
            p("Two", "heading1"),
            p("It."),
        )
        assert book.title == "The Rain"
        assert chapters(book) == [(1, "One"), (1, "Two")]

    def test_the_document_part_is_found_by_its_relationship(self) -> None:
        assert (
            open_bytes(docx(p("It rained."), main="word/text/main2.xml"), "x.docx").text
            == "It rained."
        )

    @pytest.mark.parametrize("body", ["", p(""), "<w:tbl/>"])
    def test_a_book_without_text_is_refused(self, body: str) -> None:
        with pytest.raises(BookError, match="no readable text"):
            open_bytes(docx(body), "x.docx")

    def test_a_document_of_only_markup_is_refused(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(markup, "_MOST_TAGS", 100)
        with pytest.raises(BookError, match="more tags than any book"):
            open_bytes(docx("<w:p/>" * 200), "x.docx")

    def test_extreme_nesting_is_refused_or_read(self) -> None:
        deep = (
            "<w:sdt><w:sdtContent>" * 100 + p("deep") + "</w:sdtContent></w:sdt>" * 100
        )
        assert texts(p("It rained."), deep)[0] == "It rained."

    @pytest.mark.parametrize(
        "tag", ["w:tbl><w:tr><w:tc", "w:sdt><w:sdtContent", "w:ins"]
    )
    def test_words_nested_too_deeply_are_read(self, tag: str) -> None:
        closing = "".join(f"</{name}>" for name in reversed(tag.split("><")))
        nested = (
            "".join(f"<{tag}>{p(f'w{number}')}" for number in range(400))
            + closing * 400
        )
        assert read(nested).text.split() == [f"w{number}" for number in range(400)]

    @pytest.mark.parametrize("what", ["&#xd800;", "&#1;", "\x01"])
    def test_invalid_xml_characters_are_ignored(self, what: str) -> None:
        assert read(p(f"It {what}rained.")).text.replace("\ufffd", "") == "It rained."

    def test_malformed_xml_is_read_with_a_notice(self) -> None:
        book = read(p("It rained."), p("<w:r><w:t>And <b>it</i> went on.</w:t></w:r>"))
        assert book.text == "It rained.\n\nAnd it went on."
        assert "not well-formed" in book.notices[0]

    def test_no_entity_is_resolved(self) -> None:
        data = docx(p("It &p; rained."))
        assert b"root:" not in open_bytes(data, "x.docx").text.encode()

    def test_every_cut_is_a_book_error(self) -> None:
        data = docx(p("It rained.") * 20)
        for size in range(0, len(data), 11):
            with pytest.raises(BookError):
                open_bytes(data[:size], "cut.docx")


class TestNoWordIsLost:
    @pytest.mark.parametrize(
        "wrapper", ["sdt", "ins", "customXml", "smartTag", "unknown"]
    )
    def test_rows_are_kept_whatever_wraps_them(self, wrapper: str) -> None:
        def row(*cells: str) -> str:
            return (
                f"<w:tr>{''.join(f'<w:tc>{p(cell)}</w:tc>' for cell in cells)}</w:tr>"
            )

        wrapped = f"<w:{wrapper}>{row('Bread', '4')}</w:{wrapper}>"
        assert texts(f"<w:tbl>{row('Prices of 1820')}{wrapped}</w:tbl>") == [
            "Prices of 1820\nBread | 4"
        ]

    @pytest.mark.parametrize(
        "outside",
        [
            r("It poured."),
            "<w:t>It poured.</w:t>",
            f"<w:hyperlink>{r('It poured.')}</w:hyperlink>",
            f"<w:tcPr>{p('It poured.')}</w:tcPr>",
            f"<w:p>{p('It poured.')}</w:p>",
            p(f"<w:drawing>{r('It poured.')}</w:drawing>"),
            p(f"<w:ruby>{r('It poured.')}</w:ruby>"),
            p(r("It poured."), properties="<w:rPr><w:del/></w:rPr>"),
        ],
    )
    def test_words_in_unexpected_places_are_read(self, outside: str) -> None:
        assert texts(p("It rained."), outside) == ["It rained.", "It poured."]

    def test_the_second_form_of_alternate_content_is_no_second_text(self) -> None:
        forms = (
            f"<mc:Choice>{p('Rain')}</mc:Choice><mc:Fallback>{p('Rain')}</mc:Fallback>"
        )
        assert texts(f"<mc:AlternateContent>{forms}</mc:AlternateContent>") == ["Rain"]
        forms = f"<mc:Choice>{p('')}</mc:Choice><mc:Fallback>{p('Rain')}</mc:Fallback>"
        assert texts(f"<mc:AlternateContent>{forms}</mc:AlternateContent>") == ["Rain"]

    @pytest.mark.parametrize(
        ("code", "character"),
        [("F061", "α"), ("F0A3", "≤"), ("F0B1", "±"), ("F044", "Δ")],
    )
    def test_characters_of_the_font_symbol(self, code: str, character: str) -> None:
        book = read(p(f'<w:r><w:sym w:font="Symbol" w:char="{code}"/></w:r>'))
        assert book.text == character

    def test_text_in_the_font_symbol(self) -> None:
        font = '<w:rFonts w:ascii="Symbol" w:hAnsi="Symbol"/>'
        assert read(p(r("\uf067", font))).text == "γ"

    def test_a_character_of_an_unknown_font_is_counted(self) -> None:
        book = read(p(r("Rain") + '<w:r><w:sym w:font="Odd" w:char="F001"/></w:r>'))
        assert book.notices == ("1 character of symbol fonts was left out.",)

    def test_a_paragraph_with_the_style_of_contents_is_dropped_only_as_an_entry(
        self,
    ) -> None:
        book = read(
            p("Contents", "toc1"),
            p("The Storm\t7", "toc1"),
            p("It rained for days on end, and nobody went out.", "toc1"),
            p("The Storm", "heading1"),
            p("It rained."),
        )
        assert "nobody went out" in book.text
        assert "7" not in book.text
        assert any("of the table of contents" in notice for notice in book.notices)
