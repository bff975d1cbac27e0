"""The reading screen: lays out the panes and passes keys, clicks and messages to controllers."""

import asyncio
import contextlib
import threading
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from textual import events, on
from textual.app import ComposeResult
from textual.containers import Container, Grid, Horizontal, Vertical
from textual.geometry import Size
from textual.message import Message
from textual.widgets import Input, Static
from textual.worker import Worker, WorkerCancelled, WorkerFailed

from gistread.book.formats.encoding import CHOOSE_ENCODING
from gistread.book.model import Book
from gistread.errors import GistreadError
from gistread.library.indexing import index_new_books
from gistread.memory.front_matter import front_matter_end
from gistread.readers.trace import Places
from gistread.session.session import Session
from gistread.tui.commands import BOUND_KEY, CommandTarget, bindings, own_keys
from gistread.tui.marking.caret import SelectableText
from gistread.tui.model_ahead import ModelAhead
from gistread.tui.opening import model_of, read_book
from gistread.tui.reading.commands import READING_COMMANDS
from gistread.tui.reading.context import ReadingContext
from gistread.tui.reading.controllers import Controllers
from gistread.tui.reading.pane_switcher import (
    HEADER_ROWS,
    KEY_LINE_ROWS,
    ROOMY_COLUMNS,
    WIDE_COLUMNS,
    BookScreen,
    Pane,
    PaneSwitcher,
)
from gistread.tui.reading.position import Snapshot
from gistread.tui.reading.status_lines import StatusLines
from gistread.tui.services import AppServices, Opening
from gistread.tui.text import Block, Clicked, EndChanged, OffsetChanged
from gistread.tui.widgets.answers_pane import AnswersPane
from gistread.tui.widgets.book_pane import BookPane
from gistread.tui.widgets.input_line import InputLine, QuestionInput
from gistread.tui.widgets.lines import (
    Actions,
    HeaderLine,
    KeyLine,
    Line,
    Rule,
    StatusLine,
)
from gistread.tui.widgets.marks_column import MarksColumn
from gistread.tui.widgets.memory_pane import MemoryPane
from gistread.tui.widgets.note_preview import NotePreview
from gistread.tui.widgets.progress_rule import ProgressRule
from gistread.tui.widgets.tour import Tour

_SAVES_A_NOTE = "ctrl+s"  # Before 0.4, this key decided who opens sections.
# What the steps of the tour are about
_PANES_OF_TOUR = {1: Pane.MEMORY, 2: Pane.ANSWERS}
_WIDGETS_OF_TOUR = {1: "#memory-header", 2: "#question-mark", 3: "#status"}
_NOTICE_S = 8  # Seconds that notices of a book are shown
_LAST_WRITE_S = 2.0  # Longest wait for the disk after a defect


class ReadingScreen(CommandTarget, BookScreen):
    """The screen for one book: an open one, or the path of one to open."""

    OWN_COMMANDS = READING_COMMANDS
    BINDINGS = [  # noqa: RUF012 - Textual declares no class variable
        *bindings(READING_COMMANDS),
        *own_keys((BOUND_KEY, "ask_bound", "Set where answers stop")),
    ]
    AUTO_FOCUS = "#book"

    def __init__(
        self,
        book: Book | Path,
        services: AppServices,
        *,
        tour: bool,
        look_at: Opening | None = None,
    ) -> None:
        """`look_at`: a place to show; Escape leads back to the list that it came from."""
        super().__init__(classes=f"-{Pane.BOOK}-pane")
        self._source = book
        self.services = services
        self._tour = tour
        self._look_at = look_at
        self._has_looked = False  # Whether `look_at` has been shown
        self._is_new = False  # Whether the user has never read in the book
        # The position in a new book while the user only looks; it is not saved
        self._not_begun: Snapshot | None = None
        # Set when the screen is closed, also before the book is open
        self._left = threading.Event()
        self.controllers: Controllers | None = None  # None until the book is open
        self._opening: Worker[None] | None = None  # Opens the book, then its session
        # Loads the model of a file, until the model of the book is known
        self._model_ahead: ModelAhead | None = None
        self.unsaved = ""  # After `close`: what could not be saved, in words

    @property
    def book(self) -> Book | None:
        """The book, once it is open."""
        if self.controllers is None:
            return None
        return self.controllers.context.book

    @property
    def session(self) -> Session | None:
        """The session of the book, once it has begun."""
        if self.controllers is None:
            return None
        return self.controllers.context.session

    def compose(self) -> ComposeResult:
        # Set here: later the classes would style everything twice.
        self._set_size_classes(self.app.size, update=False)
        yield HeaderLine(id="header")
        yield ProgressRule(id="header-rule")
        with Grid(id="panes"):
            with Container(id="book-side"):
                yield BookPane(self.services.config, id="book")
                yield NotePreview(id="note-preview")
            with Vertical(id="memory-side"):
                yield Line(id="memory-header")
                yield Line(id="memory-origin")
                yield MemoryPane(id="memory")
                yield Line(id="marks-header")
                yield MarksColumn(id="marks-column")
            with Vertical(id="question-side"):
                yield Rule(id="question-rule")
                yield AnswersPane(id="answers")
                yield Actions(id="queued")
                yield Actions(id="passage")
                yield Actions(id="suggestions")
                with Horizontal(id="question-line"):
                    yield Static(" ? ", id="question-mark", markup=False)
                    yield QuestionInput("Ask the book", id="question")
                    yield Actions(id="question-bound")
                yield Actions(id="question-chips")
        yield Static("", id="strip", markup=False)
        yield Actions(id="step")
        yield InputLine(id="input-line")
        with Horizontal(id="last-line"):
            yield KeyLine(id="keys")
            yield StatusLine(id="status")

    def on_mount(self) -> None:
        self.book_pane = self.query_one("#book", BookPane)
        self.book_pane.command_keys = self.services.keys
        self.memory_pane = self.query_one("#memory", MemoryPane)
        self.answers_pane = self.query_one("#answers", AnswersPane)
        self.question = self.query_one("#question", QuestionInput)
        self.input_line = self.query_one("#input-line", InputLine)
        self.panes = PaneSwitcher(self)
        self.panes.fit_columns(self.app.size.width)
        self.lines = StatusLines(self, lambda: self.controllers)
        if isinstance(self._source, Path):
            notice = Block(f"Opening {self._source.name} …", style="muted")
            self.book_pane.show((notice,))
            self._model_ahead = ModelAhead(self._source, self.services)
        self._opening = self.run_worker(self._open(), exit_on_error=True)

    async def on_unmount(self) -> None:
        self._left.set()
        controllers = self.controllers
        if controllers is not None and not controllers.is_closed:
            # A defect ends the app without `close`; a disk that hangs must not keep it.
            flushing = controllers.context.user_data.flush()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(flushing, _LAST_WRITE_S)

    def on_resize(self, event: events.Resize) -> None:
        self._set_size_classes(event.size)
        self.panes.fit_columns(event.size.width)
        self.call_after_refresh(self._resized)

    def _resized(self) -> None:
        self.redraw_lines()
        if self.controllers is not None:
            self.controllers.pages.book_moved()

    def _set_size_classes(self, size: Size, *, update: bool = True) -> None:
        classes = {
            "-narrow": size.width < WIDE_COLUMNS,
            "-roomy": size.width >= ROOMY_COLUMNS,
            "-short": size.height < KEY_LINE_ROWS,
            "-tiny": size.height < HEADER_ROWS,
        }
        self.update_classes(classes, update=update)

    def redraw_lines(self) -> None:
        self.panes.fit_answers()
        self.lines.show()
        # Once the panes have their new places
        self.call_after_refresh(self._stress_focused)
        if self.answers_pane.rows_to_rivals:
            # The status says if there is no room for what other passages say.
            self.call_after_refresh(self.lines.show_status)
        if self.controllers is not None:
            self.controllers.pictures.update()
            self.call_after_refresh(self.controllers.links.preview.fit)
            self.controllers.section_names.update()
            self.call_after_refresh(self.controllers.marks_beside.update)

    def _stress_focused(self) -> None:
        """Draw the rule above the answers heavier while they have the focus.

        This is seen without colours too.
        """
        rule = self.query_one("#question-rule", Rule)
        has_focus = self.panes.current is Pane.ANSWERS
        rule.stress(range(rule.size.width) if has_focus else range(0))

    async def _open(self) -> None:
        """Read the book and show it; then start its session."""
        services = self.services
        try:
            opened = await asyncio.to_thread(
                read_book, self._source, services, self._left.is_set
            )
        except GistreadError as error:
            await self._close_model_ahead()
            services.cannot_open(error)
            return
        book = opened.book
        saved = opened.place
        self._is_new = not (saved.offset or saved.read)
        if self._is_new:
            # A new book opens at its first chapter.
            saved = replace(saved, offset=front_matter_end(book))
        self.book_pane.show_book(book, saved.offset)
        self.answers_pane.places = Places(len(book.text), book=book)
        path = self._source if isinstance(self._source, Path) else None
        controllers = Controllers(ReadingContext(self, book, path, saved))
        self.controllers = controllers
        controllers.navigation.jumps.behind += saved.behind
        controllers.typography.apply_text_order()
        self.redraw_lines()
        if self._tour:
            self.start_tour()
        self._notify_of_book((*book.notices, opened.notice))
        # The first page is drawn before anything else is loaded.
        self.call_after_refresh(self._start, controllers)

    def _notify_of_book(self, notices: Iterable[str]) -> None:
        """Show what was noticed while the book was read; empty notices are left out."""
        text = "\n".join(filter(None, notices))
        if text:
            hint = self.services.with_keys("{encoding} chooses another")
            self.notify(text.replace(CHOOSE_ENCODING, hint), timeout=_NOTICE_S)

    def _start(self, controllers: Controllers) -> None:
        if not self._left.is_set():
            self._opening = self.run_worker(self._start_session(controllers))

    async def _start_session(self, controllers: Controllers) -> None:
        """Load what was saved of this book, start the session, and choose its model."""
        context = controllers.context
        await self._note_opening(controllers)
        await asyncio.to_thread(context.progress.load)
        self.lines.show_place()
        await asyncio.to_thread(controllers.asking.load)
        session = await self._make_session(controllers)
        context.session = session
        self.redraw_lines()
        await asyncio.to_thread(controllers.line.load)
        await asyncio.to_thread(controllers.people.load_corrections)
        await self._show_saved_questions(controllers)
        await session.show_saved_memory()
        context.memory_looked_for = True
        self.redraw_lines()
        await self._use_models(session)
        await self._close_model_ahead()
        with contextlib.suppress(GistreadError, OSError):
            # If this fails, the library says so.
            await asyncio.to_thread(index_new_books, self.services.paths)
        context.opening = False
        self.run_worker(controllers.syncing.start(), group="sync")
        controllers.questions.opened()
        self.redraw_lines()

    async def _note_opening(self, controllers: Controllers) -> None:
        """Save that the book is opened, after reading when it was opened before."""
        context = controllers.context
        opened_at = self.services.user_data.opened_at
        with contextlib.suppress(GistreadError):
            last_opened = await asyncio.to_thread(opened_at, context.book.sha256)
            controllers.recap.set_last_opened(last_opened)
        context.user_data.save_opened()

    async def _make_session(self, controllers: Controllers) -> Session:
        """The session of the book, which takes over an engine that was started ahead."""
        context = controllers.context
        make_engine = self.services.make_engine
        if self._model_ahead is not None:
            make_engine = await self._model_ahead.take()
        return await asyncio.to_thread(
            Session,
            context.book,
            config=controllers.asking.config,
            paths=self.services.paths,
            listener=controllers.on_session_event,
            background=True,
            make_engine=make_engine,
            place=lambda: context.model_place.offset,
        )

    async def _use_models(self, session: Session) -> None:
        """Load the model that answers, if it is another one, and the model of the book."""
        services = self.services
        if services.config.asking_model:
            await session.use_asking_model(services.config.asking_model)
        model = await asyncio.to_thread(model_of, session.book, services)
        if model.name:
            await session.use_model(model.name, read=model.along)
            session.reading.paused_by_user = model.paused

    async def _show_saved_questions(self, controllers: Controllers) -> None:
        await controllers.questions.show_saved()
        exchanges = self.answers_pane.exchanges
        self.question.remember([exchange.record.question for exchange in exchanges])
        if exchanges:
            self.panes.show_answers(self.has_class("-roomy"))

    async def close(self) -> None:
        """Save everything and close the session. The screen is unusable afterwards."""
        await self._stop_opening()
        await self._close_model_ahead()
        controllers = self.controllers
        if controllers is None:
            return
        context = controllers.context
        await controllers.speech.stop()
        view = self.book_pane.visible_range
        if view is not None:
            # The last move may not have been reported yet.
            context.position.moved(*view, turned=self.book_pane.turned)
        self._save_place(controllers)
        unsaved = [await context.user_data.flush()]
        await controllers.syncing.close()
        with contextlib.suppress(GistreadError):
            # How fast the user has read. A problem is known from saving the place, above.
            await asyncio.to_thread(context.progress.keep)
        unsaved.append(await controllers.marks.close())
        self.unsaved = " ".join(filter(None, unsaved))
        if self.unsaved:
            self.warn(self.unsaved)
        controllers.is_closed = True
        if context.session is not None:
            await context.session.close()

    async def _close_model_ahead(self) -> None:
        ahead, self._model_ahead = self._model_ahead, None
        if ahead is not None:
            await ahead.close()

    async def _stop_opening(self) -> None:
        """End what still opens the book: it would draw on a screen that is being removed."""
        self._left.set()
        if self._opening is None or self._opening.is_finished:
            return
        self._opening.cancel()
        with contextlib.suppress(WorkerFailed, WorkerCancelled):
            await self._opening.wait()

    async def save(self) -> str:
        """Save everything now. Returns what could not be saved, in words."""
        controllers = self.controllers
        if controllers is None:
            return ""
        self._save_place(controllers)
        problems = [
            await controllers.context.user_data.flush(),
            await controllers.marks.flush(),
        ]
        return " ".join(filter(None, problems))

    def _save_place(self, controllers: Controllers) -> None:
        """Save the reading place, unless the user has only looked into a new book."""
        context = controllers.context
        if context.position.snapshot != self._not_begun:
            context.user_data.save_place(controllers.navigation.saved_place)

    def warn(self, text: str) -> None:
        self.notify(text, severity="warning", timeout=6)

    @property
    def command_target(self) -> Controllers | None:
        """The controllers: no command runs before the book is open."""
        return self.controllers

    def action_ask_bound(self) -> None:
        if self.controllers is not None:
            self.controllers.line.ask_bound()

    def on_key(self, event: events.Key) -> None:
        """Pass the key to the tour, if it is shown, and tell of a key that changed its meaning."""
        if self.focused is self.book_pane:
            for tour in self.query_children(Tour):
                tour.key(event)
        if event.key == _SAVES_A_NOTE and not self.services.keys.uses(event.key):
            words = "{switch-steps} decides who opens sections. Ctrl+S saves a note."
            self.notify(self.services.with_keys(words))
        self.lines.show_keys()

    async def cancel(self) -> None:
        """Cancel the innermost thing: a typed question, speech, an answer, a search.

        Reading along goes on.
        """
        controllers = self.controllers
        if controllers is None or self._close_line(controllers):
            return
        if self.focused is self.question:
            controllers.line.drop_selection()
            self.panes.show(Pane.BOOK)
        elif not await self._stop_running(controllers):
            await self._leave(controllers)
        self.redraw_lines()

    async def _leave(self, controllers: Controllers) -> None:
        """Leave another pane, a look from a list, a note, a search, or else the answers.

        Before the answers, stop to try a server again.
        """
        panes, look_at = self.panes, self._look_at
        if panes.current is not Pane.BOOK:
            panes.show(Pane.BOOK)
            return
        is_looking = controllers.context.position.looking
        if is_looking and look_at is not None and look_at.came_from is not None:
            self.services.back_to_library(look_at)
            return
        if controllers.links.close_note() or controllers.search.clear():
            return
        session = controllers.context.session
        if session is not None and session.waits_for_server:
            await session.pause()
            return
        panes.show_answers(False)
        panes.leave_focus_mode()
        panes.unseen_answer = False

    async def _stop_running(self, controllers: Controllers) -> bool:
        """Stop what is read aloud, or else the answer. Returns whether one of them ran."""
        session = controllers.context.session
        if controllers.speech.running:
            await controllers.speech.stop()
            return True
        if controllers.questions.drop_queued():
            return True
        if session is not None and session.answering:
            await session.cancel_question()
            return True
        return False

    def _close_line(self, controllers: Controllers) -> bool:
        """Close the input line or the line of a step. Returns whether one of them was open."""
        if self.input_line.is_open:
            self.input_line.action_cancel()
            return True
        return controllers.walk.cancel()

    def start_tour(self) -> None:
        """Show the tour from its beginning, also in place of one that is shown."""
        self.query_children(Tour).remove()
        self.mount(Tour(self.services), after="#panes")

    def end_tour(self) -> None:
        """Remove the tour, if it is shown: a question or a walk takes its place."""
        for tour in self.query_children(Tour):
            tour.step(False)

    @on(Tour.Pointed)
    def _point(self, event: Tour.Pointed) -> None:
        """Mark what a step of the tour is about: a widget, and the tab of its pane."""
        self.panes.pointed_at = _PANES_OF_TOUR.get(event.step)
        for step, selector in _WIDGETS_OF_TOUR.items():
            self.query_one(selector).set_class(step == event.step, "-pointed")
        self.redraw_lines()

    def action_tour(self, on: int) -> None:
        for tour in self.query_children(Tour):
            tour.step(bool(on))

    def open_page(self) -> None:
        """Accept a proposed section, or open what is chosen in the pane.

        That is a line of an answer, a link of the book or a section of the memory. Where the user
        only looks at the book, read on there.
        """
        controllers = self.controllers
        if controllers is None or controllers.steps.accept():
            return
        if self.panes.current is Pane.ANSWERS:
            if not self.answers_pane.follow_line():
                self.warn("This line has no target.")
            return
        if self.panes.current is Pane.BOOK:
            if controllers.links.follow_chosen():
                return
            position = controllers.context.position
            if position.looking:
                position.settle()
                self.redraw_lines()
                return
        controllers.pages.open()

    def action_copy_text(self) -> None:
        """Copy the selection, by Textual's Ctrl+C."""
        if self.controllers is not None:
            self.controllers.marks.copy_selected()

    def clear_selection(self) -> None:
        """Clear the selection, unless a key of the key line is clicked, which applies to it."""
        if not isinstance(self.app.mouse_over, KeyLine):
            super().clear_selection()

    @on(Clicked)
    @on(BookPane.Wanted)
    @on(BookPane.Pointed)
    @on(ProgressRule.Wanted)
    @on(MemoryPane.PageChosen)
    @on(MemoryPane.Appeared)
    @on(AnswersPane.Followed)
    @on(QuestionInput.Asked)
    @on(QuestionInput.Emptied)
    def _pass_on(self, event: Message) -> None:
        if self.controllers is not None:
            self.controllers.on_message(event)

    @on(AnswersPane.Rewrapped)
    def _fit_answers(self) -> None:
        self.panes.fit_answers()

    @on(events.Click, "#question-rule")
    def _rule_clicked(self) -> None:
        self.panes.toggle_answers()

    @on(Input.Changed, "#question")
    def _question_typed(self) -> None:
        self.lines.show_question()
        if self.controllers is not None:
            self.controllers.questions.typed()

    @on(events.Click, "#memory-header, #memory-origin")
    async def _header_clicked(self) -> None:
        if self.controllers is not None:
            await self.controllers.reading_along.choose_memory()

    @on(OffsetChanged, "#book")
    def _book_moved(self, event: OffsetChanged) -> None:
        """Move the reading place, or begin a look; then redraw what stands beside the text."""
        controllers = self.controllers
        if controllers is None:
            return
        context, view = controllers.context, self.book_pane.visible_range
        was_looking = context.position.looking
        if view is not None:
            context.position.moved(*view, turned=event.turned)
            context.model_place.moved()
            # The first view is at the reading place; the look begins there.
            if self._look_at is not None and not self._has_looked:
                self._has_looked = True
                self._look(controllers, self._look_at, view)
        if context.position.looking is not was_looking:
            self.lines.show_status()
        self._measure(controllers, view)
        self.lines.show_place()
        self._save_place(controllers)
        controllers.links.preview.book_moved(turned=event.turned)
        controllers.pages.book_moved()
        controllers.section_names.update()
        controllers.marks_beside.update()
        controllers.pictures.update()
        controllers.search.mark_hits()

    def _look(
        self, controllers: Controllers, look_at: Opening, view: tuple[int, int]
    ) -> None:
        """Show the place that the book was opened at, with its words marked.

        `view`: the range in view, where a look without a place stays.
        """
        position = controllers.context.position
        self._not_begun = position.snapshot if self._is_new else None
        place = look_at.place or view
        if look_at.words:
            controllers.search.look(look_at.words, place)
        else:
            start, _ = place
            controllers.context.navigation.jump(start)

    def _measure(self, controllers: Controllers, view: tuple[int, int] | None) -> None:
        """Measure how fast the user reads, while they read with their own eyes."""
        progress = controllers.context.progress
        is_in_book = self.panes.current is Pane.BOOK
        if view is None or not is_in_book or controllers.speech.running:
            progress.meter.interrupt()
            return
        progress.meter.moved(*view)
        if progress.is_due:
            user_data = controllers.context.user_data
            user_data.save(lambda *_: progress.keep(), replaces="figures")

    @on(EndChanged, "#book")
    def _book_resized(self) -> None:
        view = self.book_pane.visible_range
        if self.controllers is not None and view is not None:
            self.controllers.context.position.moved(*view)
            self.controllers.pages.number_sections()

    @on(MarksColumn.Fitted)
    def _level_marks(self) -> None:
        if self.controllers is not None:
            self.controllers.marks_beside.update()

    @on(MemoryPane.Changed)
    @on(SelectableText.CaretMoved)
    def _changed(self) -> None:
        self.redraw_lines()

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        """Update the current pane. Leaving the input line closes it."""
        if self.input_line.is_open and not self.input_line.has_focus_within:
            self.input_line.close(back=False)
        if event.widget is self.book_pane and self.controllers is not None:
            self.controllers.pages.walking = False
            # On a narrow screen, it was hidden, and is laid out by the next refresh.
            self.call_after_refresh(self.controllers.pages.number_sections)
        self.panes.focused(event.widget.id)
        for tour in self.query_children(Tour):
            # The keys of the tour work in the book.
            tour.display = event.widget is self.book_pane
        self.redraw_lines()
