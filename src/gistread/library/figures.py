"""Reading figures: time read today and this week, and for each book its pace and expected date of finishing.

Only text that scrolled by at reading speed was recorded, so an idle open page does not count.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, timedelta

from gistread.errors import StorageError
from gistread.library.model import LibraryEntry
from gistread.store.model import ReadingDay
from gistread.store.user_data import UserData

_WEEK = 7
_RECENT_DAYS = 14  # Days over which the pace is averaged, including days without reading
_MOST_DAYS = 3650


@dataclass(frozen=True, slots=True)
class BookFigures:
    title: str
    sha256: str
    seconds: float  # Total reading time
    words: float
    share: float  # Fraction read, from 0 to 1
    last_day: date
    finished_on: date | None  # Expected at the pace of the last two weeks; None if unknown or already finished

    @property
    def words_per_minute(self) -> float:
        return 60 * self.words / self.seconds if self.seconds else 0.0


@dataclass(frozen=True, slots=True)
class Figures:
    week: tuple[float, ...]  # Seconds read on each of the last seven days, today last
    books: tuple[BookFigures, ...]  # The last read first

    @property
    def today_s(self) -> float:
        return self.week[-1]


def reading_figures(user_data: UserData, entries: Iterable[LibraryEntry], today: date) -> Figures:
    """Figures of every book that was read; those in `entries` get a date of finishing. Reads the disk."""
    by_text = {entry.sha256: entry for entry in entries if entry.sha256}
    week = dict.fromkeys((today - timedelta(days=ago) for ago in reversed(range(_WEEK))), 0.0)
    books = []
    try:
        read = user_data.reading_days()
    except StorageError:
        read = {}
    for opened in user_data.all_texts():
        days = _by_date(read.get(opened.sha256, ()))
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
    # For a book begun earlier, the whole period counts, including idle days at its start.
    began = max(min(days), today - timedelta(days=_RECENT_DAYS - 1))
    days_left = math.ceil(words_left * ((today - began).days + 1) / words)
    return today + timedelta(days=days_left) if days_left <= _MOST_DAYS else None
