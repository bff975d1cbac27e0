"""Input lines: with a history, for questions, and for paths with completion."""

import asyncio
import os
from pathlib import Path

from textual import events, on
from textual.message import Message
from textual.suggester import Suggester
from textual.widgets import Input

from gistread.tui.commands import BOUND_KEY, THREAD_KEY, own_keys, run


class HistoryInput(Input):
    """An input with a history of what was entered, and the current draft."""

    def __init__(self, placeholder: str = "", *, id: str | None = None) -> None:
        super().__init__(placeholder=placeholder, compact=True, id=id, select_on_focus=False)
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

    def step(self, by: int) -> None:
        if self._at == len(self._entered):
            self._draft = self.value
        at = self._at + by
        if 0 <= at <= len(self._entered):
            self._at = at
            self.value = [*self._entered, self._draft][at]
            self.cursor_position = len(self.value)


class QuestionInput(HistoryInput):
    """Up and Down go through earlier questions about this book."""

    BINDINGS = own_keys(
        ("up", "step(-1)", "Earlier question"),
        ("down", "step(1)", "Later question"),
        (THREAD_KEY, "delete_or_switch", "In the empty line: drop the passage; ask on its own, or go on from the last"),
        (BOUND_KEY, f"screen.{run('line.choose_bound')}", "Set where answers stop: your place, any other, the end"),
    )

    class Asked(Message):
        def __init__(self, question: str) -> None:
            super().__init__()
            self.question = question

    def __init__(self, placeholder: str = "", *, id: str | None = None) -> None:
        super().__init__(placeholder, id=id)
        self.suggested: tuple[str, ...] = ()  # Questions that the keys 1, 2 … ask while the line is empty

    def on_key(self, event: events.Key) -> None:
        number = int(event.key) if event.key.isdecimal() else 0
        if not self.value and 0 < number <= len(self.suggested):
            event.stop()
            event.prevent_default()
            self.post_message(self.Asked(self.suggested[number - 1]))

    def action_step(self, by: int) -> None:
        self.step(by)

    async def action_delete_or_switch(self) -> None:
        if self.value:
            self.action_delete_left()
        else:
            await self.run_action(f"screen.{run('line.drop_or_switch')}")

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        question = " ".join(event.value.split())
        if question:
            self.post_message(self.Asked(question))

    def taken(self, question: str) -> None:
        self.keep(question)
        self.value = ""


class PathInput(Input):
    """Tab or the right arrow accepts the completion."""

    BINDINGS = own_keys(("tab", "cursor_right"), priority=True)

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(compact=True, id=id, suggester=_Paths(use_cache=False, case_sensitive=True))


class _Paths(Suggester):
    async def get_suggestion(self, value: str) -> str | None:
        return await asyncio.to_thread(_completion, value) if value else None


def _completion(typed: str) -> str | None:
    """The path of the first matching file or folder; a folder ends with a separator."""
    folder, _, name = typed.rpartition("/")
    try:
        with os.scandir(Path(f"{folder}/" if "/" in typed else ".").expanduser()) as listing:
            matching = (entry for entry in listing if entry.name.startswith(name) and (name or entry.name[0] != "."))
            first = min(matching, key=lambda entry: entry.name, default=None)
            return typed + first.name[len(name) :] + ("/" if first.is_dir() else "") if first else None
    except (OSError, ValueError, RuntimeError):  # RuntimeError: unknown user in `~somebody`
        return None
