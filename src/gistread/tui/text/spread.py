"""Which rows of a text a view shows, in one column or in two side by side."""

from typing import NamedTuple

from gistread.tui.text.rows import RowIndex

_TITLES = ("heading", "numeral")  # Styles of blocks that belong to the text below them


class Spread(NamedTuple):
    """The rows of each column, from left to right.

    >>> Spread((range(40, 60), range(61, 81))).place(62)
    (1, 1)
    """

    columns: tuple[range, ...]

    @property
    def top(self) -> int:
        return self.columns[0].start

    @property
    def end(self) -> int:
        """The row after the last one shown."""
        return self.columns[-1].stop

    def place(self, row: int) -> tuple[int, int]:
        """(column, row from the top of the view) where a row of the text is shown.

        For a row that is not shown: the nearest place below it, or else the last place.
        """
        for number, rows in enumerate(self.columns):
            if row < rows.stop:
                return number, max(0, row - rows.start)
        return len(self.columns) - 1, max(0, len(self.columns[-1]) - 1)

    def row_at(self, column: int, y: int) -> int | None:
        """The row of the text in row `y` of a column; None in an empty one."""
        rows = self.columns[column]
        if 0 <= y < len(rows):
            return rows[y]
        return None


def spread_of(
    index: RowIndex, top: int, height: int, *, columns: int = 1, foot: int = 0
) -> Spread:
    """The rows in a view of `height` rows. `foot`: rows that are covered below the last column."""
    if columns == 1:
        return Spread((_rows(index, top, height - foot),))
    first_end, second_start = column_break(index, top, height)
    second = _rows(index, second_start, height - foot)
    return Spread((range(top, first_end), second))


def _rows(index: RowIndex, top: int, height: int) -> range:
    """At most `height` rows from `top`; none after the document."""
    return range(top, max(top, min(top + height, index.height)))


def column_break(index: RowIndex, top: int, height: int) -> tuple[int, int]:
    """(row after the first column, first row of the second).

    A title stays with the text below it, and a picture with its caption. Empty rows between
    paragraphs are left out at the break; a chapter keeps those above it.
    """
    end = min(top + height, index.height)
    if end == index.height:
        return end, end
    parting = _last_parting(index, end)
    # A long run of titles is parted after all: the first column would be nearly empty.
    fills_half = parting >= top + height // 2
    if fills_half:
        end = parting
    number, row_in_block = index.locate(end)
    block = index.block(number)
    block_start = index.first_row(number)
    is_between_paragraphs = row_in_block <= block.blank_before
    if not is_between_paragraphs or block_start <= top:
        return end, end
    if block.opens:
        return block_start, block_start
    return block_start, block_start + block.blank_before


def _last_parting(index: RowIndex, end: int) -> int:
    """The last row at or above `end` where the text may be parted."""
    block, inner = index.locate(end)
    if inner and _keeps_together(index, block, inner):
        inner = 0
        end = index.first_row(block)
    is_inside_block = inner > index.block(block).blank_before
    if is_inside_block:
        return end
    while block and _is_title(index, block - 1):
        block -= 1
        end = index.first_row(block)
    return end


def _keeps_together(index: RowIndex, block: int, inner: int) -> bool:
    """Whether a block may not be parted above its row `inner`."""
    if _is_title(index, block):
        return True
    layout = index.layout(block)
    has_figure = layout.block.figure is not None
    return has_figure and inner <= layout.above


def _is_title(index: RowIndex, block: int) -> bool:
    return index.block(block).style in _TITLES


def top_above(
    index: RowIndex, end: int, height: int, *, columns: int, foot: int = 0
) -> int:
    """The first row of the view that shows the rows before `end`, and as many above as fit."""

    def shows_end(top: int) -> bool:
        return spread_of(index, top, height, columns=columns, foot=foot).end >= end

    # A break may leave rows of the first column empty, so the top is first estimated.
    top = max(0, end - columns * height + foot)
    while top < end and not shows_end(top):
        top += 1
    while top and shows_end(top - 1):
        top -= 1
    return top
