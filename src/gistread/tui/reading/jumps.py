"""The places before each jump, to go back and forward as in a browser."""

LONGEST = 200


class JumpList:
    """Offsets in the book."""

    def __init__(self) -> None:
        self._behind: list[int] = []
        self._ahead: list[int] = []
        self._series = ""
        self._came_to: int | None = None

    def leave(self, here: int, there: int, series: str = "") -> None:
        """The person jumps from `here` to `there`.

        Jumps of one `series` that follow each other at once (`]]]`, `nnn`) are one: going back undoes them all.
        """
        goes_on = bool(series) and series == self._series and here == self._came_to
        self._series, self._came_to = series, there
        if goes_on or here == there:
            return
        self._ahead.clear()
        if not self._behind or self._behind[-1] != here:
            self._behind.append(here)
            del self._behind[:-LONGEST]

    def arrived(self, here: int) -> None:
        """Record where a jump ended, which near the end of a book may differ from its target."""
        self._came_to = here

    def back(self, here: int, count: int = 1) -> int | None:
        """The place `count` jumps ago, or the earliest; None without one."""
        return self._move(self._behind, self._ahead, here, count)

    def forward(self, here: int, count: int = 1) -> int | None:
        """The place left by going back; None without one."""
        return self._move(self._ahead, self._behind, here, count)

    def _move(self, source: list[int], target: list[int], here: int, count: int) -> int | None:
        self._series = ""
        while source and source[-1] == here:
            source.pop()
        place = None
        for _ in range(min(count, len(source))):
            target.append(here if place is None else place)
            place = source.pop()
        return place
