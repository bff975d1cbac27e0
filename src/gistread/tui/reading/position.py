"""The reading place (not where the person only looks), the parts that were read, and the model's place."""

import time
from collections.abc import Callable, Iterable

from gistread.book.model import Book
from gistread.user_data import ReadingPlace

Range = tuple[int, int]
STAYED_S = 20.0  # Time in another chapter after which the model reads there next


def merged(ranges: Iterable[Range]) -> tuple[Range, ...]:
    """Sort ranges and join overlapping ones."""
    whole: list[Range] = []
    for start, end in sorted(ranges):
        if whole and start <= whole[-1][1]:
            whole[-1] = whole[-1][0], max(end, whole[-1][1])
        elif start < end:
            whole.append((start, end))
    return tuple(whole)


class ReadingPosition:
    """Follows the view of the book. After a jump to a source, hit or page the person only looks, until they read on."""

    def __init__(self, saved: ReadingPlace, length: int) -> None:
        self.place = saved.offset
        self.end = saved.offset  # End of what was in view there and while scrolling back from there
        self.read: tuple[Range, ...] = saved.read
        self._length = length
        self._view: Range | None = None
        self._jumped = True  # Whether the next move of the view is a jump
        # Where the person looks, if that is not where they read; -1 until the view is there.
        self._looking_from: int | None = None

    @property
    def looking(self) -> bool:
        """Whether the view shows another place than the reading place."""
        return self._looking_from is not None and self._looking_from >= 0

    @property
    def furthest(self) -> int:
        """End of the furthest part that was read, including the view there."""
        return max([self.end, *(end for _, end in self.read)])

    def jump(self, *, look: bool) -> None:
        """The next move of the view is a jump; with `look`, the reading place stays."""
        self._jumped = True
        if look and self._looking_from is None:
            self._looking_from = -1
        elif not look:
            self._looking_from = None

    def moved(self, start: int, end: int) -> None:
        """`[start, end)` of the book is in view."""
        before, self._view = self._view, (start, end)
        jumped, self._jumped = self._jumped, False
        if before is not None and not jumped:
            if before[0] <= start <= before[1]:
                self.read = merged((*self.read, (before[0], self._length if end >= self._length else start)))
            jumped = start > before[1]
        if self._looking_from is not None:
            if jumped:
                self._looking_from = start
            if start <= self.place < end:
                self._looking_from = None
                return
            if start - self._looking_from >= end - start > 0:  # A hidden book shows nothing
                self._looking_from = None
        if self._looking_from is None:
            self.place, self.end = start, end if jumped else max(end, self.end)

    def share_read(self, start: int, end: int) -> float:
        """Share (0 to 1) of a part of the book that has been read."""
        read = sum(max(0, min(end, last) - max(start, first)) for first, last in self.read)
        return read / max(1, end - start)


class ModelPlace:
    """The place where the model should read: the reading place, once the person has stayed in its chapter."""

    def __init__(self, position: ReadingPosition, book: Book, now: Callable[[], float] = time.monotonic) -> None:
        self._position = position
        self._book = book
        self._now = now
        self._place = position.place
        self._chapter = book.chapter_index(position.place)
        self._came_s: float | None = None  # When the person came to another chapter

    def moved(self) -> None:
        """The person may have moved."""
        chapter = self._book.chapter_index(self._position.place)
        if chapter != self._chapter:
            self._chapter, self._came_s = chapter, self._now()

    def set(self, place: int) -> None:
        """The person wants this place read now."""
        self._place, self._came_s = place, None

    @property
    def offset(self) -> int:
        if self._came_s is not None and self._now() - self._came_s >= STAYED_S:
            self.set(self._position.place)
        return self._place
