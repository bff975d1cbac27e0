"""Ranges of the book that are shown in a style of their own for a while: a search hit, a cited quotation.

Marks lie over blocks without being part of them, so that finding a word does not remake the document. Nothing
here knows rows or colours.
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
        """Marks that share at least one character with `[start, end)`, in the order in which they were given.

        The last is drawn on top.
        """
        first = bisect_left(self._starts, start - self._longest + 1)
        last = bisect_left(self._starts, end)
        found = [(order, mark) for _, order, mark in self._marks[first:last] if mark.end > start]
        return [mark for _, mark in sorted(found, key=lambda one: one[0])]
