"""What a gist memory is: the pages of a book and the gist of each (ReadAgent, section 3.1).

Pure data and arithmetic over it. How pages and gists are made is in `reading.py`, how they are kept in
`store.py`.
"""

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum

from gistread.book.model import Book
from gistread.engine.protocol import NO_USAGE, Usage


class GistSource(StrEnum):
    """Where the words of a gist come from. Shown to the person."""

    MODEL = "model"
    EXTRACTIVE = "extractive"
    """The model's attempts failed the guard (D6); these are sentences of the page itself."""
    VERBATIM = "verbatim"
    """The page is too short to be shortened: it is its own gist."""


@dataclass(frozen=True, slots=True)
class Page:
    """The text between two pause points: `book.text[start:end]`."""

    number: int
    """From 1, the same for people and for models."""
    start: int
    end: int
    words: int


@dataclass(frozen=True, slots=True)
class Gist:
    text: str
    words: int
    source: GistSource


@dataclass(frozen=True, slots=True)
class Entry:
    """One page of the memory."""

    page: Page
    gist: Gist
    usage: Usage = NO_USAGE


@dataclass(frozen=True, slots=True)
class PageSize:
    """Pagination hyperparameters in words (ReadAgent, Appendix H, Table 10)."""

    min_words: int
    max_words: int


@dataclass(slots=True)
class GistMemory:
    """What has been read of a book so far. Grows at its end, never changes otherwise."""

    book: Book
    size: PageSize
    model_name: str
    entries: list[Entry] = field(default_factory=list)

    @property
    def read_until(self) -> int:
        """Offset up to which the book has been read."""
        return self.entries[-1].page.end if self.entries else 0

    @property
    def complete(self) -> bool:
        return self.read_until >= len(self.book.text)

    @property
    def gist_words(self) -> int:
        return sum(entry.gist.words for entry in self.entries)

    @property
    def estimated_pages(self) -> int:
        """Pages in the whole book, as far as can be told from those read."""
        if self.complete:
            return len(self.entries)
        if not self.entries:
            mean = (self.size.min_words + self.size.max_words) / 2
            return max(1, round(self.book.words / mean))
        share = self.read_until / len(self.book.text)
        return max(len(self.entries) + 1, round(len(self.entries) / share))

    def entry(self, number: int) -> Entry:
        """The page with this number, from 1. Raises IndexError when it is not read yet."""
        if not 1 <= number <= len(self.entries):
            raise IndexError(number)
        return self.entries[number - 1]

    def page_at(self, offset: int) -> Page | None:
        """The page that holds `offset`, or None when it is not read yet."""
        index = bisect_right(self.entries, offset, key=lambda entry: entry.page.start) - 1
        if index < 0 or offset >= self.entries[index].page.end:
            return None
        return self.entries[index].page

    def text_of(self, page: Page) -> str:
        """The page's own words."""
        return self.book.text[page.start : page.end].strip()

    def compression_rate(self, expanded: Iterable[int] = ()) -> float:
        """100·(1 − words in context ÷ words read), with these pages expanded in place of their gists.

        ReadAgent, section 4.1. Of a memory that is not complete: of the part that has been read.
        """
        opened = set(expanded)
        read = sum(entry.page.words for entry in self.entries)
        if not read:
            return 0.0
        context = sum(
            entry.page.words if entry.page.number in opened else entry.gist.words for entry in self.entries
        )
        return 100.0 * (1.0 - context / read)
