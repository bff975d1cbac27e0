"""Measures what the pages of a document share: text size, distance of lines, margins, indents."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

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
_DEFAULT_LEADING = 1.2  # Distance of baselines, in sizes of the text
_LEAST_LEADING, _MOST_LEADING = 0.5, 3
_COMMON_GAP_SHARE = 0.3  # Of the count of the most common gap

_MOST_MARGIN_POINTS = 45.0  # Between a short column and the edge of running text
_FLUSH_POINTS = 1
_LEAST_FLUSH_SHARE = 0.4  # Of the lines of a column, if it has a left edge of its own
_SAME_LEFT_POINTS = 12  # Of columns with the same width
_FULL_LINE_EMS = 0.5  # Most space at the end of a full line
_LEAST_FULL_LINES, _LEAST_FULL_SHARE = 3, 0.25  # Of the lines of a full column
_LEAST_EDGE_LINES, _LEAST_EDGE_SHARE = 4, 0.04  # Of the lines at a common left edge


@dataclass(frozen=True)
class PageLayout:
    """Sizes and distances in points."""

    size: float
    styles: frozenset[Style]  # Styles of running text; usually none
    is_fixed: bool
    leadings: dict[int, float]  # Distance of baselines, by text size in half points
    lefts: tuple[float, ...]  # Common left edges of running text
    widths: tuple[tuple[float, float], ...]  # (left edge, width) of long columns
    indents: bool  # Whether paragraphs start with an indent

    def leading(self, size: float) -> float:
        return self.leadings.get(half_points(size), size * _DEFAULT_LEADING)

    def edges(self, column: Column) -> tuple[float, float]:
        """Left and right edge of running text in a column, even a short one."""
        if not _is_body(median(line.size for line in column.lines), self.size):
            return column.left, column.right
        left = self._left_edge(column)
        least_right = column.right - _FULL_LINE_EMS * self.size
        full = sum(line.right > least_right for line in column.lines)
        if full >= max(_LEAST_FULL_LINES, _LEAST_FULL_SHARE * len(column.lines)):
            return left, column.right
        widths = [
            width for edge, width in self.widths if abs(edge - left) < _SAME_LEFT_POINTS
        ]
        usual_right = left + median(widths) if widths else column.right
        return left, max(column.right, usual_right)

    def _left_edge(self, column: Column) -> float:
        """The leftmost common edge beside a column, unless it has an edge of its own.

        Left and right pages may have different margins.
        """
        flush = sum(
            abs(line.left - column.left) < _FLUSH_POINTS for line in column.lines
        )
        has_own_edge = flush >= _LEAST_FLUSH_SHARE * len(column.lines)
        if has_own_edge and len(column.lines) >= _LONG_COLUMN:
            return column.left
        least = column.left - _MOST_MARGIN_POINTS
        most = column.left + _FLUSH_POINTS
        return min(
            [column.left, *(edge for edge in self.lefts if least <= edge <= most)]
        )


def half_points(points: float) -> int:
    """A size or distance as a key for counting."""
    return round(points * 2)


def measure_layout(columns: Sequence[Column]) -> PageLayout:
    """The layout of a document with these columns, which have at least one line."""
    lines = [line for column in columns for line in column.lines]
    sizes = Counter[int]()
    styles = Counter[frozenset[Style]]()
    fixed = Counter[bool]()
    for line in lines:
        sizes[half_points(line.size)] += len(line.text)
        for run in line.runs:
            styles[run.font.styles] += len(run.text)
            fixed[run.font.is_fixed] += len(run.text)
    size = sizes.most_common(1)[0][0] / 2
    return PageLayout(
        size=size,
        styles=styles.most_common(1)[0][0],
        is_fixed=fixed[True] > fixed[False],
        leadings=_leadings(columns),
        lefts=_common_edges([line for line in lines if _is_body(line.size, size)]),
        widths=tuple(
            (c.left, c.right - c.left) for c in columns if len(c.lines) >= _LONG_COLUMN
        ),
        indents=_has_indents(columns, size),
    )


def _common_edges(lines: Sequence[TextLine]) -> tuple[float, ...]:
    """Left edges of several lines, in points."""
    lefts = Counter(round(line.left) for line in lines)
    least = max(_LEAST_EDGE_LINES, _LEAST_EDGE_SHARE * len(lines))
    return tuple(
        sorted(left for left in lefts if lefts[left] + lefts[left + 1] >= least)
    )


def _leadings(columns: Iterable[Column]) -> dict[int, float]:
    """The usual distance of baselines of each text size, which is in half points."""
    gaps = defaultdict[int, Counter[int]](Counter)
    for column in columns:
        for above, below in pairwise(column.lines):
            gap = above.bottom - below.baseline
            is_leading = _LEAST_LEADING * below.size < gap < _MOST_LEADING * below.size
            if is_leading and abs(above.size - below.size) < SAME_SIZE_POINTS:
                gaps[half_points(below.size)][half_points(gap)] += 1
    return {size: _smallest_common(counts) / 2 for size, counts in gaps.items()}


def _smallest_common(gaps: Counter[int]) -> int:
    """The smallest common gap: the most common may be between paragraphs of one line."""
    most = max(gaps.values())
    least = max(2, most * _COMMON_GAP_SHARE) if most > 1 else most
    return min(gap for gap, count in gaps.items() if count >= least)


def _has_indents(columns: Iterable[Column], size: float) -> bool:
    """Whether lines after a short line are often to the right of the next one."""
    indented = flush = 0
    for column in columns:
        lines = column.lines
        for above, line, below in zip(lines, lines[1:], lines[2:], strict=False):
            is_body = _is_body(line.size, size) and _is_body(below.size, size)
            if is_body and above.right < column.right - _SHORT_LINE_EMS * size:
                indent = line.left - below.left
                indented += INDENT_EMS * size < indent < _MOST_INDENT_EMS * size
                flush += abs(indent) < _FLUSH_EMS * size
    return indented > _LEAST_INDENTED_SHARE * flush and indented >= _LEAST_INDENTED


def _is_body(size: float, body_size: float) -> bool:
    return abs(size - body_size) <= _BODY_SIZE_POINTS
