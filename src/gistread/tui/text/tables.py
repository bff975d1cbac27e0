"""A table of text, one line a row and ` | ` between its cells: in columns where they fit, as records where not.

A record has each of its cells in a row of its own, the first as a heading of the others. Nothing here knows how a
row is drawn.
"""

import re

from gistread.tui.text.cells import cell_len
from gistread.tui.text.wrap import wrap

SEPARATOR = " | "
DRAWN_SEPARATOR = " │ "
RECORD_INDENT = 2
_FIGURE = re.compile(r"[-+−–]?[$€£¥]?\s?\d[\d\s.,:/]*(?:\s?[%‰°]|[a-z]{1,2})?|[-–—]?")
_MOST_LINES = 2_000
"""A longer table is not measured as a whole before its first row can be shown."""


def cells_of(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """The cells of a line `[start, end)`, without the separators."""
    cells, at = [], start
    while (found := text.find(SEPARATOR, at, end)) >= 0:
        cells.append((at, found))
        at = found + len(SEPARATOR)
    return [*cells, (at, end)]


def lines_of(text: str) -> list[tuple[int, int]]:
    """The lines of a table."""
    lines, at = [], 0
    while (found := text.find("\n", at)) >= 0:
        lines.append((at, found))
        at = found + 1
    return [*lines, (at, len(text))]


def column_widths(text: str, room: int) -> tuple[int, ...]:
    """Cells of each column, negative where it holds figures and is set flush right; empty where they do not fit."""
    lines = lines_of(text)
    if len(lines) > _MOST_LINES or SEPARATOR not in text:
        return ()
    widths: list[int] = []
    figures: list[int] = []
    words: list[int] = []
    for number, line in enumerate(lines):
        for column, (start, end) in enumerate(cells_of(text, *line)):
            if column == len(widths):
                widths.append(0)
                figures.append(0)
                words.append(0)
            widths[column] = max(widths[column], cell_len(text[start:end]))
            if number:  # the first line may name the columns
                is_figure = _FIGURE.fullmatch(text[start:end]) is not None
                figures[column] += is_figure and end > start
                words[column] += not is_figure
    if sum(widths) + len(SEPARATOR) * (len(widths) - 1) > room:
        return ()
    flush_right = [bool(count) and not words[column] for column, count in enumerate(figures)]
    return tuple(-width if right else width for width, right in zip(widths, flush_right, strict=True))


def record_rows(text: str, room: int) -> list[tuple[int, int]]:
    """Rows of a table whose columns do not fit: spans of the text, as `wrap` gives them."""
    rows: list[tuple[int, int]] = []
    for line in lines_of(text):
        of_line: list[tuple[int, int]] = []
        for start, end in cells_of(text, *line):
            if end > start:
                indent = RECORD_INDENT if of_line else 0
                part = wrap(text[start:end], max(1, room - indent), turnover=0 if indent else RECORD_INDENT)
                of_line += ((start + first, start + last) for first, last in part)
        rows += of_line or [line]
    return rows
