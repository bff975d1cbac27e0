"""Selections as ranges of the blocks' text, and what is under the mouse.

A selection contains no margins, labels or line breaks.
"""

from textual.geometry import Offset
from textual.selection import Selection
from textual.widget import Widget

from gistread.tui.text.cells import cell_len
from gistread.tui.text.layout import Layout
from gistread.tui.text.rows import RowIndex, TextPlace
from gistread.tui.text.typesetting import offset_at, set_row
from gistread.word_patterns import HYPHENATED

_FAR = 1 << 62  # An offset after every text
_LONGEST_WORD = 64  # Characters of a word before and after a place in it


def point_at(index: RowIndex, row: int, character: int) -> TextPlace:
    """The point at a character of a row's text.

    In a row without text, the nearest point of its block.
    """
    block, inner = index.locate(row)
    layout = index.layout(block)
    span = layout.span(inner)
    if span is None:
        is_above_text = inner < layout.above
        return TextPlace(block, 0 if is_above_text else len(layout.shown))
    start, end = span
    return TextPlace(block, min(start + max(0, character), end))


def offset_of(index: RowIndex, point: TextPlace) -> Offset:
    """The point in Textual's form: (character of the row's text, row)."""
    layout = index.layout(point.block)
    inner = layout.row_of(point.offset)
    start, end = layout.spans[inner - layout.above]
    return Offset(min(point.offset, end) - start, index.first_row(point.block) + inner)


def selected_between(
    index: RowIndex, selection: Selection, top: int, bottom: int
) -> tuple[TextPlace, TextPlace] | None:
    """First and last point of a selection; None if it contains nothing.

    If it continues in another widget, it ends at row `top` or `bottom`.
    """
    if not len(index):
        return None
    # Textual's form for a whole text, such as one between the ends of a selection
    is_all = selection.start is None and selection.end is None
    if is_all:
        last_block = len(index) - 1
        return TextPlace(0, 0), TextPlace(last_block, len(index.block(last_block).text))
    start = Offset(0, top) if selection.start is None else selection.start
    end = Offset(_FAR, bottom) if selection.end is None else selection.end
    first = point_at(index, start.y, start.x)
    last = point_at(index, end.y, end.x)
    if first >= last:
        return None
    return first, last


def part_of(block: int, ends: tuple[TextPlace, TextPlace]) -> tuple[int, int] | None:
    """(start, end) in the block's text of a selection with these ends; None outside it."""
    first, last = ends
    if not first.block <= block <= last.block:
        return None
    start = first.offset if block == first.block else 0
    end = last.offset if block == last.block else _FAR
    return start, end


def text_between(index: RowIndex, first: TextPlace, last: TextPlace) -> str:
    """The text of a selection; an empty line stands between paragraphs with space between."""
    pieces: list[str] = []
    for number in range(first.block, last.block + 1):
        block = index.block(number)
        part = part_of(number, (first, last))
        assert part is not None
        start, end = part
        if pieces:
            pieces.append("\n\n" if block.blank_before else "\n")
        pieces.append(block.text[start:end])
    return "".join(pieces)


def word_around(text: str, offset: int) -> tuple[int, int]:
    """The range of the word at `offset`, or else of the character there."""
    start = max(0, offset - _LONGEST_WORD)
    for word in HYPHENATED.finditer(text, start, offset + _LONGEST_WORD):
        if word.start() <= offset < word.end():
            return word.span()
    return offset, min(offset + 1, len(text))


def select(widget: Widget, index: RowIndex, first: TextPlace, last: TextPlace) -> None:
    """Select this range of a widget's text, keeping selections in other widgets."""
    ends = Selection(offset_of(index, first), offset_of(index, last))
    widget.screen.selections = {**widget.screen.selections, widget: ends}


def drop(widget: Widget) -> None:
    """Drop a widget's selection, keeping selections in other widgets."""
    if widget.is_attached and widget in widget.screen.selections:
        selections = widget.screen.selections
        widget.screen.selections = {
            other: ends for other, ends in selections.items() if other is not widget
        }


def character_at(index: RowIndex, row: int, cell: int) -> int | None:
    """Index in the block's text of the character in a cell of a row; None beside the text."""
    block, inner = index.locate(row)
    layout = index.layout(block)
    if layout.span(inner) is None:
        return None
    character = offset_at(set_row(layout, inner), cell - layout.text_cell(inner))
    if character is None:
        return None
    return min(character, max(0, len(layout.shown) - 1))


def offset_below(index: RowIndex, offset: int, rows: int) -> int | None:
    """The offset `rows` rows of the book below `offset` (negative: above); None past the ends."""
    place = index.find_offset(offset)
    if place is None:
        return None
    row = index.row_of(place)
    inner = row - index.first_row(place.block)
    layout = index.layout(place.block)
    if layout.span(inner) is None:
        return None
    cell = layout.text_cell(inner) + _cells_before(layout, inner, place.offset)
    further_rows = range(row - 1, -1, -1)
    if rows > 0:
        further_rows = range(row + 1, index.height)
    remaining = abs(rows)
    for further_row in further_rows:
        nearest = _nearest_in_row(index, further_row, cell)
        if nearest is None:
            continue
        remaining -= 1
        if not remaining:
            return nearest
    return None


def _cells_before(layout: Layout, inner: int, offset: int) -> int:
    """Cells of a row's text before the block's character at `offset`."""
    cells = 0
    for run in set_row(layout, inner):
        if run.start <= offset < run.end:
            if run.plain:
                cells += cell_len(run.text[: offset - run.start])
            break
        cells += cell_len(run.text)
    return cells


def _nearest_in_row(index: RowIndex, row: int, cell: int) -> int | None:
    """The book's character in a row nearest to a cell; None in a row without text of the book."""
    block, inner = index.locate(row)
    layout = index.layout(block)
    span = layout.span(inner)
    if span is None or layout.block.start is None:
        return None
    start, end = span
    if start == end:
        return None
    first = layout.text_cell(inner)
    last = first + layout.row_cells(inner) - 1
    character = character_at(index, row, max(first, min(cell, last)))
    # What is drawn after the text, such as a hyphen, counts as its last character.
    nearest = end - 1
    if character is not None:
        nearest = min(character, nearest)
    return layout.block.start + max(start, nearest)
