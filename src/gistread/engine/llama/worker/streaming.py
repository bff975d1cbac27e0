"""Turns decoded bytes into text: whole characters, without reasoning, up to a stop string."""

import codecs
from collections.abc import Sequence

_OPEN, _CLOSE = "<think>", "</think>"


class TextStream:
    """Collects the tokens of one answer."""

    def __init__(self, stop: Sequence[str] = ()) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._stop = tuple(s for s in stop if s)
        self._pending = ""
        """Decoded but withheld: may begin a stop string or reasoning."""
        self._thinking: bool | None = None
        """Whether the answer began with reasoning; None until known."""
        self.text = ""
        """All released text."""
        self.stopped = False
        """Whether a stop string was reached."""

    def feed(self, piece: bytes) -> str:
        """Add a token's bytes; return the text that can be released now, often none."""
        return self._release(self._decoder.decode(piece), final=False)

    def finish(self) -> str:
        """End the answer and return the withheld text."""
        return self._release(self._decoder.decode(b"", final=True), final=True)

    def _release(self, new: str, *, final: bool) -> str:
        if self.stopped:
            return ""
        self._pending += new
        if not self._skip_reasoning(final=final):
            return ""
        out, self._pending = self._pending, ""
        cut = min((at for s in self._stop if (at := out.find(s)) >= 0), default=-1)
        if cut >= 0:
            out, self.stopped = out[:cut], True
        elif not final:
            keep = max((_overlap(out, s) for s in self._stop), default=0)
            if keep:
                out, self._pending = out[:-keep], out[-keep:]
        self.text += out
        return out

    def _skip_reasoning(self, *, final: bool) -> bool:
        """Drop reasoning; returns whether the pending text belongs to the answer."""
        if self._thinking is None:
            start = self._pending.lstrip()
            if _OPEN.startswith(start[: len(_OPEN)]) and not (final and len(start) < len(_OPEN)):
                if len(start) < len(_OPEN):
                    return False
                self._thinking = True
            else:
                self._thinking = False
        if self._thinking:
            end = self._pending.find(_CLOSE)
            if end < 0:
                if final:
                    self._pending = ""
                return final
            self._pending = self._pending[end + len(_CLOSE) :].lstrip()
            self._thinking = False
        return True


def _overlap(text: str, stop: str) -> int:
    """Length of the longest suffix of `text` that is a proper prefix of `stop`."""
    for length in range(min(len(text), len(stop) - 1), 0, -1):
        if text.endswith(stop[:length]):
            return length
    return 0
