"""Justification, hyphens and spacing fill a row exactly and are not part of the text."""

import time
from itertools import pairwise
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from gistread.tui.text import bidi
from gistread.tui.text.document import Block
from gistread.tui.text.layout import Layout, lay_out
from gistread.tui.text.rows import RowIndex
from gistread.tui.text.selecting import character_at, offset_below
from gistread.tui.text.typesetting import offset_at, set_row

PROSE = (
    "Not all that Mrs. Bennet, however, with the assistance of her five daughters, could ask on "
    "the subject, was "
    "sufficient to draw from her husband any satisfactory description of Mr. Bingley; "
    "extraordinarily uncommunicative."
)
HEBREW = "בראשית ברא אלהים את השמים ואת הארץ (Genesis 1:1) והארץ היתה תהו ובהו"
TABLE = "Element | Symbol | Weight\nHydrogen | H | 1.008\nHelium | He | 4.0026\nLithium | Li | 6.94"
ANY = st.text(alphabet="abc def —-.אבג 12()字。\n|", max_size=120)


def drawn(layout: Layout) -> list[str]:
    """Each row of text as drawn, from the left edge."""
    return [
        " " * layout.text_cell(row) + "".join(run.text for run in set_row(layout, row))
        for row in range(layout.rows)
        if layout.span(row)
    ]


def test_justified_rows_end_at_the_edge_and_the_last_does_not() -> None:
    rows = drawn(lay_out(Block(PROSE, align="justify", language="en"), 64))
    assert {cell_len(row) for row in rows[:-1]} == {64}
    assert cell_len(rows[-1]) < 50
    assert " ".join("".join(rows).split()).count("Bennet") == 1


def test_words_are_hyphenated_by_their_language_in_short_rows() -> None:
    layout = lay_out(
        Block(
            "It was an extraordinary day for the very good old people", language="en"
        ),
        22,
    )
    assert drawn(layout)[0] == "It was an extraordin-"
    assert not lay_out(layout.block, 60).parted
    assert layout.shown == layout.block.text
    german = lay_out(
        Block("Es war eine Donaudampfschifffahrtsgesellschaft dort", language="de"), 26
    )
    assert any(row.endswith("-") for row in drawn(german))


def test_no_two_consecutive_rows_are_hyphenated() -> None:
    layout = lay_out(Block(" ".join([PROSE] * 5), language="en", align="justify"), 30)
    ends = [end in layout.parted for _, end in layout.spans]
    assert any(ends)
    assert not any(first and second for first, second in pairwise(ends))


@given(
    ANY,
    st.integers(2, 60),
    st.sampled_from(["left", "center", "justify"]),
    st.sampled_from(["text", "table"]),
)
def test_row_widths_are_known_and_within_the_block(
    text: str, width: int, align: Literal["left", "center", "justify"], style: str
) -> None:
    layout = lay_out(
        Block(text, align=align, style=style, language="en", indent=1, turnover=2),
        width,
    )
    for row in range(layout.rows):
        cells = sum(cell_len(run.text) for run in set_row(layout, row))
        assert cells == layout.row_cells(row)
        if layout.span(row):
            assert layout.text_cell(row) >= 0
            assert layout.text_cell(row) + cells <= max(
                width, layout.left + layout.turnover + 2
            )


@given(
    ANY,
    st.integers(2, 60),
    st.sampled_from(["left", "justify"]),
    st.sampled_from(["text", "table"]),
)
def test_every_character_has_a_cell(
    text: str, width: int, align: str, style: str
) -> None:
    layout = lay_out(Block(text, align=align, style=style), width)  # type: ignore[arg-type]
    for row in range(layout.rows):
        if (span := layout.span(row)) is None:
            continue
        runs = set_row(layout, row)
        places = {offset_at(runs, cell) for cell in range(layout.row_cells(row))}
        hidden = {
            at for at in range(*span) if layout.columns and layout.shown[at] in " |"
        }
        assert set(range(*span)) <= places | hidden
        assert None not in places


def test_hebrew_stands_at_the_right_in_the_order_of_the_screen() -> None:
    layout = lay_out(Block(HEBREW), 80)
    (row,) = drawn(layout)
    assert cell_len(row) == 80
    assert row.endswith("תישארב")
    assert "(Genesis 1:1)" in row
    assert row.index("ץראהו") < row.index("(Genesis") < row.index("םיהלא")


def test_hebrew_is_left_in_its_own_order_for_a_terminal_that_orders_it() -> None:
    (row,) = drawn(lay_out(Block(HEBREW), 80, reorder=False))
    assert row.strip() == HEBREW
    assert cell_len(row) == 80


@pytest.mark.parametrize(
    ("text", "base", "shown"),
    [
        ("abc אבג 123", 0, "abc 123 גבא"),
        ("אבג 123 דה", 1, "הד 123 גבא"),
        ("אבג, abc!", 1, "!abc ,גבא"),
        ("א(ב)ג", 1, "ג(ב)א"),
        ("مرحبا 12%", 1, "%12 ابحرم"),
        ("-5 א", 0, "-5 א"),
    ],
)
def test_the_order_is_that_of_the_bidirectional_algorithm(
    text: str, base: int, shown: str
) -> None:
    levels = bidi.levels_of(text, base)
    order = bidi.visual_order(levels)
    assert (
        "".join(bidi.mirrored(text[at]) if levels[at] % 2 else text[at] for at in order)
        == shown
    )


def test_a_table_that_fits_stands_in_columns_with_its_figures_flush_right() -> None:
    rows = drawn(lay_out(Block(TABLE, style="table"), 40))
    assert rows == [
        "Element  │ Symbol │ Weight",
        "Hydrogen │ H      │  1.008",
        "Helium   │ He     │ 4.0026",
        "Lithium  │ Li     │   6.94",
    ]


def test_a_table_that_does_not_fit_becomes_records() -> None:
    rows = drawn(lay_out(Block(TABLE, style="table"), 20))
    assert rows[:3] == ["Element", "  Symbol", "  Weight"]
    assert "  4.0026" in rows


def test_chinese_stays_on_its_grid() -> None:
    text = "时间旅行者，机器的故事。" * 4
    rows = drawn(lay_out(Block(text, align="justify"), 21))
    assert "".join(rows) == text


@pytest.mark.parametrize(
    "piece",
    [
        "x",
        "א b ",
        *(
            pytest.param(piece, marks=pytest.mark.slow)
            for piece in ("א", "ab-", "a | b\n", "ä ", "字a")
        ),
    ],
)
def test_a_paragraph_of_a_million_characters_is_laid_out_and_drawn_at_once(
    piece: str,
) -> None:
    text = piece * (1_000_000 // len(piece))
    for style in ("text", "table"):
        started = time.process_time()
        layout = lay_out(Block(text, style=style, align="justify", language="en"), 60)
        for row in range(1, 40):
            set_row(layout, row)
        assert time.process_time() - started < 10


@pytest.mark.parametrize(
    "text", [PROSE, HEBREW * 2, TABLE], ids=["justified", "right to left", "table"]
)
def test_the_character_below_follows_the_drawn_order(text: str) -> None:
    index = RowIndex([Block(text, start=1000, align="justify")], 30)
    compared = 0
    for row in range(1, index.height - 1):
        for cell in range(30):
            here, below = (
                character_at(index, row, cell),
                character_at(index, row + 1, cell),
            )
            if (
                here is None
                or below is None
                or character_at(index, row, cell - 1) == here
            ):
                # beside the text, or not the first cell of a space that was made wider
                continue
            compared += 1
            assert offset_below(index, 1000 + here, 1) == 1000 + below
    assert compared > 20
