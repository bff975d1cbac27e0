"""A book's cover in a few rows of cells: its picture, or else its title on a plain colour."""

import zlib
from functools import lru_cache
from typing import NamedTuple

from rich.segment import Segment
from rich.style import Style

from gistread.library.entries import LibraryEntry
from gistread.tui.text import clean
from gistread.tui.text.figure import Figure, Rows
from gistread.tui.text.wrap import wrap
from gistread.tui.widgets.book_rows import fit


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
