"""The widget for every long text. Draws only the rows in view, cached, and reports clicks."""

from collections.abc import Hashable, Iterable, Sequence
from pathlib import Path

from rich.segment import Segment
from textual import events
from textual.css.styles import RenderStyles
from textual.dom import DOMNode
from textual.geometry import Offset, Size
from textual.reactive import reactive
from textual.selection import Selection
from textual.strip import Strip

from gistread.tui.text import selecting
from gistread.tui.text.cells import cell_len, clean
from gistread.tui.text.document import (
    Block,
    BlockSource,
    Clicked,
    Mark,
    MarkIndex,
    Span,
)
from gistread.tui.text.layout import Layout
from gistread.tui.text.paint import RowLook, TextStyles, before_text, paint_row, row_end
from gistread.tui.text.rows import TextPlace
from gistread.tui.text.selecting import character_at
from gistread.tui.text.view import TextView

_CURSOR = "▌"


class LongText(TextView, can_focus=True, inherit_bindings=False):
    """Blocks of text, scrolled by rows. Has actions but binds no keys."""

    DEFAULT_CSS = Path(__file__).with_name("long_text.tcss").read_text("utf-8")

    # A style whose background fills the rows under the cursor; empty: only the bar marks them
    CURSOR_GROUND = ""
    # Whether the cursor is drawn only while the widget has the focus
    CURSOR_NEEDS_FOCUS = False
    # Whether a block cursor marks one block, or a run of blocks with one key, at the left.
    cursor: reactive[bool] = reactive(False, init=False)
    # Ranges of the book drawn in a style of their own.
    marks: reactive[tuple[Mark, ...]] = reactive((), init=False)

    def __init__(
        self,
        source: BlockSource = (),
        *,
        text_width: int = 0,
        side_margin: int = 2,
        cursor: bool = False,
        id: str | None = None,
    ) -> None:
        super().__init__(source, id=id)
        self._cursor_index: int | None = None
        self._mark_index = MarkIndex()
        self._palette: TextStyles | None = None
        self._pressed: Offset | None = None
        self.set_reactive(LongText.text_width, text_width)
        self.set_reactive(LongText.side_margin, side_margin)
        self.set_reactive(LongText.cursor, cursor)
        self.gutter_cells = int(cursor)

    def show(self, source: BlockSource, *, keep_position: bool = True) -> None:
        key = self.cursor_key
        super().show(source, keep_position=keep_position)
        self._cursor_index = self._find(key)

    def splice(self, at: int, removed: int, blocks: Sequence[Block]) -> None:
        """Replace blocks; the cursor stays on its key, or else goes to the nearest one."""
        key = self.cursor_key
        cursor = self._cursor_index
        super().splice(at, removed, blocks)
        if cursor is None or cursor < at:
            return
        self._cursor_index = self._find(key)
        if self._cursor_index is None:
            self._cursor_index = self._nearest_keyed(cursor)
        if self._cursor_index != cursor:
            self._repaint()

    def _find(self, key: Hashable) -> int | None:
        """Index of the first block with this key; None without one."""
        if key is None:
            return None
        return self._index.find_key(key)

    def _size_updated(
        self, size: Size, virtual_size: Size, container_size: Size, layout: bool = True
    ) -> bool:
        # If the cursor is in view, keep it in view.
        current = self._cursor_at() if self._ready else None
        was_in_view = False
        if current is not None:
            was_in_view = self._in_view(current, self._fitted_height)
        changed = super()._size_updated(size, virtual_size, container_size, layout)
        if was_in_view and changed:
            self.scroll_to_key(self.cursor_key)
        return changed

    def watch_marks(self) -> None:
        self._mark_index = MarkIndex(self.marks)
        self._repaint()

    @property
    def cursor_key(self) -> Hashable:
        """Key of the current block; None without a cursor or without keys."""
        index = self._cursor_at()
        if index is None:
            return None
        return self._index.block(index).key

    def move_cursor(self, step: int) -> None:
        """Move the cursor by `step` keys and scroll to it.

        If it is out of view, only bring it back into view.
        """
        index = self._cursor_at()
        if index is None or not self._ready:
            return
        if self._in_view(index, self.size.height):
            index = self._step_from(index, step)
        else:
            in_view = self._keyed_in_view(from_below=step < 0)
            if in_view is not None:
                index = in_view
        self.set_cursor(self._index.block(index).key)

    def _step_from(self, index: int, step: int) -> int:
        """The index `step` keys further, or of the last key on the way."""
        for _ in range(abs(step)):
            following = self._next_keyed(index, forward=step > 0)
            if following is None:
                break
            index = following
        return index

    def _keyed_in_view(self, *, from_below: bool) -> int | None:
        """Index of the first block with a key in view; `from_below`: of the last."""
        if not self.size.height:
            return None
        first_row, last_row = self.rows_in_view
        top, _ = self._index.locate(first_row)
        bottom, _ = self._index.locate(last_row)
        numbers = range(top, bottom + 1)
        return self._keyed(reversed(numbers) if from_below else numbers)

    def set_cursor(self, key: Hashable, *, scroll: bool = True) -> bool:
        """Put the cursor on the blocks with this key. Returns whether there are any."""
        index = self._index.find_key(key)
        if index is None or key is None:
            return False
        self._cursor_index = index
        self._repaint()
        if scroll:
            self.scroll_to_key(key)
        return True

    def watch_cursor(self, cursor: bool) -> None:
        self.gutter_cells = int(cursor)
        self._fit()

    def _cursor_at(self) -> int | None:
        """Index of the cursor's first block; at first, the first block with a key."""
        if not self.cursor:
            return None
        if self._cursor_index is None:
            self._cursor_index = self._keyed(range(len(self._index)))
        return self._cursor_index

    def _keyed(self, numbers: Iterable[int]) -> int | None:
        """The first of these indices whose block has a key."""
        for number in numbers:
            if self._index.block(number).key is not None:
                return number
        return None

    def _nearest_keyed(self, index: int) -> int | None:
        """Index of the nearest block with a key above, or else of the nearest below."""
        count = len(self._index)
        above = range(min(index, count - 1), -1, -1)
        below = range(index + 1, count)
        return self._start_of_run(self._keyed((*above, *below)))

    def _start_of_run(self, index: int | None) -> int | None:
        """Index of the first block with the key of this block."""
        if index is None:
            return None
        start, _ = self._index.run_of(index)
        return start

    def _in_view(self, index: int, height: int) -> bool:
        """Whether a block, or a neighbour with its key, is in a view of this height."""
        start, end = self._index.run_of(index)
        top = self.scroll_offset.y
        is_above = self._index.first_row(end) <= top
        is_below = self._index.first_row(start) >= top + height
        return not is_above and not is_below

    def _next_keyed(self, index: int, *, forward: bool) -> int | None:
        """Index of the first block with the next key, or with the one before."""
        start, end = self._index.run_of(index)
        numbers = range(end, len(self._index)) if forward else range(start - 1, -1, -1)
        return self._start_of_run(self._keyed(numbers))

    def _repaint(self) -> None:
        self._strips.clear()
        self.refresh()

    def notify_style_update(self) -> None:
        """Called when the theme, the focus or a class changed."""
        super().notify_style_update()
        self._component_styles.clear()
        self._palette = None
        self._repaint()

    def get_component_styles(self, *names: str) -> RenderStyles:
        """Compute styles when first drawn.

        With COMPONENT_CLASSES, Textual would compute all at each style update.
        """
        for name in names:
            if name not in self._component_styles:
                node = DOMNode(classes=name)
                node._attach(self)
                self.app.stylesheet.apply(node)
                self._component_styles[name] = node.styles
        return super().get_component_styles(*names)

    def selection_updated(self, selection: Selection | None) -> None:
        """Redraw the selection; selected rows are not cached."""
        self.refresh()

    def render_line(self, y: int) -> Strip:
        """The strip `y` rows below the top of the view."""
        if self._palette is None:
            self._palette = TextStyles(self)
        width, ground = self.size.width, self._palette.ground
        if not self._ready:
            return Strip.blank(width, ground)
        strips = [
            self._column_line(number, y, self._palette)
            for number in range(self._fitted_columns)
        ]
        return Strip.join(strips).adjust_cell_length(width, ground)

    def _column_line(self, column: int, y: int, palette: TextStyles) -> Strip:
        """One row of a column, with the margin at its left."""
        row = self.spread.row_at(column, y)
        if row is None:
            return Strip.blank(self._column_cells(column), palette.ground)
        selected = self._selected()
        if selected is not None:
            block, _ = self._index.locate(row)
            part = selecting.part_of(block, selected)
            if part is not None:
                return self._paint(column, row, palette, part)
        strip = self._strips.get((column, row))
        if strip is None:
            strip = self._strips[column, row] = self._paint(column, row, palette, None)
        return strip

    def _margin_of(self, column: int) -> int:
        """Empty cells at the left of a column."""
        return self._between if column else self._left_margin

    def _column_cells(self, column: int) -> int:
        """Cells of a column with the margin at its left; the last one takes what remains."""
        is_last = column + 1 == self._fitted_columns
        if is_last:
            before = sum(map(self._column_cells, range(column)))
            return max(0, self.size.width - before)
        return self._margin_of(column) + self.gutter_cells + self._index.width

    def _paint(
        self,
        column: int,
        row: int,
        palette: TextStyles,
        selected: tuple[int, int] | None,
    ) -> Strip:
        """One row of a column; `selected`: the selected part of its block's text."""
        index, inner = self._index.locate(row)
        layout = self._index.layout(index)
        block = layout.block
        joined = self._continues(index)
        # Empty rows above a block have no ground and no cursor, unless they are within a run.
        is_filled = joined or inner >= layout.above
        has_cursor = is_filled and self._is_current(index)
        look = RowLook(
            palette,
            marked=self._marked(block),
            selected=selected,
            joined=joined,
            ground=self._ground_of(block, has_cursor) if is_filled else "",
            at=row,
        )
        margin = self._margin_of(column)
        line = self._paint_margin(layout, inner, palette, row, margin)
        if self.gutter_cells:
            gutter = _CURSOR if has_cursor else " "
            line.append(before_text(gutter, look.on_ground("cursor"), row))
        line += paint_row(layout, inner, look)
        # The tint of a block ends a cell after the text.
        edge = min(1, margin) if block.ground else 0
        width = margin + self.gutter_cells + self._index.width + edge
        unfilled = width - sum(segment.cell_length for segment in line)
        if unfilled > 0:
            line.append(row_end(layout, inner, look, unfilled))
        strip = Strip(line).adjust_cell_length(width, palette.ground)
        return strip.adjust_cell_length(self._column_cells(column), palette.ground)

    def _ground_of(self, block: Block, has_cursor: bool) -> str:
        """The style whose background fills the rows of a block; empty: the widget's."""
        if has_cursor and self.CURSOR_GROUND:
            return self.CURSOR_GROUND
        return block.ground

    def _continues(self, index: int) -> bool:
        """Whether a block belongs to the one before it."""
        key = self._index.block(index).key
        if index == 0 or key is None:
            return False
        return self._index.block(index - 1).key == key

    def _is_current(self, index: int) -> bool:
        """Whether a block is drawn with the cursor."""
        if self.CURSOR_NEEDS_FOCUS and not self.has_focus:
            return False
        current = self._cursor_at()
        if current is None:
            return False
        start, end = self._index.run_of(current)
        return start <= index < end

    def _paint_margin(
        self, layout: Layout, row: int, palette: TextStyles, at: int, margin: int
    ) -> list[Segment]:
        """The margin before a row, with the sign of a mark that begins there.

        `row`: number of the row in its block; `at`: in the document.
        """
        if not margin:
            return []
        sign = ""
        style = "sign"
        mark = self._signed_mark(layout, row)
        if mark is not None:
            text = clean(mark.sign)
            if cell_len(text) <= margin:
                sign = text
                style = mark.sign_style
        after = " " * min(1, margin - cell_len(sign))
        before = " " * (margin - len(after) - cell_len(sign))
        parts = (
            (before, palette.ground),
            (sign, palette.block(style)),
            (after, palette.ground),
        )
        return [before_text(part, ground, at) for part, ground in parts if part]

    def _signed_mark(self, layout: Layout, row: int) -> Mark | None:
        """The last mark with a sign that begins in a row."""
        start = layout.block.start
        span = layout.span(row)
        if start is None or span is None:
            return None
        row_start, _ = span
        row_end = len(layout.block.text)
        next_line = layout.line_of(row) + 1
        if next_line < len(layout.spans):
            row_end, _ = layout.spans[next_line]
        marks = self._mark_index.between(start + row_start, start + row_end)
        for mark in reversed(marks):
            begins_here = mark.start >= start + row_start
            if mark.sign and begins_here:
                return mark
        return None

    def _marked(self, block: Block) -> list[Span]:
        """The marks over a block, as ranges of its text."""
        start = block.start
        if start is None or not self.marks:
            return []
        marks = self._mark_index.between(start, start + len(block.text))
        return [
            Span(mark.start - start, mark.end - start, mark.style) for mark in marks
        ]

    @property
    def allow_vertical_scroll(self) -> bool:
        """Whether the user can scroll. A selection is not scrolled on its way between columns."""
        if self._fitted_columns > 1 and self.screen._selecting:
            mouse = self.app.mouse_position - self.content_region.offset
            in_last_column = mouse.x >= self._column_cells(0)
            in_upper_half = mouse.y < self.size.height // 2
            # The end of the first column, or the beginning of the last one
            is_between_columns = in_last_column == in_upper_half
            if is_between_columns:
                return False
        return super().allow_vertical_scroll

    def on_mouse_down(self, event: events.MouseDown) -> None:
        self._pressed = event.screen_offset

    def on_click(self, event: events.Click) -> None:
        """Report one click; select the word after two, the paragraph after three."""
        event.prevent_default()  # Textual would select the whole book at two
        position = event.get_content_offset(self)
        was_dragged = self._pressed != event.screen_offset
        if position is None or was_dragged:
            return
        row, cell = self._row_under(position)
        if row is None:
            return
        index, inner = self._index.locate(row)
        block = self._index.block(index)
        if inner < self._index.layout(index).above:
            self._report_above_text(block, inner)
            return
        offset = character_at(self._index, row, cell)
        if event.chain == 1 or not self.ALLOW_SELECT:
            self._report(block, offset)
            return
        if offset is None:
            return
        start, end = 0, len(block.text)
        if event.chain == 2:
            start, end = selecting.word_around(block.text, offset)
        first, last = TextPlace(index, start), TextPlace(index, end)
        selecting.select(self, self._index, first, last)

    def _report_above_text(self, block: Block, row: int) -> None:
        """Report a click on a block's picture, or on the empty rows above if there is no cursor."""
        if block.figure is not None and row >= block.blank_before:
            self._report(block, 0)
        elif not self.cursor:
            self._report(block, None)

    def _row_under(self, position: Offset) -> tuple[int | None, int]:
        """(row, cell of its text) at a position in the view; None below the text."""
        column = 0
        left = 0
        while column + 1 < self._fitted_columns:
            right = left + self._column_cells(column)
            if position.x < right:
                break
            column += 1
            left = right
        cell = position.x - left - self._margin_of(column) - self.gutter_cells
        return self.spread.row_at(column, position.y), cell

    def link_at(self, position: Offset) -> Hashable | None:
        """The link of the text at a position in the view; None without one."""
        row, cell = self._row_under(position)
        if row is None:
            return None
        offset = character_at(self._index, row, cell)
        return _link_of(self._index.block_at(row), offset)

    def _report(self, block: Block, offset: int | None) -> None:
        """Put the cursor on a clicked block, and report the click."""
        link = _link_of(block, offset)
        again = block.key is not None and block.key == self.cursor_key
        if self.cursor and block.key is not None:
            self.set_cursor(block.key, scroll=False)
        book_offset = None
        if offset is not None and block.start is not None:
            book_offset = block.start + offset
        self.post_message(
            Clicked(
                self,
                block_key=block.key,
                offset_in_block=offset,
                book_offset=book_offset,
                link=link,
                text=block.text,
                again=again,
            )
        )


def _link_of(block: Block, offset: int | None) -> Hashable | None:
    """The topmost link over a character of a block."""
    if offset is None:
        return None
    for span in reversed(block.spans):
        if span.link is not None and span.start <= offset < span.end:
            return span.link
    return None
