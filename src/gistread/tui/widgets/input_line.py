"""Lines to type into: questions with a history, filters, paths with completion.

`InputLine` is the one that any command opens to ask for something.
"""

import asyncio
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from textual import events, on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.message import Message
from textual.suggester import Suggester
from textual.widget import Widget
from textual.widgets import Input, Static

from gistread.tui.commands import THREAD_KEY, own_keys
from gistread.tui.text import Block, Clicked, clean
from gistread.tui.widgets.row_list import RowList


class OrderedInput(Input):
    """An input whose keys act in the order in which they are typed, however fast they come.

    Textual runs the action of a key only after the key has passed all widgets above. By then the
    line may contain letters that were typed later.
    """

    async def _on_key(self, event: events.Key) -> None:
        for binding in self._bindings.key_to_bindings.get(event.key, ()):
            if not binding.priority and await self.app.run_action(binding.action, self):
                event.stop()
                return


class HistoryInput(OrderedInput):
    """An input with a history of what was entered, and the current draft."""

    def __init__(self, placeholder: str = "", *, id: str | None = None) -> None:
        super().__init__(
            placeholder=placeholder, compact=True, id=id, select_on_focus=False
        )
        self.remember([])

    def remember(self, entered: list[str]) -> None:
        """Set the history, oldest first. `keep` adds to this list."""
        self._entered = entered
        self._at = len(entered)
        self._draft = ""

    def keep(self, words: str) -> None:
        """Add what was entered, unless it repeats the last."""
        if words and self._entered[-1:] != [words]:
            self._entered.append(words)
        self._at = len(self._entered)

    def on_paste(self, event: events.Paste) -> None:
        """Paste all lines as one, and show its end.

        Textual would take only the first line, and would not scroll to the end of a long one.
        """
        event.stop()
        event.prevent_default()
        self.replace(" ".join(event.text.split()), *self.selection)
        # The line scrolls only if the cursor moves.
        end = self.cursor_position
        self.cursor_position = 0
        self.cursor_position = end

    def action_step(self, by: int) -> None:
        """Go through the history; the draft stands after its newest entry."""
        after_newest = len(self._entered)
        if self._at == after_newest:
            self._draft = self.value
        at = self._at + by
        if not 0 <= at <= after_newest:
            return
        self._at = at
        self.value = self._draft if at == after_newest else self._entered[at]
        self.cursor_position = len(self.value)


class QuestionInput(HistoryInput):
    """Up and Down go through earlier questions about this book."""

    BINDINGS = own_keys(
        ("up", "step(-1)", "Earlier question"),
        ("down", "step(1)", "Later question"),
        (
            THREAD_KEY,
            "delete_or_switch",
            "In the empty line: drop the passage; ask on its own, or go on from the last",
        ),
    )

    @dataclass
    class Asked(Message):
        question: str

    class Emptied(Message):
        """Backspace was pressed in the empty line."""

    # Questions that the keys 1, 2 … ask while the line is empty
    suggested: tuple[str, ...] = ()

    def on_key(self, event: events.Key) -> None:
        if self.value or not event.key.isdecimal():
            return
        number = int(event.key)
        if 0 < number <= len(self.suggested):
            event.stop()
            event.prevent_default()
            self.post_message(self.Asked(self.suggested[number - 1]))

    def action_delete_or_switch(self) -> None:
        if self.value:
            self.action_delete_left()
        else:
            self.post_message(self.Emptied())

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        question = " ".join(event.value.split())
        if question:
            self.post_message(self.Asked(question))

    def accept(self, question: str) -> None:
        """The question is asked: add it to the history, and empty the line."""
        self.keep(question)
        self.value = ""


class FilterInput(OrderedInput):
    """Filters a list as one types, while the arrows move in it."""

    BINDINGS = own_keys(
        ("down", "move(1)"),
        ("up", "move(-1)"),
        ("tab", "search_inside", "Search inside the books"),
        ("escape", "leave", "Show all"),
        priority=True,
    )

    @dataclass
    class Moved(Message):
        step: int

    class Left(Message):
        """The user wants to see the whole list again."""

    class SearchedInside(Message):
        """The user wants to search for the words in the books."""

    def __init__(self, *, id: str | None = None) -> None:
        placeholder = "title or author · Enter: open · Tab: search inside · Esc: all"
        super().__init__(placeholder=placeholder, compact=True, id=id)

    def action_move(self, step: int) -> None:
        self.post_message(self.Moved(step))

    def action_search_inside(self) -> None:
        self.post_message(self.SearchedInside())

    def action_leave(self) -> None:
        self.post_message(self.Left())


class PathInput(OrderedInput):
    """Tab or the right arrow accepts the completion."""

    BINDINGS = own_keys(("tab", "cursor_right"), priority=True)

    def __init__(self, typed: str = "", *, id: str | None = None) -> None:
        super().__init__(
            typed,
            compact=True,
            id=id,
            suggester=_Paths(use_cache=False, case_sensitive=True),
        )


class _Paths(Suggester):
    async def get_suggestion(self, value: str) -> str | None:
        if not value:
            return None
        return await asyncio.to_thread(_completion, value)


def _completion(typed: str) -> str | None:
    """The path of the first matching file or folder; a folder ends with a separator."""
    folder, separator, name = typed.rpartition("/")
    folder_path = Path(f"{folder}{separator}" or ".")
    try:
        with os.scandir(folder_path.expanduser()) as listing:
            matching = [entry for entry in listing if entry.name.startswith(name)]
            # Hidden ones are offered once a dot is typed.
            if not name:
                matching = [entry for entry in matching if entry.name[0] != "."]
            first = min(matching, key=lambda entry: entry.name, default=None)
            if not first:
                return None
            completed = typed + first.name[len(name) :]
            return f"{completed}/" if first.is_dir() else completed
    except (OSError, ValueError, RuntimeError):
        # RuntimeError: unknown user in `~somebody`
        return None


class InputLineClient:
    """Handles typed text while its input line is open. Subclasses override what they react to."""

    def typed(self, words: str) -> None:
        """The words changed."""

    def accepted(self, words: str, choice: int | None) -> None:
        """Enter or a click on a choice; `choice` is its index, None without choices."""

    def cancelled(self) -> None:
        """Escape; the line is closed already."""

    def switched(self) -> None:
        """Tab was pressed: interpret the same words in the next way."""


class InputLine(Vertical):
    """Hidden until `ask`. Each client has a history of its own."""

    BINDINGS = own_keys(
        ("up", "step(-1)"), ("down", "step(1)"), ("tab", "switch"), ("escape", "cancel")
    )

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        # While the line is closed, a client that ignores everything
        self._client = InputLineClient()
        self._focused_before: Widget | None = None
        self._history: dict[InputLineClient, list[str]] = {}

    def compose(self) -> ComposeResult:
        choices = RowList(cursor=True, side_margin=0, id="input-line-choices")
        choices.can_focus = False
        yield choices
        with Horizontal(id="input-line-row"):
            yield Static("", id="input-line-mark", markup=False)
            yield HistoryInput(id="input-line-input")
            yield Static("", id="input-line-note", markup=False)

    @property
    def is_open(self) -> bool:
        return bool(self.display)

    @property
    def _line(self) -> HistoryInput:
        return self.query_one("#input-line-input", HistoryInput)

    @property
    def words(self) -> str:
        return self._line.value

    def ask(
        self, client: InputLineClient, mark: str, placeholder: str = "", words: str = ""
    ) -> None:
        """Open the line for this client. `mark` stands before the text, `words` in the line."""
        self._client = client
        line = self._line
        if self.screen.focused is not line:
            self._focused_before = self.screen.focused
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
        """Hide the line; what was typed goes into the history.

        `back`: whether to give the focus back to the widget that had it.
        """
        self._line.keep(self.words.strip())
        self._client = InputLineClient()
        if back and self._focused_before is not None:
            self.screen.set_focus(self._focused_before)
        self.display = False

    def say(self, note: str, *, problem: bool = False) -> None:
        """Show a note after the typed text."""
        line = self.query_one("#input-line-note", Static)
        line.set_class(problem, "-problem")
        line.update(clean(note))

    def choose_from(self, rows: Sequence[str]) -> None:
        """Show these choices above the line, with the cursor on the first."""
        blocks = [
            Block(row, key=number, blank_before=0) for number, row in enumerate(rows)
        ]
        self._choices.show(blocks)
        self._choices.display = bool(rows)
        self._choices.set_cursor(0)

    @on(Input.Changed, "#input-line-input")
    def _changed(self, event: Input.Changed) -> None:
        event.stop()
        self._client.typed(event.value)

    @on(Input.Submitted, "#input-line-input")
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self._client.accepted(event.value, self._chosen)

    @on(Clicked, "#input-line-choices")
    def _clicked(self, event: Clicked) -> None:
        event.stop()
        self._client.accepted(self.words, self._chosen)

    def on_click(self, event: events.Click) -> None:
        """A click on the note does the same as Tab."""
        note = self.query_one("#input-line-note")
        if note.region.contains_point(event.screen_offset):
            self.action_switch()

    @property
    def _choices(self) -> RowList:
        return self.query_one("#input-line-choices", RowList)

    @property
    def _chosen(self) -> int | None:
        key = self._choices.cursor_key
        if not self._choices.display or not isinstance(key, int):
            return None
        return key

    def action_step(self, by: int) -> None:
        """Go through the choices, or without choices through the history."""
        if self._chosen is None:
            self._line.action_step(by)
        else:
            self._choices.set_cursor(self._chosen + by)

    def action_cancel(self) -> None:
        if self.is_open:
            client = self._client
            self.close()
            client.cancelled()

    def action_switch(self) -> None:
        self._client.switched()
