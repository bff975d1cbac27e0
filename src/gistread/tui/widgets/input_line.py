"""A line at the bottom to type into, with choices above it. What is typed goes to the client that opened it."""

from collections.abc import Sequence

from textual import events, on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.widget import Widget
from textual.widgets import Input, Static

from gistread.tui.commands import own_keys
from gistread.tui.text import Block, Clicked, clean
from gistread.tui.widgets.inputs import HistoryInput
from gistread.tui.widgets.row_list import RowList


class InputLineClient:
    """Handles typed text while its input line is open. Overrides what it reacts to."""

    def typed(self, words: str) -> None:
        """The words changed."""

    def accepted(self, words: str, choice: int | None) -> None:
        """Enter or a click on a choice; `choice` is its index, None without choices."""

    def cancelled(self) -> None:
        """Escape; the line is closed already."""

    def switched(self) -> None:
        """Tab was pressed: interpret the same words in the next way."""


class InputLine(Vertical):
    """Hidden until `ask`. History is kept for each client."""

    DEFAULT_CSS = """
    InputLine {
        display: none; height: auto; background: $gr-panel;
        & #input-line-row { height: 1; }
        & #input-line-mark { width: auto; padding: 0 1; color: $gr-accent; text-style: bold; }
        & #input-line-note { width: auto; max-width: 70%; padding: 0 1; color: $gr-muted; text-wrap: nowrap; }
        & #input-line-note.-problem { color: $gr-error; text-style: bold; }
        & #input-line-input { width: 1fr; min-width: 10; background: $gr-panel; color: $gr-text; padding: 0; }
        & #input-line-choices {
            display: none; height: auto; max-height: 8; background: $gr-panel; scrollbar-background: $gr-panel;
        }
    }
    """

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._client: InputLineClient | None = None
        self._back: Widget | None = None  # What had the focus before
        self._history: dict[InputLineClient, list[str]] = {}

    def compose(self) -> ComposeResult:
        choices = RowList(cursor=True, side_margin=0, id="input-line-choices")
        choices.can_focus = False
        yield choices
        with Horizontal(id="input-line-row"):
            yield Static("", id="input-line-mark", markup=False)
            yield LineInput(id="input-line-input")
            yield Static("", id="input-line-note", markup=False)

    @property
    def is_open(self) -> bool:
        return bool(self.display)

    @property
    def _line(self) -> "LineInput":
        return self.query_one("#input-line-input", LineInput)

    @property
    def words(self) -> str:
        return self._line.value

    def ask(self, client: InputLineClient, mark: str, placeholder: str = "", words: str = "") -> None:
        self._client = client
        self._back = self.screen.focused if self.screen.focused is not self._line else self._back
        line = self._line
        line.remember(self._history.setdefault(client, []))
        self.query_one("#input-line-mark", Static).update(mark)
        line.placeholder = placeholder
        with self.prevent(Input.Changed):
            line.value = words
        line.cursor_position = len(words)
        self.choose_from(())
        self.say("")
        self.display = True
        self.screen.set_focus(line)

    def close(self, *, back: bool = True) -> None:
        """Hide the line and give the focus `back`; what was typed goes into the history."""
        self._line.keep(self.words.strip())
        self._client = None
        if back and self._back is not None:
            self.screen.set_focus(self._back)
        self.display = False

    def say(self, note: str, *, problem: bool = False) -> None:
        line = self.query_one("#input-line-note", Static)
        line.set_class(problem, "-problem")
        line.update(clean(note))

    def choose_from(self, rows: Sequence[str]) -> None:
        self._choices.show([Block(row, key=number, blank_before=0) for number, row in enumerate(rows)])
        self._choices.display = bool(rows)
        self._choices.set_cursor(0)

    @on(Input.Changed, "#input-line-input")
    def _changed(self, event: Input.Changed) -> None:
        event.stop()
        if self._client is not None:
            self._client.typed(event.value)

    @on(Input.Submitted, "#input-line-input")
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        if self._client is not None:
            self._client.accepted(event.value, self._chosen)

    @on(Clicked, "#input-line-choices")
    def _clicked(self, event: Clicked) -> None:
        event.stop()
        if self._client is not None:
            self._client.accepted(self.words, self._chosen)

    def on_click(self, event: events.Click) -> None:
        """A click on the note does the same as Tab."""
        if self.query_one("#input-line-note").region.contains_point(event.screen_offset):
            self.switch()

    @property
    def _choices(self) -> RowList:
        return self.query_one("#input-line-choices", RowList)

    @property
    def _chosen(self) -> int | None:
        key = self._choices.cursor_key if self._choices.display else None
        return key if isinstance(key, int) else None

    def step(self, by: int) -> None:
        """Go through the choices, or without choices through the history."""
        if self._chosen is None:
            self._line.step(by)
        else:
            self._choices.set_cursor(self._chosen + by)

    def cancel(self) -> None:
        if (client := self._client) is not None:
            self.close()
            client.cancelled()

    def switch(self) -> None:
        if self._client is not None:
            self._client.switched()


class LineInput(HistoryInput):
    """The line itself: its keys are the input line's."""

    BINDINGS = own_keys(("up", "line_step(-1)"), ("down", "line_step(1)"), ("tab", "switch"), ("escape", "cancel"))

    @property
    def _line(self) -> InputLine:
        return next(one for one in self.ancestors if isinstance(one, InputLine))

    def action_line_step(self, by: int) -> None:
        self._line.step(by)

    def action_switch(self) -> None:
        self._line.switch()

    def action_cancel(self) -> None:
        self._line.cancel()
