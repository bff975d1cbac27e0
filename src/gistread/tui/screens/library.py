"""The library: filter, open, add, remove and relocate books."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

from textual import events, on, work
from textual.app import ComposeResult
from textual.css.query import NoMatches
from textual.widgets import Input, Static

from gistread.errors import GistreadError
from gistread.library import adding
from gistread.library.entries import (
    Group,
    LibraryEntry,
    Order,
    absolute,
    filter_entries,
    group_of,
    is_file,
    is_folder,
    sort_entries,
)
from gistread.library.figures import count_books, describe_added
from gistread.session.session import Session
from gistread.tui.commands import CommandTarget, bindings
from gistread.tui.key_hints import key_hints
from gistread.tui.library_work import Books, LibraryAsker
from gistread.tui.notices import LatestNotice, NoticeScreen
from gistread.tui.screens.library_commands import LIBRARY
from gistread.tui.screens.listing import ListScreen, Panel, Row
from gistread.tui.services import AppServices, Opening
from gistread.tui.text import Clicked, clean
from gistread.tui.widgets.book_list import BookDetails, BookList
from gistread.tui.widgets.input_line import FilterInput, PathInput
from gistread.tui.widgets.lines import HeaderLine, KeyLine, Rule, Tab
from gistread.units import counted

_GROUPS = (None, *Group)
_NONE_OF = {
    Group.READING: "You are not in the middle of any book.",
    Group.UNREAD: "You have begun every book.",
    Group.FINISHED: "You have not finished any book yet.",
}
_KEY_LINE_ROWS = 12  # Below this height of the screen, the key line is hidden
_ONE_ROW = 110  # Columns that hold every key
_INDEX_SHOWN_S = 1.0  # Between two looks at the progress of the index
_NOTICE_S = 8  # Seconds that warnings and outcomes are shown
_REDRAW_S = 0.1  # Between two looks at what is being added
_HOW_TO_BEGIN = (
    "No books yet. {library-get} gets one from a catalogue, {library-add} adds a folder of books, "
    "{library-path} opens one, {library-open} the sample story."
)


class PathScreen(Panel[Path | None]):
    """Asks for a path, and is dismissed with it.

    `problem` returns what is wrong with a path, which is shown; or nothing.
    """

    def __init__(
        self,
        title: str,
        typed: str = "",
        problem: Callable[[Path], str] = lambda path: "",
    ) -> None:
        super().__init__(title)
        self._typed = typed
        self._problem = problem

    def compose_panel(self) -> ComposeResult:
        note = "Tab completes what is typed."
        yield Static(note, id="note", classes="panel-note", markup=False)
        yield PathInput(self._typed, id="path")

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        typed = event.value.strip()
        if not typed:
            return
        path = absolute(Path(typed))
        problem = self._problem(path)
        if problem:
            self.query_one("#note", Static).update(clean(problem))
        else:
            self.dismiss(path)


class LibraryScreen(CommandTarget, NoticeScreen[Opening | None]):
    """Dismissed with what to open, or with None."""

    OWN_COMMANDS = LIBRARY
    BINDINGS = bindings(LIBRARY)
    AUTO_FOCUS = "#books"

    def __init__(
        self,
        books: Books,
        services: AppServices,
        session: Session | None = None,
        back_to: Opening | None = None,
    ) -> None:
        """`session`: of the book that is open behind the library.

        `back_to`: the hit or source to go back to in the list of all books.
        """
        super().__init__()
        self._session = session
        self._back_to = back_to
        self._services = services
        self._books = books
        self._entries: list[LibraryEntry] = []
        self._order = Order.LAST_READ
        self._group: Group | None = None  # The group that is shown alone; None: all
        # Books removed since the library was opened, for undo
        self._removed: list[LibraryEntry] = []
        self._removal_notice = LatestNotice(self)
        self._adding = ""  # Progress of adding books; empty if none are being added
        self._stops_adding = False  # Whether adding is to stop soon
        self._asker = LibraryAsker(services, session)
        self._indexing = ""  # Progress of the index; empty if it is up to date

    def compose(self) -> ComposeResult:
        yield HeaderLine(id="header")
        yield Rule(id="header-rule")
        yield Static("", id="empty", markup=False)
        yield FilterInput(id="filter")
        yield BookList(id="books")
        yield BookDetails(self._books, id="about")
        yield KeyLine(id="keys")

    @property
    def _list(self) -> BookList:
        return self.query_one("#books", BookList)

    def on_mount(self) -> None:
        self.reload()
        if self._back_to is not None:
            self._search_or_ask(asking=False, at=self._back_to)

    def on_resize(self, event: events.Resize) -> None:
        classes = {
            "-short": event.size.height < _KEY_LINE_ROWS,
            "-wide": event.size.width >= _ONE_ROW,
        }
        self.update_classes(classes)
        self.call_after_refresh(self._show_lines)

    @work(exclusive=True, group="read")
    async def reload(self) -> None:
        """Read the list of books, how far they are read, and the index."""
        self._entries, problem = await asyncio.to_thread(self._books.entries)
        if problem:
            self._warn(problem)
        with suppress(NoMatches):  # The screen was closed meanwhile.
            self._show(self._list.current)
            await asyncio.to_thread(self._books.load_progress)
            self._show_about()
        self._follow_index()

    @work(exclusive=True, group="index")
    async def _follow_index(self) -> None:
        """Index new books, and show the progress."""
        self._indexing = await asyncio.to_thread(self._books.start_indexing)
        while self._indexing and self.is_mounted:
            self._show_lines()
            await asyncio.sleep(_INDEX_SHOWN_S)
            self._indexing = await asyncio.to_thread(self._books.index_progress)
        if self.is_mounted:
            self._show_lines()

    def _show(self, at: LibraryEntry | None = None, index: int = 0) -> None:
        """Show the books that match, with the cursor on `at`, or else on the `index`th."""
        typed = self.query_one(FilterInput).value
        matching = filter_entries(self._entries, typed)
        shown = sort_entries(matching, self._order)
        # The sample comes after the user's own books: only these have ids.
        shown.sort(key=lambda entry: not entry.ids)
        is_one_group = self._group is not None
        if is_one_group:
            shown = [entry for entry in shown if group_of(entry) is self._group]
        filtered = bool(typed.strip()) or is_one_group
        self._list.show_books(shown, at=at, index=index, filtered=filtered)
        self._show_lines()

    def filter_books(self) -> None:
        """Open the line that filters the list."""
        line = self.query_one(FilterInput)
        line.display = True
        self.set_focus(line)

    @on(Input.Changed, "#filter")
    def _filter_typed(self) -> None:
        self._show()

    @on(Input.Submitted, "#filter")
    def _filter_accepted(self) -> None:
        self.open_chosen()

    @on(FilterInput.Moved)
    def _filter_moved(self, event: FilterInput.Moved) -> None:
        self._list.action_line_down(event.step)

    @on(FilterInput.Left)
    def _filter_left(self) -> None:
        """Show all books again."""
        line, current = self.query_one(FilterInput), self._list.current
        with line.prevent(Input.Changed):
            line.value = ""
        line.display = False
        self.set_focus(self._list)
        self._show(current)

    @on(FilterInput.SearchedInside)
    def _search_inside(self) -> None:
        self._search_or_ask(asking=False, words=self.query_one(FilterInput).value)

    def _show_lines(self) -> None:
        """Draw all but the list: header, note, details of the chosen book and keys."""
        self._show_header()
        note = self._note
        empty = self.query_one("#empty", Static)
        empty.update(note)
        empty.display = bool(note)
        self._show_about()
        self._show_keys()

    def _show_keys(self) -> None:
        """Show the keys of the filter while one types there, or else those of the list."""
        if self.query_one(FilterInput).has_focus:
            hints = key_hints(self._services, "filter")
        else:
            can_close = self._session is not None or bool(self._adding)
            hidden = "" if can_close else "library-close"
            leading = self._leading_keys()
            hints = key_hints(self._services, "library", leading, hidden=hidden)
        self.query_one("#keys", KeyLine).show_keys(hints)

    def _leading_keys(self) -> list[tuple[str, str]]:
        """(command id, word) of the keys that matter now."""
        leading: list[tuple[str, str]] = []
        if self._adding:
            leading.append(("library-close", "stop"))
        if not self._has_books:
            leading.append(("library-get", "get a book"))
        if self._session is None:
            leading.append(("quit", "quit"))
        if self._removed:
            leading.append(("library-undo", "undo"))
        return leading

    @property
    def _has_books(self) -> bool:
        """Whether there are any books but the sample."""
        return any(entry.ids for entry in self._entries)

    def _show_header(self) -> None:
        """Show how many books there are, their order, and a tab for each group."""
        header = self.query_one("#header", HeaderLine)
        count = self._adding or self._indexing or count_books(self._entries)
        order = f"by {self._order}"
        actions = ("", self.change_order)
        if not self._has_books:
            header.show_place("Library", count, (order,), actions=actions)
            return
        tabs = [
            Tab(group or "All", group is self._group, partial(self._show_group, group))
            for group in _GROUPS
        ]
        header.show_place("Library", "", (count, order), tabs, actions)

    @property
    def _note(self) -> str:
        """What to say in place of a list without books; empty if it has books."""
        if not self._has_books:
            return self._services.with_keys(_HOW_TO_BEGIN)
        if self._group is not None and self._list.current is None:
            return _NONE_OF[self._group]
        return ""

    @on(BookList.Moved)
    def _show_about(self) -> None:
        """Show the details of the chosen book."""
        entry = self._list.current
        hint = ""
        if entry is not None and entry.missing:
            hint = f"{self._services.key_hint('library-find')} says where it is now."
        self.query_one(BookDetails).show(entry, self._list.now_s, hint)

    def _warn(self, text: str) -> None:
        self.notify(text, severity="warning", timeout=_NOTICE_S)

    @on(Clicked, "#books")
    def _clicked(self, event: Clicked) -> None:
        """The first click selects a book, the second opens it."""
        if event.again:
            self.open_chosen()

    def open_chosen(self) -> None:
        """Open the chosen book; if its file is missing, ask where it is."""
        entry = self._list.current
        if entry is None:
            return
        if entry.path is None:
            advice = "pipe it in again, or open its file."
            self._warn(f"This book came from standard input: {advice}")
        elif entry.missing:
            self.find_chosen()
        else:
            self.dismiss(Opening(entry.path))

    async def leave(self) -> None:
        """Stop adding, or go back to the book."""
        if self._adding:
            self._stops_adding = True
        elif self._session is not None:
            self.dismiss(None)
        else:
            self.notify(f"{self._services.key_hint('quit')} quits.")

    def search_all(self) -> None:
        self._search_or_ask(asking=False)

    def ask_all(self) -> None:
        self._search_or_ask(asking=True)

    @work
    async def _search_or_ask(
        self, *, asking: bool, at: Opening | None = None, words: str = ""
    ) -> None:
        """Search for `words` in all books, or ask them.

        `at`: the hit or source to go back to in the list.
        """
        from gistread.tui.screens.all_books import AllBooksScreen

        screen = AllBooksScreen(
            self._books, self._asker, asking=asking, at=at, typed=words
        )
        opening = await self.app.push_screen_wait(screen)
        if opening is not None:
            self.dismiss(opening)

    def step_group(self, step: int) -> None:
        """Show the next group alone, or all books."""
        index = _GROUPS.index(self._group) + step
        self._show_group(_GROUPS[index % len(_GROUPS)])

    def _show_group(self, group: Group | None) -> None:
        self._group = group
        self._show(self._list.current)

    def change_order(self) -> None:
        """Sort the books in the next order."""
        orders = list(Order)
        next_index = orders.index(self._order) + 1
        self._order = orders[next_index % len(orders)]
        self._show(self._list.current)

    @work
    async def get_book(self) -> None:
        """Get a book from a catalogue, and open it."""
        from gistread.tui.screens.catalogues import CatalogueScreen

        path = await self.app.push_screen_wait(CatalogueScreen(self._services))
        if isinstance(path, Path):
            self.dismiss(Opening(path))

    @work
    async def open_path(self) -> None:
        """Ask for the path of a book, and open it."""

        def problem(path: Path) -> str:
            if is_folder(path):
                key = self._services.key_hint("library-add")
                return f"{path} is a folder: {key} adds the books in it."
            if is_file(path):
                return ""
            return f"No such file: {path}"

        screen = PathScreen("Open a book", problem=problem)
        path = await self.app.push_screen_wait(screen)
        if path is not None:
            self.dismiss(Opening(path))

    @work
    async def add_books(self) -> None:
        """Ask for a folder or a book, and add it to the library."""
        if self._adding:
            key = self._services.key_hint("library-close")
            self._warn(f"Books are being added; {key} stops that.")
            return
        screen = PathScreen("Add a folder with its books, or a book")
        path = await self.app.push_screen_wait(screen)
        if path:
            await self._add(path)

    async def _add(self, path: Path) -> None:
        """Add the books at a path, and list the files that could not be read."""

        def report(so_far: adding.AddResult) -> None:
            self._adding = f"adding: {so_far.new + so_far.known} books"

        timer = self.set_interval(_REDRAW_S, self._show_lines)
        self._stops_adding = False
        self._adding = "adding …"
        try:
            catalogue = self._books.catalogue
            added = await asyncio.to_thread(
                adding.add, catalogue, path, lambda: self._stops_adding, report
            )
        except GistreadError as error:
            self._warn(str(error))
            return
        finally:
            self._adding = ""
            timer.stop()
            with suppress(NoMatches):  # The screen was closed meanwhile.
                self._show_lines()
        self.reload()
        self.notify(describe_added(added), timeout=_NOTICE_S)
        if added.failed and self.is_current:
            rows = [
                Row(str(number), failure.reason, str(failure.path.parent))
                for number, failure in enumerate(added.failed)
            ]
            title = f"{counted(len(rows), 'file')} could not be read"
            screen = ListScreen(title, "The others were added.", rows)
            await self.app.push_screen(screen)

    async def on_unmount(self) -> None:
        self._stops_adding = True
        self.withdraw_all()
        await self._asker.close()

    async def remove_chosen(self) -> None:
        """Remove the chosen book from the list, but not its file."""
        entry = self._list.current
        if entry is None:
            return
        is_sample = not entry.ids
        if is_sample:
            self._warn("The sample disappears once you have a few books.")
            return
        catalogue = self._books.catalogue
        if not await self._written(lambda: catalogue.remove(entry.ids)):
            return
        self._removed.append(entry)
        self._entries = [other for other in self._entries if other is not entry]
        self._show(index=self._list.index)
        key = self._services.key_hint("library-undo")
        removed = f"{entry.title} is removed from the list; {key} restores it."
        self._removal_notice.show(f"{removed} Its file is untouched.")

    async def restore_removed(self) -> None:
        """Restore the book that was removed last."""
        if not self._removed:
            self._warn("No book has been removed.")
            return
        entry = self._removed[-1]
        catalogue = self._books.catalogue
        if await self._written(lambda: catalogue.restore(*entry.ids)):
            self._removed.pop()
            self._removal_notice.withdraw()
            self._entries.append(entry)
            self._show(entry)

    async def _written(self, write: Callable[[], None]) -> bool:
        """Write in a thread. Warns and returns False if that fails."""
        try:
            await asyncio.to_thread(write)
        except GistreadError as error:
            self._warn(str(error))
            return False
        return True

    @work
    async def find_chosen(self) -> None:
        """Say where the file of the current book is, or ask where it is now."""
        entry = self._list.current
        if entry is None or entry.path is None:
            return
        if not entry.missing:
            self.notify(f"The file is at {entry.path}")
            return
        folder = entry.path.parent
        typed = f"{folder}/" if is_folder(folder) else ""
        while True:
            screen = PathScreen(f"Where is {entry.title} now?", typed)
            path = await self.app.push_screen_wait(screen)
            if path is None:
                return
            file = await self._located(entry, path)
            if file is not None:
                self.dismiss(Opening(file))
                return
            typed = str(path)  # Ask again, with what was typed.

    async def _located(self, entry: LibraryEntry, path: Path) -> Path | None:
        """The file of a moved book, at this path. Warns and returns None if it is not there."""
        try:
            file = await asyncio.to_thread(self._books.locate, entry, path)
        except GistreadError as error:
            self._warn(str(error))
            return None
        if file is None:
            key = self._services.key_hint("library-path")
            self._warn(f"{path.name} is another book: {key} opens it.")
        return file
