"""Finds the space between two columns of a page."""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Protocol

from gistread.book.formats.pdf.segments import Segment

_EDGE_OUTLIERS = 20  # One segment in this many may stick out of the text
_LEAST_COLUMN_POINTS = 90.0
_STEP_POINTS = 2  # Of the search
_SAME_GAP_POINTS = 3  # Places this near are in one gap
# The gutter is in the middle half of the text.
_LEFTMOST_SHARE = 0.25
_RIGHTMOST_SHARE = 0.75
_WIDE_SHARE = 0.6  # Share of a column's width that most of its lines fill
_LEAST_WIDE_ROWS = 4  # In each column
_TOLERANCE_POINTS = 2  # Of a known gutter
_MOST_CROSSING_SHARE = 0.5  # Share of the segments that cross a known gutter


class _Placed(Protocol):
    """Text with a left and a right edge."""

    @property
    def left(self) -> float: ...
    @property
    def right(self) -> float: ...


def inner_edges(parts: Sequence[_Placed], outliers: int) -> tuple[float, float]:
    """The left and right edge of parts, where one in `outliers` may stick out on each side."""
    lefts = sorted(part.left for part in parts)
    rights = sorted(part.right for part in parts)
    ignored = len(parts) // outliers
    return lefts[ignored], rights[-1 - ignored]


def find_gutter(
    segments: Sequence[Segment], usual: float | None = None
) -> float | None:
    """The x between two columns of segments; None if there is one column.

    `usual`: the only place to consider.
    """
    if len(segments) < 2:
        return None
    if usual is not None:
        return usual if _fits(usual, segments) else None
    start, end = inner_edges(segments, _EDGE_OUTLIERS)
    if end - start < 2 * _LEAST_COLUMN_POINTS:
        return None
    gutter, crossing = _least_crossed(segments, start, end)
    least_left_width = _WIDE_SHARE * (gutter - start)
    least_right_width = _WIDE_SHARE * (end - gutter)
    wide_on_left = 0
    wide_on_right = 0
    for row in _half_rows(segments, gutter):
        width = row.right - row.left
        if row.right <= gutter and width > least_left_width:
            wide_on_left += 1
        if row.left >= gutter and width > least_right_width:
            wide_on_right += 1
    has_columns = min(wide_on_left, wide_on_right) >= _LEAST_WIDE_ROWS
    # Headings and figures may cross the gutter, but fewer than there are lines beside it.
    if has_columns and crossing <= wide_on_left + wide_on_right:
        return gutter
    return None


def _fits(gutter: float, segments: Sequence[Segment]) -> bool:
    """Whether both sides of a gutter have segments, and at most half of all cross it."""
    most_right = gutter + _TOLERANCE_POINTS
    least_left = gutter - _TOLERANCE_POINTS
    on_left = 0
    crossing = 0
    for segment in segments:
        if segment.right <= most_right:
            on_left += 1
        elif segment.left < least_left:
            crossing += 1
    on_right = len(segments) - crossing - on_left
    has_both_sides = on_left > 0 and on_right > 0
    return has_both_sides and crossing <= _MOST_CROSSING_SHARE * len(segments)


def _least_crossed(
    segments: Sequence[Segment], start: float, end: float
) -> tuple[float, int]:
    """The middle of the first gap that the fewest segments cross, and their number."""
    lefts = sorted(segment.left for segment in segments)
    rights = sorted(segment.right for segment in segments)
    width = end - start
    fewest = len(segments) + 1
    x = start + width * _LEFTMOST_SHARE
    gap_start = x
    gap_end = x
    while x < start + width * _RIGHTMOST_SHARE:
        on_left = bisect_left(rights, x)
        on_right = len(lefts) - bisect_left(lefts, x)
        crossing = len(segments) - on_left - on_right
        if crossing < fewest:
            fewest = crossing
            gap_start = x
            gap_end = x
        elif crossing == fewest and x - gap_end < _SAME_GAP_POINTS:
            gap_end = x
        x += _STEP_POINTS
    return (gap_start + gap_end) / 2, fewest


def _half_rows(segments: Sequence[Segment], gutter: float) -> Iterator[Segment]:
    """The rows of each side of the gutter, as if each were one segment."""

    def half_row(segment: Segment) -> tuple[bool, int]:
        """The side of a segment and its height."""
        return segment.left >= gutter, -round(segment.baseline)

    from_left = sorted(segments, key=lambda segment: segment.left)
    for _, group in groupby(sorted(from_left, key=half_row), key=half_row):
        row = list(group)
        yield Segment(left=row[0].left, right=max(segment.right for segment in row))
