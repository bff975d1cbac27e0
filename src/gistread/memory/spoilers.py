"""The default spoiler bound: how much of a book answers and searches of the library may show."""

import re
from collections.abc import Callable

from gistread.book.model import Book
from gistread.store.model import BoundChoice
from gistread.words import count_words

_BEGINNING = 200_000  # Characters that show whether a book has a plot
_ENOUGH = 2_000  # Least words that show it
_PERSONAL = re.compile(r"\b(?:i|me|my|you|he|him|his|she|her)\b", re.IGNORECASE)
_ENGLISH = re.compile(r"\bthe\b")
# Least share of personal pronouns. 400 novels, stories and tales have 2.7% and more, any 2,000
# words of 59 novels 1.2%; three quarters of 48 encyclopedia articles have less than 1%.
_LEAST_PERSONAL = 0.01
_LEAST_ENGLISH = 0.03  # Least share of "the" in English


def has_plot(book: Book) -> bool:
    """Whether a book has the form of fiction and is about people, so that it can be spoiled."""
    from gistread.memory.preset_detection import detect_preset
    from gistread.presets import FICTION

    if detect_preset(book) != FICTION.name:
        return False
    text = book.text[:_BEGINNING]
    words = count_words(text)
    is_english = len(_ENGLISH.findall(text)) >= _LEAST_ENGLISH * words
    # The pronouns only tell in a long English text; other fiction counts as having a plot.
    if words < _ENOUGH or not is_english:
        return True
    return len(_PERSONAL.findall(text)) >= _LEAST_PERSONAL * words


def usual_bound(book: Book, here: int, choice: BoundChoice | None) -> int | None:
    """The default spoiler bound: as chosen for this book, else `here` in a book that `has_plot`.

    None: the whole book, also if all or nothing of it has been read.
    """
    return bound_of(len(book.text.rstrip()), here, choice, lambda: has_plot(book))


def bound_of(
    length: int, here: int, choice: BoundChoice | None, plot: Callable[[], bool]
) -> int | None:
    """As `usual_bound`, for a text of `length` characters. `plot`: as `has_plot`."""
    if choice is not None:
        if choice.whole:
            return None
        end = here if choice.at is None else choice.at
        return end if 0 < end < length else None
    if 0 < here < length and plot():
        return here
    return None
