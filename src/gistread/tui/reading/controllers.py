"""The controllers of one open book. Passes clicks, messages and session events to them."""

import asyncio

from textual.message import Message

from gistread.memory.model import GistMemory
from gistread.readers.selection import DEFINE
from gistread.readers.trace import Places
from gistread.session import events
from gistread.session.session import Session
from gistread.tui.answer_blocks import AskAgain, GoOn, KeepNote, Walk, WriteAnew
from gistread.tui.marking.controller import MarkController
from gistread.tui.reading.answers import AnswerController, ThreadController
from gistread.tui.reading.asking import AskingController
from gistread.tui.reading.book_file import BookFileController
from gistread.tui.reading.context import ReadingContext
from gistread.tui.reading.layers import Layer
from gistread.tui.reading.links import LinkController
from gistread.tui.reading.marks_beside import MarksBeside
from gistread.tui.reading.memory_pages import MemoryPages
from gistread.tui.reading.pane_switcher import Pane
from gistread.tui.reading.question_line import QuestionLine
from gistread.tui.reading.questions import QuestionController
from gistread.tui.reading.reading_along import ReadingAlong
from gistread.tui.reading.search import SearchController
from gistread.tui.reading.section_names import SectionNamer
from gistread.tui.reading.so_far import PeopleController, RecapController
from gistread.tui.reading.speech import ReadAloud
from gistread.tui.reading.steps import StepController
from gistread.tui.reading.syncing import SyncController
from gistread.tui.reading.viewing import Pictures, Typography
from gistread.tui.reading.walk import WalkController
from gistread.tui.text import Clicked, Mark
from gistread.tui.widgets.answers_pane import AnswersPane
from gistread.tui.widgets.book_pane import BookPane
from gistread.tui.widgets.input_line import QuestionInput
from gistread.tui.widgets.memory_pane import MemoryPane
from gistread.tui.widgets.progress_rule import ProgressRule

REDRAW_S = 0.1  # Shortest time between two redraws after session events
_NOTICE_S = 8  # Seconds that a notice of the session is shown
# Mark of the page that the model is reading: only a sign in the margin
_BEING_READ, _SIGN = "being-read", "◌"


def _raise(error: Exception) -> None:
    """Raise the error where Textual handles it; in the session's task nobody would see it."""
    raise error


class Controllers:
    """One controller for each thing that a book on the screen can do."""

    def __init__(self, context: ReadingContext) -> None:
        self.context = context
        self.panes = context.panes
        self.navigation = context.navigation
        self.search = SearchController(context)
        self.links = LinkController(context)
        self.pictures = Pictures(context)
        self.marks = MarkController(
            context, lambda: self.questions.ask_about_selected(DEFINE)
        )
        self.marks_beside = MarksBeside(context, self.marks)
        self.speech = ReadAloud(context)
        self.typography = Typography(context)
        self.book_file = BookFileController(context)
        self.pages = MemoryPages(context)
        self.reading_along = ReadingAlong(context)
        self.answers = AnswerController(context, self.pages, self.marks)
        self.line = QuestionLine(context)
        self.asking = AskingController(context, self.line)
        self.questions = QuestionController(context, self.pages, self.line, self.asking)
        self.walk = WalkController(context, self.questions)
        self.steps = StepController(context, self.questions, self.asking, self.walk)
        self.threads = ThreadController(context, self.questions, self.line)
        self.people = PeopleController(context, self.line)
        self.recap = RecapController(context, self.line)
        self.syncing = SyncController(context)
        self.section_names = SectionNamer(context, self.pages, self.line, self.people)
        self._redraw_due = False
        self.is_closed = False  # Its screen is being removed: nothing is drawn any more
        # Whether the model was reading at the last redraw
        self._was_reading = False

    def on_session_event(self, event: events.SessionEvent) -> None:
        """Show what has happened. Called in the event loop, so it must be quick."""
        context = self.context
        match event:
            case events.MemoryOpened(memory=memory):
                self._show_memory(memory)
            case events.QuestionAsked(question=question):
                self.questions.on_asked(question)
            case events.QuestionStarted():
                self.questions.on_started(event)
            case events.QuestionProgress(event=reader_event):
                self.questions.on_reader_event(reader_event)
            case events.QuestionEnded(problem=problem):
                self.questions.on_ended(problem)
                context.services.signals.ended(problem or "The question is answered.")
            case events.Notice(text=text, is_problem=True):
                context.screen.notify(text, severity="error", timeout=_NOTICE_S)
            case events.Notice(text=text):
                context.screen.notify(text, timeout=_NOTICE_S)
            case events.Crashed(error=error):
                context.screen.call_later(_raise, error)
        self._redraw_soon()

    def _show_memory(self, memory: GistMemory) -> None:
        """Show a memory that has just been opened."""
        pane = self.context.memory_pane
        pane.show_memory(memory)
        # Before anything scrolls: text that is hidden later would move the section in view.
        pane.change_view(bound=self.line.bound)
        places = Places(len(memory.book.text), memory, memory.book)
        self.context.answers_pane.places = places
        self.pages.show_here(scroll=True)

    def _redraw_soon(self) -> None:
        """Redraw once for all events of a moment."""
        if self._redraw_due:
            return
        self._redraw_due = True
        # Textual's timers skip a tick that is late: on a busy machine nothing would ever be
        # redrawn again.
        loop = asyncio.get_running_loop()
        loop.call_later(REDRAW_S, self.context.screen.call_next, self._redraw)

    def _redraw(self) -> None:
        self._redraw_due = False
        # When the app ends, the widgets leave before their screen.
        is_ending = not self.context.screen.app.is_running
        if self.is_closed or is_ending:
            return
        self.questions.flush()
        self.questions.ask_waiting()
        if self.context.session is not None:
            self._show_reading(self.context.session)
        self.context.refresh()

    def _show_reading(self, session: Session) -> None:
        """Show how far the model is, and which page it is reading."""
        context, activity = self.context, session.activity
        self._signal_reading(activity)
        page = activity.page
        has_moved = context.memory_pane.show_reading(
            begun=page,
            draft=session.reading.draft,
            reading=activity.reading is events.ReadingState.RUNNING,
        )
        if has_moved:
            self.pages.show_here(scroll=context.panes.current is not Pane.MEMORY)
        top, bottom = context.book_pane.visible_range or (0, 0)
        marks: list[Mark] = []
        # Out of view, nobody would see the mark.
        if page is not None and top <= page.start < bottom:
            marks.append(Mark(page.start, page.end, _BEING_READ, sign=_SIGN))
        context.layers.set(Layer.MODEL, marks)

    def _signal_reading(self, activity: events.Activity) -> None:
        """Tell the terminal how far the model is, and once that it has read the book."""
        is_reading = activity.reading is events.ReadingState.RUNNING
        share = None  # No progress is shown.
        if is_reading:
            share = activity.pages_read / max(1, activity.pages_total)
        signals = self.context.services.signals
        signals.progress(share)
        if self._was_reading and activity.reading is events.ReadingState.DONE:
            signals.ended(f"The memory of {self.context.book.title} is complete.")
        self._was_reading = is_reading

    def on_message(self, event: Message) -> None:
        """Pass a message of a widget to the controller that handles it."""
        match event:
            case Clicked():
                self.clicked(event)
            case BookPane.Pointed(link=link):
                self.links.pointed_at(link)
            case BookPane.Wanted() | ProgressRule.Wanted():
                self.navigation.jump(round(len(self.context.book.text) * event.share))
            case MemoryPane.PageChosen():
                self.pages.page_chosen(event)
            case MemoryPane.Appeared():
                self.pages.appeared()
            case AnswersPane.Followed():
                self._followed(event)
            case QuestionInput.Asked(question=question):
                self.questions.submit(question)
            case QuestionInput.Emptied():
                self.line.drop_or_switch()

    def _followed(self, event: AnswersPane.Followed) -> None:
        """Do what was chosen in an answer."""
        number = event.exchange
        match event.target:
            case Walk():
                self.walk.begin(number)
            case KeepNote():
                self.answers.keep(number)
            case AskAgain():
                self.context.screen.run_worker(self.questions.ask_again(number))
            case WriteAnew():
                self.questions.write_without_refused(number)
            case GoOn():
                self.context.screen.run_worker(self.questions.go_on(number))
            case _:
                self.answers.followed(event)

    def clicked(self, event: Clicked) -> None:
        """Pass a click to the first controller that handles it."""
        pane = event.control.id
        if pane == "marks-column":
            self.marks_beside.clicked(event)
            return
        if pane == "note-preview":
            self.links.clicked(event)
            return
        handlers_in_book = (
            self.links.clicked,
            self.marks.clicked,
            self.pictures.clicked,
            self.typography.clicked,
        )
        if pane == Pane.BOOK and any(handle(event) for handle in handlers_in_book):
            return
        may_name_people = pane in (Pane.BOOK, Pane.MEMORY, Pane.ANSWERS)
        if may_name_people and self.people.may_be_name(event):
            self.context.screen.run_worker(self._name_clicked(event))
        elif pane == Pane.MEMORY:
            self.pages.clicked(event)

    async def _name_clicked(self, event: Clicked) -> None:
        """Show the person that was clicked; a click on no name may open a section."""
        is_person = await self.people.clicked(event)
        if not is_person and event.control.id == Pane.MEMORY:
            self.pages.clicked(event)
