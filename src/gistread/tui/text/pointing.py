"""From a cell of a row to the character in it, and from a character to the one some rows below."""

from gistread.tui.text.cells import cell_len
from gistread.tui.text.rows import RowIndex
from gistread.tui.text.setting import offset_at, set_row


def character_at(index: RowIndex, row: int, cell: int) -> int | None:
    """Index in the block's text of the character in a cell of a row; None beside the text."""
    block, inner = index.locate(row)
    layout = index.layout(block)
    if layout.span(inner) is None:
        return None
    found = offset_at(set_row(layout, inner), cell - layout.text_cell(inner))
    return None if found is None else min(found, max(0, len(layout.shown) - 1))


def offset_below(index: RowIndex, offset: int, rows: int) -> int | None:
    """The book's character so many rows below the one at `offset` (negative: above), near its cell.

    Rows without text of the book are skipped; None past the ends.
    """
    place = index.find_offset(offset)
    if place is None:
        return None
    row, step = index.row_of(place), 1 if rows > 0 else -1
    inner = row - index.first_row(place.block)
    layout = index.layout(place.block)
    if layout.span(inner) is None:
        return None
    cell = layout.text_cell(inner)
    for run in set_row(layout, inner):
        if run.start <= place.offset < run.end:
            cell += cell_len(run.text[: place.offset - run.start]) if run.plain else 0
            break
        cell += cell_len(run.text)
    left = abs(rows)
    while left:
        row += step
        if not 0 <= row < index.height:
            return None
        left -= _nearest_in_row(index, row, cell) is not None
    return _nearest_in_row(index, row, cell)


def _nearest_in_row(index: RowIndex, row: int, cell: int) -> int | None:
    """The book's character in a row nearest to a cell; None in a row without text of the book."""
    block, inner = index.locate(row)
    layout = index.layout(block)
    span = layout.span(inner)
    if span is None or layout.block.start is None or span[0] == span[1]:
        return None
    first = layout.text_cell(inner)
    last = first + layout.row_cells(inner) - 1
    found = character_at(index, row, max(first, min(cell, last)))
    at = span[1] - 1 if found is None else found
    return layout.block.start + max(span[0], min(at, span[1] - 1))
