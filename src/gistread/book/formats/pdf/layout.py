"""Measures a document's layout: text size, line spacing, margins, indents."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from gistread.book.formats.pdf.lines import Column, TextLine
from gistread.book.model import Style

_COMMON_SHARE = 0.04
_MARGIN_POINTS = 45.0
_LONG_COLUMN = 12
_FLUSH_SHARE = 0.4
_FULL_SHARE = 0.25  # Share of a column's lines that end at one place, its edge


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
        return self.leadings.get(round(size * 2), size * 1.2)

    def edges(self, column: Column) -> tuple[float, float]:
        """Left and right edge of running text in a column, even a short one."""
        if abs(median(line.size for line in column.lines) - self.size) > 0.6:
            return column.left, column.right
        near = [x for x in self.lefts if column.left - _MARGIN_POINTS <= x <= column.left + 1]
        flush = sum(abs(line.left - column.left) < 1 for line in column.lines)
        # Left and right pages may have different margins.
        own = len(column.lines) >= _LONG_COLUMN and flush >= _FLUSH_SHARE * len(column.lines)
        left = min(*near, column.left) if near and not own else column.left
        full = sum(line.right > column.right - 0.5 * self.size for line in column.lines)
        if full >= max(3, _FULL_SHARE * len(column.lines)):
            return left, column.right
        width = median(fits) if (fits := [w for x, w in self.widths if abs(x - left) < 12]) else column.right - left
        return left, max(column.right, left + width)


def measure_layout(columns: Sequence[Column]) -> PageLayout:
    """The layout of a document with these columns, which have at least one line."""
    lines = [line for column in columns for line in column.lines]
    sizes: Counter[int] = Counter()
    styles: Counter[frozenset[Style]] = Counter()
    fixed = letters = 0
    for line in lines:
        sizes[round(line.size * 2)] += len(line.text)
        for run in line.runs:
            styles[run.font.styles] += len(run.text)
            fixed += len(run.text) * run.font.is_fixed
            letters += len(run.text)
    size = sizes.most_common(1)[0][0] / 2
    body = [line for line in lines if abs(line.size - size) < 0.6]
    lefts = Counter(round(line.left) for line in body)
    return PageLayout(
        size=size,
        styles=styles.most_common(1)[0][0],
        is_fixed=fixed > letters * 0.5,
        leadings=_leadings(columns),
        lefts=tuple(sorted(x for x in lefts if lefts[x] + lefts[x + 1] >= max(4, _COMMON_SHARE * len(body)))),
        widths=tuple((c.left, c.right - c.left) for c in columns if len(c.lines) >= _LONG_COLUMN),
        indents=_has_indents(columns, size),
    )


def _leadings(columns: Iterable[Column]) -> dict[int, float]:
    gaps: dict[int, Counter[int]] = {}
    for column in columns:
        for above, below in pairwise(column.lines):
            gap = above.bottom - below.baseline
            if abs(above.size - below.size) < 0.3 and 0.5 * below.size < gap < 3 * below.size:
                gaps.setdefault(round(below.size * 2), Counter())[round(gap * 2)] += 1
    found = {}
    for size, counts in gaps.items():
        # The most common gap may be that between paragraphs of one line: take the smallest common gap.
        often = counts.most_common(1)[0][1]
        found[size] = min(gap for gap in counts if counts[gap] >= max(2, often * 0.3) or often < 2) / 2
    return found


def _has_indents(columns: Iterable[Column], size: float) -> bool:
    indented = flush = 0
    for column in columns:
        for above, line, below in zip(column.lines, column.lines[1:], column.lines[2:], strict=False):
            if abs(line.size - size) > 0.6 or abs(below.size - size) > 0.6:
                continue
            indent = line.left - below.left
            if above.right < column.right - 3 * size:
                indented += 0.6 * size < indent < 5 * size
                flush += abs(indent) < 0.4 * size
    return indented > 0.5 * flush and indented > 2


def first_word_width(line: TextLine) -> float:
    """Estimated width of the first word, assuming letters of equal width."""
    words = len(line.text.partition(" ")[0])
    return words * (line.right - line.left) / max(1, len(line.text))
