"""Filters for streamed text: stop strings and reasoning."""

import re
from collections.abc import Sequence

# How model families mark their thoughts: Qwen and DeepSeek, EXAONE, Seed, Mistral, Kimi, Gemma,
# gpt-oss, Command A.
_OPENING = (
    *(
        "<think>",
        "<thinking>",
        "<thought>",
        "<reasoning>",
        "<seed:think>",
        "[THINK]",
        "◁think▷",
    ),
    *(
        "<|channel>thought",
        "<|channel|>analysis",
        "<|channel|>commentary",
        "<|START_THINKING|>",
    ),
)
_CLOSING = (
    *(
        "</think>",
        "</thinking>",
        "</thought>",
        "</reasoning>",
        "</seed:think>",
        "[/THINK]",
        "◁/think▷",
    ),
    *(
        "<channel|>",
        "<|channel|>final<|message|>",
        "assistantfinal",
        "<|END_THINKING|>",
    ),
)
_TAG = re.compile("|".join(map(re.escape, (*_CLOSING, *_OPENING))))
_AFTER_ANSWER = re.compile(r"<\|(?:return|end|start)\|>.*", re.DOTALL)
# How thoughts begin that a chat template opened, so that the text has no tag.
_THOUGHT_BEGINS = re.compile(
    r"\W*(?:first,|(?:okay|ok|hmm+|alright|wait|let me|let's|we (?:need|have) to|i need to|the "
    r"user|so,? (?:the|i))\b)",
    re.IGNORECASE,
)


class StopStringFilter:
    """Passes text on up to the first of several stop strings."""

    def __init__(self, stops: Sequence[str], *, skip_leading: bool = False) -> None:
        """`skip_leading`: drop white space and stop strings at the beginning of the text."""
        self._stops = [stop for stop in stops if stop]
        self._withheld = ""
        self._leading = skip_leading
        # Whether a stop string was reached; nothing is passed on after it
        self.stopped = False

    def feed(self, text: str) -> str:
        """Add text and return what can be passed on.

        The possible beginning of a stop string is withheld.
        """
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
            if not self._withheld or any(
                stop.startswith(self._withheld) for stop in self._stops
            ):
                return ""
            self._leading = False
        ends = [
            self._withheld.find(stop) for stop in self._stops if stop in self._withheld
        ]
        if ends:
            self.stopped = True
            return self._take(min(ends))
        keep = max((_overlap(self._withheld, stop) for stop in self._stops), default=0)
        return self._take(len(self._withheld) - keep)

    def finish(self) -> str:
        """End the text and return its withheld end."""
        if self.stopped:
            return ""
        return self._take(len(self._withheld))

    def _take(self, length: int) -> str:
        passed, self._withheld = self._withheld[:length], self._withheld[length:]
        return passed


class ReasoningFilter:
    """Drops the thoughts of a reasoning model, whichever tags its family uses."""

    def __init__(self, *, begun: bool = False) -> None:
        """`begun`: the model is known to begin inside a thought.

        Text is withheld until it closes.
        """
        self._withheld = ""  # May be the beginning of a tag, or belong to a thought
        # Whether all text is withheld, because it may be a thought
        self.begins_withheld = begun
        self._trims = False  # Whether only white space followed the last thought
        self.thinking = False  # Whether the text so far ended inside a thought
        self.reasoned = False  # Whether there was a thought
        self.began_unseen = begun  # Whether a thought was closed that no tag had opened

    def feed(self, text: str) -> tuple[str, bool]:
        """Return text to pass on, and whether all before was a thought.

        The template may write the opening tag.
        """
        self._withheld += text
        passed, void = "", False
        while tag := _TAG.search(self._withheld):
            if not self.thinking and not self.begins_withheld:
                passed += self._answer(self._withheld[: tag.start()])
            if tag[0] in _CLOSING:
                if not self.thinking:  # All before was a thought.
                    passed = ""
                    void = True
                    self.began_unseen = True
                self.thinking, self._trims = False, True
            else:
                self.thinking = True
            self.reasoned, self.begins_withheld = True, False
            self._withheld = self._withheld[tag.end() :]
        if self.begins_withheld:
            return passed, void
        keep = max(
            _overlap(self._withheld, tag)
            for tag in (*_CLOSING, *_OPENING, "<|return|>", "<|end|>")
        )
        now, self._withheld = (
            self._withheld[: len(self._withheld) - keep],
            self._withheld[len(self._withheld) - keep :],
        )
        return passed if self.thinking else passed + self._answer(now), void

    def finish(self) -> str:
        """End the text and return its withheld end."""
        withheld, self._withheld = self._withheld, ""
        if self.thinking:
            return ""
        return self._answer(withheld)

    def _answer(self, text: str) -> str:
        text = _AFTER_ANSWER.sub("", text)
        if self._trims:
            text = text.lstrip()
            self._trims = not text
        return text


def seems_thought(text: str) -> bool:
    """Whether a text that was cut off begins like a thought without a tag."""
    return bool(_THOUGHT_BEGINS.match(text))


def _overlap(text: str, tag: str) -> int:
    return next(
        (
            size
            for size in range(min(len(tag) - 1, len(text)), 0, -1)
            if tag.startswith(text[-size:])
        ),
        0,
    )
