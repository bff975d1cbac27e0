"""Formats progress, times and memories of books for people."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime

from gistread.book.model import Book
from gistread.library.adding import AddResult
from gistread.library.figures import BookFigures, Figures
from gistread.library.model import LibraryEntry
from gistread.memory.progress import BookProgress
from gistread.memory.writer import MemoryHeader
from gistread.units import bars, counted, format_duration

_MONTHS_AS_DAYS = 60
_MIN_S, _H_S = 60, 3600


def relative_time(then_s: float, now_s: float) -> str:
    """A time relative to now, both in seconds since the epoch: `5 min ago`, `yesterday`, `3 weeks ago`, `May 2024`."""
    seconds = now_s - then_s
    then, now = datetime.fromtimestamp(then_s), datetime.fromtimestamp(now_s)
    days = (now.date() - then.date()).days
    if seconds < _MIN_S:  # also if the clock was set back
        return "just now"
    if seconds < _H_S:
        return f"{int(seconds // _MIN_S)} min ago"
    if days == 0:
        return "today"
    if days == 1:
        return "yesterday"
    if days < 14:
        return f"{days} days ago"
    if days < _MONTHS_AS_DAYS:
        return f"{days // 7} weeks ago"
    return f"{then:%b %Y}"


def count_books(entries: Iterable[LibraryEntry]) -> str:
    """`12 books, 3 begun`, without the sample; empty for none."""
    books = [entry for entry in entries if entry.ids]
    begun = sum(entry.was_opened and not entry.finished for entry in books)
    return f"{counted(len(books), 'book')}, {begun} begun" if books else ""


def describe_added(added: AddResult) -> str:
    parts = [f"{counted(added.new, 'book')} added"]
    if added.known:
        parts.append(f"{added.known} known already")
    if added.removed:
        parts.append(f"{added.removed} left out, since you took them out before")
    return ", ".join(parts) + "." + (f" {added.cut}" if added.cut else "")


def describe_figures(figures: Figures) -> tuple[str, str]:
    """The lines about today and about the last seven days."""
    week = sum(figures.week)
    return (
        f"Today: {_read_for(figures.today_s)}",
        f"Last 7 days: {_read_for(week)}  {bars([round(one) for one in figures.week], len(figures.week))}",
    )


def describe_book_figures(book: BookFigures) -> str:
    """`2 h 10 min · 240 words a minute · 43% · at this pace finished on 3 December`."""
    finish = book.finished_on
    facts = (
        _read_for(book.seconds),
        f"{book.words_per_minute:.0f} words a minute",
        format_percent(book.share),
        f"at this pace finished on {finish.day} {finish:%B}" if finish else "",
    )
    return " · ".join(filter(None, facts))


def _read_for(seconds: float) -> str:
    return format_duration(seconds) if seconds >= _MIN_S else "less than a minute" if seconds else "nothing yet"


def format_percent(share: float) -> str:
    """`47%`; 100% only at 1."""
    return f"{min(99, round(100 * share)) if share < 1 else 100}%"


def furthest_reader(entry: LibraryEntry, furthest: Mapping[str, BookProgress]) -> BookProgress | None:
    """The furthest memory of a book; for a series, combined over volumes without a gap. `furthest` is by SHA-256."""
    if not entry.volumes:
        return furthest.get(entry.sha256)
    read_until = pages = 0
    first = furthest.get(entry.volumes[0].sha256)
    for volume in entry.volumes:
        memory = furthest.get(volume.sha256)
        if first is None or memory is None or (memory.model_name, memory.focus) != (first.model_name, first.focus):
            break
        if not memory.read_until:
            break
        read_until, pages = volume.start + memory.read_until, pages + 1 + memory.pages
        if read_until < volume.end:
            break
    return (
        replace(first, sha256=entry.sha256, read_until=read_until, pages=pages, characters=read_until)
        if first
        else None
    )


def describe_memory(header: MemoryHeader, book: Book, now_s: float) -> tuple[str, str]:
    """A memory's model, preset, progress, sections and date."""
    share = "" if header.complete else f", {format_percent(header.characters / max(1, len(book.text)))} of the book"
    facts = (
        f"{counted(header.pages, 'section')}{share}",
        f"{header.size.min_words} to {header.size.max_words} words a section",
        header.mode,
        relative_time(header.modified_s, now_s),
    )
    return f"{header.model_name}, {header.focus.description}", " · ".join(facts)
