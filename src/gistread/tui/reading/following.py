"""Following what an answer says to where it stands: sources, pages, every step of a reader; and the way back.

A part of the reading screen. What leads where is known by the answers pane.
"""

from textual import on

from gistread.readers.events import Citation, OpenedBy
from gistread.tui.answer_blocks import ToSource, Unfold
from gistread.tui.layout import Pane
from gistread.tui.marking.layers import Layer, Layers
from gistread.tui.reading.moving import Moving
from gistread.tui.text.marks import Mark
from gistread.tui.widgets.answers_pane import AnswersPane
from gistread.tui.work.lines import ToPage, ToPlace

_USUAL_SHARE, _LARGEST_SHARE = 0.28, 0.46
"""Of the screen's height, for the answers."""


class Following(Moving):
    """What a screen with a book pane, a memory pane and answers needs to follow these."""

    mark_layers: Layers

    @property
    def narrow(self) -> bool:
        """Whether one pane is shown at a time."""
        raise NotImplementedError

    def __init__(self) -> None:
        super().__init__()
        self._memory_stays = False
        """The memory shows the words of a source: the book's own move to them does not scroll it away."""
        self._came_from_answers = False
        """On a screen with one pane the person has gone from an answer to the book: back leads there again."""

    @on(AnswersPane.Followed)
    def _followed(self, event: AnswersPane.Followed) -> None:
        match event.goal:
            case ToPage(page=number):
                self._go_to_page(number)
            case ToPlace(start=start, end=end):
                self._go_to_place(start, end)
            case ToSource(index=index):
                self._go_to_citation(self.answers_pane.exchanges[event.exchange].citations[index])
            case Unfold():
                self.show_work()

    def action_citation(self, number: int) -> None:
        exchanges = self.answers_pane.exchanges
        citations = exchanges[-1].citations if exchanges else ()
        if number <= len(citations):
            self._go_to_citation(citations[number - 1])
        else:
            self.warn(f"The last answer has no source {number}.")

    def action_show_work(self) -> None:
        """All that the reader did for the question in hand, or one line of it."""
        pane = self.answers_pane
        key = pane.cursor_key if self.pane is Pane.ANSWERS else None
        number = key[1] if isinstance(key, tuple) else len(pane.exchanges) - 1
        if number < 0 or not pane.unfold(number):
            self.warn("There is nothing to show: the reader opened pages, or this was asked at another time.")
            return
        self.add_class("-answers")
        self.show_work()
        if self.narrow:
            self.to_pane(Pane.ANSWERS)

    def show_work(self) -> None:
        """Give the answers as much room as a reader needs that shows all it does, but never half of the screen."""
        pane = self.answers_pane
        if pane.works and not self.narrow:
            least, most = int(_USUAL_SHARE * self.size.height), int(_LARGEST_SHARE * self.size.height)
            pane.styles.height = min(most, max(least, pane.row_count))
        else:
            pane.styles.clear_rule("height")

    def action_back(self) -> None:
        super().action_back()
        if self._came_from_answers:
            self._came_from_answers = False
            self.to_pane(Pane.ANSWERS)

    # Going there

    def _go_to_page(self, number: int) -> None:
        memory = self.memory_pane.memory
        if memory is None or not 1 <= number <= len(memory.entries):
            self.warn(f"Page {number} has not been read.")
            return
        self.memory_pane.bring_into_view(number)
        self._jump_from_answers(memory.entry(number).page.start)

    def _go_to_place(self, start: int, end: int) -> None:
        self.mark_layers.set(Layer.CITED, [Mark(start, end, "cited")])
        self._jump_from_answers(start, 0.2)

    def _go_to_citation(self, citation: Citation) -> None:
        memory = self.memory_pane.memory
        if memory is not None and 1 <= citation.page <= len(memory.entries):
            if citation.page not in self.memory_pane.view.opened:
                self.memory_pane.open_page(citation.page, OpenedBy.PERSON, "a source of the answer")
            self.memory_pane.scroll_to_offset(citation.start, top=0.3)
            self._memory_stays = True
        self.mark_layers.set(Layer.CITED, [Mark(citation.start, citation.end, "cited")])
        self._jump_from_answers(citation.start, 0.2)

    def _jump_from_answers(self, offset: int, top: float = 0.0) -> None:
        self.jump(offset, top)
        if self.narrow:
            came_from_answers = self.pane is Pane.ANSWERS
            self.to_pane(Pane.BOOK)
            self._came_from_answers = came_from_answers
