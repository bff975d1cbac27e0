"""A line at the bottom for a few words, with what they may mean above it: go to, search.

It shows what its owner gives it and tells what was typed and chosen. What the words mean is the owner's affair.
"""

from collections.abc import Sequence
from typing import ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from gistread.tui.text.cells import clean


class Prompt(Vertical):
    """Hidden until it is asked to begin. `kind` names what it asks for, for the owner."""

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

    class Typed(Message):
        """The words changed."""

        def __init__(self, kind: str, words: str) -> None:
            super().__init__()
            self.kind, self.words = kind, words

    class Accepted(Message):
        """Enter, or a click on a choice; `choice` is its index, None where there is none."""

        def __init__(self, kind: str, words: str, choice: int | None) -> None:
            super().__init__()
            self.kind, self.words, self.choice = kind, words, choice

    class Left(Message):
        """Escape."""

        def __init__(self, kind: str) -> None:
            super().__init__()
            self.kind = kind

    class Switched(Message):
        """Tab: the owner may have another way to take the same words."""

        def __init__(self, kind: str) -> None:
            super().__init__()
            self.kind = kind

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.kind = ""
        self._history: dict[str, list[str]] = {}
        self._at = 0
        self._draft = ""

    def compose(self) -> ComposeResult:
        choices = OptionList(id="prompt-choices", markup=False)
        choices.can_focus = False
        yield choices
        with Horizontal(id="prompt-line"):
            yield Static("", id="prompt-mark", markup=False)
            yield PromptInput(id="prompt-input", compact=True, select_on_focus=False)
            yield Static("", id="prompt-note", markup=False)

    @property
    def is_open(self) -> bool:
        return bool(self.display)

    @property
    def words(self) -> str:
        return self.query_one("#prompt-input", Input).value

    def begin(self, kind: str, mark: str, placeholder: str = "", words: str = "") -> None:
        """Show the line, empty or with `words`, and give it the keys."""
        self.kind = kind
        self._at = len(self._history.get(kind, ()))
        line = self.query_one("#prompt-input", Input)
        self.query_one("#prompt-mark", Static).update(mark)
        line.placeholder = placeholder
        with self.prevent(Input.Changed):
            line.value = words
        line.cursor_position = len(words)
        self.choose_from(())
        self.say("")
        self.display = True
        line.focus()

    def end(self) -> None:
        """Hide the line; what was typed is remembered."""
        words = self.words.strip()
        history = self._history.setdefault(self.kind, [])
        if words and (not history or history[-1] != words):
            history.append(words)
        self.display = False

    def mark(self, mark: str) -> None:
        """The sign before the words."""
        self.query_one("#prompt-mark", Static).update(mark)

    def say(self, note: str, *, problem: bool = False) -> None:
        """A few words behind what is typed. A problem is said in words and only underlined by colour."""
        line = self.query_one("#prompt-note", Static)
        line.set_class(problem, "-problem")
        line.update(clean(note))

    def choose_from(self, rows: Sequence[str]) -> None:
        """What the words may mean, the first one chosen."""
        choices = self.query_one("#prompt-choices", OptionList)
        choices.clear_options()
        choices.add_options([Option(Content(clean(row))) for row in rows])
        choices.display = bool(rows)
        if rows:
            choices.highlighted = 0

    # What the line tells

    @on(Input.Changed, "#prompt-input")
    def _changed(self, event: Input.Changed) -> None:
        event.stop()
        if self.is_open:
            self.post_message(self.Typed(self.kind, event.value))

    @on(Input.Submitted, "#prompt-input")
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.post_message(self.Accepted(self.kind, event.value, self._chosen))

    @on(OptionList.OptionSelected, "#prompt-choices")
    def _clicked(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self.post_message(self.Accepted(self.kind, self.words, event.option_index))

    def on_click(self, event: events.Click) -> None:
        """On the note: the same as Tab, for the mouse."""
        if self.query_one("#prompt-note").region.contains_point(event.screen_offset):
            self.switch()

    @property
    def _chosen(self) -> int | None:
        choices = self.query_one("#prompt-choices", OptionList)
        return choices.highlighted if choices.display else None

    def step(self, by: int) -> None:
        """Up and Down: the choices where there are any, else what was typed before."""
        choices = self.query_one("#prompt-choices", OptionList)
        if choices.display and choices.option_count > 1:
            choices.highlighted = ((choices.highlighted or 0) + by) % choices.option_count
            return
        history = self._history.get(self.kind, [])
        if self._at == len(history):
            self._draft = self.words
        at = self._at + by
        if 0 <= at <= len(history):
            self._at = at
            line = self.query_one("#prompt-input", Input)
            line.value = self._draft if at == len(history) else history[at]
            line.cursor_position = len(line.value)

    def leave(self) -> None:
        self.post_message(self.Left(self.kind))

    def switch(self) -> None:
        self.post_message(self.Switched(self.kind))


class PromptInput(Input):
    """The line itself: its keys are the prompt's."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "prompt('up')", show=False),
        Binding("down", "prompt('down')", show=False),
        Binding("tab", "prompt('switch')", show=False),
        Binding("escape", "prompt('leave')", show=False),
    ]

    def action_prompt(self, what: str) -> None:
        prompt = next(one for one in self.ancestors if isinstance(one, Prompt))
        match what:
            case "up":
                prompt.step(-1)
            case "down":
                prompt.step(1)
            case "switch":
                prompt.switch()
            case _:
                prompt.leave()
