"""Letters, accents and spaces that a PDF's fonts hide are restored, and no others are inserted."""

import pytest

from gistread.book.formats.pdf.ligatures import lost_letter, name_tex_ligatures
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
def test_a_lost_letter_is_inferred_from_what_follows(
    lost: str, place: int, word: str
) -> None:
    assert lost[: place + 1] + lost_letter(lost, place) + lost[place + 1 :] == word


@pytest.mark.process
def test_ligatures_with_a_mapping_gain_no_letter() -> None:
    book = read(
        Sheet(
            [Put(20, 500, "The \x01rst of\x01ce has a \x02at for \x01ve of\x01cers.")]
        )
    )
    assert book.text == "The first office has a flat for five officers."


@pytest.mark.process
def test_horizontally_scaled_fonts_gain_no_letters() -> None:
    words = "Before the first of four forms."
    book = read(
        Sheet([Put(20, 500 - 12 * n, words, stretch=1 + n / 4) for n in range(4)])
    )
    assert book.text.split() == words.split() * 4


def named_ligatures(size: float) -> list[Put]:
    """As Chromium prints them: each with its letters as /ActualText, which share out its width."""
    of = Put(20, 500, "of ", size)
    first = Put(20 + 1.2 * size, 500, "\x01", size, actual="fi")
    return [of, first, Put(20 + 1.756 * size, 500, "rst for", size)]


@pytest.mark.process
def test_ligatures_with_letters_of_their_own_do_not_make_a_plain_f_wide() -> None:
    assert read(Sheet(named_ligatures(10))).text == "of first for"


@pytest.mark.process
def test_ligatures_in_a_page_placed_on_another_stand_in_their_words() -> None:
    assert read(Sheet(), half_size=named_ligatures(20)).text == "of first for"


@pytest.mark.process
def test_soft_hyphens_are_read_only_at_line_ends() -> None:
    lines = (
        Put(20, 500, "A wonder-", actual="A won\xadder\xad"),
        Put(20, 488, "ful keeper", actual="ful kee\xadper"),
    )
    assert read(Sheet(lines)).text == "A wonderful keeper"


@pytest.mark.process
def test_small_capitals_gain_no_letters() -> None:
    small = [
        Put(20, 480, "F", 7, actual="f"),
        Put(20 + 7 * 0.556, 480, "OR", 7, actual="or"),
    ]
    assert read(Sheet([Put(20, 500, "of", 7), *small])).text.split() == ["of", "for"]


@pytest.mark.process
@pytest.mark.parametrize("tracking", [0.8, 1.5])
def test_letterspaced_words_stay_whole(tracking: float) -> None:
    words = "staff for the fifth officer"
    assert read(Sheet([Put(20, 500, words, tracking=tracking)])).text == words


@pytest.mark.parametrize(
    ("codes", "text"),
    [
        ("The \x1crst o\x1ecer\x16o\x1b", "The ﬁrst oﬃcer—oﬀ"),
        ("The \x0crst \row\r\nof co\x0bee", "The ﬁrst ﬂow\r\nof coﬀee"),
        ("\x01\x04\x1c\x05", "\x01\x04\x1c\x05"),
    ],
)
def test_ligatures_of_bitmap_fonts_of_tex_are_named(codes: str, text: str) -> None:
    assert name_tex_ligatures(codes) == text


@pytest.mark.process
def test_an_accent_set_over_a_letter_joins_it() -> None:
    words = [
        Put(20, 500, "G"),
        Put(28.05, 500, "¨"),
        Put(27.22, 500, "odel, "),
        Put(60, 502, "´"),
        Put(59, 500, "Emile"),
    ]
    assert read(Sheet(words)).text == "Gödel, Émile"


@pytest.mark.process
def test_words_are_separated_by_distances_without_space_characters() -> None:
    words = [
        Put(20, 500, "The fiv"),
        Put(48.05, 500, "ef", tracking=2.6),
        Put(58.42, 500, "ish of the sea"),
    ]
    assert read(Sheet(words)).text == "The five fish of the sea"
