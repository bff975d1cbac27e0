"""The reading place, the parts that were read, and the model's place.

Where the user only looks is no reading place.
"""

import time
from collections.abc import Callable

from gistread.book.model import Book
from gistread.store.model import ReadingPlace, merged_ranges

Range = tuple[int, int]
# A reading place with its end, and what was read until then
Snapshot = tuple[int, int, tuple[Range, ...]]
_KEPT = 5  # A turned screen may still show a fifth of the one before
STAYED_S = 20.0  # Time in another chapter after which the model reads there next


class ReadingPosition:
    """Follows the view of the book.

    Reading moves the reading place; a jump only looks, until the user reads on there. Reading on
    is turning a whole screen, or `settle`. What was read stays read; going back only looks.
    """

    def __init__(self, saved: ReadingPlace, length: int) -> None:
        self.place = saved.offset
        # End of what was in view there and while scrolling back from there
        self.end = max(saved.offset, saved.end)
        self.read: tuple[Range, ...] = saved.read
        self.places_begun = 0  # How often the user read on after a jump
        self._length = length
        self._view: Range | None = None
        self._jumped = False  # Whether the next move of the view is a jump
        # The view where a look began; None at the reading place
        self._looking_from: Range | None = None

    @property
    def looking(self) -> bool:
        """Whether the view shows another place than the reading place."""
        return self._looking_from is not None

    @property
    def furthest(self) -> int:
        """End of the furthest part that was read, including the view there."""
        return max([self.end, *(end for _, end in self.read)])

    @property
    def snapshot(self) -> Snapshot:
        return self.place, self.end, self.read

    def jump(self) -> None:
        """The next move of the view is a jump."""
        self._jumped = True

    def settle(self) -> None:
        """Read on from where the view is."""
        if self._looking_from is not None and self._view is not None:
            self._looking_from = None
            self.read = merged_ranges((*self.read, (self.place, self.end)))
            self.place, self.end = self._view
            self.places_begun += 1

    def moved(self, start: int, end: int, *, turned: bool = False) -> None:
        """`[start, end)` of the book is in view. `turned`: by turning screens, however many."""
        before = self._view
        self._view = (start, end)
        if before is None:
            self._jumped = False
            self._moved_on(start, end)
            return
        if before[0] == start and not turned:
            self._resized(end)
            return
        # More than a screen
        has_skipped = not turned and start - before[1] > end - start
        jumped = self._jumped or has_skipped
        self._jumped = False
        if self._looking_from is None and not jumped:
            if before[0] <= start:
                self._add_read(before[0])
            self._moved_on(start, end)
        elif start <= self.place < end:
            self._looking_from = None
        elif jumped or self._looking_from is None:
            self._looking_from = start, end
        else:
            self._read_on_from(self._looking_from)

    def _read_on_from(self, look: Range) -> None:
        """Read on where a look began, if the view has passed that."""
        assert self._view is not None
        start, end = self._view
        since, until = look
        if end > start and start >= until - (until - since) // _KEPT:
            self._add_read(since)
            self.settle()

    def _moved_on(self, start: int, end: int) -> None:
        """The view is at the reading place, which moves with it."""
        self.place = start
        self.end = max(end, self.end)

    def _resized(self, end: int) -> None:
        """More or fewer rows are in view: no move, so a jump is still to come."""
        if self._looking_from is None:
            self.end = max(end, self.end)

    def _add_read(self, since: int) -> None:
        """The book was read from there to the top of the view, or to its end."""
        assert self._view is not None
        start, end = self._view
        until = self._length if end >= self._length else start
        self.read = merged_ranges((*self.read, (since, until)))

    def share_read(self, start: int, end: int) -> float:
        """Share (0 to 1) of a part of the book that has been read."""
        read = sum(
            max(0, min(end, last) - max(start, first)) for first, last in self.read
        )
        return read / max(1, end - start)


class ModelPlace:
    """The place where the model should read.

    The reading place: at once when the user reads on after a jump, else once they have stayed in
    its chapter.
    """

    def __init__(
        self,
        position: ReadingPosition,
        book: Book,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._position = position
        self._book = book
        self._now = now
        self._place = position.place
        self._chapter = book.chapter_index(position.place)
        self._came_s: float | None = None  # When the user came to another chapter
        self._places_begun = position.places_begun

    def moved(self) -> None:
        """The user may have moved."""
        chapter = self._book.chapter_index(self._position.place)
        if chapter != self._chapter:
            self._chapter, self._came_s = chapter, self._now()

    def set(self, place: int) -> None:
        """The user wants this place read now."""
        self._place, self._came_s = place, None

    @property
    def offset(self) -> int:
        if self._places_begun != self._position.places_begun:
            self._places_begun = self._position.places_begun
            self.set(self._position.place)
        if self._came_s is not None and self._now() - self._came_s >= STAYED_S:
            self.set(self._position.place)
        return self._place
