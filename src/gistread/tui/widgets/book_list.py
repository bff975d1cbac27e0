"""The library's books, a row each, and the details of the one under the cursor."""

import asyncio
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from textual import work
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content

from gistread.library.entries import Group, LibraryEntry, group_of, to_continue
from gistread.library.figures import format_percent, relative_time
from gistread.memory.store import BookProgress
from gistread.tui.library_work import Books
from gistread.tui.text import Block, Span, clean
from gistread.tui.text.cells import cell_len, crop, crop_words
from gistread.tui.widgets.lines import Line, Rule
from gistread.tui.widgets.row_list import RowList
from gistread.units import progress_bar

# Cells of the columns, and between them
_BAR = 10
_LENGTH = 10
_PERCENT = 4
_GAP = 2
_LEAST_TITLE = 16
_WITH_BAR, _WITH_AUTHOR = 76, 60  # Narrower lists leave those columns out.
_AUTHOR_SHARE = 0.35  # Least share of the author in the room for title and author
# Most cells of title and author: in wider rows the eye loses the line
_WIDEST_NAMES = 96
_SAMPLE = "A tale of suspense that comes with gistread: a quarter of an hour to read."


@dataclass(frozen=True, slots=True)
class Columns:
    """Cells of the columns of the list; a column without cells is not shown."""

    title: int
    author: int
    bar: int

    @classmethod
    def of(cls, width: int, title: int = 0, author: int = 0) -> "Columns":
        """The columns in a list `width` cells wide.

        `title` and `author`: cells of the longest ones. Authors have their share, and may take what
        titles leave.
        """
        bar = _BAR if width >= _WITH_BAR else 0
        facts = _LENGTH + bar + _PERCENT + 2 * _GAP
        # For title and author
        room = min(_WIDEST_NAMES, max(_LEAST_TITLE, width - facts - _GAP))
        if width < _WITH_AUTHOR:
            return cls(room, 0, bar)
        beside_titles = room - title - _GAP
        author = max(int(_AUTHOR_SHARE * room), min(author, beside_titles))
        return cls(room - author - _GAP, author, bar)


class BookList(RowList):
    """Books in columns, grouped by how far they have been read."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(cursor=True, side_margin=1, id=id)
        self._entries: Sequence[LibraryEntry] = ()
        # The book to continue, above the groups
        self._first: LibraryEntry | None = None
        self._columns = Columns.of(0)
        self._drawn_width = 0
        self.now_s = time.time()

    @property
    def index(self) -> int:
        """The place in the list of the book under the cursor."""
        if not isinstance(self.cursor_key, int):
            return 0
        return self.cursor_key

    @property
    def current(self) -> LibraryEntry | None:
        if not self._entries:
            return None
        return self._entries[self.index]

    def show_books(
        self,
        entries: Sequence[LibraryEntry],
        *,
        at: LibraryEntry | None = None,
        index: int = 0,
        filtered: bool = False,
    ) -> None:
        """Replace the list, and put the cursor on `at`, or else on `index`.

        `filtered`: whether the list is a selection; then the book to continue does not stand above
        the others.
        """
        groups = list(Group)
        # Stable: keeps the order within a group.
        ordered = sorted(entries, key=lambda entry: groups.index(group_of(entry)))
        self._first = None if filtered else to_continue(entries)
        if self._first is not None:
            ordered.remove(self._first)
            ordered.insert(0, self._first)
        self._entries = ordered
        self.now_s = time.time()
        self._draw()
        if at is not None:
            index = self._index_of(at, index)
        self.set_cursor(min(index, len(entries) - 1))
        self.post_message(self.Moved())

    def _index_of(self, book: LibraryEntry, default: int) -> int:
        """The place in the list of the same book, by one of its ids."""
        ids = set(book.ids)
        for index, entry in enumerate(self._entries):
            if not ids.isdisjoint(entry.ids):
                return index
        return default

    def on_resize(self) -> None:
        fitted = self._fitting_columns(), self.row_width
        if fitted != (self._columns, self._drawn_width):
            self._draw()

    def _fitting_columns(self) -> Columns:
        titles = [entry.title for entry in self._entries]
        authors = [", ".join(entry.authors) for entry in self._entries]
        return Columns.of(self.row_width, _longest(titles), _longest(authors))

    def _draw(self) -> None:
        """Draw the book to continue, and the others under the names of their groups."""
        self._columns = self._fitting_columns()
        self._drawn_width = self.row_width
        blocks: list[Block] = []
        heading = ""
        for number, entry in enumerate(self._entries):
            if entry is self._first:
                blocks.append(_continue_block(entry, number, self.row_width))
                continue
            group = group_of(entry)
            if group != heading:
                heading = group
                blank = 1 if blocks else 0
                blocks.append(
                    Block(group, style="heading", level=4, blank_before=blank)
                )
            blocks.append(_block(entry, number, self._columns))
        self.show(blocks)


def _longest(texts: Iterable[str]) -> int:
    """Cells of the longest of these texts."""
    return max((cell_len(clean(text)) for text in texts), default=0)


def _continue_block(entry: LibraryEntry, number: int, width: int) -> Block:
    """Title and chapter of the book to continue; without a chapter, title and author.

    They are cropped to the room beside the remaining time.
    """
    tail = f"{format_percent(entry.share):>{_PERCENT}}"
    if entry.time_left:
        tail = f"{entry.time_left} left  {tail}"
    words = f"Continue: {entry.label}"
    if entry.chapter:
        words = f"Continue: {entry.title} · {entry.chapter}"
    if width:
        words = crop(clean(words), max(_LEAST_TITLE, width - cell_len(tail) - _GAP))
    return Block(words, key=number, style="strong", tail=tail, blank_before=0)


def _block(entry: LibraryEntry, number: int, columns: Columns) -> Block:
    """The row of a book: its title, its author if there is a column, and facts."""
    title = _cell(entry.title, columns.title)
    text = title
    if columns.author:
        text += " " * _GAP + _cell(", ".join(entry.authors), columns.author)
    text = text.rstrip()
    author = Span(min(len(title), len(text)), len(text), "muted")
    facts = _facts(entry, columns)
    return Block(text, key=number, spans=(author,), tail=facts, blank_before=0)


def _facts(entry: LibraryEntry, columns: Columns) -> str:
    """The columns at the right: length and progress."""
    if entry.missing:
        return "file missing"
    bar = percent = ""
    if group_of(entry) is Group.READING:
        bar = progress_bar(entry.share, columns.bar)
        percent = format_percent(entry.share)
    cells = [entry.reading_time.rjust(_LENGTH)]
    if columns.bar:
        cells.append(bar.ljust(columns.bar))
    cells.append(percent.rjust(_PERCENT))
    return (" " * _GAP).join(cells)


def _cell(text: str, cells: int) -> str:
    """The text cropped or filled up to this number of cells."""
    text = crop(clean(text), cells)
    return text + " " * (cells - cell_len(text))


def about(entry: LibraryEntry, read: BookProgress | None, now_s: float) -> str:
    """Title, author and facts, such as `Emma · Jane Austen · 47% read · EPUB`.

    `read`: how far a model has read the book.
    """
    facts = [entry.title, ", ".join(entry.authors) or "unknown author"]
    facts += _progress_facts(entry)
    if entry.words:
        facts.append(f"{entry.words:,} words")
    facts.append(entry.format)
    if entry.was_opened:
        facts.append(f"opened {relative_time(entry.opened_at, now_s)}")
    if read is not None and read.pages and entry.length:
        share = read.characters / entry.length
        part = "all" if share >= 1 else format_percent(share)
        facts.append(f"{read.model_name} has read {part} of it")
    return " · ".join(filter(None, facts))


def _progress_facts(entry: LibraryEntry) -> list[str]:
    """How far the user has read a book; nothing before it is begun."""
    facts: list[str] = []
    if entry.finished and entry.was_begun:
        facts.append("finished")
    elif entry.was_begun:
        facts.append(f"{format_percent(entry.share)} read")
    if entry.time_left:
        facts.append(f"{entry.time_left} left")
    return facts


def whole_parts(line: str, cells: int) -> str:
    """The first parts of a line of facts that fit, or else the beginning of the first part.

    >>> whole_parts("Emma · Jane Austen · opened just now", 30)
    'Emma · Jane Austen'
    """
    parts = line.split(" · ")
    while len(parts) > 1 and cell_len(" · ".join(parts)) > cells:
        parts.pop()
    return crop_words(" · ".join(parts), cells)


class BookDetails(Vertical):
    """Two lines: facts, and the last question with the words at the reading place.

    For a book that was never read, the second line is the path of its file.
    """

    def __init__(self, books: Books, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._books = books

    def compose(self) -> ComposeResult:
        yield Rule()
        yield Line(id="facts")
        yield Line(id="left")

    @work(exclusive=True)
    async def show(self, entry: LibraryEntry | None, now_s: float, hint: str) -> None:
        """Show the facts about a book, and where the user stopped in it; nothing for None.

        `hint`: what to do about a missing file.
        """
        facts = ""
        place = ""
        if entry is not None:
            facts = about(entry, self._books.read_by.get(entry.sha256), now_s)
            place = await self._describe_place(entry, hint)
        facts_line = self.query_one("#facts", Line)
        facts = whole_parts(clean(facts), facts_line.room)
        facts_line.show(Content.styled(facts, "$gr-text"))
        place_line = self.query_one("#left", Line)
        place = crop_words(clean(place), place_line.room)
        place_line.show(Content.styled(place, "$gr-muted"))

    async def _describe_place(self, entry: LibraryEntry, hint: str) -> str:
        """Where the user stopped reading; for a book that was never read, what it is."""
        words, question = await asyncio.to_thread(self._books.left_at, entry)
        if entry.missing:
            return f"The file was {entry.path}. {hint}"
        if question:
            question = f"You asked: {question}"
        if question or words:
            return " · ".join(filter(None, (question, words)))
        is_sample = not entry.ids
        if is_sample:
            return _SAMPLE
        return str(entry.path or "")
