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
# The beginning of "- Port" or "  2. Port": (indent, marker)
_ITEM = re.compile(r"([ \t]*)([-*+]|\d{1,2}[.)])[ \t]+(?=\S)")
# The beginning of "## Wines"
_HEADING = re.compile(r"[ \t]*#{1,6}[ \t]+(?=\S)")
# Each of "a" and "b \\| c" in "a|b \\| c"
_CELL = re.compile(r"(?:\\\||[^|])+")
# **bold** or __bold__, *italic* or _italic_, `code`, and ** without a partner
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
    """A line of an answer. `start` and `end` are offsets in the answer."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class _Edit:
    """`text[start:end]` becomes `new`."""

    start: int
    end: int
    new: str = ""


@dataclass(frozen=True, slots=True)
class _FormattedLine:
    """A line with the changes that draw its Markdown. Their offsets are of the answer."""

    source: _Line
    edits: Sequence[_Edit]
    styled: Sequence[Span]


def draw_markup(
    text: str, spans: Sequence[Span] = (), cells: int = 80
) -> list[DrawnLine]:
    """Lay out an answer line by line. `cells`: the width for a table.

    >>> [line.text for line in draw_markup("**Wines**\\n- Port\\n- *Sherry*")]
    ['Wines', '• Port', '• Sherry']
    """
    lines = [
        _Line(match.start(), match.end(), match[0])
        for match in re.finditer(r"[^\n]+", text)
    ]
    drawn: list[DrawnLine] = []
    end_before = 0
    for line in _formatted_lines(lines, cells):
        is_apart = bool(_EMPTY_LINE.search(text, end_before, line.source.start))
        drawn.append(_drawn(line, spans, is_apart=is_apart))
        end_before = line.source.end
    return drawn


def _formatted_lines(lines: Sequence[_Line], cells: int) -> Iterator[_FormattedLine]:
    """The lines that are drawn: all but empty ones and the rules of tables."""
    for is_table, group in groupby(lines, key=_is_table_line):
        members = [line for line in group if line.text.strip()]
        if not is_table:
            for line in members:
                styled = _styled(line, is_head=False)
                yield _FormattedLine(line, _line_edits(line), list(styled))
            continue
        rows = [line for line in members if not TABLE_RULE.fullmatch(line.text)]
        widths = _column_widths(rows, cells)
        has_head = len(rows) < len(members)
        for index, line in enumerate(rows):
            styled = _styled(line, is_head=has_head and index == 0)
            yield _FormattedLine(line, _row_edits(line, widths), list(styled))


def _is_table_line(line: _Line) -> bool:
    return line.text.lstrip().startswith("|")


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
    formatted: _FormattedLine, spans: Sequence[Span], *, is_apart: bool
) -> DrawnLine:
    """The line after its edits, with those of `spans` that are in it."""
    line = formatted.source
    edited = _EditedLine.of(line, formatted.edits)
    within = [span for span in spans if span.start < line.end and line.start < span.end]
    drawn_spans: list[Span] = []
    for span in (*formatted.styled, *within):
        start = edited.moved(max(span.start, line.start))
        end = edited.moved(min(span.end, line.end))
        if start < end:
            drawn_spans.append(replace(span, start=start, end=end))
    return DrawnLine(edited.text, tuple(drawn_spans), _hanging_indent(line), is_apart)


@dataclass(frozen=True, slots=True)
class _EditedLine:
    """A line after its edits, with the offsets at which they begin and end."""

    text: str
    old_offsets: Sequence[int]  # In the answer
    new_offsets: Sequence[int]  # In `text`

    @classmethod
    def of(cls, line: _Line, edits: Sequence[_Edit]) -> "_EditedLine":
        """The line after these edits, which do not overlap."""
        text = ""
        old_offsets = [line.start]
        new_offsets = [0]
        at = line.start
        for edit in sorted(edits, key=lambda edit: edit.start):
            text += line.text[at - line.start : edit.start - line.start]
            new_start = len(text)
            text += edit.new
            old_offsets += [edit.start, edit.end]
            new_offsets += [new_start, len(text)]
            at = edit.end
        text += line.text[at - line.start :]
        return cls(text, old_offsets, new_offsets)

    def moved(self, offset: int) -> int:
        """Where an offset of the answer is in the edited text."""
        index = bisect_right(self.old_offsets, offset) - 1
        new_offset = self.new_offsets[index] + offset - self.old_offsets[index]
        is_after_edits = index + 1 == len(self.new_offsets)
        if is_after_edits:
            return new_offset
        # What an edit replaces ends at the latest where its new words end.
        return min(new_offset, self.new_offsets[index + 1])


def _hanging_indent(line: _Line) -> int:
    """Cells that the further rows of an item are indented by: the width of its marker."""
    item = _ITEM.match(line.text)
    if item is None:
        return 0
    if _is_numbered(item):
        return len(item[0])
    indent = item[1]
    return len(indent) + len(_BULLET)


def _is_numbered(item: re.Match[str]) -> bool:
    marker = item[2]
    return marker[0].isdigit()


def _line_edits(line: _Line) -> list[_Edit]:
    """The changes of a line outside tables: its signs go, and a dash becomes a bullet."""
    edits = list(_inline_edits(line))
    if heading := _HEADING.match(line.text):
        edits.append(_Edit(line.start, line.start + heading.end()))
    item = _ITEM.match(line.text)
    if item and not _is_numbered(item):
        marker_start = line.start + item.start(2)
        # The marker "*" may have been taken for the beginning of italic words.
        edits = [edit for edit in edits if edit.start != marker_start]
        edits.append(_Edit(marker_start, line.start + item.end(), _BULLET))
    return edits


def _inline_edits(line: _Line) -> Iterator[_Edit]:
    """Removes the signs around bold and italic words, and those without a partner."""
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
    inner_start = line.text.index(inner)
    spans: list[tuple[int, int]] = []
    for cell in _CELL.finditer(inner):
        words = cell[0].strip()
        start = inner_start + cell.start() + cell[0].index(words)
        spans.append((start, start + len(words)))
    return spans


def _width_of(words: str) -> int:
    """The width of the words in cells, without the signs of bold and italic words."""
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
    """The changes of a row: bars between its cells, which are padded to `widths`.

    Without widths, the cells follow each other unpadded.
    """
    edits = list(_inline_edits(line))
    end_before = 0  # End of the cell before
    padding = ""
    for index, (start, end) in enumerate(_cells_of(line)):
        bar = f"{padding}{_BAR}" if index else ""
        edits.append(_Edit(line.start + end_before, line.start + start, bar))
        padding = ""
        if widths:
            width = _width_of(line.text[start:end])
            padding = " " * (widths[index] - width)
        end_before = end
    edits.append(_Edit(line.start + end_before, line.end))
    # Without those that change nothing
    return [edit for edit in edits if edit.new or edit.end > edit.start]
