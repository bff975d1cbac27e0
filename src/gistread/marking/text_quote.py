"""Quoted words with their offsets and context (W3C TextQuoteSelector), to find a place in another version."""

from dataclasses import dataclass

CONTEXT = 64  # Characters of context on each side
_HERE = 64  # Characters quoted for a place without an end, such as a bookmark


@dataclass(frozen=True, slots=True)
class TextQuote:
    """`text[start:end] == exact`, preceded by `prefix` and followed by `suffix`."""

    start: int
    end: int
    exact: str
    prefix: str
    suffix: str


def quote_at(text: str, start: int, end: int | None = None) -> TextQuote:
    """Quote `[start, end)`; without an end, the first words from `start`. Offsets are clamped to the text."""
    start = min(max(0, start), len(text))
    if end is None:
        end = _end_of_words(text, start)
    end = min(max(start, end), len(text))
    return TextQuote(start, end, text[start:end], text[max(0, start - CONTEXT) : start], text[end : end + CONTEXT])


def _end_of_words(text: str, start: int) -> int:
    words = text[start : start + _HERE]
    if start + _HERE < len(text):
        cut = max(words.rfind(" "), words.rfind("\n"))
        words = words[:cut] if cut > _HERE // 2 else words
    return start + len(words.rstrip())
