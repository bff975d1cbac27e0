"""The list of the library's books, drawn row by row, so that thousands cost no more than a screenful."""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar, NamedTuple

from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from gistread.library.model import LibraryEntry
from gistread.library.text import furthest_reader, percent, relative_time
from gistread.memory.progress import BookProgress
from gistread.tui.commands import Scope, bindings
from gistread.tui.text import clean
from gistread.units import progress_bar

ONE_LINE = 100  # columns from which a book takes one line
_MARGIN = 2  # columns for the cursor at the left
_GAP = 2
_BAR = 10
_MOST_TITLE, _MOST_AUTHOR = 72, 40  # maximum columns, so that rows can be followed on a very wide screen


class Cell(NamedTuple):
    """Text padded to its columns; `role` selects the colour."""

    text: str
    role: str


class _Column(NamedTuple):
    title: str
    columns: int
    from_columns: int  # Minimum width of the list to show it
    cell: Callable[[LibraryEntry, BookProgress | None, float], Cell]


_COLUMNS = (
    _Column("Progress", _BAR + 5, 0, lambda entry, read, now_s: Cell(_progress(entry), "accent")),
    _Column("Last read", 14, 0, lambda entry, read, now_s: _last(entry, now_s)),
    _Column("Left", 11, 112, lambda entry, read, now_s: Cell(entry.time_left, "muted")),
    _Column("Model", 6, 118, lambda entry, read, now_s: Cell(_model(entry, read), "muted")),
    _Column("Format", 8, 132, lambda entry, read, now_s: Cell(entry.format, "muted")),
)


def heading(width: int) -> str:
    title, author, columns = _widths(width)
    cells = [_fit("Title", title), _fit("Author", author), *(_fit(c.title, c.columns) for c in columns)]
    return " " * _MARGIN + (" " * _GAP).join(cells)


def lines(entry: LibraryEntry, read: BookProgress | None, now_s: float, width: int) -> tuple[tuple[Cell, ...], ...]:
    """The lines of a book's row, at most `width` columns each."""
    return _one_line(entry, read, now_s, width) if width >= ONE_LINE else _two_lines(entry, now_s, width)


def about(entry: LibraryEntry, read: BookProgress | None, now_s: float, width: int) -> tuple[str, str]:
    """(facts that are not in the row, place of the file)."""
    brief = width < ONE_LINE  # the row says the rest in two lines
    facts = ["" if brief else ", ".join(entry.authors) or "unknown author", entry.format]
    if entry.words:
        facts.append(f"{entry.words:,} words")
    if entry.was_opened:
        facts.append("" if brief else f"opened {relative_time(entry.opened_at, now_s)}")
        facts.append("finished" if entry.finished else f"{percent(entry.share)} read")
    else:
        facts.append("not opened yet")
    if entry.time_left and not brief:
        facts.append(f"{entry.time_left} left")
    if read is not None and read.pages:
        facts.append(f"{read.model_name} has read {_model(entry, read)} of it")
    else:
        facts.append("no model has read it")
    if entry.path is None:
        where = "It came by standard input, and can be opened that way alone."
    elif entry.missing:
        where = f"The file was {entry.path} and is no longer there."
    else:
        where = str(entry.path)
    return clean(" · ".join(filter(None, facts))), clean(where)


def _one_line(entry: LibraryEntry, read: BookProgress | None, now_s: float, width: int) -> tuple[tuple[Cell, ...], ...]:
    title, author, columns = _widths(width)
    cells = [
        Cell(" " * _MARGIN, "muted"),
        Cell(_fit(entry.title, title), "title"),
        Cell(_fit(", ".join(entry.authors), author, before=_GAP), "author"),
    ]
    for column in columns:
        cell = column.cell(entry, read, now_s)
        cells.append(Cell(_fit(cell.text, column.columns, before=_GAP), cell.role))
    return (tuple(cells),)


def _two_lines(entry: LibraryEntry, now_s: float, width: int) -> tuple[tuple[Cell, ...], ...]:
    room = width - _MARGIN
    progress = _progress(entry).strip()
    progress_columns = cell_len(progress) + _GAP if progress else 0
    last = _last(entry, now_s)
    left = entry.time_left
    right = f"{last.text} · {left} left" if left and not entry.missing else last.text
    right_columns = min(cell_len(right) + _GAP, max(_GAP, room))
    return (
        (
            Cell(" " * _MARGIN, "muted"),
            Cell(_fit(entry.title, room - progress_columns), "title"),
            Cell(_fit(progress, progress_columns - _GAP, before=_GAP) if progress else "", "accent"),
        ),
        (
            Cell(" " * _MARGIN, "muted"),
            Cell(_fit(", ".join(entry.authors), room - right_columns), "muted"),
            Cell(_fit(right, right_columns - _GAP, before=_GAP), last.role),
        ),
    )


def _widths(width: int) -> tuple[int, int, tuple[_Column, ...]]:
    shown = tuple(column for column in _COLUMNS if width >= column.from_columns)
    room = width - _MARGIN - sum(column.columns + _GAP for column in shown) - _GAP
    author = min(_MOST_AUTHOR, room * 2 // 5)
    return min(_MOST_TITLE, room - author), author, shown


def _progress(entry: LibraryEntry) -> str:
    return f"{progress_bar(entry.share, _BAR)} {percent(entry.share):>4}" if entry.was_opened else ""


def _last(entry: LibraryEntry, now_s: float) -> Cell:
    if entry.missing:
        return Cell("file not found", "warning")
    return Cell(relative_time(entry.opened_at, now_s) if entry.was_opened else "not opened yet", "muted")


def _model(entry: LibraryEntry, read: BookProgress | None) -> str:
    if read is None or not read.pages or not entry.length:
        return ""
    share = read.read_until / entry.length
    return "all" if share >= 1 else percent(share)


def _fit(text: str, columns: int, before: int = 0) -> str:
    """Pad or cut to so many columns; `before`: additional empty columns in front."""
    text = clean(text)
    if cell_len(text) > columns:
        text = set_cell_size(text, max(0, columns - 1)).rstrip() + "…" if columns else ""
    return " " * before + set_cell_size(text, columns)


_CURSOR = "▌"
_PREFIX = "book-list--"


class BookList(ScrollView, can_focus=True):
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
