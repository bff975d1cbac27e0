"""Details of the book under the cursor: facts, its file, and the reading place."""

import asyncio

from textual import work
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content

from gistread.library.entries import LibraryEntry
from gistread.library.figures import furthest_reader
from gistread.tui.library_work import Books
from gistread.tui.text import clean
from gistread.tui.widgets.book_rows import about
from gistread.tui.widgets.lines import Line, Rule, fitted


class BookDetails(Vertical):
    def __init__(self, books: Books, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._books = books

    def compose(self) -> ComposeResult:
        yield Rule()
        yield Line(id="facts")
        yield Line(id="where")
        yield Line(id="left")

    def show(self, entry: LibraryEntry | None, now_s: float, *, titled: bool, left: bool, hint: str) -> None:
        """`titled`: with its title; `left`: with the reading place; `hint`: text after the path."""
        facts = where = ""
        if entry is not None:
            facts, where = about(entry, furthest_reader(entry, self._books.read_by), now_s, self.size.width)
        if entry is not None and titled:
            author = ", ".join(entry.authors)
            facts = " · ".join(filter(None, (entry.title, "" if facts.startswith(author) else author, facts)))
        self._show("#facts", facts, "$gr-text")
        self._show("#where", f"{where}  {hint}".rstrip(), "$gr-muted")
        self._show_left(entry if left else None)

    @work(exclusive=True)
    async def _show_left(self, entry: LibraryEntry | None) -> None:
        words, question = await asyncio.to_thread(self._books.left_at, entry) if entry is not None else ("", "")
        said = (f"You asked: {question}" if question else "", words)
        self._show("#left", clean(" · ".join(filter(None, said))), "italic $gr-muted")

    def _show(self, name: str, text: str, style: str) -> None:
        line = self.query_one(name, Line)
        text = clean(text)
        line.show((text, line.room), Content.styled(fitted(text, line.room), style))
