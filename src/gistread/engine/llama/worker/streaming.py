"""Turns decoded bytes into text: whole characters, without leading reasoning, up to a stop string."""

import codecs
from collections.abc import Sequence

from gistread.engine.text_filters import StopStringFilter

_OPEN, _CLOSE = "<think>", "</think>"


class TextStream:
    """Collects the tokens of one answer."""

    def __init__(self, stop: Sequence[str] = ()) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._stop = StopStringFilter(stop)
        self._pending = ""
        """The beginning of the answer, until it is known whether it is reasoning."""
        self._answering = False
        self.text = ""
        """All released text."""

    @property
    def stopped(self) -> bool:
        """Whether a stop string was reached."""
        return self._stop.stopped

    def feed(self, piece: bytes) -> str:
        """Add a token's bytes; return the text that can be released now, often none."""
        return self._release(self._stop.feed(self._skip_reasoning(self._decoder.decode(piece))))

    def finish(self) -> str:
        """End the answer and return the withheld text."""
        rest = self._skip_reasoning(self._decoder.decode(b"", final=True))
        if not self._answering and not self._pending.lstrip().startswith(_OPEN):
            rest = self._pending
        return self._release(self._stop.feed(rest) + self._stop.finish())

    def _release(self, text: str) -> str:
        self.text += text
        return text

    def _skip_reasoning(self, text: str) -> str:
        if self._answering:
            return text
        self._pending += text
        start = self._pending.lstrip()
        if start.startswith(_OPEN):
            _, closed, answer = start.partition(_CLOSE)
            self._answering = bool(closed)
            return answer.lstrip()
        if _OPEN.startswith(start):
            return ""
        self._answering = True
        return self._pending
