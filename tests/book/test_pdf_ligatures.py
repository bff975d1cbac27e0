"""Letters lost from ligatures are restored, and no others are inserted."""

import pytest

from gistread.book.formats.pdf.word_repair import restore_ligatures
from tests.book.make_pdf import Put, Sheet, read


@pytest.mark.parametrize(
    ("lost", "place", "word"),
    [
        ("fnd", 0, "find"),
        ("diffcult", 3, "difficult"),
        ("signifcant", 5, "significant"),
        ("fve", 0, "five"),
        ("feld", 0, "field"),
        ("modifed", 4, "modified"),
        ("modifes", 4, "modifies"),
        ("fow", 0, "flow"),
        ("conficts", 3, "conflicts"),
        ("refect", 2, "reflect"),
        ("fed", 0, "fled"),
        ("fesh", 0, "flesh"),
        ("shuffing", 4, "shuffling"),
        ("wi-f", 3, "wi-fi"),
        ("afrm", 1, "afirm"),
    ],
)
def test_the_letter_is_told_by_what_follows(lost: str, place: int, word: str) -> None:
    assert restore_ligatures(lost, {place}) == word


def test_several_at_once_and_none() -> None:
    assert restore_ligatures("a fne fow of feld work", {2, 6, 13}) == "a fine flow of field work"
    assert restore_ligatures("after", set()) == "after"


def test_ligatures_that_the_file_explains_gain_no_letter() -> None:
    book = read(Sheet([Put(20, 500, "The \x01rst of\x01ce has a \x02at for \x01ve of\x01cers.")]))
    assert book.text == "The first office has a flat for five officers."


def test_letters_of_a_font_at_several_horizontal_scales_gain_none() -> None:
    words = "Before the first of four forms."
    book = read(Sheet([Put(20, 500 - 12 * n, words, stretch=1 + n / 4) for n in range(4)]))
    assert book.text.split() == words.split() * 4
