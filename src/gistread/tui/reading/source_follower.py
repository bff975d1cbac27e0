"""Follows an answer's sources, pages and reader steps to the book and the memory."""

from gistread.readers.events import Citation, OpenedBy
from gistread.tui.answer_blocks import ToSource, Unfold
from gistread.tui.layout import Pane
from gistread.tui.reading.context import ReadingContext
from gistread.tui.reading.mark_layers import Layer
from gistread.tui.reading.memory_pages import MemoryPages
from gistread.tui.reading.navigation import Navigation
from gistread.tui.text import Mark
from gistread.tui.widgets.answers_pane import AnswersPane
from gistread.tui.work.lines import ToPage, ToPlace

_CITATION_TOP = 0.2


class SourceFollower:
    def __init__(self, context: ReadingContext, navigation: Navigation, pages: MemoryPages) -> None:
        self._context = context
        self._navigation = navigation
        self._pages = pages

    def followed(self, event: AnswersPane.Followed) -> None:
        """Go where a line of an answer leads."""
        match event.goal:
            case ToPage(page=number):
                self._go_to_page(number)
            case ToPlace(start=start, end=end):
                self._go_to_place(start, end)
            case ToSource(index=index):
                self._go_to_citation(self._context.answers_pane.exchanges[event.exchange].citations[index])
            case Unfold():
                self._context.panes.fit_answers()

    def follow(self, number: int) -> None:
        """Go to this source of the last answer, counted from 1."""
        exchanges = self._context.answers_pane.exchanges
        citations = exchanges[-1].citations if exchanges else ()
        if number <= len(citations):
            self._go_to_citation(citations[number - 1])
        else:
            self._context.warn(f"The last answer has no source {number}.")

    def toggle_work(self) -> None:
        """Show every step the reader took for a question, or only one line."""
        panes, answers = self._context.panes, self._context.answers_pane
        key = answers.cursor_key if panes.current is Pane.ANSWERS else None
        number = key[1] if isinstance(key, tuple) else len(answers.exchanges) - 1
        if number < 0 or not answers.unfold(number):
            self._context.warn("No steps to show: this reader only opened pages, or the question is from another day.")
            return
        panes.show_answers()
        panes.fit_answers()
        if panes.narrow:
            panes.show(Pane.ANSWERS)

    def _go_to_page(self, number: int) -> None:
        memory = self._context.memory_pane.memory
        if memory is None or not 1 <= number <= len(memory.entries):
            self._context.warn(f"Page {number} has not been read.")
            return
        self._context.memory_pane.bring_into_view(number)
        self._jump(memory.entry(number).page.start)

    def _go_to_place(self, start: int, end: int) -> None:
        self._context.layers.set(Layer.CITED, [Mark(start, end, "cited")])
        self._jump(start, _CITATION_TOP)

    def _go_to_citation(self, citation: Citation) -> None:
        pane = self._context.memory_pane
        if pane.memory is not None and 1 <= citation.page <= len(pane.memory.entries):
            if citation.page not in pane.view.opened:
                pane.open_page(citation.page, OpenedBy.PERSON, "a source of the answer")
            pane.scroll_to_offset(citation.start, top=0.3)
            self._pages.keep_memory_in_place()
        self._go_to_place(citation.start, citation.end)

    def _jump(self, offset: int, top: float = 0.0) -> None:
        panes = self._context.panes
        from_answers = panes.narrow and panes.current is Pane.ANSWERS
        self._navigation.jump(offset, top, return_to=Pane.ANSWERS if from_answers else None)
        if panes.narrow:
            panes.show(Pane.BOOK)
