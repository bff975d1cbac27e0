"""The library's books, a row each, and the details of the one under the cursor."""

import asyncio
import time
from collections.abc import Sequence

from textual import work
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content

from gistread.library.entries import LibraryEntry
from gistread.library.figures import format_percent, relative_time
from gistread.memory.store import BookProgress
from gistread.tui.library_work import Books
from gistread.tui.text import Block, Span, clean
from gistread.tui.text.cells import crop
from gistread.tui.widgets.lines import Line, Rule
from gistread.tui.widgets.row_list import RowList
from gistread.units import progress_bar

_BAR = 10  # Cells
_SAMPLE = "A tale of suspense that comes with gistread: a quarter of an hour to read."


class BookList(RowList):
    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(cursor=True, side_margin=1, id=id)
        self._entries: Sequence[LibraryEntry] = ()
        self.now_s = time.time()

    @property
    def index(self) -> int:
        return self.cursor_key if isinstance(self.cursor_key, int) else 0

    @property
    def current(self) -> LibraryEntry | None:
        return self._entries[self.index] if self._entries else None

    def show_books(
        self, entries: Sequence[LibraryEntry], *, at: LibraryEntry | None = None, index: int = 0
    ) -> None:
        """Replace the list, the cursor on `at` or else on `index`."""
        wanted = set(at.ids) if at else set()
        self._entries, self.now_s = entries, time.time()
        self.show([_block(entry, number, self.now_s) for number, entry in enumerate(entries)])
        index = next(
            (place for place, entry in enumerate(entries) if not wanted.isdisjoint(entry.ids)),
            index,
        )
        self.set_cursor(min(index, len(entries) - 1))
        self.post_message(self.Moved())


def _block(entry: LibraryEntry, number: int, now_s: float) -> Block:
    authors = ", ".join(entry.authors)
    text = f"{entry.title}  {authors}" if authors else entry.title
    facts = ["file missing"] if entry.missing else []
    if entry.was_opened:
        facts += [] if entry.missing else [relative_time(entry.opened_at, now_s)]
        facts.append(f"{progress_bar(entry.share, _BAR)} {format_percent(entry.share):>4}")
    return Block(
        text,
        key=number,
        spans=(Span(len(entry.title), len(text), "muted"),),
        turnover=2,
        tail="  ".join(facts),
        blank_before=0,
    )


def about(entry: LibraryEntry, read: BookProgress | None, now_s: float) -> str:
    """Title, author and facts."""
    facts = [entry.title, ", ".join(entry.authors) or "unknown author"]
    if entry.was_opened:
        facts.append("finished" if entry.finished else f"{format_percent(entry.share)} read")
    if entry.time_left:
        facts.append(f"{entry.time_left} left")
    if entry.words:
        facts.append(f"{entry.words:,} words")
    facts.append(entry.format)
    if entry.was_opened:
        facts.append(f"opened {relative_time(entry.opened_at, now_s)}")
    if read is not None and read.pages and entry.length:
        share = read.characters / entry.length
        facts.append(
            f"{read.model_name} has read {'all' if share >= 1 else format_percent(share)} of it"
        )
    return " · ".join(filter(None, facts))


class BookDetails(Vertical):
    """Two lines: facts, and the last question with the words at the reading place.

    Of a book never read, its file.
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
        """`hint`: what to do about a missing file."""
        if entry is None:
            facts, left = "", ""
        else:
            facts = about(entry, self._books.read_by.get(entry.sha256), now_s)
            words, question = await asyncio.to_thread(self._books.left_at, entry)
            said = filter(None, (f"You asked: {question}" if question else "", words))
            left = f"The file was {entry.path}. {hint}" if entry.missing else " · ".join(said)
            left = left or (str(entry.path or "") if entry.ids else _SAMPLE)
        for name, text, style in (("#facts", facts, "$gr-text"), ("#left", left, "$gr-muted")):
            line, text = self.query_one(name, Line), clean(text)
            line.show(Content.styled(crop(text, line.room), style))
