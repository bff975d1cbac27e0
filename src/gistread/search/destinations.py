"""Finds the places of a book that a few typed words name.

`40%`, `page 12`, a chapter, `"words of the book"`, an offset, an EPUB CFI.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from gistread.book.model import Book
from gistread.book.numbers import parse_number
from gistread.errors import BookError
from gistread.search.book_search import FoldedText
from gistread.search.tokens import folded
from gistread.units import format_place, in_quotes, short

MOST = 8
HINT = '40% · p12 · chapter 7 or a title · "words" · +5% · @ and an offset'

# "40%", "12.5 %", "+5%": the sign and the number
_PERCENT = re.compile(r"([+-]?)\s*(\d+(?:[.,]\d+)?)\s*%$")
_PAGE = re.compile(r"(?:page|pg|p)[\s.:]*(\d+)$", re.IGNORECASE)  # "p. 12"
# "chapter 7", "Ch. XII"
_CHAPTER = re.compile(r"(?:chapter|chap|ch)[\s.:]*(\S+)$", re.IGNORECASE)
# "@1200", "offset: 1200"
_OFFSET = re.compile(r"(?:@|offset\s*:?)\s*(\d+)$", re.IGNORECASE)
_QUOTES = '"“”„«»'
_QUOTED = re.compile(f"[{_QUOTES}](.+)[{_QUOTES}]$")
_CFI_START = "epubcfi("
_RANK_IN_CONTENTS = 2  # Of a chapter matched by its position in the contents
_WHOLE = 100  # Percent
_SHOWN = 40  # Characters of the words that were found
_EDGES = {
    "start": 0.0,
    "begin": 0.0,
    "beginning": 0.0,
    "top": 0.0,
    "end": 1.0,
    "bottom": 1.0,
}
_TITLE_WORD = re.compile(r"\w+(?:[-’']\w+)*")  # "XII", "Twenty-one"
# What stands before the number in a title: "Chapter", "— Book"
_LABEL = re.compile(
    r"^\W*(?:chapter|book|part|letter|canto|act|scene|section|kapitel|chapitre|capítulo|глава)\b",
    re.I,
)


@dataclass(frozen=True, slots=True)
class Destination:
    """A place in the book; `offset` counts characters."""

    offset: int
    words: str
    end: int | None = None  # End of the quoted words, to highlight them


@dataclass(frozen=True, slots=True)
class GoToTarget:
    """Possible destinations, the likeliest first; `problem` says why there are none."""

    destinations: tuple[Destination, ...] = ()
    problem: str = ""


def destinations_of(
    typed: str, book: Book, here: int, source: Path | None = None
) -> GoToTarget:
    """The places that `typed` may name for someone at offset `here`.

    `source`: the book's file, for EPUB CFIs.
    """
    typed = " ".join(typed.split())
    if not typed:
        return GoToTarget()
    if match := _QUOTED.match(typed):
        return _words(book, here, match[1])
    if typed[0] in _QUOTES:
        return GoToTarget(problem="End the words with a quotation mark.")
    if is_cfi(typed):
        return _cfi(book, typed, source)
    return named_destinations(typed, book, here)


def is_cfi(typed: str) -> bool:
    """Whether `typed` is an EPUB CFI. Looking it up reads the whole EPUB."""
    return typed.lstrip().startswith(_CFI_START)


def named_destinations(typed: str, book: Book, here: int) -> GoToTarget:
    """The places that a number or the title of a chapter names.

    Does not search the text of the book. `here`: the offset that `+5%` is relative to.
    """
    if match := _PERCENT.match(typed):
        sign, number = match.groups()
        return _percent(book, here, sign, float(number.replace(",", ".")))
    if match := _PAGE.match(typed):
        return _page(book, int(match[1]))
    if match := _OFFSET.match(typed):
        return _offset(book, int(match[1]))
    edge = _EDGES.get(typed.casefold())
    if edge is not None:
        offset = round(len(book.text) * edge)
        name = "the beginning" if edge == 0 else "the end"
        return GoToTarget((Destination(offset, name),))
    places = list(_chapters(typed, book))
    if typed.isdecimal():
        places += _percent_or_page(book, int(typed))
    if not places:
        return GoToTarget(problem="No such chapter or place.")
    return GoToTarget(tuple(places[:MOST]))


def _offset(book: Book, offset: int) -> GoToTarget:
    length = len(book.text)
    if offset > length:
        return GoToTarget(problem=f"The book ends at {length:,}.")
    place = format_place(offset, length)
    return GoToTarget((Destination(offset, f"offset {offset:,}, {place}"),))


def _percent_or_page(book: Book, number: int) -> Iterator[Destination]:
    """The places that a number alone names besides chapters."""
    if number <= _WHOLE:
        offset = round(len(book.text) * number / _WHOLE)
        yield Destination(offset, f"{number}% of the book")
    yield from _page(book, number).destinations


def _words(book: Book, here: int, words: str) -> GoToTarget:
    """Where the words stand: after `here` first, then from the beginning."""
    hits = list(FoldedText(book.text).find(words))
    if not hits:
        quoted = in_quotes(short(words, _SHOWN))
        return GoToTarget(problem=f"{quoted} is not in the book.")
    after_here = [(start, end) for start, end in hits if start > here]
    from_the_beginning = [(start, end) for start, end in hits if start <= here]
    in_order = after_here + from_the_beginning
    return GoToTarget(
        tuple(_quoted_destination(book, start, end) for start, end in in_order[:MOST])
    )


def _cfi(book: Book, identifier: str, source: Path | None) -> GoToTarget:
    """The place that an EPUB CFI names."""
    if book.source_format != "epub":
        return GoToTarget(problem="Only an EPUB has places of this form.")
    if source is None:
        return GoToTarget(problem="EPUB CFIs cannot be looked up here.")
    if not identifier.endswith(")"):
        return GoToTarget(problem="End the EPUB CFI with a parenthesis.")
    # Parsers take a while to import
    from gistread.book.formats.epub_cfi import open_source

    try:
        place = open_source(source).place(identifier, book.text)
    except BookError as error:
        return GoToTarget(problem=error.message)
    if place is None:
        return GoToTarget(problem="This EPUB has no such place.")
    start, end = place
    return GoToTarget((_quoted_destination(book, start, end),))


def _quoted_destination(book: Book, start: int, end: int) -> Destination:
    """A place named by its words and its share of the book."""
    following = book.text[start : start + 2 * _SHOWN]  # `short` closes up its spaces.
    words = in_quotes(short(following, _SHOWN))
    place = format_place(start, len(book.text))
    return Destination(start, f"{words}, {place}", end)


def _percent(book: Book, here: int, sign: str, number: float) -> GoToTarget:
    """The place at a percentage of the book; with a sign, counted from `here`."""
    length = len(book.text)
    if not sign and number > _WHOLE:
        return GoToTarget(problem="Enter a number from 0 to 100.")
    step = round(length * number / _WHOLE)
    if sign == "+":
        offset = min(here + step, length)
    elif sign == "-":
        offset = max(here - step, 0)
    else:
        offset = step
    name = format_place(offset, length)
    chapter = book.chapter_title(offset)
    if chapter:
        name += f", in {chapter}"
    return GoToTarget((Destination(offset, name),))


def _page(book: Book, number: int) -> GoToTarget:
    count = book.page_count
    if not 1 <= number <= count:
        return GoToTarget(problem=f"The book has pages 1 to {count}.")
    start = book.page_start(number)
    return GoToTarget((Destination(start, f"page {number} of {count}"),))


def _chapters(typed: str, book: Book) -> Iterator[Destination]:
    """The chapters that `typed` names by number or title, the best match first."""
    words = _plain(typed)
    match = _CHAPTER.match(typed)
    number = parse_number(match[1] if match else typed)
    ranks: list[tuple[int, int]] = []
    for index, chapter in enumerate(book.chapters):
        title = _plain(chapter.title)
        matches = (  # The best kind of match first
            number is not None and _number(chapter.title) == number,
            title.startswith(words),
            index + 1 == number,
            f" {words}" in title,
            # Within a word, a letter or two are in most titles.
            len(words) > 2 and words in title,
        )
        if any(matches):
            rank = matches.index(True)
            ranks.append((rank, index))
    for rank, index in sorted(ranks):
        chapter = book.chapters[index]
        name = _part_prefix(book, index) + (chapter.title or "untitled")
        if rank == _RANK_IN_CONTENTS:
            name += f" (number {index + 1} in the contents)"
        place = format_place(chapter.start, len(book.text))
        yield Destination(chapter.start, f"{name}, {place}")


def _part_prefix(book: Book, index: int) -> str:
    """The title of a chapter's part, as "Part Two › ".

    In long books each part may have a chapter of the same name.
    """
    level = book.chapters[index].level
    for earlier in reversed(book.chapters[:index]):
        if earlier.level < level:
            return f"{earlier.title} › " if earlier.title else ""
    return ""


def _number(title: str) -> int | None:
    """The number at the start of a title: 12 for "Chapter XII: The Storm"."""
    label = _LABEL.match(title)
    label_end = label.end() if label else 0
    word = _TITLE_WORD.search(title, label_end)
    # Between them there may be a sign and a space: "Chapter: 12".
    if word is None or word.start() - label_end > 2:
        return None
    return parse_number(word[0])


def _plain(text: str) -> str:
    return " ".join(folded(text.casefold()).split())
