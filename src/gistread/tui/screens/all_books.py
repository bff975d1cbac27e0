"""Searches and asks all books.

Titles and passages as one types, or an answer with the books it is from.
"""

import asyncio
from collections.abc import Coroutine, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice
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
from gistread.tui.library_work import Books, LibraryAsker
from gistread.tui.screens.hits import quote_around
from gistread.tui.screens.listing import ListScreen, Row
from gistread.tui.services import Opening
from gistread.units import counted, format_place, in_quotes

_MOST_TITLES = 5
_MOST_HITS = 40
_WAIT_S = 1.0  # Between two looks at an index that is being made


@dataclass(slots=True)
class _State:
    """What the list shows, to show it again after a book."""

    asking: bool
    unread: bool = False  # Whether books not begun are asked too
    question: str = ""  # The one that the rows answer, or that is being answered
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
        """`at`: what was chosen in this list before, which is shown again with its words."""
        self._state = _State(asking)
        if at is not None:
            typed = at.words
            if isinstance(at.came_from, _State):
                self._state = at.came_from
        super().__init__(
            "All books", at=at, placeholder="words, or a question", typed=typed
        )
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
        """Read the list of books, again while some are being indexed."""
        try:
            self._entries = (await asyncio.to_thread(self._books.entries))[0]
            self._shelf = await asyncio.to_thread(open_shelf, self._books.paths)
            if not self.rows:
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
        self._state.question = ""
        self._begin()

    def action_choose(self) -> None:
        if self._state.asking and self.typed and self.typed != self._state.question:
            self._state.question = self.typed
            self._run(self._answer(self.typed))
        else:
            super().action_choose()

    def choose(self, key: Opening) -> None:
        state = replace(self._state, rows=self.rows, note=self.note)
        self.dismiss(replace(key, words=self.typed, came_from=state))

    def action_leave(self) -> None:
        """Stop an answer first."""
        if self._worker is not None and self._worker.is_running and self._state.asking:
            self._worker.cancel()
            self._state.question = ""
            self.say("Stopped.")
        else:
            self.dismiss(None)

    def _begin(self) -> None:
        """Search for what is typed; before a question, say what it is about."""
        if self._shelf is None:
            return
        if not self._state.asking:
            self._run(self._search(self.typed))
        else:
            self._show([], self._scope)

    def _run(self, job: Coroutine[None, None, None]) -> None:
        self._worker = self.run_worker(job, group="find", exclusive=True)

    async def _search(self, words: str) -> None:
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
        entries = filter_entries(self._entries, words)
        openings = (
            Row(
                Opening(entry.path, words=words),
                entry.title,
                tail=", ".join(entry.authors),
            )
            for entry in entries
            if entry.path and not entry.missing
        )
        return list(islice(openings, _MOST_TITLES))

    def _hit_rows(self, hits: Sequence[LibraryHit]) -> list[Row[Opening]]:
        """The hits grouped by book; the books by their best hit."""
        by_book: dict[Path, list[LibraryHit]] = {}
        for hit in hits:
            by_book.setdefault(hit.book.path, []).append(hit)
        rows: list[Row[Opening]] = []
        for of_book in by_book.values():
            rows.append(Row(None, of_book[0].book.entry.label))
            rows += map(self._hit_row, of_book)
        return rows

    def _hit_row(self, hit: LibraryHit) -> Row[Opening]:
        text, spans = quote_around(
            hit.before + hit.text + hit.after,
            hit.start - len(hit.before),
            hit.core,
            hit.words,
        )
        row = _row(hit.book, (hit.start, hit.end), self.typed, text, titled=False)
        return replace(row, spans=spans)

    async def _answer(self, text: str) -> None:
        assert self._shelf is not None
        self._state.searched = None
        named: list[Row[Opening]] = []
        answer = ""
        try:
            question = LibraryQuestion(
                text, self._shelf, self._asker.config, unread=self._state.unread
            )
            self._show([], self._note("looking for the books …"))
            async for event in self._asker.stream(question):
                match event:
                    case BooksNamed(books=books):
                        named = [
                            Row(None, "From"),
                            *(_named_row(book, text) for book in books),
                        ]
                        self._show(named, self._note("asking …"))
                    case AnswerDelta(text=part):
                        answer += part
                        self._show(
                            [_answer_row(answer), *named], self._note("answering …")
                        )
                    case Restarted():
                        answer = ""
                    case Answered():
                        rows = [*_answer_rows(question, text, event), *named]
                        self._show(rows, self._scope, anew=True)
        except GistreadError as error:
            self._state.question = ""
            self._show(named, self._note(error.message))

    def _show(
        self, rows: Sequence[Row[Opening]], note: str, *, anew: bool = False
    ) -> None:
        """Show these rows; the cursor stays unless they are shown `anew`."""
        with suppress(NoMatches):  # The screen was closed meanwhile.
            at = self.at
            if self._state.asking and not anew:
                at = self.chosen or at
            self.rows, self.note = rows, note
            self.show_rows(at)

    @property
    def nothing(self) -> str:
        return ""

    @property
    def _scope(self) -> str:
        """What a question is about."""
        books = self._shelf.books if self._shelf else ()
        begun = sum(book.begun for book in books)
        if self._state.unread:
            return self._note(
                f"asks all {counted(len(books), 'book')}, also unread ones"
            )
        words = f"asks {counted(begun, 'book')}"
        if begun < len(books):
            words += f", {len(books) - begun} unread left out"
        return self._note(words)

    def _note(self, *facts: str) -> str:
        mode = "ask" if self._state.asking else "search"
        progress = self._shelf.progress if self._shelf else ""
        return " · ".join(filter(None, (mode, *facts, progress)))


def _answer_rows(
    question: LibraryQuestion, text: str, answered: Answered
) -> list[Row[Opening]]:
    """The whole answer and its sources."""
    marked = with_messages(answered.answer, answered.marks).text
    sources = [
        _row(*question.source(citation), text, _quoted(citation.quote))
        for citation in answered.citations
    ]
    numbered = [
        replace(source, hanging=f"{number} ", indent=3)
        for number, source in enumerate(sources, start=1)
    ]
    return [_answer_row(marked), *numbered]


def _answer_row(answer: str) -> Row[Opening]:
    text, spans = drawn_text(answer)
    return Row(None, text, style="answer", spans=spans)


def _row(
    book: ShelfBook,
    place: tuple[int, int],
    sought: str,
    text: str,
    about: str = "",
    *,
    titled: bool = True,
) -> Row[Opening]:
    """A row that opens the book at a place, found for what is `sought`.

    `titled`: whether it names the book.
    """
    title = book.entry.title[:40] if titled else ""
    chapter = book.indexed.chapter_title(place[0])[:30]
    share = format_place(place[0], book.indexed.length)
    tail = " · ".join(filter(None, (title, share, chapter)))
    return Row(Opening(book.path, place, sought), text, about, tail=tail)


def _named_row(named: NamedBook, question: str) -> Row[Opening]:
    best = named.best
    about = f"{named.reason}\n{_quoted(best.text)}"
    return _row(
        named.book, (best.start, best.end), question, named.book.entry.title, about
    )


def _quoted(words: str) -> str:
    return in_quotes(" ".join(words.split()))
