"""Tables as text, one line per row with ` | ` between cells: shown in columns, or as records with a row per cell."""

import re

from gistread.tui.text.cells import cell_len
from gistread.tui.text.wrap import wrap

SEPARATOR = " | "
DRAWN_SEPARATOR = " │ "
RECORD_INDENT = 2
_FIGURE = re.compile(r"[-+−–]?[$€£¥]?\s?\d[\d\s.,:/]*(?:\s?[%‰°]|[a-z]{1,2})?|[-–—]?")
_MOST_LINES = 2_000  # longer tables are shown as records: measuring them would take too long


def cells_of(text: str, start: int, end: int, separator: str = SEPARATOR) -> list[tuple[int, int]]:
    cells, at = [], start
    while (found := text.find(separator, at, end)) >= 0:
        cells.append((at, found))
        at = found + len(separator)
    return [*cells, (at, end)]


def lines_of(text: str) -> list[tuple[int, int]]:
    return cells_of(text, 0, len(text), "\n")


def column_widths(text: str, room: int) -> tuple[int, ...]:
    """Width of each column in cells, negative for right-aligned figures; empty if they do not fit."""
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
    """Rows of a table whose columns do not fit, in the form of `wrap`."""
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
