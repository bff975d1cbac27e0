"""Finds the places of a book that a few typed words name.

`40%`, `page 12`, a chapter, `"words of the book"`, an offset, an EPUB CFI.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from gistread.book.model import Book
from gistread.book.numbers import parse_number
from gistread.errors import BookError
from gistread.search.book_search import FoldedText
from gistread.search.tokens import folded
from gistread.units import format_place, in_quotes, short

MOST = 8
HINT = '40% · p12 · chapter 7 or a title · "words" · +5% · @ and an offset'

_PERCENT = re.compile(r"([+-]?)\s*(\d+(?:[.,]\d+)?)\s*%$")
_PAGE = re.compile(r"(?:page|pg|p)[\s.:]*(\d+)$", re.IGNORECASE)
_CHAPTER = re.compile(r"(?:chapter|chap|ch)[\s.:]*(\S+)$", re.IGNORECASE)
_OFFSET = re.compile(r"(?:@|offset\s*:?)\s*(\d+)$", re.IGNORECASE)
_QUOTES = '"“”„«»'
_QUOTED = re.compile(f"[{_QUOTES}](.+)[{_QUOTES}]$")
_CFI_START = "epubcfi("
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
_TITLE_WORD = re.compile(r"\w+(?:[-’']\w+)*")
_LABEL = re.compile(
    r"^\W*(?:chapter|book|part|letter|canto|act|scene|section|kapitel|chapitre|capítulo|глава)\b",
    re.I,
)


@dataclass(frozen=True, slots=True)
class Destination:
    """A place in the book; `offset` counts characters."""

    offset: int
    words: str
    end: int | None = None  # Of the words that were named, to show them


@dataclass(frozen=True, slots=True)
class GoToTarget:
    """The destinations, likeliest first; `problem` says why there are none."""

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
    """Whether an EPUB CFI begins here: to look it up, the whole EPUB is read."""
    return typed.lstrip().startswith(_CFI_START)


def named_destinations(typed: str, book: Book, here: int) -> GoToTarget:
    """A place by its number or by the title of a chapter, without the words of the book.

    `here`: for `+5%`.
    """
    length = len(book.text)
    if match := _PERCENT.match(typed):
        return _percent(book, here, match[1], float(match[2].replace(",", ".")))
    if match := _PAGE.match(typed):
        return _page(book, int(match[1]))
    if match := _OFFSET.match(typed):
        offset = int(match[1])
        if offset > length:
            return GoToTarget(problem=f"The book ends at {length:,}.")
        place = format_place(offset, length)
        return GoToTarget((Destination(offset, f"offset {offset:,}, {place}"),))
    if typed.casefold() in _EDGES:
        share = _EDGES[typed.casefold()]
        name = "the beginning" if share == 0 else "the end"
        return GoToTarget((Destination(round(length * share), name),))
    places = list(_chapters(typed, book))
    if typed.isdecimal():
        number = int(typed)
        if number <= _WHOLE:
            places.append(
                Destination(round(length * number / 100), f"{number}% of the book")
            )
        places += _page(book, number).destinations
    if not places:
        return GoToTarget(problem="No such chapter or place.")
    return GoToTarget(tuple(places[:MOST]))


def _words(book: Book, here: int, words: str) -> GoToTarget:
    """Where the words stand: behind `here` first, then from the beginning."""
    hits = list(FoldedText(book.text).find(words))
    if not hits:
        return GoToTarget(
            problem=f"{in_quotes(short(words, _SHOWN))} is not in the book."
        )
    behind = [hit for hit in hits if hit[0] > here]
    before = [hit for hit in hits if hit[0] <= here]
    nearest = islice((*behind, *before), MOST)
    return GoToTarget(
        tuple(_quoted_destination(book, start, end) for start, end in nearest)
    )


def _cfi(book: Book, identifier: str, source: Path | None) -> GoToTarget:
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
    words = in_quotes(short(book.text[start : start + 2 * _SHOWN], _SHOWN))
    place = format_place(start, len(book.text))
    return Destination(start, f"{words}, {place}", end)


def _percent(book: Book, here: int, sign: str, number: float) -> GoToTarget:
    length = len(book.text)
    if not sign and number > _WHOLE:
        return GoToTarget(problem="Enter a number from 0 to 100.")
    step = round(length * number / 100)
    offset = min(max(0, {"+": here + step, "-": here - step}.get(sign, step)), length)
    name = format_place(offset, length)
    chapter = book.chapter_title(offset)
    if chapter:
        name += f", in {chapter}"
    return GoToTarget((Destination(offset, name),))


def _page(book: Book, number: int) -> GoToTarget:
    count = book.page_count
    if 1 <= number <= count:
        return GoToTarget(
            (Destination(book.page_start(number), f"page {number} of {count}"),)
        )
    return GoToTarget(problem=f"The book has pages 1 to {count}.")


def _chapters(typed: str, book: Book) -> Iterator[Destination]:
    words = _plain(typed)
    match = _CHAPTER.match(typed)
    number = parse_number(match[1] if match else typed)
    ranks: list[tuple[int, int]] = []
    for index, chapter in enumerate(book.chapters):
        title = _plain(chapter.title)
        fits = (  # The best match first
            number is not None and _number(chapter.title) == number,
            title.startswith(words),
            index + 1 == number,
            f" {words}" in title,
            len(words) > 2 and words in title,
        )
        if True in fits:
            ranks.append((fits.index(True), index))
    for rank, index in sorted(ranks):
        chapter = book.chapters[index]
        what = f" (number {index + 1} in the contents)" if rank == 2 else ""
        name = _above(book, index) + (chapter.title or "untitled") + what
        place = format_place(chapter.start, len(book.text))
        yield Destination(chapter.start, f"{name}, {place}")


def _above(book: Book, index: int) -> str:
    """The title of a chapter's part.

    In long books each part may have a chapter of the same name.
    """
    level = book.chapters[index].level
    for before in reversed(book.chapters[:index]):
        if before.level < level:
            if not before.title:
                return ""
            return f"{before.title} › "
    return ""


def _number(title: str) -> int | None:
    """The number at the start of a title: 12 for "Chapter XII: The Storm"."""
    label = _LABEL.match(title)
    label_end = label.end() if label else 0
    word = _TITLE_WORD.search(title, label_end)
    if word and word.start() - label_end <= 2:
        return parse_number(word[0])
    return None


def _plain(text: str) -> str:
    return " ".join(folded(text.casefold()).split())
