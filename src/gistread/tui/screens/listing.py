"""A panel with a list to choose from, and perhaps a line to type into: the base of many screens."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from gistread.tui.text import clean


@dataclass(frozen=True, slots=True)
class Row:
    """One choice. `about` stands below it, muted."""

    id: str
    text: str
    about: str = ""
    enabled: bool = True


class ListPanel(ModalScreen[str | None]):
    """A list (`#rows`) with paging keys. Dismissed with the id of the chosen row; by a click outside, with None."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j", "list('cursor_down')", "Next", show=False),
        Binding("k", "list('cursor_up')", "Previous", show=False),
        Binding("space,ctrl+d", "list('page_down')", "Next screen", show=False),
        Binding("b,ctrl+u", "list('page_up')", "Previous screen", show=False),
        Binding("g", "list('first')", "To the first", show=False),
        Binding("G", "list('last')", "To the last", show=False),
    ]
    AUTO_FOCUS = "OptionList"

    def action_list(self, action: str) -> None:
        getattr(self.query_one("#rows", OptionList), f"action_{action}")()

    @on(OptionList.OptionSelected)
    def _chosen(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(event.option.id)

    def on_click(self, event: events.Click) -> None:
        """A click outside the panel closes it."""
        if event.widget is self:
            self.dismiss(None)


class ListScreen(ListPanel):
    """Dismissed with the id of the row, with what was typed, or with None."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q", "dismiss(None)", "Close", show=False)]

    def __init__(self, title: str, note: str = "", *, prompt: str = "") -> None:
        super().__init__()
        self._title = title
        self._note = note
        self._prompt = prompt

    def compose(self) -> ComposeResult:
        with Vertical(classes="panel"):
            yield Static(clean(self._title), classes="panel-title", markup=False)
            yield Static(self._note, classes="panel-note", id="note", markup=False)
            yield OptionList(id="rows", markup=False)
            if self._prompt:
                yield Input(placeholder=self._prompt, compact=True, id="typed")

    def show_rows(self, rows: Sequence[Row], at: int = 0) -> None:
        """Replace the list, the cursor on row `at`."""
        options = self.query_one("#rows", OptionList)
        options.clear_options()
        for row in rows:
            content = Content(clean(row.text))
            if row.about:
                content = Content.assemble(clean(row.text), "\n  ", (clean(row.about), "$gr-muted"))
            options.add_option(Option(content, id=row.id, disabled=not row.enabled))
        options.display = bool(rows)
        if rows:
            options.highlighted = at

    @property
    def chosen(self) -> str:
        """Id of the highlighted row; empty without one."""
        option = self.query_one("#rows", OptionList).highlighted_option
        return option.id or "" if option else ""

    def say(self, note: str) -> None:
        said = self.query_one("#note", Static)
        said.update(note)
        said.display = bool(note)

    @on(Input.Submitted)
    def _typed(self, event: Input.Submitted) -> None:
        if event.value.strip():
            self.dismiss(event.value.strip())


class ChoiceScreen(ListScreen):
    """Dismissed with the id of one of these rows, or with None."""

    def __init__(self, title: str, note: str, rows: Sequence[Row]) -> None:
        super().__init__(title, note)
        self._rows = rows

    def on_mount(self) -> None:
        self.show_rows(self._rows)
