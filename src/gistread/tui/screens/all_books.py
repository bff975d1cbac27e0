"""Searches and asks all books.

Shows titles and passages while the user types, or an answer with the books that it is from.
"""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from textual.css.query import NoMatches
from textual.worker import Worker

from gistread.errors import GistreadError
from gistread.library.entries import LibraryEntry, filter_entries
from gistread.library.shelf import LibraryHit, Shelf, ShelfBook, open_shelf
from gistread.readers.events import AnswerDelta, Answered, Restarted
from gistread.session.library import BooksNamed, LibraryQuestion, NamedBook
from gistread.store.model import with_messages
from gistread.tui.answer_markup import drawn_text
from gistread.tui.commands import BOUND_KEY, own_keys
from gistread.tui.jobs import Job, run_job
from gistread.tui.library_work import Books, LibraryAsker
from gistread.tui.screens.hits import quote_around
from gistread.tui.screens.listing import ListScreen, Row
from gistread.tui.services import Opening
from gistread.units import counted, format_place, in_quotes

_MOST_TITLES = 5
_MOST_HITS = 40
_WAIT_S = 1.0  # Between two looks at an index that is being made
# Characters of a book's title and chapter beside a passage
_TITLE_CHARACTERS = 40
_CHAPTER_CHARACTERS = 30


@dataclass(slots=True)
class _State:
    """What the list shows, to show it again after a book."""

    asking: bool  # Whether books are asked, rather than searched
    unread: bool = False  # Whether books that are not begun are asked too
    # The question that the rows answer, or that is being answered
    question: str = ""
    # The words that the rows were found for; None for an answer
    searched: str | None = None
    rows: Sequence[Row[Opening]] = ()
    note: str = ""


class AllBooksScreen(ListScreen[Opening]):
    """Dismissed with what to open."""

    KEYS = (
        ("tab", "switch", "search or ask"),
        (BOUND_KEY, "unread", "also ask unread books, or not"),
    )
    BINDINGS = own_keys(*KEYS, priority=True)
    ENTER = "go there"
    TALL = True
    FILTERS = False
    SPACED = True

    def __init__(
        self,
        books: Books,
        asker: LibraryAsker,
        *,
        asking: bool,
        at: Opening | None = None,
        typed: str = "",
    ) -> None:
        """`at`: what was chosen in this list before; the list is shown again as it was then."""
        self._state = _State(asking)
        if at is not None:
            typed = at.words
            if isinstance(at.came_from, _State):
                self._state = at.came_from
        placeholder = "words, or a question"
        super().__init__("All books", at=at, placeholder=placeholder, typed=typed)
        self._books = books
        self._asker = asker
        self.rows, self.note = self._state.rows, self._state.note
        self._shelf: Shelf | None = None
        self._entries: Sequence[LibraryEntry] = ()
        self._worker: Worker[None] | None = None

    def on_mount(self) -> None:
        super().on_mount()
        self.run_worker(self._open(), group="shelf")

    async def _open(self) -> None:
        """Read the list of books, and read it again while some are being indexed."""
        try:
            self._entries, _ = await asyncio.to_thread(self._books.entries)
            self._shelf = await asyncio.to_thread(open_shelf, self._books.paths)
            if not self.rows:  # Otherwise rows from before are shown again.
                self._begin()
            while self._shelf.pending and self.is_mounted:
                await asyncio.sleep(_WAIT_S)
                self._shelf = await asyncio.to_thread(open_shelf, self._books.paths)
                if not self._state.asking:
                    self._begin()
        except GistreadError as error:
            self.say(str(error))

    def filtered(self) -> None:
        if not self._state.asking and self.typed != self._state.searched:
            self._begin()

    def action_switch(self) -> None:
        self._state.asking = not self._state.asking
        self._begin()

    def action_unread(self) -> None:
        self._state.unread = not self._state.unread
        self._state.question = ""  # Enter asks it again, now of other books.
        self._begin()

    def action_choose(self) -> None:
        """Ask the question that is typed, unless it has been; else open the chosen row."""
        is_new_question = self.typed not in ("", self._state.question)
        if self._state.asking and is_new_question:
            self._state.question = self.typed
            self._run(partial(self._answer, self.typed))
        else:
            super().action_choose()

    def choose(self, key: Opening) -> None:
        state = replace(self._state, rows=self.rows, note=self.note)
        self.dismiss(replace(key, words=self.typed, came_from=state))

    def action_leave(self) -> None:
        """Stop the answer that is being written, or else close the list."""
        worker = self._worker
        if worker is not None and worker.is_running and self._state.asking:
            worker.cancel()
            self._state.question = ""
            self.say("Stopped.")
        else:
            self.dismiss(None)

    def _begin(self) -> None:
        """Search for what is typed; before a question, say what it is about."""
        if self._shelf is None:
            return
        if self._state.asking:
            self._show([], self._scope)
        else:
            self._run(partial(self._search, self.typed))

    def _run(self, job: Job) -> None:
        """Search or ask, in place of what was begun before."""
        self._worker = run_job(self, job, group="find")

    async def _search(self, words: str) -> None:
        """Show the books and passages with these words."""
        assert self._shelf is not None
        self._state.searched = words
        if not words:
            self._show([], self._note())
            return
        try:
            passages = await asyncio.to_thread(self._shelf.search, words, _MOST_HITS)
        except GistreadError as error:
            self.say(str(error))
            return
        note = "no passage"
        if passages.hits:
            note = f"{counted(passages.total, 'passage')}, the best first"
        rows = [*self._title_rows(words), *self._hit_rows(passages.hits)]
        self._show(rows, self._note(note, passages.left_out))

    def _title_rows(self, words: str) -> list[Row[Opening]]:
        """The books whose title or author has these words."""
        rows: list[Row[Opening]] = []
        for entry in filter_entries(self._entries, words):
            if entry.path and not entry.missing:
                opening = Opening(entry.path, words=words)
                rows.append(Row(opening, entry.title, tail=", ".join(entry.authors)))
        return rows[:_MOST_TITLES]

    def _hit_rows(self, hits: Sequence[LibraryHit]) -> list[Row[Opening]]:
        """The hits grouped by book; the books in the order of their best hits."""
        by_book: dict[Path, list[LibraryHit]] = {}
        for hit in hits:
            by_book.setdefault(hit.book.path, []).append(hit)
        rows: list[Row[Opening]] = []
        for of_book in by_book.values():
            heading = of_book[0].book.entry.label
            rows.append(Row(None, heading))
            rows += [self._hit_row(hit) for hit in of_book]
        return rows

    def _hit_row(self, hit: LibraryHit) -> Row[Opening]:
        """A hit with the words around it."""
        context = hit.before + hit.text + hit.after
        context_start = hit.start - len(hit.before)
        text, spans = quote_around(context, context_start, hit.core, hit.words)
        place = (hit.start, hit.end)
        row = _row(hit.book, place, sought=self.typed, text=text, titled=False)
        return replace(row, spans=spans)

    async def _answer(self, text: str) -> None:
        """Ask the books, and show the answer while it is written."""
        assert self._shelf is not None
        self._state.searched = None
        book_rows: list[Row[Opening]] = []
        answer = ""
        try:
            question = LibraryQuestion(
                text, self._shelf, self._asker.config, unread=self._state.unread
            )
            self._show([], self._note("looking for the books …"))
            async for event in self._asker.stream(question):
                match event:
                    case BooksNamed(books=books):
                        book_rows = [Row(None, "From")]
                        book_rows += [_named_row(book, text) for book in books]
                        self._show(book_rows, self._note("asking …"))
                    case AnswerDelta(text=part):
                        answer += part
                        rows = [_answer_row(answer), *book_rows]
                        self._show(rows, self._note("answering …"))
                    case Restarted():
                        answer = ""
                    case Answered():
                        rows = [*_answer_rows(question, text, event), *book_rows]
                        self._show(rows, self._scope, anew=True)
        except GistreadError as error:
            self._state.question = ""  # Enter tries again.
            self._show(book_rows, self._note(error.message))

    def _show(
        self, rows: Sequence[Row[Opening]], note: str, *, anew: bool = False
    ) -> None:
        """Show these rows.

        While books are asked, the cursor stays, unless the rows are shown `anew`.
        """
        with suppress(NoMatches):  # The screen was closed meanwhile.
            at = self.at
            is_being_answered = self._state.asking and not anew
            if is_being_answered:
                at = self.chosen or at
            self.rows, self.note = rows, note
            self.show_rows(at)

    @property
    def nothing(self) -> str:
        return ""

    @property
    def _scope(self) -> str:
        """Which books a question is about."""
        books = self._shelf.books if self._shelf else ()
        if self._state.unread:
            all_books = counted(len(books), "book")
            return self._note(f"asks all {all_books}, also unread ones")
        begun = sum(book.begun for book in books)
        words = f"asks {counted(begun, 'book')}"
        if begun < len(books):
            words += f", {len(books) - begun} unread left out"
        return self._note(words)

    def _note(self, *facts: str) -> str:
        """What is done, with these facts and the progress of the index."""
        mode = "ask" if self._state.asking else "search"
        progress = self._shelf.progress if self._shelf else ""
        return " · ".join(filter(None, (mode, *facts, progress)))


def _answer_rows(
    question: LibraryQuestion, text: str, answered: Answered
) -> list[Row[Opening]]:
    """The whole answer and its sources. `text`: the question as it was typed."""
    marked = with_messages(answered.answer, answered.marks).text
    rows = [_answer_row(marked)]
    for number, citation in enumerate(answered.citations, start=1):
        book, place = question.source(citation)
        quote = _quoted(citation.quote)
        source = _row(book, place, sought=text, text=quote)
        rows.append(replace(source, hanging=f"{number} ", indent=3))
    return rows


def _answer_row(answer: str) -> Row[Opening]:
    text, spans = drawn_text(answer)
    return Row(None, text, style="answer", spans=spans)


def _row(
    book: ShelfBook,
    place: tuple[int, int],
    *,
    sought: str,
    text: str,
    about: str = "",
    titled: bool = True,
) -> Row[Opening]:
    """A row that opens the book at a place, which was found for the words `sought`.

    `titled`: whether the row names the book.
    """
    start, _ = place
    title = book.entry.title[:_TITLE_CHARACTERS] if titled else ""
    chapter = book.indexed.chapter_title(start)[:_CHAPTER_CHARACTERS]
    share = format_place(start, book.indexed.length)
    tail = " · ".join(filter(None, (title, share, chapter)))
    return Row(Opening(book.path, place, sought), text, about, tail=tail)


def _named_row(named: NamedBook, question: str) -> Row[Opening]:
    """A book that is asked, with the reason and its best passage."""
    book, best = named.book, named.best
    about = f"{named.reason}\n{_quoted(best.text)}"
    place = (best.start, best.end)
    return _row(book, place, sought=question, text=book.entry.title, about=about)


def _quoted(words: str) -> str:
    return in_quotes(" ".join(words.split()))
