"""Italics, raised figures and links of the book are shown without changing its text."""

from gistread.book.model import (
    Book,
    Chapter,
    Image,
    Link,
    Paragraph,
    ParagraphKind,
    Span,
    Style,
)
from gistread.tui.book_blocks import BookBlocks, inline_spans, is_story
from gistread.tui.text import Clicked
from gistread.tui.text.widget import LongText
from tests.tui.text.scene import Screen, row, settle

TEXT = "It was very odd.1 See the end.\n\nAn area of 10m2.\n\n1. The note of it."


def book(kind: ParagraphKind = ParagraphKind.TEXT) -> Book:
    at = TEXT.index
    return Book(
        TEXT,
        "T",
        (
            Paragraph(0, 30, kind),
            Paragraph(32, 48),
            Paragraph(50, len(TEXT), ParagraphKind.NOTE),
        ),
        (Chapter("T", 0, len(TEXT)),),
        spans=(
            Span(at("very"), at("very") + 4, Style.EMPHASIS),
            Span(16, 17, Style.SUPERSCRIPT),
            Span(at("10"), at("10") + 2, Style.STRONG),
            Span(at("m2") + 1, at("m2") + 2, Style.SUPERSCRIPT),
        ),
        links=(
            Link(16, 17, 50, len(TEXT)),
            Link(at("the end"), at("the end") + 7, len(TEXT) - 2),
        ),
        images=(Image(at("An area"), at("An area") + 7, "area.png"),),
    )


def test_blocks_have_the_styles_and_links_of_their_words() -> None:
    block = BookBlocks(book())[0]
    assert [
        (block.text[span.start : span.end], span.style, span.link)
        for span in block.spans
    ] == [
        ("very", "emphasis", None),
        ("1", "superscript", None),
        ("1", "note-link", 0),
        ("the end", "link", 1),
    ]


def test_a_piece_of_a_paragraph_has_the_marks_inside_it() -> None:
    spans = inline_spans(book(), TEXT.index("ry odd"), TEXT.index(" See"))
    assert [(span.start, span.end, span.style) for span in spans][:2] == [
        (0, 2, "emphasis"),
        (7, 8, "superscript"),
    ]


def test_rows_of_a_list_hang_behind_its_marker_and_verse_turns_over() -> None:
    text = "• One thing and another"
    chapters = (Chapter("T", 0, len(text)),)

    def turnover(kind: ParagraphKind, level: int) -> int:
        paragraph = Paragraph(0, len(text), kind, level)
        return BookBlocks(Book(text, "T", (paragraph,), chapters))[0].turnover

    assert turnover(ParagraphKind.LIST, 1) == 2
    assert turnover(ParagraphKind.VERSE, 0) > 0


async def test_styles_are_drawn_and_a_raised_figure_is_raised() -> None:
    widget = LongText(BookBlocks(book()))
    async with Screen(widget).run_test(size=(50, 10)) as pilot:
        await settle(pilot)
        assert "odd.¹ See" in row(widget, 1)
        drawn = {segment.text: segment.style for segment in widget.render_line(1)}
        assert drawn["very"].italic
        assert drawn["the end"].underline
        assert drawn["¹"].bold
        assert "10m²" in row(widget, 3)


async def test_a_click_on_a_link_of_the_book_names_it() -> None:
    widget = LongText(BookBlocks(book()))
    app = Screen(widget)
    async with app.run_test(size=(50, 10)) as pilot:
        await settle(pilot)
        await pilot.click(offset=(row(widget, 1).index("the end") + 2, 1))
        await pilot.pause()
        assert [event.link for event in app.heard_of(Clicked)] == [1]


def test_a_book_in_which_people_talk_is_a_story() -> None:
    def written(share: int) -> Book:
        """Of a hundred paragraphs, one in so many is spoken."""
        text = ""
        paragraphs = []
        for number in range(100):
            start = len(text)
            text += "The fog came on." if number % share else "“Come in,” he said."
            paragraphs.append(Paragraph(start, len(text)))
            text += "\n\n"
        return Book(text.rstrip(), "T", tuple(paragraphs), (Chapter("T", 0, 10),))

    assert is_story(written(4))
    assert not is_story(written(20))


def test_the_lines_of_a_title_page_are_centred_and_no_others() -> None:
    parts = ("Titlepage", "By Oscar Wilde.", "Chapter 1", "It began.")
    text, paragraphs = "\n\n".join(parts), list[Paragraph]()
    for number, part in enumerate(parts):
        kind = ParagraphKind.TEXT if number % 2 else ParagraphKind.HEADING
        paragraphs.append(
            Paragraph(
                text.index(part), text.index(part) + len(part), kind, 1 - number % 2
            )
        )
    chapters = (
        Chapter(parts[0], 0, paragraphs[2].start),
        Chapter(parts[2], paragraphs[2].start, len(text)),
    )
    shown = BookBlocks(Book(text, "T", tuple(paragraphs), chapters))
    assert [block.align for block in shown] == ["center", "center", "center", "left"]
