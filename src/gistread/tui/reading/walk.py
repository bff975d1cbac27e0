"""Walks the steps behind an answer: for each its section, reason and cited sentence.

A step can be left out, or taken back: the answer is then written anew beside the old one.
"""

from dataclasses import replace

from gistread.memory.model import GistMemory
from gistread.memory.sections import Sections, renumbered, sections_of
from gistread.memory.sizes import unread_memory
from gistread.readers.trace import with_reason
from gistread.readers.walk import WalkStep, saved_walk
from gistread.tui.memory_blocks import SectionNote
from gistread.tui.reading.context import ReadingContext
from gistread.tui.reading.layers import Layer
from gistread.tui.reading.pane_switcher import Pane
from gistread.tui.reading.questions import QuestionController
from gistread.tui.text import Mark
from gistread.tui.widgets.lines import ActionItem
from gistread.units import in_quotes, short

_TOP = 0.2  # Where a step is shown in the book's view, from 0 (top) to 1
_AROUND_SENTENCE = 14  # Columns of the step's line beside a cited sentence
_LEAVE_OUT = "{refuse}\u00a0leave\u00a0out"
_TAKE_BACK = "{refuse}\u00a0take\u00a0back"
_KEYS = "{previous-step}\u00a0{next-step}\u00a0steps, "


class WalkController:
    """Shows one step of an answer after the other, and leaves steps out of it."""

    def __init__(self, context: ReadingContext, questions: QuestionController) -> None:
        self._context = context
        self._questions = questions
        # When the question was asked whose answer is walked; this identifies it
        self._asked_at = 0.0
        self._sections: Sections | None = None  # The sections that number the steps
        self._steps: list[WalkStep] = []
        self._at = 0  # Index of the step that is shown

    @property
    def is_open(self) -> bool:
        """Whether a step is shown, and its answer is still there."""
        session = self._context.session
        is_answering = session is not None and session.answering
        return bool(self._steps) and self._number is not None and not is_answering

    @property
    def _number(self) -> int | None:
        """The number of the walked exchange; None if it was deleted.

        It changes when others are added, moved or deleted.
        """
        for number, exchange in enumerate(self._context.answers_pane.exchanges):
            if exchange.record.asked_at == self._asked_at:
                return number
        return None

    @property
    def _current(self) -> WalkStep:
        return self._steps[self._at]

    def begin(self, number: int | None, *, at_end: bool = False) -> None:
        """Walk the steps behind the `number`th answer, from 0; warns if it has none.

        `at_end`: begin at the last step.
        """
        exchanges = self._context.answers_pane.exchanges
        session = self._context.session
        if session is not None and session.answering:
            self._context.warn("The answer is still being written.")
            return
        steps: list[WalkStep] = []
        sections = None
        asked_at = 0.0
        if number is not None and number < len(exchanges):
            exchange = exchanges[number]
            sections = exchange.sections or Sections(self._memory)
            steps = saved_walk(exchange.record, sections, self._memory)
            asked_at = exchange.record.asked_at
        if not steps:
            self._context.warn("No answer with steps to walk.")
            return
        self._asked_at = asked_at
        self._sections = sections
        self._steps = steps
        self._at = len(steps) - 1 if at_end else 0
        self._show()

    def step(self, step: int) -> None:
        """Show the next or previous step. Without a walk, begin one behind the chosen answer."""
        if not self.is_open:
            self.begin(self._context.chosen_exchange, at_end=step < 0)
            return
        self._at = (self._at + step) % len(self._steps)
        self._show()

    def leave_out(self) -> None:
        """Write the answer anew without this section, or with it if it was left out."""
        number = self._number
        if number is None or not self.is_open:
            return
        step = self._current
        steered = self._context.answers_pane.exchanges[number].record.steered
        if steered is None:
            self._context.warn("This answer is older: ask again to leave sections out.")
            return
        sections = self._sections
        assert sections is not None, "no step is shown"
        left_out = {sections.number_at(offset) for offset in steered.refused}
        if step.is_left_out:
            left_out.discard(step.number)
        else:
            left_out.add(step.number)
        refused = tuple(start for start, _ in sections.places_of(left_out))
        self.close()
        self._questions.write_anew(number, replace(steered, refused=refused))

    def cancel(self) -> bool:
        """Close the walk, unless a question is being typed. Returns whether it was closed."""
        if not self.is_open or self._context.question.has_focus:
            return False
        self.close()
        return True

    def close(self) -> None:
        """End the walk: show no step any more."""
        if not self._steps:
            return
        self._take_down()
        self._context.refresh()

    def update(self) -> None:
        """End the walk if its answer is gone, or a question is being answered."""
        if self._steps and not self.is_open:
            self._take_down()

    def _take_down(self) -> None:
        self._steps = []
        self._context.layers.set(Layer.CITED)
        self._context.memory_pane.show_note(None)

    def about(self) -> list[ActionItem]:
        """The step that is shown: where it stands, why it was read, what is cited from it."""
        step = self._current
        number = self._in_pane(step)
        title = f"Step {self._at + 1} of {len(self._steps)}: section {number}"
        section_start, _ = step.place
        items: list[ActionItem] = [
            (title, "", self._go_to),
            ("", self._questions.place_words(section_start), self._go_to),
        ]
        if step.is_left_out:
            items.append(("", "left out", self._go_to))
        if step.reason:
            items.append(("", step.reason, self._go_to))
        room = self._context.screen.size.width - _AROUND_SENTENCE
        for start, end in step.cited:
            sentence = short(self._context.book.text[start:end], room)
            items.append(("", f"cited: {in_quotes(sentence)}", self._go_to))
        if not step.cited and not step.is_left_out:
            items.append(("", "not cited", self._go_to))
        return items

    def actions(self) -> list[ActionItem]:
        """What can be done with the step that is shown."""
        number = self._number
        assert number is not None, "no step is shown"
        step = self._current
        hint = self._context.key_hint
        exchange = self._context.answers_pane.exchanges[number]
        items: list[ActionItem] = [
            (hint("previous-step"), "back", lambda: self.step(-1)),
            (hint("next-step"), "next step", lambda: self.step(1)),
        ]
        if exchange.record.steered is not None:
            word = "take back" if step.is_left_out else "leave out"
            items.append((hint("refuse"), word, self.leave_out))
        return [*items, (hint("cancel"), "close", self.close)]

    @property
    def _memory(self) -> GistMemory:
        return self._context.memory_pane.memory or unread_memory(self._context.book)

    def _in_pane(self, step: WalkStep) -> int:
        """The number that the section of a step has in the memory pane."""
        shown = sections_of(self._context.memory_pane.memory)
        return renumbered(step.number, self._sections, shown)

    def _show(self) -> None:
        """Show the step's place in the book, and its section in the memory."""
        step = self._current
        pane = self._context.memory_pane
        self._context.screen.end_tour()
        if step.is_left_out:
            words = "left out"
            change = _TAKE_BACK
        else:
            words = f"step {self._at + 1} of {len(self._steps)}"
            change = _LEAVE_OUT
        keys = self._context.services.with_keys(_KEYS + change)
        note = with_reason(words, step.reason)
        pane.show_note(SectionNote(self._in_pane(step), note, keys))
        if step.cited:
            marks = [Mark(*place, "cited") for place in step.cited]
        else:
            marks = [Mark(*step.place, "walked")]
        self._context.layers.set(Layer.CITED, marks)
        self._go_to()
        self._context.refresh()

    def _go_to(self) -> None:
        """Show the place of the step in the book."""
        context = self._context
        start, _ = self._current.place
        context.navigation.jump(start, _TOP, series="walk")
        if context.panes.narrow and context.panes.current is not Pane.BOOK:
            context.panes.show(Pane.BOOK)
