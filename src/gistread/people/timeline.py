"""Builds a book's timeline: for each chapter, the first date it names, and where it mentions each person how often."""

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from gistread.book.model import Book
from gistread.people.index import Index
from gistread.people.joining import Entity, Kind
from gistread.units import bars

_MOST_PEOPLE = 12
_PARTS = 20  # Of a long text without chapters
_LONG = 20_000  # Characters
_MONTHS = "January|February|March|April|May|June|July|August|September|October|November|December"
_YEAR = r"(?:1[0-9]{3}|20\d\d)"
_DAY = r"\d{1,2}(?:st|nd|rd|th)?"
_DATE = re.compile(
    rf"\b(?:the )?{_DAY} (?:of )?(?:{_MONTHS})\b(?:,? {_YEAR}\b)?"
    rf"|\b(?:{_MONTHS}) {_DAY}\b(?:,? {_YEAR}\b)?"
    rf"|\b(?:{_MONTHS}),? (?:of (?:the year )?)?{_YEAR}\b"
    rf"|(?<=\b[Ii]n )(?:the year )?{_YEAR}\b(?! (?:[a-z]+s|men|people)\b)"
    rf"|(?<=\byear ){_YEAR}\b"
)
_HINT = re.compile(rf"{_MONTHS}|{_YEAR}")  # Found much faster
_AROUND = 20  # Characters of a date on each side of its month or year
_TITLE_YEAR = re.compile(rf"\b{_YEAR}\b")
_TITLE_CELLS, _DATE_CELLS, _NAME_CELLS = 26, 18, 10
_BARS = 8  # Of a person in a chapter


@dataclass(frozen=True, slots=True)
class TimelineChapter:
    title: str
    start: int
    date: str  # The first date in the chapter, as written; empty if it has none
    date_at: int  # Offset of the date; without one, the start of the chapter
    counts: tuple[int, ...]  # Mentions of each person of the timeline
    parts: tuple[tuple[int, ...], ...]  # The same in each of `_BARS` equal parts of the chapter


@dataclass(frozen=True, slots=True)
class Timeline:
    people: tuple[str, ...]  # Their commonest names, the commonest person first
    chapters: tuple[TimelineChapter, ...]


def build_timeline(view: Index) -> Timeline:
    """The timeline of a view; divides a long text without chapters into equal parts."""
    people = [one for one in view.entities if one.kind is Kind.PERSON][:_MOST_PEOPLE]
    starts = [one.starts() for one in people]
    chapters = []
    for title, start, end in _parts(view.book):
        date, at = _date(view.book.text, title, start, end)
        edges = [start + (end - start) * part // _BARS for part in range(_BARS + 1)]
        before = [[bisect_left(places, edge) for edge in edges] for places in starts]
        parts = tuple(tuple(last - first for first, last in pairwise(counts)) for counts in before)
        chapters.append(TimelineChapter(title, start, date, at, tuple(map(sum, parts)), parts))
    return Timeline(tuple(_short_names(people)), tuple(chapters))


def format_table(line: Timeline, columns: int) -> tuple[str, list[str]]:
    """A heading and a row per chapter, for as many people as fit into `columns`."""
    titles = min(_TITLE_CELLS, 2 + max((len(one.title) for one in line.chapters), default=0))
    longest = max((len(one.date) for one in line.chapters), default=0)
    dates = min(_DATE_CELLS, longest + 2) if longest else 0
    count = max(1, (columns - titles - dates) // _NAME_CELLS)
    most = max((number for one in line.chapters for part in one.parts[:count] for number in part), default=0)
    heading = " " * (titles + dates) + "".join(_fit(name, _NAME_CELLS) for name in line.people[:count])
    rows = [
        _fit(one.title, titles)
        + (_fit(one.date, dates) if dates else "")
        + "".join(
            bars(part, _BARS, most).ljust(_NAME_CELLS) if any(part) else " " * _NAME_CELLS for part in one.parts[:count]
        )
        for one in line.chapters
    ]
    return heading.rstrip(), [row.rstrip() for row in rows]


def _parts(book: Book) -> Sequence[tuple[str, int, int]]:
    if book.chapters and (len(book.chapters) > 1 or len(book.text) < _LONG):
        return [(one.title, one.start, one.end) for one in book.chapters]
    end = len(book.text)
    return [
        (f"Part {part + 1} of {_PARTS}", end * part // _PARTS, end * (part + 1) // _PARTS) for part in range(_PARTS)
    ]


def _date(text: str, title: str, start: int, end: int) -> tuple[str, int]:
    if found := _DATE.search(title) or _TITLE_YEAR.search(title):
        return found[0], start
    for hint in _HINT.finditer(text, start, end):
        if found := _DATE.search(text, max(start, hint.start() - _AROUND), min(end, hint.end() + _AROUND)):
            return " ".join(found[0].removeprefix("the ").split()), found.start()
    return "", start


def _short_names(people: Sequence[Entity]) -> Iterator[str]:
    """The commonest form of each name; only its last word if it is long and no other person's."""
    taken: set[str] = set()
    for name in (one.forms[0].text for one in people):
        last = name.split()[-1]
        short = name if len(name) < _NAME_CELLS or last in taken else last
        taken.add(short)
        yield short


def _fit(text: str, cells: int) -> str:
    return (text if len(text) < cells else text[: cells - 2] + "…").ljust(cells)
