"""Base classes of panels over a screen, and a panel with a list and an optional input line."""

import textwrap
from collections.abc import Sequence
from typing import NamedTuple

from textual import events, on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen, ScreenResultType
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from gistread.book.model import Book
from gistread.tui.commands import own_keys
from gistread.tui.text import LongText, clean
from gistread.tui.widgets.lines import Actions

PANEL_CELLS = 88
AROUND_CELLS = 7  # border, padding and scroll bar of a panel
_LEAST_CELLS = 12  # of a row


def indented(text: str, cells: int) -> str:
    """The text in rows of at most `cells` columns, each indented by two cells."""
    return textwrap.fill(clean(text), max(_LEAST_CELLS, cells), initial_indent="  ", subsequent_indent="  ")


def place_in(book: Book, offset: int, length: int = 0) -> str:
    """`34% · Chapter 2`. `length`: characters of the whole book, if `book` is only its beginning."""
    return " · ".join(filter(None, (f"{offset / max(1, length or len(book.text)):.0%}", book.chapter_title(offset))))


class Panel(ModalScreen[ScreenResultType]):
    """A panel over a screen. A click outside or on the words in its border closes it without a result."""

    CLOSE = "[@click=screen.close_panel]Esc close[/]"  # In the border

    def on_mount(self) -> None:
        self.query_one(".panel").border_subtitle = self.CLOSE

    def on_click(self, event: events.Click) -> None:
        if not self.query_one(".panel").region.contains_point(event.screen_offset):
            self.action_close_panel()

    def action_close_panel(self) -> None:
        self.dismiss(None)

    async def action_dismiss(self, result: ScreenResultType | None = None) -> None:
        """Close the panel, but not before it is mounted: a key may arrive while it is composed."""
        if self.is_mounted:
            await super().action_dismiss(result)
        else:
            self.call_later(self._close, result)

    def _close(self, result: ScreenResultType | None) -> None:
        self.dismiss(result)

    def action_leave(self) -> None:
        """Clear the filter first, then close."""
        filter_line = self.query_one(Input)
        if filter_line.value:
            filter_line.value = ""
        else:
            self.dismiss(None)


class RowsPanel(Panel[ScreenResultType]):
    """A panel with an input line and rows (`#rows`) with a cursor for the arrow keys."""

    BINDINGS = own_keys(
        ("down", "move(1)", "Next"),
        ("up", "move(-1)", "Previous"),
        ("pagedown", "move(8)", "Eight on"),
        ("pageup", "move(-8)", "Eight back"),
        priority=True,
    )
    AUTO_FOCUS = "Input"

    @property
    def rows(self) -> LongText:
        return self.query_one("#rows", LongText)

    @property
    def wanted(self) -> str:
        return self.query_one(Input).value

    def on_mount(self) -> None:
        self.rows.can_focus = False

    def action_move(self, step: int) -> None:
        self.rows.move_cursor(step)


class Row(NamedTuple):
    """One choice. `about` is shown below it, muted."""

    id: str
    text: str | Content
    about: str = ""


class ListPanel(Panel[str | None]):
    """A panel with a list (`#rows`) and paging keys. Dismissed with the id of the chosen row."""

    BINDINGS = own_keys(
        ("j", "list('cursor_down')", "Next"),
        ("k", "list('cursor_up')", "Previous"),
        ("space,ctrl+d", "list('page_down')", "Next screen"),
        ("b,ctrl+u", "list('page_up')", "Previous screen"),
        ("g", "list('first')", "To the first"),
        ("G", "list('last')", "To the last"),
    )
    AUTO_FOCUS = "OptionList"

    @property
    def options(self) -> OptionList:
        return self.query_one("#rows", OptionList)

    @property
    def chosen(self) -> str:
        option = self.options.highlighted_option
        return option.id or "" if option else ""

    def action_choose(self) -> None:
        self.options.action_select()

    def action_list(self, action: str) -> None:
        getattr(self.options, f"action_{action}")()

    @on(OptionList.OptionSelected)
    def _selected(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(event.option.id)


class ListScreen(ListPanel):
    """Dismissed with the id of the row, with the typed text, or with None."""

    BINDINGS = own_keys(("escape,q", "dismiss(None)", "Close"))

    def __init__(
        self,
        title: str,
        note: str = "",
        rows: Sequence[Row] = (),
        at: str = "",
        *,
        prompt: str = "",
        actions: Sequence[tuple[str, str, str]] = (),
    ) -> None:
        """`at`: id of the row for the cursor; `prompt`: placeholder of an input line; `actions`: as in `Actions`."""
        super().__init__()
        self._title = title
        self._note = note
        self._rows = rows
        self._at = at
        self._prompt = prompt
        self._actions = actions
        self._cells = 0  # width of the panel for which the rows were wrapped

    def compose(self) -> ComposeResult:
        with Vertical(classes="panel"):
            yield Static(clean(self._title), classes="panel-title", markup=False)
            yield Static(self._note, classes="panel-note", id="note", markup=False)
            yield OptionList(id="rows", markup=False)
            if self._prompt:
                yield Input(placeholder=self._prompt, compact=True, id="typed")
            if self._actions:
                yield Actions(*self._actions)

    def on_mount(self) -> None:
        self.show_rows(self._rows, self._at)
        if self._prompt and not self._rows:
            self.set_focus(self.query_one("#typed"))

    def on_resize(self, event: events.Resize) -> None:
        if self.options.option_count and min(PANEL_CELLS, event.size.width) != self._cells:
            self.show_rows(self._rows, self.chosen)

    def show_rows(self, rows: Sequence[Row], at: str) -> None:
        self._rows, self._cells = rows, min(PANEL_CELLS, self.app.size.width)
        self.options.clear_options()
        room = self._cells - AROUND_CELLS
        for row in rows:
            text = row.text if isinstance(row.text, Content) else indented(row.text, room).removeprefix("  ")
            content = Content.assemble(text)
            if row.about:
                content = Content.assemble(content, "\n", (indented(row.about, room), "$gr-muted not bold"))
            self.options.add_option(Option(content, id=row.id))
        self.options.display = bool(rows)
        if rows:
            self.options.highlighted = next((index for index, row in enumerate(rows) if row.id == at), 0)

    @on(Input.Submitted)
    def _typed(self, event: Input.Submitted) -> None:
        if event.value.strip():
            self.dismiss(event.value.strip())
