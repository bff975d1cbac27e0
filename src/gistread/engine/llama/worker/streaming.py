"""Decoded bytes become text that can be shown: whole characters, no thoughts, nothing past a stop string."""

import codecs
from collections.abc import Sequence

_OPEN, _CLOSE = "<think>", "</think>"


class TextStream:
    """Collects the pieces of one answer."""

    def __init__(self, stop: Sequence[str] = ()) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._stop = tuple(s for s in stop if s)
        self._pending = ""
        """Decoded, not released: it may be the beginning of a stop string or of a thought."""
        self._thinking: bool | None = None
        """None until the first characters tell."""
        self.text = ""
        """All that was released."""
        self.stopped = False
        """A stop string was met: nothing more is released."""

    def feed(self, piece: bytes) -> str:
        """Add a token's bytes; return the text that can be shown now, often none."""
        return self._release(self._decoder.decode(piece), final=False)

    def finish(self) -> str:
        """The answer has ended: return what was held back."""
        return self._release(self._decoder.decode(b"", final=True), final=True)

    def _release(self, new: str, *, final: bool) -> str:
        if self.stopped:
            return ""
        self._pending += new
        if not self._past_thought(final=final):
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

    def _past_thought(self, *, final: bool) -> bool:
        """True once what is pending is answer; thoughts are dropped on the way."""
        if self._thinking is None:
            begun = self._pending.lstrip()
            if _OPEN.startswith(begun[: len(_OPEN)]) and not (final and len(begun) < len(_OPEN)):
                if len(begun) < len(_OPEN):
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
    """Length of the longest end of `text` that `stop` begins with, short of all of it."""
    for length in range(min(len(text), len(stop) - 1), 0, -1):
        if text.endswith(stop[:length]):
            return length
    return 0
