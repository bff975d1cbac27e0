"""A book of the library: as a cover of a few rows of cells, as a line of text, and its details."""

import zlib
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

from rich.cells import set_cell_size
from rich.segment import Segment
from rich.style import Style

from gistread.library.entries import LibraryEntry
from gistread.library.figures import format_percent, relative_time
from gistread.memory.store import BookProgress
from gistread.tui.text import clean
from gistread.tui.text.figure import Figure, Rows
from gistread.tui.text.wrap import wrap
from gistread.tui.widgets.lines import fitted
from gistread.units import progress_bar

_MARGIN, _GAP = 2, 2  # columns for the cursor at the left, and between two columns of text
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
    cell: Callable[[LibraryEntry, float], Cell]


_COLUMNS = (
    _Column("Progress", _BAR + 5, 0, lambda entry, now_s: Cell(progress(entry), "accent")),
    _Column("Last read", 14, 72, lambda entry, now_s: last_read(entry, now_s)),
    _Column("Left", 11, 112, lambda entry, now_s: Cell(entry.time_left, "muted")),
)


def heading(width: int) -> str:
    title, author, columns = _widths(width)
    cells = [fit("Title", title), fit("Author", author), *(fit(column.title, column.columns) for column in columns)]
    return " " * _MARGIN + (" " * _GAP).join(cells)


def line(entry: LibraryEntry, now_s: float, width: int) -> list[Cell]:
    """The book in one line, with as many columns as fit."""
    title, author, columns = _widths(width)
    cells = [
        Cell(" " * _MARGIN, "muted"),
        Cell(fit(entry.title, title), "text"),
        Cell(fit(", ".join(entry.authors), author, before=_GAP), "muted"),
    ]
    for column in columns:
        cell = column.cell(entry, now_s)
        cells.append(Cell(fit(cell.text, column.columns, before=_GAP), cell.role))
    return cells


def _widths(width: int) -> tuple[int, int, tuple[_Column, ...]]:
    shown = tuple(column for column in _COLUMNS if width >= column.from_columns)
    room = width - _MARGIN - sum(column.columns + _GAP for column in shown) - _GAP
    author = min(_MOST_AUTHOR, room * 2 // 5)
    return min(_MOST_TITLE, room - author), author, shown


def about(entry: LibraryEntry, read: BookProgress | None, now_s: float) -> str:
    """Title, author and facts."""
    facts = [entry.title, ", ".join(entry.authors) or "unknown author"]
    if entry.was_opened:
        facts.append("finished" if entry.finished else f"{format_percent(entry.share)} read")
    if entry.time_left:
        facts.append(f"{entry.time_left} left")
    if entry.words:
        facts.append(f"{entry.words:,} words")
    facts.append(entry.format)
    if entry.was_opened:
        facts.append(f"opened {relative_time(entry.opened_at, now_s)}")
    if read is not None and read.pages and entry.length:
        share = read.characters / entry.length
        facts.append(f"{read.model_name} has read {'all' if share >= 1 else format_percent(share)} of it")
    return " · ".join(filter(None, facts))


def progress(entry: LibraryEntry, columns: int = _BAR) -> str:
    """A bar of `columns` columns and the percentage; empty for a book never opened."""
    return f"{progress_bar(entry.share, columns)} {format_percent(entry.share):>4}" if entry.was_opened else ""


def last_read(entry: LibraryEntry, now_s: float) -> Cell:
    if entry.missing:
        return Cell("file missing", "warning")
    return Cell(relative_time(entry.opened_at, now_s) if entry.was_opened else "", "muted")


def fit(text: str, columns: int, before: int = 0) -> str:
    """Pad or cut to `columns` columns; `before`: additional empty columns in front."""
    return " " * before + set_cell_size(fitted(clean(text), columns), columns)


class CoverSize(NamedTuple):
    columns: int
    rows: int


SMALL, LARGE = CoverSize(12, 8), CoverSize(16, 12)
_MOST_STRETCHED = 1.25  # maximum stretching of a picture to fill the cover; others keep their shape
_INK = "#efe6d2"
_CLOTHS = (
    *("#6b2d2d", "#2f4858", "#3b5141", "#5b4632", "#4b3a5e", "#7a5a25", "#35506b", "#5a3550"),
    *("#44583a", "#6a4038", "#2d5552", "#4a4a58"),
)


def cover_rows(entry: LibraryEntry, figure: Figure | None, size: CoverSize) -> Rows:
    """`size.rows` rows of `size.columns` cells."""
    if figure is not None:
        return _pictured(figure, size)
    return _typeset(entry.title, entry.authors[0] if entry.ids and entry.authors else "", size)


def _pictured(figure: Figure, size: CoverSize) -> Rows:
    columns, rows = figure.limited(size.rows).cells_in(size.columns)
    if columns * _MOST_STRETCHED >= size.columns and rows * _MOST_STRETCHED >= size.rows:
        columns, rows = size
    before = (size.columns - columns) // 2
    blank = Segment(" " * size.columns)
    drawn = (
        [Segment(" " * before), *figure.row(row, columns, rows), Segment(" " * (size.columns - columns - before))]
        for row in range(rows)
    )
    return [*([blank] for _ in range(size.rows - rows)), *drawn]  # aligned at the bottom


@lru_cache(maxsize=512)
def _typeset(title: str, author: str, size: CoverSize) -> Rows:
    cloth = _CLOTHS[zlib.crc32(title.encode("utf-8", "replace")) % len(_CLOTHS)]
    ground = Style.parse(f"{_INK} on {cloth}")
    spine = Style.parse(f"black on {cloth}")
    room = size.columns - 2
    title, surname = clean(title), clean(author.rpartition(" ")[2] if "," not in author else author.partition(",")[0])
    words = [title[start:end] for start, end in wrap(title, room)]
    most = size.rows - 4
    if len(words) > most:
        words = [*words[: most - 1], fit(f"{words[most - 1]}…", room)]
    lines = ["", *words, *[""] * (size.rows - 3 - len(words)), surname, ""]
    return [
        [
            Segment("▎", spine),
            Segment(f"{fit(line, room)} ", ground + Style(bold=0 < row <= len(words))),
        ]
        for row, line in enumerate(lines)
    ]
