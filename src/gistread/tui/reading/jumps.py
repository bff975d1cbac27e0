"""The history of jumps in the book, to go back and forward as in a browser."""

from bisect import bisect_right

LONGEST = 200  # Most jumps that are remembered


class JumpList:
    """The places where jumps began, as offsets in the book.

    >>> jumps = JumpList()
    >>> jumps.record(here=100, there=900)
    True
    >>> jumps.move(here=900, back=True)
    100
    """

    def __init__(self) -> None:
        self.behind: list[int] = []  # The places to go back to; the latest is the last
        self._ahead: list[int] = []  # The places left by going back
        self._series = ""  # Series of the latest jump
        self._came_to: int | None = None  # Where the latest jump ended

    def record(self, here: int, there: int, series: str = "") -> bool:
        """Record a jump; returns whether it is a new entry.

        Jumps of one `series` without a move between them (`]]]`, `nnn`) are one entry.
        """
        is_same_series = bool(series) and series == self._series
        continues_series = is_same_series and here == self._came_to
        self._series, self._came_to = series, there
        if continues_series or here == there:
            return False
        self._ahead.clear()
        is_known = bool(self.behind) and self.behind[-1] == here
        if not is_known:
            self.behind.append(here)
            del self.behind[:-LONGEST]
        return True

    def arrived(self, here: int) -> None:
        """Record where a jump ended, which near the end of a book is before its target."""
        self._came_to = here

    def move(self, here: int, *, back: bool) -> int | None:
        """Go to the place before the last jump, or to the one left by going back.

        Returns that place; None if there is none.
        """
        source, target = self.behind, self._ahead
        if not back:
            source, target = target, source
        self._series = ""
        # Going to where the view already is would show nothing.
        while source and source[-1] == here:
            source.pop()
        if not source:
            return None
        target.append(here)
        return source.pop()


def step_among(starts: list[int], here: int, step: int) -> int:
    """The start of the part `step` parts further on, or back if `step` is negative.

    The first step back from within a part goes to its start. Beyond the last part, the place stays
    `here`; before the first, it is the start of the first. 0 without parts.
    """
    if not starts:
        return 0
    current = max(0, bisect_right(starts, here) - 1)
    target = current + step
    if step < 0 and here > starts[current]:
        target += 1
    if target >= len(starts):
        return here
    return starts[max(0, target)]
