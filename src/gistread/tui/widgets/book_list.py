"""The list of the library's books, drawn row by row, so that thousands cost no more than a screenful."""

import time
from collections.abc import Mapping, Sequence
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from gistread.library.memories import furthest_reader
from gistread.library.model import LibraryEntry
from gistread.memory.progress import BookProgress
from gistread.tui.commands import Scope, bindings
from gistread.tui.library_rows import ONE_LINE, lines

_CURSOR = "▌"
_PREFIX = "book-list--"


class BookList(ScrollView, can_focus=True):
    """Books, one of them the current one."""

    BINDINGS = bindings(Scope.MOVING)
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        _PREFIX + role for role in ("title", "author", "muted", "accent", "warning", "cursor")
    }
    DEFAULT_CSS = """
    BookList {
        height: 1fr;
        color: $gr-text;
        background: $gr-background;
        scrollbar-size-vertical: 1;
        & > .book-list--title { color: $gr-text; text-style: bold; }
        & > .book-list--author { color: $gr-text; }
        & > .book-list--muted { color: $gr-muted; }
        & > .book-list--accent { color: $gr-accent; }
        & > .book-list--warning { color: $gr-warning; }
        & > .book-list--cursor { color: $gr-text; background: $gr-cursor; text-style: $gr-cursor-style; }
    }
    """

    class Moved(Message):
        """The current book changed."""

    class Chosen(Message):
        """The person opens the current book."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._entries: Sequence[LibraryEntry] = ()
        self._read: Mapping[str, BookProgress] = {}
        self._at = 0
        self.now_s = time.time()

    @property
    def current(self) -> LibraryEntry | None:
        return self._entries[self._at] if self._entries else None

    @property
    def count(self) -> int:
        return len(self._entries)

    @property
    def index(self) -> int:
        return self._at

    @property
    def row_height(self) -> int:
        return 1 if self._columns >= ONE_LINE else 2

    def show(
        self,
        entries: Sequence[LibraryEntry],
        read: Mapping[str, BookProgress],
        *,
        at: LibraryEntry | None = None,
        index: int = 0,
    ) -> None:
        """Replace the list, the cursor on `at` or else on `index`."""
        wanted = set(at.ids) if at else set()
        self._entries, self._read, self.now_s = entries, read, time.time()
        places = (place for place, entry in enumerate(entries) if not wanted.isdisjoint(entry.ids))
        self._at = next(places, index)
        self._measure()
        self.move_to(self._at)

    def move_to(self, index: int) -> None:
        """Make this the current book, in view."""
        self._at = max(0, min(index, len(self._entries) - 1))
        height = self.row_height
        self.scroll_to_region(Region(0, self._at * height, 1, height), animate=False, force=True)
        self.refresh()
        self.post_message(self.Moved())

    # Moving

    def action_line_down(self) -> None:
        self.move_to(self._at + 1)

    def action_line_up(self) -> None:
        self.move_to(self._at - 1)

    def action_page_down(self) -> None:
        self.move_to(self._at + self._page)

    def action_page_up(self) -> None:
        self.move_to(self._at - self._page)

    def action_half_page_down(self) -> None:
        self.move_to(self._at + max(1, self._page // 2))

    def action_half_page_up(self) -> None:
        self.move_to(self._at - max(1, self._page // 2))

    def action_top(self) -> None:
        self.move_to(0)

    def action_bottom(self) -> None:
        self.move_to(len(self._entries) - 1)

    @property
    def _page(self) -> int:
        return max(1, self.size.height // self.row_height)

    # The mouse

    def on_click(self, event: events.Click) -> None:
        """The first click selects a book, the second opens it."""
        index = (event.y + self.scroll_offset.y) // self.row_height
        if not 0 <= index < len(self._entries):
            return
        if index == self._at and (event.chain > 1 or self.has_focus):
            self.post_message(self.Chosen())
        else:
            self.focus()
            self.move_to(index)

    # Drawing

    def on_resize(self) -> None:
        self._measure()
        self.move_to(self._at)

    @property
    def _columns(self) -> int:
        return self.scrollable_content_region.width

    def _measure(self) -> None:
        self.virtual_size = Size(self._columns, len(self._entries) * self.row_height)

    def render_line(self, y: int) -> Strip:
        width = self._columns
        index, line = divmod(y + self.scroll_offset.y, self.row_height)
        base = self.rich_style
        if index >= len(self._entries):
            return Strip.blank(self.size.width, base)
        entry = self._entries[index]
        row = lines(entry, furthest_reader(entry, self._read), self.now_s, width)[line]
        here = index == self._at
        segments = [Segment(cell.text, self._style(cell.role, here)) for cell in row]
        if here:
            segments[0] = Segment(_CURSOR + row[0].text[1:], self._style("accent", here))
        return Strip(segments).adjust_cell_length(self.size.width, self._style("author", here) if here else base)

    def _style(self, role: str, here: bool) -> Style:
        style = self.get_component_rich_style(_PREFIX + role, partial=here)
        if not here:
            return style
        cursor = self.get_component_rich_style(_PREFIX + "cursor")
        # Where the cursor is drawn by reversing, the colours of words would become grounds.
        return cursor if cursor.reverse else cursor + style
