"""Digits typed in the book: a count for the next command, or the number of a source of the answer in view."""

from textual import events
from textual.timer import Timer

from gistread.tui.reading.context import ReadingContext
from gistread.tui.reading.source_follower import SourceFollower

CITATION_PAUSE_S = 0.6
"""A digit with an answer in view is the number of a source, unless another key follows within this time."""


class CountKeys:
    def __init__(self, context: ReadingContext, sources: SourceFollower) -> None:
        self._context = context
        self._sources = sources
        self._timer: Timer | None = None

    def key(self, event: events.Key) -> None:
        """A digit while the book has the focus begins a count; Escape drops it; the next command takes it."""
        context, count = self._context, self._context.book_pane.count
        if self._timer is not None:
            self._timer.stop()
            self._timer = None
        if context.screen.focused is not context.book_pane:
            count.drop()
        elif event.key == "escape" and count.pending:
            count.drop()
            event.stop()
        elif count.add(event.character):
            event.stop()
            number = int(count.typed)
            if number <= 9 and self._sources_in_view():
                self._timer = context.screen.set_timer(CITATION_PAUSE_S, lambda: self._follow(number))

    def _sources_in_view(self) -> bool:
        answers = self._context.answers_pane
        shown = answers.size.height if answers.display else self._context.screen.has_class("-strip")
        return bool(answers.exchanges and answers.exchanges[-1].citations and shown)

    def _follow(self, number: int) -> None:
        self._timer = None
        self._context.book_pane.count.drop()
        self._context.refresh()
        self._sources.follow(number)
