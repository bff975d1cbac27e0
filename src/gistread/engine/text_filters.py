"""Filters for streamed text: stop strings and reasoning."""

from collections.abc import Sequence

_OPEN, _CLOSE = "<think>", "</think>"


class StopStringFilter:
    """Passes text on up to the first of several stop strings."""

    def __init__(self, stops: Sequence[str], *, skip_leading: bool = False) -> None:
        """`skip_leading`: drop white space and stop strings at the beginning of the text."""
        self._stops = [stop for stop in stops if stop]
        self._longest = max(map(len, self._stops), default=0)
        self._withheld = ""
        self._leading = skip_leading
        self.stopped = False  # Whether a stop string was reached; nothing is passed on after it

    def feed(self, text: str) -> str:
        """Add text and return what can be passed on; the possible beginning of a stop string is withheld."""
        if self.stopped:
            return ""
        self._withheld += text
        if self._leading:
            before = None
            while before != self._withheld:
                before = self._withheld
                self._withheld = self._withheld.lstrip()
                for leading in self._stops:
                    self._withheld = self._withheld.removeprefix(leading)
            if not self._withheld or self._may_begin(self._withheld):
                return ""
            self._leading = False
        found = [at for stop in self._stops if (at := self._withheld.find(stop)) >= 0]
        if found:
            self.stopped = True
            return self._take(min(found))
        keep = next((size for size in range(self._longest - 1, 0, -1) if self._may_begin(self._withheld[-size:])), 0)
        return self._take(len(self._withheld) - keep)

    def finish(self) -> str:
        """End the text and return its withheld end."""
        return "" if self.stopped else self._take(len(self._withheld))

    def _take(self, length: int) -> str:
        passed, self._withheld = self._withheld[:length], self._withheld[length:]
        return passed

    def _may_begin(self, text: str) -> bool:
        return any(stop.startswith(text) for stop in self._stops)


class ReasoningFilter:
    """Drops what a model writes between `<think>` and `</think>`."""

    def __init__(self) -> None:
        self._withheld = ""  # May be the beginning of a tag
        self.thinking = False  # Whether the text ended inside a thought so far
        self._after_thought = False  # Whether only white space followed the last thought

    def feed(self, text: str) -> tuple[str, bool]:
        """Return text to pass on, and whether all before was reasoning: the template may write the opening tag."""
        self._withheld += text
        passed: list[str] = []
        void = False
        while True:
            tag = _CLOSE if self.thinking else _OPEN
            found = self._withheld.find(tag)
            closed = -1 if self.thinking else self._withheld.find(_CLOSE)
            if closed >= 0 and (found < 0 or closed < found):
                passed, void, self._after_thought = [], True, True
                self._withheld = self._withheld[closed + len(_CLOSE) :]
                continue
            if found < 0:
                break
            if not self.thinking:
                passed.append(self._strip_start(self._withheld[:found]))
            self._withheld = self._withheld[found + len(tag) :]
            self.thinking = not self.thinking
            self._after_thought = self._after_thought or not self.thinking
        keep = max(_overlap(self._withheld, _OPEN), _overlap(self._withheld, _CLOSE))
        now, self._withheld = self._withheld[: len(self._withheld) - keep], self._withheld[len(self._withheld) - keep :]
        if not self.thinking:
            passed.append(self._strip_start(now))
        return "".join(passed), void

    def finish(self) -> str:
        """End the text and return its withheld end."""
        withheld, self._withheld = self._withheld, ""
        return "" if self.thinking else self._strip_start(withheld)

    def _strip_start(self, text: str) -> str:
        if self._after_thought:
            text = text.lstrip()
            self._after_thought = not text
        return text


def _overlap(text: str, tag: str) -> int:
    return next((size for size in range(min(len(tag) - 1, len(text)), 0, -1) if tag.startswith(text[-size:])), 0)
