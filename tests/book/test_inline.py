"""Inline marks end up at the right words of the finished text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gistread.book.builder import BookBuilder, LinkTarget
from gistread.book.inline import (
    InlineMark,
    attach_marks,
    closing,
    extract_marks,
    opening,
)
from gistread.book.model import ParagraphKind, Style

EM = InlineMark(style=Style.EMPHASIS)


def marked(text: str) -> str:
    """`{` and `}` enclose the first mark, `<` and `>` the second."""
    for sign, mark in zip(
        "{}<>", (opening(0), closing(0), opening(1), closing(1)), strict=True
    ):
        text = text.replace(sign, mark)
    return text


@pytest.mark.parametrize(
    ("raw", "text", "covered"),
    [
        ("one {two} three", "one two three", ["two"]),
        ("one { two } three", "one two three", ["two"]),
        ("  {one}\n two ", "one two", ["one"]),
        ("one{ }two", "one two", []),
        ("one {} two", "one two", []),
        ("a {b <c> d} e", "a b c d e", ["b c d", "c"]),
        ("a { <b> } c", "a b c", ["b", "b"]),
        ("{a\n\nb", "a b", ["a b"]),
        ("{a\u0301} b", "á b", ["á"]),
    ],
)
def test_marks_cover_the_words_they_were_put_around(
    raw: str, text: str, covered: list[str]
) -> None:
    builder = BookBuilder()
    builder.add("before")
    builder.add(marked(raw), marks=(EM, InlineMark(style=Style.STRONG)))
    book = builder.build(title="T", source_format="text")
    assert book.text == f"before\n\n{text}"
    assert [book.text[span.start : span.end] for span in book.spans] == covered


def test_verse_keeps_its_lines_and_its_indents_under_marks() -> None:
    builder = BookBuilder()
    builder.add(
        marked("{One line\n  and another}\nlast"), ParagraphKind.VERSE, marks=(EM,)
    )
    book = builder.build(title="T", source_format="text")
    assert book.text == "One line\n  and another\nlast"
    assert [book.text[span.start : span.end] for span in book.spans] == [
        "One line\n  and another"
    ]


def test_links_have_a_place_notes_an_end_and_addresses_are_external() -> None:
    builder = BookBuilder()
    builder.add(
        marked("See {here} and <there>."),
        marks=(
            InlineMark(href="#a", is_note=True),
            InlineMark(href="https://b.example"),
        ),
    )
    start = builder.next_start
    builder.add("The note.", ParagraphKind.NOTE)
    book = builder.build(
        title="T",
        source_format="text",
        resolve=lambda mark: (
            LinkTarget(start, start + 9) if mark.href == "#a" else None
        ),
    )
    note, out = book.links
    assert book.text[note.target : note.target_end] == "The note."
    assert (out.target, out.target_end, out.address) == (
        None,
        None,
        "https://b.example",
    )


WORDS = st.text(alphabet=" \n.ab", max_size=8)


@given(WORDS, WORDS, WORDS, WORDS, WORDS)
def test_marks_never_change_the_words(
    before: str, outer: str, inner: str, more: str, behind: str
) -> None:
    with_marks, without = BookBuilder(), BookBuilder()
    for builder in (with_marks, without):  # a book has some text
        builder.add("Rain.")
    added = with_marks.add(
        marked(f"{before}{{{outer}<{inner}>{more}}}{behind}"), marks=(EM, EM)
    )
    assert added == without.add(before + outer + inner + more + behind)
    book = with_marks.build(title="T", source_format="text")
    assert book.text == without.build(title="T", source_format="text").text
    assert all(0 <= span.start < span.end <= len(book.text) for span in book.spans)


def test_text_without_marks_is_unchanged() -> None:
    assert attach_marks("a  b\n c") == "a  b\n c"
    assert extract_marks("a b") == ("a b", [])
