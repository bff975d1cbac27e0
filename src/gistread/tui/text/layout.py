"""The layout of a block at one width.

A row has a rail, an indent with the label, the text, and finally the tail.
"""

import re
from bisect import bisect_right
from dataclasses import dataclass
from functools import partial

from gistread.tui.text import bidi
from gistread.tui.text.cells import cell_len, clean, crop, is_narrow
from gistread.tui.text.document import Block
from gistread.tui.text.hyphenation import last_hyphen
from gistread.tui.text.wrap import (
    DRAWN_SEPARATOR,
    RECORD_INDENT,
    SEPARATOR,
    Hyphens,
    cells_of,
    column_widths,
    is_ideographic,
    lines_of,
    record_rows,
    wrap,
)

_LEAST_TEXT = 12  # Minimum cells that rail and indent leave for the text
# Minimum cells of a row that is justified; in a narrower one the gaps would be wide.
_JUSTIFIED = 60
# Maximum average cells added to a space; a row with few words stays ragged instead
_WIDEST_GAP = 2
_NARROW = 46  # Cells below which words are hyphenated even in ragged text
# A word is hyphenated if more than one twelfth of the row would stay empty, and more than
# `_LEAST_SLACK` cells
_SLACK = 12
_LEAST_SLACK = 3
_BEFORE_TAIL = 2  # Empty cells between the text and a tail in the same row
_GAP = re.compile(r"(?<=[^ ]) +(?=[^ ])")  # Spaces between two words


@dataclass(frozen=True, slots=True)
class Layout:
    """A block laid out in rows of `width` cells."""

    block: Block
    shown: str  # The block's text without control characters; same length
    spans: list[tuple[int, int]]  # The range of `shown` in each row of text
    width: int  # Cells of the whole row
    left: int  # Cells of rail and indent before the text
    first: int  # Additional cells before the first row of text
    turnover: int  # Additional cells before a row that continues a line
    tail_apart: bool  # Whether the tail has a row of its own
    # Whether right-to-left text is ordered here rather than by the terminal
    reorder: bool = True
    parted: frozenset[int] = frozenset()  # Ends of rows that are drawn with a hyphen
    # Widths of a table's columns, negative if right-aligned; empty if they do not fit
    columns: tuple[int, ...] = ()
    right_to_left: bool = False  # Whether the block's script runs from right to left

    @property
    def room(self) -> int:
        return text_cells(self.block, self.width, self.left)

    @property
    def label(self) -> str:
        """The block's label, cropped to the space before the first row of text."""
        cells = self.left + self.first - cell_len(self.block.rail)
        return crop(clean(self.block.hanging), cells)

    @property
    def figure_cells(self) -> tuple[int, int]:
        """(columns, rows) of the block's picture."""
        if self.block.figure is None:
            return 0, 0
        return self.block.figure.cells_in(self.room)

    @property
    def above(self) -> int:
        """Rows above the text: empty ones, and the picture with an empty row below it.

        A caption follows its picture at once.
        """
        _, figure_rows = self.figure_cells
        is_caption = self.block.style == "image"
        below_figure = 1 if figure_rows and not is_caption else 0
        return self.block.blank_before + figure_rows + below_figure

    @property
    def rows(self) -> int:
        """All rows: empty ones above, picture, text, tail."""
        return self.above + len(self.spans) + self.tail_apart

    def row_of(self, offset: int) -> int:
        """The row that shows the block's character at `offset`.

        For a space dropped at a break, the row before it.
        """
        after_every_end = len(self.shown) + 1
        line = bisect_right(self.spans, (offset, after_every_end)) - 1
        return self.above + max(0, line)

    def line_of(self, row: int) -> int:
        """The line of text in a row, or else the nearest above it, or else the first."""
        return min(max(0, row - self.above), len(self.spans) - 1)

    def span(self, row: int) -> tuple[int, int] | None:
        line = row - self.above
        if not 0 <= line < len(self.spans):
            return None
        return self.spans[line]

    def spare(self, row: int) -> int:
        """Cells to add to the spaces of a row in total, so that it ends at the right edge."""
        if self.block.align != "justify" or self.room < _JUSTIFIED:
            return 0
        line = self.line_of(row)
        start, end = self.spans[line]
        ends_line = line + 1 == len(self.spans) or self._begins_line(line + 1)
        if ends_line:
            return 0
        text = self.shown[start:end]
        has_hyphen = end in self.parted
        spare = self.room - self._shift(line) - cell_len(text) - has_hyphen
        if spare <= 0:
            return 0
        is_too_loose = spare > _WIDEST_GAP * len(_GAP.findall(text))
        # For ideographs the grid matters more than an even edge.
        if is_too_loose or is_ideographic(text):
            return 0
        return spare

    def is_table_head(self, row: int) -> bool:
        """Whether the row starts a record, or names the columns above figures."""
        line = self.line_of(row)
        if self.columns:
            has_figures = any(width < 0 for width in self.columns)
            return line == 0 and has_figures
        is_record = self.block.style == "table" and SEPARATOR in self.shown
        return is_record and self._begins_line(line)

    def row_cells(self, row: int) -> int:
        """Cells of the text in a row, as it is drawn."""
        span = self.span(row)
        if span is None:
            return 0
        start, end = span
        if self.columns:
            return self._table_row_cells(start, end)
        has_hyphen = end in self.parted
        return cell_len(self.shown[start:end]) + has_hyphen + self.spare(row)

    def _table_row_cells(self, start: int, end: int) -> int:
        """Cells of a table's row: its columns up to the end of the last cell's text."""
        cells = cells_of(self.shown, start, end)
        *widths_before, last_width = self.columns[: len(cells)]
        separators = len(widths_before) * len(DRAWN_SEPARATOR)
        before = sum(map(abs, widths_before)) + separators
        is_flush_right = last_width < 0
        if is_flush_right:
            return before - last_width
        last_start, last_end = cells[-1]
        return before + cell_len(self.shown[last_start:last_end])

    def text_cell(self, row: int) -> int:
        """The cell of a row in which its text begins."""
        shift = self._shift(self.line_of(row))
        spare = max(0, self.room - shift - self.row_cells(row))
        if self.block.align == "center":
            return self.left + shift + spare // 2
        if self.right_to_left and not self.columns:
            # The indent is at the right; a rail or a label stays at the left.
            has_left_part = bool(self.block.rail or self.block.hanging)
            return spare + (self.left if has_left_part else 0)
        return self.left + shift

    def _shift(self, line: int) -> int:
        """Cells by which a line of text is indented within the block."""
        if not line:
            return self.first
        if self._begins_line(line):
            return 0
        return self.turnover

    def _begins_line(self, line: int) -> bool:
        """Whether a row of text is the first of its line."""
        if not line:
            return True
        end_before = self.spans[line - 1][1]
        start = self.spans[line][0]
        return "\n" in self.shown[end_before:start]


def text_cells(block: Block, width: int, left: int) -> int:
    """Cells for text in a row of `width` cells, after `left` cells of rail and indent."""
    room = max(1, width - left)
    if block.max_width > 0:
        return min(room, block.max_width)
    return room


def lay_out(block: Block, width: int, reorder: bool = True) -> Layout:
    """Lay a block out in rows of `width` cells.

    >>> layout = lay_out(Block("Call me Ishmael. Some years ago"), 16)
    >>> [layout.shown[start:end] for start, end in layout.spans]
    ['Call me Ishmael.', 'Some years ago']
    """
    width = max(1, width)
    narrow = is_narrow(block.text)
    shown = block.text if narrow else clean(block.text)
    rail = cell_len(block.rail)
    left = min(rail + block.indent, max(0, width - _LEAST_TEXT))
    room = text_cells(block, width, left)
    if block.style == "table" and SEPARATOR in shown:
        broken = _break_table(shown, room)
    else:
        broken = _break_paragraph(block, shown, room, left, narrow=narrow)
    right_to_left = not narrow and _is_right_to_left(shown)
    tail_apart = False
    if block.tail:
        # Other text may end at the right edge, where the tail stands.
        is_at_left = block.align != "center" and not right_to_left
        text_end = left + broken.last_row_cells(shown)
        tail_apart = not is_at_left or not _fits_tail(block, text_end, width)
    return Layout(
        block=block,
        shown=shown,
        spans=broken.spans,
        width=width,
        left=left,
        first=broken.first,
        turnover=broken.turnover,
        tail_apart=tail_apart,
        reorder=reorder,
        parted=broken.parted,
        columns=broken.columns,
        right_to_left=right_to_left,
    )


@dataclass(frozen=True, slots=True)
class _BrokenText:
    """A text broken into rows. The fields are those of `Layout`."""

    spans: list[tuple[int, int]]
    first: int
    turnover: int
    parted: frozenset[int] = frozenset()
    columns: tuple[int, ...] = ()

    def last_row_cells(self, shown: str) -> int:
        """Cells of the last row's indent and text."""
        start, end = self.spans[-1]
        indent = self.first if len(self.spans) == 1 else self.turnover
        return indent + cell_len(shown[start:end])


def _break_table(shown: str, room: int) -> _BrokenText:
    """A row for each line if the columns fit, or else records."""
    columns = column_widths(shown, room)
    spans = lines_of(shown) if columns else record_rows(shown, room)
    turnover = min(RECORD_INDENT, _most_indent(room))
    return _BrokenText(spans, first=0, turnover=turnover, columns=columns)


def _break_paragraph(
    block: Block, shown: str, room: int, left: int, *, narrow: bool
) -> _BrokenText:
    """Wrap a block's text, hyphenated if its language and its alignment allow that."""
    most_indent = _most_indent(room)
    first = min(_first_indent(block, left), most_indent)
    turnover = min(block.turnover, most_indent)
    hyphens = _hyphens_for(block, room)
    spans = wrap(
        shown, room, first=first, turnover=turnover, hyphens=hyphens, narrow=narrow
    )
    parted = frozenset(hyphens.parted if hyphens is not None else ())
    return _BrokenText(spans, first, turnover, parted)


def _most_indent(room: int) -> int:
    """At least half of a row, and two cells for a wide character, stay free for text."""
    return min(room // 2, max(0, room - 2))


def _fits_tail(block: Block, text_end: int, width: int) -> bool:
    """Whether the tail fits into a row whose text ends at this cell."""
    return text_end + _BEFORE_TAIL + cell_len(block.tail) <= width


def _is_right_to_left(text: str) -> bool:
    return bidi.runs_right_to_left(text) and bidi.base_level(text) == 1


def _first_indent(block: Block, left: int) -> int:
    """Cells before the first row of text: its own indent, or what a long label takes."""
    if not block.hanging:
        return block.first_indent
    label_end = cell_len(block.rail) + cell_len(block.hanging)
    if label_end < left:
        return block.first_indent
    return max(block.first_indent, label_end + 1 - left)


def _hyphens_for(block: Block, room: int) -> Hyphens | None:
    """How words of justified or narrow text are hyphenated; None for other text."""
    is_hyphenated = block.align == "justify" or room < _NARROW
    if not block.language or not is_hyphenated:
        return None
    slack = max(_LEAST_SLACK, room // _SLACK)
    return Hyphens(partial(last_hyphen, block.language, block.foreign), slack)
