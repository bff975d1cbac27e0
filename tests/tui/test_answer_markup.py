"""The Markdown of an answer is drawn, also while it is being written."""

import pytest

from gistread.tui.answer_markup import draw_markup, plain_text
from gistread.tui.text import Span


def shown(text: str, cells: int = 80) -> list[tuple[str, list[tuple[str, str]]]]:
    return [
        (
            line.text,
            [(line.text[span.start : span.end], span.style) for span in line.spans],
        )
        for line in draw_markup(text, cells=cells)
    ]


def test_bold_and_italic_words_lose_their_signs() -> None:
    text = "The **brass key** and *the* __nail__ by `code`."
    assert shown(text) == [
        (
            "The brass key and the nail by code.",
            [
                ("brass key", "strong"),
                ("the", "emphasis"),
                ("nail", "strong"),
                ("code", "inline-code"),
            ],
        )
    ]


@pytest.mark.parametrize(
    "text", ["2 * 3 * 4 = 24", "snake_case_name", "a ** b", "*", "[1] x|y"]
)
def test_what_is_no_markup_stays(text: str) -> None:
    assert shown(text) == [(text, [])]


def test_an_unfinished_answer_shows_no_signs() -> None:
    assert shown("He took **the bra") == [("He took the bra", [])]
    assert shown("## Wi") == [("Wi", [("Wi", "strong")])]


def test_items_have_bullets_and_hang() -> None:
    lines = draw_markup("Wines:\n\n- **Port**\n  * Sherry\n2. Madeira")
    assert [(line.text, line.turnover, line.is_apart) for line in lines] == [
        ("Wines:", 0, False),
        ("• Port", 2, True),
        ("  • Sherry", 4, False),
        ("2. Madeira", 3, False),
    ]


TABLE = "| Name | **Age** |\n|---|:--|\n| Ann | 3 |\n| Bartholomew | 44 |"


def test_a_table_stands_in_columns_where_there_is_room() -> None:
    assert [text for text, _ in shown(TABLE)] == [
        "Name        │ Age",
        "Ann         │ 3",
        "Bartholomew │ 44",
    ]
    assert ("Name        │ Age", "strong") in shown(TABLE)[0][1]
    narrow = [text for text, _ in shown(TABLE, cells=10)]
    assert narrow == ["Name │ Age", "Ann │ 3", "Bartholomew │ 44"]


def test_links_to_sources_stay_at_their_words() -> None:
    text = "- **Port** [1]\n| Ann | old [2] |"
    spans = [Span(text.index(words), text.index(words) + 3) for words in ("[1]", "[2]")]
    lines = draw_markup(text, spans)
    links = [
        line.text[span.start : span.end]
        for line in lines
        for span in line.spans
        if span.style == "link"
    ]
    assert links == ["[1]", "[2]"]


def test_a_short_answer_has_no_signs() -> None:
    assert plain_text("**Ann**\n- *Tom*") == "Ann\n• Tom"
