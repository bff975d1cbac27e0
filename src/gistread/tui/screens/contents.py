"""The contents of a book as a tree: filter, and go to a chapter."""

from collections.abc import Sequence
from itertools import chain

from gistread.book.model import Book
from gistread.book.numbers import parse_number
from gistread.search.tokens import folded
from gistread.tui.progress import reading_time
from gistread.tui.reading.position import ReadingPosition
from gistread.tui.screens.listing import ListScreen, Row


def ancestors(book: Book) -> list[tuple[int, ...]]:
    """Of each chapter, the indices of the chapters that it is part of, the highest first.

    They are the last ones of higher levels before it.
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
    words = folded(typed.casefold()).split()
    if any(word.isdecimal() for word in words):
        words = [word for word in words if word != "chapter"]
    return all(
        word in title or (word.isdecimal() and int(word) in numbers) for word in words
    )


# Share from which a chapter counts as read: its last lines need not leave the screen.
_ALL_READ = 0.97
_STEP = 2  # indent of a chapter under its parent, in cells


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
        """`place`: offset of the view; `shown`: places given to the model for the last answer."""
        self._here = book.chapter_index(place)
        super().__init__(
            book.title or "Contents",
            at=self._here,
            placeholder="type to find a chapter",
        )
        self._position = position
        self._given = shown
        self._book = book
        self._ancestors = ancestors(book)
        self._words_per_minute = words_per_minute

    def rows_for(self, typed: str) -> Sequence[Row[int]]:
        """The chapters that match and those above them; all if nothing is typed."""
        matching = self._matching(typed)
        above = chain(*(self._ancestors[index] for index in matching))
        return [self._row(index) for index in sorted({*matching, *above})]

    def show_rows(self, at: int | None) -> None:
        """Put the cursor on this chapter, or else on the one that matches best."""
        if at is None:
            at = self._best(self.typed)
        super().show_rows(at)

    def _best(self, typed: str) -> int | None:
        """The first chapter with these whole words, else the first that matches: `V` is not IV."""
        matching = self._matching(typed)
        words = set(folded(typed.casefold()).split())
        for index in matching:
            title = folded(self._book.chapters[index].title.casefold())
            if words <= {word.strip(".:") for word in title.split()}:
                return index
        if not matching:
            return None
        return matching[0]

    def _matching(self, typed: str) -> list[int]:
        return [
            index
            for index, chapter in enumerate(self._book.chapters)
            if matches(chapter.title, typed)
        ]

    def _row(self, index: int) -> Row[int]:
        book, chapter = self._book, self._book.chapters[index]
        start, end = chapter.start, book.chapter_end(index)
        share = self._position.share_read(start, end)
        if share >= _ALL_READ:
            read = "read"
        elif share > 0:
            read = f"{max(1, round(100 * share))}%"
        else:
            read = ""
        words = book.words * (end - start) / max(1, len(book.text))
        minutes = reading_time(words / max(1.0, self._words_per_minute))
        given = sum(first < end and start < last for first, last in self._given)
        facts: list[str] = []
        if given:
            facts.append(f"■ {given} given to the model")
        if index == self._here:
            facts.append("← you")
        facts += (f"{read:>4}", f"{minutes:>8} ")
        indent = _STEP * (len(self._ancestors[index]) + 1)
        return Row(
            index, chapter.title or "Untitled", tail="  ".join(facts), indent=indent
        )
