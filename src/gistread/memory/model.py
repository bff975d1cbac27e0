"""What a gist memory is: the pages of a book and the gist of each (ReadAgent, section 3.1).

Pure data and arithmetic over it. How pages and gists are made is in `reading.py`, how they are kept in
`store.py`.
"""

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from enum import StrEnum

from gistread.book.model import Book
from gistread.book.normalise import count_words
from gistread.engine.protocol import NO_USAGE, Usage
from gistread.memory.derived import DerivedRecords
from gistread.memory.extractive import extract
from gistread.memory.focus import DEFAULT_FOCUS, GistFocus


class GistSource(StrEnum):
    """Where the words of a gist come from. Shown to the person."""

    MODEL = "model"
    EXTRACTIVE = "extractive"
    """The model's attempts failed the guard (D6); these are sentences of the page itself."""
    VERBATIM = "verbatim"
    """The page is too short to be shortened: it is its own gist."""


class ReadingMode(StrEnum):
    """How a book is read."""

    CAREFUL = "careful"
    """Pagination and gisting as two passes over the text, as in the paper."""
    SINGLE_PASS = "single-pass"
    """Both over one growing text, of which each token is evaluated about once (design D4)."""


DEFAULT_READING_MODE = ReadingMode.SINGLE_PASS


class Pauses(StrEnum):
    """Where pages end."""

    CHOSEN = "chosen"
    """Where the model pauses."""
    UNIFORM = "uniform"
    """After the same number of words each, at the nearest end of a sentence (ReadAgent, Appendix A, Table 5)."""


@dataclass(frozen=True, slots=True)
class Page:
    """The text between two pause points: `book.text[start:end]`."""

    number: int
    """From 1, the same for people and for models. 0: not known yet, since the pages before it are not all read."""
    start: int
    end: int
    words: int


@dataclass(frozen=True, slots=True)
class Gist:
    text: str
    words: int
    source: GistSource


@dataclass(frozen=True, slots=True)
class MemoryEntry:
    """One page of the memory."""

    page: Page
    gist: Gist
    usage: Usage = NO_USAGE


@dataclass(frozen=True, slots=True)
class PageSize:
    """Pagination hyperparameters in words (ReadAgent, Appendix H, Table 10)."""

    min_words: int
    max_words: int


PageSizes = PageSize | tuple[PageSize, ...]
"""How large the pages of a book are; of a series those of each volume, where they are not all alike."""

_PAGES_OF_DOUBT = 4
"""So many pages of the usual length are thought of beside those that were read."""


@dataclass(slots=True)
class GistMemory:
    """What has been read of a book so far. Grows at its end, never changes otherwise."""

    book: Book
    size: PageSize
    model_name: str
    entries: list[MemoryEntry] = field(default_factory=list)
    reading_mode: ReadingMode = ReadingMode.CAREFUL
    derived: DerivedRecords = field(default_factory=DerivedRecords)
    """What was made of it beside the gists."""
    pauses: Pauses = Pauses.CHOSEN
    guarded: bool = True
    """False: what the model wrote is kept as it wrote it (ReadAgent's own way; D6 is the guard)."""
    focus: GistFocus = DEFAULT_FOCUS
    """What its gists are made for."""

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
        # A book begins with a title and a dedication: its first pages say little of the length of the others.
        usual = (self.size.min_words + self.size.max_words) / 2
        read_words = sum(entry.page.words for entry in self.entries)
        mean = (read_words + _PAGES_OF_DOUBT * usual) / (len(self.entries) + _PAGES_OF_DOUBT)
        share = self.read_until / len(self.book.text)
        return len(self.entries) + max(1, round(self.book.words * (1 - share) / mean))

    def entry(self, number: int) -> MemoryEntry:
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
        context = sum(entry.page.words if entry.page.number in opened else entry.gist.words for entry in self.entries)
        return 100.0 * (1.0 - context / read)

    def until(self, offset: int) -> "GistMemory":
        """The memory of a person who has read up to `offset`: what may be told under the spoiler bound (D8).

        Nothing past `offset` is in it, the book's text included, and neither are title and author, by which a
        model could recall the rest. A page across the bound is cut there; its gist, which tells of the whole
        page, is replaced by sentences of what is left. Offsets stay those of the whole book. In a series the
        numbers of volumes stand for their titles.
        """
        offset = max(0, min(offset, len(self.book.text)))
        book = _book_until(self.book, offset)
        entries = [_untitled(book, entry) for entry in self.entries if entry.page.end <= offset]
        cut = self.page_at(offset)
        if cut is not None and self.book.text[cut.start : offset].strip():
            page = replace(cut, end=offset, words=count_words(book.text[cut.start : offset]))
            gist = extract(book.text[page.start : page.end].strip(), CUT_PAGE_WORDS, self.focus.task)
            entries.append(MemoryEntry(page, Gist(gist, count_words(gist), GistSource.EXTRACTIVE)))
        return replace(self, book=book, entries=entries)


CUT_PAGE_WORDS = 80
"""Length of what stands for a page that is cut at the spoiler bound."""


def _book_until(book: Book, offset: int) -> Book:
    """The beginning of a book, without its title and authors; without those of its volumes."""
    text = book.text[:offset]
    volumes = tuple(replace(one, title="", end=min(one.end, offset)) for one in book.volumes if one.heading < offset)
    for number, volume in enumerate(volumes, start=1):
        length = len(book.volumes[number - 1].title)
        text = text[: volume.heading] + str(number).ljust(length)[:length] + text[volume.heading + length :]
    return Book(
        text=text[:offset],
        title="",
        paragraphs=tuple(replace(p, end=min(p.end, offset)) for p in book.paragraphs if p.start < offset),
        chapters=tuple(replace(c, end=min(c.end, offset)) for c in book.chapters if c.start < offset or not c.start),
        language=book.language,
        source_format=book.source_format,
        volumes=volumes,
    )


def _untitled(book: Book, entry: MemoryEntry) -> MemoryEntry:
    """A page that is the title of a volume tells no more than the book that has lost it; others stay as they are."""
    page = entry.page
    if not book.is_title(page.start):
        return entry
    text = book.text[page.start : page.end].strip()
    return replace(entry, gist=replace(entry.gist, text=text, words=count_words(text)))
