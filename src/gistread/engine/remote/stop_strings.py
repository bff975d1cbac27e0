"""A text that ends before any of a few strings, whatever the server makes of being told so."""

from collections.abc import Sequence


class StopStringFilter:
    """Takes a text piece by piece and gives it back up to the first of the strings."""

    def __init__(self, stops: Sequence[str], *, not_first: bool = False) -> None:
        """`not_first`: where the text begins with white space or one of the strings, that is left out."""
        self._stops = [stop for stop in stops if stop]
        self._longest = max(map(len, self._stops), default=0)
        self._held = ""
        self._beginning = not_first
        self.stopped = False
        """Whether one of the strings has come: nothing is given back any more."""

    def add(self, piece: str) -> str:
        """What can be told now: what may be the beginning of one of the strings is held back."""
        if self.stopped:
            return ""
        self._held += piece
        if self._beginning:
            self._skip()
            if not self._held or self._may_begin(self._held):
                return ""
            self._beginning = False
        places = [at for stop in self._stops if (at := self._held.find(stop)) >= 0]
        if places:
            self.stopped = True
            told, self._held = self._held[: min(places)], ""
            return told
        keep = next((size for size in range(self._longest - 1, 0, -1) if self._may_begin(self._held[-size:])), 0)
        told, self._held = self._held[: len(self._held) - keep], self._held[len(self._held) - keep :]
        return told

    def _skip(self) -> None:
        before = None
        while before != self._held:
            before = self._held
            self._held = self._held.lstrip()
            for stop in self._stops:
                self._held = self._held.removeprefix(stop)

    def end(self) -> str:
        """What was held back, at the end of the text."""
        told, self._held = self._held, ""
        return told

    def _may_begin(self, text: str) -> bool:
        return any(stop.startswith(text) for stop in self._stops)
