"""PDFs whose script does not run from left to right, and letters beyond U+FFFF."""

from unittest.mock import MagicMock

import pytest

from gistread.book.formats.pdf.characters import PageCharacters
from gistread.book.formats.pdf.marks import join_vowels
from tests.book.make_pdf import Put, Sheet, read


def line(
    letters: str, start: float, step: float, *, downward: bool = False
) -> list[Put]:
    """Each letter in its place, as browsers print them."""
    places = [
        start + number * step for number, letter in enumerate(letters) if letter != " "
    ]
    letters = letters.replace(" ", "")
    xs, ys = (
        ([300] * len(letters), places) if downward else (places, [500] * len(letters))
    )
    return [
        Put(x, y, "o", 10, actual=letter)
        for x, y, letter in zip(xs, ys, letters, strict=True)
    ]


@pytest.mark.process
def test_hebrew_is_read_from_right_to_left() -> None:
    words = [*line("שלום (", 300, -5), *line("12", 265, 5), *line(") עולם", 260, -5)]
    assert read(Sheet(words)).text == "שלום (12) עולם"


@pytest.mark.process
def test_points_stand_with_their_letters() -> None:
    letters = line("שלום", 300, -5)
    points = [Put(put.x, put.y + 2, "o", 10, actual="\u05b8") for put in letters[:2]]
    assert read(
        Sheet([letters[0], points[0], letters[1], points[1], *letters[2:]])
    ).text == ("ש\u05b8ל\u05b8ום")


@pytest.mark.process
def test_a_thai_mark_that_is_drawn_late_stands_with_its_letter() -> None:
    letters = line("สมาชกเลาะ", 20, 5)
    late = Put(letters[3].x + 2, 500, "o", 4, actual="\u0e34")
    assert read(Sheet([*letters, late])).text == "สมาช\u0e34กเลาะ"


@pytest.mark.parametrize(
    ("drawn", "text"),
    [
        ("ประจ;าตัว", "ประจ\0ำตัว"),
        ("น;\u0e49า", "น\0\u0e49ำ"),
        ("ຈ;າ", "ຈ\0ຳ"),
        ("จ;ต", "จ;ต"),
    ],
)
def test_a_vowel_whose_ring_has_no_name_is_read(drawn: str, text: str) -> None:
    page = MagicMock(spec=PageCharacters, characters=drawn)
    page.is_guessed = lambda index: drawn[index] == ";"
    join_vowels(page, "\0")
    changed = page.replace.call_args[0][0]
    assert (
        "".join(changed.get(index, letter) for index, letter in enumerate(drawn))
        == text
    )


@pytest.mark.process
def test_words_from_left_to_right_inside_keep_their_order() -> None:
    words = [
        *line("אבג דהו", 300, -5),
        *line("London", 230, 5),
        *line("זחט יכל", 220, -5),
    ]
    assert read(Sheet(words)).text == "אבג דהו London זחט יכל"


@pytest.mark.process
def test_vertical_lines_are_read_from_the_top_down_and_from_right_to_left() -> None:
    first, second = (
        line("吾輩は猫で", 500, -10, downward=True),
        line("ある。", 500, -10, downward=True),
    )
    second = [
        Put(put.x - 14, put.y, put.text, put.size, actual=put.actual) for put in second
    ]
    assert read(Sheet([*first, *second])).text == "吾輩は猫である。"


@pytest.mark.process
def test_characters_of_two_units_are_read() -> None:
    assert (
        read(Sheet([Put(20, 500, "Smile \x03 and go on")])).text
        == "Smile \U0001f600 and go on"
    )
