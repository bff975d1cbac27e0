"""Reading figures of the user, and progress, times and memories of books in words.

Only text that scrolled by at reading speed was recorded, so an idle open page does not count.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from gistread.book.model import Book
from gistread.errors import StorageError
from gistread.library.adding import AddResult
from gistread.library.entries import LibraryEntry
from gistread.memory.store import MemoryHeader
from gistread.store.model import OpenedBook, ReadingDay
from gistread.store.user_data import UserData
from gistread.units import bars, counted, format_duration

_MINUTE_S = 60
_HOUR_S = 3600
_DAYS_A_WEEK = 7
# Times are written in days before two weeks have passed, in weeks before two months
_DAYS_IN_DAYS = 14
_DAYS_IN_WEEKS = 60
_MOST_UNFINISHED_PERCENT = 99


@dataclass(frozen=True, slots=True)
class BookFigures:
    title: str
    sha256: str
    seconds: float  # Total reading time
    words: float
    share: float  # Fraction read, from 0 to 1
    last_day: date

    @property
    def words_per_minute(self) -> float:
        if not self.seconds:
            return 0.0
        return 60 * self.words / self.seconds


@dataclass(frozen=True, slots=True)
class Figures:
    week: tuple[float, ...]  # Seconds read on each of the last seven days, today last
    books: tuple[BookFigures, ...]  # The last read first

    @property
    def today_s(self) -> float:
        return self.week[-1]


def reading_figures(
    user_data: UserData, entries: Iterable[LibraryEntry], today: date
) -> Figures:
    """Figures of every book that was read. Reads the disk.

    `entries`: the library, for how much of each book was read.
    """
    entry_of = {entry.sha256: entry for entry in entries if entry.sha256}
    dates = [today - timedelta(days=ago) for ago in reversed(range(_DAYS_A_WEEK))]
    seconds_on = dict.fromkeys(dates, 0.0)
    try:
        days_of = user_data.reading_days()
    except StorageError:
        days_of = {}
    books: list[BookFigures] = []
    for opened in user_data.all_texts():
        days = days_of.get(opened.sha256)
        if not days:
            continue
        for day in days:
            date_read = date.fromisoformat(day.day)
            if date_read in seconds_on:
                seconds_on[date_read] += day.seconds
        books.append(_book_figures(opened, days, entry_of.get(opened.sha256)))
    last_read_first = sorted(books, key=lambda book: book.last_day, reverse=True)
    return Figures(tuple(seconds_on.values()), tuple(last_read_first))


def _book_figures(
    opened: OpenedBook, days: Sequence[ReadingDay], entry: LibraryEntry | None
) -> BookFigures:
    """`days`: those on which the book was read, at least one."""
    share = opened.position / max(1, opened.length)
    if entry is not None:
        share = entry.share
    return BookFigures(
        opened.title,
        opened.sha256,
        seconds=sum(day.seconds for day in days),
        words=sum(day.words for day in days),
        share=share,
        last_day=max(date.fromisoformat(day.day) for day in days),
    )


def relative_time(then_s: float, now_s: float) -> str:
    """A time relative to now, both in seconds since the epoch.

    `5 min ago`, `yesterday`, `3 weeks ago`, `May 2024`.
    """
    seconds = now_s - then_s
    then = datetime.fromtimestamp(then_s)
    days = (datetime.fromtimestamp(now_s).date() - then.date()).days
    if seconds < _MINUTE_S:  # also if the clock was set back
        return "just now"
    if seconds < _HOUR_S:
        return f"{int(seconds // _MINUTE_S)} min ago"
    if days == 0:
        return "today"
    if days == 1:
        return "yesterday"
    if days < _DAYS_IN_DAYS:
        return f"{days} days ago"
    if days < _DAYS_IN_WEEKS:
        return f"{days // _DAYS_A_WEEK} weeks ago"
    return f"{then:%b %Y}"


def count_books(entries: Iterable[LibraryEntry]) -> str:
    """`12 books, 3 begun`; empty for none. The sample, which has no ids, does not count."""
    books = [entry for entry in entries if entry.ids]
    if not books:
        return ""
    begun_books = [entry for entry in books if entry.was_begun and not entry.finished]
    return f"{counted(len(books), 'book')}, {len(begun_books)} begun"


def describe_added(added: AddResult) -> str:
    """`3 books added, 2 known already.`"""
    parts = [f"{counted(added.new, 'book')} added"]
    if added.known:
        parts.append(f"{added.known} known already")
    if added.left_out:
        parts.append(f"{added.left_out} left out, since you took them out before")
    if added.no_books:
        parts.append(f"{counted(added.no_books, 'file')} left out as no book")
    return f"{', '.join(parts)}. {added.cut}".rstrip()


def describe_figures(figures: Figures) -> tuple[str, str]:
    """The lines about today and about the last seven days."""
    week_s = sum(figures.week)
    seconds_a_day = [round(seconds) for seconds in figures.week]
    chart = bars(seconds_a_day, len(seconds_a_day))
    return (
        f"Today: {_read_for(figures.today_s)}",
        f"Last 7 days: {_read_for(week_s)}  {chart}",
    )


def describe_book_figures(book: BookFigures) -> str:
    """`2 h 10 min · 240 words a minute · 43%`."""
    facts = (
        _read_for(book.seconds),
        f"{book.words_per_minute:.0f} words a minute",
        format_percent(book.share),
    )
    return " · ".join(facts)


def _read_for(seconds: float) -> str:
    """A reading time in words."""
    if not seconds:
        return "nothing yet"
    if seconds < _MINUTE_S:
        return "less than a minute"
    return format_duration(seconds)


def format_percent(share: float) -> str:
    """`47%`; 100% only at 1."""
    if share >= 1:
        return "100%"
    percent = min(_MOST_UNFINISHED_PERCENT, round(100 * share))
    return f"{percent}%"


def describe_memory(header: MemoryHeader, book: Book, now_s: float) -> tuple[str, str]:
    """Two lines about a memory: its model and preset; its sections, progress and date."""
    sections = counted(header.pages, "section")
    if not header.complete:
        share = header.characters / max(1, len(book.text))
        sections += f", {format_percent(share)} of the book"
    facts = (
        sections,
        f"{header.size.min_words} to {header.size.max_words} words a section",
        header.mode,
        relative_time(header.modified_s, now_s),
    )
    title = f"{header.model_name}, {header.focus.description}"
    return title, " · ".join(facts)
