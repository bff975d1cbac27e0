"""The spoiler bound (D8): the part of a book that an answer may use. Parses bounds and finds the default."""

import re
from contextlib import suppress
from typing import TYPE_CHECKING, Literal, NamedTuple

from gistread.errors import UsageError

if TYPE_CHECKING:
    from gistread.book.model import Book
    from gistread.memory.model import GistMemory
    from gistread.user_data import UserData


class Bound(NamedTuple):
    unit: Literal["offset", "percent", "page", "chapter", "here", "all"]
    value: float | str = 0  # A chapter may be given by its title


def parse_bound(text: str) -> Bound:
    """Read a bound such as `40%` or `page:12`. Raises ValueError with a message."""
    unit, _, value = text.partition(":")
    with suppress(ValueError):
        if text in ("here", "all"):
            return Bound("here" if text == "here" else "all")
        if unit == "chapter" and value.strip():
            return Bound("chapter", int(value) if value.isdecimal() else value.strip())
        if unit == "page" and int(value) >= 1:
            return Bound("page", int(value))
        if text.endswith("%") and 0 <= float(text[:-1]) <= 100:
            return Bound("percent", float(text[:-1]))
        if text.isdecimal():
            return Bound("offset", int(text))
    raise ValueError(f"{text!r} is not a place in a book such as 5000, 40%, page:12, chapter:3, here or all")


def offset_of(text: str, memory: "GistMemory", here: int) -> int | None:
    """Resolve `--upto` to an offset; None: the whole book. `here`: how far the user has read. Raises UsageError."""
    book = memory.book
    try:
        bound = parse_bound(text)
    except ValueError as error:
        raise UsageError(f"{error}.") from None
    match bound:
        case Bound("offset", int(offset)):
            return min(offset, len(book.text))
        case Bound("percent", float(percent)):
            return int(len(book.text) * percent / 100)
        case Bound("page", int(number)):
            if number > len(memory.entries):
                raise UsageError(
                    f"There is no page {number}: the model has read {len(memory.entries)} pages.",
                    "`gistread pages BOOK` shows them.",
                )
            return memory.entry(number).page.end
        case Bound("chapter", chapter):
            return _end_of_chapter(book, chapter)
    return here if bound.unit == "here" else None


def _end_of_chapter(book: "Book", chapter: float | str) -> int:
    if isinstance(chapter, str):
        wanted = chapter.casefold()
        titled = [one for one in book.chapters if wanted in one.title.casefold()]
        found = [one for one in titled if one.title.casefold() == wanted] or titled
    else:
        found = [one for number, one in enumerate(book.chapters, start=1) if number == chapter]
    if not found:
        raise UsageError(f"There is no chapter {chapter}.", f"The book has {len(book.chapters)} chapters.")
    return found[0].end


_BEGINNING = 200_000  # Characters that show whether a book has a plot
_ENOUGH = 2_000  # Words needed to tell
_PERSONAL = re.compile(r"\b(?:i|me|my|you|he|him|his|she|her)\b", re.IGNORECASE)
_ENGLISH = re.compile(r"\bthe\b")
# Shares of words. 400 novels, stories and tales have 2.7% of personal pronouns and more, any 2,000 words of 59 novels
# 1.2%; three quarters of 48 encyclopedia articles have less than 1%.
_LEAST_PERSONAL, _LEAST_ENGLISH = 0.01, 0.03


def has_plot(book: "Book") -> bool:
    """Whether to hide unread text from questions: the book has the form of fiction and is about people."""
    from gistread.book.normalise import count_words
    from gistread.memory.preset_detection import detect_preset
    from gistread.presets import FICTION

    if detect_preset(book) != FICTION.name:
        return False
    text = book.text[:_BEGINNING]
    words = count_words(text)
    is_english = words >= _ENOUGH and len(_ENGLISH.findall(text)) >= _LEAST_ENGLISH * words
    return not is_english or len(_PERSONAL.findall(text)) >= _LEAST_PERSONAL * words


def saved_bound(book: "Book", user_data: "UserData") -> int | None:
    """The spoiler bound of a book for this person; None for the whole book. Raises StorageError."""
    place = user_data.reading_place(book.sha256)
    return usual_bound(book, place.furthest, user_data.whole_book(book.sha256))


def usual_bound(book: "Book", here: int, whole_book: bool | None) -> int | None:
    """The default spoiler bound: as chosen for this book, else `here` in a book that `has_plot`.

    None: the whole book, also if all or nothing of it has been read.
    """
    if whole_book or not 0 < here < len(book.text.rstrip()):
        return None
    return here if whole_book is False or has_plot(book) else None
