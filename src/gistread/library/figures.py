"""Reading figures of the user, and progress, times and memories of books in words.

Only text that scrolled by at reading speed was recorded, so an idle open page does not count.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from gistread.book.model import Book
from gistread.errors import StorageError
from gistread.library.adding import AddResult
from gistread.library.entries import LibraryEntry
from gistread.memory.store import MemoryHeader
from gistread.store.user_data import UserData
from gistread.units import bars, counted, format_duration


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
        return 60 * self.words / self.seconds if self.seconds else 0.0


@dataclass(frozen=True, slots=True)
class Figures:
    week: tuple[float, ...]  # Seconds read on each of the last seven days, today last
    books: tuple[BookFigures, ...]  # The last read first

    @property
    def today_s(self) -> float:
        return self.week[-1]


def reading_figures(user_data: UserData, entries: Iterable[LibraryEntry], today: date) -> Figures:
    """Figures of every book that was read; `entries` tell how much of it. Reads the disk."""
    by_text = {entry.sha256: entry for entry in entries if entry.sha256}
    week = dict.fromkeys((today - timedelta(days=ago) for ago in reversed(range(7))), 0.0)
    books = []
    try:
        read = user_data.reading_days()
    except StorageError:
        read = {}
    for opened in user_data.all_texts():
        days = {date.fromisoformat(one.day): one for one in read.get(opened.sha256, ())}
        for day in week.keys() & days.keys():
            week[day] += days[day].seconds
        if days:
            entry = by_text.get(opened.sha256)
            share = entry.share if entry else opened.position / max(1, opened.length)
            seconds = sum(one.seconds for one in days.values())
            words = sum(one.words for one in days.values())
            books.append(BookFigures(opened.title, opened.sha256, seconds, words, share, max(days)))
    return Figures(
        tuple(week.values()), tuple(sorted(books, key=lambda book: book.last_day, reverse=True))
    )


def relative_time(then_s: float, now_s: float) -> str:
    """A time relative to now, both in seconds since the epoch.

    `5 min ago`, `yesterday`, `3 weeks ago`, `May 2024`.
    """
    seconds = now_s - then_s
    then, now = datetime.fromtimestamp(then_s), datetime.fromtimestamp(now_s)
    days = (now.date() - then.date()).days
    if seconds < 60:  # also if the clock was set back
        return "just now"
    if seconds < 3600:
        return f"{int(seconds // 60)} min ago"
    if days < 2:
        return "yesterday" if days else "today"
    if days < 14:
        return f"{days} days ago"
    return f"{days // 7} weeks ago" if days < 60 else f"{then:%b %Y}"


def count_books(entries: Iterable[LibraryEntry]) -> str:
    """`12 books, 3 begun`, without the sample; empty for none."""
    books = [entry for entry in entries if entry.ids]
    begun = sum(entry.was_begun and not entry.finished for entry in books)
    return f"{counted(len(books), 'book')}, {begun} begun" if books else ""


def describe_added(added: AddResult) -> str:
    known = f", {added.known} known already" if added.known else ""
    removed = f", {added.removed} left out, since you took them out before" if added.removed else ""
    scratch = f", {counted(added.scratch, 'file')} left out as no book" if added.scratch else ""
    return f"{counted(added.new, 'book')} added{known}{removed}{scratch}. {added.cut}".rstrip()


def describe_figures(figures: Figures) -> tuple[str, str]:
    """The lines about today and about the last seven days."""
    week = sum(figures.week)
    return (
        f"Today: {_read_for(figures.today_s)}",
        (
            f"Last 7 days: {_read_for(week)}  "
            f"{bars([round(one) for one in figures.week], len(figures.week))}"
        ),
    )


def describe_book_figures(book: BookFigures) -> str:
    """`2 h 10 min · 240 words a minute · 43%`."""
    facts = (
        _read_for(book.seconds),
        f"{book.words_per_minute:.0f} words a minute",
        format_percent(book.share),
    )
    return " · ".join(facts)


_MINUTE_S = 60


def _read_for(seconds: float) -> str:
    if not seconds:
        return "nothing yet"
    return format_duration(seconds) if seconds >= _MINUTE_S else "less than a minute"


def format_percent(share: float) -> str:
    """`47%`; 100% only at 1."""
    return f"{min(99, round(100 * share)) if share < 1 else 100}%"


def describe_memory(header: MemoryHeader, book: Book, now_s: float) -> tuple[str, str]:
    """A memory's model, preset, progress, sections and date."""
    if header.complete:
        share = ""
    else:
        share = f", {format_percent(header.characters / max(1, len(book.text)))} of the book"
    facts = (
        f"{counted(header.pages, 'section')}{share}",
        f"{header.size.min_words} to {header.size.max_words} words a section",
        header.mode,
        relative_time(header.modified_s, now_s),
    )
    return f"{header.model_name}, {header.focus.description}", " · ".join(facts)
