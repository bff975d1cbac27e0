"""The columns of a view: one, or two side by side."""

from dataclasses import dataclass

GAP = 5  # cells between two columns
LEAST = 36  # minimum cells of each of several columns


@dataclass(frozen=True, slots=True)
class Columns:
    """`count` columns of a gutter and a row of `width` cells each, after a margin."""

    count: int = 1
    width: int = 0
    margin: int = 0
    gutter: int = 0

    def part(self, column: int) -> tuple[int, int]:
        """`[first, end)` cells of a column, including the margin before it."""
        own = self.gutter + self.width
        last = self.margin + (column + 1) * own + column * GAP
        return last - own - self.margin_of(column), last

    def margin_of(self, column: int) -> int:
        return GAP if column else self.margin

    def at(self, x: int) -> tuple[int, int]:
        """(column, cell of its row) at a cell of the view. The cell is negative before the text."""
        column = max(number for number in range(self.count) if not number or x >= self.part(number)[0])
        return column, x - self.part(column)[1] + self.width


def fit_columns(width: int, wanted: int, text_width: int, side_margin: int, gutter: int) -> Columns:
    """Up to `wanted` columns in a view `width` cells wide; `text_width` limits their rows unless it is 0."""
    side = min(side_margin, max(0, (width - 20) // 10))
    count = max(1, min(wanted, (width - 2 * side + GAP) // (LEAST + gutter + GAP)))
    row = max(1, (width - 2 * side - (count - 1) * GAP) // count - gutter)
    if text_width > 0:
        row = min(row, text_width)
    used = count * (row + gutter) + (count - 1) * GAP
    return Columns(count, row, max(0, (width - used) // 2), gutter)


def least_width(count: int, side_margin: int) -> int:
    return count * (LEAST + GAP) - GAP + 2 * side_margin
