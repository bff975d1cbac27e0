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

_SAMPLE_WORDS = 80  # Fewest words of a sample: single rows only measure key presses
_NUMBER_CHARACTERS = 7  # Chapter titles up to this length are hardly more than a number
_TITLE_PAGE_CHARACTERS = 2000  # Longest title page that has no chapter of its own
_SAVED_EVERY_S = 60.0  # Seconds of reading; a killed process loses no more
_AWAY_S = 300.0  # A longer pause is not reading


class Meter:
    """Measures how fast the user reads.

    A sample is the text between two places of uninterrupted reading, and the time it took.
    """

    def __init__(
        self, words_per_character: float, now: Callable[[], float] = time.monotonic
    ) -> None:
        self._words_per_character = words_per_character
        self._now = now
        # Offset and time at which the sample under way began; None after an interruption
        self._begun: tuple[int, float] | None = None
        self._last = 0, 0.0  # Offset and time of the latest movement
        self._view_end = 0
        self.samples: list[Pace] = []

    def moved(self, start: int, end: int) -> None:
        """The user scrolled `[start, end)` of the book into view to read on."""
        now = self._now()
        last_start, last_s = self._last
        # Forward, and no further than to what was in view
        is_next = last_start <= start <= self._view_end
        reads_on = is_next and now - last_s < _AWAY_S
        if self._begun is None or not reads_on:
            self._begun = start, now
        else:
            begun_start, begun_s = self._begun
            words = (start - begun_start) * self._words_per_character
            # A shorter sample goes on with the next movement.
            if words >= _SAMPLE_WORDS:
                sample = Pace(words, now - begun_s)
                if sample.is_credible:
                    self.samples.append(sample)
                self._begun = start, now
        self._last = start, now
        self._view_end = end

    def interrupt(self) -> None:
        """The next movement is not reading."""
        self._begun = None


class Progress:
    """How far the user is in a book, and the time that the rest takes at the user's pace."""

    def __init__(
        self, book: Book, speed: ReadingSpeed, user_data: UserData, shown: Iterable[str]
    ) -> None:
        """`shown`: the parts of the header to show, by their names in the settings."""
        self._book = book
        self._speed = speed
        self._user_data = user_data
        self._shown = frozenset(shown)
        self._saved_samples: list[Pace] = []
        self.meter = Meter(book.words / max(1, len(book.text)))

    def load(self) -> None:
        """Load the user's pace, if the file can be read; call it in a thread."""
        with suppress(StorageError):
            self._saved_samples = self._speed.samples(self._book.language)

    def keep(self) -> None:
        """Save what was measured; call it in a thread. Raises StorageError."""
        samples, self.meter.samples = self.meter.samples, []
        if not samples:
            return
        self._saved_samples += samples
        words = sum(sample.words for sample in samples)
        seconds = sum(sample.seconds for sample in samples)
        self._user_data.add_reading(self._book.sha256, words, seconds)
        self._speed.add(self._book.language, samples)

    @property
    def is_due(self) -> bool:
        """Whether enough was measured to be saved now."""
        return sum(sample.seconds for sample in self.meter.samples) >= _SAVED_EVERY_S

    @property
    def words_per_minute(self) -> float:
        return estimate_speed([*self._saved_samples, *self.meter.samples])

    def place(self, offset: int, share: float) -> "PlaceWords":
        """The header for a view that begins at `offset`, with `share` (0 to 1) of the book read."""
        speed = self.words_per_minute
        return place_words(self._book, offset, share, speed, self._shown)


@dataclass(frozen=True, slots=True)
class PlaceWords:
    """The parts of the header, in words; each may be empty."""

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
    """The parts of the header named in `shown`, for a view at `offset`.

    Those that change most often come first, so that the rest stays put. `share` of the book is
    read, from 0 to 1.
    """
    index = book.chapter_index(offset)
    has_chapters = len(book.chapters) > 1
    read_until = round(share * len(book.text))
    progress = []
    if "chapter-left" in shown and has_chapters:
        chapter_end = book.chapters[index].end
        chapter_read_until = max(offset, min(read_until, chapter_end))
        characters = chapter_end - chapter_read_until
        time_left = _time_for(book, characters, words_per_minute)
        progress.append(f"chapter {time_left}")
    if "book-left" in shown:
        characters = len(book.text) - read_until
        time_left = _time_for(book, characters, words_per_minute)
        progress.append(f"book {time_left} left")
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
    if "chapter" in shown and has_chapters and not _is_title_page(book, offset):
        chapter_title = chapter_words(book, index)
    return PlaceWords(title, chapter_title, tuple(progress))


def _time_for(book: Book, characters: int, words_per_minute: float) -> str:
    """How long a part of a book takes to read, at its average length of words."""
    words_per_character = book.words / max(1, len(book.text))
    words = max(0, characters) * words_per_character
    return reading_time(words / words_per_minute)


def _is_title_page(book: Book, offset: int) -> bool:
    """Whether `offset` is on a short title page, before the heading of the first chapter."""
    chapter_title = book.chapters[0].title
    for paragraph in book.paragraphs_between(0, _TITLE_PAGE_CHARACTERS):
        if paragraph.kind is ParagraphKind.HEADING and offset < paragraph.start:
            heading = book.text[paragraph.start : paragraph.end]
            if heading in chapter_title:
                return True
    return False


def chapter_words(book: Book, index: int) -> str:
    """The title of a chapter with its volume, or a mere number with its part: `Part Two · IV`."""
    chapter = book.chapters[index]
    if book.volumes:
        return book.chapter_title(chapter.start)
    if len(chapter.title) > _NUMBER_CHARACTERS:
        return chapter.title
    for part in reversed(book.chapters[:index]):
        if part.level < chapter.level and part.title:
            # In many books, all chapters are in one part named as the book.
            if part.title.casefold() == book.title.casefold():
                return chapter.title
            return f"{part.title} · {chapter.title}"
    return chapter.title


def reading_time(minutes: float) -> str:
    """A duration in whole minutes: `<1 min`, `4 min`, `2 h 10 min`."""
    whole = round(minutes)
    if whole < 1:
        return "<1 min"
    if whole == 1:
        return "1 min"
    return format_duration(60 * whole)


def fitting(parts: Sequence[str], room: int) -> str:
    """The last parts, as many as fit into `room` characters, in one text; empty if none fits."""
    for first in range(len(parts)):
        text = " · ".join(parts[first:])
        if len(text) <= room:
            return text
    return ""
