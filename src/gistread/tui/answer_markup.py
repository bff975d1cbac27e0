"""Draws the Markdown of an answer: bold and italic words, lists, headings and tables.

The answer may be unfinished. Signs without a partner are left out.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from rich.cells import cell_len

from gistread.exporting.markup import TABLE_RULE
from gistread.tui.text import Span

_BAR = " │ "
_BULLET = "• "
_EMPTY_LINE = re.compile(r"\n[ \t]*\n")
_ITEM = re.compile(r"([ \t]*)([-*+]|\d{1,2}[.)])[ \t]+(?=\S)")
_HEADING = re.compile(r"[ \t]*#{1,6}[ \t]+(?=\S)")
_CELL = re.compile(r"(?:\\\||[^|])+")
_INLINE = re.compile(
    r"\*\*(?=\S)(?P<strong>[^\n]+?)(?<=\S)\*\*"
    r"|(?<!\w)__(?=\S)(?P<strong_too>[^\n]+?)(?<=\S)__(?!\w)"
    r"|(?<![\w*])\*(?=[^\s*])(?P<emphasis>[^*\n]+?)(?<=\S)\*(?![\w*])"
    r"|(?<!\w)_(?=[^\s_])(?P<emphasis_too>[^_\n]+?)(?<=\S)_(?!\w)"
    r"|`(?P<code>[^`\n]+)`"
    r"|(?P<orphan>\*\*(?=\S)|(?<=\S)\*\*)"
)
_STYLES = {
    "strong": "strong",
    "strong_too": "strong",
    "emphasis": "emphasis",
    "emphasis_too": "emphasis",
    "code": "inline-code",
}


@dataclass(frozen=True, slots=True)
class DrawnLine:
    """A line of an answer as it is drawn."""

    text: str
    spans: tuple[Span, ...]
    turnover: int  # Hanging indent in cells
    is_apart: bool  # Whether an empty line is before it


@dataclass(frozen=True, slots=True)
class _Line:
    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class _Edit:
    """`text[start:end]` becomes `new`."""

    start: int
    end: int
    new: str = ""


def draw_markup(
    text: str, spans: Sequence[Span] = (), cells: int = 80
) -> list[DrawnLine]:
    """Lay out an answer line by line. `cells`: the width for a table.

    >>> [line.text for line in draw_markup("**Wines**\\n- Port\\n- *Sherry*")]
    ['Wines', '• Port', '• Sherry']
    """
    lines = [
        _Line(line.start(), line.end(), line[0])
        for line in re.finditer(r"[^\n]+", text)
    ]
    drawn: list[DrawnLine] = []
    before = 0
    for is_table, group in groupby(
        lines, key=lambda line: line.text.lstrip().startswith("|")
    ):
        members = [line for line in group if line.text.strip()]
        rows = [
            line
            for line in members
            if not (is_table and TABLE_RULE.fullmatch(line.text))
        ]
        widths = _column_widths(rows, cells) if is_table else []
        has_head = is_table and len(rows) < len(members)
        for line in rows:
            edits = _row_edits(line, widths) if is_table else _line_edits(line)
            styled = list(_styled(line, is_head=has_head and line is rows[0]))
            is_apart = bool(_EMPTY_LINE.search(text, before, line.start))
            drawn.append(_drawn(line, edits, styled, spans, is_apart=is_apart))
            before = line.end
    return drawn


def drawn_text(text: str, cells: int = 80) -> tuple[str, tuple[Span, ...]]:
    """The answer as one text with its spans. `cells`: the width for a table."""
    drawn = ""
    spans: list[Span] = []
    for line in draw_markup(text, cells=cells):
        if drawn:
            drawn += "\n"
        at = len(drawn)
        spans += [
            replace(span, start=span.start + at, end=span.end + at)
            for span in line.spans
        ]
        drawn += line.text
    return drawn, tuple(spans)


def plain_text(text: str) -> str:
    """The answer without Markdown signs, for a preview on one line."""
    return drawn_text(text)[0]


def _drawn(
    line: _Line,
    edits: Sequence[_Edit],
    styled: Sequence[Span],
    spans: Sequence[Span],
    *,
    is_apart: bool,
) -> DrawnLine:
    ordered = sorted(edits, key=lambda edit: edit.start)
    pieces: list[str] = []
    olds = [line.start]  # Offsets in the answer, and where they come to be
    news = [0]
    at = line.start
    length = 0
    for edit in ordered:
        kept = line.text[at - line.start : edit.start - line.start]
        pieces += [kept, edit.new]
        length += len(kept) + len(edit.new)
        olds += [edit.start, edit.end]
        news += [length - len(edit.new), length]
        at = edit.end
    pieces.append(line.text[at - line.start :])

    def moved(offset: int) -> int:
        index = bisect_right(olds, offset) - 1
        limit = news[index + 1] if index + 1 < len(news) else news[index] + line.end
        return min(news[index] + offset - olds[index], limit)

    within = [span for span in spans if span.start < line.end and line.start < span.end]
    both = [*styled, *within]
    shifted = (
        replace(
            span,
            start=moved(max(span.start, line.start)),
            end=moved(min(span.end, line.end)),
        )
        for span in both
    )
    drawn_spans = tuple(span for span in shifted if span.end > span.start)
    return DrawnLine("".join(pieces), drawn_spans, _hanging_indent(line), is_apart)


def _hanging_indent(line: _Line) -> int:
    """Cells of the marker of an item, under which its further rows do not stand."""
    item = _ITEM.match(line.text)
    if item is None:
        return 0
    if item[2][0].isdigit():
        return len(item[0])
    return len(item[1]) + len(_BULLET)


def _line_edits(line: _Line) -> list[_Edit]:
    """The changes of a line outside tables: its signs go, and a dash becomes a bullet."""
    edits = list(_inline_edits(line))
    if heading := _HEADING.match(line.text):
        edits.append(_Edit(line.start, line.start + heading.end()))
    item = _ITEM.match(line.text)
    if item and not item[2][0].isdigit():
        edits.append(
            _Edit(line.start + item.start(2), line.start + item.end(), _BULLET)
        )
        edits = [
            edit
            for edit in edits
            if edit.start != line.start + item.start(2) or edit.new
        ]
    return edits


def _inline_edits(line: _Line) -> Iterator[_Edit]:
    for mark in _INLINE.finditer(line.text):
        start, end = mark.span(mark.lastgroup or 0)
        if mark.lastgroup == "orphan":
            yield _Edit(line.start + start, line.start + end)
        else:
            yield _Edit(line.start + mark.start(), line.start + start)
            yield _Edit(line.start + end, line.start + mark.end())


def _styled(line: _Line, *, is_head: bool) -> Iterator[Span]:
    """The bold, italic and other words of a line; a heading is bold as a whole."""
    if is_head or _HEADING.match(line.text):
        yield Span(line.start, line.end, "strong")
    for mark in _INLINE.finditer(line.text):
        style = _STYLES.get(mark.lastgroup or "")
        if style:
            start, end = mark.span(mark.lastgroup or 0)
            yield Span(line.start + start, line.start + end, style)


def _cells_of(line: _Line) -> list[tuple[int, int]]:
    """(start, end) of the text in each cell of a row, in the line."""
    inner = line.text.strip().strip("|")
    shift = line.text.index(inner)
    spans: list[tuple[int, int]] = []
    for cell in _CELL.finditer(inner):
        words = cell[0].strip()
        start = shift + cell.start() + cell[0].index(words)
        spans.append((start, start + len(words)))
    return spans


def _width_of(words: str) -> int:
    plain = _INLINE.sub(lambda mark: mark[mark.lastgroup or 0], words)
    return cell_len(plain)


def _column_widths(rows: Sequence[_Line], cells: int) -> list[int]:
    """The width of each column; empty if the table is wider than `cells`."""
    widths: list[int] = []
    for line in rows:
        for index, (start, end) in enumerate(_cells_of(line)):
            width = _width_of(line.text[start:end])
            if index < len(widths):
                widths[index] = max(widths[index], width)
            else:
                widths.append(width)
    needed = sum(widths) + len(_BAR) * (len(widths) - 1)
    if needed > cells:
        return []
    return widths


def _row_edits(line: _Line, widths: Sequence[int]) -> list[_Edit]:
    """The changes of a row: its cells stand in columns, or one after the other."""
    edits = list(_inline_edits(line))
    at = 0
    padding = ""
    for index, (start, end) in enumerate(_cells_of(line)):
        bar = f"{padding}{_BAR}" if index else ""
        edits.append(_Edit(line.start + at, line.start + start, bar))
        lacking = widths[index] - _width_of(line.text[start:end]) if widths else 0
        padding = " " * lacking
        at = end
    edits.append(_Edit(line.start + at, line.end))
    return [edit for edit in edits if edit.new or edit.end > edit.start]
