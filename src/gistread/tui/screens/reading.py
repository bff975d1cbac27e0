"""The screen a person lives in: the book, its memory, and the question line.

It lays out the panes and turns keys into what a pane or the session does. What the session tells is heard in
`reading/session_listener.py`. The session is made once the book is on screen, so that nothing of models and memories
is imported
before the first page can be read.
"""

import asyncio
import contextlib
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from textual import events, on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.widgets import Static

from gistread.book.model import Book
from gistread.errors import GistreadError
from gistread.library.catalogue import Catalogue
from gistread.reading_speed import ReadingSpeedFile
from gistread.session.events import Obstacle
from gistread.tui.commands import Place, bindings
from gistread.tui.layout import HEADER_ROWS, KEY_LINE_ROWS, NAMES, WIDE_COLUMNS, Pane
from gistread.tui.marking.actions import Marking
from gistread.tui.marking.layers import Layers
from gistread.tui.obstacles import obstacle_message
from gistread.tui.opening import earlier_questions, kept_zoom, make_session, read_book
from gistread.tui.progress import Progress
from gistread.tui.reading.aloud import Aloud, Speaking
from gistread.tui.reading.following import Following
from gistread.tui.reading.image_viewer import ImageViewer
from gistread.tui.reading.linking import Linking
from gistread.tui.reading.memory_picker import MemoryPicker
from gistread.tui.reading.memory_zoom import MemoryZoom
from gistread.tui.reading.reading_position import Keeping
from gistread.tui.reading.searching import Searching
from gistread.tui.reading.session_listener import SessionListener
from gistread.tui.reading.typography import Typography
from gistread.tui.text.messages import Clicked, OffsetChanged
from gistread.tui.widgets.answers_pane import AnswersPane
from gistread.tui.widgets.lines import Choices, HeaderLine, KeyLine, Line, Rule, StatusLine
from gistread.tui.widgets.memory_pane import MemoryPane
from gistread.tui.widgets.panes import BookPane
from gistread.tui.widgets.prompt import Prompt
from gistread.tui.widgets.question_input import QuestionInput
from gistread.tui.work.lines import Places

if TYPE_CHECKING:
    from gistread.session.session import Session


class ReadingScreen(
    Following, MemoryZoom, MemoryPicker, Marking, Searching, Linking, Typography, Speaking, ImageViewer
):
    """One book. `book` is already open, or the path to open."""

    BINDINGS = bindings(Place.READING)
    AUTO_FOCUS = "#book"

    def __init__(self, book: Book | Path, *, path: Path | None = None, model: str = "", asking_model: str = "") -> None:
        super().__init__()
        self._wanted = book
        self.path = book if isinstance(book, Path) else path
        self._given_up = threading.Event()
        """The person has left before the book was open."""
        self._model = model
        self._asking_model = asking_model
        self.book: Book | None = None
        self.session: Session | None = None
        self.keeping: Keeping | None = None
        self.hearing = SessionListener(self)
        self.aloud = Aloud(self)
        self.pane = Pane.BOOK
        self.follow = True
        self._walking = False
        """The book moves because the person walks through the memory."""
        self.parting_words = ""
        """What is to be said when the screen is gone: that something could not be kept."""
        self.unseen = False
        """There is an answer that the person has not gone to, on a screen with one pane."""

    @property
    def narrow(self) -> bool:
        return self.size.width < WIDE_COLUMNS

    # Layout

    def compose(self) -> ComposeResult:
        yield HeaderLine(id="header")
        yield Rule(id="header-rule")
        with Horizontal(id="panes"):
            yield BookPane(self.gistread.config, id="book")
            with Vertical(id="memory-side"):
                yield Line(id="memory-header")
                yield Line(id="memory-aim")
                yield Choices(id="memory-zoom")
                yield MemoryPane(id="memory")
        with Vertical(id="question-side"):
            yield Rule(id="question-rule")
            yield AnswersPane(id="answers")
            with Horizontal(id="question-line"):
                yield Static(" ? ", id="question-mark", markup=False)
                yield QuestionInput(id="question")
        yield Static("", id="strip", markup=False)
        yield Prompt(id="prompt")
        yield StatusLine(id="status")
        yield KeyLine(id="keys")

    def on_mount(self) -> None:
        self.follow = self.gistread.config.follow
        self.book_pane = self.query_one("#book", BookPane)
        self.memory_pane = self.query_one("#memory", MemoryPane)
        self.mark_layers = Layers(self.book_pane, self.memory_pane)
        self.answers_pane = self.query_one("#answers", AnswersPane)
        self.question = self.query_one("#question", QuestionInput)
        self.show_order()
        self.run_worker(self._open(), exit_on_error=True)

    def on_unmount(self) -> None:
        self._given_up.set()

    def on_resize(self, event: events.Resize) -> None:
        self.set_class(self.narrow, "-narrow")
        self.set_class(event.size.height < KEY_LINE_ROWS, "-short")
        self.set_class(event.size.height < HEADER_ROWS, "-tiny")
        self.call_after_refresh(self.show_everything)

    def show_everything(self) -> None:
        """Every line around the panes, anew."""
        self.show_place()
        self.hearing.show_status()
        self.show_memory_header()
        self.show_work()

    def show_place(self) -> None:
        """Title, chapter, how far, how long to go."""
        book, header = self.book, self.query_one("#header", HeaderLine)
        panes = tuple((NAMES[pane], pane is self.pane) for pane in Pane) if self.narrow else ()
        if book is None:
            header.show_place("Opening the book …", "", (), panes)
            return
        said = self.progress.place(self.book_pane.place, self.book_pane.share_read(book))
        header.show_place(said.title, said.chapter, said.progress, panes)

    def show_strip(self, lines: list[str]) -> None:
        """What the agent does, where its pane is not on screen; nothing when there are no lines."""
        self.set_class(bool(lines), "-strip")
        self.query_one("#strip", Static).update("\n".join(lines))

    # Opening and closing

    async def _open(self) -> None:
        """Read the file in a thread, show the book, then begin with the model."""
        app = self.gistread
        try:
            book, offset, notice = await asyncio.to_thread(
                read_book, self._wanted, app.paths.texts, app.user_data, app.paths.marks, self._given_up.is_set
            )
        except GistreadError as error:
            app.cannot_open(error)
            return
        self.progress = Progress(book, ReadingSpeedFile(app.paths.reading_speed), app.config.progress.split())
        self.book = book
        self.book_pane.show_book(book, offset)
        self.answers_pane.places = Places(len(book.text), book=book)
        self.show_place()
        self.begin_marking()
        for line in filter(None, (*book.notices, notice)):
            self.notify(line, timeout=8)
        self.call_after_refresh(lambda: self.run_worker(self._begin()))

    async def _begin(self) -> None:
        """Everything that is not needed to read: session, memory, earlier questions, the model."""
        app, book = self.gistread, self.book
        assert book is not None
        self.keeping = Keeping(app.user_data, Catalogue(app.paths.library), book, self.path, self.warn)
        self.keeping.opened()
        await asyncio.to_thread(self.progress.load)
        self.show_place()
        self.session = await asyncio.to_thread(
            make_session, book, app.paths, app.config, app.make_engine, self.hearing.hear, app.new_embedder
        )
        asked = await asyncio.to_thread(earlier_questions, book, app.user_data)
        self.answers_pane.show_exchanges(asked)
        self.question.remember([exchange.question for exchange in asked])
        await self.session.show_saved_memory()
        self.begin_zoom(await asyncio.to_thread(kept_zoom, book, app.user_data))
        if self._asking_model:
            await self.session.use_asking_model(self._asking_model)
        if self._model:
            await self.session.use_model(self._model)
        self.show_everything()

    async def use_model(self, model: str) -> None:
        """Read with this model from now on; with none where it is empty."""
        if self.session is None:
            self._model = model
        else:
            await self.session.use_model(model)

    async def use_asking_model(self, model: str) -> None:
        """Let this model answer from now on; the one that reads where it is empty."""
        if self.session is None:
            self._asking_model = model
        else:
            await self.session.use_asking_model(model)
            name = self.session.activity.asking_model
            self.notify(f"{name} answers, once it is asked." if name else "The model that reads answers, too.")

    async def close(self) -> None:
        """Keep the place and end the model. The screen is of no use afterwards."""
        await self.aloud.stop()
        if self.keeping is not None:
            self.keeping.place(self.book_pane.place)
            await self.keeping.close()
            with contextlib.suppress(GistreadError):  # the disk's refusal was told when the place was kept
                await asyncio.to_thread(self.progress.keep)
        self.parting_words = await self.end_marking()
        if self.parting_words:
            self.warn(self.parting_words)  # seen where another book is opened; else it is said on the way out
        if self.session is not None:
            await self.session.close()

    # Messages of the panes

    @on(OffsetChanged, "#book")
    def _book_moved(self, event: OffsetChanged) -> None:
        self._measure_pace()
        self.show_place()
        if self.book is not None and self.keeping is not None:
            self.keeping.place(event.offset)
            scroll = self.follow and self.pane is not Pane.MEMORY and not self._memory_stays
            self._memory_stays = False
            self.memory_pane.set_here(event.offset, scroll=scroll)

    def _measure_pace(self) -> None:
        view = self.book_pane.visible_range
        if self.book is None or view is None:
            return
        if self.pane is Pane.BOOK and not self.aloud.running:
            self.progress.meter.moved(*view)
        else:
            self.progress.meter.interrupt()

    @on(MemoryPane.PageChosen)
    def _page_chosen(self, event: MemoryPane.PageChosen) -> None:
        if event.go:
            self.jump(event.page.start)
            self.to_pane(Pane.BOOK)
        elif self.follow:
            if not self._walking:
                self._walking = True
                self.jumps.leave(self.book_pane.place, event.page.start)
            self.book_pane.scroll_to_offset(event.page.start)

    @on(Clicked, "#memory")
    def _memory_clicked(self, event: Clicked) -> None:
        match event.block_key:
            case ("page", int(number)):
                self.memory_pane.toggle_page(number)

    @on(QuestionInput.Asked)
    def _asked(self, event: QuestionInput.Asked) -> None:
        session = self.session
        if session is None:
            self.warn("The book is still being opened.")
            return
        if obstacle := session.question_obstacle():
            self.warn(obstacle_message(obstacle, self.gistread.keymap))
            return
        self.question.taken(event.question)
        session.start_question(event.question, self.memory_pane.view.pinned, self.book_pane.place)
        if self.narrow:
            self.answers_pane.focus()
        else:
            self.to_pane(Pane.BOOK)

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        match event.widget.id:
            case "book":
                self.pane, self._walking = Pane.BOOK, False
            case "memory":
                self.pane = Pane.MEMORY
            case "answers" | "question":
                self.pane, self.unseen = Pane.ANSWERS, False
        for pane in Pane:
            self.set_class(pane is self.pane, f"-{pane}-pane")
        self.show_everything()

    # Going places

    def to_pane(self, pane: Pane) -> None:
        """Give this pane the keys and, where only one fits, the screen."""
        if pane is not Pane.BOOK:
            self.leave_focus_mode()
        for one in Pane:
            self.set_class(one is pane, f"-{one}-pane")
        match pane:
            case Pane.BOOK:
                self.book_pane.focus()
            case Pane.MEMORY:
                self.memory_pane.focus()
            case Pane.ANSWERS:
                shown = self.answers_pane.exchanges and (self.narrow or self.has_class("-answers"))
                (self.answers_pane if shown else self.question).focus()

    def _page_meant(self) -> int | None:
        """The page of the memory's cursor, or the one where the person reads."""
        return self.memory_pane.chosen if self.pane is Pane.MEMORY else self.memory_pane.view.here

    def show_keys(self) -> None:
        self.hearing.show_keys()

    def show_search_note(self) -> None:
        self.hearing.show_status()

    # Keys

    def action_ask(self) -> None:
        obstacle = self.session.question_obstacle() if self.session is not None else None
        if obstacle not in (None, Obstacle.BUSY):
            self.warn(obstacle_message(obstacle, self.gistread.keymap))
            return
        self.leave_focus_mode()
        for pane in Pane:
            self.set_class(pane is Pane.ANSWERS, f"-{pane}-pane")
        self.question.focus()

    async def action_cancel(self) -> None:
        session = self.session
        if self.book_pane.count.pending:
            self.book_pane.count.drop()
            self.show_keys()
        elif self.focused is self.question:
            self.to_pane(Pane.BOOK)
        elif self.aloud.running or self.aloud.paused:
            await self.aloud.stop()
        elif session is not None and session.answering:
            await session.cancel_question()
        elif self.pane is not Pane.BOOK:
            self.to_pane(Pane.BOOK)
        elif self.drop_hits() or self.close_last_note():
            pass
        elif session is not None and session.busy:
            await session.pause()
        else:
            self.remove_class("-answers")
            self.leave_focus_mode()
            self.unseen = False
            self.hearing.show_status()

    def action_resume(self) -> None:
        if self.session is not None:
            self.session.resume()

    def action_next_pane(self, step: int = 1) -> None:
        panes = list(Pane)
        self.to_pane(panes[(panes.index(self.pane) + step) % len(panes)])

    def action_previous_pane(self) -> None:
        self.action_next_pane(-1)

    def action_answers(self) -> None:
        if self.narrow:
            self.to_pane(Pane.ANSWERS)
        elif self.answers_pane.exchanges:
            self.toggle_class("-answers")
            if self.focused is self.answers_pane and not self.has_class("-answers"):
                self.to_pane(Pane.BOOK)
        else:
            self.warn("Nothing has been asked yet: a asks.")

    def action_follow(self) -> None:
        self.follow = not self.follow
        self.gistread.save("follow", self.follow)
        self.notify("Book and memory follow each other." if self.follow else "Book and memory move apart.")
        self.show_memory_header()

    def action_open_page(self) -> None:
        if self.pane is Pane.BOOK and self.follow_chosen_link():
            return
        if self.pane is Pane.ANSWERS:
            if not self.answers_pane.follow_line():
                self.warn("This line leads nowhere.")
            return
        number = self._page_meant()
        if self.pane is Pane.MEMORY and self.memory_pane.view.zoom.coarse:
            self.memory_pane.action_go_to_page()
        elif number is None or self.memory_pane.memory is None or number > len(self.memory_pane.memory.entries):
            self.warn("The model has not read this page yet.")
        else:
            self.memory_pane.toggle_page(number)

    def action_pin(self) -> None:
        number = self._page_meant()
        if self.pane is Pane.MEMORY and self.memory_pane.view.zoom.coarse:
            self.warn("Zoom in to choose a page.")
            return
        if number is None or self.memory_pane.memory is None or number > len(self.memory_pane.memory.entries):
            self.warn("The model has not read this page yet.")
            return
        self.memory_pane.toggle_pin(number)
        if self.session is not None and self.session.answering:
            self.session.steering.pinned = set(self.memory_pane.view.pinned)

    def action_refuse(self) -> None:
        opened = [page for page in self.hearing.asked if page in self.memory_pane.view.opened]
        if self.session is None or not self.session.answering or not opened:
            self.warn("The agent has no page open that could be refused.")
            return
        meant = self._page_meant()
        page = meant if self.pane is Pane.MEMORY and meant in opened else opened[-1]
        self.session.steering.refused.add(page)
        self.memory_pane.refuse(page)

    def action_stop_lookups(self) -> None:
        if self.session is not None and self.session.answering:
            self.session.steering.stop = True
