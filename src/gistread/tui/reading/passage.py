"""The passage that the next question is about: quotes it above the question line, and notes the answer on it."""

from gistread.memory.passages import Passage
from gistread.readers.passage import CHOICES, abbreviate
from gistread.readers.text import in_quotes
from gistread.tui.answer_blocks import Exchange
from gistread.tui.commands import THREAD_KEY, display_key, run
from gistread.tui.marking.caret import whole_words
from gistread.tui.marking.controller import MarkController
from gistread.tui.reading.context import ReadingContext
from gistread.tui.widgets.lines import Actions
from gistread.tui.work.lines import short

_QUOTED = 36  # maximum characters quoted


class PassageController:
    def __init__(self, context: ReadingContext, marks: MarkController) -> None:
        self._context = context
        self._marks = marks
        self.place: Passage | None = None
        self._translation = CHOICES[-1][1]  # with the language of the last translation

    def take(self) -> None:
        """Take the selection in the book; without one, drop the passage."""
        selected = self._context.book_pane.selected_range
        self._show(whole_words(self._context.book, selected) if selected else None)

    def drop(self) -> None:
        self._show(None)

    def asked(self, question: str) -> None:
        """The passage has been asked about."""
        if question.startswith(CHOICES[-1][1]):
            self._translation = question
        self.drop()
        self._context.book_pane.drop_selection()

    @property
    def choices(self) -> tuple[tuple[str, str], ...]:
        """(label, question) of each offered question. In the first translation the language is left to be typed."""
        return (*CHOICES[:-1], (CHOICES[-1][0], self._translation))

    @property
    def offers_note(self) -> bool:
        """Whether the last answer can be kept as a note."""
        last = self._context.answers_pane.exchanges[-1:]
        return bool(last) and self._context.panes.answers_shown and last[0].offers_note

    def keep_answer(self, number: int | None = None) -> None:
        """Keep the answer of this exchange, else the chosen or last one, as a note on its passage."""
        answers = self._context.answers_pane
        number = self._context.chosen_exchange if number is None else number
        exchange = answers.exchanges[number] if number >= 0 else Exchange("")
        if exchange.passage is None or not exchange.offers_note:
            self._context.warn("No answer about a passage here.")
        else:
            quotes = [in_quotes(one.quote) for one in exchange.citations if exchange.ends_in_quotes]
            self._marks.add_note(exchange.passage, "\n".join([exchange.answer.strip(), *quotes]))
            answers.mark_kept(number)

    def _show(self, place: Passage | None) -> None:
        self.place = place
        line = self._context.screen.query_one("#passage", Actions)
        if place is not None:
            quote = short(abbreviate(self._context.book.text[slice(*place)]), _QUOTED)
            drop = run("questions.drop_passage")
            line.show_actions(("¶", quote, drop), (display_key(THREAD_KEY), "drop", drop))
        line.set_class(place is not None, "-some")
