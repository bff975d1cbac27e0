"""Lines of a reader's steps with their targets, and labels for places of the book."""

from collections.abc import Collection, Hashable, Iterable
from dataclasses import dataclass

from gistread.book.model import Book
from gistread.memory.model import GistMemory
from gistread.tui.text import Span
from gistread.units import ranges, ranges_words

_MAP_CELLS = 50
_PAGES_LISTED = 10


@dataclass(frozen=True, slots=True)
class ToPage:
    page: int


@dataclass(frozen=True, slots=True)
class ToPlace:
    """`book.text[start:end]`."""

    start: int
    end: int


Target = ToPage | ToPlace


@dataclass(frozen=True, slots=True)
class WorkLine:
    key: Hashable  # Stable key of the line within its question
    text: str
    sign: str = ""  # Result as a sign before the text
    depth: int = 0
    target: Target | None = None  # Target of the line
    tail: str = ""  # Result in words
    style: str = "step"
    spans: tuple[Span, ...] = ()  # Links inside the line; `Span.link` is a `Target`


class Places:
    """Names places of a book: by page where the model has read, otherwise by percentage."""

    def __init__(self, length: int = 0, memory: GistMemory | None = None, book: Book | None = None) -> None:
        self._length = max(1, length)
        self._memory = memory
        self._book = book

    def source(self, page: int, start: int) -> str:
        """`memory page 3`, or `12%` where no page has been read (0); in a series with the volume."""
        volume = self._book.volume_title(start) if self._book else ""
        where = f"memory page {page}" if page else f"{round(100 * start / self._length)}%"
        return f"{where} · {volume}" if volume else where

    def words(self, start: int, end: int) -> str:
        """`page 3`, `pages 3–5`, `12–14%`."""
        if self._memory is not None and end > start:
            first, last = self._memory.page_at(start), self._memory.page_at(end - 1)
            if first is not None and last is not None:
                return pages_words(first.number, last.number)
        low, high = round(100 * start / self._length), round(100 * end / self._length)
        return f"{low}–{high}%" if high > low else f"{low}%"

    def share(self, places: Iterable[tuple[int, int]]) -> float:
        """Share of the book that these places cover, from 0 to 1."""
        return min(1.0, sum(end - start for start, end in places) / self._length)

    def map(self, places: Iterable[tuple[int, int]]) -> list[tuple[int, int] | None]:
        """The book as cells of equal length: for each, the first of these places in it, or None."""
        cells: list[tuple[int, int] | None] = [None] * _MAP_CELLS
        for start, end in places:
            first, last = start * _MAP_CELLS // self._length, max(start, end - 1) * _MAP_CELLS // self._length
            for cell in range(max(0, first), min(_MAP_CELLS - 1, last) + 1):
                cells[cell] = cells[cell] or (start, end)
        return cells


def pages_words(first: int, last: int) -> str:
    """`page 3`, `pages 3–5`."""
    return f"page {first}" if first == last else f"pages {first}–{last}"


def short(text: str, limit: int) -> str:
    """A text on one line, cut at a word."""
    line = " ".join(text.split())
    return line if len(line) <= limit else line[:limit].rsplit(" ", 1)[0] + " …"


def numbered(what: str, numbers: Collection[int]) -> str:
    """`path 3`, `paths 1, 3–5`."""
    return f"{what}{'' if len(numbers) == 1 else 's'} {ranges_words(numbers)}"


class Linked:
    """A text with links, built piece by piece."""

    def __init__(self) -> None:
        self.text = ""
        self._spans: list[Span] = []

    def add(self, piece: str, target: Hashable | None = None, style: str = "link") -> "Linked":
        if target is not None:
            self._spans.append(Span(len(self.text), len(self.text) + len(piece), style, target))
        self.text += piece
        return self

    def pages(self, numbers: Iterable[int]) -> "Linked":
        """Add `3, 5–7`, each number a link to its page; of very many only the first."""
        runs = ranges(numbers)
        for index, (first, last) in enumerate(runs[:_PAGES_LISTED]):
            self.add(", " if index else "").add(str(first), ToPage(first))
            if last > first:
                self.add("–").add(str(last), ToPage(last))
        rest = sum(last - first + 1 for first, last in runs[_PAGES_LISTED:])
        return self.add(f" and {rest} more") if rest else self

    @property
    def spans(self) -> tuple[Span, ...]:
        return tuple(self._spans)


def note_line(
    key: Hashable, sign: str, depth: int, places: Places, place: tuple[int, int], note: str, lead: str = ""
) -> WorkLine:
    """A line with the place that a note is about, linked, and the note."""
    target = ToPlace(*place)
    line = Linked().add(lead).add(places.words(*place), target).add(f": {note}")
    return WorkLine(key, line.text, sign, depth, target, style="answer", spans=line.spans)
