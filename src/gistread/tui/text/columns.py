"""Where the columns of a view stand: one, or two side by side as the pages of an open book. Pure arithmetic."""

from dataclasses import dataclass

GAP = 5
"""Cells between two columns."""
LEAST = 36
"""Cells that each of several columns has at least; where there is less room, there are fewer."""


@dataclass(frozen=True, slots=True)
class Columns:
    """`count` columns, each of a gutter and a row of `width` cells, behind a margin."""

    count: int = 1
    width: int = 0
    margin: int = 0
    gutter: int = 0

    def part(self, column: int) -> tuple[int, int]:
        """First cell of a column, the margin before it included, and the cell behind its last."""
        own = self.gutter + self.width
        last = self.margin + (column + 1) * own + column * GAP
        return last - own - self.margin_of(column), last

    def margin_of(self, column: int) -> int:
        """Empty cells before the gutter of a column: the margin, or what parts it from the one before."""
        return GAP if column else self.margin

    def at(self, x: int) -> tuple[int, int]:
        """The column at a cell of the view, and the cell of the row there; that is below 0 before the text."""
        column = max(number for number in range(self.count) if not number or x >= self.part(number)[0])
        return column, x - self.part(column)[1] + self.width


def fit_columns(width: int, *, wanted: int, text_width: int, side_margin: int, gutter: int) -> Columns:
    """As many columns as are wanted and have room in a view `width` cells wide.

    Their rows are as wide as there is room for, and not wider than `text_width`, if that is not 0.
    """
    side = min(side_margin, max(0, (width - 20) // 10))
    count = max(1, min(wanted, (width - 2 * side + GAP) // (LEAST + gutter + GAP)))
    row = max(1, (width - 2 * side - (count - 1) * GAP) // count - gutter)
    if text_width > 0:
        row = min(row, text_width)
    used = count * (row + gutter) + (count - 1) * GAP
    return Columns(count, row, max(0, (width - used) // 2), gutter)


def least_width(count: int, side_margin: int) -> int:
    """Cells that a view must be wide to have room for so many columns."""
    return count * (LEAST + GAP) - GAP + 2 * side_margin
