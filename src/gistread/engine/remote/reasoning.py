"""Thinking out loud is not part of an answer: what a model puts between its thinking tags is left out of the text.

Servers that part thinking from text themselves need none of this; many hand on what the model writes.
"""

_OPEN, _CLOSE = "<think>", "</think>"


class ReasoningFilter:
    """What is said, of a text that comes piece by piece."""

    def __init__(self) -> None:
        self._held = ""
        """Not told yet: it may be the beginning of a tag."""
        self._thinking = False
        self._after_thought = False
        """Whether nothing but white space has been said since the model was thinking."""

    @property
    def thinking(self) -> bool:
        return self._thinking

    def add(self, piece: str) -> tuple[str, bool]:
        """What can be told now; and whether all that was told before has turned out to be thinking.

        So it is where the tag that opens stands in the prompt, and only the one that closes is written.
        """
        self._held += piece
        spoken: list[str] = []
        void = False
        while True:
            tag = _CLOSE if self._thinking else _OPEN
            found = self._held.find(tag)
            closed = -1 if self._thinking else self._held.find(_CLOSE)
            if closed >= 0 and (found < 0 or closed < found):
                spoken, void, self._after_thought = [], True, True
                self._held = self._held[closed + len(_CLOSE) :]
                continue
            if found < 0:
                break
            if not self._thinking:
                spoken.append(self._beginning_cut(self._held[:found]))
            self._held = self._held[found + len(tag) :]
            self._thinking = not self._thinking
            self._after_thought = self._after_thought or not self._thinking
        keep = max(_beginning_of(self._held, _OPEN), _beginning_of(self._held, _CLOSE))
        now, self._held = self._held[: len(self._held) - keep], self._held[len(self._held) - keep :]
        if not self._thinking:
            spoken.append(self._beginning_cut(now))
        return "".join(spoken), void

    def end(self) -> str:
        """What was held back, at the end of the text."""
        held, self._held = self._held, ""
        return "" if self._thinking else self._beginning_cut(held)

    def _beginning_cut(self, text: str) -> str:
        """Thinking leaves empty lines behind."""
        if self._after_thought:
            text = text.lstrip()
            self._after_thought = not text
        return text


def _beginning_of(text: str, tag: str) -> int:
    """How many of the last characters of the text the tag begins with."""
    return next((size for size in range(min(len(tag) - 1, len(text)), 0, -1) if tag.startswith(text[-size:])), 0)
