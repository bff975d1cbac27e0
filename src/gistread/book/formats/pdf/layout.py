"""Measures what the pages of a document share: text size, distance of lines, margins, indents."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import TypeVar

from gistread.book.formats.pdf.lines import Column, TextLine
from gistread.book.model import Style

INDENT_EMS = 0.6  # Least indent of a paragraph's first line; less is a ragged edge
SAME_SIZE_POINTS = 0.3  # Largest difference of equal sizes, which PDFs round

_BODY_SIZE_POINTS = 0.6  # Largest difference of running text from its usual size
_MOST_INDENT_EMS = 5
_FLUSH_EMS = 0.4  # Largest indent of a line that counts as flush
_SHORT_LINE_EMS = 3  # Space at the end of a paragraph's last line
_LEAST_INDENTED = 3  # Lines
_LEAST_INDENTED_SHARE = 0.5  # Relative to flush lines

_LONG_COLUMN = 12  # Lines
# Distances of baselines, in sizes of the text.
_DEFAULT_LEADING = 1.2
_LEAST_LEADING = 0.5
_MOST_LEADING = 3
_COMMON_GAP_SHARE = 0.3  # Least count of a common gap, relative to the most common one

_MOST_MARGIN_POINTS = 45.0  # Between a short column and the edge of running text
_FLUSH_POINTS = 1
_LEAST_FLUSH_SHARE = 0.4  # Share of a column's lines, if it has a left edge of its own
_SAME_LEFT_POINTS = 12  # Of columns with the same width
_FULL_LINE_EMS = 0.5  # Most space at the end of a full line
# Full lines, and their share of a column's lines, that show its right edge.
_LEAST_FULL_LINES = 3
_LEAST_FULL_SHARE = 0.25
# Lines, and their share of all, that make a left edge a common one.
_LEAST_EDGE_LINES = 4
_LEAST_EDGE_SHARE = 0.04


@dataclass(frozen=True)
class PageLayout:
    """What the pages of a document have in common. Sizes and distances are in points."""

    size: float
    styles: frozenset[Style]  # Styles of running text; usually none
    is_fixed: bool
    leadings: dict[int, float]  # Distance of baselines, by text size in half points
    lefts: tuple[float, ...]  # Common left edges of running text
    widths: tuple[tuple[float, float], ...]  # (left edge, width) of long columns
    has_indents: bool  # Whether paragraphs start with an indent

    def leading(self, size: float) -> float:
        return self.leadings.get(half_points(size), size * _DEFAULT_LEADING)

    def edges(self, column: Column) -> tuple[float, float]:
        """Left and right edge of running text in a column, even a short one."""
        column_size = median(line.size for line in column.lines)
        if not _is_body(column_size, self.size):
            return column.left, column.right
        left = self._left_edge(column)
        least_right = column.right - _FULL_LINE_EMS * self.size
        full_lines = sum(line.right > least_right for line in column.lines)
        least_full = max(_LEAST_FULL_LINES, _LEAST_FULL_SHARE * len(column.lines))
        if full_lines >= least_full:
            return left, column.right
        # A short column is as wide as long ones at this edge.
        widths = [
            width for edge, width in self.widths if abs(edge - left) < _SAME_LEFT_POINTS
        ]
        usual_right = left + median(widths) if widths else column.right
        return left, max(column.right, usual_right)

    def _left_edge(self, column: Column) -> float:
        """The leftmost common edge beside a column, unless it has an edge of its own.

        Left and right pages may have different margins.
        """
        margins = [line.left - column.left for line in column.lines]
        flush_lines = sum(abs(margin) < _FLUSH_POINTS for margin in margins)
        has_own_edge = flush_lines >= _LEAST_FLUSH_SHARE * len(column.lines)
        if has_own_edge and len(column.lines) >= _LONG_COLUMN:
            return column.left
        least = column.left - _MOST_MARGIN_POINTS
        most = column.left + _FLUSH_POINTS
        common_edges = [edge for edge in self.lefts if least <= edge <= most]
        return min([column.left, *common_edges])


def half_points(points: float) -> int:
    """A size or distance as a key for counting."""
    return round(points * 2)


def measure_layout(columns: Sequence[Column]) -> PageLayout:
    """The layout of a document with these columns, which have at least one line."""
    lines = [line for column in columns for line in column.lines]
    # Numbers of characters, by size in half points, styles, and whether their width is fixed.
    by_size = Counter[int]()
    by_styles = Counter[frozenset[Style]]()
    by_fixed_width = Counter[bool]()
    for line in lines:
        by_size[half_points(line.size)] += len(line.text)
        for run in line.runs:
            by_styles[run.font.styles] += len(run.text)
            by_fixed_width[run.font.is_fixed] += len(run.text)
    size = _commonest(by_size) / 2
    body_lines = [line for line in lines if _is_body(line.size, size)]
    long_columns = [column for column in columns if len(column.lines) >= _LONG_COLUMN]
    return PageLayout(
        size=size,
        styles=_commonest(by_styles),
        is_fixed=by_fixed_width[True] > by_fixed_width[False],
        leadings=_leadings(columns),
        lefts=_common_edges(body_lines),
        widths=tuple(
            (column.left, column.right - column.left) for column in long_columns
        ),
        has_indents=_has_indents(columns, size),
    )


_Counted = TypeVar("_Counted")


def _commonest(counts: Counter[_Counted]) -> _Counted:
    """The most frequent of at least one item."""
    [(commonest, _)] = counts.most_common(1)
    return commonest


def _common_edges(lines: Sequence[TextLine]) -> tuple[float, ...]:
    """Left edges of several lines, in points."""
    counts = Counter(round(line.left) for line in lines)
    least = max(_LEAST_EDGE_LINES, _LEAST_EDGE_SHARE * len(lines))
    # An edge may be rounded up in some lines.
    common = [left for left in counts if counts[left] + counts[left + 1] >= least]
    return tuple(sorted(common))


def _leadings(columns: Iterable[Column]) -> dict[int, float]:
    """The usual distance of baselines of each text size, which is in half points."""
    gaps = defaultdict[int, Counter[int]](Counter)
    for column in columns:
        for above, below in pairwise(column.lines):
            gap = above.bottom - below.baseline
            is_leading = _LEAST_LEADING * below.size < gap < _MOST_LEADING * below.size
            is_same_size = abs(above.size - below.size) < SAME_SIZE_POINTS
            if is_leading and is_same_size:
                gaps[half_points(below.size)][half_points(gap)] += 1
    return {size: _smallest_common(counts) / 2 for size, counts in gaps.items()}


def _smallest_common(gaps: Counter[int]) -> int:
    """The smallest common gap: the most common may be between paragraphs of one line."""
    most = max(gaps.values())
    # A gap that occurs once is common only if all others do, too.
    least: float = most
    if most > 1:
        least = max(2, most * _COMMON_GAP_SHARE)
    return min(gap for gap, count in gaps.items() if count >= least)


def _has_indents(columns: Iterable[Column], size: float) -> bool:
    """Whether lines after a short line are often to the right of the next one."""
    indented = 0
    flush = 0
    for column in columns:
        lines = column.lines
        most_short_right = column.right - _SHORT_LINE_EMS * size
        for above, line, below in zip(lines, lines[1:], lines[2:], strict=False):
            is_body = _is_body(line.size, size) and _is_body(below.size, size)
            if not is_body or above.right >= most_short_right:
                continue
            indent = line.left - below.left
            if INDENT_EMS * size < indent < _MOST_INDENT_EMS * size:
                indented += 1
            elif abs(indent) < _FLUSH_EMS * size:
                flush += 1
    return indented > _LEAST_INDENTED_SHARE * flush and indented >= _LEAST_INDENTED


def _is_body(size: float, body_size: float) -> bool:
    return abs(size - body_size) <= _BODY_SIZE_POINTS
