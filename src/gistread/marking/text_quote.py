"""A place in a book, known by its offsets and by its words: so it is found again in another version of the text.

The three texts are those of the W3C's TextQuoteSelector (Web Annotation Data Model, 4.2.4). Nothing here knows
books; a text is a `str`.
"""

from dataclasses import dataclass

CONTEXT = 64
"""Characters that are kept before and behind a place."""
_HERE = 64
"""Characters that stand for a place without an end, such as a bookmark."""


@dataclass(frozen=True, slots=True)
class TextQuote:
    """`text[start:end] == exact`, with `prefix` before it and `suffix` behind."""

    start: int
    end: int
    exact: str
    prefix: str
    suffix: str


def quote_at(text: str, start: int, end: int | None = None) -> TextQuote:
    """The place `[start, end)` of a text; without an end the first words from `start` on.

    Offsets outside the text are the nearest inside.
    """
    start = min(max(0, start), len(text))
    if end is None:
        end = _end_of_words(text, start)
    end = min(max(start, end), len(text))
    return TextQuote(start, end, text[start:end], text[max(0, start - CONTEXT) : start], text[end : end + CONTEXT])


def _end_of_words(text: str, start: int) -> int:
    """End of some whole words from `start` on."""
    words = text[start : start + _HERE]
    if start + _HERE < len(text):
        cut = max(words.rfind(" "), words.rfind("\n"))
        words = words[:cut] if cut > _HERE // 2 else words
    return start + len(words.rstrip())
