"""The panes of the reading screen: sizes, focus, which one a narrow screen shows.

`BookScreen` is what controllers see of it.
"""

from enum import StrEnum
from functools import partial

from textual.widget import Widget

from gistread.tui.notices import NoticeScreen
from gistread.tui.services import AppServices
from gistread.tui.widgets.answers_pane import AnswersPane
from gistread.tui.widgets.book_pane import BookPane
from gistread.tui.widgets.input_line import InputLine, QuestionInput
from gistread.tui.widgets.lines import Tab
from gistread.tui.widgets.memory_pane import MemoryPane

# From this width, the conversation stands below the memory, beside the book.
ROOMY_COLUMNS = 140
# From this width, book and memory stand side by side; below it, there is one pane at a time.
WIDE_COLUMNS = 100
# From this width of the screen, the text may have two columns.
TWO_COLUMNS = 150
# Below these heights, the key line and the header give their rows to the text.
KEY_LINE_ROWS = 14
HEADER_ROWS = 8
STRIP_ROWS = 3


class Pane(StrEnum):
    """A pane of the reading screen. The value is the id of its widget."""

    BOOK = "book"
    MEMORY = "memory"
    ANSWERS = "answers"


_TITLES = {Pane.BOOK: "Book", Pane.MEMORY: "Memory", Pane.ANSWERS: "Question"}
FOCUS_MODE = "-focus-mode"
_ANSWERS = "-answers"
_NO_MEMORY = "-no-memory"
_MARKS = "-marks"
_TWO_COLUMNS = "-two-columns"
# Shares of the screen's height
_LARGEST_HEIGHT = 0.48  # Most for the answers beside the book
_SHARE_BELOW_BOOK = 0.4  # Most for answers and question line below the book
_ROWS_AROUND_ANSWERS = 2  # The rule above them and the question line
_FOLDED_ROWS = 4  # The last question and the first lines of its answer
_LEAST_ROWS = 3  # Fewest rows of the answers


class BookScreen(NoticeScreen[None]):
    """What controllers need of the reading screen; its widgets are there once it is mounted."""

    services: AppServices
    book_pane: BookPane
    memory_pane: MemoryPane
    answers_pane: AnswersPane
    question: QuestionInput
    input_line: InputLine
    panes: "PaneSwitcher"

    def redraw_lines(self) -> None:
        """Redraw the lines around the panes."""
        raise NotImplementedError

    async def cancel(self) -> None:
        """Cancel or close what the user did last, such as an open note."""
        raise NotImplementedError

    def open_page(self) -> None:
        """Open the section that is proposed or chosen."""
        raise NotImplementedError

    def start_tour(self) -> None:
        """Show the tour from its beginning."""
        raise NotImplementedError

    def end_tour(self) -> None:
        """Take the tour away, if it is there."""
        raise NotImplementedError

    def warn(self, text: str) -> None:
        """Show a warning."""
        raise NotImplementedError


class PaneSwitcher:
    """Shows and focuses panes.

    The focus changes at once. `Widget.focus` changes it later, and keys that are typed meanwhile
    would run as commands.
    """

    def __init__(self, screen: BookScreen) -> None:
        self._screen = screen
        self._memory = screen.memory_pane
        self._answers = screen.answers_pane
        self._services = screen.services
        self.current = Pane.BOOK
        # Whether only the first lines of the last answer are shown
        self._answers_folded = False
        # Whether the user wants the memory, as chosen since the book was opened
        self._memory_chosen: bool | None = None
        self.pointed_at: Pane | None = None  # The pane that the tour points at
        # Whether an answer has not been shown yet, on a narrow screen
        self.unseen_answer = False

    @property
    def narrow(self) -> bool:
        """Whether the screen has room for one pane only."""
        return self._screen.size.width < WIDE_COLUMNS

    @property
    def tabs(self) -> tuple[Tab, ...]:
        """The names of all panes, if only one fits; otherwise empty."""
        if not self.narrow:
            return ()
        return tuple(map(self._tab, Pane))

    def _tab(self, pane: Pane) -> Tab:
        title = _TITLES[pane]
        if pane is self.pointed_at:
            title = f"→ {title}"
        return Tab(title, pane is self.current, partial(self.show, pane))

    @property
    def answers_shown(self) -> bool:
        return self._screen.has_class(_ANSWERS)

    @property
    def rivals_below(self) -> bool:
        """Whether the last answer leaves no room for what other passages say."""
        if self.narrow or not self.answers_shown:
            return False
        height = self._answers.size.height
        return height > 0 and self._answers.rows_to_rivals > height

    def show(self, pane: Pane | str) -> None:
        """Focus this pane; on a narrow screen, show it instead of the others."""
        pane = Pane(pane)
        if pane is not Pane.BOOK:
            self.leave_focus_mode()
        if pane is Pane.MEMORY:
            self.show_marks(False)
            if not self.narrow:
                self.hide_memory(False)
            if self.current is not Pane.MEMORY:
                self._memory.point_at_here()
        self._set_classes(pane)
        self._screen.set_focus(self._widget_of(pane))

    def _widget_of(self, pane: Pane) -> Widget:
        """The widget that has the focus while a pane is current."""
        match pane:
            case Pane.BOOK:
                return self._screen.book_pane
            case Pane.MEMORY:
                return self._memory
            case Pane.ANSWERS:
                are_visible = self.narrow or self.answers_shown
                if self._answers.exchanges and are_visible:
                    return self._answers
                return self._screen.question

    def show_question(self) -> None:
        """Focus the question line."""
        self.leave_focus_mode()
        self._set_classes(Pane.ANSWERS)
        self._screen.set_focus(self._screen.question)

    def step(self, step: int) -> None:
        """Focus the pane `step` panes further, in a circle."""
        panes = list(Pane)
        if self.memory_hidden or self.marks_shown:
            panes.remove(Pane.MEMORY)
        index = panes.index(self.current) + step
        self.show(panes[index % len(panes)])

    @property
    def memory_hidden(self) -> bool:
        """Whether the memory is hidden where there is room for it."""
        return not self.narrow and self._screen.has_class(_NO_MEMORY)

    @property
    def shows_memory(self) -> bool:
        """Whether the memory is on the screen."""
        if self.narrow:
            return self.current is Pane.MEMORY
        return not (self.memory_hidden or self.marks_shown)

    @property
    def marks_shown(self) -> bool:
        """Whether marks and notes stand beside the book, in place of the memory."""
        return not self.narrow and self._screen.has_class(_MARKS)

    def show_marks(self, shown: bool) -> None:
        self._screen.set_class(shown and not self.narrow, _MARKS)

    def cycle_side(self) -> None:
        """Show the memory, the marks or neither beside the book, also in later books.

        On a narrow screen, show the memory or the book.
        """
        self._screen.call_after_refresh(self._screen.redraw_lines)
        if self.narrow:
            self.show(Pane.BOOK if self.current is Pane.MEMORY else Pane.MEMORY)
            return
        # After the memory come the marks, then neither.
        shows_marks = self.shows_memory
        shows_nothing = self.marks_shown
        self.show_marks(shows_marks)
        self.hide_memory(shows_nothing)
        self._services.settings.set("memory", not shows_nothing)
        self._services.settings.set("beside", "marks" if shows_marks else "memory")
        if not self.shows_memory and self.current is Pane.MEMORY:
            self.show(Pane.BOOK)

    def hide_memory(self, hide: bool) -> None:
        """Hide or show the memory, as the user wants it until the book is closed."""
        self._memory_chosen = not hide
        self._screen.set_class(hide, _NO_MEMORY)

    def fit_memory(self, *, can_grow: bool) -> None:
        """Show the marks, the memory or neither beside the book.

        The memory is hidden if so set, or if it is empty and cannot grow, as without a model. What
        the user chose since the book was opened comes first.
        """
        self._memory.set_beside(not self.narrow)
        config = self._services.config
        memory = self._memory.memory
        has_entries = memory is not None and bool(memory.entries)
        wants_memory = config.memory and (can_grow or has_entries)
        if self._memory_chosen is not None:
            wants_memory = self._memory_chosen
        wants_marks = config.beside == "marks" and self.current is not Pane.MEMORY
        hides_side = self._memory_chosen is False
        self.show_marks(wants_marks and not hides_side)
        if not self.marks_shown:
            self._screen.set_class(not wants_memory, _NO_MEMORY)

    def focused(self, widget_id: str | None) -> None:
        """Remember which pane has the focus now."""
        match widget_id:
            case "book" | "memory":
                self.current = Pane(widget_id)
            case "answers" | "question":
                self.current = Pane.ANSWERS
                self.unseen_answer = False
        self._set_classes(self.current)

    def toggle_answers(self) -> None:
        """Show the answers; fold them to the first lines of the last one, and unfold them."""
        if self.narrow:
            self.show(Pane.ANSWERS)
        elif self._answers.exchanges:
            self._answers_folded = self.answers_shown and not self._answers_folded
            self._screen.add_class(_ANSWERS)
            self.fit_answers()
            self._answers.show_newest()
        else:
            key = self._services.key_hint("ask")
            self._screen.warn(f"No questions yet. Press {key} to ask.")
        self._screen.redraw_lines()

    def show_answers(self, shown: bool = True) -> None:
        self._answers_folded = False
        self._screen.set_class(shown, _ANSWERS)

    def fit_answers(self) -> None:
        """Give the answers the height that the last one needs, within limits."""
        if self.narrow:
            self._answers.styles.clear_rule("height")
            return
        answers = self._answers
        rows = min(answers.last_rows, self._most_answer_rows())
        answers.styles.height = max(_LEAST_ROWS, rows)

    def _most_answer_rows(self) -> int:
        """The most rows that the answers may have beside or below the book."""
        if self._answers_folded:
            return _FOLDED_ROWS
        height = self._screen.size.height
        most_beside = int(_LARGEST_HEIGHT * height)
        if self._screen.has_class("-roomy"):
            return most_beside
        most_below = int(_SHARE_BELOW_BOOK * height) - _ROWS_AROUND_ANSWERS
        # What other passages say instead belongs to the answer.
        return max(most_below, min(self._answers.rows_to_rivals, most_beside))

    def fit_columns(self, width: int) -> None:
        """Show the book in two columns, if so set and the screen is wide enough."""
        has_two = self._services.config.text_columns > 1 and width >= TWO_COLUMNS
        self._screen.set_class(has_two, _TWO_COLUMNS)
        self._screen.book_pane.columns = 2 if has_two else 1

    def leave_focus_mode(self) -> None:
        self._screen.remove_class(FOCUS_MODE)

    def _set_classes(self, shown: Pane) -> None:
        self._screen.update_classes({f"-{pane}-pane": pane is shown for pane in Pane})
