"""The passage that the next question is about: quoted above the question line, dropped, and noted with its answer."""

from gistread.memory.passages import Passage
from gistread.readers.passage import CHOICES, abbreviate
from gistread.readers.text import in_quotes
from gistread.tui.answer_blocks import Exchange
from gistread.tui.commands import THREAD_KEY, display_key, run
from gistread.tui.layout import Pane
from gistread.tui.marking.caret import whole_words
from gistread.tui.marking.controller import MarkController
from gistread.tui.reading.context import ReadingContext
from gistread.tui.widgets.lines import Actions
from gistread.tui.work.lines import short

_QUOTED = 36  # most characters that are quoted


class PassageController:
    def __init__(self, context: ReadingContext, marks: MarkController) -> None:
        self._context = context
        self._marks = marks
        self.place: Passage | None = None
        self._translation = CHOICES[-1][1]  # with the language named last

    def take(self) -> None:
        """Take what is selected in the book, or nothing."""
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
        """(label, question) of each question that is offered. The first translation leaves the language to be typed."""
        return (*CHOICES[:-1], (CHOICES[-1][0], self._translation))

    @property
    def offers_note(self) -> bool:
        """Whether the last answer can be kept as a note."""
        last = self._context.answers_pane.exchanges[-1:]
        return bool(last) and self._context.panes.answers_shown and last[0].offers_note

    def keep_answer(self, number: int | None = None) -> None:
        """Keep the answer of this exchange, else the chosen or last one, as a note on its passage."""
        answers = self._context.answers_pane
        if number is None:
            key = answers.cursor_key if self._context.panes.current is Pane.ANSWERS else None
            number = key[1] if isinstance(key, tuple) else len(answers.exchanges) - 1
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
