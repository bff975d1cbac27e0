"""Shows the session's events: memory, answers, status.

Events come often while a model decodes. What only changes a line is drawn ten times a second; pages at once.
"""

from gistread.session import events
from gistread.tui.reading.context import ReadingContext
from gistread.tui.reading.memory_pages import MemoryPages
from gistread.tui.reading.memory_zoom import MemoryZoom
from gistread.tui.reading.questions import QuestionController
from gistread.tui.work.lines import Places

REDRAW_S = 0.1


class SessionListener:
    def __init__(
        self, context: ReadingContext, questions: QuestionController, zoom: MemoryZoom, pages: MemoryPages
    ) -> None:
        self._context = context
        self._questions = questions
        self._zoom = zoom
        self._pages = pages
        self._due = False

    def on_event(self, event: events.SessionEvent) -> None:
        """Called in the event loop; quick."""
        context, pane = self._context, self._context.memory_pane
        match event:
            case events.MemoryOpened(memory=memory):
                pane.show_memory(memory)
                context.answers_pane.places = Places(len(memory.book.text), memory, memory.book)
                pane.set_here(context.place, scroll=self._pages.following)
                self._zoom.redraw()
            case events.PageStarted(page=page):
                pane.set_progress(begun=page, reading=True)
            case events.PageRead(entry=entry):
                pane.add(entry)
                pane.set_here(context.place, scroll=False)
                self._zoom.memory_grew()
            case events.ArtifactGrown():
                self._zoom.memory_grew()
            case events.QuestionAsked(question=question):
                self._questions.on_asked(question)
            case events.QuestionStarted():
                self._questions.on_put(event)
            case events.QuestionProgress(event=reader_event):
                self._questions.on_reader_event(reader_event)
            case events.QuestionEnded(problem=problem):
                self._questions.on_ended(problem)
            case events.Notice(text=text, is_problem=is_problem):
                context.screen.notify(text, severity="error" if is_problem else "information", timeout=8)
            case events.Crashed(error=error):
                context.screen.call_later(_raise, error)
        self._redraw_soon()

    def _redraw_soon(self) -> None:
        if not self._due:
            self._due = True
            self._context.screen.set_timer(REDRAW_S, self._redraw)

    def _redraw(self) -> None:
        self._due = False
        self._questions.flush()
        session = self._context.session
        if session is not None:
            running = session.activity.reading is events.ReadingState.RUNNING
            self._context.memory_pane.set_progress(begun=session.activity.page, reading=running)
        self._context.refresh()


def _raise(error: Exception) -> None:
    """Raise where Textual handles it; in the session's task nobody would see it."""
    raise error
