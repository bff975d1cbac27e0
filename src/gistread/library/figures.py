"""Reading figures: time read today and this week, and for each book its pace and when it will be finished.

Only text that moved through the view at the pace of a reader was recorded, so an open page counts for nothing.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, timedelta

from gistread.errors import StorageError
from gistread.library.model import LibraryEntry
from gistread.user_data import ReadingDay, UserData

_WEEK = 7
_RECENT_DAYS = 14  # The pace for the date of finishing is that of these days, those without reading included
_MOST_DAYS = 3650


@dataclass(frozen=True, slots=True)
class BookFigures:
    title: str
    sha256: str
    seconds: float  # Of reading, in all
    words: float
    share: float  # Fraction read, from 0 to 1
    last_day: date
    finished_on: date | None  # At the pace of the last two weeks; None if that is unknown or the book is finished

    @property
    def words_per_minute(self) -> float:
        return 60 * self.words / self.seconds if self.seconds else 0.0


@dataclass(frozen=True, slots=True)
class Figures:
    week: tuple[float, ...]  # Seconds read on each of the last seven days, today at the end
    books: tuple[BookFigures, ...]  # The last read first

    @property
    def today_s(self) -> float:
        return self.week[-1]


def reading_figures(user_data: UserData, entries: Iterable[LibraryEntry], today: date) -> Figures:
    """The figures of every book that was read, those in `entries` with a date of finishing. Reads the disk."""
    by_text = {entry.sha256: entry for entry in entries if entry.sha256}
    week = dict.fromkeys((today - timedelta(days=ago) for ago in reversed(range(_WEEK))), 0.0)
    books = []
    for opened in user_data.all_texts():
        try:
            days = _by_date(user_data.reading_days(opened.sha256))
        except StorageError:
            continue
        for day in week.keys() & days.keys():
            week[day] += days[day].seconds
        if days:
            entry = by_text.get(opened.sha256)
            share = entry.share if entry else opened.position / max(1, opened.length)
            books.append(
                BookFigures(
                    opened.title,
                    opened.sha256,
                    sum(one.seconds for one in days.values()),
                    sum(one.words for one in days.values()),
                    share,
                    max(days),
                    _finished_on(days, entry.words_left if entry else 0, today),
                )
            )
    return Figures(tuple(week.values()), tuple(sorted(books, key=lambda book: book.last_day, reverse=True)))


def _by_date(days: Iterable[ReadingDay]) -> Mapping[date, ReadingDay]:
    found = {}
    for one in days:
        try:
            found[date.fromisoformat(one.day)] = one
        except ValueError:
            continue
    return found


def _finished_on(days: Mapping[date, ReadingDay], words_left: int, today: date) -> date | None:
    recent = {day: one for day, one in days.items() if 0 <= (today - day).days < _RECENT_DAYS}
    words = sum(one.words for one in recent.values())
    if words <= 0 or words_left <= 0:
        return None
    # Of a book begun long ago, days without reading before the first of these count too.
    began = max(min(days), today - timedelta(days=_RECENT_DAYS - 1))
    days_left = math.ceil(words_left * ((today - began).days + 1) / words)
    return today + timedelta(days=days_left) if days_left <= _MOST_DAYS else None
