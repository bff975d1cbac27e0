"""Typesets one row when it is drawn.

Justified spaces, hyphen, table columns, right-to-left order.
"""

from collections.abc import Iterator
from typing import NamedTuple

from rich.cells import split_graphemes

from gistread.tui.text import bidi
from gistread.tui.text.cells import cell_len, index_at
from gistread.tui.text.layout import Layout
from gistread.tui.text.wrap import DRAWN_SEPARATOR, cells_of

HYPHEN = "-"
_LONGEST_ORDERED = 20_000  # characters above which a paragraph is reordered row by row


class Run(NamedTuple):
    """The characters drawn in a row for `shown[start:end]` of its block."""

    text: str
    start: int
    end: int

    @property
    def plain(self) -> bool:
        """Whether the run has one character per character of the text, so that it can be split."""
        return len(self.text) == self.end - self.start


def set_row(layout: Layout, row: int) -> list[Run]:
    """The row's text from left to right, `layout.row_cells(row)` cells in total.

    Empty for a row without text.
    """
    span = layout.span(row)
    if span is None or span[0] == span[1]:
        return []
    start, end = span
    text = layout.shown
    if layout.columns:
        runs = list(_columns(layout, start, end))
    elif spare := layout.spare(row):
        runs = list(_justified(text, start, end, spare, layout.line_of(row) % 2 == 1))
    else:
        runs = [Run(text[start:end], start, end)]
    if end in layout.parted:
        runs.append(Run(HYPHEN, end, end))
    if layout.reorder and bidi.runs_right_to_left(text[start:end]):
        runs = _ordered(runs, text, start, end, int(layout.right_to_left))
    return runs


def offset_at(runs: list[Run], cell: int) -> int | None:
    """Index of the text's character in a cell (from 0) of a row; None beside the text."""
    if cell < 0:
        return None
    for run in runs:
        cells = cell_len(run.text)
        if cell < cells:
            return run.start + (index_at(run.text, cell) if run.plain else 0)
        cell -= cells
    return None


def _justified(
    text: str, start: int, end: int, spare: int, from_right: bool
) -> Iterator[Run]:
    """Add `spare` cells to a row's spaces, from alternating ends, to avoid rivers."""
    gaps = [
        index
        for index in range(start + 1, end - 1)
        if text[index] == " " and text[index - 1] != " "
    ]
    shares = [
        (number + 1) * spare // len(gaps) - number * spare // len(gaps)
        for number in range(len(gaps))
    ]
    at = start
    for gap, wider in zip(
        gaps, reversed(shares) if from_right else shares, strict=True
    ):
        if wider:
            if gap > at:
                yield Run(text[at:gap], at, gap)
            yield Run(" " * (1 + wider), gap, gap + 1)
            at = gap + 1
    yield Run(text[at:end], at, end)


def _columns(layout: Layout, start: int, end: int) -> Iterator[Run]:
    text = layout.shown
    at = start
    behind = 0  # Empty cells after the text of the cell before
    for width, (first, last) in zip(
        layout.columns, cells_of(text, start, end), strict=False
    ):
        spare = abs(width) - cell_len(text[first:last])
        before = spare if width < 0 else 0
        lead = (" " * behind + DRAWN_SEPARATOR if first > start else "") + " " * before
        if lead:
            yield Run(lead, at, first)
        if last > first:
            yield Run(text[first:last], first, last)
        at, behind = last, spare - before


def _ordered(runs: list[Run], text: str, start: int, end: int, base: int) -> list[Run]:
    before, after = (0, len(text)) if len(text) <= _LONGEST_ORDERED else (start, end)
    levels = bidi.levels_of(text[before:after], base)
    units: list[Run] = []
    for run in runs:
        if not run.plain:
            units.append(run)
            continue
        graphemes, _ = split_graphemes(run.text)
        units += (
            Run(run.text[a:b], run.start + a, run.start + b) for a, b, _ in graphemes
        )
    of_units = bytes(
        levels[unit.start - before] if unit.start < end else base for unit in units
    )
    ordered = []
    for index in bidi.visual_order(of_units):
        unit = units[index]
        is_right_to_left = of_units[index] % 2
        if is_right_to_left:
            unit = unit._replace(text=bidi.mirrored(unit.text))
        ordered.append(unit)
    return ordered
