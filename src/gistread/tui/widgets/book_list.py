"""The library's books as covers or lines, drawing only what is in view, and the details of the one under the cursor."""

import asyncio
import time
from collections.abc import Callable, Iterable, Sequence
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual import events, work
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from gistread.library.entries import LibraryEntry
from gistread.tui.commands import Scope, bindings, own_keys
from gistread.tui.library_work import Books
from gistread.tui.text import clean
from gistread.tui.text.figure import Figure
from gistread.tui.widgets.book_rows import (
    LARGE,
    SMALL,
    Cell,
    CoverSize,
    about,
    cover_rows,
    fit,
    last_read,
    line,
    progress,
)
from gistread.tui.widgets.lines import Line, Rule, fitted

_LARGE_COLUMNS, _LARGE_ROWS = 90, 22  # size of the list from which covers are large
_BETWEEN = 4  # columns from one cover to the next

_CURSOR = "▌"
_SAMPLE = "A tale of suspense that comes with gistread: a quarter of an hour to read."
_PREFIX = "book-list--"


class BookList(ScrollView, can_focus=True):
    BINDINGS: ClassVar = [*own_keys(("left,h", "step(-1)"), ("right,l", "step(1)")), *bindings(Scope.MOVING)]
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        _PREFIX + role for role in ("title", "text", "muted", "accent", "warning", "cursor")
    }
    DEFAULT_CSS = """
    BookList {
        height: 1fr;
        color: $gr-text;
        background: $gr-background;
        scrollbar-size-vertical: 1;
        scrollbar-gutter: stable;
        & > .book-list--title { color: $gr-text; text-style: bold; }
        & > .book-list--text { color: $gr-text; }
        & > .book-list--muted { color: $gr-muted; }
        & > .book-list--accent { color: $gr-accent; }
        & > .book-list--warning { color: $gr-warning; }
        & > .book-list--cursor { color: $gr-text; background: $gr-cursor; text-style: $gr-cursor-style; }
    }
    """

    class Moved(Message):
        """The current book or the books in view have changed."""

    class Chosen(Message):
        """The current book was chosen."""

    def __init__(self, cover_of: Callable[[LibraryEntry], Figure | None], *, id: str | None = None) -> None:
        """`cover_of`: the cover, if it is loaded."""
        super().__init__(id=id)
        self._cover_of = cover_of
        self.covers = False  # whether books are shown as covers; else as lines
        self._entries: Sequence[LibraryEntry] = ()
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
        return self._cover_size.rows + 3 if self.covers else 1

    @property
    def _cover_size(self) -> CoverSize:
        return LARGE if self._columns >= _LARGE_COLUMNS and self.size.height >= _LARGE_ROWS else SMALL

    @property
    def _per_row(self) -> int:
        return max(1, (self._columns - 1) // (self._cover_size.columns + _BETWEEN)) if self.covers else 1

    @property
    def in_view(self) -> Iterable[LibraryEntry]:
        first = self.scroll_offset.y // self.row_height * self._per_row
        return self._entries[first : first + (self.size.height // self.row_height + 2) * self._per_row]

    def show_covers(self, covers: bool) -> None:
        self.covers = covers
        self.on_resize()

    def show(self, entries: Sequence[LibraryEntry], *, at: LibraryEntry | None = None, index: int = 0) -> None:
        """Replace the list, the cursor on `at` or else on `index`."""
        wanted = set(at.ids) if at else set()
        self._entries, self.now_s = entries, time.time()
        places = (place for place, entry in enumerate(entries) if not wanted.isdisjoint(entry.ids))
        self._at = next(places, index)
        self._measure()
        self.move_to(self._at)

    def move_to(self, index: int) -> None:
        self._at = max(0, min(index, len(self._entries) - 1))
        height, row = self.row_height, self._at // self._per_row
        self.scroll_to_region(Region(0, row * height, 1, height), animate=False, force=True)
        self.refresh()
        self.post_message(self.Moved())

    def action_step(self, by: int) -> None:
        self.move_to(self._at + by)

    def action_line_down(self) -> None:
        self._move_rows(1)

    def action_line_up(self) -> None:
        self._move_rows(-1)

    def action_page_down(self) -> None:
        self._move_rows(max(1, self.size.height // self.row_height))

    def action_page_up(self) -> None:
        self._move_rows(-max(1, self.size.height // self.row_height))

    action_half_page_down, action_half_page_up = action_page_down, action_page_up

    def _move_rows(self, rows: int) -> None:
        """Move by rows in the same column; a shorter last row ends at its last book."""
        row, column = divmod(self._at, self._per_row)
        last = max(0, len(self._entries) - 1) // self._per_row
        self.move_to(max(0, min(row + rows, last)) * self._per_row + column)

    def action_top(self) -> None:
        self.move_to(0)

    def action_bottom(self) -> None:
        self.move_to(len(self._entries) - 1)

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        if round(old_value) != round(new_value):
            self.post_message(self.Moved())  # other covers are in view

    def on_click(self, event: events.Click) -> None:
        """The first click selects a book, the second opens it."""
        column = event.x // (self._cover_size.columns + _BETWEEN) if self.covers else 0
        index = (event.y + self.scroll_offset.y) // self.row_height * self._per_row + column
        if column >= self._per_row or not 0 <= index < len(self._entries):
            return
        if index == self._at and (event.chain > 1 or self.has_focus):
            self.post_message(self.Chosen())
        else:
            self.focus()
            self.move_to(index)

    def on_resize(self) -> None:
        self._measure()
        self.move_to(self._at)

    @property
    def _columns(self) -> int:
        return self.scrollable_content_region.width

    def _measure(self) -> None:
        rows = -(-len(self._entries) // self._per_row)
        self.virtual_size = Size(self._columns, max(0, rows * self.row_height - self.covers))  # none below the last

    def render_line(self, y: int) -> Strip:
        width = self._columns
        index, row = divmod(y + self.scroll_offset.y, self.row_height)
        base = self.rich_style
        if self.covers:
            first = index * self._per_row
            places = range(first, min(first + self._per_row, len(self._entries)))
            segments = [segment for place in places for segment in self._card(place, row)]
            return Strip(segments).apply_style(base).adjust_cell_length(self.size.width, base)
        if index >= len(self._entries):
            return Strip.blank(self.size.width, base)
        here = index == self._at
        margin, *cells = line(self._entries[index], self.now_s, width)
        segments = [
            Segment(_CURSOR + margin.text[1:], self._style("accent", here)) if here else Segment(margin.text, base),
            *(Segment(cell.text, self._style(cell.role, here)) for cell in cells),
        ]
        return Strip(segments).adjust_cell_length(self.size.width, self._style("text", here) if here else base)

    def _card(self, index: int, row: int) -> list[Segment]:
        """One row of a book's card: of its cover, its title, or its progress."""
        entry, size, here = self._entries[index], self._cover_size, index == self._at
        room = size.columns + _BETWEEN - 1
        bar = Segment(_CURSOR if here and row < size.rows + 2 else " ", self._style("accent", False))
        if row < size.rows:
            cover = cover_rows(entry, self._cover_of(entry), size)[row]
            return [bar, *cover, Segment(" " * (room - size.columns), self.rich_style)]
        cell = Cell("", "muted")
        if row == size.rows:
            cell = Cell(entry.title, "title")
        elif row == size.rows + 1:
            cell = last_read(entry, self.now_s) if entry.missing else Cell(", ".join(entry.authors), "muted")
            if entry.was_opened and not entry.missing:
                cell = Cell(progress(entry, room - 8), "accent")
        style = self._style(cell.role, here and row == size.rows)
        return [bar, Segment(fit(cell.text, room - 2), style), Segment("  ", self.rich_style)]

    def _style(self, role: str, here: bool) -> Style:
        style = self.get_component_rich_style(_PREFIX + role, partial=here)
        if not here:
            return style
        cursor = self.get_component_rich_style(_PREFIX + "cursor")
        # With a reversed cursor, text colours would become backgrounds.
        return cursor if cursor.reverse else cursor + style


class BookDetails(Vertical):
    """Two lines: facts, and the last question with the words at the reading place; of a book never read, its file."""

    def __init__(self, books: Books, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._books = books

    def compose(self) -> ComposeResult:
        yield Rule()
        yield Line(id="facts")
        yield Line(id="left")

    @work(exclusive=True)
    async def show(self, entry: LibraryEntry | None, now_s: float, hint: str) -> None:
        """`hint`: what to do about a missing file."""
        if entry is None:
            facts, left = "", ""
        else:
            facts = about(entry, self._books.read_by.get(entry.sha256), now_s)
            words, question = await asyncio.to_thread(self._books.left_at, entry)
            said = filter(None, (f"You asked: {question}" if question else "", words))
            left = f"The file was {entry.path}. {hint}" if entry.missing else " · ".join(said)
            left = left or (str(entry.path or "") if entry.ids else _SAMPLE)
        for name, text, style in (("#facts", facts, "$gr-text"), ("#left", left, "$gr-muted")):
            line, text = self.query_one(name, Line), clean(text)
            line.show((text, line.room), Content.styled(fitted(text, line.room), style))
