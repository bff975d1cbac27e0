"""A scrolled document that keeps its place in the text. `LongText` adds how it looks."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

from textual.cache import LRUCache
from textual.geometry import Size
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.selection import Selection
from textual.strip import Strip

from gistread.tui.text import selecting
from gistread.tui.text.document import Block, BlockSource, EndChanged, OffsetChanged
from gistread.tui.text.rows import RowIndex, TextPlace
from gistread.tui.text.spread import Spread, spread_of, top_above
from gistread.units import same_at_start

# Above all rows, also those that later blocks bring
_BEGINNING = TextPlace(0, 0, -(1 << 30))
_STRIPS_KEPT = 1024
_TALL = 9  # Rows of a view below which a turned screen repeats at most one row
_LEAST_COLUMN = 30  # Cells of a row below which there is one column
_LEAST_BETWEEN = 5  # Cells between two columns
_LINE_ROWS = 1  # Of a line that appears below; a larger change is a resize
_MARGINLESS = 20  # Cells of a view that is too narrow for a margin
_CELLS_A_MARGIN = 10  # Cells more than that for each cell of a margin


@dataclass(frozen=True, slots=True)
class _Splice:
    """Blocks `at` to `end` are replaced by others, `growth` more of them."""

    at: int
    end: int
    growth: int

    @property
    def new_end(self) -> int:
        return self.end + self.growth

    def removes(self, place: TextPlace) -> bool:
        return self.at <= place.block < self.end

    def moved(self, place: TextPlace) -> TextPlace:
        """The same place after the splice, if its block is not removed."""
        if place.block < self.end:
            return place
        return place._replace(block=place.block + self.growth)


class TextView(ScrollView, inherit_bindings=False):
    """Rows of a document, scrolled, spliced and selected. `LongText` draws them."""

    # Maximum cells of a row; the text is centred. 0: as wide as the widget.
    text_width: reactive[int] = reactive(0, init=False)
    # Empty cells at each side, if the widget is wide enough.
    side_margin: reactive[int] = reactive(2, init=False)
    # Whether right-to-left text is ordered here rather than by the terminal.
    reorder: reactive[bool] = reactive(True, init=False)

    # Most columns side by side; one if they would be too narrow.
    columns: reactive[int] = reactive(1, init=False)
    # Rows of the last column that something else covers.
    foot: reactive[int] = reactive(0, init=False)

    gutter_cells = 0  # Empty cells before each row
    # Rows that stay in view when a screen is turned; at most one if it is low
    overlap = 2
    # Whether the end of the text stays in view when a line appears below
    keeps_end = False

    def __init__(self, source: BlockSource, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._index = RowIndex(source, 0)
        # The place the user scrolled to the top, kept exact across resizes
        self._anchor = _BEGINNING
        self._left_margin = 0  # Empty cells at the left
        self._fitted_columns = 1
        self._spread: tuple[int, Spread] | None = None  # The last one, with the height
        # Drawn rows, by column and row
        self._strips: LRUCache[tuple[int, int], Strip] = LRUCache(_STRIPS_KEPT)
        self._fitted: tuple[object, ...] = ()  # What the rows were last fitted to
        self._fitted_height = 0  # Height of the widget, in rows, at the last fit
        # Whether the view scrolls by itself: then the anchor stays
        self._settling = False
        # Empty rows after the last, so that late blocks can be scrolled up
        self._rows_below = 0
        # Scrolling to be done once there is a size
        self._scroll_later: Callable[[], object] | None = None
        self._announced: tuple[int, int] | None = None  # The range in view
        # Whether turning screens has moved the view since the last announcement
        self.turned = False

    def show(self, source: BlockSource, *, keep_position: bool = True) -> None:
        """Show another document.

        The position is kept by the book's offset at the top, or else by the block's key.
        """
        top_block = None
        if keep_position and self._ready and len(self._index) > 0:
            top_block = self._index.block(self._anchor.block)
        self._index = RowIndex(source, self._index.width, self._index.reorder)
        place = None
        if top_block is not None:
            anywhere = range(len(self._index))
            place = self._index.recall(self._anchor, top_block, anywhere)
        self._anchor = place or _BEGINNING
        if not keep_position:
            self._scroll_later = None  # It was meant for the document before.
        self._refit()
        selecting.drop(self)

    def splice(self, at: int, removed: int, blocks: Sequence[Block]) -> None:
        """Replace `removed` blocks from index `at` by `blocks`.

        The top of the view stays where it is.
        """
        splice = _Splice(at, end=at + removed, growth=len(blocks) - removed)
        selected = self._selected()
        removed_top = self._removed_top(splice)
        height = self._index.height
        self._index.splice(at, removed, blocks)
        self._move_anchor(splice, removed_top)
        if splice.growth == 0 and self._index.height == height and self._ready:
            self._redraw(splice)
        else:
            self._refit()
        if selected is not None:
            self._move_selection(splice, selected)

    def _removed_top(self, splice: "_Splice") -> Block | None:
        """The block at the top of the view, if the splice is about to remove it."""
        if not self._ready or self._anchor is _BEGINNING:
            return None
        if not splice.removes(self._anchor):
            return None
        return self._index.block(self._anchor.block)

    def _move_anchor(self, splice: "_Splice", removed_top: Block | None) -> None:
        """Keep the top of the view. `removed_top`: the block there, if it has been removed."""
        # All blocks are new: there was no text whose place could be kept.
        was_empty = splice.end == 0 and splice.growth == len(self._index)
        if not len(self._index) or was_empty:
            self._anchor = _BEGINNING
        elif removed_top is not None:
            new_blocks = range(splice.at, splice.new_end)
            last_new = max(0, splice.new_end - 1)
            nearest = self._anchor._replace(block=min(self._anchor.block, last_new))
            recalled = self._index.recall(self._anchor, removed_top, new_blocks)
            self._anchor = recalled or nearest
        elif self._anchor is not _BEGINNING:
            self._anchor = splice.moved(self._anchor)

    def _redraw(self, splice: "_Splice") -> None:
        """Draw blocks anew that take the rows of those they replace."""
        # With the block after them: its first row depends on the block before.
        after = min(splice.end + 1, len(self._index))
        rows = range(self._index.first_row(splice.at), self._index.first_row(after))
        for row in rows:
            for column in range(self._fitted_columns):
                self._strips.discard((column, row))
        self._spread = None
        self._settle()
        if self._fitted_columns == 1:
            self.refresh_lines(rows.start, len(rows))
        else:
            self.refresh()

    def _move_selection(
        self, splice: "_Splice", selected: tuple[TextPlace, TextPlace]
    ) -> None:
        """Keep the selection on its text; drop it if the splice has removed an end of it."""
        if any(map(splice.removes, selected)):
            selecting.drop(self)
        else:
            first, last = map(splice.moved, selected)
            selecting.select(self, self._index, first, last)

    def replace_from(self, at: int, new: Sequence[Block]) -> None:
        """Replace all blocks from index `at`.

        Equal ones at the beginning and the end are not laid out again.
        """
        old = [self._index.block(number) for number in range(at, len(self._index))]
        if old == new:
            return
        head = same_at_start(old, new)
        old_rest, new_rest = old[head:], new[head:]
        tail = same_at_start(old_rest[::-1], new_rest[::-1])
        removed = len(old_rest) - tail
        self.splice(at + head, removed, new_rest[: len(new_rest) - tail])

    @property
    def blocks(self) -> tuple[Block, ...]:
        """All blocks, also those outside the view."""
        return tuple(self._index.block(number) for number in range(len(self._index)))

    def block(self, index: int) -> Block:
        """Raises IndexError."""
        return self._index.block(index)

    @property
    def row_count(self) -> int:
        if not self._ready:
            return 0
        return self._index.height

    @property
    def rows_in_view(self) -> tuple[int, int]:
        """The first row in view and the last."""
        top = self.scroll_offset.y
        if not self._ready:
            return top, top
        return top, max(top, self.spread.end - 1)

    @property
    def spread(self) -> Spread:
        """The rows in view, by column."""
        top = self.scroll_offset.y
        height = self.size.height
        if self._spread is not None:
            spread_height, spread = self._spread
            if spread_height == height and spread.top == top:
                return spread
        spread = self._spread_from(top)
        self._spread = height, spread
        return spread

    def _spread_from(self, top: int) -> Spread:
        """The rows of a view that begins at `top`."""
        height, columns = self.size.height, self._fitted_columns
        return spread_of(self._index, top, height, columns=columns, foot=self.foot)

    @property
    def row_width(self) -> int:
        """Cells of a row; 0 before there is a size."""
        return self._index.width

    @property
    def reading_offset(self) -> int | None:
        """Offset in the book of its first character in view.

        None if nothing of the book is shown.
        """
        if not self._ready or not len(self._index):
            return None
        top = self.scroll_offset.y
        # After a resize, the row at the top may begin before the place that was there.
        if self._index.row_of(self._anchor) == top:
            place = self._anchor
        else:
            place = self._index.place_of(top)
        return self._index.book_offset(place)

    @property
    def visible_range(self) -> tuple[int, int] | None:
        """(start, end) of the book's text in view, without rows that are covered."""
        if not self._ready:
            return None
        return self._range_to(self.spread.end)

    @property
    def whole_range(self) -> tuple[int, int] | None:
        """(start, end) of the book's text that would be in view if nothing covered it."""
        if not self._ready:
            return None
        return self._range_to(self._uncovered.end)

    @property
    def _uncovered(self) -> Spread:
        """The rows that would be in view if nothing covered them."""
        top, height = self.scroll_offset.y, self.size.height
        return spread_of(self._index, top, height, columns=self._fitted_columns)

    def _range_to(self, row: int) -> tuple[int, int] | None:
        """(start, end) of the book's text from the top of the view to a row."""
        start = self.reading_offset
        if start is None:
            return None
        if row >= self._index.height:
            place = TextPlace(len(self._index), 0)
        else:
            place = self._index.place_of(row)
        end = self._index.book_offset(place) or start
        return start, max(start, end)

    def scroll_to_offset(self, offset: int, *, top: float = 0.0) -> None:
        """Scroll to the book's character at `offset`.

        `top`: where it is to be in the view, from 0 (upper edge) to 1 (lower edge).
        """
        if not self._ready:
            self._scroll_later = lambda: self.scroll_to_offset(offset, top=top)
            return
        place = self._index.find_offset(offset)
        if place is None:
            return
        is_start_to_top = place.offset == 0 and top == 0
        if is_start_to_top and self._index.block(place.block).opens:
            # With the empty rows and the picture above a chapter
            place = place._replace(shift=-self._index.layout(place.block).above)
        row = self._index.row_of(place)
        self._scroll_row(row - int(top * max(0, self.size.height - 1)))
        if row == self.scroll_offset.y:
            # The place itself, as its row may begin before it.
            self._anchor = place
            self.call_after_refresh(self._announce)

    def scroll_to_key(
        self,
        key: Hashable,
        *,
        top: float | None = None,
        row: int | None = None,
        past_end: bool | None = None,
    ) -> bool:
        """Scroll to the blocks with this key. Returns whether there are any.

        `top` (0 to 1) or `row`: where they are to be in the view; None: scroll as little as
        possible. `past_end`: whether empty rows may follow the last one to bring them there; None:
        as before.
        """
        index = self._index.find_key(key)
        if index is None:
            return False
        if not self._ready:
            self._scroll_later = lambda: self.scroll_to_key(
                key, top=top, row=row, past_end=past_end
            )
            return True
        if row is None and top is not None:
            row = int(top * max(0, self.size.height - 1))
        first, last = self._rows_of_run(index)
        if row is None:
            top_row = self._least_scroll(first, last)
        else:
            top_row = first - row
        if past_end is not None:
            self._rows_below = self._missing_below(top_row) if past_end else 0
            self.virtual_size = self._whole_size
        self._scroll_row(top_row)
        return True

    def _rows_of_run(self, index: int) -> tuple[int, int]:
        """First row of text, and last row, of a block and its neighbours with the same key."""
        start, end = self._index.run_of(index)
        first = self._index.first_row(start) + self._index.layout(start).above
        return first, self._index.first_row(end) - 1

    def _least_scroll(self, first: int, last: int) -> int:
        """The top row of the nearest view that shows these rows, or else the first of them."""
        shown = self.spread
        if first < shown.top:
            return first
        if last < shown.end:
            return shown.top
        return min(first, self._top_above(last + 1))

    def _top_above(self, end: int) -> int:
        """The first row of the view that shows the rows before `end`."""
        height, columns = self.size.height, self._fitted_columns
        return top_above(self._index, end, height, columns=columns, foot=self.foot)

    def _missing_below(self, top: int) -> int:
        """Empty rows that are needed below the text to scroll it to `top`."""
        return max(0, top + self.size.height - self._least_height)

    @property
    def _least_height(self) -> int:
        """Rows to scroll through, so that the last view ends with the text."""
        if self._fitted_columns == 1 and not self.foot:
            return self._index.height
        return self._top_above(self._index.height) + self.size.height

    @property
    def _whole_size(self) -> Size:
        return Size(self._room, self._least_height + self._rows_below)

    def _place_at(self, offset: int) -> TextPlace | None:
        """The place of the book's character at `offset`; None before there is a size."""
        if not self._ready:
            return None
        return self._index.find_offset(offset)

    def bring_into_view(self, offset: int) -> None:
        """Scroll as little as possible to the book's character at `offset`, with a row to spare."""
        place = self._place_at(offset)
        if place is None:
            return
        row = self._index.row_of(place)
        spare = 1 if self.size.height > 2 else 0
        self._scroll_row(self._least_scroll(row - spare, row + spare))

    def cell_row(self, offset: int) -> tuple[int, int]:
        """(column, row) of the book's character at `offset`, also if it is covered.

        (0, 0) before there is a size.
        """
        place = self._place_at(offset)
        if place is None:
            return 0, 0
        return self._uncovered.place(self._index.row_of(place))

    @property
    def last_column(self) -> range:
        """The cells of the text in the last column."""
        left = self._left_margin + self.gutter_cells
        if self._fitted_columns > 1:
            left += self._index.width + self._between
        return range(left, left + self._index.width)

    def row_in_view(self, offset: int) -> int:
        """The row of the view that shows the book's character at `offset`; 0 if it is above."""
        place = self._place_at(offset)
        if place is None:
            return 0
        row = self._index.row_of(place)
        if self._fitted_columns == 1:
            return max(0, row - self.scroll_offset.y)
        return self.spread.place(row)[1]

    def offset_below(self, offset: int, rows: int) -> int | None:
        """The offset `rows` rows below `offset` (negative: above); None if there is none."""
        if not self._ready:
            return None
        return selecting.offset_below(self._index, offset, rows)

    @property
    def _repeated(self) -> int:
        """Rows of a turned screen that were in view before."""
        if self.size.height < _TALL:
            return min(self.overlap, 1)
        return self.overlap

    @property
    def _page(self) -> int:
        """Rows of a turned screen that were not in view before, if it has one column."""
        return max(1, self.size.height - self._repeated)

    def _turned_top(self, *, forward: bool) -> int:
        """The top row of the next or the previous screen."""
        top = self.scroll_offset.y
        if not forward:
            # At least by a row, as below: many rows may be repeated.
            return min(top - 1, self._top_above(top + self._repeated))
        end = self.spread.end
        next_top = max(top + 1, end - self._repeated)
        if self._fitted_columns > 1 and end < self._index.height:
            # The last screen repeats no more than the others.
            self._rows_below = self._missing_below(next_top)
            self.virtual_size = self._whole_size
        return next_top

    def _half_turned_top(self, *, forward: bool) -> int:
        """The top row after half a screen; with two columns, that is one column."""
        if self._fitted_columns == 1:
            rows = max(1, self.size.height // 2)
            if not forward:
                rows = -rows
            return self.scroll_offset.y + rows
        if forward:
            return self.spread.columns[-1].start
        return self.scroll_offset.y - self.size.height

    def _scroll_row(self, row: int) -> None:
        self.scroll_to(y=row, animate=False, force=True)

    def action_line_down(self, count: int = 1) -> None:
        self._scroll_row(self.scroll_offset.y + count)

    def action_turn(self, screens: float) -> None:
        """Scroll by a screen, or by half of one; up if negative."""
        before = self.scroll_offset.y
        turned_top = self._turned_top if abs(screens) == 1 else self._half_turned_top
        self._scroll_row(turned_top(forward=screens > 0))
        # At either end nothing moves, and the next jump of the scroll bar is not taken for a turn.
        if self.scroll_offset.y != before:
            self.turned = True

    def action_top(self) -> None:
        self._scroll_row(0)

    def action_bottom(self) -> None:
        self._scroll_row(self.max_scroll_y)

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Remember the place at the top, if the user scrolled."""
        super().watch_scroll_y(old_value, new_value)
        if self._settling or not self._ready or round(old_value) == round(new_value):
            return
        if len(self._index):
            self._anchor = self._index.place_of(round(new_value))
        self.call_after_refresh(self._announce)

    def watch_show_vertical_scrollbar(self, shown: bool) -> None:
        """Move the scroll bar to where the text was scrolled while it was hidden.

        Textual does not.
        """
        if shown:
            self.vertical_scrollbar.position = self.scroll_y

    def _announce(self) -> None:
        """Post what has changed in view since the last announcement."""
        view = self.visible_range
        announced = self._announced
        if view is not None:
            self._announced = view
            start, _ = view
            has_moved = announced is None or announced[0] != start
            if has_moved:
                self.post_message(OffsetChanged(self, start, self.turned))
            elif view != announced:
                self.post_message(EndChanged(self))
        self.turned = False

    @property
    def _ready(self) -> bool:
        """Whether the rows have a width: before the first layout there is none."""
        return self._index.width > 0

    @property
    def _room(self) -> int:
        """Cells of the width without the scroll bar; 0 before there is a size."""
        width = self.size.width
        if not width:
            return 0
        return max(1, width - self.scrollbar_size_vertical)

    def _fit_row(self, width: int) -> tuple[int, int]:
        """(margin, cells of a row) in a view `width` cells wide.

        `text_width` limits the rows unless it is 0. Without a side margin, they are not centred.
        """
        beyond_marginless = max(0, width - _MARGINLESS)
        least_margin = min(self.side_margin, beyond_marginless // _CELLS_A_MARGIN)
        room = width - 2 * least_margin - self.gutter_cells
        columns = self._columns_in(width)
        between = 0
        if columns > 1:
            between = self._between
            room = (room - between) // columns
        row_width = max(1, room)
        if self.text_width > 0:
            row_width = min(row_width, self.text_width)
        if not self.side_margin:
            return 0, row_width
        used = columns * row_width + between + self.gutter_cells
        margin = max(0, (width - used) // 2)
        return margin, row_width

    @property
    def _between(self) -> int:
        """Cells between two columns."""
        return max(_LEAST_BETWEEN, self.side_margin)

    def _columns_in(self, width: int) -> int:
        """The number of columns in a view `width` cells wide."""
        room = width - 2 * self.side_margin - self._between
        # A text with a cursor, which is drawn in the gutter, has one column.
        if self.gutter_cells or room < _LEAST_COLUMN * self.columns:
            return 1
        return self.columns

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        _, row_width = self._fit_row(width - self.scrollbar_size_vertical)
        if (row_width, self.reorder) == (self._index.width, self._index.reorder):
            return self._index.height
        return RowIndex(self._index.source, row_width, self.reorder).height

    def _size_updated(
        self, size: Size, virtual_size: Size, container_size: Size, layout: bool = True
    ) -> bool:
        # Textual clips the scroll position to the new size before a Resize event. The rows are
        # fitted here, so that neither the clipping nor rows of the old width are seen.
        height_before = self._fitted_height
        was_at_end = 0 < self.max_scroll_y <= self.scroll_offset.y
        self._settling = True
        try:
            changed = super()._size_updated(size, virtual_size, container_size, layout)
        finally:
            self._settling = False
        self._fit()
        lost_rows = height_before - self.size.height
        if self.keeps_end and was_at_end and lost_rows == _LINE_ROWS:
            self._scroll_row(self.max_scroll_y)
        return changed

    def _fit(self) -> None:
        """Lay out the rows for the size of the widget and its settings."""
        width = self._room
        if not width:
            return
        margin, row_width = self._fit_row(width)
        columns = self._columns_in(width)
        # Where the second column begins depends on the height.
        height = self.size.height if columns > 1 or self.foot else 0
        fitted = (width, margin, row_width, self.reorder, columns, height, self.foot)
        self._fitted_height = self.size.height
        if fitted == self._fitted:
            self._settle()
            # More or fewer rows may be in view.
            self.call_after_refresh(self._announce)
            return
        self._fitted = fitted
        # What stands beside the text may have to move with its rows.
        self._announced = None
        selected = self._selected()
        self._left_margin = margin
        self._fitted_columns = columns
        self._index.resize(row_width, self.reorder)
        self._refit()
        if selected is not None:
            first, last = selected
            selecting.select(self, self._index, first, last)
        scroll_later = self._scroll_later
        if scroll_later is not None:
            self._scroll_later = None
            scroll_later()

    def _refit(self) -> None:
        """Draw all anew after the rows have changed."""
        self._strips.clear()
        self._spread = None
        if not self._ready:
            return
        self.virtual_size = self._whole_size
        self._settle()
        self.call_after_refresh(self._announce)
        self.refresh()

    def _settle(self) -> None:
        """Scroll so that the remembered place is at the top."""
        row = self._index.row_of(self._anchor)
        if row == self.scroll_offset.y:
            return  # Leave a running scroll alone.
        self._settling = True
        try:
            self._scroll_row(row)
        finally:
            self._settling = False

    watch_text_width = _fit
    watch_side_margin = _fit
    watch_reorder = _fit
    watch_columns = _fit
    watch_foot = _fit

    @property
    def selected_range(self) -> tuple[int, int] | None:
        """(start, end) of the selection in the book."""
        selected = self._selected()
        if selected is None:
            return None
        start, end = map(self._index.book_offset, selected)
        if start is None or end is None or start >= end:
            return None
        return start, end

    def select_range(self, start: int, end: int) -> None:
        """Select this range of the book; an empty one drops the selection."""
        first = self._index.find_offset(start)
        last = self._index.find_offset(end)
        if start >= end or first is None or last is None:
            selecting.drop(self)
        else:
            selecting.select(self, self._index, first, last)

    def _selected(self) -> tuple[TextPlace, TextPlace] | None:
        """First and last point of the selection."""
        if not self._ready or not self.is_attached:
            return None
        selection = self.text_selection
        if selection is None:
            return None
        return selecting.selected_between(self._index, selection, *self.rows_in_view)

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """The selected paragraphs, as Textual copies them: (text, ending)."""
        ends = selecting.selected_between(self._index, selection, *self.rows_in_view)
        if ends is None:
            return None
        first, last = ends
        return selecting.text_between(self._index, first, last), "\n"
