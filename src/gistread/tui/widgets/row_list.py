"""The list of every panel and of the input line."""

from collections.abc import Hashable

from textual.message import Message

from gistread.tui.commands import CommandTarget, bindings
from gistread.tui.text import LongText
from gistread.tui.widgets.moving import MOVING


class RowList(CommandTarget, LongText):
    """Rows with a cursor. The keys that scroll the book move the cursor."""

    OWN_COMMANDS = MOVING
    BINDINGS = bindings(MOVING)
    ALLOW_SELECT = False
    CURSOR_GROUND = "current"

    class Moved(Message):
        """The cursor is on another row."""

    def set_cursor(self, key: Hashable, *, scroll: bool = True) -> bool:
        before = self._cursor_index
        is_there = super().set_cursor(key, scroll=scroll)
        if self._cursor_index != before:
            self.post_message(self.Moved())
        return is_there

    def on_resize(self) -> None:
        self.show_heading()

    def show_heading(self) -> None:
        """With the cursor on the first row, scroll to the heading above it, if both fit.

        A list often has only a row or two before its panel gets its height. It is then scrolled to
        the cursor, past the heading.
        """
        first = self._keyed(range(len(self._index)))
        if first is None or self._cursor_at() != first:
            return
        # Textual ignores a scroll while the scroll bar is not there yet, unless it is forced.
        self.scroll_to(y=0, animate=False, force=True)
        self.scroll_to_key(self.cursor_key)

    def action_line_down(self, count: int = 1) -> None:
        self.move_cursor(count)

    def action_turn(self, screens: float) -> None:
        """Scroll by this part of a screen.

        The cursor moves by as many rows, less one for orientation.
        """
        if not len(self._index):
            return
        top, bottom = self.rows_in_view
        first, _ = self._index.locate(top)
        last, _ = self._index.locate(bottom)
        keys = {self._index.block(number).key for number in range(first, last + 1)}
        keys.discard(None)
        rows = round(screens * max(1, len(keys) - 1))
        least = round(2 * screens)  # Half a screen with few rows moves the cursor, too.
        self.move_cursor(rows or least)
        # The cursor alone would scroll only as far as it needs to be in view.
        self._scroll_row(top + round(screens * self._page))
        self.scroll_to_key(self.cursor_key)

    def action_top(self) -> None:
        self.move_cursor(-len(self._index))
        self._scroll_row(0)

    def action_bottom(self) -> None:
        self.move_cursor(len(self._index))
