"""Filters for streamed text: stop strings and reasoning."""

import re
from collections.abc import Sequence

# How model families mark their thoughts: Qwen and DeepSeek, EXAONE, Seed, Mistral, Kimi, Gemma,
# gpt-oss, Command A.
_OPENING = (
    "<think>",
    "<thinking>",
    "<thought>",
    "<reasoning>",
    "<seed:think>",
    "[THINK]",
    "◁think▷",
    "<|channel>thought",
    "<|channel|>analysis",
    "<|channel|>commentary",
    "<|START_THINKING|>",
)
_CLOSING = (
    "</think>",
    "</thinking>",
    "</thought>",
    "</reasoning>",
    "</seed:think>",
    "[/THINK]",
    "◁/think▷",
    "<channel|>",
    "<|channel|>final<|message|>",
    "assistantfinal",
    "<|END_THINKING|>",
)
_TAG = re.compile("|".join(map(re.escape, (*_CLOSING, *_OPENING))))
# The beginning of any of these is withheld until more text tells what it is.
_WITHHELD_MARKS = (*_CLOSING, *_OPENING, "<|return|>", "<|end|>")
_AFTER_ANSWER = re.compile(r"<\|(?:return|end|start)\|>.*", re.DOTALL)
# How a thought begins that the chat template has opened, so that the text has no tag: `Okay, so`,
# `The user wants …`
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
        # Whether no text but white space and stop strings has come yet
        self._skips_leading = skip_leading
        # Whether a stop string was reached; nothing is passed on after it
        self.stopped = False

    def feed(self, text: str) -> str:
        """Add text and return what can be passed on.

        The possible beginning of a stop string is withheld.
        """
        if self.stopped:
            return ""
        self._withheld += text
        if self._skips_leading:
            self._drop_leading()
            may_be_stop = any(stop.startswith(self._withheld) for stop in self._stops)
            if not self._withheld or may_be_stop:
                return ""
            self._skips_leading = False
        ends = [
            self._withheld.find(stop) for stop in self._stops if stop in self._withheld
        ]
        if ends:
            self.stopped = True
            return self._take(min(ends))
        overlaps = [_overlap(self._withheld, stop) for stop in self._stops]
        return self._take(len(self._withheld) - max(overlaps, default=0))

    def finish(self) -> str:
        """End the text and return its withheld end."""
        if self.stopped:
            return ""
        return self._take(len(self._withheld))

    def _drop_leading(self) -> None:
        """Drop white space and stop strings, in any order, from the beginning of the text."""
        previous = None
        while previous != self._withheld:
            previous = self._withheld
            self._withheld = self._withheld.lstrip()
            for stop in self._stops:
                self._withheld = self._withheld.removeprefix(stop)

    def _take(self, length: int) -> str:
        """Withhold this many characters no longer, and return them."""
        passed = self._withheld[:length]
        self._withheld = self._withheld[length:]
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
        # Whether a thought was closed that no tag had opened, or is expected to be (`begun`)
        self.began_unseen = begun

    def feed(self, text: str) -> tuple[str, bool]:
        """Add text. Return what can be passed on, and whether all passed on before was a thought.

        The latter shows if the chat template wrote the opening tag: only a closing one comes.
        """
        self._withheld += text
        passed = ""
        was_all_thought = False
        while tag := _TAG.search(self._withheld):
            if not self.thinking and not self.begins_withheld:
                passed += self._answer(self._withheld[: tag.start()])
            is_closing = tag[0] in _CLOSING
            if is_closing and not self.thinking:
                # The tag that opened the thought was not in the text.
                passed = ""
                was_all_thought = True
                self.began_unseen = True
            self._pass_tag(is_closing=is_closing)
            self._withheld = self._withheld[tag.end() :]
        if self.begins_withheld:
            return passed, was_all_thought
        before_mark = self._take_before_mark()
        if not self.thinking:
            passed += self._answer(before_mark)
        return passed, was_all_thought

    def _pass_tag(self, *, is_closing: bool) -> None:
        """Note that a thought begins, or ends."""
        self.thinking = not is_closing
        self.reasoned = True
        self.begins_withheld = False
        if is_closing:
            self._trims = True

    def _take_before_mark(self) -> str:
        """Withhold only the end of the text, if a tag may begin there; return the rest."""
        overlap = max(_overlap(self._withheld, mark) for mark in _WITHHELD_MARKS)
        end = len(self._withheld) - overlap
        before_mark = self._withheld[:end]
        self._withheld = self._withheld[end:]
        return before_mark

    def finish(self) -> str:
        """End the text and return its withheld end."""
        withheld = self._withheld
        self._withheld = ""
        if self.thinking:
            return ""
        return self._answer(withheld)

    def _answer(self, text: str) -> str:
        """Text outside thoughts, without what follows the answer or white space before it."""
        text = _AFTER_ANSWER.sub("", text)
        if self._trims:
            text = text.lstrip()
            self._trims = not text
        return text


def seems_thought(text: str) -> bool:
    """Whether a text that was cut off begins like a thought without a tag."""
    return bool(_THOUGHT_BEGINS.match(text))


def _overlap(text: str, tag: str) -> int:
    """Length of the longest end of `text` with which `tag` begins, but not all of `tag`."""
    longest = min(len(tag) - 1, len(text))
    for size in range(longest, 0, -1):
        if tag.startswith(text[-size:]):
            return size
    return 0
