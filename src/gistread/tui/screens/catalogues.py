"""Finds a book in a catalogue on the network, and downloads it.

Nothing is sent before the user asks for it.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar

from textual import on
from textual.app import ComposeResult
from textual.css.query import NoMatches
from textual.widgets import Input, Static
from textual.worker import Worker

from gistread.acquisition.download import (
    BookProgress,
    CatalogueClient,
    Login,
    LoginNeededError,
    is_same_server,
    open_catalogue,
)
from gistread.acquisition.finding import (
    CataloguePage,
    cover_of,
    file_of,
    open_page,
    search,
)
from gistread.acquisition.opds import OfferedBook
from gistread.acquisition.sources import (
    Source,
    address_problems,
    all_sources,
    find_source,
    named_book,
)
from gistread.engine.fetching.network import Network
from gistread.errors import GistreadError
from gistread.library.adding import add_file
from gistread.library.metadata import read_book_file
from gistread.store.catalogue import Catalogue
from gistread.tui.commands import own_keys
from gistread.tui.jobs import Job, run_job
from gistread.tui.screens.listing import ListScreen, Panel, Row
from gistread.tui.services import AppServices
from gistread.tui.text import Span, clean
from gistread.tui.text.cells import cell_len, crop
from gistread.tui.widgets.lines import Actions
from gistread.units import capitalised, counted, format_size, progress_bar

Result = TypeVar("Result")
_REDRAW_S = 0.1  # Shortest time between two redraws of progress
_DOWNLOAD_STOPPED = "Stopped. A download goes on where it stopped."
_PROBLEM_S = 10.0  # Seconds that a problem is shown
_LANGUAGE_CHARACTERS = 5
# Cells
_BAR = 20
_GAP = 2  # Between columns
_LEAST_TITLE = 16
_AUTHOR_SHARE = 0.4  # The author's share of the cells for title and author


@dataclass(frozen=True, slots=True)
class NextPage:
    """The key of the row that fetches the next page of the list."""

    url: str


class LoginScreen(Panel[Login | None]):
    """Asks for name and password, which are kept until the app ends."""

    def __init__(self, source: Source) -> None:
        super().__init__(f"Log in to {source.name}")
        self._source = source

    def compose_panel(self) -> ComposeResult:
        note = f"Sent to {self._source.host} alone, and forgotten when gistread ends."
        yield Static(note, classes="panel-note", markup=False)
        yield Input(placeholder="name", compact=True, id="user")
        yield Input(placeholder="password", compact=True, password=True, id="password")

    @on(Input.Submitted, "#user")
    def _named(self) -> None:
        self.set_focus(self.query_one("#password"))

    @on(Input.Submitted, "#password")
    def _entered(self, event: Input.Submitted) -> None:
        user = self.query_one("#user", Input).value.strip()
        if user:
            self.dismiss(Login(user, event.value, self._source.url))
        else:
            self.set_focus(self.query_one("#user"))


class CatalogueScreen(ListScreen[OfferedBook | NextPage | Path]):
    """Dismissed with the path of a downloaded book, which is in the library then."""

    KEYS = (("tab", "next_source", "another catalogue"), ("f2", "cover", "cover"))
    BINDINGS = own_keys(*KEYS, priority=True)
    TALL = True
    FILTERS = False

    def __init__(self, services: AppServices) -> None:
        placeholder = "title, author, number, or a catalogue’s address"
        super().__init__("Get a book", placeholder=placeholder)
        self._services = services
        self._sources = all_sources(services.config.catalogues)
        self._source = self._sources[0]
        self._logins = services.logins
        self._pages: list[CataloguePage] = []  # The last one is shown.
        # What was typed for the rows that are shown; None before the first search
        self._searched: str | None = None
        self._job: Worker[None] | None = None
        self._when_stopped = ""  # What to say if Esc stops the job
        self._drawn_s = 0.0  # When progress was shown last
        self.note = self._before

    @property
    def _before(self) -> str:
        """What to say before the network is used."""
        return f"{self._source.name}. Enter asks {self._source.host}; nothing is sent before."

    @property
    def nothing(self) -> str:
        return ""

    @property
    def _is_busy(self) -> bool:
        return self._job is not None and self._job.is_running

    def on_mount(self) -> None:
        problems = address_problems(self._services.config.catalogues)
        if problems:
            where = f"See catalogues in {self._services.paths.config_file}."
            notice = " ".join([*problems, where])
            self.notify(notice, severity="warning", timeout=_PROBLEM_S)

    def on_resize(self) -> None:
        super().on_resize()
        self.call_after_refresh(self._show)

    def filtered(self) -> None:
        """Do not filter by what is typed: Enter searches for it."""
        self._show_keys()

    def show_rows(self, at: OfferedBook | NextPage | Path | None) -> None:
        super().show_rows(at)
        self._show_keys()

    def _show_keys(self) -> None:
        """Show what Enter and the other keys do with what is typed or chosen."""
        is_searched = self.typed == self._searched
        has_books = bool(self._pages) and bool(self._pages[-1].books)
        enter = "search"
        if is_searched:
            enter = "get" if has_books else "open"
        keys = [("Enter", enter, "choose"), ("Tab", "another catalogue", "next_source")]
        if is_searched and has_books:
            keys.append(("F2", "cover", "cover"))
        self.query_one("#row-keys", Actions).show_actions(*keys)

    def action_choose(self) -> None:
        if self._is_busy:
            return
        if self.typed != self._searched:
            self._begin(self.typed)
        else:  # The rows are those of what is typed: choose one.
            super().action_choose()

    def choose(self, key: OfferedBook | NextPage | Path) -> None:
        """Download a book, open a shelf, or fetch the next page."""
        if self._is_busy:
            return
        page = self._pages[-1]
        if isinstance(key, NextPage):
            self._run(partial(self._add_page, key.url))
        elif isinstance(key, OfferedBook) and key in page.books:
            self._run(partial(self._download, key), when_stopped=_DOWNLOAD_STOPPED)
        elif isinstance(key, OfferedBook):
            # An entry that is no book is a shelf, which has a feed.
            fetch_shelf = partial(open_page, url=key.feed)
            self._run(partial(self._open, fetch_shelf, deeper=True))

    def action_next_source(self) -> None:
        if self._is_busy:
            return
        next_index = self._sources.index(self._source) + 1
        self._use(self._sources[next_index % len(self._sources)])

    def action_cover(self) -> None:
        """Fetch the cover of the chosen book and show it."""
        if isinstance(self.chosen, OfferedBook) and not self._is_busy:
            self._run(partial(self._show_cover, self.chosen))

    async def _show_cover(self, book: OfferedBook) -> None:
        """Fetch a cover and show it. Raises FetchError."""
        # Imported when the first cover is shown, as decoders of pictures take a while.
        from gistread.tui.screens.image import CoverScreen

        self.say(f"Asking {self._source.host} …")
        data = await self._with_login(lambda client: cover_of(book, client))
        self._show(at=book)
        drawer = self._services.drawer
        await self.app.push_screen(CoverScreen(book.title, book.by, data, drawer))

    def action_leave(self) -> None:
        """Stop the job that runs; without one, go back a page; on the first page, close."""
        job = self._job
        if job is not None and job.is_running:
            job.cancel()
            self.say(self._when_stopped)
        elif len(self._pages) > 1:
            self._pages.pop()
            self._show()
        else:
            self.dismiss(None)

    def _use(self, source: Source) -> None:
        """Show another catalogue, of which nothing is fetched yet."""
        self._source = source
        self._pages, self._searched = [], None
        self.rows = ()
        self.note = self._before
        self.show_rows(None)

    def _begin(self, typed: str) -> None:
        """Search for what is typed, or open the catalogue or book that it names."""
        # A number names a book of Project Gutenberg; elsewhere it is a word to search for.
        is_only_a_word = typed.isdecimal() and not self._source.has_numbers
        book = None if is_only_a_word else named_book(typed)
        if book is not None:
            self._run(partial(self._download, book), when_stopped=_DOWNLOAD_STOPPED)
            return
        if "://" not in typed:
            fetch_hits = partial(search, source=self._source, words=typed)
            self._run(partial(self._open, fetch_hits, typed=typed))
            return
        try:
            source = find_source(typed)
        except GistreadError as error:
            self.say(str(error))
            return
        self._run(partial(self._open_own, source, typed))

    def _run(self, job: Job, *, when_stopped: str = "Stopped.") -> None:
        """Begin a job, in place of the one that runs. `when_stopped`: what to say after Esc."""
        self._when_stopped = when_stopped
        job_with_errors = partial(self._with_errors, job)
        self._job = run_job(self, job_with_errors, group="catalogue")

    async def _with_errors(self, job: Job) -> None:
        """Run a job, and say in this panel what went wrong."""
        try:
            with suppress(NoMatches):  # The screen was closed meanwhile.
                await job()
        except GistreadError as error:
            self.say(error.message)

    async def _open(
        self,
        fetch: Callable[[CatalogueClient], Awaitable[CataloguePage]],
        *,
        typed: str | None = None,
        deeper: bool = False,
    ) -> None:
        """Fetch a page and show it, for what was `typed`. Raises FetchError.

        `deeper`: keep the page before, to which Esc leads back.
        """
        self.say(f"Asking {self._source.host} …")
        page = await self._with_login(fetch)
        if deeper:
            self._pages.append(page)
        else:
            self._pages = [page]
            self._searched = typed
        self._show()

    async def _open_own(self, source: Source, typed: str) -> None:
        """Open a catalogue by its address, and keep it among the others. Raises FetchError."""
        source_before, self._source = self._source, source
        try:
            await self._open(lambda client: open_page(client, source.url), typed=typed)
        except (GistreadError, asyncio.CancelledError):
            self._source = source_before
            raise
        # The next words that are typed replace the address.
        self.query_one("#typed", Input).select_all()
        if source not in self._sources:
            self._sources.append(source)
            known = self._services.config.catalogues.split()
            self._services.settings.set("catalogues", " ".join([*known, source.url]))

    async def _add_page(self, url: str) -> None:
        """Fetch the next page of the list, and add it to the last one. Raises FetchError."""
        self.say(f"Asking {self._source.host} …")
        more = await self._with_login(lambda client: open_page(client, url))
        page = self._pages[-1]
        self._pages[-1] = CataloguePage(
            books=(*page.books, *more.books),
            shelves=(*page.shelves, *more.shelves),
            next=more.next,
        )
        first_added = more.entries[0] if more.entries else None
        self._show(at=first_added)

    async def _download(self, book: OfferedBook) -> None:
        """Download a book into the library, and close the panel with its path.

        Raises FetchError, StorageError, BookError.
        """
        paths = self._services.paths

        async def fetch(client: CatalogueClient) -> Path:
            file = await file_of(book, client)
            return await client.download(
                file.url,
                file.media_type,
                paths.books,
                check=_check,
                report=self._report,
            )

        self.say(f"Getting {book.title} …")
        path = await self._with_login(fetch)
        added = await asyncio.to_thread(add_file, Catalogue(paths), path)
        self.dismiss(added.path)

    async def _with_login(
        self, fetch: Callable[[CatalogueClient], Awaitable[Result]]
    ) -> Result:
        """Use the network, after asking for a login if the server wants one. Raises FetchError."""
        source = self._source
        known_login = self._logins.get(source.url)
        try:
            async with open_catalogue(Network(), known_login) as client:
                return await fetch(client)
        except LoginNeededError as error:
            if not is_same_server(error.url, source.url):
                raise  # Another server would not get the login.
            login = await self.app.push_screen_wait(LoginScreen(source))
            if login is None:
                raise
        self._logins[source.url] = login
        async with open_catalogue(Network(), login) as client:
            return await fetch(client)

    def _report(self, progress: BookProgress) -> None:
        """Show the progress of a download."""
        now_s = time.monotonic()
        if progress.notice:
            self.say(f"{capitalised(progress.notice)}. Esc stops.")
        elif now_s - self._drawn_s >= _REDRAW_S:
            self._drawn_s = now_s
            self.say(f"{_progress_text(progress)} · Esc stops")

    def _show(self, at: OfferedBook | None = None) -> None:
        """Show the last page, with the cursor on `at`, or else where it is."""
        if not self._pages:
            return
        page = self._pages[-1]
        rows = self._rows(page.entries)
        if page.next:
            rows.append(Row(NextPage(page.next), "More …"))
        self.rows = rows
        where = self._source.name
        if not where.startswith(self._source.host):
            where += f" · {self._source.host}"
        self.note = f"{where} · {_summary(page)}"
        self.show_rows(at or self.chosen)

    def _rows(
        self, books: Sequence[OfferedBook]
    ) -> list[Row[OfferedBook | NextPage | Path]]:
        """The books in columns: title, author, and language and size if they are known."""
        facts = [_facts(book) for book in books]
        facts_cells = max(map(len, facts), default=0)
        width = max(0, self.list.row_width - facts_cells - _GAP)
        has_authors = any(book.by for book in books)
        author_cells = int(_AUTHOR_SHARE * width) if has_authors else 0
        title_cells = max(_LEAST_TITLE, width - author_cells - _GAP)
        return [
            _row(book, tail, title_cells, author_cells)
            for book, tail in zip(books, facts, strict=True)
        ]


def _summary(page: CataloguePage) -> str:
    """What a page has: `20 books and more`."""
    summary = counted(len(page.books), "book")
    if page.shelves and not page.books:
        summary = "choose a shelf"
    if page.next:
        summary += " and more"
    return summary


def _row(
    book: OfferedBook, tail: str, title_cells: int, author_cells: int
) -> Row[OfferedBook | NextPage | Path]:
    title = _padded(book.title, title_cells)
    author = crop(clean(book.by), author_cells)
    text = f"{title}{' ' * _GAP}{author}".rstrip()
    muted = Span(min(len(title), len(text)), len(text), "muted")
    return Row(book, text, spans=(muted,), tail=tail)


def _facts(book: OfferedBook) -> str:
    """Language and size in columns: `en      1.2 MB`.

    Empty if both are unknown: some catalogues tell them only with the file.
    """
    size = ""
    if book.files and book.files[0].size_bytes:
        size = format_size(book.files[0].size_bytes)
    language = book.language[:_LANGUAGE_CHARACTERS]
    if not size and not language.strip():
        return ""
    return f"{language:{_LANGUAGE_CHARACTERS}} {size:>7}"


def _padded(text: str, cells: int) -> str:
    """The text cut or padded to exactly `cells`."""
    text = crop(clean(text), cells)
    return text + " " * (cells - cell_len(text))


def _progress_text(progress: BookProgress) -> str:
    done = format_size(progress.done_bytes)
    if not progress.total_bytes:
        return done
    bar = progress_bar(progress.done_bytes / progress.total_bytes, _BAR)
    return f"{bar}  {done} of {format_size(progress.total_bytes)}"


def _check(path: Path) -> None:
    """Raises BookError for what is no book that gistread reads."""
    read_book_file(path)
