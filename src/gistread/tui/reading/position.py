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
_OVERLAP = 5  # A turned screen may still show a fifth of the one before.
STAYED_S = 20.0  # Time in another chapter after which the model reads there next


class ReadingPosition:
    """Follows the view of the book, and tells reading from looking.

    Reading moves the reading place. After a jump the user only looks, until they read on there:
    they turn a whole screen, or `settle` is called. What was read stays read; going back is only a
    look.

    >>> position = ReadingPosition(ReadingPlace(offset=0), length=10_000)
    >>> position.moved(0, 500)
    >>> position.jump()
    >>> position.moved(7_000, 7_500)
    >>> position.looking, position.place
    (True, 0)
    """

    def __init__(self, saved: ReadingPlace, length: int) -> None:
        self.place = saved.offset  # The reading place
        # End of the furthest view at the reading place, also while scrolling back from there
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
        """What is saved of the position."""
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
        start_before, end_before = before
        if start == start_before and not turned:
            self._resized(end)
            return
        # A drag of the scroll bar is a jump too: it leaves out more than a screen.
        has_skipped_screen = not turned and start - end_before > end - start
        jumped = self._jumped or has_skipped_screen
        self._jumped = False
        if self._looking_from is None and not jumped:
            self._scrolled_from(start_before)
        elif start <= self.place < end:
            self._looking_from = None  # The reading place is in view again.
        elif jumped:
            self._looking_from = start, end  # A look begins.
        else:  # A look goes on.
            assert self._looking_from is not None
            self._read_on_from(self._looking_from)

    def _scrolled_from(self, start_before: int) -> None:
        """The view was scrolled at the reading place; what it went past was read."""
        assert self._view is not None
        start, end = self._view
        goes_back = start < start_before
        if not goes_back:
            self._add_read(start_before)
        self._moved_on(start, end)

    def _read_on_from(self, look: Range) -> None:
        """Read on where a look began, if a whole screen was turned since."""
        assert self._view is not None
        start, end = self._view
        look_start, look_end = look
        overlap = (look_end - look_start) // _OVERLAP
        if end > start and start >= look_end - overlap:
            self._add_read(look_start)
            self.settle()

    def _moved_on(self, start: int, end: int) -> None:
        """The view is at the reading place, which moves with it."""
        self.place = start
        self.end = max(end, self.end)

    def _resized(self, end: int) -> None:
        """More or fewer rows are in view. This is no move: an announced jump is still to come."""
        if self._looking_from is None:
            self.end = max(end, self.end)

    def _add_read(self, since: int) -> None:
        """The book was read from `since` to the top of the view, or to the end of the book."""
        assert self._view is not None
        start, end = self._view
        until = self._length if end >= self._length else start
        self.read = merged_ranges((*self.read, (since, until)))

    def share_read(self, start: int, end: int) -> float:
        """Share (0 to 1) of a part of the book that has been read."""
        characters_read = 0
        for first, last in self.read:
            overlap = min(end, last) - max(start, first)
            characters_read += max(0, overlap)
        return characters_read / max(1, end - start)


class ModelPlace:
    """The place where the model should read: it follows the reading place.

    At once when the user reads on after a jump; otherwise once they have stayed in a new chapter
    for a while.
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
        # When the user came to another chapter, which the model does not follow yet
        self._came_s: float | None = None
        # `position.places_begun` when it was looked at last
        self._places_begun = position.places_begun

    def moved(self) -> None:
        """Note the time if the reading place has come to another chapter."""
        chapter = self._book.chapter_index(self._position.place)
        if chapter != self._chapter:
            self._chapter = chapter
            self._came_s = self._now()

    def set(self, place: int) -> None:
        """The user wants this place read now."""
        self._place = place
        self._came_s = None

    @property
    def offset(self) -> int:
        """Where the model should read, as an offset in the book; brought up to date here."""
        has_read_on_after_jump = self._places_begun != self._position.places_begun
        if has_read_on_after_jump:
            self._places_begun = self._position.places_begun
            self.set(self._position.place)
        if self._came_s is not None:
            has_stayed = self._now() - self._came_s >= STAYED_S
            if has_stayed:
                self.set(self._position.place)
        return self._place
