"""The default spoiler bound: how much of a book answers and searches of the library may show."""

import re
from collections.abc import Callable

from gistread.book.model import Book
from gistread.store.model import BoundChoice
from gistread.words import count_words

_BEGINNING = 200_000  # Characters that show whether a book has a plot
_ENOUGH = 2_000  # Words needed to tell
_PERSONAL = re.compile(r"\b(?:i|me|my|you|he|him|his|she|her)\b", re.IGNORECASE)
_ENGLISH = re.compile(r"\bthe\b")
# Shares of words. 400 novels, stories and tales have 2.7% of personal pronouns and more, any 2,000
# words of 59 novels 1.2%; three quarters of 48 encyclopedia articles have less than 1%.
_LEAST_PERSONAL, _LEAST_ENGLISH = 0.01, 0.03


def has_plot(book: Book) -> bool:
    """Whether to hide unread text from questions.

    The book has the form of fiction and is about people.
    """
    from gistread.memory.preset_detection import detect_preset
    from gistread.presets import FICTION

    if detect_preset(book) != FICTION.name:
        return False
    text = book.text[:_BEGINNING]
    words = count_words(text)
    is_english = (
        words >= _ENOUGH and len(_ENGLISH.findall(text)) >= _LEAST_ENGLISH * words
    )
    return not is_english or len(_PERSONAL.findall(text)) >= _LEAST_PERSONAL * words


def usual_bound(book: Book, here: int, choice: BoundChoice | None) -> int | None:
    """The default spoiler bound: as chosen for this book, else `here` in a book that `has_plot`.

    None: the whole book, also if all or nothing of it has been read.
    """
    return bound_of(len(book.text.rstrip()), here, choice, lambda: has_plot(book))


def bound_of(
    length: int, here: int, choice: BoundChoice | None, plot: Callable[[], bool]
) -> int | None:
    """As `usual_bound`, for a text of `length` characters."""
    end = choice.at if choice is not None and choice.at is not None else here
    if (choice and choice.whole) or not 0 < end < length:
        return None
    return end if choice is not None or plot() else None
