"""The contents of a book as a tree, which can be filtered: leads to a chapter."""

from collections.abc import Sequence

from gistread.book.model import Book
from gistread.book.numbers import parse_number
from gistread.search.tokens import folded
from gistread.tui.progress import reading_time
from gistread.tui.reading.position import ReadingPosition
from gistread.tui.screens.listing import ListScreen, Row


def ancestors(book: Book) -> list[tuple[int, ...]]:
    """For each chapter, the indices of the chapters that it is part of, the highest first.

    These are the last chapters of each higher level before it.
    """
    of_chapters: list[tuple[int, ...]] = []
    open_chapters: tuple[int, ...] = ()
    for index, chapter in enumerate(book.chapters):
        above = tuple(
            other
            for other in open_chapters
            if book.chapters[other].level < chapter.level
        )
        of_chapters.append(above)
        open_chapters = (*above, index)
    return of_chapters


def matches(title: str, typed: str) -> bool:
    """Whether the title has all words; `4` and `chapter 4` also find `IV` and `Four`."""
    title = folded(title.casefold())
    numbers = {parse_number(word.strip(".:")) for word in title.split()}

    def is_in_title(word: str) -> bool:
        is_number = word.isdecimal() and int(word) in numbers
        return is_number or word in title

    words = folded(typed.casefold()).split()
    # A title may have the number alone: `IV` is chapter 4.
    if any(word.isdecimal() for word in words):
        words = [word for word in words if word != "chapter"]
    return all(is_in_title(word) for word in words)


# Share from which a chapter counts as read: its last lines need not leave the screen.
_ALL_READ = 0.97
_STEP = 2  # Indent of a chapter under its parent, in cells


class ContentsScreen(ListScreen[int]):
    """Dismissed with the index of a chapter."""

    ENTER = "go there"
    TALL = True

    def __init__(
        self,
        book: Book,
        place: int,
        words_per_minute: float,
        position: ReadingPosition,
        shown: tuple[tuple[int, int], ...],
    ) -> None:
        """`place`: offset of the view; `position`: tells which chapters were read.

        `shown`: places given to the model for the last answer.
        """
        self._here = book.chapter_index(place)
        title = book.title or "Contents"
        hint = "type to find a chapter"
        super().__init__(title, at=self._here, placeholder=hint)
        self._position = position
        self._shown_to_model = shown
        self._book = book
        self._ancestors = ancestors(book)
        self._words_per_minute = words_per_minute

    def rows_for(self, typed: str) -> Sequence[Row[int]]:
        """The chapters that match and those above them; all if nothing is typed."""
        shown: set[int] = set()
        for index in self._matching(typed):
            shown.update((index, *self._ancestors[index]))
        return [self._row(index) for index in sorted(shown)]

    def show_rows(self, at: int | None) -> None:
        """Put the cursor on this chapter, or else on the one that matches best."""
        if at is None:
            at = self._best(self.typed)
        super().show_rows(at)

    def _best(self, typed: str) -> int | None:
        """The first chapter that has these as whole words, or else the first that matches.

        `V` also matches IV.
        """
        matching = self._matching(typed)
        words = set(folded(typed.casefold()).split())
        for index in matching:
            title = folded(self._book.chapters[index].title.casefold())
            title_words = {word.strip(".:") for word in title.split()}
            if words <= title_words:
                return index
        return matching[0] if matching else None

    def _matching(self, typed: str) -> list[int]:
        """Indices of the chapters whose titles match."""
        return [
            index
            for index, chapter in enumerate(self._book.chapters)
            if matches(chapter.title, typed)
        ]

    def _row(self, index: int) -> Row[int]:
        chapter = self._book.chapters[index]
        start, end = chapter.start, self._book.chapter_end(index)
        facts: list[str] = []
        shown_count = sum(
            first < end and start < last for first, last in self._shown_to_model
        )
        if shown_count:
            facts.append(f"■ {shown_count} given to the model")
        if index == self._here:
            facts.append("← you")
        # Padded, so that these two stand in columns
        facts.append(f"{self._read_words(start, end):>4}")
        facts.append(f"{self._duration(start, end):>8} ")
        depth = len(self._ancestors[index]) + 1
        title = chapter.title or "Untitled"
        return Row(index, title, tail="  ".join(facts), indent=_STEP * depth)

    def _duration(self, start: int, end: int) -> str:
        """How long a chapter takes to read, estimated by its share of the book's words."""
        share = (end - start) / max(1, len(self._book.text))
        words = self._book.words * share
        return reading_time(words / max(1.0, self._words_per_minute))

    def _read_words(self, start: int, end: int) -> str:
        """How much of a chapter the user has read: `read`, `40%`, or empty."""
        share = self._position.share_read(start, end)
        if share >= _ALL_READ:
            return "read"
        if share > 0:
            return f"{max(1, round(100 * share))}%"
        return ""
