"""One block at one width: its rows, and where each thing stands in them. Pure.

From left to right a row is: rail, indent (with the label in the first row), text, and the tail at the right edge
of the last. Rows are counted from the first empty one above the text. Nothing here knows the block's neighbours.
"""

from bisect import bisect_right
from dataclasses import dataclass

from gistread.tui.text.cells import cell_len, clean, crop
from gistread.tui.text.document import Block
from gistread.tui.text.wrap import wrap

_LEAST_TEXT = 12
"""Cells that rail and indent leave to the text, as long as there are as many."""


@dataclass(frozen=True, slots=True)
class Layout:
    """A block broken into rows of `width` cells."""

    block: Block
    shown: str
    """The block's text with nothing in it that a terminal would obey; same length."""
    spans: list[tuple[int, int]]
    """Of each row of text: what it shows of `shown`."""
    width: int
    """Cells of the whole row."""
    left: int
    """Cells of rail and indent."""
    first: int
    """Further cells before the text of the first row."""
    turnover: int
    """Further cells before the text of a row that continues a line."""
    tail_apart: bool
    """Whether the tail has a row of its own."""

    @property
    def rows(self) -> int:
        """All rows: empty ones above, text, tail."""
        return self.block.blank_before + len(self.spans) + self.tail_apart

    def row_of(self, offset: int) -> int:
        """The row that shows the character at `offset` in the block, or the white space behind which it was broken."""
        found = bisect_right(self.spans, (offset, len(self.shown) + 1)) - 1
        return self.block.blank_before + max(0, found)

    def span(self, row: int) -> tuple[int, int] | None:
        """What the row shows of the text; None for an empty row and for a tail's own."""
        line = row - self.block.blank_before
        return self.spans[line] if 0 <= line < len(self.spans) else None

    def text_cell(self, row: int) -> int:
        """The cell at which the text of the row starts."""
        line = row - self.block.blank_before
        start, end = self.spans[line]
        shift = self.turnover
        if line == 0:
            shift = self.first
        elif "\n" in self.shown[self.spans[line - 1][1] : start]:
            shift = 0
        if self.block.align == "center":
            spare = text_cells(self.block, self.width, self.left) - shift - cell_len(self.shown[start:end])
            shift += max(0, spare // 2)
        return self.left + shift


def text_cells(block: Block, width: int, left: int) -> int:
    """The most cells that a row of the block's text may take."""
    room = max(1, width - left)
    return min(room, block.max_width) if block.max_width > 0 else room


def lay_out(block: Block, width: int) -> Layout:
    """Break a block into rows of `width` cells (at least 1)."""
    width = max(1, width)
    shown = clean(block.text)
    left = cell_len(block.rail) + block.indent
    if left:
        left = max(0, min(left, width - min(width, _LEAST_TEXT)))
    room = text_cells(block, width, left)
    first = block.first_indent
    if block.hanging:
        label = cell_len(block.rail) + cell_len(block.hanging)
        first = max(first, label + 1 - left if label >= left else 0)
    spare = min(room // 2, max(0, room - 2))  # two cells stay free for a wide character
    first, turnover = min(first, spare), min(block.turnover, spare)
    spans = wrap(shown, room, first=first, turnover=turnover)
    tail_apart = False
    if block.tail:
        start, end = spans[-1]
        used = left + cell_len(shown[start:end]) + (first if len(spans) == 1 else turnover)
        tail_apart = used + 2 + cell_len(block.tail) > width or block.align == "center"
    return Layout(block, shown, spans, width, left, first, turnover, tail_apart)


def label_of(layout: Layout) -> str:
    """The block's label, as much of it as there is room for before the first row of the text."""
    return crop(clean(layout.block.hanging), layout.left + layout.first - cell_len(layout.block.rail))
