"""Tables of a PDF whose cells have several lines, and readings over East Asian characters."""

import pytest

from gistread.book.model import Book, ParagraphKind
from tests.book.make_pdf import Put, Sheet, read

pytestmark = pytest.mark.process

ROWS = [
    [["Oil of", "whales"], ["It burns with a clear", "light and smells"], ["dear"]],
    [
        ["Tallow"],
        ["It smokes, and is won-", "derful only for its", "price"],
        ["cheap in", "winter"],
    ],
    [
        ["Wax of", "the bees", "of Ely"],
        ["It is for the church"],
        ["the dear-", "est of all"],
    ],
]
TEXT = (
    "Oil of whales   It burns with a clear light and smells   dear\n"
    "Tallow   It smokes, and is wonderful only for its price   cheap in winter\n"
    "Wax of the bees of Ely   It is for the church   the dearest of all"
)


ALIGNMENTS = {"top": 0.0, "middle": 0.5, "bottom": 1.0}


def table(share: float, padding: float) -> Book:
    """`ROWS` on a page, their cells aligned by this share of the free height of the row."""
    puts, top = [], 540.0
    for row in ROWS:
        height = max(map(len, row))
        for left, cell in zip((50, 95, 200), row, strict=True):
            start = top - 12 * share * (height - len(cell))
            puts += [
                Put(left, start - 12 * number, line) for number, line in enumerate(cell)
            ]
        top -= 12 * height + padding
    return read(Sheet(puts))


@pytest.mark.parametrize(
    ("alignment", "padding"), [("top", 0), ("top", 6), ("middle", 6), ("bottom", 6)]
)
def test_cells_of_several_lines_are_read_one_by_one(
    alignment: str, padding: float
) -> None:
    book = table(ALIGNMENTS[alignment], padding)
    assert [(book.text[p.start : p.end], p.kind) for p in book.paragraphs] == [
        (TEXT, ParagraphKind.TABLE)
    ]


@pytest.mark.parametrize("alignment", ["middle", "bottom"])
def test_words_of_cells_stay_in_order_where_nothing_tells_where_rows_end(
    alignment: str,
) -> None:
    assert table(ALIGNMENTS[alignment], padding=0).text.split() == TEXT.split()


def test_columns_of_short_cells_are_read_row_by_row() -> None:
    columns = ["Name", "Born", "Died"], ["Ann Lee", "1736", "1784"]
    puts = [
        Put(50 + 90 * x, 500 - 12 * y, text)
        for x, cells in enumerate(columns)
        for y, text in enumerate(cells)
    ]
    assert read(Sheet(puts)).text.split() == [
        "Name",
        "Ann",
        "Lee",
        "Born",
        "1736",
        "Died",
        "1784",
    ]


def test_readings_follow_their_characters_in_brackets() -> None:
    base = [
        Put(50, 500, "oo", 10, actual="吾輩"),
        Put(60, 500, "o", 10, actual="は"),
        Put(65, 500, "o", 10, actual="猫"),
    ]
    readings = [
        Put(50, 509, "oooo", 5, actual="わがはい"),
        Put(65, 509, "oo", 5, actual="ねこ"),
    ]
    assert read(Sheet([*base, *readings])).text == "吾輩（わがはい）は猫（ねこ）"


def test_readings_beside_no_characters_are_counted() -> None:
    lines = [
        Put(50, 500 - 14 * number, "o" * 9, 10, actual="吾輩は猫であるとか")
        for number in range(3)
    ]
    book = read(Sheet([*lines, Put(200, 486, "oo", 5, actual="ねこ")]))
    assert book.notices == (
        "2 characters of readings (ruby) stand behind their lines, not behind their words.",
    )
