"""A line at the bottom to type into, with choices above it. What is typed goes to the client that opened it."""

from collections.abc import Sequence

from textual import events, on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from gistread.tui.commands import own_keys
from gistread.tui.text import clean
from gistread.tui.widgets.inputs import HistoryInput


class PromptClient:
    """Handles typed text while its prompt is open. Overrides what it reacts to."""

    def typed(self, words: str) -> None:
        """The words changed."""

    def accepted(self, words: str, choice: int | None) -> None:
        """Enter or a click on a choice; `choice` is its index, None without choices."""

    def cancelled(self) -> None:
        """Escape."""

    def switched(self) -> None:
        """Tab was pressed: interpret the same words in the next way."""


class Prompt(Vertical):
    """Hidden until `ask`. History is kept for each client."""

    DEFAULT_CSS = """
    Prompt {
        display: none; height: auto; background: $gr-panel;
        & #prompt-line { height: 1; }
        & #prompt-mark { width: auto; padding: 0 1; color: $gr-accent; text-style: bold; }
        & #prompt-note { width: auto; max-width: 70%; padding: 0 1; color: $gr-muted; text-wrap: nowrap; }
        & #prompt-note.-problem { color: $gr-error; text-style: bold; }
        & #prompt-input { width: 1fr; min-width: 10; background: $gr-panel; color: $gr-text; padding: 0; }
        & #prompt-choices {
            display: none; height: auto; max-height: 8; background: $gr-panel; border: none; padding: 0;
            scrollbar-size-vertical: 1;
            & > .option-list--option-highlighted { background: $gr-cursor; color: $gr-text; text-style: bold; }
        }
    }
    """

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._client: PromptClient | None = None
        self._history: dict[PromptClient, list[str]] = {}

    def compose(self) -> ComposeResult:
        choices = OptionList(id="prompt-choices", markup=False)
        choices.can_focus = False
        yield choices
        with Horizontal(id="prompt-line"):
            yield Static("", id="prompt-mark", markup=False)
            yield PromptInput(id="prompt-input")
            yield Static("", id="prompt-note", markup=False)

    @property
    def is_open(self) -> bool:
        return bool(self.display)

    @property
    def _line(self) -> "PromptInput":
        return self.query_one("#prompt-input", PromptInput)

    @property
    def words(self) -> str:
        return self._line.value

    def ask(self, client: PromptClient, mark: str, placeholder: str = "", words: str = "") -> None:
        self._client = client
        line = self._line
        line.remember(self._history.setdefault(client, []))
        self.query_one("#prompt-mark", Static).update(mark)
        line.placeholder = placeholder
        with self.prevent(Input.Changed):
            line.value = words
        line.cursor_position = len(words)
        self.choose_from(())
        self.say("")
        self.display = True
        self.screen.set_focus(line)

    def close(self) -> None:
        """Hide the prompt; what was typed goes into the history."""
        self._line.keep(self.words.strip())
        self._client = None
        self.display = False

    def say(self, note: str, *, problem: bool = False) -> None:
        line = self.query_one("#prompt-note", Static)
        line.set_class(problem, "-problem")
        line.update(clean(note))

    def choose_from(self, rows: Sequence[str]) -> None:
        choices = self.query_one("#prompt-choices", OptionList)
        choices.clear_options()
        choices.add_options([Option(Content(clean(row))) for row in rows])
        choices.display = bool(rows)
        if rows:
            choices.highlighted = 0

    @on(Input.Changed, "#prompt-input")
    def _changed(self, event: Input.Changed) -> None:
        event.stop()
        if self._client is not None:
            self._client.typed(event.value)

    @on(Input.Submitted, "#prompt-input")
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        if self._client is not None:
            self._client.accepted(event.value, self._chosen)

    @on(OptionList.OptionSelected, "#prompt-choices")
    def _clicked(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        if self._client is not None:
            self._client.accepted(self.words, event.option_index)

    def on_click(self, event: events.Click) -> None:
        """A click on the note does the same as Tab."""
        if self.query_one("#prompt-note").region.contains_point(event.screen_offset):
            self.switch()

    @property
    def _chosen(self) -> int | None:
        choices = self.query_one("#prompt-choices", OptionList)
        return choices.highlighted if choices.display else None

    def step(self, by: int) -> None:
        """Go through the choices, or without choices through the history."""
        choices = self.query_one("#prompt-choices", OptionList)
        if choices.display and choices.option_count > 1:
            choices.highlighted = ((choices.highlighted or 0) + by) % choices.option_count
        else:
            self._line.step(by)

    def cancel(self) -> None:
        if self._client is not None:
            self._client.cancelled()

    def switch(self) -> None:
        if self._client is not None:
            self._client.switched()


class PromptInput(HistoryInput):
    """The line itself: its keys are the prompt's."""

    BINDINGS = own_keys(
        ("up", "prompt('step', -1)"),
        ("down", "prompt('step', 1)"),
        ("tab", "prompt('switch')"),
        ("escape", "prompt('cancel')"),
    )

    def action_prompt(self, method: str, *arguments: int) -> None:
        prompt = next(one for one in self.ancestors if isinstance(one, Prompt))
        getattr(prompt, method)(*arguments)
