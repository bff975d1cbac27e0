"""Parses spoiler bounds: the part of a book that an answer may use.

The default is in `memory/spoilers.py`.
"""

from contextlib import suppress
from difflib import get_close_matches
from typing import TYPE_CHECKING, Literal, NamedTuple

from gistread.errors import UsageError
from gistread.units import in_quotes

if TYPE_CHECKING:
    from gistread.book.model import Book
    from gistread.memory.model import GistMemory


_ALL_PERCENT = 100
_LONGEST_WORD = 30  # Characters; scripts without spaces have no such words
_SIMILAR = 0.4  # Least similarity (`difflib`) of a title to suggest


class Bound(NamedTuple):
    unit: Literal["offset", "percent", "page", "section", "chapter", "here", "all"]
    # A chapter is given by its number in `gistread toc`, or its title
    value: float | str = 0


def parse_bound(text: str) -> Bound:
    """Read a bound such as `40%` or `page:12`. Raises UsageError.

    >>> parse_bound("chapter:3.1")
    Bound(unit='chapter', value='3.1')
    """
    unit, _, value = text.partition(":")
    with suppress(ValueError):  # Of `int` and `float`: what is no number is no place.
        if text == "here":
            return Bound("here")
        if text == "all":
            return Bound("all")
        if unit == "chapter" and (title := value.strip(' "“”')):
            return Bound("chapter", title)
        if unit == "page" and int(value) >= 1:
            return Bound("page", int(value))
        if unit == "section" and int(value) >= 1:
            return Bound("section", int(value))
        if text.endswith("%"):
            percent = float(text.removesuffix("%"))
            if 0 <= percent <= _ALL_PERCENT:
                return Bound("percent", percent)
        if text.isdecimal():
            return Bound("offset", int(text))
    raise UsageError(
        f"{text!r} is not a place in a book.",
        "Write 5000, 40%, page:12, chapter:3.1, here or all.",
    )


def offset_of(text: str, memory: "GistMemory", here: int) -> int | None:
    """Resolve `--upto` to an offset; None: the whole book.

    `here`: how far the user has read. Raises UsageError.
    """
    book = memory.book
    match parse_bound(text):
        case Bound("here"):
            return here
        case Bound("offset", int(offset)):
            return min(offset, len(book.text))
        case Bound("percent", float(percent)):
            return before_word(book.text, int(len(book.text) * percent / 100))
        case Bound("page", int(number)):
            if number > book.page_count:
                raise UsageError(
                    f"There is no page {number}: the book has {book.page_count}."
                )
            # The bound is the end of the page.
            if number == book.page_count:
                return len(book.text)
            return before_word(book.text, book.page_start(number + 1))
        case Bound("section", int(number)):
            if number > len(memory.entries):
                raise UsageError(
                    f"There is no section {number}: the model has read {len(memory.entries)} "
                    "sections.",
                    "`gistread pages BOOK` shows them.",
                )
            return memory.entry(number).page.end
        case Bound("chapter", str(chapter)):
            return book.chapter_end(chapter_index(book, chapter))
    return None


def before_word(text: str, offset: int) -> int:
    """The offset, or the beginning of the word that it would cut.

    >>> before_word("He had found it.", 9)
    7
    """
    is_inside = 0 < offset < len(text)
    if not is_inside or text[offset].isspace():
        return offset
    start = offset
    while start > 0 and not text[start - 1].isspace():
        start -= 1
        if offset - start >= _LONGEST_WORD:
            return offset
    return start


def chapter_index(book: "Book", name: str) -> int:
    """Index of the chapter with this number (`3`, `3.1`), this title or these words in its title.

    Raises UsageError.
    """
    typed = name.casefold()
    titles = [chapter.title.casefold() for chapter in book.chapters]
    for known in (book.chapter_numbers, titles):
        if typed in known:
            return known.index(typed)
    with_words = [index for index, title in enumerate(titles) if typed in title]
    # A number is in many titles: "3" in "Chapter 13".
    if with_words and not typed.isdecimal():
        return with_words[0]
    hint = "`gistread toc BOOK` lists the chapters."
    similar = get_close_matches(typed, titles, n=1, cutoff=_SIMILAR)
    if similar:
        suggestion = book.chapters[titles.index(similar[0])].title
        hint = f"Did you mean {in_quotes(suggestion)}?"
    raise UsageError(f"There is no chapter {name}.", hint)
