"""Reading progress and time left, from the pace at which the user reads forward."""

import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from gistread.book.model import Book, ParagraphKind
from gistread.errors import StorageError
from gistread.store.pace import Pace, ReadingSpeed, estimate_speed
from gistread.store.user_data import UserData
from gistread.units import format_duration

_SAMPLE_WORDS = 80  # minimum words of a sample: single rows only measure key presses
_NUMBER_CHARACTERS = 7  # chapter titles up to this length are hardly more than a number
_TITLE_PAGE_CHARACTERS = 2000  # longest title page that has no chapter of its own
_SAVED_EVERY_S = 60.0  # of reading; a killed process loses no more
_AWAY_S = 300.0  # a longer pause is not reading


class Meter:
    """Measures how fast the user reads."""

    def __init__(
        self, words_per_character: float, now: Callable[[], float] = time.monotonic
    ) -> None:
        self._words_per_character = words_per_character
        self._now = now
        self._begun: tuple[int, float] | None = (
            None  # offset and time at which uninterrupted reading began
        )
        self._last = 0, 0.0
        self._view_end = 0
        self.samples: list[Pace] = []

    def moved(self, start: int, end: int) -> None:
        """The user scrolled `[start, end)` of the book into view to read on."""
        now = self._now()
        last_start, last_at = self._last
        if (
            self._begun is not None
            and last_start <= start <= self._view_end
            and now - last_at < _AWAY_S
        ):
            begun_at, begun = self._begun
            words = (start - begun_at) * self._words_per_character
            if words >= _SAMPLE_WORDS:
                sample = Pace(words, now - begun)
                if sample.is_credible:
                    self.samples.append(sample)
                self._begun = start, now
        else:
            self._begun = start, now
        self._last = start, now
        self._view_end = end

    def interrupt(self) -> None:
        """The next movement is not reading."""
        self._begun = None


class Progress:
    def __init__(
        self, book: Book, speed: ReadingSpeed, user_data: UserData, shown: Iterable[str]
    ) -> None:
        self._book = book
        self._speed = speed
        self._user_data = user_data
        self._shown = frozenset(shown)
        self._kept: list[Pace] = []
        self.meter = Meter(book.words / max(1, len(book.text)))

    def load(self) -> None:
        """Load the user's pace, if the file can be read; call it in a thread."""
        with suppress(StorageError):
            self._kept = self._speed.samples(self._book.language)

    def keep(self) -> None:
        """Save what was measured; call it in a thread. Raises StorageError."""
        samples, self.meter.samples = self.meter.samples, []
        if samples:
            self._kept += samples
            words, seconds = (
                sum(getattr(sample, name) for sample in samples)
                for name in ("words", "seconds")
            )
            self._user_data.add_reading(self._book.sha256, words, seconds)
            self._speed.add(self._book.language, samples)

    @property
    def is_due(self) -> bool:
        """Whether enough was measured to be saved now."""
        return sum(sample.seconds for sample in self.meter.samples) >= _SAVED_EVERY_S

    @property
    def words_per_minute(self) -> float:
        return estimate_speed([*self._kept, *self.meter.samples])

    def place(self, offset: int, share: float) -> "PlaceWords":
        """The header for a view that begins at `offset`, with `share` (0 to 1) of the book read."""
        return place_words(
            self._book, offset, share, self.words_per_minute, self._shown
        )


@dataclass(frozen=True, slots=True)
class PlaceWords:
    title: str
    chapter: str
    # From left to right; the first are dropped if they do not fit
    progress: tuple[str, ...]


def place_words(
    book: Book,
    offset: int,
    share: float,
    words_per_minute: float,
    shown: frozenset[str],
) -> PlaceWords:
    """The parts of the header named in `shown`.

    Those that change most often come first, so that the rest stays put.
    """
    index = book.chapter_index(offset)
    chapter = book.chapters[index]
    several = len(book.chapters) > 1
    density = book.words / max(1, len(book.text))
    behind = round(share * len(book.text))
    words_left_in_book = max(0, len(book.text) - behind) * density
    chapter_read_until = max(offset, min(behind, chapter.end))
    words_left_in_chapter = max(0, chapter.end - chapter_read_until) * density
    progress = []
    if "chapter-left" in shown and several:
        progress.append(
            f"chapter {reading_time(words_left_in_chapter / words_per_minute)}"
        )
    if "book-left" in shown:
        progress.append(
            f"book {reading_time(words_left_in_book / words_per_minute)} left"
        )
    if "page" in shown:
        count = book.page_count
        page = count if share >= 1 else book.page_at(offset)
        progress.append(f"p. {page:,} of {count:,}")
    if "percent" in shown:
        progress.append(f"{share:.0%}")
    title = ""
    if "title" in shown:
        title = " · ".join(filter(None, (book.title, ", ".join(book.authors))))
    chapter_title = ""
    if "chapter" in shown and several and not _is_title_page(book, offset):
        chapter_title = chapter_words(book, index)
    return PlaceWords(title, chapter_title, tuple(progress))


def _is_title_page(book: Book, offset: int) -> bool:
    """Whether `offset` is on a short title page, before the heading of the first chapter."""
    title = book.chapters[0].title
    first = book.paragraphs_between(0, _TITLE_PAGE_CHARACTERS)
    headings = (
        paragraph for paragraph in first if paragraph.kind is ParagraphKind.HEADING
    )
    return any(
        offset < heading.start and book.text[heading.start : heading.end] in title
        for heading in headings
    )


def chapter_words(book: Book, index: int) -> str:
    """The title of a chapter with its volume; one hardly more than a number with its part."""
    chapter = book.chapters[index]
    if book.volumes:
        return book.chapter_title(chapter.start)
    if len(chapter.title) > _NUMBER_CHARACTERS:
        return chapter.title
    for part in reversed(book.chapters[:index]):
        if part.level < chapter.level and part.title:
            # Many books are one part of their name.
            is_book = part.title.casefold() == book.title.casefold()
            if is_book:
                return chapter.title
            return f"{part.title} · {chapter.title}"
    return chapter.title


def reading_time(minutes: float) -> str:
    """In whole minutes: `<1 min`, `4 min`, `2 h 10 min`."""
    whole = round(minutes)
    if whole < 1:
        return "<1 min"
    if whole == 1:
        return "1 min"
    return format_duration(60 * whole)


def fitting(parts: Sequence[str], room: int) -> str:
    """Join the last parts that fit into `room` characters."""
    for first in range(len(parts)):
        text = " · ".join(parts[first:])
        if len(text) <= room:
            return text
    return ""
