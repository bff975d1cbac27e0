"""A book of the library in one or two lines of text, with as many columns as fit."""

from collections.abc import Callable
from typing import NamedTuple

from rich.cells import cell_len, set_cell_size

from gistread.library.entries import LibraryEntry
from gistread.library.figures import format_percent, relative_time
from gistread.memory.progress import BookProgress
from gistread.tui.text import clean
from gistread.tui.widgets.lines import fitted
from gistread.units import progress_bar

ONE_LINE = 99  # columns of the list from which a book takes one line
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
    _Column("Progress", _BAR + 5, 0, lambda entry, read, now_s: Cell(progress(entry), "accent")),
    _Column("Last read", 14, 0, lambda entry, read, now_s: last_read(entry, now_s)),
    _Column("Left", 11, 112, lambda entry, read, now_s: Cell(entry.time_left, "muted")),
    _Column("Model", 6, 118, lambda entry, read, now_s: Cell(_model(entry, read), "muted")),
    _Column("Format", 8, 132, lambda entry, read, now_s: Cell(entry.format, "muted")),
)


def heading(width: int) -> str:
    title, author, columns = _widths(width)
    cells = [fit("Title", title), fit("Author", author), *(fit(c.title, c.columns) for c in columns)]
    return " " * _MARGIN + (" " * _GAP).join(cells)


def lines(entry: LibraryEntry, read: BookProgress | None, now_s: float, width: int) -> tuple[tuple[Cell, ...], ...]:
    """The lines of a book's row, at most `width` columns each."""
    return _one_line(entry, read, now_s, width) if width >= ONE_LINE else _two_lines(entry, now_s, width)


def about(entry: LibraryEntry, read: BookProgress | None, now_s: float, width: int) -> tuple[str, str]:
    """(facts that the row does not show, path of the file)."""
    brief = width < ONE_LINE  # the row says the rest in two lines
    facts = ["" if brief else ", ".join(entry.authors) or "unknown author", entry.format]
    if entry.words:
        facts.append(f"{entry.words:,} words")
    if entry.was_opened:
        facts.append("" if brief else f"opened {relative_time(entry.opened_at, now_s)}")
        facts.append("finished" if entry.finished else f"{format_percent(entry.share)} read")
    else:
        facts.append("not opened yet")
    if entry.time_left and not brief:
        facts.append(f"{entry.time_left} left")
    if read is not None and read.pages:
        facts.append(f"{read.model_name} has read {_model(entry, read)} of it")
    else:
        facts.append("no model has read it")
    if entry.path is None:
        where = "Read from standard input: pipe it in again to open it."
    elif entry.missing:
        where = f"The file was {entry.path} and is no longer there."
    else:
        where = str(entry.path)
    return clean(" · ".join(filter(None, facts))), clean(where)


def _one_line(entry: LibraryEntry, read: BookProgress | None, now_s: float, width: int) -> tuple[tuple[Cell, ...], ...]:
    title, author, columns = _widths(width)
    cells = [
        Cell(" " * _MARGIN, "muted"),
        Cell(fit(entry.title, title), "title"),
        Cell(fit(", ".join(entry.authors), author, before=_GAP), "author"),
    ]
    for column in columns:
        cell = column.cell(entry, read, now_s)
        cells.append(Cell(fit(cell.text, column.columns, before=_GAP), cell.role))
    return (tuple(cells),)


def _two_lines(entry: LibraryEntry, now_s: float, width: int) -> tuple[tuple[Cell, ...], ...]:
    room = width - _MARGIN - _MARGIN // 2
    bar = progress(entry).strip()
    progress_columns = cell_len(bar) + _GAP if bar else 0
    last = last_read(entry, now_s)
    left = entry.time_left
    right = f"{last.text} · {left} left" if left and not entry.missing else last.text
    right_columns = min(cell_len(right) + _GAP, max(_GAP, room))
    return (
        (
            Cell(" " * _MARGIN, "muted"),
            Cell(fit(entry.title, room - progress_columns), "title"),
            Cell(fit(bar, progress_columns - _GAP, before=_GAP) if bar else "", "accent"),
        ),
        (
            Cell(" " * _MARGIN, "muted"),
            Cell(fit(", ".join(entry.authors), room - right_columns), "muted"),
            Cell(fit(right, right_columns - _GAP, before=_GAP), last.role),
        ),
    )


def _widths(width: int) -> tuple[int, int, tuple[_Column, ...]]:
    shown = tuple(column for column in _COLUMNS if width >= column.from_columns)
    room = width - _MARGIN - sum(column.columns + _GAP for column in shown) - _GAP
    author = min(_MOST_AUTHOR, room * 2 // 5)
    return min(_MOST_TITLE, room - author), author, shown


def progress(entry: LibraryEntry, columns: int = _BAR) -> str:
    """A bar of `columns` columns and the percentage; empty for a book never opened."""
    return f"{progress_bar(entry.share, columns)} {format_percent(entry.share):>4}" if entry.was_opened else ""


def last_read(entry: LibraryEntry, now_s: float) -> Cell:
    if entry.missing:
        return Cell("file missing", "warning")
    return Cell(relative_time(entry.opened_at, now_s) if entry.was_opened else "not opened yet", "muted")


def _model(entry: LibraryEntry, read: BookProgress | None) -> str:
    if read is None or not read.pages or not entry.length:
        return ""
    share = read.characters / entry.length
    return "all" if share >= 1 else format_percent(share)


def fit(text: str, columns: int, before: int = 0) -> str:
    """Pad or cut to `columns` columns; `before`: additional empty columns in front."""
    return " " * before + set_cell_size(fitted(clean(text), columns), columns)
