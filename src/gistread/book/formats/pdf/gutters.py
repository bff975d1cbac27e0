"""Finds the space between two columns of a page."""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Protocol

from gistread.book.formats.pdf.segments import Segment

_EDGE_OUTLIERS = 20  # One in so many segments of a page sticks out
_LEAST_COLUMN_POINTS = 90.0
_STEP_POINTS = 2  # Of the search
_SAME_GAP_POINTS = 3  # Places this near are in one gap
# The gutter is in the middle half of the text.
_LEFTMOST_SHARE, _RIGHTMOST_SHARE = 0.25, 0.75
_WIDE_SHARE = 0.6  # Of a column, that most of its lines fill
_LEAST_WIDE_ROWS = 4  # In each column
_TOLERANCE_POINTS = 2  # Of a known gutter
_MOST_CROSSING_SHARE = 0.5  # Of the segments, that cross a known gutter


class _Placed(Protocol):
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
    """The x between two columns of segments; where it is `usual`, if that is given; or None."""
    if len(segments) < 2:
        return None
    if usual is not None:
        if not _fits(usual, segments):
            return None
        return usual
    start, end = inner_edges(segments, _EDGE_OUTLIERS)
    if end - start < 2 * _LEAST_COLUMN_POINTS:
        return None
    gutter, crossing = _least_crossed(segments, start, end)
    left = right = 0
    for row in _half_rows(segments, gutter):
        width = row.right - row.left
        left += row.right <= gutter and width > _WIDE_SHARE * (gutter - start)
        right += row.left >= gutter and width > _WIDE_SHARE * (end - gutter)
    if min(left, right) >= _LEAST_WIDE_ROWS and crossing <= left + right:
        return gutter
    return None


def _fits(gutter: float, segments: Sequence[Segment]) -> bool:
    """Whether both sides of a gutter have segments, and at most half of all cross it."""
    latest = gutter + _TOLERANCE_POINTS
    earliest = gutter - _TOLERANCE_POINTS
    crossing = sum(each.right > latest and each.left < earliest for each in segments)
    left = sum(each.right <= latest for each in segments)
    right = len(segments) - crossing - left
    return left > 0 and right > 0 and crossing <= _MOST_CROSSING_SHARE * len(segments)


def _least_crossed(
    segments: Sequence[Segment], start: float, end: float
) -> tuple[float, int]:
    """The middle of the first gap that the fewest segments cross, and their number."""
    lefts = sorted(segment.left for segment in segments)
    rights = sorted(segment.right for segment in segments)
    width = end - start
    fewest = len(segments) + 1
    low = high = x = start + width * _LEFTMOST_SHARE
    while x < start + width * _RIGHTMOST_SHARE:
        ended = bisect_left(rights, x)
        not_begun = len(lefts) - bisect_left(lefts, x)
        crossing = len(segments) - ended - not_begun
        if crossing < fewest:
            fewest = crossing
            low = high = x
        elif crossing == fewest and x - high < _SAME_GAP_POINTS:
            high = x
        x += _STEP_POINTS
    return (low + high) / 2, fewest


def _half_rows(segments: Sequence[Segment], gutter: float) -> Iterator[Segment]:
    """The rows of each side of the gutter, as if each were one segment."""

    def row_of(segment: Segment) -> tuple[bool, int]:
        return segment.left >= gutter, -round(segment.baseline)

    ordered = sorted(segments, key=lambda segment: (*row_of(segment), segment.left))
    for _, group in groupby(ordered, key=row_of):
        row = list(group)
        yield Segment(left=row[0].left, right=max(segment.right for segment in row))
