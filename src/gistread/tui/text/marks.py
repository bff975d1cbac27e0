"""Ranges of the book drawn in a style of their own: a search hit, a cited quotation.

Marks are not part of blocks, so that setting them does not rebuild the document.
"""

from bisect import bisect_left
from collections.abc import Iterable
from typing import NamedTuple


class Mark(NamedTuple):
    """`Book.text[start:end]`, drawn in `style` (a component style of `LongText`)."""

    start: int
    end: int
    style: str = "mark"
    sign: str = ""
    """One cell, drawn in the margin of the row where the mark begins."""


class MarkIndex:
    """Finds the marks of a range among thousands."""

    def __init__(self, marks: Iterable[Mark] = ()) -> None:
        given = ((mark.start, order, mark) for order, mark in enumerate(marks) if mark.end > mark.start)
        self._marks = sorted(given, key=lambda one: one[0])
        self._starts = [start for start, _, _ in self._marks]
        self._longest = max((mark.end - mark.start for _, _, mark in self._marks), default=0)

    def between(self, start: int, end: int) -> list[Mark]:
        """Marks that overlap `[start, end)`, in the order given; the last is drawn on top."""
        first = bisect_left(self._starts, start - self._longest + 1)
        last = bisect_left(self._starts, end)
        found = [(order, mark) for _, order, mark in self._marks[first:last] if mark.end > start]
        return [mark for _, mark in sorted(found, key=lambda one: one[0])]
