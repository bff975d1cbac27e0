"""What the reading screen does about the session's news: memory, answers, status. No keys.

SessionEvent comes often while a model decodes. What only changes a line is gathered and drawn ten times a second;
pages are drawn as they come.
"""

from typing import TYPE_CHECKING

from gistread.readers.events import AnswerDelta, Answered, Expanded, LookedUp, OpenedBy, ReaderEvent
from gistread.session import events
from gistread.tui.answer_blocks import put_to, strip_lines
from gistread.tui.layout import STRIP_ROWS, Pane
from gistread.tui.status import Status, status_of
from gistread.tui.text.cells import clean
from gistread.tui.widgets.lines import KeyLine, StatusLine, fitted
from gistread.tui.work.lines import Places
from gistread.user_data import SavedCitation, SavedQuestion

if TYPE_CHECKING:
    from gistread.tui.screens.reading import ReadingScreen

GATHER_S = 0.1
_FOUND = (("next-hit", "next"), ("previous-hit", "previous"), ("all-hits", "all hits"), ("cancel", "clear"))
"""Keys after a search."""
_WITH_CARET = (("caret-next-word", "move"), ("caret-anchor", "begin here"))
_SELECTED = (
    ("copy", "copy"),
    ("highlight", "highlight"),
    ("note", "note"),
    ("look-up", "look up"),
    ("drop-selection", "drop"),
)
"""The keys that matter while something is selected, and by keyboard."""


class SessionListener:
    """Of one reading screen."""

    def __init__(self, screen: "ReadingScreen") -> None:
        self._screen = screen
        self._due = False
        self._deltas: list[AnswerDelta] = []
        self._reason = ""
        self._put = events.QuestionStarted("", "")
        """Who answers the question that is running or was last."""
        self.asked: list[int] = []
        """Pages the agent opened for the question that is running or was last."""

    def hear(self, item: events.SessionEvent) -> None:
        """In the event loop, at once; quick."""
        screen = self._screen
        match item:
            case events.ActivityChanged() | events.MemoryComplete():
                pass  # The status line says it.
            case events.MemoryOpened(memory=memory):
                screen.memory_pane.show_memory(memory)
                screen.show_maker()
                screen.answers_pane.places = Places(len(memory.book.text), memory, memory.book)
                if screen.book is not None:
                    screen.memory_pane.set_here(screen.book_pane.place, scroll=screen.follow)
                screen.look_again()
            case events.PageStarted(page=page):
                screen.memory_pane.set_progress(begun=page, reading=True)
            case events.PageRead(entry=entry):
                screen.memory_pane.add(entry)
                screen.memory_pane.set_here(screen.book_pane.place, scroll=False)
                screen.memory_grew()
            case events.ArtifactGrown():
                screen.memory_grew()
            case events.QuestionAsked(question=question):
                self.asked = []
                screen.memory_pane.clear_question()
                screen.answers_pane.begin(question)
                screen.add_class("-answers")
                screen.show_work()
            case events.QuestionStarted():
                self._put = item
                screen.answers_pane.put(put_to(item.model, item.memory))
            case events.QuestionProgress(event=event):
                self._reader_spoke(event)
            case events.QuestionEnded(problem=problem):
                self._flush()
                screen.answers_pane.end(problem)
                screen.show_work()
                screen.unseen = screen.pane is not Pane.ANSWERS
            case events.Notice(text=text, is_problem=is_problem):
                screen.notify(text, severity="error" if is_problem else "information", timeout=8)
            case events.Crashed(error=error):
                screen.call_later(_raise, error)
        self._gather()

    def _reader_spoke(self, event: ReaderEvent) -> None:
        screen = self._screen
        if isinstance(event, AnswerDelta):
            self._deltas.append(event)
            return
        self._flush()
        screen.answers_pane.hear(event)
        screen.show_work()
        memory = screen.memory_pane
        match event:
            case LookedUp(reason=reason):
                self._reason = reason
            case Expanded(page=page, by=by):
                if by is OpenedBy.AGENT:
                    self.asked.append(page)
                    memory.open_page(page, OpenedBy.AGENT, self._reason)
                elif page not in memory.view.opened:
                    memory.open_page(page, OpenedBy.PERSON, "pinned for the question")
                memory.bring_into_view(page)
            case Answered():
                self._keep(event)
            case _:
                pass

    def _keep(self, answered: Answered) -> None:
        screen = self._screen
        if screen.keeping is None or screen.session is None:
            return
        screen.keeping.question(
            SavedQuestion(
                screen.answers_pane.exchanges[-1].question,
                answered.answer,
                answered.found,
                tuple(SavedCitation(c.page, c.start, c.end, c.quote) for c in answered.citations),
                answered.lookups,
                screen.session.reader,
                self._put.model,
                self._put.memory,
            )
        )

    def _flush(self) -> None:
        if self._deltas:
            self._screen.answers_pane.hear(*self._deltas)
            self._deltas.clear()

    def _gather(self) -> None:
        if not self._due:
            self._due = True
            self._screen.set_timer(GATHER_S, self._draw)

    def _draw(self) -> None:
        self._due = False
        self._flush()
        session = self._screen.session
        if session is not None:
            page = session.activity.page
            self._screen.memory_pane.set_progress(
                begun=page, reading=session.activity.reading is events.ReadingState.RUNNING
            )
        self.show_status()
        self._screen.show_memory_header()
        self._screen.show_maker()

    def show_status(self) -> None:
        """Status, keys and, with one pane, the strip."""
        screen = self._screen
        session = screen.session
        status = status_of(session.activity) if session is not None else Status(("",), " ")
        fetching = screen.gistread.fetching
        note = screen.search_note or (fetching.note if fetching is not None else "")
        screen.query_one("#status", StatusLine).show_status(status, note)
        self.show_keys()
        if session is not None:
            self._show_strip(session.activity.asking is not events.AskingState.IDLE)

    def show_keys(self) -> None:
        """The key line: a count that waits for its command, or the keys that matter here."""
        screen = self._screen
        leading = self._leading(screen.session.activity) if screen.session is not None else []
        if screen.search_note and screen.pane is Pane.BOOK:
            leading = [*_FOUND, *leading]
        if screen.book_pane.selecting:
            leading = [*_WITH_CARET, *_SELECTED]
        elif screen.book_pane.selected_range is not None:
            leading = list(_SELECTED)
        if screen.aloud.running or screen.aloud.paused:
            paused = screen.aloud.paused
            leading = [
                ("read-aloud", "stop" if paused else "stop reading"),
                ("pause-speech", "go on" if paused else "pause"),
            ]
        keys = screen.query_one("#keys", KeyLine)
        keys.show_keys(screen.pane.value, screen.gistread.keymap, leading, screen.book_pane.count.pending)

    def _leading(self, activity: events.Activity) -> list[tuple[str, str]]:
        if activity.asking is not events.AskingState.IDLE:
            refuse = [("refuse", "refuse page")] if self.asked else []
            return [("cancel", "cancel"), ("stop-lookups", "answer now"), *refuse]
        if activity.reading is events.ReadingState.OFFERED:
            return [("resume", "read anew")]
        if not activity.model:
            return [("choose-model", "choose a model")]
        paused = activity.artifact is not None and activity.artifact.paused
        if paused or activity.reading in (events.ReadingState.PAUSED, events.ReadingState.FAILED):
            return [("resume", "go on")]
        return []

    def _show_strip(self, running: bool) -> None:
        """The agent's steps at the bottom of whatever pane is on screen, where only one fits."""
        screen = self._screen
        exchanges = screen.answers_pane.exchanges
        wanted = screen.narrow and screen.pane is not Pane.ANSWERS and bool(exchanges) and (running or screen.unseen)
        room = max(0, screen.size.width - 2)
        lines = strip_lines(exchanges[-1], screen.answers_pane.places, STRIP_ROWS) if wanted else []
        screen.show_strip([fitted(clean(line), room) for line in lines])


def _raise(error: Exception) -> None:
    """Where Textual calls it, its handling of defects sees the error; in the session's task nothing would."""
    raise error
