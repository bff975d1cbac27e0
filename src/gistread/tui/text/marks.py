"""Ranges of the book that are shown in a style of their own for a while: a search hit, a cited quotation.

Marks lie over blocks without being part of them, so that finding a word does not remake the document. Nothing
here knows rows or colours.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from typing import NamedTuple


class Mark(NamedTuple):
    """`Book.text[start:end]`, drawn in `style` (a component style of `LongText`)."""

    start: int
    end: int
    style: str = "mark"


class MarkIndex:
    """Finds the marks of a range among thousands."""

    def __init__(self, marks: Iterable[Mark] = ()) -> None:
        # The sort is stable: of two marks that start together, the later one lies on top.
        self._marks = sorted((mark for mark in marks if mark.end > mark.start), key=lambda mark: mark.start)
        self._starts = [mark.start for mark in self._marks]
        self._longest = max((mark.end - mark.start for mark in self._marks), default=0)

    def between(self, start: int, end: int) -> Iterator[Mark]:
        """Marks that share at least one character with `[start, end)`, in the order of their starts."""
        for index in range(bisect_left(self._starts, start - self._longest + 1), len(self._marks)):
            mark = self._marks[index]
            if mark.start >= end:
                return
            if mark.end > start:
                yield mark
