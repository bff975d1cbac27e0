"""Typesets one row when it is drawn.

Justified spaces, hyphen, table columns, right-to-left order.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from rich.cells import split_graphemes

from gistread.tui.text import bidi
from gistread.tui.text.cells import cell_len, index_at
from gistread.tui.text.layout import Layout
from gistread.tui.text.wrap import DRAWN_SEPARATOR, cells_of

HYPHEN = "-"
_LONGEST_ORDERED = 20_000  # Characters above which a paragraph is reordered row by row


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
    spare = 0 if layout.columns else layout.spare(row)
    if layout.columns:
        runs = list(_columns(layout, start, end))
    elif spare:
        from_right = layout.line_of(row) % 2 == 1
        runs = list(_justified(text, start, end, spare, from_right))
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
            if not run.plain:
                return run.start
            return run.start + index_at(run.text, cell)
        cell -= cells
    return None


def _justified(
    text: str, start: int, end: int, spare: int, from_right: bool
) -> Iterator[Run]:
    """Spread `spare` cells over a row's spaces.

    Rows get the wider spaces from alternating ends, so that no gap runs down through several rows.
    """
    # The first space between two words: only that one is widened.
    gaps = [
        index
        for index in range(start + 1, end - 1)
        if text[index] == " " and text[index - 1] != " "
    ]
    shares = _even_shares(spare, len(gaps))
    if from_right:
        shares.reverse()
    at = start
    for gap, share in zip(gaps, shares, strict=True):
        if not share:
            continue
        if gap > at:
            yield Run(text[at:gap], at, gap)
        yield Run(" " * (1 + share), gap, gap + 1)
        at = gap + 1
    yield Run(text[at:end], at, end)


def _even_shares(total: int, count: int) -> list[int]:
    """Whole numbers that add up to `total`, as even as possible.

    >>> _even_shares(5, 3)
    [1, 2, 2]
    """
    bounds = [number * total // max(1, count) for number in range(count + 1)]
    return [after - before for before, after in pairwise(bounds)]


def _columns(layout: Layout, start: int, end: int) -> Iterator[Run]:
    """A row of a table: its cells filled up to the widths of the columns."""
    text = layout.shown
    at = start
    empty_after = 0  # Empty cells after the text of the table's cell before
    cells = cells_of(text, start, end)
    # A row may have fewer cells than the table has columns.
    for width, (first, last) in zip(layout.columns, cells, strict=False):
        empty = abs(width) - cell_len(text[first:last])
        is_flush_right = width < 0
        empty_before = empty if is_flush_right else 0
        lead = " " * empty_before
        if first > start:
            lead = " " * empty_after + DRAWN_SEPARATOR + lead
        if lead:
            yield Run(lead, at, first)
        if last > first:
            yield Run(text[first:last], first, last)
        at = last
        empty_after = empty - empty_before


def _ordered(runs: list[Run], text: str, start: int, end: int, base: int) -> list[Run]:
    """The glyphs of the runs from left to right, mirrored where they run from right to left.

    `base`: the base level of the paragraph, 0 or 1.
    """
    context_start, context_end = 0, len(text)
    if len(text) > _LONGEST_ORDERED:
        context_start, context_end = start, end
    levels = bidi.levels_of(text[context_start:context_end], base)
    glyphs = [glyph for run in runs for glyph in _glyphs_of(run)]
    # A hyphen after the end of the text has the base level.
    glyph_levels = bytes(
        levels[glyph.start - context_start] if glyph.start < end else base
        for glyph in glyphs
    )
    ordered = []
    for index in bidi.visual_order(glyph_levels):
        glyph = glyphs[index]
        is_right_to_left = glyph_levels[index] % 2
        if is_right_to_left:
            glyph = glyph._replace(text=bidi.mirrored(glyph.text))
        ordered.append(glyph)
    return ordered


def _glyphs_of(run: Run) -> list[Run]:
    """A run per glyph; one that is not plain stays whole."""
    if not run.plain:
        return [run]
    graphemes, _ = split_graphemes(run.text)
    return [
        Run(run.text[first:end], run.start + first, run.start + end)
        for first, end, _ in graphemes
    ]
