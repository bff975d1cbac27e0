"""The gist memory: the pages of a book, and the gist of each (ReadAgent, section 3.1).

What a gist must keep is chosen as in Appendices F.1 and F.2.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property

from gistread import prompts
from gistread.book.model import Book
from gistread.engine.protocol import NO_USAGE, EngineInfo, Usage
from gistread.errors import UsageError
from gistread.memory.cutting import section_ends
from gistread.memory.derived import DerivedRecords
from gistread.memory.extractive import extract
from gistread.memory.prose import prose_of
from gistread.presets import FICTION, Preset
from gistread.prompts import TRAINED, PromptTemplate
from gistread.words import count_words

# The task is part of every gisting prompt, so it must be short compared to a page
MAX_TASK_CHARACTERS = 600


@dataclass(frozen=True)
class GistFocus:
    """What gists must keep."""

    preset: Preset = FICTION
    task: str = ""  # What the user looks for, in one line; empty for general gists
    # The wording of the prompts; see `EngineInfo.wording`
    wording: str = field(default="", compare=False)

    @property
    def description(self) -> str:
        """For people, as in "read as a meeting, to find out: when it ends"."""
        as_preset = f"as {self.preset.title}"
        if not self.task:
            return as_preset
        return f"{as_preset}, to find out: {self.task}"

    @cached_property
    def placeholders(self) -> Mapping[str, str]:
        """The values of the prompts' placeholders."""
        aim = ""
        if self.task:
            aim = f"{prompts.load('aim', self.wording).fill(task=self.task)}\n"
        return {
            "aim": aim,
            "keep": self.preset.keep,
            "ask": self.preset.ask,
            "where": "",
        }

    def template(self, name: str, where: str = "") -> PromptTemplate:
        """The prompt for this focus. `where`: what it says about the surroundings of a page."""
        values = {**self.placeholders, "where": where}
        return prompts.load(name, self.wording).with_values(values)

    def version(self, *names: str) -> str:
        """A hash of these prompts, without what they say about the surroundings of a page."""
        return prompts.version(*names, values=self.placeholders, wording=self.wording)


DEFAULT_FOCUS = GistFocus()


def parse_task(text: str) -> str:
    """The task that the user typed, on one line. Raises UsageError if it is empty or too long."""
    task = " ".join(text.split())
    if not task:
        raise UsageError(
            "The task is empty.",
            'Say what you look for, as in --task "what is decided about the budget".',
        )
    if len(task) > MAX_TASK_CHARACTERS:
        raise UsageError(
            f"The task has {len(task)} characters; the limit is {MAX_TASK_CHARACTERS}.",
            "Shorten the task.",
        )
    return task


class GistSource(StrEnum):
    """Where the words of a gist come from."""

    MODEL = "model"
    # Sentences of the page itself, because the model's attempts failed the guard
    EXTRACTIVE = "extractive"
    # Sentences of the page itself that are nearest to what the starter wrote
    QUOTED = "quoted"
    VERBATIM = "verbatim"  # The page itself, too short to be shortened
    UNREAD = "unread"  # The first words of a page that the model has not read


# Gists made of sentences of the page
OWN_SENTENCES = frozenset(
    (GistSource.EXTRACTIVE, GistSource.QUOTED, GistSource.VERBATIM)
)


class ReadingMode(StrEnum):
    # Pagination and gisting as two passes over the text, as in the paper
    CAREFUL = "careful"
    # Both over one growing text, evaluating each token about once
    SINGLE_PASS = "single-pass"


DEFAULT_READING_MODE = ReadingMode.SINGLE_PASS


def usual_reading_mode(info: EngineInfo) -> ReadingMode:
    """How a model reads best.

    Small models mix up the numbered places of a growing text: of single-pass gists of tales by a
    model of 1.5 billion parameters, the guard accepted three of eight, of careful ones five of six,
    in 13% more time. The starter is trained on the numbers.
    """
    needs_care = info.is_small and info.wording != TRAINED
    if needs_care:
        return ReadingMode.CAREFUL
    return DEFAULT_READING_MODE


@dataclass(frozen=True, slots=True)
class Page:
    """The text between two pause points: `book.text[start:end]`."""

    number: int  # From 1, by its place in the book; 0 outside a memory
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
    """A page with its gist."""

    page: Page
    gist: Gist
    usage: Usage = NO_USAGE

    @property
    def is_read(self) -> bool:
        """Whether the model has read the page."""
        return self.gist.source is not GistSource.UNREAD

    @property
    def is_quotation(self) -> bool:
        """Whether its gist is made of sentences of the page, chosen from a longer text."""
        return self.gist.source in (GistSource.QUOTED, GistSource.EXTRACTIVE)


@dataclass(frozen=True, slots=True)
class PageSize:
    """Pagination hyperparameters in words (ReadAgent, Appendix H, Table 10)."""

    min_words: int
    max_words: int

    @property
    def usual_words(self) -> float:
        """The mean length of pages. It is below the middle, since chapters end within pages."""
        return _USUAL_SHARE * (self.min_words + self.max_words) / 2


_USUAL_SHARE = 0.85
_OWN_WORDS = 80  # Words of its own sentences that replace the gist of a page


@dataclass(slots=True)
class GistMemory:
    """The pages of a book up to the last one read, by their place.

    Pages in a gap, which the model has not read, have their first words as gists (`gaps.py`). When
    a gap is read, the numbers of the pages after it may change.
    """

    book: Book
    size: PageSize
    model_name: str
    entries: list[MemoryEntry] = field(default_factory=list)
    derived: DerivedRecords = field(default_factory=DerivedRecords)
    mode: ReadingMode = ReadingMode.CAREFUL
    focus: GistFocus = DEFAULT_FOCUS
    bound_share: float = 1.0  # Share of the whole book in front of the spoiler bound
    # The last `unread_ends`, with the offset where its pages begin
    _unread_ends: tuple[int, tuple[int, ...]] | None = field(
        default=None, init=False, repr=False, compare=False
    )

    @property
    def read_until(self) -> int:
        """Offset in the book after the last page that was read."""
        if not self.entries:
            return 0
        return self.entries[-1].page.end

    @property
    def complete(self) -> bool:
        is_at_end = self.read_until >= len(self.book.text)
        return is_at_end and all(entry.is_read for entry in self.entries)

    @property
    def has_quotations(self) -> bool:
        """Whether sentences of the book stand for some of its gists."""
        return any(entry.is_quotation for entry in self.entries)

    @property
    def quotes(self) -> bool:
        """Whether its model only quotes: its gists are sentences of the book."""
        return any(entry.gist.source is GistSource.QUOTED for entry in self.entries)

    @property
    def read_entries(self) -> list[MemoryEntry]:
        """The pages that the model has read, in order."""
        return [entry for entry in self.entries if entry.is_read]

    @property
    def gist_words(self) -> int:
        return sum(entry.gist.words for entry in self.read_entries)

    @property
    def estimated_pages(self) -> int:
        """Number of pages in the whole book; an estimate until all are read."""
        return len(self.entries) + len(self.unread_ends)

    @property
    def unread_ends(self) -> tuple[int, ...]:
        """Where the estimated pages after the last page read end."""
        start = self.read_until
        if self._unread_ends is not None:
            known_start, known_ends = self._unread_ends
            if known_start == start:
                return known_ends
        book_end = len(self.book.text)
        ends = tuple(section_ends(self.book, start, book_end, self.size.usual_words))
        self._unread_ends = start, ends
        return ends

    def entry(self, number: int) -> MemoryEntry:
        """The page with this number, from 1. Raises IndexError for an unread page."""
        if not 1 <= number <= len(self.entries):
            raise IndexError(number)
        return self.entries[number - 1]

    def page_at(self, offset: int) -> Page | None:
        """The page with this offset; None for unread text after the last page."""
        pages_begun = bisect_right(
            self.entries, offset, key=lambda entry: entry.page.start
        )
        if pages_begun == 0:
            return None
        page = self.entries[pages_begun - 1].page
        return page if offset < page.end else None

    def last_word_end(self, page: Page) -> int:
        """Offset after the last word of a page: the blank lines after it do not count."""
        return page.start + len(self.book.text[page.start : page.end].rstrip())

    def is_within(self, page: Page, bound: int | None) -> bool:
        """Whether the last word of a page is before the bound. None: there is no bound."""
        return bound is None or self.last_word_end(page) <= bound

    def count_within(self, bound: int | None) -> int:
        """Number of pages, from the first, that are before the bound."""
        if bound is None:
            return len(self.entries)
        return bisect_right(
            self.entries, bound, key=lambda entry: self.last_word_end(entry.page)
        )

    def text_of(self, page: Page) -> str:
        return self.book.text[page.start : page.end].strip()

    def compression_rate(self) -> float:
        """100·(1 − words of gists ÷ words read) (ReadAgent, section 4.1)."""
        words_read = sum(entry.page.words for entry in self.read_entries)
        if not words_read:
            return 0.0
        return 100.0 * (1.0 - self.gist_words / words_read)

    def upto(self, offset: int) -> "GistMemory":
        """The memory up to the spoiler bound `offset`: all that readers see of a bounded book.

        It has no text, gist or summary past `offset`. Title and author are left out, since a model
        could recall the rest from them; in a series, numbers replace the titles of volumes. A page
        across the bound is cut there, and its own sentences replace its gist. So they do on a page
        with the title of a volume. Offsets stay those of the book.
        """
        book = self.book.upto(offset)
        bound = len(book.text)
        entries: list[MemoryEntry] = []
        begun = bisect_left(self.entries, bound, key=lambda entry: entry.page.start)
        for entry in self.entries[:begun]:
            is_across_bound = not self.is_within(entry.page, bound)
            if is_across_bound or book.is_volume_heading(entry.page.start):
                entry = self._in_own_sentences(entry, book)
            # It is empty if only white space of the page is before the bound.
            if entry.gist.text:
                entries.append(entry)
        share = self.bound_share * bound / max(1, len(self.book.text))
        return replace(self, book=book, entries=entries, bound_share=share)

    def _in_own_sentences(self, entry: MemoryEntry, book: Book) -> MemoryEntry:
        """A page as far as the bounded `book` has it, with its own sentences as gist."""
        start, end = entry.page.start, min(len(book.text), entry.page.end)
        words = count_words(book.text[start:end].strip())
        text = extract(prose_of(book, start, end), _OWN_WORDS, self.focus.task)
        source = GistSource.EXTRACTIVE if entry.is_read else GistSource.UNREAD
        gist = Gist(text, count_words(text), source)
        return MemoryEntry(replace(entry.page, end=end, words=words), gist)
