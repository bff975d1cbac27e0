"""Links find their targets, and note references their notes."""

import pytest

from gistread.book.model import Book, Link, ParagraphKind
from gistread.book.open import open_bytes
from tests.book.make_epub import epub, package, page, read_pages


def links(book: Book) -> list[tuple[str, str | None]]:
    """The words of each link and of its target: a whole note, or the first words elsewhere."""
    return [
        (book.text[link.start : link.end], _words(book, link)) for link in book.links
    ]


def _words(book: Book, link: Link) -> str | None:
    if link.target is None:
        return link.address
    return book.text[link.target : link.target_end or link.target + 5]


def notes(book: Book) -> list[str]:
    return [
        book.text[p.start : p.end]
        for p in book.paragraphs
        if p.kind is ParagraphKind.NOTE
    ]


class TestPlaces:
    def test_a_link_leads_to_the_paragraph_of_its_anchor_in_another_file(self) -> None:
        book = read_pages(
            '<p>See <a href="c1.xhtml#b">below</a>, <a href="c1.xhtml">there</a>.</p>',
            '<p>First.</p><p>Then <i id="b">this</i>.</p><p>Go <a href="./c0.xhtml">back</a>.</p>',
        )
        assert links(book) == [
            ("below", "Then "),
            ("there", "First"),
            ("back", "See b"),
        ]

    def test_a_link_to_a_differently_encoded_file_name_resolves(self) -> None:
        files = {
            "a.xhtml": page('<p><a href="My%20Book.XHTML#x%C3%A9">go</a></p>'),
            "my book.xhtml": page("<p>Here.</p>"),
        }
        book = open_bytes(epub(files, package(["a.xhtml", "my%20book.xhtml"])), "x")
        assert links(book) == [("go", "Here.")]

    def test_a_broken_link_is_dropped(self) -> None:
        book = read_pages(
            '<p><a href="gone.xhtml">a</a> <a href="#gone">b</a> <a href="c0.xhtml#gone">c</a> '
            "d</p>"
        )
        assert book.links == ()
        assert book.text == "a b c d"

    def test_an_external_link_keeps_its_address_and_nothing_is_fetched(self) -> None:
        book = read_pages(
            '<p><a href="https://a.example/b#c">a</a> <a href="mailto:b@a.example">b</a></p>'
        )
        assert links(book) == [
            ("a", "https://a.example/b#c"),
            ("b", "mailto:b@a.example"),
        ]

    def test_an_anchor_after_the_last_words_means_the_last_paragraph(self) -> None:
        assert links(
            read_pages('<p><a href="#end">a</a></p><p>The last.</p><div id="end"/>')
        ) == [("a", "The l")]


TYPED = '<aside epub:type="footnote" id="n"><p>A note.</p><p>And more.</p></aside>'


class TestNotes:
    @pytest.mark.parametrize(
        ("text", "note", "expected", "label"),
        [
            pytest.param(
                'rain<a epub:type="noteref" href="#n">1</a>',
                TYPED,
                "A note.\n\nAnd more.",
                "1",
                id="EPUB 3",
            ),
            pytest.param(
                'rain<a href="#n">1</a>',
                TYPED,
                "A note.\n\nAnd more.",
                "1",
                id="only the note says so",
            ),
            pytest.param(
                'rain<a role="doc-noteref" href="#n">1</a>',
                '<p id="n">A note.</p>',
                "A note.",
                "1",
                id="only the reference",
            ),
            pytest.param(
                'rain<a epub:type="noteref" href="#n">1</a>',
                '<section epub:type="endnotes"><ol><li id="n" epub:type="endnote"><p>A '
                "note.</p></li></ol></section>",
                "1. A note.",
                "1",
                id="endnotes",
            ),
            pytest.param(
                'rain<sup><a id="r" href="#n">1</a></sup>',
                '<p id="n"><sup><a href="#r">1</a></sup> A note.</p>',
                "[1] A note.",
                "1",
                id="raised numbers",
            ),
            pytest.param(
                'rain<a id="r" href="#n">[1]</a>',
                '<div class="footnote"><p><a id="n" href="#r">[1]</a> A note.</p>'
                "<p>More.</p></div>",
                "[1] A note.\n\nMore.",
                "1",
                id="Gutenberg",
            ),
            pytest.param(
                'rain<a id="r" href="#n"><span>1</span></a>',
                '<p><a id="n" href="#r">1</a>. A note.</p>',
                "1. A note.",
                "1",
                id="a mutual link",
            ),
            pytest.param(
                'rain<sup><a class="x duokan-footnote" href="#n"> <img src="n.png" alt="A '
                'note."/></a></sup>',
                '<ol class="duokan-footnote-content"><li class="duokan-footnote-item" id="n">A '
                "note.</li></ol>",
                "1. A note.",
                "*",
                id="a picture, as in China",
            ),
            pytest.param(
                'rain<span><a class="_idFootnoteLink _idGenColorInherit" id="r" '
                'href="#n">1</a></span>',
                '<hr/><div class="_idFootnotes"><div class="_idFootnote" id="n"><p>A '
                "note.</p></div></div>",
                "A note.",
                "1",
                id="InDesign",
            ),
            pytest.param(
                'rain<a href="#n">[*]</a>',
                '<p id="n">* A note.</p>',
                "* A note.",
                "*",
                id="the same sign",
            ),
            pytest.param(
                'rain<a id="r" href="#n">1</a>',
                '<p id="n">A note. <a href="#r">↩</a></p>',
                "A note. ↩",
                "1",
                id="an arrow at its end",
            ),
            pytest.param(
                'rain<a id="r" href="#n">1</a>',
                '<dl><dt id="n"><a href="#r">1</a></dt><dd>A note.</dd></dl>',
                "1\n\nA note.",
                "1",
                id="a list of definitions",
            ),
        ],
    )
    def test_a_reference_leads_to_the_whole_note(
        self, text: str, note: str, expected: str, label: str
    ) -> None:
        for book in (
            read_pages(f"<p>The {text} fell.</p><p>It went on.</p>{note}"),
            read_pages(
                f"<p>The {text} fell.</p><p>It went on.</p>".replace(
                    "#n", "c1.xhtml#n"
                ),
                note.replace("#r", "c0.xhtml#r"),
            ),
        ):
            reference = book.links[0]
            assert reference.target is not None
            assert book.text[reference.target : reference.target_end] == expected
            assert book.text[reference.start : reference.end] == f"[{label}]"
            assert book.text.startswith(f"The rain[{label}]")
            assert "\n\n".join(notes(book)) == expected
            assert all(link.target_end is None for link in book.links[1:])

    def test_notes_of_several_paragraphs_end_at_the_next_note(self) -> None:
        book = read_pages(
            '<p>Rain<a id="r1" href="#n1">1</a> and wind<a id="r2" href="#n2">2</a>.</p>'
            '<h2>Notes</h2><p><a id="n1" href="#r1">1</a> A note.</p><p>And more.</p>'
            '<p><a id="n2" href="#r2">2</a> Another.</p><p>The end.</p>'
        )
        assert [words for _, words in links(book)][:2] == [
            "1 A note.\n\nAnd more.",
            "2 Another.",
        ]

    def test_notes_between_paragraphs_do_not_swallow_the_text_around_them(self) -> None:
        book = read_pages(
            '<p>Rain<a id="r1" href="#n1">1</a>.</p><p><a id="n1" href="#r1">1</a> A note.</p>'
            '<p>Wind<a id="r2" href="#n2">2</a>.</p><p><a id="n2" href="#r2">2</a> '
            "Another.</p><p>The end.</p>"
        )
        assert notes(book) == ["1 A note.", "2 Another."]

    def test_contents_with_links_back_are_not_notes(self) -> None:
        book = read_pages(
            '<p><a id="t1" href="#c1">I</a></p><p><a id="t2" href="#c2">II</a></p><h2 id="c1"><a '
            'href="#t1">I</a></h2>'
            '<p>Rain.</p><p id="c2"><a href="#t2">II</a></p><p>Wind.</p>'
        )
        assert notes(book) == []
        assert all(link.target_end is None for link in book.links)

    def test_a_page_number_link_is_not_a_note(self) -> None:
        book = read_pages(
            '<ul><li>Rain, <a href="#p">12</a>, <a href="#q">13</a></li></ul><p id="p">It <b '
            'id="q"/>rained.</p>'
        )
        assert notes(book) == []
        assert book.text.startswith("• Rain, 12, 13")

    def test_a_rule_above_a_note_is_not_part_of_it(self) -> None:
        book = read_pages(
            '<p>Rain<a id="r" href="#n">1</a>.</p><div id="n"><hr/><p><a href="#r">[1]</a> A '
            "note.</p></div>"
        )
        assert links(book)[0] == ("[1]", "[1] A note.")
