"""The history of jumps in the book, to go back and forward as in a browser."""

from bisect import bisect_right

LONGEST = 200


class JumpList:
    def __init__(self) -> None:
        self.behind: list[int] = []  # The places to go back to, the last one last
        self._ahead: list[int] = []
        self._series = ""
        self._came_to: int | None = None

    def leave(self, here: int, there: int, series: str = "") -> bool:
        """Record a jump; returns whether it is a new entry.

        Those of one `series` at once (`]]]`, `nnn`) are one.
        """
        goes_on = bool(series) and series == self._series and here == self._came_to
        self._series, self._came_to = series, there
        if goes_on or here == there:
            return False
        self._ahead.clear()
        if self.behind[-1:] != [here]:
            self.behind.append(here)
            del self.behind[:-LONGEST]
        return True

    def arrived(self, here: int) -> None:
        """Record where a jump ended; near the end of a book that may differ from its target."""
        self._came_to = here

    def move(self, here: int, *, back: bool) -> int | None:
        """Go to the place before the last jump, or to the one left by going back.

        None without one.
        """
        source, target = (
            (self.behind, self._ahead) if back else (self._ahead, self.behind)
        )
        self._series = ""
        while source and source[-1] == here:
            source.pop()
        if not source:
            return None
        target.append(here)
        return source.pop()


def step_among(starts: list[int], here: int, step: int) -> int:
    """The start of the part `step` parts on; `here` after the last.

    A step back within a part goes to its start.
    """
    if not starts:
        return 0
    at = max(0, bisect_right(starts, here) - 1)
    if step < 0 and here > starts[at]:
        step += 1
    if at + step < len(starts):
        return starts[max(0, at + step)]
    return here
